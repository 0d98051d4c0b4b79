//! What a host makes of a worker.

use std::{error::Error, fmt, str::FromStr, sync::Arc};

use agent_tool_core::{BoxFuture, Context, Event, Tier};
use serde::{Deserialize, Serialize};

use crate::{WorkerScope, attempt::Attempt};

/// What kind of work a worker is for. It says nothing of what it may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WorkerTier {
    /// Mechanical work with a clear specification.
    Fast,
    /// Design, judgement, or the review of what a fast worker made.
    #[default]
    Good,
}

impl WorkerTier {
    /// Both, in the order in which they are named.
    pub const ALL: [WorkerTier; 2] = [WorkerTier::Fast, WorkerTier::Good];

    /// The tier as it is written in arguments and results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            WorkerTier::Fast => "fast",
            WorkerTier::Good => "good",
        }
    }
}

impl fmt::Display for WorkerTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for WorkerTier {
    type Err = UnknownTier;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == name).ok_or(UnknownTier)
    }
}

/// A word that names no tier of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownTier;

impl fmt::Display for UnknownTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a worker's tier is fast or good")
    }
}

impl Error for UnknownTier {}

/// Where workers come from: a loop in this process, a command, whatever the host has.
pub trait WorkerFactory: Send + Sync + 'static {
    /// Whether there is a worker for this kind of work. None is ever put in another's place.
    fn serves(&self, tier: WorkerTier) -> bool;

    /// Why no worker of this tier can be held to this authority: it is refused then before it is listed (`authority_exceeded`),
    /// and whoever spawns it is told. None where one can.
    fn refuses(&self, tier: WorkerTier, authority: Tier) -> Option<String> {
        let _ = (tier, authority);
        None
    }

    /// Begins one attempt, whose future gives the worker's last words.
    ///
    /// It is called on a thread where it may block, and its future is polled by a task of its own and
    /// must not. Dropping the future ends the attempt with all that it started. Calls of tools are
    /// made through [`Job::context`].
    fn start(&self, job: Job) -> BoxFuture<'static, Result<String, WorkError>>;
}

/// One attempt at a worker's task.
#[derive(Clone, Debug)]
pub struct Job {
    pub(crate) identity: Arc<Identity>,
    pub(crate) attempt: Arc<Attempt>,
    pub(crate) brief: Vec<Arc<str>>,
    pub(crate) known: usize,
    pub(crate) previous: Option<Arc<str>>,
    pub(crate) cx: Context,
    pub(crate) scope: WorkerScope,
}

/// What a worker is for good.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) index: usize,
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) tier: WorkerTier,
    pub(crate) authority: Tier,
}

impl Identity {
    /// How a worker is named to people, on cards too: its label alone may be another's.
    pub(crate) fn name(&self) -> String {
        format!("{} ({})", self.id, self.label)
    }
}

impl Job {
    /// The worker's id, such as `w1`.
    #[must_use]
    pub fn worker_id(&self) -> &str {
        &self.identity.id
    }

    /// The worker's label.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.identity.label
    }

    /// The kind of work.
    #[must_use]
    pub fn tier(&self) -> WorkerTier {
        self.identity.tier
    }

    /// The most that the worker may do. Its context holds it to that; a worker that is a program of its
    /// own has to be told.
    #[must_use]
    pub fn authority(&self) -> Tier {
        self.identity.authority
    }

    /// The number of this attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt.number()
    }

    /// The brief and the messages that were sent since, in order.
    #[must_use]
    pub fn brief(&self) -> &[Arc<str>] {
        &self.brief
    }

    /// The part of [`Job::brief`] that no earlier attempt was given.
    #[must_use]
    pub fn news(&self) -> &[Arc<str>] {
        &self.brief[self.known..]
    }

    /// What the attempt before this one came to, as far as it is kept.
    #[must_use]
    pub fn previous(&self) -> Option<&str> {
        self.previous.as_deref()
    }

    /// The surroundings from which the worker calls tools: its own link in the chain of callers, its
    /// authority, and the tools that a worker has. They end with the attempt: a call under way is
    /// dropped then, and one that comes later is refused with `worker_ended`.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.cx
    }

    /// The worker's scope, for what outlives the attempt.
    #[must_use]
    pub fn scope(&self) -> &WorkerScope {
        &self.scope
    }

    /// Tells what the worker says while it works: to whoever watches the run, and into the result of an
    /// attempt that fails or is killed, which keeps the end of it. After its end nothing is told.
    pub fn output(&self, text: &str) {
        if self.attempt.end().is_some() {
            return;
        }
        self.attempt.append(text);
        self.cx.emit(Event::Output { text: text.to_owned() });
    }
}

/// Why an attempt failed.
#[derive(Debug)]
pub struct WorkError {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl WorkError {
    /// An error with this message.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// The same error with the error that caused it, which is told too.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The message with all of its causes.
    pub(crate) fn in_full(&self) -> String {
        let mut words = self.message.clone();
        let mut cause = self.source();
        while let Some(error) = cause {
            words = format!("{words}: {error}");
            cause = error.source();
        }
        words
    }
}

impl fmt::Display for WorkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for WorkError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
