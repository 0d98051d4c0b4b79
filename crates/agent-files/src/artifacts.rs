//! A second root, read-only: what a run kept of results that were too long for a model.

use std::path::{Path, PathBuf};

use agent_tool_core::{ErrorKind, ToolError};
use agent_workspace::{ErrorKind as Cause, Workspace};

use crate::{Files, error};

/// What stands before the name of an artifact where `read` takes a path. A file of the workspace
/// whose name begins so is `./artifact:…`.
pub const ARTIFACT_SCHEME: &str = "artifact:";

/// The longest name of an artifact, in bytes.
pub const MAX_ARTIFACT_NAME: usize = 128;

impl Files {
    /// The same with a folder of artifacts beside the workspace. Its files, and nothing below or
    /// beside it, are what `read` opens by `artifact:NAME`; no tool writes there. It need not exist
    /// yet.
    #[must_use]
    pub fn with_artifacts(mut self, folder: impl Into<PathBuf>) -> Self {
        self.artifacts = Some(folder.into().into());
        self
    }

    /// The folder of artifacts and the name of one, where the path names one.
    pub(crate) fn artifact<'a>(&'a self, path: &'a str) -> Option<(&'a Path, &'a str)> {
        Some((self.artifacts.as_deref()?, path.strip_prefix(ARTIFACT_SCHEME)?))
    }
}

/// The bytes of an artifact.
///
/// The folder is a workspace of its own, so the open itself holds the file inside of it; the name is
/// one of plain letters, so that nothing has to be resolved first.
pub(crate) fn read(folder: &Path, name: &str) -> Result<Vec<u8>, ToolError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let named = (1..=MAX_ARTIFACT_NAME).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with('.');
    if !named {
        return Err(invalid(format!(
            "after `{ARTIFACT_SCHEME}` stands a name of letters, digits, `_`, `-` and `.`; take it \
             from the result that was cut"
        )));
    }
    let unknown = || {
        ToolError::new(
            ErrorKind::NotFound,
            "unknown_artifact",
            format!(
                "this run kept no `{ARTIFACT_SCHEME}{name}`; take the name from the result that was cut"
            ),
        )
    };
    let workspace = match Workspace::open(folder) {
        Ok(workspace) => workspace,
        Err(error) if error.kind() == Cause::NotFound => return Err(unknown()),
        Err(error) => return Err(error::of_workspace(error)),
    };
    let path = workspace.resolve(name).map_err(error::of_workspace)?;
    match workspace.follow(&path) {
        Ok(target) if target == path => {}
        Err(error) if !matches!(error.kind(), Cause::OutsideWorkspace | Cause::NotFound) => {
            return Err(error::of_workspace(error));
        }
        _ => return Err(link(name)),
    }
    match workspace.read(&path) {
        Ok(content) => Ok(content.bytes),
        Err(error) if error.kind() == Cause::NotFound => Err(unknown()),
        Err(error) if error.kind() == Cause::OutsideWorkspace => Err(link(name)),
        Err(error) => Err(error::of_workspace(error)),
    }
}

/// What every tool but `read` answers to the name of an artifact.
pub(crate) fn only_read(path: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Denied,
        "artifact_read_only",
        format!(
            "`{path}` is the kept text of an earlier result; only read takes it, and nothing changes it"
        ),
    )
}

fn link(name: &str) -> ToolError {
    invalid(format!(
        "`{ARTIFACT_SCHEME}{name}` is a link, which no run keeps; take a name that a result gave"
    ))
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, "invalid_artifact", message)
}
