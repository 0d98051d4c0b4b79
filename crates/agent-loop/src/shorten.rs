//! A message with less in it, in the place of the whole one.

use agent_tool_core::{Part, clip_middle};
use serde_json::Value;

use crate::{Answer, Call, CallResult, Message, tokens};

/// How many characters a shortened result keeps of its text.
const RESULT_KEPT: usize = 400;

/// How many characters a string in the arguments of an old call keeps.
const ARGUMENT_KEPT: usize = 200;

/// How many characters the text of an old answer keeps.
const ANSWER_KEPT: usize = 400;

const HINT: &str = "cut to keep the conversation within its bounds; call the tool again to see it";
const ANSWER_HINT: &str = "cut to keep the conversation within its bounds";

/// How much of a message is left out. Each level takes the ones before it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Results keep head and tail, images go.
    ResultsClipped,
    /// Of a result a line is left; long strings in arguments are cut.
    ResultsGone,
    /// Texts of answers keep head and tail.
    AnswersClipped,
}

impl Level {
    pub(crate) const ALL: [Level; 3] =
        [Level::ResultsClipped, Level::ResultsGone, Level::AnswersClipped];
}

/// The message on this level. `None` where nothing gets smaller. What the person said is never
/// touched, and each call keeps its result.
pub(crate) fn shorten(message: &Message, level: Level) -> Option<Message> {
    let shortened = match message {
        Message::User { .. } => return None,
        Message::Tool { results } => Message::Tool {
            results: results.iter().map(|result| of_result(result, level)).collect(),
        },
        Message::Assistant(_) if level < Level::ResultsGone => return None,
        Message::Assistant(answer) => Message::Assistant(of_answer(answer, level)),
    };
    (tokens::of_message(&shortened) < tokens::of_message(message)).then_some(shortened)
}

fn of_result(result: &CallResult, level: Level) -> CallResult {
    let text = match level {
        Level::ResultsClipped => clipped(&result.parts),
        _ => gone(result),
    };
    let shortened = CallResult { parts: vec![Part::text(text)], ..result.clone() };
    if size(&shortened.parts) < size(&result.parts) { shortened } else { result.clone() }
}

/// Head and tail of the text, and a mark for each image.
fn clipped(parts: &[Part]) -> String {
    let mut texts = Vec::new();
    let mut marks = Vec::new();
    for part in parts {
        match part {
            Part::Text { text } => texts.push(text.as_str()),
            Part::Image { mime, .. } => marks.push(format!("[an image, {mime}, left out]")),
            _ => {}
        }
    }
    let text = clip_middle(&texts.join("\n"), RESULT_KEPT, Some(HINT)).text;
    std::iter::once(text)
        .filter(|text| !text.is_empty())
        .chain(marks)
        .collect::<Vec<_>>()
        .join("\n")
}

fn gone(result: &CallResult) -> String {
    let characters: usize = result.parts.iter().map(characters).sum();
    format!("[the result of {}, {characters} characters, {HINT}]", result.name)
}

fn characters(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.chars().count(),
        _ => 0,
    }
}

fn size(parts: &[Part]) -> usize {
    let sizes = parts.iter().map(|part| match part {
        Part::Text { text } => text.len(),
        // Whatever its bytes are, an image costs more than the mark that takes its place.
        _ => usize::from(u16::MAX),
    });
    sizes.sum()
}

fn of_answer(answer: &Answer, level: Level) -> Answer {
    let cut = |call: &Call| Call { args: cut_strings(&call.args), ..call.clone() };
    let mut shortened = Answer { calls: answer.calls.iter().map(cut).collect(), ..answer.clone() };
    if level >= Level::AnswersClipped {
        shortened.text = clip_middle(&answer.text, ANSWER_KEPT, Some(ANSWER_HINT)).text;
        shortened.opaque.clear();
    }
    shortened
}

/// The arguments with each long string cut, in the shape that they had.
fn cut_strings(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let cut = clip_middle(text, ARGUMENT_KEPT, Some(ANSWER_HINT)).text;
            Value::String(if cut.len() < text.len() { cut } else { text.clone() })
        }
        Value::Array(items) => Value::Array(items.iter().map(cut_strings).collect()),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, field)| (name.clone(), cut_strings(field))).collect(),
        ),
        other => other.clone(),
    }
}
