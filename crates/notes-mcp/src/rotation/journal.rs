//! The record of plans, which outlives the process: hosts may start one for each call.

use std::{
    io,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use humantime::format_rfc3339_seconds;
use serde::{Deserialize, Serialize};

use super::{PLAN_LIVES, fingerprint::Fingerprint, state::State};
use crate::{
    logs::is_archive,
    refusal::{ASK_A_PERSON, Code, Refusal},
    site::Site,
};

/// Above this many, records that nobody can need go.
const RECORDS: usize = 100;

/// With this many that may be needed there is no new plan, so that no caller can fill the disk or push out what another one
/// was promised.
const MOST_RECORDS: usize = 1_000;

/// What was applied is remembered at least so long.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

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
    /// A record that is damaged holds no plan: each has to be made anew, and a person is told. It is kept under another name, since
    /// it may tell that person what was rotated.
    ///
    /// # Errors
    ///
    /// Where the record cannot be read or kept: the next one would overwrite it.
    pub(crate) fn load(state: &State, site: &Site) -> Result<Self, Refusal> {
        let read = state.read();
        let damage = match &read {
            Ok(None) => return Ok(Self::default()),
            Ok(Some(text)) => match serde_json::from_slice::<Self>(text) {
                Ok(journal) if journal.plans.iter().all(|plan| is_archive(&plan.archive)) => {
                    return Ok(journal);
                }
                _ => "damaged",
            },
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => "over 1 MiB",
            Err(error) => {
                let kind = error.kind();
                return Err(Refusal::io("cannot read the record of plans", kind, ASK_A_PERSON));
            }
        };
        let name = state.keep_aside().map_err(|error| {
            let what = format!("the record of plans is {damage} and cannot be kept aside");
            Refusal::io(&what, error, ASK_A_PERSON)
        })?;
        site.warn(&format!(
            "the record of plans is {damage}, so it counts as empty; it is kept as {name}"
        ));
        Ok(Self::default())
    }

    pub(crate) fn save(&self, state: &State) -> io::Result<()> {
        state.write(&serde_json::to_vec(self)?)
    }

    /// Adds a plan, for which others go that nobody can need.
    ///
    /// # Errors
    ///
    /// Where every record may be needed: a plan that a person may be looking at, or what a repeated apply is answered with.
    pub(crate) fn add(&mut self, record: Record, now: SystemTime) -> Result<(), Refusal> {
        self.forget(now, |phase| phase == Phase::Planned);
        self.forget(now, |_| true);
        if self.plans.len() >= MOST_RECORDS {
            let next = self.plans.iter().map(Record::needed_until).min().unwrap_or(now);
            return Err(Refusal::new(
                Code::TooManyPlans,
                format!(
                    "there are {} plans that may still be applied or were within {} days, and none of them is forgotten for a new one; \
                     have one of them looked at and applied, or call again after {}",
                    self.plans.len(),
                    REMEMBERED.as_secs() / (24 * 60 * 60),
                    format_rfc3339_seconds(next)
                ),
            ));
        }
        self.plans.push(record);
        Ok(())
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

    /// Makes room for one more, as far as records in such a phase that nobody can need go, the oldest first.
    fn forget(&mut self, now: SystemTime, may_go: fn(Phase) -> bool) {
        let mut over = (self.plans.len() + 1).saturating_sub(RECORDS);
        self.plans.retain(|record| {
            let goes = over > 0 && may_go(record.phase) && !record.is_needed(now);
            over -= usize::from(goes);
            !goes
        });
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
        match self.phase {
            Phase::Planned => self.age(now) == Age::Live,
            Phase::Applying | Phase::Applied { .. } => now < self.needed_until(),
        }
    }

    fn needed_until(&self) -> SystemTime {
        let (from, lasts) = match self.phase {
            Phase::Planned => (self.created, PLAN_LIVES),
            Phase::Applying => (self.created, REMEMBERED),
            Phase::Applied { at, .. } => (at, REMEMBERED),
        };
        time(from.saturating_add(lasts.as_millis() as u64))
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
