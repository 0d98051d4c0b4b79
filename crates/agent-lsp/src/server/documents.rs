//! What a server has been sent of the files: opened, changed, saved, closed, and in which version.
//!
//! A server reads a document from its client and everything else from the disk, so both are kept up:
//! every file that was opened is looked at again before each request, whoever changed it, and so are
//! the names in their folders, since a shell makes and deletes files that nobody else announces.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ffi::OsString,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agent_workspace::{ErrorKind, FileIdentity, MAX_SEARCH_BYTES, Workspace, WorkspacePath};
use async_lsp::lsp_types::Url;
use serde_json::{Value, json};

use crate::{
    position::Document,
    table::{Check, Server, Starts, Wait},
    uri,
};

/// How many documents stay open in one server. Those that were not asked for longest are closed.
pub(crate) const MAX_OPEN: usize = 100;

/// A file that changed less long ago may change again without another time stamp: it is read again.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// A notification to send, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Note {
    /// `textDocument/didOpen`
    Open(Value, WorkspacePath),
    /// `textDocument/didChange`
    Change(Value),
    /// `textDocument/didSave`
    Save(Value),
    /// `rust-analyzer/runFlycheck`
    Check(Value),
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
    /// What the server had told before it was sent this version: what counts for it was told later.
    pub mark: u64,
}

#[derive(Debug)]
struct Open {
    /// Of the file that the text was read from; none where the text may be another than the disk's.
    identity: Option<FileIdentity>,
    document: Arc<Document>,
    version: i32,
    mark: u64,
    used: u64,
    /// Whether the server was told that the text is on the disk.
    saved: bool,
}

/// When a server is told of a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saves {
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
    /// The files of the server's languages in the folders of what was opened.
    folders: HashMap<WorkspacePath, Folder>,
    notes: Vec<Note>,
    /// The row of the server, which knows its languages.
    row: Server,
    clock: u64,
    /// What the server had told before it was sent what is being sent.
    mark: u64,
}

#[derive(Debug)]
struct Folder {
    identity: Option<FileIdentity>,
    names: BTreeSet<OsString>,
}

impl Documents {
    pub(crate) fn new(workspace: Workspace, row: Server) -> Self {
        Self {
            workspace,
            open: HashMap::new(),
            folders: HashMap::new(),
            notes: Vec::new(),
            row,
            clock: 0,
            mark: 0,
        }
    }

    /// What is sent from now on is sent after the server had told so much.
    pub(crate) fn mark(&mut self, told: u64) {
        self.mark = told;
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.open.len()
    }

    /// Those that are open, the one that was asked for last first.
    pub(crate) fn paths(&self) -> Vec<WorkspacePath> {
        let mut files: Vec<_> = self.open.iter().map(|(file, open)| (open.used, file)).collect();
        files.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
        files.into_iter().map(|(_, file)| file.clone()).collect()
    }

    /// The text and the version that the server has of a file, where it has one.
    pub(crate) fn known(&self, file: &WorkspacePath) -> Option<Synced> {
        Some(self.open.get(file)?.synced())
    }

    /// The notifications to send, in order; they are given out once.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Opens a file, or brings it up to what is on the disk.
    ///
    /// # Errors
    /// Those of reading it. A file that is gone is closed.
    pub(crate) fn sync(&mut self, file: &WorkspacePath) -> agent_workspace::Result<Synced> {
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
                return Ok(open.synced());
            }
        }
        let content = self.workspace.read_up_to(file, MAX_SEARCH_BYTES)?;
        let document = Arc::new(Document::decode(&content.bytes));
        let (uri, saves) = (self.uri(file), self.saves());
        let synced = match self.open.get_mut(file) {
            Some(open) if open.document.text() == document.text() => {
                open.identity = settled(content.identity);
                open.synced()
            }
            Some(open) => {
                open.identity = settled(content.identity);
                open.document = Arc::clone(&document);
                open.version += 1;
                open.mark = self.mark;
                let version = open.version;
                self.notes.push(Note::Watched(watched(&uri, Watched::Changed)));
                self.notes.push(Note::Change(json!({
                    "textDocument": { "uri": uri, "version": version },
                    "contentChanges": [{ "text": document.text() }],
                })));
                open.saved = saves == Saves::AtOnce;
                if open.saved {
                    self.notes.push(saved(&uri));
                }
                open.synced()
            }
            None => {
                let opened = self.open_with(file, document, settled(content.identity));
                self.close_beyond(MAX_OPEN);
                opened
            }
        };
        Ok(synced)
    }

    /// Opens a file with a text that is not that of the disk any more: what was there before a write.
    pub(crate) fn open_before(&mut self, file: &WorkspacePath, text: Document) -> Synced {
        match self.known(file) {
            Some(known) => known,
            None => self.open_with(file, Arc::new(text), None),
        }
    }

    /// Gives a file the text that it had at an earlier time, opened or not. The next sync brings it up to the disk again.
    pub(crate) fn show_again(&mut self, file: &WorkspacePath, text: Document) -> Synced {
        let uri = self.uri(file);
        match self.open.get_mut(file) {
            None => self.open_with(file, Arc::new(text), None),
            Some(open) if open.document.text() == text.text() => open.synced(),
            Some(open) => {
                open.identity = None;
                open.document = Arc::new(text);
                open.version += 1;
                open.mark = self.mark;
                self.notes.push(Note::Change(json!({
                    "textDocument": { "uri": uri, "version": open.version },
                    "contentChanges": [{ "text": open.document.text() }],
                })));
                open.synced()
            }
        }
    }

    /// Whether a server was told of everything that is on the disk of a file; what is not open is not told.
    pub(crate) fn is_saved(&self, file: &WorkspacePath) -> bool {
        self.open.get(file).is_none_or(|open| open.saved)
    }

    /// Says that the text of an open file is on the disk, be it once more: what a save starts looks at other files too.
    pub(crate) fn save(&mut self, file: &WorkspacePath) {
        let uri = self.uri(file);
        if let Some(open) = self.open.get_mut(file) {
            open.saved = true;
            self.notes.push(saved(&uri));
        }
    }

    /// Asks for a check of everything. An extension of rust-analyzer.
    pub(crate) fn check(&mut self) {
        self.notes.push(Note::Check(json!({ "textDocument": null })));
    }

    /// Brings every open document up to the disk, since a shell may have changed them, and announces the
    /// files that came and went beside them.
    pub(crate) fn sync_open(&mut self) {
        let clock = self.clock;
        for file in self.paths() {
            let used = self.open.get(&file).map_or(clock, |open| open.used);
            // One that cannot be read is told of where it is asked for.
            let _ = self.sync(&file);
            if let Some(open) = self.open.get_mut(&file) {
                open.used = used;
            }
        }
        self.clock = clock;
        let folders: HashSet<_> = self.open.keys().filter_map(WorkspacePath::parent).collect();
        self.folders.retain(|folder, _| folders.contains(folder));
        folders.iter().for_each(|folder| self.look_into(folder));
    }

    /// Says what became of a file that this run wrote, opened or not.
    pub(crate) fn tell(&mut self, file: &WorkspacePath, watched_as: Watched) {
        let uri = self.uri(file);
        self.note_in_folder(file, watched_as);
        if watched_as == Watched::Deleted {
            // An open text stands for its file, be it gone.
            self.close(file);
        }
        self.notes.push(Note::Watched(watched(&uri, watched_as)));
    }

    /// Sends the text of an open file as a new version that has to be looked at, though it is the same;
    /// gives the version. An extension of clangd.
    pub(crate) fn rebuild(&mut self, file: &WorkspacePath) -> Option<i32> {
        let uri = self.uri(file);
        let open = self.open.get_mut(file)?;
        open.version += 1;
        open.mark = self.mark;
        self.notes.push(Note::Change(json!({
            "textDocument": { "uri": uri, "version": open.version },
            "contentChanges": [{ "text": open.document.text() }],
            "forceRebuild": true,
        })));
        Some(open.version)
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
        document: Arc<Document>,
        identity: Option<FileIdentity>,
    ) -> Synced {
        self.clock += 1;
        let language = self.row.language_of(file.rel()).unwrap_or("plaintext");
        let params = json!({
            "textDocument": {
                "uri": self.uri(file), "languageId": language, "version": 1, "text": document.text(),
            },
        });
        self.notes.push(Note::Open(params, file.clone()));
        let (used, saved) = (self.clock, self.saves() == Saves::AtOnce);
        let open = Open { identity, document, version: 1, mark: self.mark, used, saved };
        let synced = open.synced();
        self.open.insert(file.clone(), open);
        if let Some(folder) = file.parent().filter(|folder| !self.folders.contains_key(folder)) {
            self.look_into(&folder);
        }
        synced
    }

    /// Announces files that came to a folder and went from it. One that is new here is only looked at.
    fn look_into(&mut self, folder: &WorkspacePath) {
        let Ok(identity) = self.workspace.identity(folder) else { return };
        if self.folders.get(folder).is_some_and(|known| known.identity == Some(identity)) {
            return;
        }
        let mut names: BTreeSet<_> =
            self.workspace.names(folder).unwrap_or_default().into_iter().collect();
        names.retain(|name| self.row.language_of(name.as_ref()).is_some());
        let looked_at = Folder { identity: settled(identity), names };
        let Some(known) = self.folders.insert(folder.clone(), looked_at) else { return };
        let now = &self.folders[folder];
        let came = now.names.difference(&known.names).map(|name| (name, Watched::Created));
        let went = known.names.difference(&now.names).map(|name| (name, Watched::Deleted));
        let changes: Vec<_> = came
            .chain(went)
            .filter_map(|(name, watched)| Some((folder.join(name)?, watched)))
            .collect();
        changes.into_iter().for_each(|(file, watched)| self.tell(&file, watched));
    }

    fn saves(&self) -> Saves {
        match self.row.wait {
            Wait::CompilerOnSave(Check { starts: Starts::Save, .. }) => Saves::WhenAsked,
            _ => Saves::AtOnce,
        }
    }

    /// Takes note of what became of a file that is told otherwise, so that it is not told twice.
    fn note_in_folder(&mut self, file: &WorkspacePath, watched: Watched) {
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return };
        // Other names are not looked for there, and would seem to have gone.
        if self.row.language_of(file.rel()).is_none() {
            return;
        }
        if let Some(folder) = self.folders.get_mut(&folder) {
            match watched {
                Watched::Created | Watched::Changed => folder.names.insert(name.to_owned()),
                Watched::Deleted => folder.names.remove(name),
            };
        }
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

impl Open {
    fn synced(&self) -> Synced {
        let document = Arc::clone(&self.document);
        Synced { document, version: self.version, mark: self.mark }
    }
}

/// The identity by which a later change is seen; none where the next change may have the same.
fn settled(identity: FileIdentity) -> Option<FileIdentity> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed = identity.changed_ns.max(identity.modified_ns);
    let age = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX) - changed;
    let tick = i128::try_from(CLOCK_TICK.as_nanos()).unwrap_or_default();
    // A clock that went backwards tells nothing.
    (age > tick).then_some(identity)
}

fn saved(uri: &Url) -> Note {
    Note::Save(json!({ "textDocument": { "uri": uri } }))
}

fn watched(uri: &Url, watched: Watched) -> Value {
    json!({ "changes": [{ "uri": uri, "type": watched as u8 }] })
}
