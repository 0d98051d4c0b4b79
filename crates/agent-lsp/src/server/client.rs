//! One running server: what it can do, what it was sent, and how to ask it.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use agent_process::ExitWatch;
use agent_workspace::{MAX_SEARCH_BYTES, Workspace, WorkspacePath};
use async_lsp::lsp_types::{Position, PositionEncodingKind, Url, request::Request};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    capabilities::{field_of, of_client, says_yes},
    connection::{CallError, Connection},
    documents::{Documents, Note, Synced, Watched},
    inbox::{Inbox, folder_of},
    requests::{
        DidChange, DidChangeConfiguration, DidChangeWatchedFiles, DidClose, DidOpen, DidSave,
        Initialize, Initialized, Shutdown,
    },
    told::{State, Told},
    tsserver::Tsserver,
};
use crate::{
    disk::{Changes, Cursor, Disk},
    edits,
    position::{Document, PositionEncoding},
    table::{self, Ready, Server, Wait},
    uri,
};

/// How often an answer is asked for again that the server says is out of date.
const RETRIES: usize = 3;

/// How long to wait before that.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The errors that say so: the content was modified, the request or the server was cancelled.
const OUT_OF_DATE: [i64; 3] = [-32801, -32800, -32802];

/// The error of a method that a server does not have.
pub(crate) const NO_SUCH_METHOD: i64 = -32601;

/// How long after its initialization a server may register what it can do.
const REGISTRATION: Duration = Duration::from_secs(2);

/// How long the end of the process is waited for once its output has ended.
const EXIT: Duration = Duration::from_millis(1_500);

/// How often a server that is at work is looked at without a word from it.
const LOOK: Duration = Duration::from_millis(100);

/// How long a server may take to say that it has begun to index, once a file is open.
const GRACE: Duration = Duration::from_millis(200);

/// What a server is started with.
#[derive(Debug)]
pub(crate) struct Start {
    pub workspace: Workspace,
    /// The root, its links resolved.
    pub root: PathBuf,
    pub settings: Value,
    /// The server's row.
    pub row: Server,
    /// What others change, and from where on the server has to be told of it.
    pub disk: Arc<Disk>,
    pub since: Cursor,
    /// Waits for the end of its process.
    pub exit: ExitWatch,
}

/// A server that was initialized.
#[derive(Debug)]
pub(crate) struct Client {
    pub told: Arc<Told>,
    connection: Connection,
    start: Start,
    capabilities: Value,
    version: Option<String>,
    encoding: PositionEncoding,
    documents: Mutex<Documents>,
    /// When it was told last of a file that it has to read by itself.
    told_to_read: Mutex<Option<Instant>>,
    /// [`LastSent`]'s count of the last save.
    last_save: Mutex<u64>,
    /// What it had told before that, and before the save before. They are looked at while what was told is locked,
    /// so they have no lock.
    saved_at: AtomicU64,
    saved_before: AtomicU64,
    /// Up to where it was told of what others changed.
    told_of_disk: Mutex<Cursor>,
    /// What is known of tsserver, where the server has one.
    pub(super) tsserver: Mutex<Tsserver>,
    /// When it was initialized: what it registers, it registers soon after.
    initialized: Instant,
    /// When the first file was opened, from which on indexing may begin.
    opened: Mutex<Option<Instant>>,
    last_sent: Mutex<LastSent>,
}

/// What a server was sent last, be it by several messages without a word of it between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastSent {
    pub at: Instant,
    /// What it had told before.
    pub mark: u64,
    /// How many texts.
    pub texts: usize,
    /// Counts what was sent.
    count: u64,
    /// That count when it was last told of something that is another on the disk.
    changed: u64,
}

/// What a server had told before it was told of a save.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saves {
    pub last: u64,
    /// Of the save before the last.
    pub before: u64,
}

/// Whether a server knows the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It does, as far as it tells.
    Ready,
    /// It is at work: what, in its words.
    Busy(String),
    /// It says that it cannot: why.
    Unhealthy(String),
}

/// Whether an error's code says that the answer was out of date.
pub(crate) fn is_out_of_date(code: i64) -> bool {
    OUT_OF_DATE.contains(&code)
}

/// Whether an answer says nothing.
pub(crate) fn is_empty(answer: &Value) -> bool {
    match answer {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

impl Client {
    /// Initializes a server.
    pub(crate) async fn initialize(
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
        start: Start,
        deadline: Instant,
    ) -> Result<Self, CallError> {
        let told = Arc::new(Told::default());
        let root = uri::of_path(&start.root);
        let name = start.root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = folder_of(&root, &name);
        let inbox = Inbox {
            told: Arc::clone(&told),
            settings: start.settings.clone(),
            folder: folder.clone(),
        };
        let connection = Connection::open(output, input, inbox);
        let section = start.row.initialization_section.as_deref();
        let options = section.map(|section| start.settings[section].clone());
        let params = json!({
            "processId": std::process::id(),
            "clientInfo": { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
            "rootUri": root,
            "rootPath": start.root,
            "workspaceFolders": [folder],
            "capabilities": of_client(),
            "initializationOptions": options,
        });
        let answer = connection.request::<Initialize>(params, deadline).await?;
        let capabilities = answer["capabilities"].clone();
        let kind = capabilities["positionEncoding"].as_str().map(str::to_owned);
        let encoding = PositionEncoding::of_server(kind.map(PositionEncodingKind::from).as_ref());
        connection.notify::<Initialized>(json!({}))?;
        if !start.settings.is_null() {
            let settings = json!({ "settings": start.settings });
            connection.notify::<DidChangeConfiguration>(settings)?;
        }
        Ok(Self {
            told,
            connection,
            capabilities,
            version: answer["serverInfo"]["version"].as_str().map(str::to_owned),
            encoding,
            documents: Mutex::new(Documents::new(start.workspace.clone(), start.row.clone())),
            told_to_read: Mutex::default(),
            last_save: Mutex::default(),
            saved_at: AtomicU64::new(0),
            saved_before: AtomicU64::new(0),
            told_of_disk: Mutex::new(start.since),
            tsserver: Mutex::default(),
            initialized: Instant::now(),
            opened: Mutex::default(),
            last_sent: Mutex::new(LastSent {
                at: Instant::now(),
                mark: 0,
                texts: 0,
                count: 0,
                changed: 0,
            }),
            start,
        })
    }

    /// The encoding of positions that was agreed on.
    pub(crate) fn encoding(&self) -> PositionEncoding {
        self.encoding
    }

    /// The version that the server gives itself.
    pub(crate) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// How many documents are open in it.
    pub(crate) fn open_count(&self) -> usize {
        self.documents().count()
    }

    /// The files that are open in it, the one that was asked for last first.
    pub(crate) fn open_files(&self) -> Vec<WorkspacePath> {
        self.documents().paths()
    }

    /// The options of a method, where the server has it, by its capabilities or by what it
    /// registered since.
    pub(crate) fn offers(&self, method: &str) -> Option<Value> {
        let field = field_of(method).map(|field| &self.capabilities[field]);
        match field.filter(|value| says_yes(value)) {
            Some(options) => Some(options.clone()),
            None => self.told.look().registered(method).cloned(),
        }
    }

    /// The same, waiting until `deadline` where the server may still register it.
    pub(crate) async fn offered(&self, method: &str, deadline: Instant) -> Option<Value> {
        match self.offers(method) {
            Some(options) => Some(options),
            None => {
                let registered = |state: &State| state.registered(method).cloned();
                self.told.until((self.initialized + REGISTRATION).min(deadline), registered).await
            }
        }
    }

    /// Waits until nothing can be asked of it any more.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        self.connection.ended()
    }

    /// Fails what is asked of it and whatever will be.
    pub(crate) fn give_up(&self) {
        self.connection.give_up();
    }

    /// Why it was ended, where it did not end by itself.
    pub(crate) fn given_up(&self) -> Option<CallError> {
        self.connection.given_up()
    }

    /// What it was sent last.
    pub(crate) fn last_sent(&self) -> LastSent {
        *self.last_sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A capability by its path, as `/workspace/fileOperations/willRename`.
    pub(crate) fn capability(&self, pointer: &str) -> Option<&Value> {
        self.capabilities.pointer(pointer).filter(|value| says_yes(value))
    }

    /// The URI of a file of the workspace.
    pub(crate) fn uri(&self, file: &WorkspacePath) -> Url {
        uri::of_path(&self.path(file))
    }

    /// The parameters of a question about a place.
    pub(crate) fn at(&self, file: &WorkspacePath, position: Position) -> Value {
        json!({ "textDocument": { "uri": self.uri(file) }, "position": position })
    }

    /// The absolute path of a file of the workspace, as publishes are kept by.
    pub(crate) fn path(&self, file: &WorkspacePath) -> PathBuf {
        self.start.workspace.absolute(file)
    }

    /// How its diagnostics come.
    pub(crate) fn wait(&self) -> &Wait {
        &self.start.row.wait
    }

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

    /// Sends the text of an open file once more, so that the server looks at it again; gives its version.
    pub(crate) fn rebuild(&self, file: &WorkspacePath) -> Option<i32> {
        let mut documents = self.documents();
        let version = documents.rebuild(file);
        self.send(documents.take_notes());
        version
    }

    /// Tells of the save of a file, unless it was told and nothing has changed since the last save of any:
    /// then what that started looks at what there is.
    pub(crate) fn save(&self, file: &WorkspacePath) {
        self.save_where(file, |last| last <= self.last_sent().changed);
    }

    /// Tells of the save of a file once more, unless it was told of one since it had told so much.
    pub(crate) fn save_again(&self, file: &WorkspacePath, told: u64) {
        self.save_where(file, |_| self.saves().last < told);
    }

    fn save_where(&self, file: &WorkspacePath, again: impl FnOnce(u64) -> bool) {
        let mut documents = self.documents();
        let mut last = self.last_save.lock().unwrap_or_else(PoisonError::into_inner);
        if !documents.save(file) && again(*last) {
            documents.save_again(file);
        }
        let notes = documents.take_notes();
        if !notes.is_empty() {
            self.send(notes);
            let LastSent { mark, count, .. } = self.last_sent();
            *last = count;
            self.saved_before.store(self.saved_at.swap(mark, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// The last saves that it was told of.
    pub(crate) fn saves(&self) -> Saves {
        Saves {
            last: self.saved_at.load(Ordering::Relaxed),
            before: self.saved_before.load(Ordering::Relaxed),
        }
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
        }
        self.send(documents.take_notes());
    }

    /// Asks. Nothing is no answer where the server that answers for it is dead.
    pub(crate) async fn ask<R>(&self, params: Value, deadline: Instant) -> Result<Value, CallError>
    where
        R: Request<Params = Value, Result = Value>,
    {
        let answer = self.ask_again::<R>(params, deadline).await?;
        let hands_on = self.start.row.ready == Ready::Tsserver;
        if hands_on && is_empty(&answer) && self.tsserver_is_dead(deadline).await {
            self.connection.give_up_for(CallError::InnerEnded);
            return Err(CallError::InnerEnded);
        }
        Ok(answer)
    }

    /// Asks, again where the server says that what it had was out of date.
    pub(super) async fn ask_again<R>(
        &self,
        params: Value,
        deadline: Instant,
    ) -> Result<Value, CallError>
    where
        R: Request<Params = Value, Result = Value>,
    {
        let mut tries = 0;
        loop {
            match self.connection.request::<R>(params.clone(), deadline).await {
                Err(CallError::Refused { code, .. }) if is_out_of_date(code) && tries < RETRIES => {
                    tries += 1;
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(CallError::Stopped) => {
                    self.exit_seen().await;
                    return Err(CallError::Stopped);
                }
                answer => return answer,
            }
        }
    }

    /// Waits for the end of the process of a server that is gone, so that it can be said how it ended.
    pub(crate) async fn exit_seen(&self) {
        let _ = tokio::time::timeout(EXIT, self.start.exit.clone().wait()).await;
    }

    /// Whether it knows the project by now, as far as it tells.
    pub(crate) fn readiness(&self) -> Readiness {
        self.readiness_in(&self.told.look())
    }

    /// Waits until it does, or until `deadline`.
    pub(crate) async fn ready(&self, deadline: Instant) -> Readiness {
        if self.start.row.ready == Ready::Tsserver {
            self.load_projects(deadline).await;
        }
        self.reads_by_itself(deadline).await;
        loop {
            let ready = |state: &State| match self.readiness_in(state) {
                Readiness::Busy(_) => None,
                readiness => Some(readiness),
            };
            // Without a word from the server, its grace is over by itself.
            let again = (Instant::now() + LOOK).min(deadline);
            if let Some(readiness) = self.told.until(again, ready).await {
                return readiness;
            }
            if Instant::now() >= deadline || self.told.is_over() {
                return self.readiness();
            }
        }
    }

    /// Ends the server as the protocol has it: shutdown, exit, the end of its input. What does not
    /// end by that is for whoever owns the process.
    pub(crate) async fn shut_down(&self, deadline: Instant) {
        let answer = self.connection.request::<Shutdown>(Value::Null, deadline).await;
        if !matches!(answer, Err(CallError::Stopped)) {
            self.connection.exit();
        }
    }

    fn readiness_in(&self, state: &State) -> Readiness {
        if let Some(status) = state.status() {
            if status.health == "error" {
                let why = status.message.clone();
                return Readiness::Unhealthy(
                    why.unwrap_or_else(|| "it gives no reason".to_owned()),
                );
            }
            if !status.quiescent {
                return Readiness::Busy(
                    self.working(state).unwrap_or_else(|| "loading the project".to_owned()),
                );
            }
        } else if self.start.row.ready == Ready::ServerStatus {
            return Readiness::Busy(self.working(state).unwrap_or_else(|| "starting".to_owned()));
        }
        if self.start.row.ready == Ready::AtOnce {
            return Readiness::Ready;
        }
        if let Some(work) = self.working(state) {
            return Readiness::Busy(work);
        }
        let opened = *self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let began = state.ended().next().is_some();
        match opened {
            Some(opened) if !began && opened.elapsed() < self.grace() => {
                Readiness::Busy("it may not have begun to index".to_owned())
            }
            _ => Readiness::Ready,
        }
    }

    /// The work that the server is at, in its words; a check after a save is none that matters here.
    fn working(&self, state: &State) -> Option<String> {
        let check = match &self.start.row.wait {
            Wait::CompilerOnSave(check) => Some(check.progress.as_str()),
            _ => None,
        };
        let is_check = |token: &str| check.is_some_and(|check| token.starts_with(check));
        let (_, progress) = state.progress().iter().find(|(token, _)| !is_check(token))?;
        let mut text = progress.title.clone();
        if let Some(message) = &progress.message {
            text = format!("{text}: {message}");
        }
        match progress.percentage {
            Some(percentage) => Some(format!("{text} ({percentage} %)")),
            None => Some(text),
        }
    }

    fn grace(&self) -> Duration {
        match self.start.row.ready {
            Ready::AtOnce => Duration::ZERO,
            _ => GRACE,
        }
    }

    /// The language id of a file.
    pub(crate) fn language(&self, file: &WorkspacePath) -> String {
        self.start.row.language_of(file.rel()).unwrap_or("plaintext").to_owned()
    }

    /// How many folders nobody watches for it.
    pub(crate) fn unwatched(&self) -> usize {
        self.start.disk.unwatched()
    }

    /// Tells of what others changed on the disk, but for what is open, which is looked at by itself, and
    /// for these files, which are told otherwise.
    fn tell_of_disk(&self, documents: &mut Documents, otherwise: &[(WorkspacePath, Watched)]) {
        let mut cursor = self.told_of_disk.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = match self.start.disk.since(&mut cursor) {
            Changes::Some(changes) => changes,
            Changes::Any => self.start.disk.everything(),
        };
        for (file, change) in changes {
            let is_told = documents.known(&file).is_some()
                || otherwise.iter().any(|(other, _)| *other == file);
            if !is_told && self.reads(&file, change) {
                documents.tell(&file, change);
                self.has_to_read(&file, change);
            }
        }
    }

    fn has_to_read(&self, file: &WorkspacePath, change: Watched) {
        *self.told_to_read.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        if self.start.row.ready == Ready::Tsserver {
            self.tsserver_has_to_notice(file, change);
        }
    }

    /// Waits until it has had its time to read what it was told of.
    pub(super) async fn reads_by_itself(&self, deadline: Instant) {
        let told = *self.told_to_read.lock().unwrap_or_else(PoisonError::into_inner);
        let time = Duration::from_millis(self.start.row.rereads_ms);
        if let Some(until) = told.map(|told| told + time).filter(|until| *until > Instant::now()) {
            tokio::time::sleep_until(until.min(deadline).into()).await;
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

    /// The documents, with what the server has told so far as the mark of what is sent next.
    fn documents(&self) -> MutexGuard<'_, Documents> {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.mark(self.told.look().sequence());
        documents
    }

    /// Sends notifications in order. A server that is gone is noticed by the next request.
    fn send(&self, notes: Vec<Note>) {
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
                Note::Watched(params) => self.connection.notify::<DidChangeWatchedFiles>(params),
                Note::Close(params, file) => {
                    let path = self.path(&file);
                    self.told.note(|state| state.closed(path));
                    self.connection.notify::<DidClose>(params)
                }
            };
        }
    }
}
