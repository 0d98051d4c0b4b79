//! Workers that do as a test says.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_tool_core::{BoxFuture, Context, Tool, ToolError, ToolResult};
use agent_vibe::{Job, RosterLimits, WorkError, WorkerFactory, WorkerTier, Workers};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

pub(crate) const AT_ONCE: Duration = Duration::from_millis(100);

/// How an attempt is to end.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Done(String),
    Failed(String),
    Panics,
}

/// An attempt that was begun, and the way to end it.
pub(crate) struct Started {
    pub(crate) job: Job,
    end: oneshot::Sender<Outcome>,
}

impl Started {
    pub(crate) fn end(self, outcome: Outcome) {
        assert!(self.end.send(outcome).is_ok(), "the attempt still runs");
    }

    pub(crate) fn done(self, result: &str) {
        self.end(Outcome::Done(result.to_owned()));
    }

    pub(crate) fn failed(self, error: &str) {
        self.end(Outcome::Failed(error.to_owned()));
    }

    /// Waits until the attempt's future was dropped.
    pub(crate) async fn dropped(mut self) {
        in_time(self.end.closed()).await;
    }

    pub(crate) fn brief(&self) -> Vec<String> {
        self.job.brief().iter().map(ToString::to_string).collect()
    }

    pub(crate) fn news(&self) -> Vec<String> {
        self.job.news().iter().map(ToString::to_string).collect()
    }
}

/// Hands each attempt to the test.
pub(crate) struct Scripted {
    started: mpsc::UnboundedSender<Started>,
    tiers: Vec<WorkerTier>,
}

impl WorkerFactory for Scripted {
    fn serves(&self, tier: WorkerTier) -> bool {
        self.tiers.contains(&tier)
    }

    fn start(&self, job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
        let (end, ended) = oneshot::channel();
        // A test that is over takes no more attempts.
        let _ = self.started.send(Started { job, end });
        Box::pin(async move {
            match ended.await {
                Ok(Outcome::Done(result)) => Ok(result),
                Ok(Outcome::Failed(error)) => Err(WorkError::new(error)),
                Ok(Outcome::Panics) => panic!("out of cheese"),
                Err(_) => std::future::pending().await,
            }
        })
    }
}

/// Works on a thread that does not look up until the test lets go.
pub(crate) struct Stubborn {
    pub(crate) let_go: Arc<Mutex<std::sync::mpsc::Receiver<()>>>,
    pub(crate) at_start: bool,
    pub(crate) begins: mpsc::UnboundedSender<()>,
}

impl WorkerFactory for Stubborn {
    fn serves(&self, _tier: WorkerTier) -> bool {
        true
    }

    fn start(&self, job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
        let (let_go, begins) = (Arc::clone(&self.let_go), self.begins.clone());
        let works = move || {
            job.output("working");
            let _ = begins.send(());
            let _ = let_go.lock().expect("not poisoned").recv();
            job.output("too late");
            Ok("too late".to_owned())
        };
        if self.at_start {
            let result = works();
            return Box::pin(std::future::ready(result));
        }
        Box::pin(async move { works() })
    }
}

/// A factory from a function.
pub(crate) struct FromFn<F>(pub(crate) F);

impl<F, R> WorkerFactory for FromFn<F>
where
    F: Fn(Job) -> R + Send + Sync + 'static,
    R: Future<Output = Result<String, WorkError>> + Send + 'static,
{
    fn serves(&self, _tier: WorkerTier) -> bool {
        true
    }

    fn start(&self, job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
        Box::pin((self.0)(job))
    }
}

/// Workers, their tools, and their attempts.
pub(crate) struct Crew {
    pub(crate) workers: Workers,
    pub(crate) started: mpsc::UnboundedReceiver<Started>,
}

impl Crew {
    pub(crate) fn new() -> Self {
        Self::with(RosterLimits::default())
    }

    pub(crate) fn with(limits: RosterLimits) -> Self {
        Self::serving(&WorkerTier::ALL, limits)
    }

    pub(crate) fn serving(tiers: &[WorkerTier], limits: RosterLimits) -> Self {
        let (sender, started) = mpsc::unbounded_channel();
        let factory = Scripted { started: sender, tiers: tiers.to_vec() };
        Self { workers: Workers::new(factory, limits), started }
    }

    pub(crate) async fn call(&self, name: &str, args: Value) -> ToolResult {
        call(&self.workers, name, args).await
    }

    /// The data of a call that is to succeed.
    pub(crate) async fn data(&self, name: &str, args: Value) -> Value {
        self.call(name, args).await.expect("a success").data
    }

    /// Spawns a worker and gives its id.
    pub(crate) async fn spawn(&self, label: &str) -> String {
        let data = self.data("vibe_spawn", json!({"brief": "do it", "label": label})).await;
        data["worker_id"].as_str().expect("an id").to_owned()
    }

    /// Begins a call.
    pub(crate) fn begin(&self, name: &'static str, args: Value) -> JoinHandle<ToolResult> {
        let workers = self.workers.clone();
        tokio::spawn(async move { call(&workers, name, args).await })
    }

    /// Begins to wait for a worker, and comes back when the wait is under way.
    pub(crate) async fn waiting(&self, id: &str) -> JoinHandle<ToolResult> {
        let waiting = self.begin("vibe_wait", json!({"worker_id": id}));
        tokio::task::yield_now().await;
        waiting
    }

    /// The next attempt that was begun. On a paused clock one that never is fails at once.
    pub(crate) async fn next(&mut self) -> Started {
        in_time(self.started.recv()).await.expect("an attempt")
    }

    /// The next attempts by worker: each is begun on a thread of its own, so they come in any order.
    pub(crate) async fn next_by_id(&mut self, count: usize) -> BTreeMap<String, Started> {
        let mut all = BTreeMap::new();
        for _ in 0..count {
            let started = self.next().await;
            all.insert(started.job.worker_id().to_owned(), started);
        }
        all
    }

    pub(crate) async fn list(&self) -> Vec<Value> {
        let data = self.data("vibe_list", json!({})).await;
        data["workers"].as_array().expect("a list").clone()
    }

    pub(crate) async fn status(&self, id: &str) -> String {
        let workers = self.list().await;
        let worker = workers.iter().find(|worker| worker["worker_id"] == id).expect("a worker");
        worker["status"].as_str().expect("a status").to_owned()
    }
}

pub(crate) async fn call(workers: &Workers, name: &str, args: Value) -> ToolResult {
    tool(workers, name).call(args, &Context::detached()).await
}

pub(crate) fn tool(workers: &Workers, name: &str) -> Arc<dyn Tool> {
    let tools = workers.tools();
    tools.into_iter().find(|tool| tool.spec().name == name).expect("a tool of this name")
}

/// What a future gives; one that never does fails, at once on a paused clock.
pub(crate) async fn in_time<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("it comes to an end")
}

/// The result of a call that was begun.
pub(crate) async fn result(begun: JoinHandle<ToolResult>) -> ToolResult {
    in_time(begun).await.expect("no panic")
}

/// The error of a call that was to fail.
pub(crate) fn error(result: ToolResult) -> ToolError {
    result.expect_err("an error")
}

/// The code of a call that was to fail.
pub(crate) fn code(result: ToolResult) -> String {
    error(result).code.into_owned()
}
