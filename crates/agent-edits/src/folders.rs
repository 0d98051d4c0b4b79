//! Handles of the folders that a change works in, opened beneath their root.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    os::fd::OwnedFd,
    path::PathBuf,
    sync::Arc,
};

use agent_workspace::{Workspace, WorkspacePath};

/// More handles than this are not held at once; a process may often have 1,024.
const MAX_HELD: usize = 256;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) handle: OwnedFd,
    /// For messages and the hook; no operation uses it.
    pub(crate) path: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Folders {
    workspace: Workspace,
    held: HashMap<WorkspacePath, Arc<Folder>>,
}

impl Folders {
    pub(crate) fn new(workspace: &Workspace) -> Self {
        Self { workspace: workspace.clone(), held: HashMap::new() }
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(crate) fn open(&mut self, path: &WorkspacePath) -> agent_workspace::Result<Arc<Folder>> {
        if let Some(folder) = self.held.get(path) {
            return Ok(folder.clone());
        }
        let folder = Arc::new(Folder {
            handle: self.workspace.open_folder(path)?,
            path: self.workspace.absolute(path),
        });
        if self.held.len() >= MAX_HELD {
            self.held.clear();
        }
        self.held.insert(path.clone(), folder.clone());
        Ok(folder)
    }

    /// The folder that holds a file, and the file's name in it.
    pub(crate) fn of(
        &mut self,
        file: &WorkspacePath,
    ) -> agent_workspace::Result<(Arc<Folder>, OsString)> {
        let folder = file.parent().unwrap_or_else(|| file.clone());
        let name = file.file_name().unwrap_or(OsStr::new(".")).to_owned();
        Ok((self.open(&folder)?, name))
    }
}
