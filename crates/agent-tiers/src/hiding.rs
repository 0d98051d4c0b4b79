//! Takes secrets out of what calls give and tell.

use std::{collections::HashMap, sync::Mutex};

use agent_tool_core::{CallId, Content, Event, Part, Secrets, ToolResult};

use crate::lock;

/// The secrets of a run, and the ends of outputs that may be the beginning of one.
#[derive(Debug, Default)]
pub(crate) struct Hiding {
    pub(crate) secrets: Secrets,
    held: Mutex<HashMap<CallId, Held>>,
}

#[derive(Debug)]
struct Held {
    parent: Option<CallId>,
    text: String,
}

/// An event of a call, with the call that made it.
pub(crate) type Told = (Option<CallId>, Event);

impl Hiding {
    pub(crate) fn of(secrets: Secrets) -> Self {
        Self { secrets, held: Mutex::default() }
    }

    /// What of an event is told now. A chunk of output may end in the middle of a secret: such an end waits for the next one.
    pub(crate) fn event(&self, call: &CallId, parent: Option<CallId>, event: Event) -> Vec<Told> {
        if self.secrets.is_empty() {
            return vec![(parent, event)];
        }
        let event = match event {
            Event::Output { text } => {
                let mut held = lock(&self.held);
                let mut rest = held.remove(call).map(|held| held.text).unwrap_or_default();
                let text = self.secrets.hidden_in_pieces(&mut rest, &text);
                if !rest.is_empty() {
                    held.insert(call.clone(), Held { parent: parent.clone(), text: rest });
                }
                return (!text.is_empty())
                    .then_some((parent, Event::Output { text }))
                    .into_iter()
                    .collect();
            }
            Event::Progress { message, done, total } => {
                Event::Progress { message: self.secrets.hidden(message), done, total }
            }
            Event::Changed { mut change } => {
                for side in [&mut change.before, &mut change.after] {
                    if let Content::Text { text } = side {
                        *text = self.secrets.hidden(std::mem::take(text));
                    }
                }
                Event::Changed { change }
            }
            other => other,
        };
        self.rest(call).into_iter().chain([(parent, event)]).collect()
    }

    /// The end of a call's output that waited.
    pub(crate) fn rest(&self, call: &CallId) -> Option<Told> {
        if self.secrets.is_empty() {
            return None;
        }
        let Held { parent, text } = lock(&self.held).remove(call)?;
        Some((parent, Event::Output { text }))
    }
}

/// The result without secrets. Images stay as they are, and so do the changes, which wrappers read and nobody is told.
pub(crate) fn hide(secrets: &Secrets, mut result: ToolResult) -> ToolResult {
    if secrets.is_empty() {
        return result;
    }
    match &mut result {
        Ok(output) => {
            for part in &mut output.parts {
                if let Part::Text { text } = part {
                    *text = secrets.hidden(std::mem::take(text));
                }
            }
            secrets.hidden_in(&mut output.data);
        }
        Err(error) => {
            error.message = secrets.hidden(std::mem::take(&mut error.message));
            secrets.hidden_in(&mut error.data);
        }
    }
    result
}
