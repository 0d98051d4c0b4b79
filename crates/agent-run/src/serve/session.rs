//! What the host asks for, and what becomes of it.

use std::{
    collections::HashMap,
    path::PathBuf,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_ask::Conversation;
use agent_mcp::Bridge;
use agent_tiers::{LiveCall, ResultLine, Run, View, WaitsFor, Watcher, What};
use agent_tool_core::{
    CallId, Dispatch as _, ErrorKind, Limits, Tier, Tool, ToolCall, ToolError, ToolResult,
};
use agent_vibe::{RosterLimits, Workers};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use super::{
    cards::HostCards,
    hosted::Hosted,
    lines::Line,
    peer::{Message, Peer, RpcError},
    protocol::{
        CallEvent, CallParams, CancelParams, Client, CloseView, FilesChanged, Initialize,
        Initialized, Level, Log, OfView, OpenView, Opened, PreviewParams, Previewed, Root,
        ServerCapabilities, SetView, Status, Tools, ToolsChanged, VERSIONS, code,
    },
    workers::HostWorkers,
};
use crate::{
    args::Options,
    assemble::{Assembled, Vibe, Wishes, assemble, end_workers},
    config::Config,
    lock, mcp,
    signals::Ended,
    style::{FAINT, in_style, remark},
    trust::Trust,
};

type Answered = Result<Value, RpcError>;

/// One host and its run.
pub(crate) struct Session<'a> {
    peer: Peer,
    options: &'a Options,
    served: Option<Served>,
    work: JoinSet<()>,
}

/// What there is once the host has initialized.
struct Served {
    run: Arc<Run>,
    main: View,
    views: HashMap<String, View>,
    cards: HostCards,
    workers: Option<Workers>,
    mcp: Bridge,
    cancels: Cancels,
}

/// The calls that can be cancelled, by their ids.
type Cancels = Arc<Mutex<HashMap<CallId, oneshot::Sender<()>>>>;

/// Whether the session goes on.
#[derive(PartialEq)]
enum Next {
    GoOn,
    /// The host asked for the end under this id.
    Shutdown(Value),
}

impl<'a> Session<'a> {
    pub(crate) fn new(peer: Peer, options: &'a Options) -> Self {
        Self { peer, options, served: None, work: JoinSet::new() }
    }

    /// Takes messages until the end of input, a shutdown or a signal, which is given back; then
    /// nothing of the run is left.
    pub(crate) async fn run(
        mut self,
        mut lines: mpsc::Receiver<Line>,
        signal: impl Future<Output = Ended>,
    ) -> Option<Ended> {
        let mut signal = pin!(signal);
        let (mut asked, mut ended) = (None, None);
        loop {
            let line = tokio::select! {
                line = lines.recv() => line,
                why = &mut signal => {
                    ended = Some(why);
                    break;
                }
            };
            while self.work.try_join_next().is_some() {}
            let Some(line) = line else { break };
            let next = tokio::select! {
                next = self.take(line) => next,
                why = &mut signal => {
                    ended = Some(why);
                    break;
                }
            };
            if let Next::Shutdown(id) = next {
                asked = Some(id);
                break;
            }
        }
        let peer = self.peer.clone();
        tokio::select! {
            biased;
            () = refuse(&peer, lines) => {}
            () = self.stop() => {}
        }
        if let Some(id) = asked {
            self.peer.respond(&id, Ok(json!({})));
        }
        ended
    }

    async fn take(&mut self, line: Line) -> Next {
        let text = match line {
            Line::Text(text) => text,
            Line::NotUtf8 => return self.unreadable("a message is UTF-8"),
            Line::TooLong => return self.unreadable("a message has at most 64 MiB"),
        };
        match Message::parse(&text) {
            Err(unread) => {
                let (id, error) = *unread;
                self.peer.respond(&id, Err(error));
            }
            Ok(Message::Response { id, result }) => {
                if let Err(message) = self.peer.answered(&id, result) {
                    self.warn(message);
                }
            }
            Ok(Message::Notification { method, params }) => self.notified(&method, params),
            Ok(Message::Request { id, method, .. }) if method == "run/shutdown" => {
                return Next::Shutdown(id);
            }
            Ok(Message::Request { id, method, params }) => {
                self.requested(id, &method, params).await
            }
        }
        Next::GoOn
    }

    fn unreadable(&self, message: &str) -> Next {
        self.peer.respond(&Value::Null, Err(RpcError::new(code::PARSE_ERROR, message)));
        Next::GoOn
    }

    /// What has no answer to carry an error is said in the log.
    fn warn(&self, message: String) {
        self.peer.notify("log", &Log { level: Level::Warn, message });
    }

    /// Notifications that are not known are ignored.
    fn notified(&self, method: &str, params: Value) {
        let wrong = match method {
            "$/cancel" => read(params).map(|CancelParams { call_id }| self.cancel(&call_id)),
            // What is kept of a file, a tree or a staged edit, is held against the file before
            // every use: there is nothing to tell anybody.
            "files/changed" => read(params).map(|FilesChanged { .. }| ()),
            _ => Ok(()),
        };
        if let Err(error) = wrong {
            self.warn(format!("{method} was ignored: {}", error.message));
        }
    }

    /// A call that is over needs no cancel: its result and the cancel crossed.
    fn cancel(&self, call_id: &CallId) {
        let cancel = self.served.as_ref().and_then(|served| lock(&served.cancels).remove(call_id));
        if let Some(cancel) = cancel {
            let _ = cancel.send(());
        }
    }

    async fn requested(&mut self, id: Value, method: &str, params: Value) {
        let answer = match (method, &mut self.served) {
            ("initialize", None) => self.initialize(params).await,
            ("initialize", Some(_)) => {
                Err(RpcError::new(code::INVALID_REQUEST, "the run is initialized already"))
            }
            (known, None) if METHODS.contains(&known) => {
                Err(RpcError::new(code::NOT_INITIALIZED, "send `initialize` first"))
            }
            ("run/call", Some(served)) => {
                match served.begin(id.clone(), params, &self.peer, &mut self.work) {
                    Ok(()) => return,
                    Err(error) => Err(error),
                }
            }
            ("run/preview", Some(served)) => {
                match served.preview(id.clone(), params, &self.peer, &mut self.work) {
                    Ok(()) => return,
                    Err(error) => Err(error),
                }
            }
            (method, Some(served)) => served.answer(method, params),
            (method, None) => Err(unknown(method)),
        };
        self.peer.respond(&id, answer);
    }

    async fn initialize(&mut self, params: Value) -> Answered {
        let asked: Initialize = read(params)?;
        if !asked.versions.iter().any(|version| VERSIONS.contains(version)) {
            let message = format!("this program speaks {VERSIONS:?}");
            let data = json!({"supported": VERSIONS});
            return Err(RpcError::new(code::UNSUPPORTED_VERSION, message).with_data(data));
        }
        let mut options = Options {
            workspace: asked.roots.into_iter().map(root).collect(),
            surface: asked.surface.or(self.options.surface),
            approve: asked.approve.or(self.options.approve),
            trust: asked.trust.unwrap_or(self.options.trust),
            json: true,
            transcript: self.options.transcript.clone(),
            sandbox: self.options.sandbox.clone(),
            sandbox_folder: self.options.sandbox_folder.clone(),
            model: self.options.model.clone(),
            worker: self.options.worker.clone(),
            vibe: asked.vibe.unwrap_or(self.options.vibe),
            mcp: self.options.mcp.clone(),
        };
        if options.workspace.is_empty() {
            options.workspace.clone_from(&self.options.workspace);
        }
        let invalid =
            |error: anyhow::Error| RpcError::new(code::INVALID_PARAMS, format!("{error:#}"));
        let mut config = Config::load(&options).map_err(invalid)?;
        if config.approve.is_none() {
            let asks = asked.capabilities.cards;
            config.approve =
                Some(if asks { crate::args::Approve::Ask } else { crate::args::Approve::None });
        }
        if asked.trust == Some(false) {
            config.trust = Trust::RefusedByHost;
        }
        let vibe = match (options.vibe, asked.capabilities.workers) {
            (false, _) => Vibe::Off,
            (true, false) => Vibe::Configured,
            (true, true) => {
                Vibe::Of(Workers::new(HostWorkers::new(self.peer.clone()), RosterLimits::default()))
            }
        };
        let cards = HostCards::new(self.peer.clone(), asked.capabilities);
        let tools = asked
            .tools
            .into_iter()
            .map(|tool| Arc::new(Hosted::new(tool, self.peer.clone())) as Arc<dyn Tool>);
        let mut limits = Limits::default();
        limits.ceiling = asked.ceiling;
        let wishes = Wishes {
            limits,
            port: Arc::new(cards.clone()),
            tools: tools.collect(),
            transcript: options.transcript.clone(),
            conversation: Some(Conversation::new("main")),
            vibe,
            ..Wishes::of_nobody()
        };
        let Assembled { run, view, state, edits, workers, mcp, .. } =
            assemble(&config, wishes).await.map_err(invalid)?;
        self.work.spawn(tell(run.watch(), view.id().to_owned(), self.peer.clone()));
        for message in &config.ignored {
            self.warn(message.clone());
        }
        for complaint in mcp::complaints(&mcp) {
            self.warn(complaint);
        }
        if let Some(problem) = state.problem() {
            self.warn(format!("no file can be changed and no long result kept: {problem}"));
        }
        for recovery in edits.recovered() {
            self.warn(format!("of an earlier run: {recovery}"));
        }
        let answer = Initialized {
            version: VERSIONS[0],
            server: Client {
                name: "agent-run".into(),
                version: Some(env!("CARGO_PKG_VERSION").into()),
            },
            run: state.run().to_owned(),
            capabilities: ServerCapabilities {
                tools: view.specs().len(),
                trust: config.trust.is_trusted(),
                surface: view.surface(),
                ceiling: view.ceiling(),
            },
        };
        let (views, cancels) = (HashMap::new(), Cancels::default());
        self.served =
            Some(Served { run: Arc::new(run), main: view, views, cards, workers, mcp, cancels });
        write(&answer)
    }

    /// Cancels every call and waits until all of it is gone.
    async fn stop(&mut self) {
        let served = self.served.take();
        let mut run = None;
        if let Some(served) = served {
            lock(&served.cancels).drain().for_each(|(_, cancel)| {
                let _ = cancel.send(());
            });
            if let Some(said) = end_workers(served.workers.as_ref()).await {
                self.warn(said);
            }
            served.mcp.close().await;
            served.run.close();
            run = Some(served.run);
        }
        while self.work.join_next().await.is_some() {}
        // Only now: a call that the host leaves without an answer is one that was cancelled.
        self.peer.hang_up();
        if let Some(run) = run
            && let Err(failure) = run.flush().await
        {
            remark(in_style(FAINT, failure));
        }
    }
}

/// Answers every request that comes while the run ends. It does not end by itself.
async fn refuse(peer: &Peer, mut lines: mpsc::Receiver<Line>) {
    while let Some(line) = lines.recv().await {
        if let Line::Text(text) = line
            && let Ok(Message::Request { id, .. }) = Message::parse(&text)
        {
            peer.respond(&id, Err(RpcError::new(code::CLOSING, "the run is shutting down")));
        }
    }
    std::future::pending().await
}

/// Every method, so that one that is known and comes too early is told from one that is not.
const METHODS: [&str; 7] =
    ["run/tools", "run/preview", "run/call", "run/status", "view/open", "view/set", "view/close"];

impl Served {
    fn answer(&mut self, method: &str, params: Value) -> Answered {
        match method {
            "run/tools" => {
                let OfView { view } = read(params)?;
                write(&Tools { tools: self.view(view.as_deref())?.specs() })
            }
            "run/status" => write(&self.status()),
            "view/open" => {
                let OpenView { surface, ceiling, without } = read(params)?;
                let mut limits = Limits::default().without(without);
                // A view never reaches further than the run.
                limits.ceiling = Some(ceiling.unwrap_or(Tier::Exec).min(self.main.ceiling()));
                let view = self.run.view(surface.unwrap_or_else(|| self.main.surface()), limits);
                let id = view.id().to_owned();
                self.views.insert(id.clone(), view);
                write(&Opened { view: id })
            }
            "view/set" => {
                let SetView { view, surface } = read(params)?;
                self.view(view.as_deref())?.set_surface(surface);
                Ok(json!({}))
            }
            "view/close" => {
                let CloseView { view } = read(params)?;
                match self.views.remove(&view) {
                    Some(_) => Ok(json!({})),
                    None => Err(no_view(&view)),
                }
            }
            method => Err(unknown(method)),
        }
    }

    fn view(&self, id: Option<&str>) -> Result<&View, RpcError> {
        match id {
            None => Ok(&self.main),
            Some(id) if id == self.main.id() => Ok(&self.main),
            Some(id) => self.views.get(id).ok_or_else(|| no_view(id)),
        }
    }

    fn status(&self) -> Status {
        Status {
            calls: self.run.live_calls(),
            cards: self.cards.up(),
            workers: self.workers.as_ref().map(Workers::list).unwrap_or_default(),
            resources: Vec::new(),
            seq: self.run.seq(),
        }
    }

    /// Begins a call; its result is the response, whenever it comes.
    fn begin(
        &self,
        id: Value,
        params: Value,
        peer: &Peer,
        work: &mut JoinSet<()>,
    ) -> Result<(), RpcError> {
        let CallParams { call_id, name, args, view } = read(params)?;
        let view = self.view(view.as_deref())?.clone();
        let (cancel, cancelled) = oneshot::channel();
        let cancels = Arc::clone(&self.cancels);
        {
            let mut live = lock(&cancels);
            if live.contains_key(&call_id) {
                let message = format!("a call {call_id} is under way");
                return Err(RpcError::new(code::INVALID_REQUEST, message));
            }
            live.insert(call_id.clone(), cancel);
        }
        let peer = peer.clone();
        let run = Arc::downgrade(&self.run);
        work.spawn(async move {
            let call = ToolCall::new(name.clone(), args).with_id(call_id.clone());
            let spec = view.specs().into_iter().find(|spec| spec.name == name);
            let begun = AtomicBool::new(false);
            let calling = async {
                // A host that stops reading stops new calls.
                peer.outbox().room().await;
                begun.store(true, Ordering::Relaxed);
                view.call(call).await
            };
            // How far the call is is looked at before it is dropped.
            let cancelled = async {
                let _ = cancelled.await;
                let is_live = |live: &LiveCall| live.call_id == call_id;
                let live = run.upgrade().and_then(|run| run.live_calls().into_iter().find(is_live));
                match (begun.load(Ordering::Relaxed), live.map(|live| live.waits_for)) {
                    (false, _) | (_, Some(WaitsFor::Approval | WaitsFor::Turn)) => Reached::Nothing,
                    _ => match &spec {
                        Some(spec) if spec.tier == Tier::Read && spec.tier_is_hearsay => {
                            Reached::SaidToRead
                        }
                        Some(spec) if spec.tier == Tier::Read => Reached::Reading,
                        _ => Reached::Work,
                    },
                }
            };
            let result = tokio::select! {
                biased;
                result = calling => result,
                reached = cancelled => cancelled_call(&name, reached),
            };
            lock(&cancels).remove(&call_id);
            peer.respond(&id, write(&ResultLine::new(name, &result)));
        });
        Ok(())
    }

    fn preview(
        &self,
        id: Value,
        params: Value,
        peer: &Peer,
        work: &mut JoinSet<()>,
    ) -> Result<(), RpcError> {
        let PreviewParams { name, args, view } = read(params)?;
        let view = self.view(view.as_deref())?.clone();
        let peer = peer.clone();
        work.spawn(async move {
            let answer = match view.preview(&ToolCall::new(name, args)).await {
                Ok(preview) => Previewed { ok: true, preview: Some(preview), error: None },
                Err(error) => Previewed { ok: false, preview: None, error: Some(error) },
            };
            peer.respond(&id, write(&answer));
        });
        Ok(())
    }
}

/// How far a call was when it was cancelled.
enum Reached {
    Nothing,
    /// It was under way, and its tool only reads.
    Reading,
    /// The same, and that it only reads is what somebody said of it.
    SaidToRead,
    Work,
}

fn cancelled_call(name: &str, reached: Reached) -> ToolResult {
    let how = match reached {
        Reached::Nothing => "before it began, so nothing was done",
        Reached::Reading => "while it was under way; it only reads, so nothing was changed",
        Reached::SaidToRead => {
            "while it was under way; it is said to only read, and nothing here holds it to that, so it may have \
             changed something; look at what is there before you call it again"
        }
        Reached::Work => {
            "while it was under way, so it may have been carried out, all of it or in part; look at what is there before you call it \
             again"
        }
    };
    let message = format!("the host cancelled this call of {name} {how}");
    Err(ToolError::new(ErrorKind::Cancelled, "cancelled", message))
}

/// Tells the host what happens, until the run is closed.
async fn tell(mut watcher: Watcher, main: String, peer: Peer) {
    while let Some(watched) = watcher.next().await {
        match &watched.record.what {
            What::Event { call_id, parent, event } => {
                let event = CallEvent {
                    seq: watched.record.seq,
                    call_id: call_id.clone(),
                    parent: parent.clone(),
                    lost: watched.lost,
                    event: event.clone(),
                };
                peer.notify("call/event", &event);
            }
            What::ToolsChanged { view, .. } => {
                let view = view.clone().filter(|view| *view != main);
                peer.notify("tools/changed", &ToolsChanged { view });
            }
            What::TranscriptFailed { message } => {
                peer.notify("log", &Log { level: Level::Error, message: message.clone() });
            }
            What::Gap { lost, missed } => {
                let message = format!(
                    "the events came faster than they were taken: {lost} of progress and output and \
                     {missed} others are missing before seq {}; ask `run/status`",
                    watched.record.seq + 1
                );
                peer.notify("log", &Log { level: Level::Error, message });
            }
            _ => {}
        }
    }
}

fn root(root: Root) -> String {
    match root {
        Root::Path(path) => path,
        Root::Named { name, path } => format!("{name}={}", PathBuf::from(path).display()),
    }
}

fn unknown(method: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("there is no method {method}"))
}

fn no_view(id: &str) -> RpcError {
    RpcError::new(code::INVALID_PARAMS, format!("there is no view {id}"))
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params)
        .map_err(|error| RpcError::new(code::INVALID_PARAMS, error.to_string()))
}

fn write(answer: &impl Serialize) -> Answered {
    serde_json::to_value(answer)
        .map_err(|error| RpcError::new(code::INTERNAL_ERROR, error.to_string()))
}
