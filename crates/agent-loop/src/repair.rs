//! Makes a conversation valid that was not left so: by a kill, a crash, an editor.

use std::{collections::HashMap, sync::Arc};

use crate::{Answer, CallResult, Message};

/// What was put right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repairs {
    /// Calls without a result that were given one.
    pub answered: usize,
    /// Results without a call, and messages without content, that were taken out.
    pub removed: usize,
}

impl Repairs {
    /// Whether nothing had to be put right.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Gives each call its result in the next message, in the order of the calls, and takes out what
/// answers no call.
pub(crate) fn repair(messages: &mut Vec<Arc<Message>>) -> Repairs {
    let mut repairs = Repairs::default();
    if is_valid(messages) {
        return repairs;
    }
    let mut valid: Vec<Arc<Message>> = Vec::with_capacity(messages.len() + 1);
    let mut rest = std::mem::take(messages).into_iter().peekable();
    while let Some(message) = rest.next() {
        match &*message {
            Message::User { .. } => valid.push(message),
            Message::Assistant(answer) if answer.is_empty() => repairs.removed += 1,
            Message::Assistant(answer) if answer.calls.is_empty() => valid.push(message),
            Message::Assistant(answer) => {
                let results = rest.next_if(|next| matches!(**next, Message::Tool { .. }));
                let results = results_of(answer, results.as_deref(), &mut repairs);
                valid.push(Arc::clone(&message));
                valid.push(Arc::new(Message::Tool { results }));
            }
            Message::Tool { results } => repairs.removed += results.len().max(1),
        }
    }
    *messages = valid;
    repairs
}

fn results_of(answer: &Answer, came: Option<&Message>, repairs: &mut Repairs) -> Vec<CallResult> {
    let came: &[CallResult] = match came {
        Some(Message::Tool { results }) => results,
        _ => &[],
    };
    let mut by_id: HashMap<&str, &CallResult> = HashMap::new();
    for result in came {
        by_id.entry(&result.call_id).or_insert(result);
    }
    let mut kept = 0;
    let results = answer.calls.iter().map(|call| match by_id.get(call.id.as_str()) {
        Some(result) => {
            kept += 1;
            CallResult::clone(result)
        }
        None => {
            repairs.answered += 1;
            CallResult::interrupted(call)
        }
    });
    let results = results.collect();
    repairs.removed += came.len() - kept;
    results
}

fn is_valid(messages: &[Arc<Message>]) -> bool {
    let mut open: &[crate::Call] = &[];
    for message in messages {
        match &**message {
            Message::Tool { results } => {
                let ids = results.iter().map(|result| &result.call_id);
                if open.is_empty() || !ids.eq(open.iter().map(|call| &call.id)) {
                    return false;
                }
                open = &[];
            }
            _ if !open.is_empty() => return false,
            Message::User { .. } => {}
            Message::Assistant(answer) if answer.is_empty() => return false,
            Message::Assistant(answer) => open = &answer.calls,
        }
    }
    open.is_empty()
}
