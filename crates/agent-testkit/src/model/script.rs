use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Received;

/// What a server answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The first that fits a request and is not used up answers it. Without one the answer is an error that says so.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// The key that a request must carry. The answer to any other repeats what came, as some servers do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The requests that it answers.
    #[serde(default, skip_serializing_if = "When::is_any")]
    pub when: When,
    /// How often it answers. 0 is without end.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
    /// Milliseconds before anything comes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wait_ms: u64,
    /// Nothing comes before there is this file: a test says so when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_file: Option<PathBuf>,
    /// Milliseconds between two frames, for a person who watches.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pace_ms: u64,
    /// The answer is this failure and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<Fail>,
    /// What it thinks aloud before the text, in pieces. Anthropic's is signed.
    #[serde(default, deserialize_with = "pieces", skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<String>,
    /// The text, in the pieces in which it comes. A string is one piece.
    #[serde(default, deserialize_with = "pieces", skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// The calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// What the answer says that it used. Without it, it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The reason of the end in the format's own words, instead of the one that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Where the answer breaks off.
    #[serde(default, rename = "break", skip_serializing_if = "Option::is_none")]
    pub breaks: Option<Break>,
    /// Bytes of each write, so that frames and letters come in parts. Without it a frame is a write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<usize>,
}

/// What a request must have. What is not said is not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// A part of what was said since the model's last answer: the person's text or results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// A part of the system text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A tool that is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<String>,
    /// A tool that is not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_offered: Option<String>,
}

/// A call. One of `args` and `malformed`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Call {
    /// The provider's id, instead of one that is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub args: Value,
    /// What is sent instead of JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
    /// In OpenAI's format the call comes whole and without its number, as some servers send it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unnumbered: bool,
}

/// An answer that is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fail {
    /// The status of HTTP.
    pub status: u16,
    /// The header `retry-after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// The header `location`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The provider's name for the error.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// What it says.
    pub message: String,
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Read in all.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Of the input, from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
}

/// Where and how an answer breaks off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Break {
    /// So many frames come before.
    pub after: usize,
    /// What happens then.
    pub how: How,
}

/// How an answer breaks off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The connection is gone.
    Cut,
    /// The answer ends as if it were complete.
    End,
    /// Nothing comes any more until the client leaves.
    Hang,
    /// An error comes as a frame.
    Error(Fail),
}

impl Script {
    /// A script of these answers, each given once and in this order.
    #[must_use]
    pub fn of(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect(), key: None }
    }

    /// The same script for requests with this key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            when: When::default(),
            times: 1,
            wait_ms: 0,
            until_file: None,
            pace_ms: 0,
            fail: None,
            reasoning: Vec::new(),
            text: Vec::new(),
            calls: Vec::new(),
            usage: None,
            stop: None,
            breaks: None,
            split: None,
        }
    }
}

impl Rule {
    /// An answer of this text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: vec![text.into()], ..Self::default() }
    }

    /// An answer that calls this tool.
    #[must_use]
    pub fn call(name: impl Into<String>, args: Value) -> Self {
        Self::default().and_call(name, args)
    }

    /// The same answer with one more call.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, args: Value) -> Self {
        self.calls.push(Call { name: name.into(), args, ..Call::default() });
        self
    }

    /// An answer that is this error.
    #[must_use]
    pub fn fail(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Self {
        let (kind, message) = (kind.into(), message.into());
        Self { fail: Some(Fail { status, kind, message, ..Fail::default() }), ..Self::default() }
    }
}

impl When {
    pub(super) fn fits(&self, request: &Received) -> bool {
        let holds = |part: &Option<String>, whole: String| {
            part.as_ref().is_none_or(|part| whole.contains(part.as_str()))
        };
        let tools = request.tools();
        let offers = |tool: &String| tools.iter().any(|offered| offered == tool);
        holds(&self.last, request.last())
            && holds(&self.system, request.system())
            && self.model.as_ref().is_none_or(|model| request.body["model"] == **model)
            && self.offered.as_ref().is_none_or(offers)
            && !self.not_offered.as_ref().is_some_and(offers)
    }

    fn is_any(&self) -> bool {
        *self == Self::default()
    }
}

impl Call {
    /// The arguments as they are sent.
    pub(super) fn text(&self) -> String {
        match (&self.malformed, &self.args) {
            (Some(text), _) => text.clone(),
            (None, Value::Null) => String::new(),
            (None, args) => args.to_string(),
        }
    }
}

fn pieces<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Text {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Text::deserialize(deserializer)? {
        Text::One(text) => vec![text],
        Text::Many(pieces) => pieces,
    })
}

fn once() -> u32 {
    1
}

fn is_once(times: &u32) -> bool {
    *times == 1
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
