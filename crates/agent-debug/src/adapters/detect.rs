//! What of an adapter is here: a marker of its projects, and a program that answers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use agent_process::{Finder, Found, Missing, Place, Trust, Wanted};
use agent_workspace::Workspace;

use super::{ADAPTERS, Adapter};

/// The most folders below a root that are looked at for a marker.
const MARKER_FOLDERS: usize = 100;

/// A checkout, as far as adapters are concerned.
#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    pub(crate) workspace: Workspace,
    pub(crate) finder: Finder,
    pub(crate) trust: Trust,
}

/// An adapter, with what of it is here.
#[derive(Debug)]
pub(crate) struct Detected {
    pub(crate) adapter: &'static Adapter,
    /// The marker, as the workspace shows it.
    pub(crate) marker: Option<PathBuf>,
    pub(crate) program: Result<Found, Missing>,
    /// The interpreter of the checkout, which may be another one than the adapter's.
    pub(crate) interpreter: Option<PathBuf>,
}

impl Checkout {
    /// All adapters.
    pub(crate) async fn detect_all(&self, near: Option<&Path>) -> Vec<Detected> {
        let mut all = Vec::new();
        for adapter in &ADAPTERS {
            all.push(self.detect(adapter, near).await);
        }
        all
    }

    /// One adapter. The marker lies beside the program, in a folder above it, in a root or right below one.
    pub(crate) async fn detect(&self, adapter: &'static Adapter, near: Option<&Path>) -> Detected {
        let place = self.place();
        let mut program = self.finder.find(&wanted(adapter), &place).await;
        if program.is_err() && adapter.beside.is_some() {
            program = self.finder.find(&wanted_beside(adapter), &place).await;
        }
        let interpreter = match adapter.local {
            [] => None,
            _ => self.finder.find(&plain(adapter), &place).await.ok().map(|found| found.path),
        };
        Detected { adapter, marker: self.marker(adapter, near), program, interpreter }
    }

    fn place(&self) -> Place {
        let roots = self.workspace.roots().iter().map(|root| root.path().to_owned());
        Place::new(roots).trust(self.trust)
    }

    fn marker(&self, adapter: &Adapter, near: Option<&Path>) -> Option<PathBuf> {
        let found = self.folders(near).into_iter().find_map(|folder| {
            adapter.markers.iter().map(|name| folder.join(name)).find(|path| path.is_file())
        })?;
        let shown = self.workspace.contain(&found).map(|path| self.workspace.show(&path));
        Some(shown.map_or(found, PathBuf::from))
    }

    fn folders(&self, near: Option<&Path>) -> Vec<PathBuf> {
        let roots: Vec<&Path> = self.workspace.roots().iter().map(|root| root.path()).collect();
        let in_a_root = |folder: &&Path| roots.iter().any(|root| folder.starts_with(root));
        let above = near.into_iter().flat_map(Path::ancestors).filter(in_a_root);
        let mut folders: Vec<PathBuf> = above.map(Path::to_owned).collect();
        folders.extend(roots.iter().map(|root| (*root).to_owned()));
        for root in roots {
            let mut below: Vec<PathBuf> = fs::read_dir(root)
                .into_iter()
                .flatten()
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.is_dir() && !hidden(path))
                .collect();
            below.sort();
            folders.extend(below.into_iter().take(MARKER_FOLDERS));
        }
        folders
    }
}

fn hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

impl Detected {
    /// Both are here.
    pub(crate) fn usable(&self) -> bool {
        self.marker.is_some() && self.program.is_ok()
    }

    /// Everything that is missing.
    pub(crate) fn why_not(&self) -> Option<String> {
        let marker = self.marker.is_none().then(|| {
            let names = self.adapter.markers.join(", ");
            format!(
                "no file here marks a project of its kind; an adapter starts only where one does: {names} (an empty one is \
                 enough)"
            )
        });
        let program = self.program.as_ref().err();
        let program = program.map(|missing| format!("{missing}; {}", self.adapter.install));
        let all: Vec<String> = marker.into_iter().chain(program).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

fn wanted(adapter: &Adapter) -> Wanted {
    let mut wanted = named(adapter).probe(adapter.probe.iter().copied());
    if adapter.numbered {
        wanted = wanted.or_numbered();
    }
    wanted
}

/// The same where no search path leads: a name with a number on the search path comes before that.
fn wanted_beside(adapter: &Adapter) -> Wanted {
    beside(adapter).into_iter().fold(wanted(adapter), Wanted::also_in)
}

/// The interpreter itself, whatever is installed in it.
fn plain(adapter: &Adapter) -> Wanted {
    named(adapter).probe(["-I", "-c", ""])
}

fn named(adapter: &Adapter) -> Wanted {
    let mut names = adapter.names.iter().copied();
    let mut wanted = Wanted::new(names.next().unwrap_or_default());
    for name in names {
        wanted = wanted.or(name);
    }
    for folder in adapter.local {
        wanted = wanted.local(*folder);
    }
    wanted
}

/// `/usr/lib/llvm-19/bin` and the like, the highest number first.
fn beside(adapter: &Adapter) -> Vec<PathBuf> {
    let Some((parent, prefix, inner)) = adapter.beside else { return Vec::new() };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut numbered: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((number, entry.path().join(inner)))
        })
        .collect();
    numbered.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    numbered.into_iter().map(|(_, folder)| folder).collect()
}
