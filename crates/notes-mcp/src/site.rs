//! The application on disk, as one server sees it.

use std::{
    ffi::OsStr,
    fmt, fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    clock::{Clock, SystemClock},
    logs::{LOGS, Logs},
    platform::{self, Containment},
    refusal::Refusal,
};

/// Where the notes are, from the root.
const NOTES: &str = "app/data/notes";

/// The application that the tools look into: its root, the clock, and who is told what the tools have no place for.
pub struct Site {
    root: PathBuf,
    /// From the root, without a link on the way.
    notes: PathBuf,
    containment: Containment,
    clock: Arc<dyn Clock>,
    observer: Observer,
    rotation: Mutex<()>,
}

type Observer = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// What an observer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A rotation came this far. Tests change the world here, or end the process.
    Reached(Step),
    /// Something that the person who runs the server should look at.
    Warning(&'a str),
}

/// The steps of a rotation, in their order. The log is at its place after each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The log is what it was when it was planned, and the record says that it is being rotated.
    Checked,
    /// The log has the archive's name too.
    Linked,
    /// Both names were seen to be the log's, and what happens to them by now comes too late to be seen.
    Compared,
    /// An empty file is in the log's place; the record does not say so yet.
    Replaced,
}

impl Site {
    /// The application below `root`. Links on the way to the root, and those to its notes that stay beneath it, are resolved
    /// here, once. Notes that a link leads out of the root to are refused by the tool, as is a link that comes later.
    ///
    /// The folders of the log and of the notes may be missing, and may come and go while the server lives.
    ///
    /// # Errors
    ///
    /// Where `root` is no folder that can be opened.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !fs::metadata(&root)?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder"));
        }
        let notes = root.join(NOTES).canonicalize().ok();
        let notes = notes.and_then(|notes| Some(notes.strip_prefix(&root).ok()?.to_owned()));
        Ok(Self {
            notes: notes.unwrap_or_else(|| NOTES.into()),
            root,
            containment: platform::containment(),
            clock: Arc::new(SystemClock::default()),
            observer: Arc::new(|_| {}),
            rotation: Mutex::new(()),
        })
    }

    /// Takes the time from `clock`.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Tells `observer` what happens.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.observer = Arc::new(observer);
        self
    }

    /// Has notes opened in this way, where the kernel's is not wanted.
    #[must_use]
    pub fn with_containment(mut self, containment: Containment) -> Self {
        self.containment = containment;
        self
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn warn(&self, text: &str) {
        (self.observer)(Event::Warning(text));
    }

    pub(crate) fn reached(&self, step: Step) {
        (self.observer)(Event::Reached(step));
    }

    pub(crate) fn containment(&self) -> Containment {
        self.containment
    }

    /// Where the notes are, without a link on the way.
    pub(crate) fn notes_path(&self) -> PathBuf {
        self.root.join(&self.notes)
    }

    pub(crate) fn notes(&self) -> io::Result<OwnedFd> {
        self.folder(&self.notes)
    }

    pub(crate) fn logs(&self) -> Result<Logs, Refusal> {
        self.folder(LOGS).map(Logs::new).map_err(|error| Logs::refusal(&error))
    }

    /// Opens a folder beneath the root by its `way` from there, each part of which is a folder and no link.
    fn folder(&self, way: impl IntoIterator<Item: AsRef<OsStr>>) -> io::Result<OwnedFd> {
        let root = platform::open_resolved_folder(&self.root, self.containment)?;
        way.into_iter().try_fold(root, |folder, name| platform::open_folder(&folder, name.as_ref()))
    }

    /// Calls of this process take turns at the record, so that only another process is refused for one under way.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.rotation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site")
            .field("root", &self.root)
            .field("notes", &self.notes)
            .field("containment", &self.containment)
            .finish_non_exhaustive()
    }
}
