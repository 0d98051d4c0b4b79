//! How many tokens something costs, estimated from above.

use agent_tool_core::{Part, ToolSpec};
use serde_json::Value;

use crate::{Answer, Message};

/// Bytes for each token, rounded down: what the common tokenizers need at least on English text, on
/// code and on JSON.
const BYTES_PER_TOKEN: usize = 3;

/// What a message, a call or a result costs besides its content.
const FRAME_TOKENS: usize = 8;

/// What an image costs: the most that the large providers count for one that they scale down.
const IMAGE_TOKENS: usize = 1_600;

pub(crate) fn of_text(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

pub(crate) fn of_specs(specs: &[ToolSpec]) -> usize {
    let costs = specs.iter().map(|spec| {
        let bytes = spec.name.len() + spec.description.len() + bytes_of(&spec.input_schema);
        bytes.div_ceil(BYTES_PER_TOKEN) + FRAME_TOKENS
    });
    costs.sum()
}

pub(crate) fn of_message(message: &Message) -> usize {
    let content = match message {
        Message::User { parts } => of_parts(parts),
        Message::Assistant(answer) => of_answer(answer),
        Message::Tool { results } => results
            .iter()
            .map(|result| of_text(&result.call_id) + of_parts(&result.parts) + FRAME_TOKENS)
            .sum(),
    };
    content + FRAME_TOKENS
}

fn of_answer(answer: &Answer) -> usize {
    let calls = answer.calls.iter().map(|call| {
        let bytes = call.id.len() + call.name.len() + bytes_of(&call.args);
        bytes.div_ceil(BYTES_PER_TOKEN) + FRAME_TOKENS
    });
    let opaque = answer.opaque.iter().map(|value| bytes_of(value).div_ceil(BYTES_PER_TOKEN));
    of_text(&answer.text) + calls.sum::<usize>() + opaque.sum::<usize>()
}

fn of_parts(parts: &[Part]) -> usize {
    let costs = parts.iter().map(|part| match part {
        Part::Text { text } => of_text(text),
        _ => IMAGE_TOKENS,
    });
    costs.sum()
}

/// The bytes of a value as JSON, without writing it. Escapes are counted as two bytes.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(number) => number.as_i64().map_or(20, |number| {
            1 + number.unsigned_abs().checked_ilog10().unwrap_or_default() as usize + 1
        }),
        Value::String(text) => escaped(text),
        Value::Array(items) => 2 + items.iter().map(|item| bytes_of(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields
                .iter()
                .map(|(name, field)| escaped(name) + bytes_of(field) + 2)
                .sum::<usize>()
        }
    }
}

fn escaped(text: &str) -> usize {
    let escapes = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).count();
    text.len() + escapes + 2
}
