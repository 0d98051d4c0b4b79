//! The files that configure a server, and what comes of it when one of them changes.

use std::{
    collections::BTreeMap,
    sync::PoisonError,
    time::{Duration, Instant},
};

use agent_workspace::{FileIdentity, Workspace, WorkspacePath};

use super::{client::Client, documents::Watched, told::State};
use crate::table::{self, Reconfigures, Server};

/// How long a server may take to log that it has read its configuration anew. basedpyright 1.40 takes 0.4 s to begin and 0.3 s
/// more for two files on an idle machine; one that the file does not concern logs nothing.
const REREADS_WITHIN: Duration = Duration::from_secs(5);

/// A name that no pattern is meant for, so that one that takes it takes every file.
const ANY_NAME: &str = "~any~.~any~";

/// The files that configured a server when it was started, as they were.
#[derive(Debug, Default)]
pub(crate) struct Configured {
    files: BTreeMap<WorkspacePath, Option<FileIdentity>>,
}

/// A change of its configuration that a server was told of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    at: Instant,
    /// How many times it had logged by then that it knows the project's files.
    logged: u64,
}

impl Configured {
    /// Takes note of the files of a server that is not told of their changes with any use.
    pub(crate) fn of(workspace: &Workspace, folder: &WorkspacePath, row: &Server) -> Self {
        if row.reconfigures != Reconfigures::Restart {
            return Self::default();
        }
        let folders: Vec<_> =
            std::iter::successors(Some(folder.clone()), WorkspacePath::parent).collect();
        let all = folders.iter().flat_map(|folder| {
            row.configuration().iter().filter_map(move |name| folder.join(name))
        });
        let files = all.map(|file| (file.clone(), identity(workspace, &file))).collect();
        Self { files }
    }

    fn changed(&self, workspace: &Workspace) -> bool {
        self.files.iter().any(|(file, known)| identity(workspace, file) != *known)
    }
}

/// A compilation database is often a link into the folder of the build.
fn identity(workspace: &Workspace, file: &WorkspacePath) -> Option<FileIdentity> {
    workspace.identity(&workspace.follow(file).ok()?).ok()
}

impl Client {
    /// Whether it has a configuration that is another by now and that it would not read: it is to be started anew.
    pub(crate) fn is_outdated(&self) -> bool {
        self.start.configured.changed(&self.start.workspace)
    }

    /// Whether a file configures it: by its row, or as one that it watches by more than that it is a file.
    pub(crate) fn is_configured_by(&self, file: &WorkspacePath, change: Watched) -> bool {
        let row = &self.start.row;
        if row.language_of(file.rel()).is_some() || !self.is_near(file) {
            return false;
        }
        if self.is_named(file) {
            return true;
        }
        let is_any = |watchers: &super::watchers::Watchers| {
            let any = file.parent().and_then(|folder| folder.join(ANY_NAME));
            any.is_none_or(|any| watchers.take(&self.path(&any), change))
        };
        let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.take(&self.path(file), change) && !is_any(&watchers)
    }

    /// Whether its row names the file as one that configures it.
    pub(super) fn is_named(&self, file: &WorkspacePath) -> bool {
        let path = file.rel();
        let name = path.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
        self.start.row.configuration().iter().any(|pattern| match pattern.contains('/') {
            true => path.ends_with(pattern),
            false => table::matches(pattern, name),
        })
    }

    /// Whether a file is in its root, or in a folder above it.
    fn is_near(&self, file: &WorkspacePath) -> bool {
        let path = self.path(file);
        let folder = path.parent().unwrap_or(&path);
        folder.starts_with(&self.start.root) || self.start.root.starts_with(folder)
    }

    /// Takes note of a file that it was told of.
    pub(super) fn note_configuration(&self, file: &WorkspacePath) {
        let row = &self.start.row;
        let path = self.path(file);
        let is_of_root = path.parent().is_some_and(|folder| self.start.root.starts_with(folder));
        if row.reconfigures == Reconfigures::LogsAgain && is_of_root && self.is_named(file) {
            let logged = self.told.look().logged_ready;
            let told = Told { at: Instant::now(), logged };
            *self.reconfigured.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        }
    }

    /// Whether it may still answer by the configuration from before.
    pub(super) fn is_reading_configuration(&self, state: &State) -> bool {
        let told = *self.reconfigured.lock().unwrap_or_else(PoisonError::into_inner);
        told.is_some_and(|told| {
            state.logged_ready <= told.logged && told.at.elapsed() < REREADS_WITHIN
        })
    }
}
