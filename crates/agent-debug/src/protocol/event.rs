use serde_json::Value;

use super::{
    Breakpoint,
    incoming::{integer, text},
};

/// Something that happened in the adapter or in the debuggee.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The adapter takes breakpoints now.
    Initialized,
    /// The debuggee stopped.
    Stopped(Stop),
    /// The debuggee runs again.
    Continued {
        /// The thread that runs; none stands for all.
        thread: Option<i64>,
    },
    /// The debuggee ended.
    Exited {
        /// With this code, where the adapter says it.
        code: Option<i64>,
    },
    /// Debugging is over.
    Terminated,
    /// Output of the debuggee or of the adapter.
    Output(Output),
    /// What became of a breakpoint changed.
    Breakpoint {
        /// `new`, `changed`, `removed`, ….
        reason: String,
        /// The breakpoint.
        breakpoint: Breakpoint,
    },
    /// The debuggee is a process.
    Process {
        /// Its id on this machine.
        id: Option<u32>,
    },
    /// Everything else, by its name.
    Other(String),
}

/// Why and where the debuggee stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stop {
    /// `breakpoint`, `step`, `exception`, `pause`, ….
    pub reason: String,
    /// The reason at length.
    pub description: Option<String>,
    /// More about it, such as the exception's message.
    pub text: Option<String>,
    /// The thread that stopped.
    pub thread: Option<i64>,
    /// The breakpoints that were hit, by the adapter's ids.
    pub breakpoints: Vec<i64>,
}

/// A piece of output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// `stdout`, `stderr`, `console`, ….
    pub category: Option<String>,
    /// The text.
    pub text: String,
}

impl Event {
    pub(super) fn of(name: &str, body: &Value) -> Self {
        match name {
            "initialized" => Self::Initialized,
            "stopped" => Self::Stopped(Stop {
                reason: text(&body["reason"]).unwrap_or_default(),
                description: filled(&body["description"]),
                text: filled(&body["text"]),
                thread: integer(&body["threadId"]),
                breakpoints: integers(&body["hitBreakpointIds"]),
            }),
            "continued" => {
                let all = body["allThreadsContinued"].as_bool().unwrap_or(false);
                let thread = integer(&body["threadId"]).filter(|_| !all);
                Self::Continued { thread }
            }
            "exited" => Self::Exited { code: integer(&body["exitCode"]) },
            "terminated" => Self::Terminated,
            "output" => Self::Output(Output {
                category: text(&body["category"]),
                text: text(&body["output"]).unwrap_or_default(),
            }),
            "breakpoint" => Self::Breakpoint {
                reason: text(&body["reason"]).unwrap_or_default(),
                breakpoint: Breakpoint::of(&body["breakpoint"]),
            },
            "process" => Self::Process {
                id: integer(&body["systemProcessId"]).and_then(|id| u32::try_from(id).ok()),
            },
            other => Self::Other(other.to_owned()),
        }
    }

    /// The protocol's name of the event.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Initialized => "initialized",
            Self::Stopped(_) => "stopped",
            Self::Continued { .. } => "continued",
            Self::Exited { .. } => "exited",
            Self::Terminated => "terminated",
            Self::Output(_) => "output",
            Self::Breakpoint { .. } => "breakpoint",
            Self::Process { .. } => "process",
            Self::Other(name) => name,
        }
    }
}

fn filled(value: &Value) -> Option<String> {
    text(value).filter(|text| !text.trim().is_empty())
}

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().into_iter().flatten().filter_map(integer).collect()
}
