//! One session: an adapter that was started or joined, from its handshake to the last process of it.

mod end;
mod start;
mod wire;

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use agent_process::{Launcher, Process, Tree, guard::Watched};
use tempfile::TempDir;
use tokio::time::{Instant, timeout};

pub(crate) use self::{
    start::{Plan, Target},
    wire::Wire,
};
use crate::{
    adapters::Adapter,
    breakpoints::Terms,
    connection::{Answer, Connection},
    error::{RequestError, late},
    protocol::{Capabilities, outgoing::Request},
    state::{End, Shared, State},
};

/// The hard life of a session, from its start; using it does not make it longer.
pub const MAX_SESSION_TIME: Duration = Duration::from_mins(30);

/// How long a start may take, a build by the adapter included.
pub const MAX_START_TIME: Duration = Duration::from_secs(60);

/// How long joining a program may take: nothing is built for it.
pub const MAX_ATTACH_TIME: Duration = Duration::from_secs(20);

/// How long an adapter may take to answer a request.
pub const MAX_REQUEST_TIME: Duration = Duration::from_secs(10);

/// How long an adapter may take to read variables or to evaluate.
pub const MAX_VARIABLES_TIME: Duration = Duration::from_secs(15);

/// How a session came to its debuggee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It started this program.
    Launched(String),
    /// It joined what listens on this port.
    Attached(u16),
}

impl How {
    /// How long the start may take.
    pub(crate) fn start_limit(&self) -> Duration {
        match self {
            Self::Launched(_) => MAX_START_TIME,
            Self::Attached(_) => MAX_ATTACH_TIME,
        }
    }
}

/// A session and what belongs to it. Dropping it, or [`Live::kill`], leaves no process of it.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) adapter: &'static Adapter,
    /// The adapter's program and version, in words.
    pub(crate) command: String,
    pub(crate) how: How,
    pub(crate) started: Instant,
    pub(crate) shared: Arc<Shared>,
    connection: OnceLock<Arc<Connection>>,
    capabilities: OnceLock<Capabilities>,
    /// The adapter's own ids of what stops at a panic.
    pub(crate) panics: Mutex<Vec<i64>>,
    process: Mutex<Option<Arc<Process>>>,
    /// The debuggee as it was first seen: an id alone may be another process by now.
    debuggee: Mutex<Option<(Tree, Watched)>>,
    scratch: Mutex<Option<TempDir>>,
}

impl Live {
    pub(crate) fn new(
        adapter: &'static Adapter,
        command: String,
        how: How,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            adapter,
            command,
            how,
            started: Instant::now(),
            shared,
            connection: OnceLock::new(),
            capabilities: OnceLock::new(),
            panics: Mutex::default(),
            process: Mutex::default(),
            debuggee: Mutex::default(),
            scratch: Mutex::default(),
        }
    }

    /// Asks the adapter. One that does not answer in time is not asked again.
    pub(crate) async fn ask(&self, request: &Request, limit: Duration) -> Answer {
        let Some(connection) = self.connection.get() else { return Err(RequestError::Gone) };
        let answer = connection.ask(request, limit).await;
        self.note(&answer);
        answer
    }

    /// Asks, and answers when the adapter does; whether somebody waits for it or not, `done` is called.
    pub(crate) fn ask_apart(
        self: &Arc<Self>,
        request: Request,
        failed: impl FnOnce(&mut State) + Send + 'static,
    ) -> tokio::task::JoinHandle<Answer> {
        let live = self.clone();
        tokio::spawn(async move {
            let answer = live.ask(&request, MAX_REQUEST_TIME).await;
            if answer.is_err() {
                live.shared.change(failed);
            }
            answer
        })
    }

    /// Sets the breakpoints of one file now.
    pub(crate) async fn set_breakpoints(
        &self,
        path: &Path,
        given: &Path,
    ) -> Result<(), RequestError> {
        start::set_breakpoints(self, path, given).await
    }

    fn note(&self, answer: &Answer) {
        if let Err(RequestError::Late(command, limit)) = answer {
            let words = late(command, *limit);
            self.shared.change(|state| state.unresponsive.get_or_insert(words).clone());
        }
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        self.capabilities.get().cloned().unwrap_or_default()
    }

    /// Whether the adapter takes these: one that does not would stop at each hit, or at none. Says what it does not take.
    pub(crate) fn takes(&self, terms: &Terms) -> Result<(), String> {
        let can = self.capabilities();
        let asked = [
            (terms.condition.is_some(), can.conditions, "condition"),
            (terms.hit_condition.is_some(), can.hit_conditions, "hit_condition"),
            (terms.log_message.is_some(), can.log_points, "log_message"),
        ];
        let id = self.adapter.id;
        if let Some((_, _, name)) = asked.into_iter().find(|(asked, can, _)| *asked && !can) {
            return Err(format!("{id} does not take `{name}`"));
        }
        let operator = |hits: &String| !hits.trim().bytes().all(|byte| byte.is_ascii_digit());
        match terms
            .hit_condition
            .as_ref()
            .filter(|hits| self.adapter.plain_counts && operator(hits))
        {
            Some(hits) => {
                Err(format!("{id} takes a plain count as `hit_condition`, and not {hits:?}"))
            }
            None => Ok(()),
        }
    }

    /// How many requests were sent.
    pub(crate) fn requests(&self) -> i64 {
        self.connection.get().map_or(0, |connection| connection.sent())
    }

    /// Kills every process of the session at once.
    pub(crate) fn kill(&self) {
        self.shared.end(End::Dropped);
        if let Some((tree, _)) = lock(&self.debuggee).take() {
            tree.kill();
        }
        if let Some(process) = lock(&self.process).take() {
            process.tree().kill();
        }
    }

    fn process(&self) -> Option<Arc<Process>> {
        lock(&self.process).clone()
    }
}

/// Sees a session through: starts it, waits for its end, tears it down.
pub(crate) async fn drive(live: Arc<Live>, plan: Plan, launcher: Launcher) {
    let starting = timeout(live.how.start_limit(), start::start(&live, plan, &launcher));
    tokio::select! {
        biased;
        outcome = starting => match outcome {
            Ok(Ok(())) => live.shared.change(State::started),
            Ok(Err(why)) => live.shared.end(End::StartFailed(why)),
            Err(_) => live.shared.end(End::StartFailed(start::too_late(&live))),
        },
        () = end::ending(&live.shared) => {}
    }
    let how = end::over(&live, &launcher).await;
    let how = end::tear_down(&live, how).await;
    live.shared.change(|state| state.ended(how));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
