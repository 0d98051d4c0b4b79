//! The steps of a script.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Flaw, Raw};

/// One thing that the server does. The module's table tells each in a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// What the server would do without the rule: the toy's answer, or the protocol's own.
    Default,
    /// Lets so many milliseconds pass. The server reads and answers other messages meanwhile.
    Wait(u64),
    /// As `Wait`; the steps end here if the message's document was synced again meanwhile.
    Settle(u64),
    /// Answers the request with a result.
    Reply(Value),
    /// Answers the request with an error.
    Fail {
        /// The error's code.
        code: i64,
        /// The error's message.
        message: String,
        /// The error's data.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// Does nothing, so that a rule that leaves a request unanswered says so.
    Silence,
    /// Sends a notification.
    Notify {
        /// The method.
        method: String,
        /// Its parameters.
        params: Value,
    },
    /// Sends a request to the client.
    Request {
        /// The method.
        method: String,
        /// Its parameters.
        params: Value,
        /// The id; the next number where none is given. `"${id}"` is the client's own pending one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<Value>,
        /// Whether the steps go on before the client has answered.
        #[serde(default)]
        then: Then,
    },
    /// Sends one message as it stands, framed right.
    Send(Value),
    /// Publishes diagnostics.
    Publish {
        /// The file; the message's own where none is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
        /// The version that goes with them.
        #[serde(default)]
        version: Version,
        /// LSP `Diagnostic`s, or what is meant to look like them.
        diagnostics: Vec<Value>,
    },
    /// Publishes what the toy finds in a file now.
    PublishToy {
        /// The file; the message's own where none is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
        /// The version that goes with them.
        #[serde(default)]
        version: Version,
        /// Only the first so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<usize>,
    },
    /// Publishes what the toy finds now in the message's file and in those that [`Toy::others`] names.
    ///
    /// [`Toy::others`]: super::Toy::others
    Check,
    /// Sends `$/progress`.
    Progress {
        /// The token.
        token: Value,
        /// `WorkDoneProgressBegin`, `Report` or `End`.
        value: Value,
    },
    /// Registers a capability (`client/registerCapability`).
    Register {
        /// The registration's id.
        id: String,
        /// What is registered.
        method: String,
        /// Its options.
        #[serde(default)]
        options: Value,
    },
    /// Takes a registration back (`client/unregisterCapability`).
    Unregister {
        /// The registration's id.
        id: String,
        /// What was registered.
        method: String,
    },
    /// Sends `experimental/serverStatus`, as rust-analyzer does.
    ServerStatus {
        /// `ok`, `warning` or `error`.
        health: String,
        /// Whether nothing is under way.
        quiescent: bool,
        /// What is wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Sends `$/analyzerStatus`, as Dart's server does to a client without work done progress.
    AnalyzerStatus {
        /// Whether it analyses.
        analyzing: bool,
    },
    /// Writes bytes to standard output.
    Write(Raw),
    /// Sends a message with one flaw of framing or shape.
    Flawed {
        /// What is wrong with it.
        flaw: Flaw,
        /// The message; a `window/logMessage` where none is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<Value>,
    },
    /// Stops reading standard input: for so many milliseconds, or for ever with `null`. Up to 8 kB
    /// had been taken from the pipe already.
    StopReading(Option<u64>),
    /// Writes so many publishes of about so many bytes each, and reads nothing until the last is out.
    Flood {
        /// How many.
        publishes: u64,
        /// The length of each one's message.
        bytes: usize,
    },
    /// Writes a line to standard error.
    Stderr(String),
    /// Starts a process that sleeps, whatever becomes of this one and of its input.
    Spawn {
        /// How long it sleeps, in milliseconds.
        ms: u64,
        /// What it keeps open.
        #[serde(default)]
        holds: Holds,
    },
    /// Ends the process with a code.
    Exit(i32),
    /// Ends the process by a signal (SIGABRT).
    Abort,
}

/// Whether the steps wait for the client's answer to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// They go on at once.
    #[default]
    GoOn,
    /// They wait for it, for ever if need be; it is `${answer}` afterwards.
    Await,
}

/// The version that goes with published diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// That of the document's last sync.
    #[default]
    Synced,
    /// That of the message which set the steps off.
    Message,
    /// One less than the last sync's.
    Older,
    /// None.
    Absent,
    /// This one.
    Given(i64),
}

/// What a spawned process keeps open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// Nothing of the server's.
    #[default]
    Nothing,
    /// The server's output pipes, so that the client sees no end of them when the server is gone.
    Output,
}

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
