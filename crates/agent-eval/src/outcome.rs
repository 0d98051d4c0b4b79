//! What a cell came to.

mod capture;
mod collect;

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::collect::Collector;
pub use self::{
    capture::{HEAD_BYTES, TAIL_BYTES},
    collect::{MAX_BUNDLE_BYTES, MAX_DISPLAYS},
};
use crate::{render, wire::Bundle};

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// It ran to its end.
    Ok,
    /// It raised.
    Error,
    /// Somebody stopped it.
    Interrupted,
    /// It was silent for longer than its budget.
    TimedOut,
    /// The interpreter ended under it, or before it could begin.
    Died,
}

/// What became of the variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// Those of earlier cells and of this one are there. So it is too where the first cell of an interpreter was stopped.
    Kept,
    /// They are lost; the next cell begins anew.
    Gone,
    /// The cell began in a new interpreter and came to its end there, or to its error; what it made is there.
    New,
}

/// An exception.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CellError {
    /// Its class.
    pub name: String,
    /// Its text.
    pub value: String,
    /// The lines of its traceback, without frames of the kernel.
    pub traceback: Vec<String>,
}

/// One thing that the cell showed, in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shown {
    /// Text on standard output.
    Stdout(String),
    /// Text on standard error.
    Stderr(String),
    /// What `display()` was given, or a figure.
    Display(Bundle),
    /// The value of the last expression.
    Result(Bundle),
    /// A remark of the host's, such as one about a message that could not be read.
    Note(String),
    /// How much is missing of what stands right before this.
    LeftOut(LeftOut),
}

/// How much of a text was not kept. Where it was, the text has [`LeftOut::line`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Of an output.
    Bytes(u64),
    /// Of a value's text.
    Characters(u64),
}

impl LeftOut {
    /// The line in the place of what is missing. The kernels write the same one.
    #[must_use]
    pub fn line(self) -> String {
        match self {
            Self::Bytes(count) => format!("\n… {count} bytes left out …\n"),
            Self::Characters(count) => format!("\n… {count} characters left out …\n"),
        }
    }
}

/// What a cell came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The number of the cell in its interpreter, from 1.
    pub execution_count: u64,
    /// What it showed, in order. Over [`HEAD_BYTES`] and [`TAIL_BYTES`] of an output its middle is left out.
    pub shown: Vec<Shown>,
    /// Why it failed.
    pub error: Option<CellError>,
    /// What became of the variables.
    pub state: State,
    /// Whether the cell was the first of its interpreter, so that nothing of earlier ones was there.
    pub new_interpreter: bool,
    /// The names of variables that are there, the first thirty of them, and how many more there are.
    pub names: (Vec<String>, u64),
    /// How long it ran.
    pub duration: Duration,
    /// Whether something was left out of what is kept here.
    pub truncated: bool,
    /// Whether anything of the cell ran. One that does not parse has changed nothing.
    pub began: bool,
    /// How the interpreter ended, where it did, with its last words.
    pub death: Option<String>,
    /// Which interpreter ran it: `Python 3.11.7 (.venv)`.
    pub label: String,
}

impl Outcome {
    /// That of a cell of which nothing has run: its interpreter ended before it, and with it what it was written for.
    pub(crate) fn not_run(how: &str, label: String) -> Self {
        Self {
            status: Status::Died,
            execution_count: 0,
            shown: Vec::new(),
            error: None,
            state: State::Gone,
            new_interpreter: false,
            names: Default::default(),
            duration: Duration::ZERO,
            truncated: false,
            began: false,
            death: Some(format!("{how}; this cell was not run")),
            label,
        }
    }

    /// The whole standard output that was kept.
    pub fn stdout(&self) -> String {
        self.texts(|shown| match shown {
            Shown::Stdout(text) => Some(text),
            _ => None,
        })
    }

    /// The whole standard error that was kept.
    pub fn stderr(&self) -> String {
        self.texts(|shown| match shown {
            Shown::Stderr(text) => Some(text),
            _ => None,
        })
    }

    /// The bundle of the last expression.
    pub fn result(&self) -> Option<&Bundle> {
        self.shown.iter().find_map(|shown| match shown {
            Shown::Result(bundle) => Some(bundle),
            _ => None,
        })
    }

    /// The structured form, for hosts and tests.
    pub fn data(&self) -> Value {
        let displays: Vec<_> = self
            .shown
            .iter()
            .filter_map(|shown| match shown {
                Shown::Display(bundle) => Some(bundle),
                _ => None,
            })
            .collect();
        json!({
            "status": self.status,
            "execution_count": self.execution_count,
            "result": self.result(),
            "displays": displays,
            "stdout": render::collapse(&self.stdout()),
            "stderr": render::collapse(&self.stderr()),
            "error": self.error,
            "state": self.state,
            "new_interpreter": self.new_interpreter,
            "duration_ms": u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            "truncated": self.truncated,
            "died": self.death,
            "pager": Value::Null,
            "label": self.label,
        })
    }

    fn texts<'a>(&'a self, of: impl Fn(&'a Shown) -> Option<&'a String>) -> String {
        self.shown.iter().filter_map(of).map(String::as_str).collect()
    }
}
