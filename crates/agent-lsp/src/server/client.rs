//! One running server: what it can do, what it was sent, and how to ask it.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use agent_workspace::{Workspace, WorkspacePath};
use async_lsp::lsp_types::{Position, PositionEncodingKind, Url, request::Request};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    capabilities::{field_of, of_client, says_yes},
    connection::{CallError, Connection},
    documents::{Documents, Note, Saves, Synced, Watched},
    inbox::{Inbox, folder_of},
    requests::{
        DidChange, DidChangeConfiguration, DidChangeWatchedFiles, DidClose, DidOpen, DidSave, Exit,
        Initialize, Initialized, Shutdown,
    },
    told::{State, Told},
};
use crate::{
    edits,
    position::{Document, PositionEncoding},
    table::{Ready, Server, Wait},
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
    /// What the server had told when it was told of the last save of a file.
    saves: Mutex<HashMap<WorkspacePath, u64>>,
    /// When the first file was opened, from which on indexing may begin.
    opened: Mutex<Option<Instant>>,
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
        let saves = match start.row.wait {
            Wait::CompilerOnSave { .. } => Saves::WhenAsked,
            _ => Saves::AtOnce,
        };
        Ok(Self {
            told,
            connection,
            capabilities,
            version: answer["serverInfo"]["version"].as_str().map(str::to_owned),
            encoding,
            documents: Mutex::new(Documents::new(start.workspace.clone(), saves)),
            saves: Mutex::default(),
            opened: Mutex::default(),
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

    /// The files that are open in it.
    pub(crate) fn open_files(&self) -> Vec<WorkspacePath> {
        self.documents().paths().cloned().collect()
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

    /// The same, waiting until `deadline` for it to be registered.
    pub(crate) async fn offered(&self, method: &str, deadline: Instant) -> Option<Value> {
        match self.offers(method) {
            Some(options) => Some(options),
            None => self.told.until(deadline, |state| state.registered(method).cloned()).await,
        }
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
        documents.sync_open(|file| self.language(file));
        let known = documents.known(file).is_some();
        let synced = documents.sync(file, &self.language(file));
        self.send(documents.take_notes());
        if synced.is_ok() && !known {
            self.opened
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert_with(Instant::now);
        }
        synced
    }

    /// Opens a file as it was before a write, so that what the write breaks can be told from what
    /// was broken before.
    pub(crate) fn open_before(&self, file: &WorkspacePath, text: Document) -> Synced {
        let mut documents = self.documents();
        let synced = documents.open_before(file, &self.language(file), text);
        self.send(documents.take_notes());
        synced
    }

    /// Tells of the save of a file, unless it was told; gives what the server had told before the
    /// last save of this file.
    pub(crate) fn save(&self, file: &WorkspacePath) -> u64 {
        let mark = self.told.look().sequence();
        let mut documents = self.documents();
        let mut saves = self.saves.lock().unwrap_or_else(PoisonError::into_inner);
        if documents.save(file) {
            saves.insert(file.clone(), mark);
            self.send(documents.take_notes());
        }
        saves.get(file).copied().unwrap_or(mark)
    }

    /// The documents that it has open, as they were sent.
    pub(crate) fn sent(&self) -> BTreeMap<WorkspacePath, edits::Sent> {
        let documents = self.documents();
        let files: Vec<_> = documents.paths().cloned().collect();
        let sent = files.into_iter().filter_map(|file| {
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
        for (file, watched) in files {
            documents.tell(file, *watched);
        }
        self.send(documents.take_notes());
    }

    /// Asks, again where the server says that what it had was out of date.
    pub(crate) async fn ask<R>(&self, params: Value, deadline: Instant) -> Result<Value, CallError>
    where
        R: Request<Params = Value, Result = Value>,
    {
        let mut tries = 0;
        loop {
            match self.connection.request::<R>(params.clone(), deadline).await {
                Err(CallError::Refused { code, .. })
                    if OUT_OF_DATE.contains(&code) && tries < RETRIES =>
                {
                    tries += 1;
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                answer => return answer,
            }
        }
    }

    /// Whether it knows the project by now, as far as it tells.
    pub(crate) fn readiness(&self) -> Readiness {
        self.readiness_in(&self.told.look())
    }

    /// Waits until it does, or until `deadline`.
    pub(crate) async fn ready(&self, deadline: Instant) -> Readiness {
        loop {
            let ready = |state: &State| match self.readiness_in(state) {
                Readiness::Busy(_) => None,
                readiness => Some(readiness),
            };
            // Without a word from the server, its grace is over by itself.
            let again = (Instant::now() + self.grace()).min(deadline);
            if let Some(readiness) = self.told.until(again, ready).await {
                return readiness;
            }
            if Instant::now() >= deadline {
                return self.readiness();
            }
        }
    }

    /// Ends the server as the protocol has it: shutdown, exit, the end of its input. What does not
    /// end by that is for whoever owns the process.
    pub(crate) async fn shut_down(&self, deadline: Instant) {
        let answer = self.connection.request::<Shutdown>(Value::Null, deadline).await;
        if !matches!(answer, Err(CallError::Stopped)) {
            let _ = self.connection.notify::<Exit>(Value::Null);
        }
        self.connection.close_input();
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
            Wait::CompilerOnSave { progress, .. } => Some(progress.as_str()),
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

    fn documents(&self) -> MutexGuard<'_, Documents> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends notifications in order. A server that is gone is noticed by the next request.
    fn send(&self, notes: Vec<Note>) {
        for note in notes {
            let _ = match note {
                Note::Open(params) => self.connection.notify::<DidOpen>(params),
                Note::Change(params) => self.connection.notify::<DidChange>(params),
                Note::Save(params) => self.connection.notify::<DidSave>(params),
                Note::Watched(params) => self.connection.notify::<DidChangeWatchedFiles>(params),
                Note::Close(params, file) => {
                    let path = self.path(&file);
                    self.told.change(|state| state.forget(&path));
                    self.connection.notify::<DidClose>(params)
                }
            };
        }
    }
}
