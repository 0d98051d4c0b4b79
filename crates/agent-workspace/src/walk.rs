//! The files below a place: those that a person would search, in one order, and why others were left out.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use ignore::{DirEntry, WalkBuilder, WalkState};
use serde::Serialize;

use crate::{
    Error, ErrorKind, FileKind, Result, Workspace, WorkspacePath, ancestors::Ancestors,
    glob::Globs, text::is_binary,
};

/// The largest file that a search takes by default: 4 MiB. Larger ones are data or generated.
pub const MAX_SEARCH_BYTES: u64 = 4 * 1024 * 1024;

/// More threads than this wait for the directory cache, not for the processor.
const MAX_THREADS: usize = 8;

/// Which files a walk takes. The default: those that are not hidden, not ignored and not links, of any size.
#[derive(Debug, Clone, Default)]
pub struct WalkOptions {
    globs: Vec<String>,
    hidden: Hidden,
    ignored: Ignored,
    max_bytes: Option<u64>,
    stop: Option<Arc<AtomicBool>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Hidden {
    #[default]
    Skip,
    Take,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Ignored {
    #[default]
    Skip,
    Take,
}

/// What a walk found, both lists in the order of [`WorkspacePath`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Walk {
    /// The regular files.
    pub files: Vec<WorkspacePath>,
    /// What was left out for a reason that is not a rule of the checkout: ignored and hidden files are not here.
    pub skipped: Vec<Skipped>,
}

/// A file or folder that was left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Skipped {
    /// Where it is.
    pub path: WorkspacePath,
    /// Why it was left out.
    pub reason: SkipReason,
}

/// Why a file is left out of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// A NUL byte is among its first bytes.
    Binary,
    /// It has more bytes than the limit.
    TooLarge,
    /// Its bytes are not UTF-8.
    NotUtf8,
    /// It is a link; a walk does not follow links.
    Link,
    /// It is a fifo, a socket or a device.
    Special,
    /// It could not be opened or read.
    Unreadable,
}

impl WalkOptions {
    /// The default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes only files that a glob names; several add up, one with `!` in front takes files away. A glob without `/`
    /// names files and folders at any depth. Globs narrow: an ignored file stays out.
    #[must_use]
    pub fn glob(mut self, glob: impl Into<String>) -> Self {
        self.globs.push(glob.into());
        self
    }

    /// Takes hidden files too, but never what is in `.git`.
    #[must_use]
    pub fn include_hidden(mut self) -> Self {
        self.hidden = Hidden::Take;
        self
    }

    /// Takes files that `.gitignore`, `.ignore` and git's own excludes name.
    #[must_use]
    pub fn include_ignored(mut self) -> Self {
        self.ignored = Ignored::Take;
        self
    }

    /// Leaves out larger files, with the reason. It costs one `stat` a file; a search that opens each file anyway gets
    /// the same from [`Workspace::read_up_to`] and [`SkipReason::of_error`] for nothing.
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = Some(limit);
        self
    }

    /// Ends the walk with the error `stopped` soon after the flag is set.
    #[must_use]
    pub fn stop(mut self, flag: Arc<AtomicBool>) -> Self {
        self.stop = Some(flag);
        self
    }

    fn stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

impl SkipReason {
    /// The reason in words, as in `3 files skipped (binary)`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::TooLarge => "too large",
            Self::NotUtf8 => "not UTF-8",
            Self::Link => "link",
            Self::Special => "special file",
            Self::Unreadable => "unreadable",
        }
    }

    /// Why a search leaves out a file with these bytes; `None` when it does not.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        if is_binary(bytes) {
            Some(Self::Binary)
        } else if std::str::from_utf8(bytes).is_err() {
            Some(Self::NotUtf8)
        } else {
            None
        }
    }

    /// Why a search leaves out a file whose read failed so.
    pub fn of_error(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::TooLarge => Self::TooLarge,
            ErrorKind::NotAFile => Self::Special,
            ErrorKind::OutsideWorkspace | ErrorKind::LinkLoop => Self::Link,
            _ => Self::Unreadable,
        }
    }
}

impl Workspace {
    /// The files below `start`, or `start` itself when it is a file. What is named is taken: a hidden or ignored start
    /// is walked, a link is followed. Rules of `.gitignore` hold outside a git repository too.
    ///
    /// The walk uses several threads and no lock for each file; its order is the same every time.
    ///
    /// # Errors
    /// As [`Workspace::identity`] for `start`; `not_a_file` for a special file, `invalid_glob`, `stopped`.
    pub fn walk(&self, start: &WorkspacePath, options: &WalkOptions) -> Result<Walk> {
        let globs = Globs::new(&options.globs)?;
        match self.identity(start)?.kind() {
            FileKind::Folder => self.walk_folder(start, options, &globs),
            FileKind::File => Ok(Walk { files: vec![start.clone()], skipped: Vec::new() }),
            FileKind::Link | FileKind::Special => {
                self.open_file(start).map(drop)?;
                Ok(Walk::default())
            }
        }
    }

    fn walk_folder(
        &self,
        start: &WorkspacePath,
        options: &WalkOptions,
        globs: &Globs,
    ) -> Result<Walk> {
        let target = if start.is_root() { start.clone() } else { self.follow(start)? };
        let base = self.absolute(&target);
        let ancestors = match options.ignored {
            Ignored::Skip => Ancestors::of(self.root_of(&target).path(), &base),
            Ignored::Take => Ancestors::none(&base),
        };
        let builder = builder(&base, start, options, globs, &ancestors);
        let found = Mutex::new(Walk::default());
        builder.build_parallel().run(|| {
            let mut part = Part { walk: Walk::default(), all: &found };
            let base = &base;
            Box::new(move |entry| {
                if options.stopped() {
                    return WalkState::Quit;
                }
                part.take(entry, base, start, options, globs);
                WalkState::Continue
            })
        });
        if options.stopped() {
            return Err(Error::new(
                ErrorKind::Stopped,
                "the walk was stopped; start it again with a narrower path",
            ));
        }
        let mut walk = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        walk.files.sort_unstable();
        walk.skipped.sort_unstable();
        Ok(walk)
    }
}

fn builder(
    base: &Path,
    start: &WorkspacePath,
    options: &WalkOptions,
    globs: &Globs,
    ancestors: &Ancestors,
) -> WalkBuilder {
    let rules = options.ignored == Ignored::Skip;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = WalkBuilder::new(&ancestors.base);
    builder
        .hidden(false)
        .ignore(rules)
        .git_ignore(rules)
        .git_exclude(rules)
        .git_global(rules)
        .require_git(false)
        .parents(ancestors.above_base)
        .follow_links(false)
        .threads(threads.min(MAX_THREADS));
    let hidden = options.hidden;
    let (globs, base, start) = (globs.clone(), base.to_owned(), start.clone());
    builder.filter_entry(move |entry| {
        let Ok(below) = entry.path().strip_prefix(&base) else {
            // On the way from the root down to the start.
            return base.starts_with(entry.path());
        };
        if below.as_os_str().is_empty() {
            return true;
        }
        let name = entry.file_name();
        if hidden == Hidden::Skip && name.as_encoded_bytes().starts_with(b".") {
            return false;
        }
        let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let git = folder && name == ".git";
        let excluded =
            || folder && globs.has_excludes() && globs.excludes(&start.rel().join(below), below);
        !git && !excluded()
    });
    builder
}

/// What one thread found; handed over once, when the thread ends.
struct Part<'a> {
    walk: Walk,
    all: &'a Mutex<Walk>,
}

impl Part<'_> {
    fn take(
        &mut self,
        entry: Result<DirEntry, ignore::Error>,
        base: &Path,
        start: &WorkspacePath,
        options: &WalkOptions,
        globs: &Globs,
    ) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return self.unreadable(&error, base, start),
        };
        let Some(kind) = entry.file_type() else {
            return;
        };
        if kind.is_dir() {
            return;
        }
        let Ok(below) = entry.path().strip_prefix(base) else {
            return;
        };
        let from_root = start.rel().join(below);
        if !globs.takes(&from_root, below) {
            return;
        }
        let path = WorkspacePath::new_unchecked(start.root(), &from_root);
        let too_large = || {
            options
                .max_bytes
                .is_some_and(|limit| entry.metadata().is_ok_and(|found| found.len() > limit))
        };
        let reason = if kind.is_symlink() {
            SkipReason::Link
        } else if !kind.is_file() {
            SkipReason::Special
        } else if too_large() {
            SkipReason::TooLarge
        } else {
            self.walk.files.push(path);
            return;
        };
        self.walk.skipped.push(Skipped { path, reason });
    }

    /// A name that vanished during the walk is no news; what may not be looked at is.
    fn unreadable(&mut self, error: &ignore::Error, base: &Path, start: &WorkspacePath) {
        if error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return;
        }
        let Some(path) = path_of(error) else {
            return;
        };
        if let Ok(below) = path.strip_prefix(base) {
            self.walk.skipped.push(Skipped {
                path: WorkspacePath::new_unchecked(start.root(), &start.rel().join(below)),
                reason: SkipReason::Unreadable,
            });
        }
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.files.append(&mut self.walk.files);
        all.skipped.append(&mut self.walk.skipped);
    }
}

fn path_of(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}
