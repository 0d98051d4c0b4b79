//! The record of plans, which outlives the process: hosts may start one for each call.

use std::{
    io,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::{PLAN_LIVES, fingerprint::Fingerprint, state::State};
use crate::{logs::is_archive, site::Site};

/// Above this many the oldest records that nobody can need go.
const RECORDS: usize = 100;

/// Above this many the oldest go, needed or not, so that no caller can fill the disk or make the record unreadable.
const MOST_RECORDS: usize = 1_000;

/// What was applied is remembered at least so long.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A plan that is from further in the future than clocks differ was not made by this clock, and has no age.
const CLOCK_SKEW: Duration = Duration::from_secs(5);

/// The plans, oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Journal {
    plans: Vec<Record>,
}

/// One plan and what became of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) plan_id: String,
    /// Milliseconds since 1970.
    created: u64,
    pub(crate) log: Fingerprint,
    pub(crate) archive: String,
    pub(crate) phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    Planned,
    /// Written before the log is touched: how far it came is seen from the files.
    Applying,
    /// `at` in milliseconds since 1970, `size` in bytes.
    Applied {
        at: u64,
        size: u64,
    },
}

/// How old a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    Live,
    Over,
    /// It was made by a clock that was set back since.
    Ahead,
}

impl Journal {
    /// A record that cannot be read holds no plan: each has to be made anew, and a person is told.
    pub(crate) fn load(state: &State, site: &Site) -> Self {
        let text = match state.read() {
            Ok(Some(text)) => text,
            Ok(None) => return Self::default(),
            Err(error) => {
                site.warn(&format!(
                    "the record of plans cannot be read, so it counts as empty: {error}"
                ));
                return Self::default();
            }
        };
        match serde_json::from_slice::<Self>(&text) {
            Ok(journal) if journal.plans.iter().all(|plan| is_archive(&plan.archive)) => journal,
            _ => {
                site.warn("the record of plans is damaged, so it counts as empty");
                Self::default()
            }
        }
    }

    pub(crate) fn save(&self, state: &State) -> io::Result<()> {
        state.write(&serde_json::to_vec(self)?)
    }

    pub(crate) fn add(&mut self, record: Record, now: SystemTime) {
        self.plans.push(record);
        self.prune(now);
    }

    pub(crate) fn find(&self, id: &str) -> Option<&Record> {
        self.plans.iter().find(|record| record.plan_id == id)
    }

    pub(crate) fn set(&mut self, id: &str, phase: Phase) {
        for record in self.plans.iter_mut().filter(|record| record.plan_id == id) {
            record.phase = phase;
        }
    }

    pub(crate) fn applying(&self) -> impl Iterator<Item = &Record> {
        self.plans.iter().filter(|record| record.phase == Phase::Applying)
    }

    fn prune(&mut self, now: SystemTime) {
        let mut over = self.plans.len().saturating_sub(RECORDS);
        self.plans.retain(|record| {
            let goes = over > 0 && !record.is_needed(now);
            over -= usize::from(goes);
            !goes
        });
        let over = self.plans.len().saturating_sub(MOST_RECORDS);
        self.plans.drain(..over);
    }
}

impl Record {
    pub(crate) fn new(plan_id: String, log: Fingerprint, archive: String, now: SystemTime) -> Self {
        Self { plan_id, created: stamp(now), log, archive, phase: Phase::Planned }
    }

    /// Whether it may still be begun.
    pub(crate) fn age(&self, now: SystemTime) -> Age {
        let created = time(self.created);
        match () {
            () if created > now + CLOCK_SKEW => Age::Ahead,
            () if now >= created + PLAN_LIVES => Age::Over,
            () => Age::Live,
        }
    }

    fn is_needed(&self, now: SystemTime) -> bool {
        let since = |at| now.duration_since(time(at)).unwrap_or_default();
        match self.phase {
            Phase::Planned => self.age(now) == Age::Live,
            Phase::Applying => since(self.created) < REMEMBERED,
            Phase::Applied { at, .. } => since(at) < REMEMBERED,
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn stamp(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

/// A damaged record may hold a stamp of any size; later than this no time can be written.
const LAST_STAMP: u64 = 253_402_300_799_000;

pub(crate) fn time(stamp: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(stamp.min(LAST_STAMP))
}
