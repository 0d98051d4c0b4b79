use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;

use crate::{
    Error, ErrorKind, Result, WorkspacePath, path_to_uri,
    platform::{self, Containment},
};

/// The roots of a run, and the only way from a string to a file in them. A clone is cheap and shares the roots.
#[derive(Debug, Clone)]
pub struct Workspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    roots: Vec<Root>,
    containment: Containment,
}

/// One folder of a [`Workspace`].
#[derive(Debug)]
pub struct Root {
    name: String,
    /// As the caller wrote it, made absolute: paths that come back through a link to the root still match.
    given: PathBuf,
    canonical: PathBuf,
    dir: Dir,
}

/// Collects the roots of a [`Workspace`].
#[derive(Debug, Clone, Default)]
pub struct WorkspaceBuilder {
    roots: Vec<(Option<String>, PathBuf)>,
    containment: Option<Containment>,
}

impl Workspace {
    /// A workspace with one root, the working directory.
    ///
    /// # Errors
    /// `not_found` or `not_a_directory` when `root` is no folder, `permission_denied` when it cannot be opened.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self> {
        Self::builder().root(root).open()
    }

    /// A workspace with several roots, or with a choice of containment.
    pub fn builder() -> WorkspaceBuilder {
        WorkspaceBuilder::default()
    }

    /// The roots; the first is the working directory.
    pub fn roots(&self) -> &[Root] {
        &self.inner.roots
    }

    /// The folders of all roots, in order: where a walk of the whole workspace starts.
    pub fn root_paths(&self) -> Vec<WorkspacePath> {
        let folder = |root: &Root| {
            self.contain(root.path()).unwrap_or_else(WorkspacePath::working_directory)
        };
        self.roots().iter().map(folder).collect()
    }

    /// The root that a path lies in.
    pub fn root_of(&self, path: &WorkspacePath) -> &Root {
        // A path of another workspace may name a root that this one does not have; the first is as wrong as any, and no panic.
        self.inner.roots.get(path.root()).unwrap_or(&self.inner.roots[0])
    }

    /// Who keeps opens beneath their root here; for a `doctor` to say.
    pub fn containment(&self) -> Containment {
        self.inner.containment
    }

    /// The path as shown to a model or a person: relative with `/`, prefixed `name:` only when there are several roots.
    /// The root itself is `.`. A name that is not UTF-8 is shown with U+FFFD, which [`Workspace::resolve`] takes back.
    pub fn show(&self, path: &WorkspacePath) -> String {
        let rel = path.rel_or_dot().to_string_lossy();
        if self.inner.roots.len() == 1 {
            rel.into_owned()
        } else {
            format!("{}:{rel}", self.root_of(path).name)
        }
    }

    /// The absolute path, for a program's arguments or a protocol. Not for opening: that is
    /// [`Workspace::open_file`], which holds links inside the root.
    pub fn absolute(&self, path: &WorkspacePath) -> PathBuf {
        let root = &self.root_of(path).canonical;
        if path.is_root() { root.clone() } else { root.join(path.rel()) }
    }

    /// The `file://` URI, every byte but letters, digits and `-._~/` percent-encoded.
    pub fn uri(&self, path: &WorkspacePath) -> String {
        path_to_uri(&self.absolute(path))
    }

    /// The place of an absolute path in this workspace, by its letters; `None` outside. With nested roots the deepest holds it.
    pub fn contain(&self, absolute: &Path) -> Option<WorkspacePath> {
        let mut best: Option<(usize, WorkspacePath)> = None;
        for (index, root) in self.inner.roots.iter().enumerate() {
            for base in [&root.canonical, &root.given] {
                let Ok(rel) = absolute.strip_prefix(base) else {
                    continue;
                };
                let Some(path) = WorkspacePath::normalised(index, rel) else {
                    continue;
                };
                let depth = root.canonical.components().count();
                if best.as_ref().is_none_or(|(deepest, _)| depth > *deepest) {
                    best = Some((depth, path));
                }
            }
        }
        best.map(|(_, path)| path)
    }
}

impl Root {
    /// The name that prefixes its paths when there are several roots.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The canonical absolute path.
    pub fn path(&self) -> &Path {
        &self.canonical
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }
}

impl WorkspaceBuilder {
    /// Adds a root named after its folder.
    #[must_use]
    pub fn root(mut self, path: impl Into<PathBuf>) -> Self {
        self.roots.push((None, path.into()));
        self
    }

    /// Adds a root with a name of its own.
    #[must_use]
    pub fn named_root(mut self, name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.roots.push((Some(name.into()), path.into()));
        self
    }

    /// Asks for one way of containment. Without it the kernel's is taken where it works. `Kernel` where the kernel
    /// cannot falls back to `Library`, which holds the same.
    #[must_use]
    pub fn containment(mut self, containment: Containment) -> Self {
        self.containment = Some(containment);
        self
    }

    /// Opens every root.
    ///
    /// # Errors
    /// `invalid_roots` for no root, a name twice, or a name that is empty or has `:` or `/`; else as [`Workspace::open`].
    pub fn open(self) -> Result<Workspace> {
        let mut roots: Vec<Root> = Vec::with_capacity(self.roots.len());
        for (name, given) in self.roots {
            let root = open_root(name, given)?;
            if roots.iter().any(|other| other.name == root.name) {
                return Err(Error::new(
                    ErrorKind::InvalidRoots,
                    format!("two roots are named `{}`; give one of them another name", root.name),
                ));
            }
            roots.push(root);
        }
        let Some(first) = roots.first() else {
            return Err(Error::new(
                ErrorKind::InvalidRoots,
                "a workspace needs at least one root; name a folder",
            ));
        };
        let found = platform::containment(&first.dir);
        let containment = match self.containment {
            Some(Containment::Library) => Containment::Library,
            _ => found,
        };
        Ok(Workspace { inner: Arc::new(Inner { roots, containment }) })
    }
}

fn open_root(name: Option<String>, given: PathBuf) -> Result<Root> {
    let shown = given.display().to_string();
    let failed = |error: std::io::Error| {
        let (kind, message) = match error.kind() {
            std::io::ErrorKind::NotFound => (
                ErrorKind::NotFound,
                format!("the workspace `{shown}` does not exist; name a folder that does"),
            ),
            std::io::ErrorKind::NotADirectory => (
                ErrorKind::NotADirectory,
                format!("the workspace `{shown}` is not a folder; name the folder that holds it"),
            ),
            std::io::ErrorKind::PermissionDenied => (
                ErrorKind::PermissionDenied,
                format!("the workspace `{shown}` cannot be opened; check its permissions"),
            ),
            _ => (ErrorKind::Io, format!("the workspace `{shown}` cannot be opened: {error}")),
        };
        Error::new(kind, message).with_source(error)
    };
    let absolute = std::path::absolute(&given).map_err(failed)?;
    let canonical = std::fs::canonicalize(&given).map_err(failed)?;
    let dir = platform::open_root(&canonical).map_err(failed)?;
    let name = name.unwrap_or_else(|| {
        canonical
            .file_name()
            .map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().replace(':', "_"))
    });
    if name.is_empty() || name.contains([':', '/']) {
        return Err(Error::new(
            ErrorKind::InvalidRoots,
            format!("`{name}` cannot name a root; take a name without `:` and `/`"),
        ));
    }
    Ok(Root { name, given: absolute, canonical, dir })
}
