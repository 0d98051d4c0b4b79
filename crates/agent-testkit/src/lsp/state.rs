//! What changes while the server runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::Value;

use super::{Encoding, documents::Documents, path_of, uri_of};

/// What all threads change, behind one lock.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) root_uri: Value,
    /// `ClientCapabilities`.
    pub(crate) client: Value,
    pub(crate) encoding: Encoding,
    pub(crate) documents: Documents,
    /// When the toy has read everything.
    pub(crate) ready_at: Option<Instant>,
    pub(crate) shut_down: bool,
    /// What was published last for each file.
    pub(crate) published: BTreeMap<PathBuf, Vec<Value>>,
    pub(super) counts: Vec<u32>,
    pub(super) open_requests: BTreeSet<String>,
    pub(super) cancelled: BTreeSet<String>,
    pub(super) asked: BTreeMap<String, String>,
    pub(super) answers: BTreeMap<String, Value>,
    pub(super) last_id: u64,
}

impl State {
    /// The version of a document's last sync.
    pub(crate) fn synced(&self, uri: &str) -> Option<i64> {
        self.documents.get(uri).and_then(|open| open.version)
    }

    /// The root's URIs in the order of preference: folders, `rootUri`, `rootPath`.
    pub(crate) fn set_roots(&mut self, params: &Value) {
        let folders = params["workspaceFolders"].as_array().into_iter().flatten();
        let mut uris: Vec<Value> = folders.map(|folder| folder["uri"].clone()).collect();
        if uris.is_empty() && params["rootUri"].is_string() {
            uris.push(params["rootUri"].clone());
        }
        if let (true, Some(path)) = (uris.is_empty(), params["rootPath"].as_str()) {
            uris.push(uri_of(Path::new(path)).into());
        }
        self.roots = uris.iter().filter_map(Value::as_str).map(path_of).collect();
        self.root_uri = uris.first().cloned().unwrap_or_default();
    }
}
