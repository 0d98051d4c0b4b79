//! Short ways to write a step.

use serde_json::{Value, json};

use super::{Step, Then, Version};
use crate::lsp::{Flaw, Raw};

impl Step {
    /// Answers the request with a result.
    #[must_use]
    pub fn reply(result: impl Into<Value>) -> Self {
        Self::Reply(result.into())
    }

    /// Answers the request with an error.
    #[must_use]
    pub fn fail(code: i64, message: &str) -> Self {
        Self::Fail { code, message: message.to_owned(), data: None }
    }

    /// Answers with `ContentModified` (-32801).
    #[must_use]
    pub fn content_modified() -> Self {
        Self::fail(-32801, "content modified")
    }

    /// Sends a notification.
    #[must_use]
    pub fn notify(method: &str, params: Value) -> Self {
        Self::Notify { method: method.to_owned(), params }
    }

    /// Sends a request and goes on.
    #[must_use]
    pub fn request(method: &str, params: Value) -> Self {
        Self::Request { method: method.to_owned(), params, id: None, then: Then::GoOn }
    }

    /// Sends a request and waits for its answer.
    #[must_use]
    pub fn ask(method: &str, params: Value) -> Self {
        Self::Request { method: method.to_owned(), params, id: None, then: Then::Await }
    }

    /// The same request with this id; other steps stay as they are.
    #[must_use]
    pub fn id(self, id: impl Into<Value>) -> Self {
        match self {
            Self::Request { method, params, then, .. } => {
                Self::Request { method, params, id: Some(id.into()), then }
            }
            other => other,
        }
    }

    /// Publishes diagnostics of the message's own file with the version of its last sync.
    #[must_use]
    pub fn publish(diagnostics: impl IntoIterator<Item = Value>) -> Self {
        let diagnostics = diagnostics.into_iter().collect();
        Self::Publish { uri: None, version: Version::Synced, diagnostics }
    }

    /// Publishes what the toy finds in the message's own file.
    #[must_use]
    pub fn publish_toy() -> Self {
        Self::PublishToy { uri: None, version: Version::Synced, first: None }
    }

    /// The same publish for this file; other steps stay as they are.
    #[must_use]
    pub fn uri(self, uri: &str) -> Self {
        let uri = Some(uri.to_owned());
        match self {
            Self::Publish { version, diagnostics, .. } => {
                Self::Publish { uri, version, diagnostics }
            }
            Self::PublishToy { version, first, .. } => Self::PublishToy { uri, version, first },
            other => other,
        }
    }

    /// The same publish with this version; other steps stay as they are.
    #[must_use]
    pub fn version(self, version: Version) -> Self {
        match self {
            Self::Publish { uri, diagnostics, .. } => Self::Publish { uri, version, diagnostics },
            Self::PublishToy { uri, first, .. } => Self::PublishToy { uri, version, first },
            other => other,
        }
    }

    /// Asks for a progress token and waits until the client has granted it.
    #[must_use]
    pub fn create_progress(token: &str) -> Self {
        Self::ask("window/workDoneProgress/create", json!({"token": token}))
    }

    /// Begins a progress.
    #[must_use]
    pub fn begin(token: &str, title: &str) -> Self {
        let value = json!({"kind": "begin", "title": title, "percentage": 0});
        Self::Progress { token: token.into(), value }
    }

    /// Reports a progress.
    #[must_use]
    pub fn report(token: &str, message: &str, percentage: u32) -> Self {
        let value = json!({"kind": "report", "message": message, "percentage": percentage});
        Self::Progress { token: token.into(), value }
    }

    /// Ends a progress.
    #[must_use]
    pub fn end(token: &str) -> Self {
        Self::Progress { token: token.into(), value: json!({"kind": "end"}) }
    }

    /// Writes text to standard output.
    #[must_use]
    pub fn write(text: &str) -> Self {
        Self::Write(Raw::Text(text.to_owned()))
    }

    /// Sends a `window/logMessage` with a flaw.
    #[must_use]
    pub fn flawed(flaw: Flaw) -> Self {
        Self::Flawed { flaw, message: None }
    }
}
