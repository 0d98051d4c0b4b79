//! The log becomes an archive: link, then replace. No moment of it loses a byte, overwrites an archive or leaves the log absent.

use std::{ffi::OsStr, io};

use rustix::{
    fs::{
        AtFlags, Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fstat, fsync, linkat, statat,
        unlinkat,
    },
    io::Errno,
};

use super::{
    fingerprint::Identity,
    journal::{Phase, Record},
    state::State,
};
use crate::{
    logs::{LOG, Logs, SHOWN, archive_name},
    platform::{self, Replaced},
    refusal::{ASK_A_PERSON, Code, Refusal},
    site::{Site, Step},
};

/// The empty file that takes the log's place, and after that, for a moment, the old log.
const NEXT: &str = "next";

/// What is said where it is not known which files there are.
const LOOK: &str = "cannot look at the log's folder";

/// How far a rotation came, as the files show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    None,
    /// The log has the archive's name too.
    Linked,
    /// The archive is there and the log is another file.
    Replaced,
}

/// How far the rotation of `record` came before whoever did it was ended.
///
/// The fingerprint is of no use once the link is made, since making it changed the log's time of change.
pub(crate) fn progress(logs: &Logs, record: &Record) -> Result<Progress, Refusal> {
    let expected = Some(record.log.identity());
    let is_it = |name| Ok(identity(logs, name).map_err(|error| failed(LOOK, error))? == expected);
    if record.phase != Phase::Applying || !is_it(&record.archive)? {
        return Ok(Progress::None);
    }
    Ok(if is_it(LOG)? { Progress::Linked } else { Progress::Replaced })
}

/// Makes the empty file that will take the log's place, with the log's mode and owner. Where it cannot be the application's own, the
/// application could not write to it: then nothing is begun.
pub(crate) fn prepare(logs: &Logs, state: &State) -> Result<(), Refusal> {
    let cannot = |error: io::Error| failed("cannot make the empty log", error);
    let old = stat(logs, LOG).map_err(|error| failed(LOOK, error))?.ok_or_else(changed)?;
    let flags = OFlags::WRONLY | OFlags::EXCL;
    let mode = Mode::from_raw_mode(0o600);
    let file = platform::create_file(state, NEXT, flags, mode).map_err(cannot)?;
    let new = fstat(&file).map_err(|error| cannot(error.into()))?;
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        let owner = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        fchown(&file, Some(owner.0), Some(owner.1)).map_err(|error| {
            let next = "let a person run this server as the application's user";
            Refusal::io("cannot give the empty log the old one's owner", error, next)
        })?;
    }
    fchmod(&file, Mode::from_raw_mode(old.st_mode)).map_err(|error| cannot(error.into()))
}

/// Gives the log the archive's name too. A name that is taken is never taken over: that is what a link does and a rename does not.
pub(crate) fn link(logs: &Logs, record: &Record) -> Result<(), Refusal> {
    match linkat(logs, LOG, logs, &record.archive, AtFlags::empty()) {
        Ok(()) => fsync(logs).map_err(|error| half_done("cannot keep the archive's name", error)),
        Err(Errno::EXIST) => Err(Refusal::new(
            Code::ArchiveExists,
            format!(
                "{} has come to be since the plan was made, and no archive is overwritten; call log_rotate_plan again",
                record.archive
            ),
        )),
        Err(Errno::NOENT) => Err(changed()),
        Err(error) => Err(failed("cannot give the log its archive's name", error)),
    }
}

/// Puts the empty file in the log's place.
pub(crate) fn replace(
    logs: &Logs,
    state: &State,
    record: &Record,
    site: &Site,
) -> Result<(), Refusal> {
    let ours = Some(record.log.identity());
    let is_ours = |name| Ok(identity(logs, name).map_err(|error| half_done(LOOK, error))? == ours);
    if !is_ours(&record.archive)? || !is_ours(LOG)? {
        take_back(logs, record)?;
        return Err(changed());
    }
    site.reached(Step::Compared);
    let replaced = platform::replace(state, OsStr::new(NEXT), logs, OsStr::new(LOG))
        .map_err(|error| half_done("cannot put an empty log in the old one's place", error))?;
    fsync(logs).map_err(|error| half_done("cannot keep the new log", error))?;
    match replaced {
        Replaced::Exchanged => clear(logs, state, Left::OfTheLogsPlace, site),
        Replaced::Renamed => Ok(()),
    }
}

/// Which file may be left under the name of the empty file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// The empty file, which nobody but this server ever had.
    Prepared,
    /// What was in the log's place: the log, which has its archive's name, or a file that another program put there in the very
    /// moment. A writer may have that open, so that it has lines to come even where it is empty.
    OfTheLogsPlace,
}

/// What a rotation that was cut off, one of `applying`, may have left.
pub(crate) fn left<'a>(
    logs: &Logs,
    applying: impl IntoIterator<Item = &'a Record>,
) -> Result<Left, Refusal> {
    for record in applying {
        if progress(logs, record)? == Progress::Replaced {
            return Ok(Left::OfTheLogsPlace);
        }
    }
    Ok(Left::Prepared)
}

/// Puts away what is left under the name of the empty file: by this rotation, or by one that was cut off. What is neither the
/// empty file nor an archive is kept as one, whatever their number.
pub(crate) fn clear(logs: &Logs, state: &State, may_be: Left, site: &Site) -> Result<(), Refusal> {
    let cannot = match may_be {
        Left::Prepared => failed,
        Left::OfTheLogsPlace => half_done,
    };
    let Some(left) = stat(state, NEXT).map_err(|error| cannot(LOOK, error))? else {
        return Ok(());
    };
    let numbers = logs.archives().map_err(|error| cannot("cannot list the archives", error))?;
    let mut known = may_be == Left::Prepared && left.st_size == 0;
    for number in &numbers {
        let archive = identity(logs, &archive_name(*number));
        let archive = archive.map_err(|error| cannot(LOOK, error))?;
        known |= archive == Some(Identity::of(&left));
    }
    if !known {
        let number = numbers.last().map_or(1, |last| last.saturating_add(1));
        let name = keep(logs, state, number).map_err(|error| {
            cannot("cannot keep what another program put in the log's place", error)
        })?;
        site.warn(&format!("another program replaced {SHOWN} while it was rotated; what it put there is kept as {name}"));
    }
    unlinkat(state, NEXT, AtFlags::empty())
        .map_err(|error| cannot("cannot put away the old log's second name", error.into()))
}

/// Bytes of the archive.
pub(crate) fn archive_size(logs: &Logs, record: &Record) -> Result<u64, Refusal> {
    let stat = stat(logs, &record.archive).map_err(|error| half_done(LOOK, error))?;
    Ok(stat.map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or_default()))
}

pub(crate) fn changed() -> Refusal {
    Refusal::new(
        Code::LogChanged,
        format!(
            "{SHOWN} changed since the plan was made, so the consent was for another state; call log_rotate_plan again and have it looked at"
        ),
    )
}

/// Takes the archive's name from a file that is no longer the log, unless it is the file's only one.
fn take_back(logs: &Logs, record: &Record) -> Result<(), Refusal> {
    match stat(logs, &record.archive).map_err(|error| half_done(LOOK, error))? {
        Some(stat) if stat.st_nlink > 1 => unlinkat(logs, &record.archive, AtFlags::empty())
            .map_err(|error| half_done("cannot take the archive's name back", error)),
        _ => Ok(()),
    }
}

fn keep(logs: &Logs, state: &State, mut number: u64) -> io::Result<String> {
    loop {
        let name = archive_name(number);
        match linkat(state, NEXT, logs, &name, AtFlags::empty()) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) if number < u64::MAX => number += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

fn identity(logs: &Logs, name: &str) -> io::Result<Option<Identity>> {
    Ok(stat(logs, name)?.map(|stat| Identity::of(&stat)))
}

fn stat(folder: impl std::os::fd::AsFd, name: &str) -> io::Result<Option<Stat>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Nothing was done yet.
fn failed(what: &str, error: impl Into<io::Error>) -> Refusal {
    Refusal::io(what, error, ASK_A_PERSON)
}

/// The log has its archive's name by now.
fn half_done(what: &str, error: impl Into<io::Error>) -> Refusal {
    let next = "no byte is lost, and log_rotate_apply with the same plan_id finishes it once a person has mended that";
    Refusal::io(what, error, next)
}
