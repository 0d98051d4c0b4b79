//! The transcript: one JSON object a line, written by a thread of its own.

use std::{
    error::Error,
    fmt,
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use agent_tool_core::panic_message;
use serde::Serialize;
use tokio::sync::Notify;

use crate::{Record, TRANSCRIPT_VERSION, What, lock, record::Gap};

/// How many bytes of lines wait for a slow writer. What comes on top is left out, and a line of
/// type `gap` says how much; progress and output are left out from half of it on.
pub const TRANSCRIPT_BACKLOG: usize = 16 * 1024 * 1024;

/// A buffer that a burst made larger than this is let go after it.
const KEPT_BUFFER: usize = 1024 * 1024;

/// How long lines gather before they are written together, where nobody waits for them.
const GATHER: Duration = Duration::from_millis(2);

/// Room for the line of a common record.
const COMMON_LINE: usize = 256;

/// Why a transcript ends before its run.
#[derive(Clone, Debug)]
pub struct TranscriptError {
    source: Arc<io::Error>,
}

impl fmt::Display for TranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the transcript ends here: {}", self.source)
    }
}

impl Error for TranscriptError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// Lines on their way to what the host handed in.
///
/// Nobody waits for the writer: it works on a thread of its own, takes all lines that wait at once
/// and flushes after them, so that a run that is killed leaves a transcript of whole lines up to
/// its last one. The first failure ends the writing: a line after it would claim that nothing is
/// missing.
pub(crate) struct Transcript {
    desk: Arc<Desk>,
    backlog: usize,
}

/// What those who append share with the thread that writes.
#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    /// Wakes the thread.
    work: Condvar,
    /// Wakes those who wait for it, in threads and in tasks.
    done: Condvar,
    news: Notify,
    failed: AtomicBool,
    tell_failure: Option<TellFailure>,
}

/// Tells those who watch that the writing ended.
type TellFailure = Box<dyn Fn(&TranscriptError) + Send + Sync>;

#[derive(Default)]
struct State {
    lines: Vec<u8>,
    gap: Gap,
    /// How many records were appended, and how many of them the writer is done with.
    appended: u64,
    written: u64,
    /// Whether the thread waits to be woken by the next line.
    idle: bool,
    /// Whether somebody waits for what was appended.
    hurried: bool,
    /// Whether nobody appends any more.
    ended: bool,
    failure: Option<TranscriptError>,
}

impl Transcript {
    /// Starts the thread. `failed` is called once, where the writing ends early.
    pub(crate) fn start(
        writer: impl Write + Send + 'static,
        backlog: usize,
        failed: impl Fn(&TranscriptError) + Send + Sync + 'static,
    ) -> Self {
        let tell_failure = Some(Box::new(failed) as TellFailure);
        let desk = Arc::new(Desk { tell_failure, ..Desk::default() });
        let at_work = Arc::clone(&desk);
        let name = "transcript".to_owned();
        let work = move || at_work.write_all(writer);
        if let Err(error) = thread::Builder::new().name(name).spawn(work) {
            desk.fail(error);
        }
        Self { desk, backlog }
    }

    /// The body of a record's line, in the transcript's own words; none once the writing ended.
    pub(crate) fn body(&self, what: &What) -> Option<Vec<u8>> {
        if self.desk.failed.load(Ordering::Relaxed) {
            return None;
        }
        let clipped = what.clipped();
        let mut body = Vec::with_capacity(COMMON_LINE);
        match clipped
            .as_ref()
            .unwrap_or(what)
            .serialize(&mut serde_json::Serializer::new(&mut body))
        {
            Ok(()) => Some(body),
            Err(error) => {
                self.desk.fail(error.into());
                None
            }
        }
    }

    /// Appends the line of a record, or leaves it out where too much waits already.
    pub(crate) fn append(&self, record: &Record, body: &[u8]) {
        let lossy = record.what.is_lossy();
        let room = if lossy { self.backlog / 2 } else { self.backlog };
        let mut state = lock(&self.desk.state);
        if state.failure.is_some() {
            return;
        }
        if state.lines.len() + body.len() > room {
            state.gap.add(record);
        } else {
            state.say_gap();
            state.line(record.seq, record.at, body);
        }
        state.appended += 1;
        if std::mem::take(&mut state.idle) {
            drop(state);
            self.desk.work.notify_one();
        }
    }

    /// Waits until what was appended so far is written.
    pub(crate) async fn flushed(&self) -> Result<(), TranscriptError> {
        let upto = self.desk.hurry(&mut lock(&self.desk.state));
        loop {
            let news = self.desk.news.notified();
            {
                let state = lock(&self.desk.state);
                if let Some(failure) = &state.failure {
                    return Err(failure.clone());
                }
                if state.written >= upto {
                    return Ok(());
                }
            }
            news.await;
        }
    }

    /// The same in a thread, for so long at most. Gives back whether all is written.
    pub(crate) fn flushed_within(&self, limit: Duration) -> bool {
        let mut state = lock(&self.desk.state);
        let upto = self.desk.hurry(&mut state);
        let waits = |state: &mut State| state.failure.is_none() && state.written < upto;
        let waited = self.desk.done.wait_timeout_while(state, limit, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.failure.is_none() && state.written >= upto
    }

    pub(crate) fn failure(&self) -> Option<TranscriptError> {
        lock(&self.desk.state).failure.clone()
    }
}

impl Drop for Transcript {
    /// The thread writes what waits and then ends.
    fn drop(&mut self) {
        lock(&self.desk.state).ended = true;
        self.desk.work.notify_one();
    }
}

impl Desk {
    fn write_all(&self, mut writer: impl Write) {
        let mut lines = Vec::new();
        while let Some(upto) = self.take(&mut lines) {
            let write = AssertUnwindSafe(|| writer.write_all(&lines).and_then(|()| writer.flush()));
            let result = catch_unwind(write).unwrap_or_else(|panic| {
                Err(io::Error::other(format!("the writer panicked: {}", panic_message(&*panic))))
            });
            if let Err(error) = result {
                return self.fail(error);
            }
            lock(&self.state).written = upto;
            self.tell();
            lines.clear();
            if lines.capacity() > KEPT_BUFFER {
                lines = Vec::new();
            }
        }
    }

    /// Waits for lines and takes all of them; none where there will be no more.
    ///
    /// After some were written others are let gather for a moment: waking a thread for each line
    /// would cost a call more than all the rest of it.
    fn take(&self, lines: &mut Vec<u8>) -> Option<u64> {
        let mut state = lock(&self.state);
        if state.written > 0 {
            let gathers = |state: &mut State| !state.hurried && !state.ended;
            let waited = self.work.wait_timeout_while(state, GATHER, gathers);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        loop {
            if state.written < state.appended {
                state.hurried = false;
                state.say_gap();
                std::mem::swap(&mut state.lines, lines);
                return Some(state.appended);
            }
            if state.ended {
                return None;
            }
            state.hurried = false;
            state.idle = true;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has the thread write at once. Gives back how many records that are.
    fn hurry(&self, state: &mut State) -> u64 {
        if state.written < state.appended {
            state.hurried = true;
            self.work.notify_one();
        }
        state.appended
    }

    /// Those who watch hear of it before those who wait for the transcript do.
    fn fail(&self, error: io::Error) {
        if self.failed.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::warn!(%error, "the transcript could not be written");
        let failure = TranscriptError { source: Arc::new(error) };
        if let Some(tell) = &self.tell_failure {
            tell(&failure);
        }
        let mut state = lock(&self.state);
        state.lines = Vec::new();
        state.failure = Some(failure);
        drop(state);
        self.tell();
    }

    fn tell(&self) {
        self.done.notify_all();
        self.news.notify_waiters();
    }
}

/// What every line begins with.
#[derive(Serialize)]
struct Head {
    v: u32,
    seq: u64,
    at: u64,
}

impl State {
    fn line(&mut self, seq: u64, at: u64, body: &[u8]) {
        let head = Head { v: TRANSCRIPT_VERSION, seq, at };
        // Numbers alone in a vector: nothing in it can fail.
        let _ = serde_json::to_writer(&mut self.lines, &head);
        // The body is an object too, and never empty: its type comes first.
        if let Some(end) = self.lines.last_mut() {
            *end = b',';
        }
        self.lines.extend_from_slice(body.strip_prefix(b"{").unwrap_or(body));
        self.lines.push(b'\n');
    }

    /// Says what was left out since the last line, where anything was.
    fn say_gap(&mut self) {
        if let Some(gap) = self.gap.take()
            && let Ok(body) = serde_json::to_vec(&gap.what)
        {
            self.line(gap.seq, gap.at, &body);
        }
    }
}
