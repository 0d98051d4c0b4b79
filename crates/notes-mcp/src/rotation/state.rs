//! The folder of our own beside the log: the record, its lock, and the empty file that takes the log's place.

use std::{
    fs::{File, TryLockError},
    io::{self, Read, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, mkdirat, renameat, statat},
    io::Errno,
};

use crate::{
    logs::Logs,
    platform,
    refusal::{ASK_A_PERSON, Code, Refusal},
};

const FOLDER: &str = ".rotate";
const LOCK: &str = "lock";
const RECORD: &str = "plans.json";
const NEW_RECORD: &str = "plans.json.new";

/// What the name of a damaged record begins with; a number follows.
const ASIDE: &str = "plans.json.damaged.";

/// No more damaged records are kept, and none is overwritten.
const KEPT_ASIDE: usize = 9;

/// A record that is longer was not written here.
const RECORD_BYTES: u64 = 1 << 20;

/// The folder, with its lock held for as long as this lives. The kernel frees the lock of a process that is killed.
#[derive(Debug)]
pub(crate) struct State {
    folder: OwnedFd,
    lock: File,
}

/// What to do where there is no folder yet.
pub(crate) enum Missing {
    Create,
    Refuse(fn() -> Refusal),
}

impl State {
    /// Takes the lock, and does not wait for it.
    pub(crate) fn open(logs: &Logs, missing: Missing) -> Result<Self, Refusal> {
        let folder = match (platform::open_folder(logs, FOLDER), missing) {
            (Err(error), Missing::Create) if error.kind() == io::ErrorKind::NotFound => {
                create(logs).map_err(|error| refusal(&error))?
            }
            (Err(error), Missing::Refuse(say)) if error.kind() == io::ErrorKind::NotFound => {
                return Err(say());
            }
            (opened, _) => opened.map_err(|error| refusal(&error))?,
        };
        let lock = platform::create_file(&folder, LOCK, OFlags::RDONLY, Mode::from_raw_mode(0o600))
            .map_err(|error| refusal(&error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, lock }),
            Err(TryLockError::WouldBlock) => Err(Refusal::new(
                Code::RotationInProgress,
                "another process plans or rotates right now; call again in a moment",
            )),
            Err(TryLockError::Error(error)) => Err(refusal(&error)),
        }
    }

    /// The record's bytes, or nothing where there is none.
    pub(crate) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match platform::open_file(&self.folder, RECORD) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(RECORD_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > RECORD_BYTES {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is over 1 MiB"));
        }
        Ok(Some(bytes))
    }

    /// Gives the record another name, which it says, so that the next one does not overwrite it.
    pub(crate) fn keep_aside(&self) -> io::Result<String> {
        for name in aside() {
            if !self.has(&name)? {
                // Nobody else takes the name meanwhile: whoever writes here holds the lock.
                renameat(&self.folder, RECORD, &self.folder, &name)?;
                return Ok(shown(&name));
            }
        }
        let what = format!("there are {KEPT_ASIDE} damaged records in app/logs/{FOLDER} already");
        Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
    }

    /// The last record that was kept aside, if there is one.
    pub(crate) fn kept_aside(&self) -> io::Result<Option<String>> {
        for name in aside().rev() {
            if self.has(&name)? {
                return Ok(Some(shown(&name)));
            }
        }
        Ok(None)
    }

    fn has(&self, name: &str) -> io::Result<bool> {
        match statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts a new record in the old one's place, on the disk and as a whole.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::TRUNC;
        let mode = Mode::from_raw_mode(0o600);
        let mut file = platform::create_file(&self.folder, NEW_RECORD, flags, mode)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        renameat(&self.folder, NEW_RECORD, &self.folder, RECORD)?;
        Ok(rustix::fs::fsync(&self.folder)?)
    }
}

impl Drop for State {
    /// Closing the file frees the lock only when no child that is about to begin has a copy of it.
    fn drop(&mut self) {
        // A lock that cannot be freed now is freed with the file.
        let _ = self.lock.unlock();
    }
}

impl AsFd for State {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// The names of damaged records.
fn aside() -> impl DoubleEndedIterator<Item = String> {
    (1..=KEPT_ASIDE).map(|number| format!("{ASIDE}{number}"))
}

/// How a file of the folder is called in what a person reads.
fn shown(name: &str) -> String {
    format!("app/logs/{FOLDER}/{name}")
}

fn create(logs: &Logs) -> io::Result<OwnedFd> {
    match mkdirat(logs, FOLDER, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => platform::open_folder(logs, FOLDER),
        Err(error) => Err(error.into()),
    }
}

fn refusal(error: &io::Error) -> Refusal {
    Refusal::io(
        "cannot use app/logs/.rotate, the server's own folder, as a plain folder with plain files",
        error.kind(),
        ASK_A_PERSON,
    )
}
