//! One server at one root: not started, starting, running, or not to be started again.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use agent_process::{Input, Output, Program};
use agent_workspace::WorkspacePath;
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{timeout, timeout_at},
};

use super::{
    Key, Supervisor,
    error::NoServer,
    find,
    running::{DEAF, Running, ended, ended_and_read, watch_end},
    trust,
};
use crate::{
    roots::ServerRoot,
    server::{self, CallError, Client, Configured, words},
    table::{Server, Trust},
};

/// How long a server may take to be initialized.
const INITIALIZE: Duration = Duration::from_secs(60);

/// How many times longer than after the crash before nothing is started after a crash.
const BACKOFF: u32 = 4;

/// After so many crashes nothing is started before a reload.
const MAX_CRASHES: usize = 3;

/// Crashes that lie further apart than this do not add up.
const CRASH_WINDOW: Duration = Duration::from_secs(180);

/// One server at one root.
#[derive(Debug)]
pub(crate) struct Slot {
    key: Key,
    row: Server,
    root: ServerRoot,
    /// How long nothing is started after the first crash.
    restart: Duration,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: State,
    crashes: Vec<Instant>,
    /// What was open when it ended, to be opened again.
    reopen: Vec<WorkspacePath>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Starting(Start),
    Running(Arc<Running>),
    /// It ended by itself; it is not started before then, or not at all.
    Ended {
        why: String,
        until: Option<Instant>,
    },
}

/// A start under way. Dropping it gives it up, with the process.
#[derive(Debug)]
struct Start {
    done: watch::Receiver<Option<Started>>,
    since: Instant,
    task: AbortHandle,
}

type Started = Result<Arc<Running>, NoServer>;

/// How a slot stands, for `status`.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    Idle,
    Starting,
    Running(Arc<Running>),
    Ended { why: String, again: Option<Duration> },
}

impl Slot {
    pub(super) fn new(key: Key, row: Server, root: ServerRoot, restart: Duration) -> Self {
        Self { key, row, root, restart, inner: Mutex::default() }
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn row(&self) -> &Server {
        &self.row
    }

    pub(crate) fn root(&self) -> &ServerRoot {
        &self.root
    }

    /// The server, where it runs.
    pub(crate) fn live(&self) -> Option<Arc<Running>> {
        match self.standing() {
            Standing::Running(running) => Some(running),
            _ => None,
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        let mut inner = self.lock();
        inner.notice_end(self.restart);
        match &inner.state {
            State::Idle => Standing::Idle,
            State::Starting(_) => Standing::Starting,
            State::Running(running) => Standing::Running(Arc::clone(running)),
            State::Ended { why, until } => Standing::Ended {
                why: why.clone(),
                again: until.map(|until| until.saturating_duration_since(Instant::now())),
            },
        }
    }

    /// Ends it and forgets its crashes; whether there was one, be it that it could not be started.
    pub(super) async fn reset(&self) -> bool {
        let before = {
            let mut inner = self.lock();
            inner.notice_end(self.restart);
            inner.crashes.clear();
            inner.take()
        };
        end(before).await
    }

    /// Ends it if nobody has used it for so long.
    pub(super) async fn reset_if_idle(&self, after: Duration) {
        let before = {
            let mut inner = self.lock();
            match &inner.state {
                State::Running(running) if running.is_idle(after) => inner.take(),
                _ => return,
            }
        };
        end(before).await;
    }

    /// Kills it.
    pub(super) fn abandon(&self) {
        drop(std::mem::take(&mut self.lock().state));
    }

    /// A file that is open in it, or was when it ended.
    pub(super) fn opened(&self) -> Option<WorkspacePath> {
        let inner = self.lock();
        match &inner.state {
            State::Running(running) => running.client.open_files().first().cloned(),
            _ => inner.reopen.last().cloned(),
        }
    }

    /// How long it has been starting, where it is.
    pub(crate) fn starting_for(&self) -> Option<Duration> {
        match &self.lock().state {
            State::Starting(start) => Some(start.since.elapsed()),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Inner {
    /// Leaves it idle, with what was open remembered.
    fn take(&mut self) -> State {
        if let State::Running(running) = &self.state {
            self.reopen = to_reopen(running);
        }
        std::mem::take(&mut self.state)
    }

    /// Takes note of a server that ended by itself.
    fn notice_end(&mut self, restart: Duration) {
        let State::Running(running) = &self.state else { return };
        let Some(report) = running.process.exited() else { return };
        self.reopen = to_reopen(running);
        let why = match running.client.given_up() {
            Some(why) => format!("it was ended: {}", words(&why)),
            None => format!("it ended by itself ({})", ended(&report)),
        };
        self.crashed(why, restart);
    }

    fn crashed(&mut self, mut why: String, restart: Duration) {
        let now = Instant::now();
        self.crashes.retain(|crash| now.duration_since(*crash) < CRASH_WINDOW);
        self.crashes.push(now);
        let count = self.crashes.len();
        let until = if count < MAX_CRASHES {
            let longer = BACKOFF.saturating_pow(u32::try_from(count - 1).unwrap_or(u32::MAX));
            Some(now + restart.saturating_mul(longer))
        } else {
            let _ = write!(
                why,
                "; it ended {count} times and is not started again before `lsp reload`"
            );
            None
        };
        self.state = State::Ended { why, until };
    }
}

/// The files that are open, those that were asked for last at the end.
fn to_reopen(running: &Running) -> Vec<WorkspacePath> {
    let mut files = running.client.open_files();
    files.reverse();
    files
}

/// Ends what ran; whether anything did, or was to.
async fn end(state: State) -> bool {
    match state {
        State::Running(running) => running.end().await,
        State::Starting(start) => {
            let mut done = start.done.clone();
            drop(start);
            // Its end is that nobody can tell its result any more.
            while done.changed().await.is_ok() {}
        }
        State::Ended { .. } => {}
        State::Idle => return false,
    }
    true
}

impl Supervisor {
    /// The server of a slot, started where it does not run, or why there is none by `deadline`. A
    /// start that was begun goes on when nobody waits for it any more.
    pub(crate) async fn running(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        deadline: Instant,
    ) -> Result<Arc<Running>, NoServer> {
        if let Some(file) = self.kept_by(&slot.row, &slot.key.root) {
            // It may have come since the start.
            slot.abandon();
            let id = &slot.key.id;
            return Err(
                match find::find(&self.finder, &slot.row, &slot.key.root, self.trust).await {
                    Ok(_) => NoServer::untrusted(id, &file),
                    Err(missing) => {
                        NoServer::without_program(id, missing.to_string(), &slot.row.install)
                    }
                },
            );
        }
        let mut started = {
            let mut inner = slot.lock();
            inner.notice_end(slot.restart);
            match &inner.state {
                State::Running(running) if running.client.is_outdated() => {
                    let outdated = Arc::clone(running);
                    drop(inner.take());
                    tokio::spawn(async move { outdated.end_when_unused().await });
                    self.begin(slot, &mut inner)
                }
                State::Running(running) => {
                    // While the slot is locked, so that it is not ended as one that nobody uses.
                    running.touch();
                    return Ok(Arc::clone(running));
                }
                State::Starting(start) => start.done.clone(),
                State::Ended { why, until } if until.is_none_or(|until| Instant::now() < until) => {
                    let again = until.map(|until| until.saturating_duration_since(Instant::now()));
                    return Err(NoServer::ended(&slot.key.id, why, again));
                }
                State::Idle | State::Ended { .. } if self.is_closed() => {
                    return Err(NoServer::closed(&slot.key.id));
                }
                State::Idle | State::Ended { .. } => self.begin(slot, &mut inner),
            }
        };
        let end = timeout_at(deadline.into(), started.wait_for(Option::is_some)).await;
        match end {
            Ok(Ok(result)) => {
                result.clone().unwrap_or_else(|| Err(NoServer::starting(&slot.key.id)))
            }
            Ok(Err(_)) => Err(NoServer::failed(&slot.key.id, "its start was given up".to_owned())),
            Err(_) => Err(NoServer::starting(&slot.key.id)),
        }
    }

    /// Begins to start it.
    fn begin(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        inner: &mut Inner,
    ) -> watch::Receiver<Option<Started>> {
        let (tell, done) = watch::channel(None);
        let start = Arc::clone(self).start_slot(Arc::clone(slot), tell);
        let task = tokio::spawn(start).abort_handle();
        let since = Instant::now();
        inner.state = State::Starting(Start { done: done.clone(), since, task });
        done
    }

    async fn start_slot(self: Arc<Self>, slot: Arc<Slot>, tell: watch::Sender<Option<Started>>) {
        let result = self.start(&slot).await;
        {
            let mut inner = slot.lock();
            // Where it was reset meanwhile, what was started is not wanted any more.
            let wanted = matches!(&inner.state, State::Starting(start) if start.done.same_channel(&tell.subscribe()));
            match &result {
                _ if !wanted => {}
                Ok(running) => {
                    running.touch();
                    inner.state = State::Running(Arc::clone(running));
                }
                // A program that is missing may be installed at any time; the finder remembers.
                Err(failure) if !failure.exists() => inner.state = State::Idle,
                Err(failure) => inner.crashed(failure.why.clone(), slot.restart),
            }
        }
        tell.send_replace(Some(result));
    }

    async fn start(&self, slot: &Slot) -> Started {
        let id = &slot.key.id;
        let found = find::find(&self.finder, &slot.row, &slot.key.root, self.trust).await;
        let found = found.map_err(|missing| {
            NoServer::without_program(id, missing.to_string(), &slot.row.install)
        })?;
        if self.trust == Trust::Untrusted
            && let Some(own) = trust::handed_on(&found.path, &self.workspace, &slot.key.root)
        {
            return Err(NoServer::untrusted(id, &self.shown(&own)));
        }
        // From here on it is told of changes; what it reads by itself it reads later.
        let disk = Arc::clone(&self.disk);
        let since = tokio::task::spawn_blocking(move || disk.begin()).await;
        let since = since.map_err(|error| NoServer::failed(id, error.to_string()))?;
        let program = Program::new(&found.path, &slot.key.root)
            .args(slot.row.args.iter().cloned())
            .stdin(Input::Piped)
            .stdout(Output::Piped)
            .stderr(Output::Tail);
        let program = match self.trust {
            Trust::Trusted => program,
            Trust::Untrusted => trust::beside(program, &self.workspace, &slot.key.root),
        };
        let configured = Configured::of(&self.workspace, &slot.root.folder, &slot.row);
        let process = self.launcher.spawn(&program).await;
        let process = process.map_err(|error| NoServer::failed(id, error.to_string()))?;
        let (Some(output), Some(input)) = (process.take_stdout(), process.take_stdin()) else {
            return Err(NoServer::failed(id, "its pipes are taken".to_owned()));
        };
        let start = server::Start {
            workspace: self.workspace.clone(),
            root: slot.key.root.clone(),
            configured,
            settings: slot.row.settings_for(self.trust),
            row: slot.row.clone(),
            exit: process.exit_watch(),
            disk: Arc::clone(&self.disk),
            since,
            stuck_after: self.stuck_after,
        };
        let initialized = async {
            tokio::select! {
                // What it answered before it ended counts.
                biased;
                client = Client::initialize(output, input, start, Instant::now() + INITIALIZE) => client,
                () = ended_and_read(process.exit_watch()) => Err(CallError::Stopped),
            }
        };
        let client = match initialized.await {
            Ok(client) => client,
            Err(error) => {
                let why = match timeout(DEAF, process.wait()).await {
                    Ok(report) if error == CallError::Stopped => ended(&report),
                    _ => words(&error),
                };
                return Err(NoServer::failed(id, format!("it does not start ({why})")));
            }
        };
        for file in std::mem::take(&mut slot.lock().reopen) {
            // A file that is gone meanwhile is not opened again.
            let _ = client.sync(&file);
        }
        let running = Arc::new(Running::new(id.clone(), client, process, &found));
        tokio::spawn(watch_end(Arc::downgrade(&running)));
        if self.trust == Trust::Trusted {
            tokio::spawn(Arc::clone(&running.client).check_first());
        }
        Ok(running)
    }
}
