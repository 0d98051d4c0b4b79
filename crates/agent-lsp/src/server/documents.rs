//! What a server has been sent of the files: opened, changed, saved, closed, and in which version.
//!
//! A server reads a document from its client and everything else from the disk, so both are kept up:
//! every file that was opened is looked at again before each request, whoever changed it.

use std::{collections::HashMap, sync::Arc};

use agent_workspace::{ErrorKind, FileIdentity, MAX_SEARCH_BYTES, Workspace, WorkspacePath};
use async_lsp::lsp_types::Url;
use serde_json::{Value, json};

use crate::{position::Document, uri};

/// How many documents stay open in one server. Those that were not asked for longest are closed.
pub(crate) const MAX_OPEN: usize = 100;

/// A notification to send, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Note {
    /// `textDocument/didOpen`
    Open(Value),
    /// `textDocument/didChange`
    Change(Value),
    /// `textDocument/didSave`
    Save(Value),
    /// `textDocument/didClose`, of a file whose diagnostics mean nothing from now on.
    Close(Value, WorkspacePath),
    /// `workspace/didChangeWatchedFiles`
    Watched(Value),
}

/// What became of a file on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    Created = 1,
    Changed = 2,
    Deleted = 3,
}

/// How a file stands after it was synced.
#[derive(Clone, Debug)]
pub(crate) struct Synced {
    pub document: Arc<Document>,
    pub version: i32,
    /// Whether the server got another text than it had.
    pub sent: bool,
}

#[derive(Debug)]
struct Open {
    /// Of the file that the text was read from; none where the text is another than the disk's.
    identity: Option<FileIdentity>,
    document: Arc<Document>,
    version: i32,
    used: u64,
    /// Whether the server was told that the text is on the disk.
    saved: bool,
}

/// When a server is told of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saves {
    /// With the text.
    AtOnce,
    /// When it is asked for, since a save starts a compiler.
    WhenAsked,
}

/// The documents of one server.
#[derive(Debug)]
pub(crate) struct Documents {
    workspace: Workspace,
    open: HashMap<WorkspacePath, Open>,
    notes: Vec<Note>,
    saves: Saves,
    clock: u64,
}

impl Documents {
    pub(crate) fn new(workspace: Workspace, saves: Saves) -> Self {
        Self { workspace, open: HashMap::new(), notes: Vec::new(), saves, clock: 0 }
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.open.len()
    }

    /// Those that are open.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &WorkspacePath> {
        self.open.keys()
    }

    /// The text and the version that the server has of a file, where it has one.
    pub(crate) fn known(&self, file: &WorkspacePath) -> Option<Synced> {
        let open = self.open.get(file)?;
        Some(Synced { document: Arc::clone(&open.document), version: open.version, sent: false })
    }

    /// The notifications to send, in order; they are given out once.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Opens a file, or brings it up to what is on the disk.
    ///
    /// # Errors
    /// Those of reading it. A file that is gone is closed.
    pub(crate) fn sync(
        &mut self,
        file: &WorkspacePath,
        language: &str,
    ) -> agent_workspace::Result<Synced> {
        self.clock += 1;
        let clock = self.clock;
        let identity = match self.workspace.identity(file) {
            Ok(identity) => identity,
            Err(error) => {
                self.gone(file, error.kind());
                return Err(error);
            }
        };
        if let Some(open) = self.open.get_mut(file) {
            open.used = clock;
            if open.identity == Some(identity) {
                let document = Arc::clone(&open.document);
                return Ok(Synced { document, version: open.version, sent: false });
            }
        }
        let content = self.workspace.read_up_to(file, MAX_SEARCH_BYTES)?;
        let document = Arc::new(Document::decode(&content.bytes));
        let uri = self.uri(file);
        let synced = match self.open.get_mut(file) {
            Some(open) if open.document.text() == document.text() => {
                open.identity = Some(content.identity);
                Synced { document: Arc::clone(&open.document), version: open.version, sent: false }
            }
            Some(open) => {
                open.identity = Some(content.identity);
                open.document = Arc::clone(&document);
                open.version += 1;
                let version = open.version;
                self.notes.push(Note::Watched(watched(&uri, Watched::Changed)));
                self.notes.push(Note::Change(json!({
                    "textDocument": { "uri": uri, "version": version },
                    "contentChanges": [{ "text": document.text() }],
                })));
                open.saved = self.saves == Saves::AtOnce;
                if open.saved {
                    self.notes.push(saved(&uri));
                }
                Synced { document, version, sent: true }
            }
            None => {
                let opened = self.open_with(file, language, document, Some(content.identity));
                self.close_beyond(MAX_OPEN);
                opened
            }
        };
        Ok(synced)
    }

    /// Opens a file with a text that is not that of the disk any more: what was there before a write.
    pub(crate) fn open_before(
        &mut self,
        file: &WorkspacePath,
        language: &str,
        text: Document,
    ) -> Synced {
        match self.known(file) {
            Some(known) => known,
            None => self.open_with(file, language, Arc::new(text), None),
        }
    }

    /// Says that the text of a file is on the disk, unless that was said; whether it was not.
    pub(crate) fn save(&mut self, file: &WorkspacePath) -> bool {
        let uri = self.uri(file);
        match self.open.get_mut(file).filter(|open| !open.saved) {
            Some(open) => {
                open.saved = true;
                self.notes.push(saved(&uri));
                true
            }
            None => false,
        }
    }

    /// Brings every open document up to the disk, since a shell may have changed them, and says
    /// which had changed.
    pub(crate) fn sync_open(
        &mut self,
        language: impl Fn(&WorkspacePath) -> String,
    ) -> Vec<WorkspacePath> {
        let files: Vec<_> = self.open.keys().cloned().collect();
        let clock = self.clock;
        let mut changed = Vec::new();
        for file in files {
            let used = self.open.get(&file).map(|open| open.used);
            let synced = self.sync(&file, &language(&file));
            if let (Some(open), Some(used)) = (self.open.get_mut(&file), used) {
                open.used = used;
            }
            if synced.is_ok_and(|synced| synced.sent) || !self.open.contains_key(&file) {
                changed.push(file);
            }
        }
        self.clock = clock;
        changed
    }

    /// Says what became of a file that this run wrote, opened or not.
    pub(crate) fn tell(&mut self, file: &WorkspacePath, watched_as: Watched) {
        let uri = self.uri(file);
        self.notes.push(Note::Watched(watched(&uri, watched_as)));
        if watched_as == Watched::Deleted {
            self.close(file);
        }
    }

    /// Closes a document.
    pub(crate) fn close(&mut self, file: &WorkspacePath) {
        if self.open.remove(file).is_some() {
            let uri = self.uri(file);
            self.notes.push(Note::Close(json!({ "textDocument": { "uri": uri } }), file.clone()));
        }
    }

    fn gone(&mut self, file: &WorkspacePath, why: ErrorKind) {
        if why == ErrorKind::NotFound && self.open.contains_key(file) {
            self.tell(file, Watched::Deleted);
        }
    }

    fn open_with(
        &mut self,
        file: &WorkspacePath,
        language: &str,
        document: Arc<Document>,
        identity: Option<FileIdentity>,
    ) -> Synced {
        self.clock += 1;
        self.notes.push(Note::Open(json!({
            "textDocument": {
                "uri": self.uri(file), "languageId": language, "version": 1, "text": document.text(),
            },
        })));
        let (used, saved) = (self.clock, self.saves == Saves::AtOnce);
        let open = Open { identity, document: Arc::clone(&document), version: 1, used, saved };
        self.open.insert(file.clone(), open);
        Synced { document, version: 1, sent: true }
    }

    fn close_beyond(&mut self, most: usize) {
        while self.open.len() > most {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.used);
            let Some(file) = oldest.map(|(file, _)| file.clone()) else { return };
            self.close(&file);
        }
    }

    fn uri(&self, file: &WorkspacePath) -> Url {
        uri::of_path(&self.workspace.absolute(file))
    }
}

fn saved(uri: &Url) -> Note {
    Note::Save(json!({ "textDocument": { "uri": uri } }))
}

fn watched(uri: &Url, watched: Watched) -> Value {
    json!({ "changes": [{ "uri": uri, "type": watched as u8 }] })
}
