//! One server at one root: not started, starting, running, or not to be started again.

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use agent_process::{ExitReport, Input, Output, Process, Program, ShutdownSteps};
use agent_workspace::WorkspacePath;
use tokio::{sync::watch, time::timeout_at};

use super::{Key, Supervisor, error::NoServer, find};
use crate::{
    roots::ServerRoot,
    server::{CallError, Client, Start, words},
    table::Server,
};

/// How long a server may take to be initialized.
const INITIALIZE: Duration = Duration::from_secs(60);

/// How long it may take to answer `shutdown`.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// How long it may take to end once its input is closed, and once more when it was asked to by a signal.
const END: Duration = Duration::from_millis(700);

/// How long nothing is started after the first crash, the second, the third.
const BACKOFF: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(16)];

/// Crashes that lie further apart than this do not add up.
const CRASH_WINDOW: Duration = Duration::from_secs(180);

/// How many lines of its error output a server's end is told with.
const TAIL_LINES: usize = 5;

/// One server at one root.
#[derive(Debug)]
pub(crate) struct Slot {
    key: Key,
    row: Server,
    root: ServerRoot,
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
    Starting(watch::Receiver<Option<Started>>),
    Running(Arc<Running>),
    /// It ended by itself; it is not started before then, or not at all.
    Ended {
        why: String,
        until: Option<Instant>,
    },
}

type Started = Result<Arc<Running>, NoServer>;

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub id: String,
    pub client: Arc<Client>,
    /// What its program said of its version.
    pub version: String,
    process: Process,
    used: Mutex<Instant>,
    busy: AtomicUsize,
}

/// Marks a server as used for as long as it lives.
#[derive(Debug)]
pub(crate) struct Use<'a>(&'a Running);

/// How a slot stands, for `status`.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    Idle,
    Starting,
    Running(Arc<Running>),
    Ended { why: String, again: Option<Duration> },
}

impl Slot {
    pub(super) fn new(key: Key, row: Server, root: ServerRoot) -> Self {
        Self { key, row, root, inner: Mutex::default() }
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
        inner.notice_end(&self.key.id);
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

    /// Ends it and forgets its crashes; whether there was one.
    pub(super) async fn reset(&self) -> bool {
        let running = {
            let mut inner = self.lock();
            inner.crashes.clear();
            match std::mem::take(&mut inner.state) {
                State::Running(running) => {
                    inner.reopen = running.client.open_files();
                    Some(running)
                }
                _ => None,
            }
        };
        match running {
            Some(running) => {
                running.end().await;
                true
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Takes note of a server that ended by itself.
    fn notice_end(&mut self, id: &str) {
        let State::Running(running) = &self.state else { return };
        let Some(report) = running.process.exited() else { return };
        self.reopen = running.client.open_files();
        let now = Instant::now();
        self.crashes.retain(|crash| now.duration_since(*crash) < CRASH_WINDOW);
        self.crashes.push(now);
        let count = self.crashes.len();
        let mut why = format!("{id} ended by itself ({})", ended(&report));
        let until =
            BACKOFF.get(count - 1).filter(|_| count < BACKOFF.len()).map(|pause| now + *pause);
        if until.is_none() {
            let _ = write!(
                why,
                "; it ended {count} times and is not started again before `lsp reload`"
            );
        }
        self.state = State::Ended { why, until };
    }
}

impl Supervisor {
    /// The server of a slot, started where it does not run, or why there is none by `deadline`. A
    /// start that was begun goes on when nobody waits for it any more.
    pub(crate) async fn running(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        deadline: Instant,
    ) -> Result<Arc<Running>, NoServer> {
        let mut started = {
            let mut inner = slot.lock();
            inner.notice_end(&slot.key.id);
            match &inner.state {
                State::Running(running) => return Ok(Arc::clone(running)),
                State::Starting(started) => started.clone(),
                State::Ended { why, until } if until.is_none_or(|until| Instant::now() < until) => {
                    return Err(NoServer {
                        code: "server_failed",
                        id: Some(slot.key.id.clone()),
                        why: why.clone(),
                    });
                }
                State::Idle | State::Ended { .. } => {
                    let (done, started) = watch::channel(None);
                    inner.state = State::Starting(started.clone());
                    tokio::spawn(Arc::clone(self).start_slot(Arc::clone(slot), done));
                    started
                }
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

    async fn start_slot(self: Arc<Self>, slot: Arc<Slot>, done: watch::Sender<Option<Started>>) {
        let result = self.start(&slot).await;
        {
            let mut inner = slot.lock();
            // Where it was reset meanwhile, what was started is not wanted any more.
            let wanted = matches!(&inner.state, State::Starting(started) if started.same_channel(&done.subscribe()));
            if wanted {
                inner.state = match &result {
                    Ok(running) => State::Running(Arc::clone(running)),
                    // A program that is missing may be installed at any time; the finder remembers.
                    Err(failure) if !failure.exists() => State::Idle,
                    Err(failure) => {
                        inner.crashes.push(Instant::now());
                        let count = inner.crashes.len();
                        let until = BACKOFF.get(count - 1).map(|pause| Instant::now() + *pause);
                        State::Ended { why: failure.why.clone(), until }
                    }
                };
            }
        }
        done.send_replace(Some(result));
    }

    async fn start(&self, slot: &Slot) -> Started {
        let id = &slot.key.id;
        let found = find::find(&self.finder, &slot.row, &slot.key.root, self.trust).await;
        let found = found.map_err(|missing| {
            NoServer::without_program(id, missing.to_string(), &slot.row.install)
        })?;
        let program = Program::new(&found.path, &slot.key.root)
            .args(slot.row.args.iter().cloned())
            .stdin(Input::Piped)
            .stdout(Output::Piped)
            .stderr(Output::Tail);
        let process = self.launcher.spawn(&program).await;
        let process = process.map_err(|error| NoServer::failed(id, error.to_string()))?;
        let (Some(output), Some(input)) = (process.take_stdout(), process.take_stdin()) else {
            return Err(NoServer::failed(id, "its pipes are taken".to_owned()));
        };
        let start = Start {
            workspace: self.workspace.clone(),
            root: slot.key.root.clone(),
            settings: slot.row.settings_for(self.trust),
            row: slot.row.clone(),
        };
        let deadline = Instant::now() + INITIALIZE;
        let client = match Client::initialize(output, input, start, deadline).await {
            Ok(client) => client,
            Err(error) => {
                let why = match (&error, process.exited()) {
                    (CallError::Stopped, exited) => {
                        let report = match exited {
                            Some(report) => report,
                            None => process.wait().await,
                        };
                        format!("it does not start ({})", ended(&report))
                    }
                    _ => format!("it does not start: {}", words(&error)),
                };
                return Err(NoServer::failed(id, why));
            }
        };
        let reopen = std::mem::take(&mut slot.lock().reopen);
        for file in reopen {
            // A file that is gone meanwhile is not opened again.
            let _ = client.sync(&file);
        }
        Ok(Arc::new(Running {
            id: id.clone(),
            client: Arc::new(client),
            version: found.version,
            process,
            used: Mutex::new(Instant::now()),
            busy: AtomicUsize::new(0),
        }))
    }
}

impl Running {
    /// Marks it as used until what this gives is dropped.
    pub(crate) fn hold(&self) -> Use<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Use(self)
    }

    /// Whether nobody has used it for so long. A server that answers a slow question is used.
    pub(super) fn is_idle(&self, after: Duration) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.busy.load(Ordering::Relaxed) == 0 && used.elapsed() >= after
    }

    /// The id of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// How it ended, where it has.
    pub(crate) fn end_in_words(&self) -> Option<String> {
        self.process.exited().map(|report| ended(&report))
    }

    /// The last lines of its error output.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.process.tail().lines()
    }

    /// Ends it: as the protocol has it, then by signals.
    async fn end(&self) {
        self.client.shut_down(Instant::now() + SHUTDOWN).await;
        let steps = ShutdownSteps::new().after_stdin(END).after_term(END).after_kill(END);
        self.process.shutdown(&steps).await;
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        *self.0.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How a server ended, with the last of its error output.
fn ended(report: &ExitReport) -> String {
    let mut text = report.to_string();
    let tail = &report.stderr[report.stderr.len().saturating_sub(TAIL_LINES)..];
    if !tail.is_empty() {
        let _ = write!(text, "; its last words: {}", tail.join(" | "));
    }
    text
}
