use serde_json::Value;

use super::Event;

/// A message of an adapter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Incoming {
    /// The answer to a request of ours.
    Response(Response),
    /// Something happened.
    Event(Event),
    /// The adapter asks something of us, which is refused.
    Request {
        /// The number to answer under.
        seq: i64,
        /// What it asks.
        command: String,
    },
    /// JSON that is no message of the protocol.
    Unknown,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Response {
    /// The number of the request.
    pub request_seq: i64,
    /// What was asked.
    pub command: String,
    /// Whether it was done.
    pub success: bool,
    /// The answer; null where there is none.
    pub body: Value,
    /// What the adapter says of a failure in one line.
    pub message: Option<String>,
}

impl Incoming {
    /// Reads a message. Whatever an adapter leaves out besides the type and what it answers is empty.
    #[must_use]
    pub fn of(mut message: Value) -> Self {
        let body = message.get_mut("body").map(Value::take).unwrap_or_default();
        match message["type"].as_str() {
            Some("response") => match integer(&message["request_seq"]) {
                Some(request_seq) => Self::Response(Response {
                    request_seq,
                    command: text(&message["command"]).unwrap_or_default(),
                    success: message["success"].as_bool().unwrap_or(false),
                    message: text(&message["message"]),
                    body,
                }),
                None => Self::Unknown,
            },
            Some("event") => match message["event"].as_str() {
                Some(name) => Self::Event(Event::of(name, &body)),
                None => Self::Unknown,
            },
            Some("request") => Self::Request {
                seq: integer(&message["seq"]).unwrap_or(0),
                command: text(&message["command"]).unwrap_or_default(),
            },
            _ => Self::Unknown,
        }
    }
}

impl Response {
    /// Why it failed, in the adapter's words: the long form with its placeholders filled, since some adapters have nothing
    /// else, or the short one.
    #[must_use]
    pub fn error(&self) -> String {
        let error = &self.body["error"];
        let mut said = text(&error["format"]).unwrap_or_default();
        for (name, value) in error["variables"].as_object().into_iter().flatten() {
            let value = text(value).unwrap_or_else(|| value.to_string());
            said = said.replace(&format!("{{{name}}}"), &value);
        }
        let short = self.message.clone().unwrap_or_default();
        let said = if said.trim().is_empty() { short } else { said };
        if said.trim().is_empty() {
            return format!("{} failed, and the adapter does not say why", self.command);
        }
        said.trim().to_owned()
    }
}

/// A whole number, also as `5.0` or as a text.
pub(super) fn integer(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "whole and far within the range")]
    let whole = |float: f64| (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64);
    value
        .as_i64()
        .or_else(|| value.as_f64().and_then(whole))
        .or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
}

/// A text that is there.
pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
