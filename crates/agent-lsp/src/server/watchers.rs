//! Which files a server wants to be told of, by the patterns that it registered.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use agent_workspace::WorkspacePath;
use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::documents::Watched;
use crate::uri;

/// What is meant where a watcher does not say: created, changed and deleted.
const ALL_KINDS: u64 = 7;

/// How many changes are kept that it did not register for.
const MAX_LEFT: usize = 1_000;

/// The patterns of one server.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    all: Vec<Watcher>,
    /// The count of registrations that they are of.
    pub count: u64,
    /// The changes that none of them took.
    left: BTreeMap<WorkspacePath, Watched>,
}

#[derive(Debug)]
struct Watcher {
    /// What the pattern is below; none where it is of whole paths.
    base: Option<PathBuf>,
    pattern: GlobMatcher,
    kinds: u64,
}

impl Watchers {
    /// Takes those of the options of registrations. A pattern that is none matches nothing.
    pub(super) fn register<'a>(
        &mut self,
        registered: impl Iterator<Item = &'a Value>,
        root: &Path,
        count: u64,
    ) {
        let watchers = registered.flat_map(|one| one["watchers"].as_array().into_iter().flatten());
        self.all = watchers.filter_map(|watcher| Watcher::of(watcher, root)).collect();
        self.count = count;
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Keeps a change that none of them took, since one may be registered that does.
    pub(super) fn leave(&mut self, file: WorkspacePath, change: Watched) {
        if self.left.len() < MAX_LEFT || self.left.contains_key(&file) {
            self.left.insert(file, change);
        }
    }

    /// Those of the changes that they take now, once.
    pub(super) fn left(
        &mut self,
        path: impl Fn(&WorkspacePath) -> PathBuf,
    ) -> Vec<(WorkspacePath, Watched)> {
        let left = std::mem::take(&mut self.left);
        let (taken, left) =
            left.into_iter().partition(|(file, change)| self.take(&path(file), *change));
        self.left = left;
        BTreeMap::into_iter(taken).collect()
    }

    /// Whether one of them takes this.
    pub(super) fn take(&self, path: &Path, change: Watched) -> bool {
        let kind = match change {
            Watched::Created => 1,
            Watched::Changed => 2,
            Watched::Deleted => 4,
        };
        self.all.iter().filter(|watcher| watcher.kinds & kind != 0).any(|watcher| {
            match &watcher.base {
                Some(base) => {
                    path.strip_prefix(base).is_ok_and(|below| watcher.pattern.is_match(below))
                }
                None => watcher.pattern.is_match(path),
            }
        })
    }
}

impl Watcher {
    fn of(watcher: &Value, root: &Path) -> Option<Self> {
        let glob = &watcher["globPattern"];
        let (base, pattern) = match glob.as_str() {
            Some(whole) if whole.starts_with('/') => (None, whole),
            Some(below) => (Some(root.to_owned()), below),
            None => {
                let base = &glob["baseUri"];
                let base = base.as_str().or_else(|| base["uri"].as_str())?;
                (Some(uri::to_path(base, Path::exists)?), glob["pattern"].as_str()?)
            }
        };
        let pattern = GlobBuilder::new(pattern).literal_separator(true).build().ok()?;
        let kinds = watcher["kind"].as_u64().unwrap_or(ALL_KINDS);
        Some(Self { base, pattern: pattern.compile_matcher(), kinds })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_are_of_whole_paths_of_the_root_or_of_a_base() {
        let options = json!({ "watchers": [
            { "globPattern": "/p/**/*.rs" },
            { "globPattern": "**/tsconfig*.{json,jsonc}", "kind": 2 },
            { "globPattern": { "baseUri": "file:///p/sub", "pattern": "*.txt" } },
            { "globPattern": "[" },
        ] });
        let mut watchers = Watchers::default();
        watchers.register([&options].into_iter(), Path::new("/p"), 1);
        let takes = |path: &str, change| watchers.take(Path::new(path), change);
        assert!(takes("/p/a/b.rs", Watched::Created) && takes("/p/b.rs", Watched::Deleted));
        assert!(takes("/p/tsconfig.base.json", Watched::Changed));
        assert!(takes("/p/a/tsconfig.json", Watched::Changed));
        assert!(!takes("/p/a/tsconfig.json", Watched::Created));
        assert!(takes("/p/sub/a.txt", Watched::Changed));
        assert!(!takes("/p/a.txt", Watched::Changed) && !takes("/p/sub/x/a.txt", Watched::Changed));
    }
}
