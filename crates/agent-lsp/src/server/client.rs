//! One running server: what it can do, what it was sent, and how to ask it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use agent_process::ExitWatch;
use agent_workspace::{Workspace, WorkspacePath};
use async_lsp::lsp_types::{Position, PositionEncodingKind, Url, request::Request};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    capabilities::{field_of, of_client, says_yes},
    check::Started,
    configuration::{Configured, Told as Reconfigured},
    connection::{CallError, Connection},
    documents::Documents,
    inbox::{Inbox, folder_of},
    requests::{DidChangeConfiguration, Initialize, Initialized, Shutdown},
    sync::LastSent,
    told::{State, Told},
    tsserver::Tsserver,
    watchers::Watchers,
};
use crate::{
    disk::{Cursor, Disk},
    position::PositionEncoding,
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

/// How long after its initialization a server may register what it can do.
pub(super) const REGISTRATION: Duration = Duration::from_secs(2);

/// How long the end of the process is waited for once its output has ended.
const EXIT: Duration = Duration::from_millis(1_500);

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
    /// The files that configure it, as they are before it reads them.
    pub configured: Configured,
    /// Waits for the end of its process.
    pub exit: ExitWatch,
    /// After how long without reading it is asked nothing more.
    pub stuck_after: Duration,
}

/// A server that was initialized.
#[derive(Debug)]
pub(crate) struct Client {
    pub told: Arc<Told>,
    pub(super) connection: Connection,
    pub(super) start: Start,
    capabilities: Value,
    version: Option<String>,
    encoding: PositionEncoding,
    pub(super) documents: Mutex<Documents>,
    /// When it was told last of a file that it has to read by itself.
    pub(super) told_to_read: Mutex<Option<Instant>>,
    /// The last change of its configuration that it was told of, where it is waited for.
    pub(super) reconfigured: Mutex<Option<Reconfigured>>,
    /// The checks that were started.
    pub(super) started: Started,
    /// Up to where it was told of what others changed.
    pub(super) told_of_disk: Mutex<Cursor>,
    /// The patterns of the files that it wants to be told of.
    pub(super) watchers: Mutex<Watchers>,
    /// What is known of tsserver, where the server has one.
    pub(super) tsserver: Mutex<Tsserver>,
    /// How many files had been made when it loaded its projects last; locked while it does.
    pub(super) loaded: tokio::sync::Mutex<u64>,
    /// When it was initialized: what it registers, it registers soon after.
    pub(super) initialized: Instant,
    /// When the first file was opened, from which on indexing may begin.
    pub(super) opened: Mutex<Option<Instant>>,
    pub(super) last_sent: Mutex<LastSent>,
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
            logs_when_ready: start.row.logs_when_ready.clone(),
            unloaded: start.row.unloaded.clone(),
            folder: folder.clone(),
        };
        let connection = Connection::open(output, input, inbox, start.stuck_after);
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
            reconfigured: Mutex::default(),
            started: Started::default(),
            told_of_disk: Mutex::new(start.since),
            watchers: Mutex::default(),
            tsserver: Mutex::default(),
            loaded: tokio::sync::Mutex::default(),
            initialized: Instant::now(),
            opened: Mutex::default(),
            last_sent: Mutex::new(LastSent::nothing()),
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

    /// Why it is asked nothing, where it has not read for long.
    pub(crate) fn stuck(&self) -> Option<CallError> {
        let queued = self.connection.stuck()?;
        Some(CallError::Stuck { bytes: queued.bytes, long: queued.stalled })
    }

    /// Why it was ended, where it did not end by itself.
    pub(crate) fn given_up(&self) -> Option<CallError> {
        self.connection.given_up()
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

    /// How long it has been initialized.
    pub(crate) fn age(&self) -> Duration {
        self.initialized.elapsed()
    }

    /// The root that it was started at, links resolved.
    pub(crate) fn root(&self) -> &Path {
        &self.start.root
    }

    /// Its row of the table.
    pub(crate) fn row(&self) -> &Server {
        &self.start.row
    }

    /// How its diagnostics come.
    pub(crate) fn wait(&self) -> &Wait {
        &self.start.row.wait
    }

    /// Asks. Nothing is no answer where the server that answers for it is dead.
    pub(crate) async fn ask<R>(&self, params: Value, deadline: Instant) -> Result<Value, CallError>
    where
        R: Request<Params = Value, Result = Value>,
    {
        let answer = self.ask_again::<R>(params, deadline).await?;
        let hands_on = self.start.row.ready == Ready::Tsserver;
        if hands_on && is_empty(&answer) {
            let lives = self.tsserver_lives(deadline).await;
            if let Err(CallError::InnerEnded) = lives {
                self.connection.give_up_for(CallError::InnerEnded);
            }
            lives?;
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

    /// Ends the server as the protocol has it: shutdown, exit, the end of its input. What does not
    /// end by that is for whoever owns the process.
    pub(crate) async fn shut_down(&self, deadline: Instant) {
        let answer = self.connection.request::<Shutdown>(Value::Null, deadline).await;
        if !matches!(answer, Err(CallError::Stopped)) {
            self.connection.exit();
        }
    }

    /// The language id of a file.
    pub(crate) fn language(&self, file: &WorkspacePath) -> String {
        self.start.row.language_of(file.rel()).unwrap_or("plaintext").to_owned()
    }
}
