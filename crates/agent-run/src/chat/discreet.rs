//! What the model says as others are told of it: without the keys that this program knows, which a person or a command may have
//! shown it.

use std::sync::Mutex;

use agent_loop::{TurnEvent, Watch};
use agent_tool_core::Secrets;

use crate::lock;

/// Takes keys out of what a turn tells, before it is told. The turn itself goes on with what the model said.
pub(super) struct Discreet<'a> {
    watch: &'a dyn Watch,
    secrets: &'a Secrets,
    /// The end of the text, where it may be the beginning of a key.
    held: Mutex<String>,
}

impl<'a> Discreet<'a> {
    pub(super) fn new(watch: &'a dyn Watch, secrets: &'a Secrets) -> Self {
        Self { watch, secrets, held: Mutex::default() }
    }

    /// What of the text is told now.
    fn text(&self, piece: &str) -> String {
        let mut held = lock(&self.held);
        self.secrets.hidden_in_pieces(&mut held, piece)
    }

    fn rest(&self) -> String {
        std::mem::take(&mut *lock(&self.held))
    }

    fn tell_text(&self, text: String) {
        if !text.is_empty() {
            self.watch.event(TurnEvent::Text(text));
        }
    }
}

impl Watch for Discreet<'_> {
    fn event(&self, event: TurnEvent) {
        if self.secrets.is_empty() {
            return self.watch.event(event);
        }
        if let TurnEvent::Text(piece) = event {
            return self.tell_text(self.text(&piece));
        }
        self.tell_text(self.rest());
        self.watch.event(match event {
            TurnEvent::CallStarted { call_id, name, mut args } => {
                self.secrets.hidden_in(&mut args);
                TurnEvent::CallStarted { call_id, name: self.secrets.hidden(name), args }
            }
            TurnEvent::CallFinished { call_id, name, result, took } => {
                TurnEvent::CallFinished { call_id, name: self.secrets.hidden(name), result, took }
            }
            TurnEvent::Writing { tool, bytes } => {
                TurnEvent::Writing { tool: self.secrets.hidden(tool), bytes }
            }
            event => event,
        });
    }
}

#[cfg(test)]
mod tests {
    use agent_loop::End;
    use agent_tool_core::CallId;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_hidden_in_text_that_comes_in_pieces_and_in_arguments() {
        let secrets = Secrets::new([("MY_KEY", "sk-0123456789")]);
        let told = Mutex::new(Vec::new());
        let watch = |event: TurnEvent| {
            told.lock().expect("no panic").push(match event {
                TurnEvent::Text(text) => text,
                TurnEvent::CallStarted { args, .. } => args.to_string(),
                _ => "end".to_owned(),
            });
        };
        let discreet = Discreet::new(&watch, &secrets);
        for piece in ["it is sk-01", "23456", "789, and s", "k-o"] {
            discreet.event(TurnEvent::Text(piece.to_owned()));
        }
        discreet.event(TurnEvent::Text(" sk-".to_owned()));
        discreet.event(TurnEvent::CallStarted {
            call_id: CallId::new("c"),
            name: "read".to_owned(),
            args: json!({"path": "sk-0123456789"}),
        });
        discreet.event(TurnEvent::TurnEnded { end: End::Done, tally: Default::default() });
        let told = told.into_inner().expect("no panic");
        let expected =
            ["it is ", "[MY_KEY], and ", "sk-o", " ", "sk-", "{\"path\":\"[MY_KEY]\"}", "end"];
        assert_eq!(told, expected);
    }
}
