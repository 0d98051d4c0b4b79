//! What differs by system: the table of processes, a process's environment, the program's own file.
//!
//! Linux is whole. Elsewhere there is no `/proc`: a group is signalled by its id alone, so what left its group is not found
//! and a reused id is not noticed.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as system;

use std::{
    fs::Metadata,
    io,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::Path,
    process::ExitStatus,
};

use process_wrap::tokio::{CommandWrap, CommandWrapper as _, ProcessSession};
use rustix::process::{Pid, Signal};
pub(crate) use system::{
    LISTS, close_to_others, environment_value, name_self, own_program, process, processes,
};

/// A process as the system lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    /// When it began, in the system's ticks: with the id it names a process for good.
    pub(crate) started: u64,
    /// It has ended and waits to be reaped.
    pub(crate) zombie: bool,
}

pub(crate) fn signal(id: u32, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::kill_process(pid(id)?, signal)?)
}

pub(crate) fn signal_group(group: u32, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::kill_process_group(pid(group)?, signal)?)
}

pub(crate) fn group_exists(group: u32) -> bool {
    pid(group).is_ok_and(|group| rustix::process::test_kill_process_group(group).is_ok())
}

/// Leads a session of its own, without a terminal.
pub(crate) fn new_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Has what is started lead a session, and so a group, of its own.
pub(crate) fn in_own_session(command: &mut tokio::process::Command) -> io::Result<()> {
    // Made for this call alone: the wrapper takes it and looks at nothing in it.
    let wrap = CommandWrap::with_new(command.as_std().get_program(), |_| {});
    ProcessSession.pre_spawn(command, &wrap)
}

/// A folder that no checkout lies in and that only the system's owner writes.
pub(crate) fn neutral_folder() -> &'static Path {
    Path::new("/")
}

pub(crate) fn is_executable(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}

/// The number of the signal that ended a process.
pub(crate) fn ending_signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Zero and one would mean "my own group" and "everything".
fn pid(id: u32) -> io::Result<Pid> {
    i32::try_from(id)
        .ok()
        .filter(|id| *id > 1)
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
