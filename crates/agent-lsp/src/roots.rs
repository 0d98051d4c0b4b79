//! Where a server is started for a file: at the nearest folder with a marker, lifted to the workspace that declares it.
//!
//! One server for each crate of a cargo workspace would cost a gigabyte each, and one server for a folder of unrelated
//! projects would mix their settings. What tells the two apart is a file that declares its members.

mod declared;
mod members;

use std::path::PathBuf;

use agent_workspace::{Workspace, WorkspacePath};
use serde::Deserialize;

use crate::table::{Server, matches};

/// The ways in which a folder declares that others belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkspaceKind {
    /// `[workspace]` in `Cargo.toml`: `members` without `exclude`, and path dependencies of the root.
    Cargo,
    /// `workspaces` in `package.json`.
    Npm,
    /// `packages` in `pnpm-workspace.yaml`.
    Pnpm,
    /// `use` in `go.work`.
    Go,
    /// `[tool.uv.workspace]` in `pyproject.toml`.
    Uv,
    /// `workspace` in `pubspec.yaml`.
    Pub,
    /// `pyrightconfig.json`: everything below it.
    Pyright,
    /// `settings.gradle` or `settings.gradle.kts`: everything below it.
    Gradle,
}

/// The folder that a server is started in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerRoot {
    /// The folder, links followed.
    pub folder: WorkspacePath,
    /// Its real path: some servers answer with real paths, whatever they were given.
    pub real_path: PathBuf,
    /// The marker that was found, in the nearest folder that has one.
    pub marker: String,
    /// The folder that has the marker, where the root was lifted above it.
    pub lifted_from: Option<WorkspacePath>,
}

/// The root of a server for a file. `None` when no folder from the file's up to the run's root has a marker.
#[must_use]
pub fn find(workspace: &Workspace, file: &WorkspacePath, server: &Server) -> Option<ServerRoot> {
    let file = workspace.follow(file).ok()?;
    let (nearest, marker) = folders(&file).find_map(|folder| {
        let marker = marker_in(workspace, &folder, &server.roots)?;
        Some((folder, marker))
    })?;
    let declares = |folder: &WorkspacePath| {
        server.workspaces.iter().any(|kind| declared::contains(workspace, *kind, folder, &nearest))
    };
    let highest = folders(&nearest).filter(declares).last();
    let lifted_from = highest.is_some().then(|| nearest.clone());
    let folder = highest.unwrap_or(nearest);
    Some(ServerRoot { real_path: workspace.absolute(&folder), folder, marker, lifted_from })
}

/// Whether a server knows a file and those around it by itself.
pub(crate) fn is_known(workspace: &Workspace, file: &WorkspacePath, server: &Server) -> bool {
    let mut named = folders(file)
        .flat_map(|folder| server.knows_by.iter().filter_map(move |name| folder.join(name)));
    server.knows_by.is_empty() || named.any(|path| workspace.absolute(&path).is_file())
}

/// The folders above a path, the nearest first, up to the root of the run that it lies in.
fn folders(path: &WorkspacePath) -> impl Iterator<Item = WorkspacePath> {
    std::iter::successors(path.parent(), WorkspacePath::parent)
}

fn marker_in(workspace: &Workspace, folder: &WorkspacePath, markers: &[String]) -> Option<String> {
    let names = workspace.names(folder).ok()?;
    let has = |marker: &&String| {
        names.iter().filter_map(|name| name.to_str()).any(|name| matches(marker, name))
    };
    markers.iter().find(has).cloned()
}
