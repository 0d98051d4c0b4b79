//! The one place through which everything that happens passes: it numbers and fans out.

use std::{
    fmt,
    io::Write,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agent_tool_core::{CallId, Context, Event, Events, Secrets};

use crate::{
    Record, TRANSCRIPT_BACKLOG, TRANSCRIPT_VERSION, TranscriptError, Watcher, What, hiding::Hiding,
    lock, transcript::Transcript, watch::Queue,
};

/// Numbers records under one lock, so that the transcript and every watcher see one order. What
/// costs time (making a record, its line, writing it) is done outside of the lock.
#[derive(Default)]
pub(crate) struct Log {
    state: Mutex<State>,
    transcript: Option<Transcript>,
    pub(crate) hiding: Hiding,
    /// Whether anybody ever listened: without it records are counted and not made.
    heard: AtomicBool,
}

#[derive(Default)]
struct State {
    seq: u64,
    watchers: Vec<Weak<Queue>>,
    closed: bool,
}

impl Log {
    /// A log that tells no secrets, and whose records are written too where there is a transcript.
    pub(crate) fn new(transcript: Option<Box<dyn Write + Send>>, secrets: Secrets) -> Arc<Self> {
        let hiding = Hiding::of(secrets);
        let Some(writer) = transcript else {
            return Arc::new(Self { hiding, ..Self::default() });
        };
        Arc::new_cyclic(|log: &Weak<Self>| {
            let log = log.clone();
            let failed = move |failure: &TranscriptError| {
                if let Some(log) = log.upgrade() {
                    let message = failure.to_string();
                    log.push(|| What::TranscriptFailed { message });
                }
            };
            let transcript = Some(Transcript::start(writer, TRANSCRIPT_BACKLOG, failed));
            Self { transcript, hiding, heard: AtomicBool::new(true), ..Self::default() }
        })
    }

    /// Records what happened. The closure runs only where somebody listens.
    pub(crate) fn push(&self, what: impl FnOnce() -> What) {
        if !self.heard.load(Ordering::Relaxed) {
            lock(&self.state).seq += 1;
            return;
        }
        let what = what();
        let line = self.transcript.as_ref().and_then(|to| Some((to, to.body(&what)?)));
        let weight = what.weight();
        let mut state = lock(&self.state);
        let record = state.number(what);
        if let Some((transcript, body)) = line {
            transcript.append(&record, &body);
        }
        state.tell(record, weight);
    }

    pub(crate) fn watch(&self, limit: usize) -> Watcher {
        let (queue, watcher) = Queue::new(limit);
        let mut state = lock(&self.state);
        if state.closed {
            queue.close();
        }
        state.watchers.push(Arc::downgrade(&queue));
        self.heard.store(true, Ordering::Relaxed);
        watcher
    }

    /// Tells the end of a call's output that waited for the rest of what may have been a secret.
    pub(crate) fn tell_rest(&self, call_id: &CallId) {
        if let Some((parent, event)) = self.hiding.rest(call_id) {
            self.push(|| What::Event { call_id: call_id.clone(), parent, event });
        }
    }

    /// Ends the watchers once they have read what is there.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.watchers.iter().filter_map(Weak::upgrade).for_each(|queue| queue.close());
    }

    pub(crate) fn seq(&self) -> u64 {
        lock(&self.state).seq
    }

    pub(crate) fn failure(&self) -> Option<TranscriptError> {
        self.transcript.as_ref()?.failure()
    }

    pub(crate) async fn flushed(&self) -> Result<(), TranscriptError> {
        match &self.transcript {
            Some(transcript) => transcript.flushed().await,
            None => Ok(()),
        }
    }

    /// Whether all is written, within this time.
    pub(crate) fn flushed_within(&self, limit: Duration) -> bool {
        self.transcript.as_ref().is_none_or(|transcript| transcript.flushed_within(limit))
    }
}

impl State {
    fn number(&mut self, what: What) -> Record {
        self.seq += 1;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        Record { v: TRANSCRIPT_VERSION, seq: self.seq, at, what }
    }

    fn tell(&mut self, record: Record, weight: usize) {
        if self.watchers.is_empty() {
            return;
        }
        let record = Arc::new(record);
        self.watchers.retain(|watcher| match watcher.upgrade() {
            Some(queue) => {
                queue.push(&record, weight);
                true
            }
            None => false,
        });
    }
}

impl Events for Log {
    fn emit(&self, cx: &Context, event: Event) {
        let call_id = cx.call_id();
        let parent = cx.callers().last().map(|caller| caller.call_id.clone());
        for (parent, event) in self.hiding.event(call_id, parent, event) {
            self.push(|| What::Event { call_id: call_id.clone(), parent, event });
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("seq", &self.seq()).finish_non_exhaustive()
    }
}
