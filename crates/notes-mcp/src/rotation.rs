//! Plans and their application: what a person saw is done, once, and nothing else.

mod fingerprint;
mod journal;
mod state;
mod swap;

use std::{
    fs::File,
    io::{self, Read},
    time::{Duration, SystemTime},
};

use self::{
    fingerprint::Fingerprint,
    journal::{Age, Journal, Phase, REMEMBERED, Record},
    state::{Missing, State},
};
use crate::{
    logs::{Logs, SHOWN, archive_name},
    refusal::{ASK_A_PERSON, Code, Refusal},
    site::{Site, Step},
};

/// No more archives are made; an older one is never deleted for a new one.
pub const ARCHIVES: usize = 5;

/// A plan can be applied for this long.
pub const PLAN_LIVES: Duration = Duration::from_secs(600);

/// How many hexadecimal digits a plan's id has.
pub(crate) const ID_DIGITS: usize = 16;

/// A plan, as it is shown.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) id: String,
    /// Bytes of the log.
    pub(crate) size: u64,
    pub(crate) archive: String,
    pub(crate) expires: SystemTime,
    /// The last record of plans that was damaged: what was rotated before may be known from it alone.
    pub(crate) kept_aside: Option<String>,
}

/// A rotation that was done.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) when: When,
    pub(crate) archive: String,
    /// Bytes of the archive when it stopped being the log.
    pub(crate) size: u64,
    pub(crate) at: SystemTime,
}

/// Whether it was this call that did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    Before,
}

/// Records what a rotation would do. Changes nothing but the record.
pub(crate) fn plan(site: &Site) -> Result<Plan, Refusal> {
    let logs = site.logs()?;
    let log = logs.log()?;
    if log.size() == 0 {
        return Err(Refusal::new(
            Code::NothingToRotate,
            format!("{SHOWN} is empty, so there is nothing to rotate"),
        ));
    }
    let archive = archive_name(next_archive(&logs)?);
    let _turn = site.turn();
    let state = State::open(&logs, Missing::Create)?;
    let mut journal = Journal::load(&state, site)?;
    refuse_half_done(&logs, &journal, None)?;
    let kept_aside = state.kept_aside().map_err(folder_refused)?;
    let now = site.clock().now();
    let id = new_id().map_err(|error| Refusal::io("cannot make an id", error, ASK_A_PERSON))?;
    journal.add(Record::new(id.clone(), Fingerprint::of(&log.stat), archive.clone(), now), now)?;
    journal.save(&state).map_err(record_refused)?;
    Ok(Plan { id, size: log.size(), archive, expires: now + PLAN_LIVES, kept_aside })
}

/// Does what the plan says, unless it was done.
pub(crate) fn apply(site: &Site, id: &str) -> Result<Applied, Refusal> {
    let logs = site.logs()?;
    let _turn = site.turn();
    let state = State::open(&logs, Missing::Refuse(|| unknown_plan(None)))?;
    let mut journal = Journal::load(&state, site)?;
    let Some(record) = journal.find(id).cloned() else {
        return Err(unknown_plan(state.kept_aside().map_err(folder_refused)?));
    };
    if let Phase::Applied { at, size } = record.phase {
        let at = journal::time(at);
        return Ok(Applied { when: When::Before, archive: record.archive, size, at });
    }
    refuse_half_done(&logs, &journal, Some(id))?;
    let left = swap::left(&logs, journal.applying())?;
    swap::clear(&logs, &state, left, site)?;
    let when = match swap::progress(&logs, &record)? {
        swap::Progress::None => {
            check(site, &logs, &record)?;
            journal.set(id, Phase::Applying);
            journal.save(&state).map_err(record_refused)?;
            swap::prepare(&logs, &state)?;
            site.reached(Step::Checked);
            swap::link(&logs, &record)?;
            site.reached(Step::Linked);
            swap::replace(&logs, &state, &record, site)?;
            When::Now
        }
        swap::Progress::Linked => {
            swap::prepare(&logs, &state)?;
            swap::replace(&logs, &state, &record, site)?;
            When::Now
        }
        swap::Progress::Replaced => When::Before,
    };
    site.reached(Step::Replaced);
    let size = swap::archive_size(&logs, &record)?;
    let at = site.clock().now();
    journal.set(id, Phase::Applied { at: journal::stamp(at), size });
    if let Err(error) = journal.save(&state) {
        // The log is rotated, and whoever asks again finds that out from the archive.
        site.warn(&format!("{SHOWN} was rotated and the record does not say so: {error}"));
    }
    Ok(Applied { when, archive: record.archive, size, at })
}

/// The plan is still live, and the world is still the one that it was made for.
fn check(site: &Site, logs: &Logs, record: &Record) -> Result<(), Refusal> {
    let why = match record.age(site.clock().now()) {
        Age::Live => None,
        Age::Over => Some(format!("the plan is older than {} minutes", PLAN_LIVES.as_secs() / 60)),
        Age::Ahead => Some("the plan's time lies in the future, since the clock was set back, so nobody knows its age".to_owned()),
    };
    if let Some(why) = why {
        let next = "call log_rotate_plan for a new one and have it looked at";
        return Err(Refusal::new(Code::PlanExpired, format!("{why}; {next}")));
    }
    if Fingerprint::of(&logs.log()?.stat) != record.log {
        return Err(swap::changed());
    }
    next_archive(logs).map(drop)
}

/// The number after the largest: a gap may stand for an archive that somebody moved away, and is not filled.
fn next_archive(logs: &Logs) -> Result<u64, Refusal> {
    let numbers = logs
        .archives()
        .map_err(|error| Refusal::io("cannot list the archives", error, ASK_A_PERSON))?;
    if numbers.len() >= ARCHIVES {
        let names: Vec<String> = numbers.into_iter().map(archive_name).collect();
        return Err(Refusal::new(
            Code::TooManyArchives,
            format!(
                "there are {} archives ({}) and no more than {ARCHIVES} are made; let a person move the oldest away, since none is deleted here",
                names.len(),
                names.join(", ")
            ),
        ));
    }
    numbers.last().copied().unwrap_or_default().checked_add(1).ok_or_else(|| {
        let what =
            "the number of an archive is the largest that there can be; let a person rename it";
        Refusal::new(Code::ArchiveExists, what)
    })
}

/// A log that has an archive's name as well is in the middle of a rotation, and has to come out of it the way it went in.
fn refuse_half_done(logs: &Logs, journal: &Journal, but: Option<&str>) -> Result<(), Refusal> {
    for record in journal.applying().filter(|record| Some(record.plan_id.as_str()) != but) {
        if matches!(swap::progress(logs, record)?, swap::Progress::Linked) {
            return Err(Refusal::new(
                Code::RotationInProgress,
                format!(
                    "the rotation to {} was cut off half way: the log, {} bytes when it was planned, has that name as well by now; call \
                     log_rotate_apply with its plan_id {:?} to finish it, which puts an empty log in its place and deletes nothing",
                    record.archive,
                    record.log.size(),
                    record.plan_id
                ),
            ));
        }
    }
    Ok(())
}

/// A plan may have been there: it says what is forgotten, so that nobody takes a rotation for one that was not done.
fn unknown_plan(kept_aside: Option<String>) -> Refusal {
    let days = REMEMBERED.as_secs() / (24 * 60 * 60);
    Refusal::new(
        Code::PlanNotFound,
        match kept_aside {
            None => format!(
                "no plan with this id is on record, where one that was applied stays {days} days; call log_rotate_plan for one and have it looked at"
            ),
            Some(name) => format!(
                "no plan with this id is on record, but an earlier record was damaged and is kept as {name}, so it may have been applied; let a \
                 person look at that and at the archives before you call log_rotate_plan"
            ),
        },
    )
}

fn folder_refused(error: io::Error) -> Refusal {
    Refusal::io("cannot look for damaged records of plans", error, ASK_A_PERSON)
}

fn record_refused(error: io::Error) -> Refusal {
    Refusal::io("cannot write the record of plans, so nothing was rotated", error, ASK_A_PERSON)
}

/// An id that nobody can guess, since it stands for a person's consent.
fn new_id() -> io::Result<String> {
    let mut bytes = [0; ID_DIGITS / 2];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
