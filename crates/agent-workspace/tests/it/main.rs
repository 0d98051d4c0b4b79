//! The workspace against a real file system.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod open;
mod resolve;
mod text;
mod walk;

use std::{fs, path::Path};

use agent_workspace::{Containment, Workspace};
use tempfile::TempDir;

/// A folder with files, each parent made on the way.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        put(folder.path(), name, content);
    }
    folder
}

fn put(root: &Path, name: &str, content: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The same workspace by each way of containment.
fn both(root: &Path) -> [Workspace; 2] {
    [Containment::Kernel, Containment::Library]
        .map(|containment| Workspace::builder().root(root).containment(containment).open().unwrap())
}

/// The code of the error for reading a path, or the content.
fn read(workspace: &Workspace, path: &str) -> Result<String, &'static str> {
    workspace
        .resolve(path)
        .and_then(|path| workspace.read(&path))
        .map(|content| String::from_utf8(content.bytes).unwrap())
        .map_err(|error| error.code())
}
