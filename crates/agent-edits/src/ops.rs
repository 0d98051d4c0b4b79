//! File operations, each announced to a hook first: the seam at which tests let the n-th fail or end the process.

use std::{
    ffi::OsStr,
    fmt,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    sync::Arc,
};

use agent_workspace::FileIdentity;

use crate::{folders::Folder, platform};

/// Bytes are written in pieces of this size, so that a failure or a crash can come between two of them.
pub(crate) const WRITE_PIECE_BYTES: usize = 64 * 1024;

/// Told of every file operation before it is made. For tests of a host's own failure handling; without one an
/// [`Edits`](crate::Edits) calls nothing.
pub trait Hook: fmt::Debug + Send + Sync {
    /// An error is taken as the operation's, which is then not made.
    ///
    /// # Errors
    /// Whatever the operation shall fail with.
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()>;
}

/// What is about to be done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Look at what a name is, or open it for reading.
    Read,
    /// Create a new file.
    Create,
    /// Write a piece of a file, or set its length.
    Write,
    /// Set mode, owner and attributes.
    SetMetadata,
    /// Sync a file or a folder.
    Sync,
    /// Give a file a second name.
    Link,
    /// Rename within a folder; the path is the new name.
    Rename,
    /// Remove a name.
    Remove,
    /// Create a folder.
    CreateFolder,
    /// Remove a folder.
    RemoveFolder,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Ops {
    hook: Option<Arc<dyn Hook>>,
}

impl Ops {
    pub(crate) fn with_hook(hook: Arc<dyn Hook>) -> Self {
        Self { hook: Some(hook) }
    }

    fn announce(&self, operation: Operation, folder: &Folder, name: &OsStr) -> io::Result<()> {
        match &self.hook {
            Some(hook) => hook.before(operation, &folder.path.join(name)),
            None => Ok(()),
        }
    }

    pub(crate) fn look(&self, folder: &Folder, name: &OsStr) -> io::Result<Option<FileIdentity>> {
        self.announce(Operation::Read, folder, name)?;
        FileIdentity::of_name(&folder.handle, name)
    }

    pub(crate) fn open_to_read(&self, folder: &Folder, name: &OsStr) -> io::Result<File> {
        self.announce(Operation::Read, folder, name)?;
        platform::open_to_read(&folder.handle, name)
    }

    pub(crate) fn read(&self, folder: &Folder, name: &OsStr) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_to_read(folder, name)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn open_to_change(&self, folder: &Folder, name: &OsStr) -> io::Result<File> {
        self.announce(Operation::Read, folder, name)?;
        platform::open_to_change(&folder.handle, name)
    }

    /// A new file with these bytes, not yet synced.
    pub(crate) fn create(
        &self,
        folder: &Folder,
        name: &OsStr,
        mode: u32,
        bytes: &[u8],
    ) -> io::Result<File> {
        self.announce(Operation::Create, folder, name)?;
        let mut file = platform::open_new(&folder.handle, name, mode)?;
        self.write_pieces(&mut file, folder, name, bytes)?;
        Ok(file)
    }

    /// A new private file with these bytes, synced: for the state folder.
    pub(crate) fn create_private(
        &self,
        folder: &Folder,
        name: &OsStr,
        bytes: &[u8],
    ) -> io::Result<()> {
        let file = self.create(folder, name, platform::PRIVATE_FILE_MODE, bytes)?;
        self.sync_file(&file, folder, name)
    }

    /// A new file without bytes, whose name is all that it says.
    pub(crate) fn create_empty(&self, folder: &Folder, name: &OsStr) -> io::Result<()> {
        self.announce(Operation::Create, folder, name)?;
        platform::open_new(&folder.handle, name, platform::PRIVATE_FILE_MODE).map(drop)
    }

    /// Writes over a file from its start, keeping the inode, and syncs it.
    pub(crate) fn overwrite(
        &self,
        file: &mut File,
        folder: &Folder,
        name: &OsStr,
        bytes: &[u8],
    ) -> io::Result<()> {
        file.seek(SeekFrom::Start(0))?;
        self.write_pieces(file, folder, name, bytes)?;
        self.announce(Operation::Write, folder, name)?;
        file.set_len(bytes.len() as u64)?;
        self.sync_file(file, folder, name)
    }

    fn write_pieces(
        &self,
        file: &mut File,
        folder: &Folder,
        name: &OsStr,
        bytes: &[u8],
    ) -> io::Result<()> {
        for piece in bytes.chunks(WRITE_PIECE_BYTES) {
            self.announce(Operation::Write, folder, name)?;
            file.write_all(piece)?;
        }
        Ok(())
    }

    pub(crate) fn sync_file(&self, file: &File, folder: &Folder, name: &OsStr) -> io::Result<()> {
        self.announce(Operation::Sync, folder, name)?;
        platform::sync(file)
    }

    pub(crate) fn sync_folder(&self, folder: &Folder) -> io::Result<()> {
        self.announce(Operation::Sync, folder, OsStr::new("."))?;
        platform::sync(&folder.handle)
    }

    pub(crate) fn copy_metadata(
        &self,
        from: &File,
        to: &File,
        folder: &Folder,
        name: &OsStr,
    ) -> io::Result<()> {
        self.announce(Operation::SetMetadata, folder, name)?;
        platform::copy_metadata(from, to)
    }

    pub(crate) fn set_mode(
        &self,
        file: &File,
        mode: u32,
        folder: &Folder,
        name: &OsStr,
    ) -> io::Result<()> {
        self.announce(Operation::SetMetadata, folder, name)?;
        platform::set_mode(file, mode)
    }

    pub(crate) fn link(&self, folder: &Folder, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.announce(Operation::Link, folder, to)?;
        platform::link(&folder.handle, from, to)
    }

    pub(crate) fn rename(&self, folder: &Folder, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.announce(Operation::Rename, folder, to)?;
        platform::rename(&folder.handle, from, to)
    }

    pub(crate) fn rename_new(&self, folder: &Folder, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.announce(Operation::Rename, folder, to)?;
        platform::rename_new(&folder.handle, from, to)
    }

    pub(crate) fn remove(&self, folder: &Folder, name: &OsStr) -> io::Result<()> {
        self.announce(Operation::Remove, folder, name)?;
        platform::remove(&folder.handle, name)
    }

    /// Removes a name that may be gone already.
    pub(crate) fn remove_if_any(&self, folder: &Folder, name: &OsStr) -> io::Result<()> {
        match self.remove(folder, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    pub(crate) fn create_folder(&self, folder: &Folder, name: &OsStr, mode: u32) -> io::Result<()> {
        self.announce(Operation::CreateFolder, folder, name)?;
        platform::create_folder(&folder.handle, name, mode)
    }

    pub(crate) fn remove_folder(&self, folder: &Folder, name: &OsStr) -> io::Result<()> {
        self.announce(Operation::RemoveFolder, folder, name)?;
        platform::remove_folder(&folder.handle, name)
    }
}
