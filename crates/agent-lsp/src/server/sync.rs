//! Keeps a server up to the files: what it has open, what others change on the disk, what was saved.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    sync::{Arc, MutexGuard, PoisonError},
    time::Instant,
};

use agent_workspace::{MAX_SEARCH_BYTES, WorkspacePath};

use super::{
    client::{Client, REGISTRATION},
    documents::{Documents, Note, Synced, Watched},
    requests::{DidChange, DidChangeWatchedFiles, DidClose, DidOpen, DidSave, RunFlycheck},
};
use crate::{
    disk::Changes,
    edits,
    position::Document,
    table::{self, Ready},
};

/// What a server registers for to be told of files.
const WATCHED_FILES: &str = "workspace/didChangeWatchedFiles";

/// What a server was sent last, be it by several messages without a word of it between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastSent {
    pub at: Instant,
    /// What it had told before.
    pub mark: u64,
    /// How many texts.
    pub texts: usize,
    /// Counts what was sent.
    pub count: u64,
    /// That count when it was last told of something that is another on the disk.
    pub changed: u64,
}

impl LastSent {
    pub(super) fn nothing() -> Self {
        Self { at: Instant::now(), mark: 0, texts: 0, count: 0, changed: 0 }
    }
}

impl Client {
    /// Brings the server up to the disk: this file, and every other that is open.
    ///
    /// # Errors
    /// Those of reading this file.
    pub(crate) fn sync(&self, file: &WorkspacePath) -> agent_workspace::Result<Synced> {
        let mut documents = self.documents();
        self.tell_of_disk(&mut documents, &[]);
        documents.sync_open();
        let synced = documents.sync(file);
        self.send(documents.take_notes());
        synced
    }

    /// Brings the server up to the disk in what it has open, and gives the version that it then has of
    /// a file.
    pub(crate) fn version_now(&self, file: &WorkspacePath) -> Option<i32> {
        let mut documents = self.documents();
        self.tell_of_disk(&mut documents, &[]);
        documents.sync_open();
        self.send(documents.take_notes());
        documents.known(file).map(|known| known.version)
    }

    /// Opens a file as it was before a write, so that what the write breaks can be told from what
    /// was broken before.
    pub(crate) fn open_before(&self, file: &WorkspacePath, text: Document) -> Synced {
        let mut documents = self.documents();
        let synced = documents.open_before(file, text);
        self.send(documents.take_notes());
        synced
    }

    /// Shows a file as it was before an earlier write, be it open by now.
    pub(crate) fn show_again(&self, file: &WorkspacePath, text: Document) -> Synced {
        let mut documents = self.documents();
        let synced = documents.show_again(file, text);
        self.send(documents.take_notes());
        synced
    }

    /// Sends the text of an open file once more, so that the server looks at it again; gives its version.
    pub(crate) fn rebuild(&self, file: &WorkspacePath) -> Option<i32> {
        let mut documents = self.documents();
        let version = documents.rebuild(file);
        self.send(documents.take_notes());
        version
    }

    /// A file as the server has it: as it was sent, else as it is on the disk.
    pub(crate) fn as_known(&self, file: &WorkspacePath) -> Option<Synced> {
        if let Some(known) = self.documents().known(file) {
            return Some(known);
        }
        let content = self.start.workspace.read_up_to(file, MAX_SEARCH_BYTES).ok()?;
        let document = Arc::new(Document::decode(&content.bytes));
        Some(Synced { document, version: 0, mark: 0 })
    }

    /// The text that it was sent of an open file.
    pub(crate) fn text_of(&self, file: &WorkspacePath) -> Option<Arc<Document>> {
        Some(self.documents().known(file)?.document)
    }

    /// Whether the text that it has of a file is still this one.
    pub(crate) fn has_text(&self, file: &WorkspacePath, document: &Arc<Document>) -> bool {
        self.documents().known(file).is_some_and(|known| Arc::ptr_eq(&known.document, document))
    }

    /// The documents that it has open, as they were sent.
    pub(crate) fn sent(&self) -> BTreeMap<WorkspacePath, edits::Sent> {
        let documents = self.documents();
        let sent = documents.paths().into_iter().filter_map(|file| {
            let Synced { document, version, .. } = documents.known(&file)?;
            let file = self.start.workspace.follow(&file).ok()?;
            Some((file, edits::Sent { version, text: document.text().to_owned() }))
        });
        sent.collect()
    }

    /// Whether a file is open in it.
    pub(crate) fn knows(&self, file: &WorkspacePath) -> bool {
        self.documents().known(file).is_some()
    }

    /// Says what became of files that this run changed.
    pub(crate) fn tell(&self, files: &[(WorkspacePath, Watched)]) {
        let mut documents = self.documents();
        self.tell_of_disk(&mut documents, files);
        for (file, watched) in files {
            documents.tell(file, *watched);
            self.has_to_read(file, *watched);
            self.note_configuration(file);
        }
        self.send(documents.take_notes());
    }

    /// What it was sent last.
    pub(crate) fn last_sent(&self) -> LastSent {
        *self.last_sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many documents are open in it.
    pub(crate) fn open_count(&self) -> usize {
        self.documents().count()
    }

    /// The files that are open in it, the one that was asked for last first.
    pub(crate) fn open_files(&self) -> Vec<WorkspacePath> {
        self.documents().paths()
    }

    /// Tells of what others changed on the disk, but for what is open, which is looked at by itself, and
    /// for these files, which are told otherwise.
    fn tell_of_disk(&self, documents: &mut Documents, otherwise: &[(WorkspacePath, Watched)]) {
        let mut cursor = self.told_of_disk.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = match self.start.disk.since(&mut cursor) {
            Changes::Some(changes) => changes,
            Changes::Any => self.start.disk.everything(),
        };
        for (file, change) in self.watched_since() {
            documents.tell(&file, change);
        }
        for (file, change) in changes {
            let is_told = documents.known(&file).is_some()
                || otherwise.iter().any(|(other, _)| *other == file);
            if is_told {
                continue;
            }
            if self.reads(&file, change) {
                documents.tell(&file, change);
                self.has_to_read(&file, change);
                self.note_configuration(&file);
            } else if self.watches(&file, change) || self.is_named(&file) {
                documents.tell(&file, change);
                self.note_configuration(&file);
            }
        }
    }

    fn has_to_read(&self, file: &WorkspacePath, change: Watched) {
        *self.told_to_read.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        if self.start.row.ready == Ready::Tsserver {
            self.tsserver_has_to_notice(file, change);
        }
    }

    /// Whether a file matters to the server: by its name, or as a folder that came or is gone with all in it.
    fn reads(&self, file: &WorkspacePath, change: Watched) -> bool {
        let row = &self.start.row;
        let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        row.language_of(file.rel()).is_some()
            || row.roots.iter().any(|marker| table::matches(marker, name))
            || change != Watched::Changed && file.extension().is_none()
    }

    /// Whether it registered for changes of such a file, or may yet: then it reads the file and says so a little later.
    fn watches(&self, file: &WorkspacePath, change: Watched) -> bool {
        let is_young = self.initialized.elapsed() < REGISTRATION;
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.take(&self.path(file), change) || {
            watchers.leave(file.clone(), change);
            is_young && watchers.is_empty()
        }
    }

    /// The changes that it was not told of and has registered for since.
    fn watched_since(&self) -> Vec<(WorkspacePath, Watched)> {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        let told = self.told.look();
        if watchers.count == told.registrations {
            return Vec::new();
        }
        let registered = told.all_registered(WATCHED_FILES);
        watchers.register(registered, &self.start.root, told.registrations);
        watchers.left(|file| self.path(file))
    }

    /// The documents, with what the server has told so far as the mark of what is sent next.
    pub(super) fn documents(&self) -> MutexGuard<'_, Documents> {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.mark(self.told.look().sequence());
        documents
    }

    /// Sends notifications in order. A server that is gone is noticed by the next request.
    pub(super) fn send(&self, notes: Vec<Note>) {
        if !notes.is_empty() {
            let mark = self.told.look().sequence();
            let is_text = |note: &&Note| matches!(note, Note::Open(..) | Note::Change(_));
            let texts = notes.iter().filter(is_text).count();
            let mut last = self.last_sent.lock().unwrap_or_else(PoisonError::into_inner);
            let together = if last.mark == mark { last.texts } else { 0 };
            let is_change = |note: &Note| matches!(note, Note::Change(_) | Note::Watched(_));
            let count = last.count + 1;
            let changed = if notes.iter().any(is_change) { count } else { last.changed };
            *last = LastSent { at: Instant::now(), mark, texts: together + texts, count, changed };
        }
        for note in notes {
            let _ = match note {
                Note::Open(params, file) => {
                    let path = self.path(&file);
                    self.told.note(|state| state.opened(&path));
                    let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
                    opened.get_or_insert_with(Instant::now);
                    self.connection.notify::<DidOpen>(params)
                }
                Note::Change(params) => self.connection.notify::<DidChange>(params),
                Note::Save(params) => self.connection.notify::<DidSave>(params),
                Note::Check(params) => self.connection.notify::<RunFlycheck>(params),
                Note::Watched(params) => self.connection.notify::<DidChangeWatchedFiles>(params),
                Note::Close(params, file) => {
                    let path = self.path(&file);
                    self.told.note(|state| state.closed(path));
                    self.connection.notify::<DidClose>(params)
                }
            };
        }
    }

    /// How many folders nobody watches for it.
    pub(crate) fn unwatched(&self) -> usize {
        self.start.disk.unwatched()
    }
}
