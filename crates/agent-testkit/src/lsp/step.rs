//! The steps of a script.

mod make;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Flaw, Raw};

/// One thing that the server does. The module's table tells each in a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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
