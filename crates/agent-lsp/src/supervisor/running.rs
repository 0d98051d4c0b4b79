//! A server that runs: its process, who uses it, and how it ends.

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use agent_process::{ExitReport, ExitWatch, Found, Process, ShutdownSteps};
use tokio::time::timeout;

use super::{Key, trust};
use crate::server::Client;

/// How long it may take to answer `shutdown`.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// How long it may take to end once its input is closed, and once more when it was asked to by a signal.
const END: Duration = Duration::from_millis(700);

/// How long the output of a server that ended is still read: what it answered last lies in the pipe.
const LAST_ANSWERS: Duration = Duration::from_millis(100);

/// How long a server that can be asked nothing any more may take to end by itself.
pub(super) const DEAF: Duration = Duration::from_secs(1);

/// How long a server that another took the place of may still answer, and how often that is looked at.
const UNUSED_WITHIN: Duration = Duration::from_secs(5);
const UNUSED_LOOK: Duration = Duration::from_millis(50);

/// How many lines of its error output a server's end is told with.
const TAIL_LINES: usize = 5;

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub id: String,
    pub client: Arc<Client>,
    /// What its program said of its version.
    pub version: String,
    /// The checkout's own programs that were not taken in its place.
    pub passed_over: Option<String>,
    pub(super) process: Process,
    used: Mutex<Instant>,
    busy: AtomicUsize,
}

/// Marks a server as used for as long as it lives.
#[derive(Debug)]
pub(crate) struct Use<'a>(&'a Running);

impl Running {
    pub(super) fn new(id: String, client: Client, process: Process, found: &Found) -> Self {
        Self {
            id,
            client: Arc::new(client),
            version: found.version.clone(),
            passed_over: trust::passed_over(found),
            process,
            used: Mutex::new(Instant::now()),
            busy: AtomicUsize::new(0),
        }
    }

    /// Marks it as used until what this gives is dropped.
    pub(crate) fn hold(&self) -> Use<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Use(self)
    }

    /// What it is known by, be it started anew.
    pub(crate) fn key(&self) -> Key {
        Key { id: self.id.clone(), root: self.client.root().to_owned() }
    }

    /// Counts as a use of it.
    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
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

    /// Ends it once nobody waits for an answer of it, within bounds.
    pub(super) async fn end_when_unused(&self) {
        let end = Instant::now() + UNUSED_WITHIN;
        while self.busy.load(Ordering::Relaxed) > 0 && Instant::now() < end {
            tokio::time::sleep(UNUSED_LOOK).await;
        }
        self.end().await;
    }

    /// Ends it: as the protocol has it, then by signals.
    pub(super) async fn end(&self) {
        self.client.shut_down(Instant::now() + SHUTDOWN).await;
        let steps = ShutdownSteps::new().after_stdin(END).after_term(END).after_kill(END);
        self.process.shutdown(&steps).await;
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        self.0.touch();
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How a server ended, with the last of its error output.
pub(super) fn ended(report: &ExitReport) -> String {
    let mut text = report.to_string();
    // The lines after the first are its error output.
    text.truncate(text.find('\n').unwrap_or(text.len()));
    let tail = &report.stderr[report.stderr.len().saturating_sub(TAIL_LINES)..];
    if !tail.is_empty() {
        let tail: Vec<_> =
            tail.iter().map(|line| format!("\"{}\"", line.replace('"', "'"))).collect();
        let _ = write!(text, "; its last words: {}", tail.join(" | "));
    }
    text
}

/// Ends the process of a server that can be asked nothing any more, and the calls to one whose process
/// ended while somebody else holds its output open.
pub(super) async fn watch_end(running: Weak<Running>) {
    let Some((deaf, mut exit)) =
        running.upgrade().map(|running| (running.client.ended(), running.process.exit_watch()))
    else {
        return;
    };
    tokio::select! {
        () = ended_and_read(exit.clone()) => {
            if let Some(running) = running.upgrade() {
                running.client.give_up();
            }
        }
        () = deaf => {
            if timeout(DEAF, exit.wait()).await.is_err()
                && let Some(running) = running.upgrade()
            {
                running.process.tree().kill();
            }
        }
    }
}

pub(super) async fn ended_and_read(mut exit: ExitWatch) {
    exit.wait().await;
    tokio::time::sleep(LAST_ANSWERS).await;
}
