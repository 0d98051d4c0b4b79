//! The one place through which everything that happens passes: it numbers, writes and fans out.

use std::{
    fmt,
    sync::{Arc, Mutex, Weak},
    time::{SystemTime, UNIX_EPOCH},
};

use agent_tool_core::{Context, Event, Events};

use crate::{
    Record, TRANSCRIPT_VERSION, Watcher, What, lock, transcript::Transcript, watch::Queue,
};

/// Numbers records under one lock, so that the transcript and every watcher see one order.
///
/// The transcript is written under that lock too: a line must be on its way before the next
/// thing happens. What is handed in as its writer should therefore not block for long.
#[derive(Default)]
pub(crate) struct Log {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seq: u64,
    watchers: Vec<Weak<Queue>>,
    transcript: Option<Transcript>,
    failure: Option<String>,
    closed: bool,
}

impl Log {
    pub(crate) fn new(transcript: Option<Transcript>) -> Self {
        Self { state: Mutex::new(State { transcript, ..State::default() }) }
    }

    /// Records what happened. The closure runs only where somebody listens.
    pub(crate) fn push(&self, what: impl FnOnce() -> What) {
        let mut state = lock(&self.state);
        state.seq += 1;
        if state.transcript.is_none() && state.watchers.is_empty() {
            return;
        }
        let record = state.record(what());
        if let Some(transcript) = &mut state.transcript
            && let Err(error) = transcript.write(&record)
        {
            let message = format!("the transcript ends here: {error}");
            tracing::warn!(%error, "the transcript could not be written");
            state.transcript = None;
            state.failure = Some(message.clone());
            state.tell(record);
            state.seq += 1;
            let record = state.record(What::TranscriptFailed { message });
            state.tell(record);
            return;
        }
        state.tell(record);
    }

    pub(crate) fn watch(&self, limit: usize) -> Watcher {
        let (queue, watcher) = Queue::new(limit);
        let mut state = lock(&self.state);
        if state.closed {
            queue.close();
        }
        state.watchers.push(Arc::downgrade(&queue));
        watcher
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

    pub(crate) fn failure(&self) -> Option<String> {
        lock(&self.state).failure.clone()
    }
}

impl State {
    fn record(&self, what: What) -> Record {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        Record { v: TRANSCRIPT_VERSION, seq: self.seq, at, what }
    }

    fn tell(&mut self, record: Record) {
        if self.watchers.is_empty() {
            return;
        }
        let record = Arc::new(record);
        self.watchers.retain(|watcher| match watcher.upgrade() {
            Some(queue) => {
                queue.push(&record);
                true
            }
            None => false,
        });
    }
}

impl Events for Log {
    fn emit(&self, cx: &Context, event: Event) {
        self.push(|| What::Event {
            call_id: cx.call_id().clone(),
            parent: cx.callers().last().map(|caller| caller.call_id.clone()),
            event,
        });
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("seq", &self.seq()).finish_non_exhaustive()
    }
}
