//! What a conversation consists of.

use agent_tool_core::{ErrorKind, Part, Tier, ToolError, ToolResult, clip, clip_middle};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{StopReason, Usage};

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// What the person, or whoever stands for one, said.
    User {
        /// Text and images.
        parts: Vec<Part>,
    },
    /// What the model said.
    Assistant(Answer),
    /// The results of the calls in the message before.
    Tool {
        /// One for each call, in the order of the calls.
        results: Vec<CallResult>,
    },
}

impl Message {
    /// A text of the person's.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Message::User { parts: vec![Part::text(text)] }
    }
}

/// A model's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Answer {
    /// The text, which stands before the calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// What the provider wants back with this message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<Value>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// What it used.
    #[serde(default)]
    pub usage: Usage,
}

impl Answer {
    /// Whether there is nothing in it that a provider would take back.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty()
    }
}

/// A model's wish to call a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Call {
    /// Unique in its conversation, `[a-zA-Z0-9_-]{1,40}`, and the id under which the dispatch knows the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments. Null where they were no JSON.
    #[serde(default)]
    pub args: Value,
    /// What came instead of JSON, as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
    /// The tool's tier when it was called, where there was such a tool and its tier is more than hearsay
    /// ([`ToolSpec::tier_is_hearsay`](agent_tool_core::ToolSpec::tier_is_hearsay)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The tool did its job.
    Ok,
    /// The tool did not do its job.
    Error,
    /// The call was interrupted; it may have acted.
    Interrupted,
    /// The call was never made.
    NotStarted,
}

/// What the model is told of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallResult {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What the model reads. Never empty.
    pub parts: Vec<Part>,
}

/// How many characters of an error's data the model is shown, unless the dispatch allows fewer.
const ERROR_DATA_LIMIT: usize = 8_000;

/// How many characters of malformed arguments an error repeats.
const MALFORMED_SHOWN: usize = 200;

impl CallResult {
    pub(crate) fn of(call: &Call, result: &ToolResult) -> Self {
        let (outcome, parts) = match result {
            Ok(output) if output.parts.is_empty() => {
                (Outcome::Ok, vec![Part::text("done; the tool has nothing to say")])
            }
            Ok(output) => (Outcome::Ok, output.parts.clone()),
            Err(error) => (Outcome::Error, vec![Part::text(error_text(error))]),
        };
        Self::new(call, outcome, parts)
    }

    /// What is said of a call whose end nobody saw.
    pub(crate) fn interrupted(call: &Call) -> Self {
        let text = match call.tier {
            Some(Tier::Read) => {
                "interrupted before it came to an end; it only reads, so nothing was changed; call it \
                 again if the answer is still needed"
            }
            _ => {
                "interrupted before it came to an end; whether it acted is unknown; look at what is \
                 there before you call it again"
            }
        };
        Self::new(call, Outcome::Interrupted, vec![Part::text(text)])
    }

    /// What is said of a call that was not made since another one was interrupted.
    pub(crate) fn not_started(call: &Call) -> Self {
        Self::not_made(call, "the step was interrupted before its turn came")
    }

    /// What is said of a call of which a host knows that it never began, and why: for a conversation that was killed, before
    /// it is [repaired](crate::Conversation::repair).
    #[must_use]
    pub fn not_made(call: &Call, why: &str) -> Self {
        let text = format!("not made: {why}; nothing was done");
        Self::new(call, Outcome::NotStarted, vec![Part::text(text)])
    }

    fn new(call: &Call, outcome: Outcome, parts: Vec<Part>) -> Self {
        Self { call_id: call.id.clone(), name: call.name.clone(), outcome, parts }
    }
}

/// An error as a model reads it: what to do next first, then what a program would branch on.
fn error_text(error: &ToolError) -> String {
    let mut text =
        format!("error: {}\n(kind {}, code {})", error.message, error.kind.as_str(), error.code);
    if !error.data.is_null() {
        let data = clip_middle(&error.data.to_string(), ERROR_DATA_LIMIT, None).text;
        text.push_str(&format!("\nwhat was got so far: {data}"));
    }
    text
}

/// The answer to a call whose arguments are no JSON.
pub(crate) fn malformed(call: &Call, came: &str, stop: &StopReason) -> ToolError {
    let name = &call.name;
    let message = if *stop == StopReason::OutputLimit {
        format!(
            "the answer reached its bound on tokens inside the arguments of {name}, so the call was not \
             made; nothing was done; call it again with less at once"
        )
    } else {
        let why = serde_json::from_str::<Value>(came).err();
        let why = why.map(|error| format!(" ({error})")).unwrap_or_default();
        format!(
            "the arguments of {name} are not JSON{why}, so the call was not made; send one JSON object; \
             what came: {}",
            clip(came, MALFORMED_SHOWN).text
        )
    };
    ToolError::new(ErrorKind::InvalidArgs, "malformed_arguments", message)
}

/// The answer to a second call under an id that another call of the same message has.
pub(crate) fn repeated_id(name: &str, id: &str) -> ToolError {
    let message = format!(
        "two calls of one message have the id {}, so this one of {name} was not made; call it again if it \
         was meant",
        clip(id, MALFORMED_SHOWN).text
    );
    ToolError::new(ErrorKind::Conflict, "repeated_call_id", message)
}
