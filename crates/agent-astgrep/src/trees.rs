//! Parsed trees that outlive a search.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent_workspace::{FileIdentity, WorkspacePath};
use tree_sitter::Tree;

/// What a run keeps of parsed trees by default, in bytes as [`Trees`] estimates them: the trees of
/// about 45 MB of source.
pub const TREE_BUDGET_BYTES: usize = 512 * 1024 * 1024;

/// What a node costs on the average, measured over five corpora: inner nodes and their lists of
/// children; leaves mostly stand in their parent's list.
const BYTES_PER_NODE: usize = 44;

/// Trees of files as they were read, within a budget of bytes. A clone shares them.
///
/// A tree is given out for the very identity of the file that it was parsed from, so a file that
/// changed is parsed anew. When the budget is used up, trees that no search since has asked for
/// make room; a single search larger than the budget keeps what came first.
#[derive(Clone, Debug)]
pub struct Trees {
    budget: usize,
    shelf: Arc<Mutex<Shelf>>,
}

/// A file's bytes and their tree.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub source: Arc<[u8]>,
    pub tree: Tree,
}

/// Names a tree: a file may be parsed by two grammars (a header as C and as C++).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TreeKey {
    pub path: WorkspacePath,
    pub grammar: String,
}

#[derive(Debug, Default)]
struct Shelf {
    kept: HashMap<TreeKey, Kept>,
    by_use: BTreeMap<(u64, TreeKey), ()>,
    bytes: usize,
    search: u64,
}

#[derive(Debug)]
struct Kept {
    identity: FileIdentity,
    parsed: Parsed,
    bytes: usize,
    used: u64,
}

impl Trees {
    /// A store for at most so many bytes; with 0 it keeps nothing.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self { budget, shelf: Arc::default() }
    }

    /// How many trees are kept, and how many bytes they are estimated at.
    #[must_use]
    pub fn kept(&self) -> (usize, usize) {
        let shelf = self.lock();
        (shelf.kept.len(), shelf.bytes)
    }

    /// Begins a search: trees that it does not ask for become older than those that it does.
    pub(crate) fn begin_search(&self) {
        self.lock().search += 1;
    }

    pub(crate) fn is_off(&self) -> bool {
        self.budget == 0
    }

    /// Whether a tree of this file might be here, whatever state of the file it was parsed from.
    pub(crate) fn holds(&self, key: &TreeKey) -> bool {
        self.lock().kept.contains_key(key)
    }

    /// The tree of this very state of the file.
    pub(crate) fn get(&self, key: &TreeKey, identity: &FileIdentity) -> Option<Parsed> {
        let mut shelf = self.lock();
        let search = shelf.search;
        let kept = shelf.kept.get_mut(key)?;
        if kept.identity != *identity {
            shelf.remove(key);
            return None;
        }
        let before = std::mem::replace(&mut kept.used, search);
        let parsed = kept.parsed.clone();
        if before != search {
            shelf.by_use.remove(&(before, key.clone()));
            shelf.by_use.insert((search, key.clone()), ());
        }
        Some(parsed)
    }

    /// Keeps a tree where there is room, or where an older one makes room.
    pub(crate) fn keep(&self, key: TreeKey, identity: FileIdentity, parsed: Parsed) {
        let nodes = parsed.tree.root_node().descendant_count();
        let bytes = parsed.source.len() + nodes * BYTES_PER_NODE;
        let mut shelf = self.lock();
        shelf.remove(&key);
        while shelf.bytes + bytes > self.budget {
            let search = shelf.search;
            match shelf.by_use.first_key_value() {
                Some(((used, oldest), ())) if *used < search => {
                    let oldest = oldest.clone();
                    shelf.remove(&oldest);
                }
                _ => return,
            }
        }
        let used = shelf.search;
        shelf.bytes += bytes;
        shelf.by_use.insert((used, key.clone()), ());
        shelf.kept.insert(key, Kept { identity, parsed, bytes, used });
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Trees {
    fn default() -> Self {
        Self::new(TREE_BUDGET_BYTES)
    }
}

impl Shelf {
    fn remove(&mut self, key: &TreeKey) {
        if let Some(kept) = self.kept.remove(key) {
            self.bytes -= kept.bytes;
            self.by_use.remove(&(kept.used, key.clone()));
        }
    }
}
