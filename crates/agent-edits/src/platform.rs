//! What differs by platform: file operations relative to the handle of a folder, never through a link in the last name.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use agent_workspace::FileIdentity;
use rustix::{
    fs::{AtFlags, Gid, Mode, OFlags, RawMode, Uid},
    io::Errno,
};

/// The bits of `st_mode` that `chmod` sets.
pub(crate) const PERMISSION_BITS: u32 = 0o7777;

/// The owner's write bit.
pub(crate) const OWNER_WRITES: u32 = 0o200;

/// Everyone's read bits and execute bits.
pub(crate) const READ_BITS: u32 = 0o444;
pub(crate) const EXECUTE_BITS: u32 = 0o111;

/// The mode of a new file before the umask, and that of one that can be executed.
pub(crate) const NEW_FILE_MODE: u32 = 0o666;
pub(crate) const NEW_EXECUTABLE_MODE: u32 = 0o777;

/// The mode of a new folder before the umask.
pub(crate) const NEW_FOLDER_MODE: u32 = 0o777;

/// The mode of a temporary file until it has that of the file it replaces, and of everything in the state folder.
pub(crate) const PRIVATE_FILE_MODE: u32 = 0o600;

/// The mode of the state folder and of the folders in it.
pub(crate) const PRIVATE_FOLDER_MODE: u32 = 0o700;

const SAFE: OFlags =
    OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NOCTTY).union(OFlags::NONBLOCK);

pub(crate) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

pub(crate) fn open_folder_in(folder: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?)
}

pub(crate) fn open_to_read(folder: impl AsFd, name: &OsStr) -> io::Result<File> {
    open(folder, name, OFlags::RDONLY | SAFE, 0)
}

pub(crate) fn open_to_change(folder: impl AsFd, name: &OsStr) -> io::Result<File> {
    open(folder, name, OFlags::RDWR | SAFE, 0)
}

pub(crate) fn open_new(folder: impl AsFd, name: &OsStr, mode: u32) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SAFE;
    open(folder, name, flags, mode)
}

/// Opens a file that is made if it is missing and never cut: the lock.
pub(crate) fn open_lock(folder: impl AsFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | SAFE;
    open(folder, name, flags, PRIVATE_FILE_MODE)
}

fn open(folder: impl AsFd, name: &OsStr, flags: OFlags, mode: u32) -> io::Result<File> {
    let mode = Mode::from_raw_mode(mode as RawMode);
    Ok(File::from(rustix::fs::openat(folder, name, flags, mode)?))
}

pub(crate) fn create_folder(folder: impl AsFd, name: &OsStr, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(mode as RawMode))?)
}

pub(crate) fn set_mode(handle: impl AsFd, mode: u32) -> io::Result<()> {
    let mode = Mode::from_raw_mode((mode & PERMISSION_BITS) as RawMode);
    Ok(rustix::fs::fchmod(handle, mode)?)
}

/// Gives a new file the mode of another, and its owner and extended attributes as far as this process may.
pub(crate) fn copy_metadata(from: &File, to: &File) -> io::Result<()> {
    let stat = rustix::fs::fstat(from)?;
    let own = rustix::fs::fstat(to)?;
    if (stat.st_uid, stat.st_gid) != (own.st_uid, own.st_gid) {
        let owner = Some(Uid::from_raw(stat.st_uid));
        let group = Some(Gid::from_raw(stat.st_gid));
        // Only root gives files away; a group of one's own may still be set.
        if rustix::fs::fchown(to, owner, group).is_err() {
            let _ = rustix::fs::fchown(to, None, group);
        }
    }
    copy_attributes(from, to);
    // After the owner, since a change of owner clears the set-id bits.
    set_mode(to, FileIdentity::of(from)?.mode)
}

/// Best effort: a file system may not have attributes, and some namespaces take more rights.
fn copy_attributes(from: &File, to: &File) {
    let mut names = vec![0_u8; MAX_ATTRIBUTE_BYTES];
    let Ok(length) = rustix::fs::flistxattr(from, &mut names[..]) else {
        return;
    };
    let mut value = vec![0_u8; MAX_ATTRIBUTE_BYTES];
    for name in names[..length].split(|byte| *byte == 0) {
        if name.is_empty() {
            continue;
        }
        let name = OsStr::from_bytes(name);
        if let Ok(length) = rustix::fs::fgetxattr(from, name, &mut value[..]) {
            let flags = rustix::fs::XattrFlags::empty();
            let _ = rustix::fs::fsetxattr(to, name, &value[..length], flags);
        }
    }
}

/// Linux's limit for the names of all attributes and for the value of one (xattr(7)).
const MAX_ATTRIBUTE_BYTES: usize = 64 * 1024;

pub(crate) fn rename(folder: impl AsFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let folder = folder.as_fd();
    Ok(rustix::fs::renameat(folder, from, folder, to)?)
}

/// Renames only where nothing has the new name.
pub(crate) fn rename_new(folder: impl AsFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let folder = folder.as_fd();
    #[cfg(target_os = "linux")]
    match rustix::fs::renameat_with(folder, from, folder, to, rustix::fs::RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        result => return Ok(result?),
    }
    rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())?;
    Ok(rustix::fs::unlinkat(folder, from, AtFlags::empty())?)
}

pub(crate) fn link(folder: impl AsFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let folder = folder.as_fd();
    Ok(rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())?)
}

/// True when a file system has no hard links, or has no more for this file.
pub(crate) fn cannot_link(error: &io::Error) -> bool {
    [Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS, Errno::MLINK]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

pub(crate) fn remove(folder: impl AsFd, name: &OsStr) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
}

pub(crate) fn remove_folder(folder: impl AsFd, name: &OsStr) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

pub(crate) fn sync(handle: impl AsFd) -> io::Result<()> {
    match rustix::fs::fsync(handle) {
        // Some file systems cannot sync a folder; there is nothing more to do on them.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// True when a handle's file belongs to the user of this process.
pub(crate) fn is_own(handle: impl AsFd) -> io::Result<bool> {
    let stat = rustix::fs::fstat(handle)?;
    Ok(stat.st_uid == rustix::process::geteuid().as_raw())
}
