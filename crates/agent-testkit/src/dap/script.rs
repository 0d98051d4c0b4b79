use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Toy;

/// What an adapter does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// The name of its program.
    pub name: String,
    /// What it debugs.
    pub toy: Toy,
    /// What it does otherwise than its toy.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Where it writes what it was sent.
    #[serde(default)]
    pub log: Option<PathBuf>,
}

/// Steps in the place of what the toy does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The request.
    pub on: String,
    /// Which one of these requests, from 1; each of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// What is done.
    pub steps: Vec<Step>,
}

/// One thing that an adapter does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// What the toy does.
    Default,
    /// So many milliseconds pass. The adapter reads on meanwhile.
    Wait(u64),
    /// Answers with this body.
    Reply(Value),
    /// Answers that it failed, with this message and this body.
    Fail {
        /// The short form.
        message: Option<String>,
        /// The body, which may have the long form.
        body: Value,
    },
    /// Answers nothing.
    Silence,
    /// Sends an event.
    Event {
        /// Its name.
        event: String,
        /// Its body; null for none.
        body: Value,
    },
    /// Asks something of the client.
    Request {
        /// What.
        command: String,
    },
    /// Sends a message as it is.
    Send(Value),
    /// Writes bytes outside of any message.
    Write(String),
    /// Writes a body that is no JSON as it stands, framed right.
    Body(String),
    /// Writes so many events of output of so many bytes each.
    Flood {
        /// How many.
        events: u64,
        /// How long each is.
        bytes: usize,
    },
    /// A line on standard error.
    Stderr(String),
    /// Reads no more.
    StopReading,
    /// Ends with this code.
    Exit(i32),
}

impl Script {
    /// An adapter of this name that debugs the toy.
    #[must_use]
    pub fn new(name: impl Into<String>, toy: Toy) -> Self {
        Self { name: name.into(), toy, rules: Vec::new(), log: None }
    }

    /// The same with one more rule. The first that fits takes a request.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// The same with steps at each of these requests.
    #[must_use]
    pub fn on(self, request: impl Into<String>, steps: impl IntoIterator<Item = Step>) -> Self {
        self.rule(Rule::on(request).then(steps))
    }
}

impl Rule {
    /// At each of these requests.
    #[must_use]
    pub fn on(request: impl Into<String>) -> Self {
        Self { on: request.into(), nth: None, steps: Vec::new() }
    }

    /// Only at the nth of them.
    #[must_use]
    pub fn nth(mut self, nth: u64) -> Self {
        self.nth = Some(nth);
        self
    }

    /// Does this.
    #[must_use]
    pub fn then(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.extend(steps);
        self
    }
}

impl Step {
    /// An event.
    #[must_use]
    pub fn event(event: impl Into<String>, body: Value) -> Self {
        Self::Event { event: event.into(), body }
    }

    /// A failure with a short message alone.
    #[must_use]
    pub fn fail(message: impl Into<String>) -> Self {
        Self::Fail { message: Some(message.into()), body: Value::Null }
    }
}
