use std::{
    cmp::Ordering,
    ffi::OsStr,
    fmt,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use crate::platform;

/// A place inside a workspace: a root and a relative path without `.`, `..` or a leading `/`.
///
/// It says where, not that something is there, and it holds no promise about links: those are held when the path is
/// opened. Paths are ordered by root, then by their bytes, so that a listing reads the same everywhere.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WorkspacePath {
    root: usize,
    rel: Arc<Path>,
}

impl WorkspacePath {
    /// The first root itself, the working directory.
    pub fn working_directory() -> Self {
        Self::of_root(0)
    }

    /// The root with this index.
    pub(crate) fn of_root(root: usize) -> Self {
        Self { root, rel: Arc::from(Path::new("")) }
    }

    /// `rel` must have normal components alone.
    pub(crate) fn new_unchecked(root: usize, rel: &Path) -> Self {
        Self { root, rel: Arc::from(rel) }
    }

    /// Removes `.` and resolves `..` by the letters of the path. `None` when it climbs over the root.
    pub(crate) fn normalised(root: usize, rel: &Path) -> Option<Self> {
        let mut out = PathBuf::with_capacity(rel.as_os_str().len());
        for component in rel.components() {
            match component {
                Component::Normal(name) => out.push(name),
                Component::CurDir => {}
                Component::ParentDir => {
                    if !out.pop() {
                        return None;
                    }
                }
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(Self::new_unchecked(root, &out))
    }

    /// The index of the root, as in [`Workspace::roots`](crate::Workspace::roots).
    pub fn root(&self) -> usize {
        self.root
    }

    /// The path relative to its root; empty for the root itself.
    pub fn rel(&self) -> &Path {
        &self.rel
    }

    /// True for a root itself.
    pub fn is_root(&self) -> bool {
        self.rel.as_os_str().is_empty()
    }

    /// The last component; `None` for a root itself.
    pub fn file_name(&self) -> Option<&OsStr> {
        self.rel.file_name()
    }

    /// The extension of the last component, without the dot.
    pub fn extension(&self) -> Option<&OsStr> {
        self.rel.extension()
    }

    /// The folder that holds it; `None` for a root itself.
    pub fn parent(&self) -> Option<Self> {
        let parent = self.rel.parent()?;
        Some(Self::new_unchecked(self.root, parent))
    }

    /// A path below this one. `None` when `rel` is absolute or climbs over the root.
    pub fn join(&self, rel: impl AsRef<Path>) -> Option<Self> {
        let rel = rel.as_ref();
        if rel.is_absolute() {
            return None;
        }
        Self::normalised(self.root, &self.rel.join(rel))
    }

    /// True when this is `folder` or lies below it, by the letters of the paths.
    pub fn is_within(&self, folder: &Self) -> bool {
        self.root == folder.root && self.rel.starts_with(&folder.rel)
    }

    pub(crate) fn rel_or_dot(&self) -> &Path {
        if self.is_root() { Path::new(".") } else { &self.rel }
    }
}

impl Ord for WorkspacePath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.root.cmp(&other.root).then_with(|| {
            platform::bytes(self.rel.as_os_str()).cmp(platform::bytes(other.rel.as_os_str()))
        })
    }
}

impl PartialOrd for WorkspacePath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.root, self.rel.display())
    }
}
