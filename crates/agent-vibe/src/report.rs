//! What is told of a worker.

use std::{fmt, time::Duration};

use agent_tool_core::{Tier, clip};
use serde::{Deserialize, Serialize};

use crate::{WorkerTier, attempt::End, record::Record};

/// How many characters of a worker's result are kept.
pub const RESULT_CHARS: usize = 6_000;

/// How many characters of a result a list shows.
pub const PREVIEW_CHARS: usize = 200;

/// How a worker, or one attempt of it, stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// At work.
    Running,
    /// Ended with a result; a message starts the next attempt.
    Done,
    /// Ended with an error; a message starts the next attempt.
    Failed,
    /// Stopped for good.
    Killed,
}

impl Status {
    /// The status as it is written in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Killed => "killed",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A worker at one moment, or one attempt of it where a wait was for that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WorkerReport {
    /// The worker's id, such as `w1`.
    pub worker_id: String,
    /// Its label.
    pub label: String,
    /// The kind of work.
    pub tier: WorkerTier,
    /// The most that it may do.
    pub authority: Tier,
    /// How it stands.
    pub status: Status,
    /// The number of the attempt that this is about, from 1.
    pub attempt: u32,
    /// What the attempt came to; in a list the latest result. Of an attempt that failed: the error and
    /// what it had said; of one that was killed: what it had said. [`RESULT_CHARS`] at most, with a
    /// remark where it was cut.
    pub result: Option<String>,
    /// How many messages came while the attempt ran. They start the next one, all together.
    pub queued: usize,
    /// Whether this is what a wait saw whose time ran out.
    pub timed_out: bool,
    /// How long the attempt has run, or ran, in milliseconds.
    pub elapsed_ms: u64,
    /// Whether it was killed and had not stopped in time: it was let go, and whatever it may still do
    /// is ignored.
    #[serde(skip_serializing_if = "is_false")]
    pub detached: bool,
    /// In a list, the tool for which the worker waits, where the call that asked for the list was made from one of that tool:
    /// the worker goes on no further before that one ends, whoever polls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
}

impl WorkerReport {
    /// The worker as it stands.
    pub(crate) fn of(record: &Record) -> Self {
        let attempt = &record.attempt;
        let end = attempt.end();
        let elapsed = end.map_or_else(|| attempt.elapsed(), |end| end.elapsed);
        Self {
            worker_id: record.identity.id.clone(),
            label: record.identity.label.clone(),
            tier: record.identity.tier,
            authority: record.identity.authority,
            status: record.status,
            attempt: attempt.number(),
            result: end.and_then(|end| end.result.as_deref()).map(str::to_owned),
            queued: record.queued(),
            timed_out: false,
            elapsed_ms: milliseconds(elapsed),
            detached: record.is_detached(),
            waits_for: None,
        }
    }

    /// One attempt of the worker, which ended so, whatever came after it.
    pub(crate) fn of_end(record: &Record, number: u32, end: &End) -> Self {
        Self {
            status: end.status,
            attempt: number,
            result: end.result.as_deref().map(str::to_owned),
            queued: end.queued,
            elapsed_ms: milliseconds(end.elapsed),
            ..Self::of(record)
        }
    }

    pub(crate) fn timed_out(self) -> Self {
        Self { timed_out: true, ..self }
    }

    /// The worker as a list shows it: with the beginning of its latest result.
    pub(crate) fn in_list(record: &Record) -> Self {
        let result = record.latest.as_ref().map(|result| clip(result, PREVIEW_CHARS).text);
        Self { result, ..Self::of(record) }
    }

    /// The worker as it is named to a model.
    pub(crate) fn name(&self) -> String {
        format!("{} ({})", self.worker_id, self.label)
    }

    /// How long the attempt ran, in seconds.
    pub(crate) fn seconds(&self) -> String {
        format!("{}.{} s", self.elapsed_ms / 1_000, self.elapsed_ms % 1_000 / 100)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
