//! Messages for a model that takes no images.

use std::sync::Arc;

use agent_tool_core::Part;

use crate::{CallResult, Message};

/// The messages with a line of text for each image.
pub(crate) fn left_out(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    messages.into_iter().map(of_message).collect()
}

fn of_message(message: Arc<Message>) -> Arc<Message> {
    match &*message {
        Message::User { parts } if has_image(parts) => {
            Arc::new(Message::User { parts: of_parts(parts) })
        }
        Message::Tool { results } if results.iter().any(|result| has_image(&result.parts)) => {
            let results = results
                .iter()
                .map(|result| CallResult { parts: of_parts(&result.parts), ..result.clone() });
            Arc::new(Message::Tool { results: results.collect() })
        }
        _ => message,
    }
}

fn has_image(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Image { .. }))
}

fn of_parts(parts: &[Part]) -> Vec<Part> {
    let parts = parts.iter().map(|part| match part {
        Part::Image { mime, .. } => {
            Part::text(format!("[an image, {mime}, which this model cannot see]"))
        }
        other => other.clone(),
    });
    parts.collect()
}
