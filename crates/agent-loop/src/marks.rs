//! What a model is told of its own answers that were cut off: it would take what came of one for all that it had said.

use std::sync::Arc;

use agent_tool_core::Part;

use crate::{Message, StopReason};

/// Before what the person says behind an answer that they interrupted.
const INTERRUPTED: &str = "(the person interrupted your answer above before it was complete; what stands there is all that came of it)";

/// The same where the connection broke.
const BROKE_OFF: &str = "(your answer above broke off with the connection before it was complete; what stands there is all that came of it)";

/// Why an answer ended that broke off with its connection.
pub(crate) const CONNECTION: &str = "connection_broken";

/// The messages with a mark behind each answer that was cut off.
pub(crate) fn marked(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    let mut cut = None;
    let marked = messages.into_iter().map(|message| {
        let mark = cut.take();
        match (&*message, mark) {
            (Message::User { parts }, Some(mark)) => {
                let parts = [Part::text(mark)].into_iter().chain(parts.iter().cloned());
                return Arc::new(Message::User { parts: parts.collect() });
            }
            (Message::Assistant(answer), _) => cut = mark_of(answer.stop.as_ref()),
            _ => {}
        }
        message
    });
    marked.collect()
}

fn mark_of(stop: Option<&StopReason>) -> Option<&'static str> {
    match stop {
        Some(StopReason::Interrupted) => Some(INTERRUPTED),
        Some(StopReason::Other(reason)) if reason == CONNECTION => Some(BROKE_OFF),
        _ => None,
    }
}
