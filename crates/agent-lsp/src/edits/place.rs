//! Which files a server may have changed.

use std::path::{Component, Path};

use agent_edits::tool_error::of_workspace;
use agent_tool_core::{ErrorKind, ToolError};
use agent_workspace::{Workspace, WorkspacePath};

use crate::uri::{self, Target};

/// Folders whose files belong to others: what packages bring, what tools keep, what git keeps.
const FOREIGN: &[&str] = &[
    "node_modules",
    "bower_components",
    "site-packages",
    "dist-packages",
    "__pypackages__",
    ".cargo",
    ".rustup",
    ".pub-cache",
    ".dart_tool",
    ".venv",
    ".git",
];

/// The module cache of Go is two folders deep.
const GO_MODULES: (&str, &str) = ("pkg", "mod");

/// A file of the workspace that may be changed.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The path as named.
    pub(super) named: WorkspacePath,
    /// The path with links followed: the file that an edit of text changes.
    pub(super) target: WorkspacePath,
}

impl Place {
    pub(super) fn of(workspace: &Workspace, uri: &str) -> Result<Self, ToolError> {
        let named = match uri::locate(workspace, uri) {
            Target::Inside(path) => path,
            Target::Outside(path) => return Err(outside(&path.display().to_string())),
            Target::NoFile(uri) => return Err(outside(&uri)),
        };
        let target = workspace.follow(&named).map_err(of_workspace)?;
        for path in [&named, &target] {
            if is_foreign(path.rel()) {
                return Err(ToolError::new(
                    ErrorKind::Denied,
                    "library_file",
                    format!(
                        "the server would change {}, which belongs to a library or a tool; nothing was written, so rename \
                         something that is defined in the project",
                        workspace.show(path)
                    ),
                ));
            }
        }
        Ok(Self { named, target })
    }
}

/// Whether a path lies in a folder whose files belong to others.
pub(crate) fn is_foreign(path: &Path) -> bool {
    let names: Vec<&str> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    names.iter().any(|name| FOREIGN.contains(name))
        || names.windows(2).any(|pair| (pair[0], pair[1]) == GO_MODULES)
}

fn outside(shown: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Denied,
        "outside_workspace",
        format!(
            "the server would change {shown}, which is outside of the workspace; nothing was written, so rename something \
             that is defined in the project"
        ),
    )
}
