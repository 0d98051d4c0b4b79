//! The state folder: the lock that serialises changes, the journals, and what a recovery could not put back.

use std::{
    ffi::{OsStr, OsString},
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use agent_workspace::{FileIdentity, FileKind, Workspace, folder_names};
use fd_lock::RwLock;

use crate::{Error, ErrorKind, Result, folders::Folder, ops::Ops, platform};

const LOCK: &str = "lock";
const KEPT: &str = "kept";

#[derive(Debug)]
pub(crate) struct Store {
    folder: Folder,
}

impl Store {
    /// Opens the state folder, made with mode 0700 where it is missing and brought to it where it is wider.
    pub(crate) fn open(workspace: &Workspace, path: &Path) -> Result<Self> {
        let failed = |error: io::Error| {
            Error::new(
                ErrorKind::StateFolder,
                format!(
                    "the state folder `{}` cannot be used ({error}); name a folder of your own outside the workspace",
                    path.display()
                ),
            )
            .with_source(error)
        };
        let refuse_inside = |path: &Path| match workspace.contain(path) {
            Some(_) => Err(Error::new(
                ErrorKind::StateFolder,
                format!(
                    "the state folder `{}` is inside the workspace; name a folder outside",
                    path.display()
                ),
            )),
            None => Ok(()),
        };
        let absolute = std::path::absolute(path).map_err(failed)?;
        refuse_inside(&absolute)?;
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(platform::PRIVATE_FOLDER_MODE);
        builder.create(&absolute).map_err(failed)?;
        let canonical = std::fs::canonicalize(&absolute).map_err(failed)?;
        refuse_inside(&canonical)?;
        let handle = platform::open_folder(&canonical).map_err(failed)?;
        let found = FileIdentity::of(&handle).map_err(failed)?;
        if !platform::is_own(&handle).map_err(failed)? {
            return Err(failed(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it belongs to someone else",
            )));
        }
        if found.mode & platform::PERMISSION_BITS != platform::PRIVATE_FOLDER_MODE {
            platform::set_mode(&handle, platform::PRIVATE_FOLDER_MODE).map_err(failed)?;
        }
        Ok(Self { folder: Folder { handle, path: canonical } })
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Does `work` while no other process or thread changes files with this state folder. The system gives the lock
    /// back when the process dies.
    pub(crate) fn locked<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let failed = |error: io::Error| {
            Error::new(
                ErrorKind::StateFolder,
                format!(
                    "the lock in `{}` cannot be taken ({error}); check the folder",
                    self.folder.path.display()
                ),
            )
            .with_source(error)
        };
        let file = platform::open_lock(&self.folder.handle, LOCK.as_ref()).map_err(failed)?;
        let mut lock = RwLock::new(file);
        loop {
            match lock.write() {
                Ok(_guard) => return work(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// The names of the journals that a crash or a failed rollback left.
    pub(crate) fn journals(&self) -> io::Result<Vec<OsString>> {
        let mut names = folder_names(&self.folder.handle)?;
        names.retain(|name| {
            name != KEPT
                && FileIdentity::of_name(&self.folder.handle, name)
                    .is_ok_and(|found| found.is_some_and(|found| found.kind() == FileKind::Folder))
        });
        Ok(names)
    }

    /// A name that no other change has, in this checkout or in the state folder.
    pub(crate) fn fresh_id() -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        format!("{now:x}-{:x}-{count:x}", std::process::id())
    }

    /// Keeps bytes that have no place in the checkout any more.
    pub(crate) fn keep(&self, ops: &Ops, name: &OsStr, bytes: &[u8]) -> io::Result<PathBuf> {
        match ops.create_folder(&self.folder, KEPT.as_ref(), platform::PRIVATE_FOLDER_MODE) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let kept = Folder {
            handle: platform::open_folder_in(&self.folder.handle, KEPT.as_ref())?,
            path: self.folder.path.join(KEPT),
        };
        match ops.create_private(&kept, name, bytes) {
            // An earlier try of the same recovery came as far as this, perhaps not to its end.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                ops.remove(&kept, name)?;
                ops.create_private(&kept, name, bytes)?;
            }
            result => result?,
        }
        Ok(kept.path.join(name))
    }
}
