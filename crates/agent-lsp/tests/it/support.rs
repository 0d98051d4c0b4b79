//! A checkout in a folder of its own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use agent_workspace::{Workspace, WorkspacePath};
use tempfile::TempDir;

pub(crate) struct Checkout {
    pub(crate) outer: TempDir,
    pub(crate) workspace: Workspace,
}

impl Checkout {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("checkout");
        fs::create_dir(&root).unwrap();
        for (name, content) in files {
            put(&root, name, content);
        }
        Self { workspace: Workspace::open(&root).unwrap(), outer }
    }

    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(self.outer.path()).unwrap().join("checkout")
    }

    pub(crate) fn path(&self, text: &str) -> WorkspacePath {
        self.workspace.resolve(text).unwrap()
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        put(&self.root(), name, content);
    }
}

fn put(root: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
