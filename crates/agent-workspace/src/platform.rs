//! What differs by platform: the contained open, the identity of a handle, the bytes of a name.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::fd::{AsFd, OwnedFd},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::{
    fs::{AtFlags, FileType, OFlags, Stat},
    io::Errno,
};

use crate::{FileIdentity, FileKind};

/// Who keeps an open beneath its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Containment {
    /// The kernel, in one step: `openat2` with `RESOLVE_BENEATH` and no magic links.
    Kernel,
    /// The library `cap-std`, component by component, where the kernel cannot (an old one, a seccomp filter, another system).
    Library,
}

/// What an open is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To read; never waits for the other end of a fifo.
    Read,
    /// To look into or to work in a folder.
    Folder,
    /// To ask for the identity alone.
    Identity,
}

/// The last flags of the kernel's resolution may have to be tried again when a rename happens at the same time (openat2(2), `EAGAIN`).
#[cfg(target_os = "linux")]
const RESOLVE_ATTEMPTS: usize = 64;

pub(crate) fn open_root(path: &Path) -> io::Result<Dir> {
    Dir::open_ambient_dir(path, cap_std::ambient_authority())
}

/// Finds out once whether the kernel can; a filter that forbids `openat2` answers `EPERM` or `ENOSYS`.
pub(crate) fn containment(root: &Dir) -> Containment {
    #[cfg(target_os = "linux")]
    if open_kernel(root, Path::new("."), Purpose::Folder).is_ok() {
        return Containment::Kernel;
    }
    let _ = root;
    Containment::Library
}

pub(crate) fn open_beneath(
    root: &Dir,
    rel: &Path,
    purpose: Purpose,
    by: Containment,
) -> io::Result<OwnedFd> {
    match by {
        #[cfg(target_os = "linux")]
        Containment::Kernel => open_kernel(root, rel, purpose),
        _ => open_library(root, rel, purpose),
    }
}

#[cfg(target_os = "linux")]
fn open_kernel(root: &Dir, rel: &Path, purpose: Purpose) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, ResolveFlags, openat2};
    let flags = OFlags::CLOEXEC
        | match purpose {
            Purpose::Read => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
            Purpose::Folder => OFlags::RDONLY | OFlags::DIRECTORY,
            Purpose::Identity => OFlags::PATH,
        };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut attempt = 0;
    loop {
        match openat2(root.as_fd(), rel, flags, Mode::empty(), resolve) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR)
                if attempt < RESOLVE_ATTEMPTS =>
            {
                attempt += 1;
            }
            result => return Ok(result?),
        }
    }
}

fn open_library(root: &Dir, rel: &Path, purpose: Purpose) -> io::Result<OwnedFd> {
    match purpose {
        Purpose::Folder => {
            // cap-std may open a folder as a mere path, which can be neither listed nor synced; its own `.` can.
            let folder = root.open_dir(rel)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(rustix::fs::openat(&folder, ".", flags, rustix::fs::Mode::empty())?)
        }
        Purpose::Read | Purpose::Identity => {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
            Ok(root.open_with(rel, &options)?.into_std().into())
        }
    }
}

/// True when the open was refused because the path or a link leads out, or through an absolute link.
pub(crate) fn is_escape(error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(code) => code == rustix::io::Errno::XDEV.raw_os_error(),
        // cap-std reports an escape with an error of its own that no system call gave.
        None => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

pub(crate) fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// The answer to opening a socket, or a device that has no driver.
pub(crate) fn is_special(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code == Some(rustix::io::Errno::NXIO.raw_os_error())
        || code == Some(rustix::io::Errno::NODEV.raw_os_error())
}

pub(crate) fn is_name_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NAMETOOLONG.raw_os_error())
}

pub(crate) fn identity(fd: impl AsFd) -> io::Result<FileIdentity> {
    Ok(identity_of(&rustix::fs::fstat(fd)?))
}

pub(crate) fn identity_of_name(
    folder: impl AsFd,
    name: &OsStr,
) -> io::Result<Option<FileIdentity>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(identity_of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[expect(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the widths of these fields differ by platform"
)]
fn identity_of(stat: &Stat) -> FileIdentity {
    FileIdentity {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size: stat.st_size as u64,
        modified_ns: i128::from(stat.st_mtime) * 1_000_000_000 + stat.st_mtime_nsec as i128,
        changed_ns: i128::from(stat.st_ctime) * 1_000_000_000 + stat.st_ctime_nsec as i128,
        mode: u32::from(stat.st_mode),
        links: stat.st_nlink as u64,
    }
}

pub(crate) fn kind_of_mode(mode: u32) -> FileKind {
    match FileType::from_raw_mode(mode as rustix::fs::RawMode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Link,
        _ => FileKind::Special,
    }
}

pub(crate) fn bytes(name: &OsStr) -> &[u8] {
    name.as_bytes()
}

pub(crate) fn from_bytes(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

/// The names in a folder, in bytewise order.
pub(crate) fn names(folder: impl AsFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name.to_vec()));
        }
    }
    names.sort();
    Ok(names)
}
