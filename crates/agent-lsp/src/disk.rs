//! What others change on the disk: a shell, a build, a person.
//!
//! Servers read most files by themselves and rely on their client to be told when one changes. So
//! every folder of the workspace that is neither ignored nor a cache is watched, and what happened is
//! read from the system's queue before each request. Nothing is polled.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
};

use agent_workspace::{WalkOptions, Workspace, WorkspacePath};

use crate::{
    platform::{Entry, FolderEvent, FolderEvents},
    server::Watched,
};

/// How many changes are kept for servers that have not asked for long.
const MAX_KEPT: usize = 20_000;

/// How many folders are watched. The system's own bound is lower at times.
const MAX_FOLDERS: usize = 30_000;

/// Marks a folder that holds what a program can make again, as cargo's `target` is, and how its content begins
/// ([Cache Directory Tagging](https://bford.info/cachedir/)).
const CACHE_TAG: &str = "CACHEDIR.TAG";
const CACHE_TAG_BYTES: u64 = 64 << 10;
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// The changes in a workspace, for all servers of a run.
#[derive(Debug)]
pub(crate) struct Disk {
    workspace: Workspace,
    inner: Mutex<Inner>,
}

/// Up to where a server has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor(u64);

/// What changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Changes {
    /// These, each once.
    Some(BTreeMap<WorkspacePath, Watched>),
    /// More than is known: any file may be another.
    Any,
}

#[derive(Debug, Default)]
struct Inner {
    /// None before the first server, and where nothing can be watched.
    events: Option<FolderEvents>,
    begun: bool,
    folders: HashMap<i32, WorkspacePath>,
    watched: BTreeSet<WorkspacePath>,
    kept: VecDeque<(WorkspacePath, Watched)>,
    /// How many changes came before those that are kept.
    dropped: u64,
    /// Folders that exist and are not watched.
    unwatched: usize,
    /// The files that were there, as numbers: a name that comes over another one is no new file.
    known: HashSet<u64>,
}

impl Disk {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace, inner: Mutex::default() }
    }

    /// Begins to watch, unless that was done, and gives the place from which on a server that is started
    /// now has to be told. It walks the workspace.
    pub(crate) fn begin(&self) -> Cursor {
        let mut inner = self.lock();
        if !inner.begun {
            inner.begun = true;
            inner.events = FolderEvents::open();
            inner.watch_new_folders(&self.workspace);
            inner.kept.clear();
            inner.know_all(&self.workspace);
        }
        inner.take_in(&self.workspace);
        Cursor(inner.end())
    }

    /// The place from which on everything is still to come.
    pub(crate) fn now(&self) -> Cursor {
        let mut inner = self.lock();
        inner.take_in(&self.workspace);
        Cursor(inner.end())
    }

    /// What changed since, and moves the cursor on.
    pub(crate) fn since(&self, cursor: &mut Cursor) -> Changes {
        let mut inner = self.lock();
        inner.take_in(&self.workspace);
        let from = std::mem::replace(&mut cursor.0, inner.end());
        let Some(skip) = from.checked_sub(inner.dropped) else { return Changes::Any };
        let mut changes: BTreeMap<_, (Watched, Watched)> = BTreeMap::new();
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        for (file, change) in inner.kept.iter().skip(skip) {
            changes.entry(file.clone()).or_insert((*change, *change)).1 = *change;
        }
        let net = changes.into_iter().filter_map(|(file, (first, last))| {
            // A folder that came again came with all that is in it.
            let is_folder = file.extension().is_none();
            let change = match (first == Watched::Created, last) {
                (true, Watched::Deleted) if !is_folder => return None,
                (true, Watched::Changed) => Watched::Created,
                (false, Watched::Created) if !is_folder => Watched::Changed,
                (_, last) => last,
            };
            Some((file, change))
        });
        let changes = net.collect();
        Changes::Some(changes)
    }

    /// Every file, as changed: for a server that may have missed any change.
    pub(crate) fn everything(&self) -> BTreeMap<WorkspacePath, Watched> {
        let walks = roots(&self.workspace).into_iter();
        let walks = walks.filter_map(|root| self.workspace.walk(&root, &WalkOptions::new()).ok());
        walks.flat_map(|walk| walk.files).map(|file| (file, Watched::Changed)).collect()
    }

    /// How many folders could not be watched.
    pub(crate) fn unwatched(&self) -> usize {
        self.lock().unwatched
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn end(&self) -> u64 {
        self.dropped + self.kept.len() as u64
    }

    fn keep(&mut self, file: WorkspacePath, change: Watched) {
        if self.kept.len() == MAX_KEPT {
            self.kept.pop_front();
            self.dropped += 1;
        }
        self.kept.push_back((file, change));
    }

    fn take_in(&mut self, workspace: &Workspace) {
        let events = self.events.as_ref().map(FolderEvents::take).unwrap_or_default();
        let mut new_folders = false;
        for event in events {
            match event {
                FolderEvent::Came(_, _, Entry::Folder) => new_folders = true,
                FolderEvent::Came(folder, name, Entry::File) => {
                    self.in_folder(folder, name, Watched::Created);
                }
                FolderEvent::Changed(folder, name) => {
                    self.in_folder(folder, name, Watched::Changed);
                }
                // Of a folder that was moved away nothing in it is told.
                FolderEvent::Went(folder, name, _) => {
                    self.in_folder(folder, name, Watched::Deleted);
                }
                FolderEvent::Ended(folder) => {
                    if let Some(folder) = self.folders.remove(&folder) {
                        self.watched.remove(&folder);
                    }
                }
                FolderEvent::Lost => {
                    self.known.clear();
                    self.know_all(workspace);
                    // Whoever asks next is before what is kept.
                    self.dropped = self.end() + 1;
                    self.kept.clear();
                    new_folders = true;
                }
            }
        }
        if new_folders {
            self.watch_new_folders(workspace);
        }
    }

    fn in_folder(&mut self, folder: i32, name: std::ffi::OsString, change: Watched) {
        let file = self.folders.get(&folder).and_then(|folder| folder.join(name));
        if let Some(file) = file {
            let number = number(&file);
            let change = match change {
                Watched::Deleted => {
                    self.known.remove(&number);
                    change
                }
                _ if self.known.insert(number) => change,
                _ => Watched::Changed,
            };
            self.keep(file, change);
        }
    }

    /// Takes in every name of the folders that are watched.
    fn know_all(&mut self, workspace: &Workspace) {
        for folder in &self.watched {
            let names = workspace.names(folder).unwrap_or_default();
            let files = names.into_iter().filter_map(|name| folder.join(name));
            self.known.extend(files.map(|file| number(&file)));
        }
    }

    /// Watches the folders that are not watched yet; what is in them came with them.
    fn watch_new_folders(&mut self, workspace: &Workspace) {
        let Some(events) = self.events.take() else { return };
        let roots = roots(workspace);
        let walks = roots.iter().filter_map(|root| workspace.walk(root, &WalkOptions::new()).ok());
        let mut files: Vec<_> = walks.flat_map(|walk| walk.files).collect();
        leave_out_caches(workspace, &mut files);
        let mut folders: BTreeSet<WorkspacePath> = roots.into_iter().collect();
        for file in &files {
            let above = std::iter::successors(file.parent(), WorkspacePath::parent);
            folders
                .extend(above.take_while(|folder| !folders.contains(folder)).collect::<Vec<_>>());
        }
        let new: BTreeSet<_> = folders.difference(&self.watched).cloned().collect();
        self.unwatched = 0;
        for folder in &new {
            // Servers remember that there was none.
            self.keep(folder.clone(), Watched::Created);
            let room = self.watched.len() < MAX_FOLDERS;
            match room.then(|| events.watch(&workspace.absolute(folder))) {
                Some(Ok(watch)) => {
                    self.folders.insert(watch, folder.clone());
                    self.watched.insert(folder.clone());
                }
                _ => self.unwatched += 1,
            }
        }
        self.events = Some(events);
        for file in files {
            if file.parent().is_some_and(|folder| new.contains(&folder)) {
                self.known.insert(number(&file));
                self.keep(file, Watched::Created);
            }
        }
    }
}

fn number(file: &WorkspacePath) -> u64 {
    let mut hasher = DefaultHasher::new();
    file.hash(&mut hasher);
    hasher.finish()
}

/// A build rewrites its cache all the time, and no server has to hear of it. A root is never one: it was asked for.
fn leave_out_caches(workspace: &Workspace, files: &mut Vec<WorkspacePath>) {
    let is_tag = |file: &&WorkspacePath| {
        let tag = file.file_name().is_some_and(|name| name == CACHE_TAG);
        let read = || workspace.read_up_to(file, CACHE_TAG_BYTES);
        tag && read().is_ok_and(|tag| tag.bytes.starts_with(CACHE_SIGNATURE))
    };
    let tagged = files.iter().filter(is_tag).filter_map(WorkspacePath::parent);
    let caches: Vec<_> = tagged.filter(|folder| !folder.is_root()).collect();
    files.retain(|file| !caches.iter().any(|cache| file.is_within(cache)));
}

fn roots(workspace: &Workspace) -> Vec<WorkspacePath> {
    workspace.roots().iter().filter_map(|root| workspace.contain(root.path())).collect()
}
