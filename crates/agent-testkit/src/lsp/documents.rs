//! The documents that the client opened, and the files of the root.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Encoding, path_of, position};

/// A document that is open.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) uri: String,
    pub(crate) version: Option<i64>,
    pub(crate) text: String,
}

/// Open documents by their paths, and how often each was synced.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    open: BTreeMap<PathBuf, Document>,
    syncs: BTreeMap<PathBuf, u64>,
    /// The files as they were last heard of, where the server does not look at the disk.
    heard: Option<BTreeMap<PathBuf, String>>,
}

impl Documents {
    /// Takes in a notification, if it is one about documents.
    pub(crate) fn absorb(&mut self, method: &str, params: &Value, encoding: Encoding) {
        let document = &params["textDocument"];
        let uri = document["uri"].as_str().unwrap_or_default();
        let path = path_of(uri);
        match method {
            "textDocument/didOpen" => {
                let text = document["text"].as_str().unwrap_or_default().to_owned();
                let version = document["version"].as_i64();
                self.open.insert(path.clone(), Document { uri: uri.to_owned(), version, text });
            }
            "textDocument/didChange" => {
                let Some(open) = self.open.get_mut(&path) else { return };
                open.version = document["version"].as_i64();
                for change in params["contentChanges"].as_array().into_iter().flatten() {
                    apply(&mut open.text, change, encoding);
                }
            }
            "textDocument/didClose" => {
                self.open.remove(&path);
            }
            "workspace/didChangeWatchedFiles" => return self.hear(params),
            _ => return,
        }
        *self.syncs.entry(path).or_default() += 1;
    }

    /// From now on a file is what it is now until the client tells of a change.
    pub(crate) fn stop_looking(&mut self, roots: &[PathBuf], extensions: &[String]) {
        self.heard = Some(on_disk(roots, extensions));
    }

    pub(crate) fn get(&self, uri: &str) -> Option<&Document> {
        self.open.get(&path_of(uri))
    }

    pub(crate) fn open(&self) -> &BTreeMap<PathBuf, Document> {
        &self.open
    }

    pub(crate) fn syncs(&self, uri: &str) -> u64 {
        self.syncs.get(&path_of(uri)).copied().unwrap_or_default()
    }

    /// The files of the roots with these extensions, as far as the server knows.
    pub(crate) fn files(
        &self,
        roots: &[PathBuf],
        extensions: &[String],
    ) -> BTreeMap<PathBuf, String> {
        let mut files = self.heard.clone().unwrap_or_else(|| on_disk(roots, extensions));
        files.retain(|path, _| has_extension(path, extensions));
        files
    }

    fn hear(&mut self, params: &Value) {
        let Some(heard) = &mut self.heard else { return };
        for change in params["changes"].as_array().into_iter().flatten() {
            let path = path_of(change["uri"].as_str().unwrap_or_default());
            match fs::read(&path) {
                Ok(bytes) => heard.insert(path, String::from_utf8_lossy(&bytes).into_owned()),
                Err(_) => heard.remove(&path),
            };
        }
    }
}

fn apply(text: &mut String, change: &Value, encoding: Encoding) {
    let new = change["text"].as_str().unwrap_or_default();
    let range = &change["range"];
    if range.is_null() {
        new.clone_into(text);
        return;
    }
    let at = |end: &str| {
        let count = |field: &str| range[end][field].as_u64().map_or(0, |count| count as usize);
        position::offset(text, count("line"), count("character"), encoding)
    };
    let (start, end) = (at("start"), at("end"));
    text.replace_range(start..end.max(start), new);
}

fn on_disk(roots: &[PathBuf], extensions: &[String]) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    for root in roots {
        walk(root, extensions, &mut files);
    }
    files
}

/// Hidden folders and links are left out.
fn walk(folder: &Path, extensions: &[String], files: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !hidden {
            walk(&path, extensions, files);
        }
        if kind.is_file() && has_extension(&path, extensions) {
            let bytes = fs::read(&path).unwrap_or_default();
            files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

fn has_extension(path: &Path, extensions: &[String]) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    extensions.iter().any(|known| *known == extension)
}
