//! Opens that the kernel keeps beneath their folder, and what else differs by platform.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::Errno,
    path::Arg,
};

/// Who keeps an open beneath its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Containment {
    /// The kernel, in one step: `openat2` with `RESOLVE_BENEATH` and no magic links.
    Kernel,
    /// The library `cap-std`, component by component, where the kernel cannot.
    Library,
}

/// Neither waits for the other end of a pipe nor takes a terminal.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A rename at the same time can make the kernel give up a resolution (openat2(2), `EAGAIN`).
#[cfg(target_os = "linux")]
const RESOLVE_ATTEMPTS: usize = 64;

/// What this machine can: an old kernel and a filter of system calls answer `ENOSYS` or `EPERM`.
pub(crate) fn containment() -> Containment {
    #[cfg(target_os = "linux")]
    if resolve(CWD, Path::new("."), FOLDER, rustix::fs::ResolveFlags::BENEATH).is_ok() {
        return Containment::Kernel;
    }
    Containment::Library
}

/// Opens a folder by the path that its links were resolved to when the server started. A link that took a place on
/// this path since is refused.
pub(crate) fn open_resolved_folder(path: &Path, by: Containment) -> io::Result<OwnedFd> {
    match by {
        #[cfg(target_os = "linux")]
        Containment::Kernel => resolve(CWD, path, FOLDER, rustix::fs::ResolveFlags::NO_SYMLINKS),
        _ => Ok(openat(CWD, path, FOLDER | OFlags::NOFOLLOW, Mode::empty())?),
    }
}

/// Opens the folder `name` of `folder`, and no link.
pub(crate) fn open_folder(folder: impl AsFd, name: impl Arg) -> io::Result<OwnedFd> {
    Ok(openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Opens the file `name` of `folder` to read, and no link.
pub(crate) fn open_file(folder: impl AsFd, name: &str) -> io::Result<File> {
    Ok(openat(folder, name, READ | OFlags::NOFOLLOW, Mode::empty())?.into())
}

/// Opens the file `name` of `folder` with `flags`, made with `mode` where it is missing, and no link.
pub(crate) fn create_file(
    folder: impl AsFd,
    name: &str,
    flags: OFlags,
    mode: Mode,
) -> io::Result<File> {
    let flags = flags | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, mode)?.into())
}

/// Opens `path` beneath `folder` to read. Links are followed as long as they stay beneath it; nothing can change between a
/// check and the open, since the open is the check.
pub(crate) fn open_beneath(folder: impl AsFd, path: &Path, by: Containment) -> io::Result<File> {
    match by {
        #[cfg(target_os = "linux")]
        Containment::Kernel => {
            Ok(resolve(folder, path, READ, rustix::fs::ResolveFlags::BENEATH)?.into())
        }
        _ => {
            let folder = Dir::reopen_dir(&folder.as_fd())?;
            let mut options = OpenOptions::new();
            options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
            Ok(folder.open_with(path, &options)?.into_std())
        }
    }
}

#[cfg(target_os = "linux")]
fn resolve(
    folder: impl AsFd,
    path: &Path,
    flags: OFlags,
    bound: rustix::fs::ResolveFlags,
) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let bound = bound | ResolveFlags::NO_MAGICLINKS;
    let mut attempt = 0;
    loop {
        match openat2(&folder, path, flags, Mode::empty(), bound) {
            Err(Errno::AGAIN | Errno::INTR) if attempt < RESOLVE_ATTEMPTS => attempt += 1,
            result => return Ok(result?),
        }
    }
}

/// Puts `new` of `from` in the place of `old` of `to`, in one step that never leaves the place empty.
///
/// Gives back what became of the old file: it has `new`'s name now, or its name is gone where the file system
/// cannot exchange two.
pub(crate) fn replace(
    from: impl AsFd,
    new: &OsStr,
    to: impl AsFd,
    old: &OsStr,
) -> io::Result<Replaced> {
    #[cfg(target_os = "linux")]
    match rustix::fs::renameat_with(&from, new, &to, old, rustix::fs::RenameFlags::EXCHANGE) {
        Ok(()) => return Ok(Replaced::Exchanged),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        Err(error) => return Err(error.into()),
    }
    rustix::fs::renameat(&from, new, &to, old)?;
    Ok(Replaced::Renamed)
}

/// How [`replace`] did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replaced {
    Exchanged,
    Renamed,
}

/// Whether the open was refused because the path or a link leads out, or through an absolute link.
pub(crate) fn is_escape(error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(code) => code == Errno::XDEV.raw_os_error(),
        // The library reports an escape with an error that no system call gave.
        None => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

/// Whether a link stands where none may, or links go round in a circle.
pub(crate) fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// The answer to opening a socket, or a device that has no driver.
pub(crate) fn is_special(error: &io::Error) -> bool {
    [Errno::NXIO, Errno::NODEV]
        .map(|errno| Some(errno.raw_os_error()))
        .contains(&error.raw_os_error())
}

/// Nothing can have a name like this one.
pub(crate) fn is_no_name(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error())
}
