//! A folder with scripted servers, and the count of every process that they are.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use agent_mcp::{Bridge, BridgeBuilder, ServerConfig, Servers, Times};
use agent_process::{Guard, Launcher};
use agent_testkit::mcp::{Log, Script};
use agent_tool_core::{
    BoxFuture, CallId, Card, CardError, CardPort, CardQueue, Context, Event, Events, Nothing,
    Reply, Tier, Tool, ToolError, ToolOutput,
};
use serde_json::Value;
use tempfile::TempDir;

/// How long something may take to come, or to be gone, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// A place for servers. Its path is in the environment of each, and of what each starts.
pub(crate) struct Bed {
    pub(crate) folder: TempDir,
    cards: Option<CardQueue>,
    times: Times,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let mut times = Times::new();
        times.backoff = Duration::from_millis(50);
        Self { folder: tempfile::tempdir().unwrap(), cards: None, times }
    }

    pub(crate) fn times(mut self, change: impl FnOnce(&mut Times)) -> Self {
        change(&mut self.times);
        self
    }

    pub(crate) fn person(mut self, port: &Arc<Person>) -> Self {
        self.cards = Some(CardQueue::new(Arc::clone(port) as Arc<dyn CardPort>));
        self
    }

    /// A scripted server under a name.
    pub(crate) fn server(&self, name: &str, script: &Script) -> (ServerConfig, Log) {
        let peer = script.peer(self.folder.path(), name).unwrap();
        (ServerConfig::new(peer.command).env(peer.env.0, peer.env.1), peer.log)
    }

    pub(crate) async fn bridge(&self, servers: Servers) -> Bridge {
        self.builder().connect(servers).await
    }

    pub(crate) fn builder(&self) -> BridgeBuilder {
        let launcher = Launcher::new(Guard::new());
        let builder = Bridge::builder(launcher, self.folder.path()).times(self.times);
        match self.cards.clone() {
            Some(cards) => builder.cards(cards),
            None => builder,
        }
    }

    /// A bridge to one scripted server, `s`.
    pub(crate) async fn one(&self, script: &Script) -> (Bridge, Log) {
        let (config, log) = self.server("s", script);
        (self.bridge(Servers::default().with("s", config)).await, log)
    }

    /// The processes of this place that live.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let path = self.folder.path().to_str().unwrap();
        let ids = fs::read_dir("/proc").unwrap();
        let ids = ids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        ids.filter(|id: &u32| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(path) && !is_zombie(*id)
        })
        .collect()
    }

    /// The processes of this place, once there are so many: one that was started a moment ago has no environment yet.
    pub(crate) async fn living(&self, count: usize, who: &str) -> Vec<u32> {
        until(who, || self.processes().len() == count).await;
        self.processes()
    }

    /// Waits until none of them is left.
    pub(crate) async fn is_empty(&self) {
        until("a process is left", || self.processes().is_empty()).await;
    }
}

fn is_zombie(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

/// Waits until this holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn tool(bridge: &Bridge, name: &str) -> Arc<dyn Tool> {
    let tools = bridge.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    let found = tools.into_iter().find(|tool| tool.spec().name == name);
    found.unwrap_or_else(|| panic!("no {name} in {names:?}: {:?}", bridge.reports()))
}

/// Calls a tool under a call id.
pub(crate) async fn call_as(
    bridge: &Bridge,
    id: &str,
    name: &str,
    args: Value,
) -> Result<ToolOutput, ToolError> {
    tool(bridge, name).call(args, &context(id, Arc::new(Nothing))).await
}

pub(crate) async fn call(
    bridge: &Bridge,
    name: &str,
    args: Value,
) -> Result<ToolOutput, ToolError> {
    call_as(bridge, "call_1", name, args).await
}

pub(crate) fn context(id: &str, events: Arc<dyn Events>) -> Context {
    Context::new(CallId::new(id), Tier::Exec, Arc::new(Nothing), events)
}

/// Whoever watches a call.
#[derive(Default)]
pub(crate) struct Watcher(pub(crate) Mutex<Vec<Event>>);

impl Events for Watcher {
    fn emit(&self, _cx: &Context, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

/// A person who answers each card by a function, and may not be there.
pub(crate) struct Person {
    pub(crate) there: bool,
    pub(crate) seen: Mutex<Vec<Card>>,
    pub(crate) open: Mutex<usize>,
    answer: Box<Answer>,
}

type Answer = dyn Fn(&Card) -> Option<Reply> + Send + Sync;

impl Person {
    /// None as an answer is a card that stays up.
    pub(crate) fn new(
        answer: impl Fn(&Card) -> Option<Reply> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            there: true,
            seen: Mutex::default(),
            open: Mutex::default(),
            answer: Box::new(answer),
        })
    }

    pub(crate) fn nobody() -> Arc<Self> {
        Arc::new(Self {
            there: false,
            seen: Mutex::default(),
            open: Mutex::default(),
            answer: Box::new(|_| None),
        })
    }

    pub(crate) fn titles(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|card| card.title.clone()).collect()
    }
}

struct Shown<'a>(&'a Person);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        *self.0.open.lock().unwrap() -= 1;
    }
}

impl CardPort for Person {
    fn connected(&self) -> bool {
        self.there
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        let reply = (self.answer)(&card);
        self.seen.lock().unwrap().push(card);
        *self.open.lock().unwrap() += 1;
        let shown = Shown(self);
        Box::pin(async move {
            let _shown = shown;
            match reply {
                Some(reply) => Ok(reply),
                None => std::future::pending().await,
            }
        })
    }
}

/// Writes an executable script.
pub(crate) fn executable(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
