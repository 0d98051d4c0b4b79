//! A reader of what happens in a run.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex},
};

use tokio::sync::Notify;

use crate::{Record, lock, record::Gap};

/// How many records wait for a reader before it loses progress and output.
pub const WATCH_LIMIT: usize = 1_024;

/// How many records wait for a reader before it misses whatever comes.
pub const WATCH_RECORDS: usize = 8 * WATCH_LIMIT;

/// How many bytes of records wait for a reader before it misses whatever comes; from half of it on
/// it loses progress and output.
pub const WATCH_BYTES: usize = 32 * 1024 * 1024;

/// Reads what happens in a run, from the moment of [`Run::watch`](crate::Run::watch) on.
///
/// Nobody waits for a reader. One that is too slow loses `Progress` and `Output` first, and is told
/// how many. One that has stalled, so that [`WATCH_RECORDS`] or [`WATCH_BYTES`] wait, misses
/// everything else too: where it goes on reading it gets a [`What::Gap`](crate::What::Gap) in the
/// place of what is missing. Since a change or an end may be among that, it should then ask what
/// is under way.
pub struct Watcher {
    queue: Arc<Queue>,
}

/// A record as a watcher gets it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Watched {
    /// How many records of progress and output were lost just before this one.
    pub lost: u64,
    /// The record.
    pub record: Arc<Record>,
}

impl Watcher {
    /// The next record; none once the run is over and everything was read.
    pub async fn next(&mut self) -> Option<Watched> {
        loop {
            {
                let mut waiting = lock(&self.queue.waiting);
                if let Some(watched) = waiting.pop() {
                    return Some(watched);
                }
                if waiting.closed {
                    return None;
                }
            }
            self.queue.news.notified().await;
        }
    }

    /// The next record, if one is there already.
    pub fn try_next(&mut self) -> Option<Watched> {
        lock(&self.queue.waiting).pop()
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = lock(&self.queue.waiting).records.len();
        f.debug_struct("Watcher").field("waiting", &waiting).finish_non_exhaustive()
    }
}

/// The run's end of a watcher.
pub(crate) struct Queue {
    limit: usize,
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Default)]
struct Waiting {
    /// With each record what it weighs.
    records: VecDeque<(Watched, usize)>,
    bytes: usize,
    gap: Gap,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(limit: usize) -> (Arc<Self>, Watcher) {
        let queue = Arc::new(Self { limit, waiting: Mutex::default(), news: Notify::new() });
        (Arc::clone(&queue), Watcher { queue })
    }

    pub(crate) fn push(&self, record: &Arc<Record>, weight: usize) {
        let mut waiting = lock(&self.waiting);
        let (records, bytes) = match record.what.is_lossy() {
            true => (self.limit, WATCH_BYTES / 2),
            false => (WATCH_RECORDS, WATCH_BYTES),
        };
        let full = waiting.records.len() >= records || waiting.bytes + weight > bytes;
        // A record that is too heavy by itself has a place in an empty queue.
        if full && (!waiting.records.is_empty() || records == 0) {
            waiting.gap.add(record);
            return;
        }
        waiting.say_gap();
        let lost = waiting.gap.take_lost();
        waiting.put(Watched { lost, record: Arc::clone(record) }, weight);
        drop(waiting);
        self.news.notify_one();
    }

    pub(crate) fn close(&self) {
        lock(&self.waiting).closed = true;
        self.news.notify_one();
    }
}

impl Waiting {
    fn put(&mut self, watched: Watched, weight: usize) {
        self.bytes += weight;
        self.records.push_back((watched, weight));
    }

    fn pop(&mut self) -> Option<Watched> {
        if self.records.is_empty() {
            self.say_gap();
        }
        let (watched, weight) = self.records.pop_front()?;
        self.bytes -= weight;
        Some(watched)
    }

    /// Puts a gap in the place of what is missing. Progress and output alone are no gap: their
    /// number comes with the next record.
    fn say_gap(&mut self) {
        let at_the_end = self.closed && self.records.is_empty();
        if (self.gap.is_grave() || at_the_end)
            && let Some(gap) = self.gap.take()
        {
            self.put(Watched { lost: 0, record: Arc::new(gap) }, 0);
        }
    }
}
