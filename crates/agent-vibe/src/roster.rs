//! All workers of a run, and how many there may be.

use std::sync::Arc;

use agent_tool_core::ToolError;

use crate::{Status, WorkerReport, error, record::Record};

/// How many workers a run may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RosterLimits {
    /// How many may run at a time, 8 by default; none where it is zero. One that is done, failed or
    /// killed does not count.
    pub running: usize,
    /// How many may be spawned in all, 64 by default.
    pub spawned: usize,
}

impl Default for RosterLimits {
    fn default() -> Self {
        Self { running: 8, spawned: 64 }
    }
}

impl RosterLimits {
    /// The same with so many at a time.
    #[must_use]
    pub fn running(self, running: usize) -> Self {
        Self { running, ..self }
    }

    /// The same with so many in all.
    #[must_use]
    pub fn spawned(self, spawned: usize) -> Self {
        Self { spawned, ..self }
    }
}

/// What became of the workers when the mode was turned off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// How many were killed at work, so that what they were to do is not done.
    pub killed: usize,
    /// How many of all did not stop in time and were let go.
    pub detached: usize,
}

/// The workers in the order of their ids. None is ever taken out, so no id is used again.
#[derive(Debug)]
pub(crate) struct Roster {
    pub(crate) on: bool,
    pub(crate) workers: Vec<Record>,
    /// The number of the last worker of before this roster.
    pub(crate) before: usize,
    limits: RosterLimits,
}

impl Roster {
    pub(crate) fn new(limits: RosterLimits) -> Self {
        Self { on: true, workers: Vec::new(), before: 0, limits }
    }

    pub(crate) fn check_on(&self) -> Result<(), ToolError> {
        if self.on { Ok(()) } else { Err(error::vibe_off()) }
    }

    /// Whether one more may be spawned.
    pub(crate) fn check_spawn(&self) -> Result<(), ToolError> {
        if self.workers.len() >= self.limits.spawned {
            return Err(error::all_spawned(self.limits.spawned));
        }
        self.check_slot()
    }

    /// Whether one more may run.
    pub(crate) fn check_slot(&self) -> Result<(), ToolError> {
        let running = self.workers.iter().filter(|worker| worker.status == Status::Running).count();
        if running >= self.limits.running {
            return Err(error::all_running(self.limits.running, &self.reports()));
        }
        Ok(())
    }

    /// The worker of this id.
    pub(crate) fn find(&mut self, id: &str) -> Result<&mut Record, ToolError> {
        let found = self.workers.iter().position(|worker| worker.identity.id == id.trim());
        match found {
            Some(index) => Ok(&mut self.workers[index]),
            None => Err(error::unknown_worker(id, &self.reports())),
        }
    }

    pub(crate) fn brief(&self, id: &str) -> Option<Arc<str>> {
        self.workers.iter().find(|worker| worker.identity.id == id).and_then(Record::first_brief)
    }

    pub(crate) fn reports(&self) -> Vec<WorkerReport> {
        self.workers.iter().map(WorkerReport::in_list).collect()
    }
}
