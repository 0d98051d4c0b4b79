//! From a contained path to a handle, its identity and its bytes.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
};

use serde::{Deserialize, Serialize};

use crate::{
    Error, ErrorKind, Result, Workspace, WorkspacePath,
    platform::{self, Purpose},
};

/// The most that [`Workspace::read`] takes unless told otherwise: 64 MiB.
pub const MAX_READ_BYTES: u64 = 64 * 1024 * 1024;

/// What tells one state of a file from another without reading it. Two equal identities at two times mean the same
/// content, as far as the file system's clock can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileIdentity {
    /// The device number.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// The last change of the content, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// The last change of the inode, in nanoseconds since 1970.
    pub changed_ns: i128,
    /// The kind of file and its permission bits, as in `st_mode`.
    pub mode: u32,
    /// How many names the file has.
    pub links: u64,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, only where links are not followed.
    Link,
    /// A fifo, a socket or a device.
    Special,
}

/// The names in an open folder, in bytewise order, without `.` and `..`.
///
/// # Errors
/// The system's.
pub fn folder_names(folder: impl AsFd) -> io::Result<Vec<OsString>> {
    platform::names(folder)
}

/// A regular file, opened for reading beneath its root.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    identity: FileIdentity,
}

/// The bytes of a file, and the identity from before the first of them was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileContent {
    /// The bytes as they are.
    pub bytes: Vec<u8>,
    /// The identity that the handle had before reading: a change during the read shows as a new identity.
    pub identity: FileIdentity,
}

impl FileContent {
    /// Bytes that were read from a file when it had this identity, for those who read with
    /// [`Workspace::read_into`].
    pub fn new(bytes: Vec<u8>, identity: FileIdentity) -> Self {
        Self { bytes, identity }
    }
}

impl FileIdentity {
    /// The identity of what has this name in a folder, a link itself and not what it leads to; `None` where nothing has it.
    ///
    /// # Errors
    /// The system's, but that there is no such name.
    pub fn of_name(folder: impl AsFd, name: &OsStr) -> io::Result<Option<Self>> {
        platform::identity_of_name(folder, name)
    }

    /// The identity of an opened handle.
    ///
    /// # Errors
    /// Whatever `fstat` says.
    pub fn of(handle: impl AsFd) -> io::Result<Self> {
        platform::identity(handle)
    }

    /// What kind of file this is.
    pub fn kind(&self) -> FileKind {
        platform::kind_of_mode(self.mode)
    }

    /// True when both are the same inode of the same device.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.device == other.device && self.inode == other.inode
    }
}

impl OpenFile {
    /// The identity at the open.
    pub fn identity(&self) -> &FileIdentity {
        &self.identity
    }

    /// The handle, for reading.
    pub fn into_file(self) -> File {
        self.file
    }
}

impl Read for OpenFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Workspace {
    /// Opens a regular file for reading. The kernel (or `cap-std`) keeps the open beneath the root; links that stay
    /// inside the workspace are followed, absolute ones too. A fifo or a device is refused without waiting for it.
    ///
    /// # Errors
    /// `not_found`, `is_a_directory`, `not_a_file`, `outside_workspace`, `link_loop`, `permission_denied`, `io`.
    pub fn open_file(&self, path: &WorkspacePath) -> Result<OpenFile> {
        let fd = self.open_at(path, Purpose::Read)?;
        let identity = FileIdentity::of(&fd).map_err(|error| self.failed(path, error))?;
        match identity.kind() {
            FileKind::File => Ok(OpenFile { file: File::from(fd), identity }),
            FileKind::Folder => Err(Error::new(
                ErrorKind::IsADirectory,
                format!(
                    "`{}` is a folder; name a file in it, or list it with search",
                    self.show(path)
                ),
            )),
            FileKind::Link | FileKind::Special => Err(self.special(path)),
        }
    }

    /// Reads a whole file of at most [`MAX_READ_BYTES`].
    ///
    /// # Errors
    /// As [`Workspace::open_file`], and `too_large`.
    pub fn read(&self, path: &WorkspacePath) -> Result<FileContent> {
        self.read_up_to(path, MAX_READ_BYTES)
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Workspace::open_file`], and `too_large`.
    pub fn read_up_to(&self, path: &WorkspacePath, limit: u64) -> Result<FileContent> {
        let mut bytes = Vec::new();
        let identity = self.read_into(path, limit, &mut bytes)?;
        Ok(FileContent { bytes, identity })
    }

    /// Reads a whole file into a buffer that is cleared first, so that a search of many files allocates once.
    ///
    /// # Errors
    /// As [`Workspace::open_file`], and `too_large`.
    pub fn read_into(
        &self,
        path: &WorkspacePath,
        limit: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<FileIdentity> {
        buffer.clear();
        let OpenFile { file, identity } = self.open_file(path)?;
        if identity.size > limit {
            return Err(self.too_large(path, identity.size, limit));
        }
        buffer.reserve(usize::try_from(identity.size).unwrap_or(0) + 1);
        file.take(limit.saturating_add(1))
            .read_to_end(buffer)
            .map_err(|error| self.failed(path, error))?;
        let length = buffer.len() as u64;
        if length > limit {
            return Err(self.too_large(path, length, limit));
        }
        Ok(identity)
    }

    /// The identity of what stands at a path, links followed, without opening it for reading: a cheap check of a cache.
    ///
    /// # Errors
    /// As [`Workspace::open_file`], but a folder and a special file have an identity too.
    pub fn identity(&self, path: &WorkspacePath) -> Result<FileIdentity> {
        let fd = self.open_at(path, Purpose::Identity)?;
        FileIdentity::of(&fd).map_err(|error| self.failed(path, error))
    }

    /// A handle of a folder beneath its root, for work by `openat` and its kin.
    ///
    /// # Errors
    /// `not_a_directory`, else as [`Workspace::open_file`].
    pub fn open_folder(&self, path: &WorkspacePath) -> Result<OwnedFd> {
        self.open_at(path, Purpose::Folder)
    }

    /// The names in a folder, in bytewise order, without `.` and `..`.
    ///
    /// # Errors
    /// As [`Workspace::open_folder`].
    pub fn names(&self, path: &WorkspacePath) -> Result<Vec<OsString>> {
        let folder = self.open_folder(path)?;
        platform::names(&folder).map_err(|error| self.failed(path, error))
    }

    /// The same place with every link on the way followed, the last one too. What does not exist yet is kept as it is
    /// below its deepest folder that does. The answer can be outdated by the time it comes; opening it is contained again.
    ///
    /// # Errors
    /// `outside_workspace` when a link leads out, `not_found` for a link to nothing, `link_loop`.
    pub fn follow(&self, path: &WorkspacePath) -> Result<WorkspacePath> {
        let absolute = self.absolute(path);
        for ancestor in absolute.ancestors() {
            match std::fs::canonicalize(ancestor) {
                Ok(canonical) => {
                    let rest = absolute.strip_prefix(ancestor).unwrap_or(path.rel());
                    let target = self.contain(&canonical).ok_or_else(|| self.link_out(path))?;
                    // Joining nothing would add a slash.
                    if rest.as_os_str().is_empty() {
                        return Ok(target);
                    }
                    return Ok(WorkspacePath::new_unchecked(
                        target.root(),
                        &target.rel().join(rest),
                    ));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if ancestor.symlink_metadata().is_ok() {
                        return Err(Error::new(
                            ErrorKind::NotFound,
                            format!(
                                "`{}` is a link to nothing; name its target, or remove the link",
                                self.show(path)
                            ),
                        ));
                    }
                }
                Err(error) => return Err(self.failed(path, error)),
            }
        }
        Err(self.link_out(path))
    }

    fn open_at(&self, path: &WorkspacePath, purpose: Purpose) -> Result<OwnedFd> {
        let first = self.open_raw(path, purpose);
        let error = match first {
            Ok(fd) => return Ok(fd),
            Err(error) if platform::is_escape(&error) => error,
            Err(error) => return Err(self.failed(path, error)),
        };
        // An absolute link is refused even when it leads inside. Ask where it leads, and open that place contained again:
        // whatever changes in between, the second open cannot leave the root either.
        match self.follow(path) {
            Ok(target) if target != *path => match self.open_raw(&target, purpose) {
                Ok(fd) => Ok(fd),
                Err(error) if platform::is_escape(&error) => {
                    Err(self.link_out(path).with_source(error))
                }
                Err(error) => Err(self.failed(path, error)),
            },
            _ => Err(self.link_out(path).with_source(error)),
        }
    }

    fn open_raw(&self, path: &WorkspacePath, purpose: Purpose) -> io::Result<OwnedFd> {
        platform::open_beneath(
            self.root_of(path).dir(),
            path.rel_or_dot(),
            purpose,
            self.containment(),
        )
    }

    fn link_out(&self, path: &WorkspacePath) -> Error {
        Error::new(
            ErrorKind::OutsideWorkspace,
            format!(
                "`{}` is a link that leads out of the workspace; name a file inside it",
                self.show(path)
            ),
        )
    }

    fn special(&self, path: &WorkspacePath) -> Error {
        Error::new(
            ErrorKind::NotAFile,
            format!("`{}` is a fifo, a socket or a device; name a regular file", self.show(path)),
        )
    }

    fn too_large(&self, path: &WorkspacePath, size: u64, limit: u64) -> Error {
        Error::new(
            ErrorKind::TooLarge,
            format!(
                "`{}` has {size} bytes and at most {limit} are taken; read a part of it, or search in it",
                self.show(path)
            ),
        )
    }

    fn failed(&self, path: &WorkspacePath, error: io::Error) -> Error {
        let shown = self.show(path);
        if platform::is_special(&error) {
            return self.special(path).with_source(error);
        }
        let (kind, message) = if platform::is_loop(&error) {
            let message = format!("`{shown}` is a loop of links; name the file itself");
            (ErrorKind::LinkLoop, message)
        } else if platform::is_name_too_long(&error) {
            let message = format!("`{shown}` is longer than a path can be; shorten it");
            (ErrorKind::InvalidPath, message)
        } else {
            match error.kind() {
                io::ErrorKind::NotFound => (ErrorKind::NotFound, self.not_found(path)),
                io::ErrorKind::NotADirectory => {
                    (ErrorKind::NotADirectory, self.not_a_directory(path))
                }
                io::ErrorKind::PermissionDenied => (
                    ErrorKind::PermissionDenied,
                    format!("`{shown}` cannot be opened; check its permissions"),
                ),
                _ => (ErrorKind::Io, format!("`{shown}` cannot be read: {error}")),
            }
        };
        Error::new(kind, message).with_source(error)
    }

    fn not_found(&self, path: &WorkspacePath) -> String {
        let shown = self.show(path);
        let mut folder = path.parent();
        while let Some(candidate) = folder {
            if self.open_raw(&candidate, Purpose::Folder).is_ok() {
                return format!(
                    "`{shown}` does not exist; the folder `{}` does, look there or create the file",
                    self.show(&candidate)
                );
            }
            folder = candidate.parent();
        }
        format!("`{shown}` does not exist; search for it, or create it")
    }

    fn not_a_directory(&self, path: &WorkspacePath) -> String {
        format!(
            "`{}` needs a folder where a file stands; name the file, or another folder",
            self.show(path)
        )
    }
}
