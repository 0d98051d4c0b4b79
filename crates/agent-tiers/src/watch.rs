//! A reader of what happens in a run.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex},
};

use tokio::sync::Notify;

use crate::{Record, lock};

/// How many records wait for a reader before it loses progress and output.
pub const WATCH_LIMIT: usize = 1_024;

/// Reads what happens in a run, from the moment of [`Run::watch`](crate::Run::watch) on.
///
/// Nobody waits for a reader. One that is too slow loses `Progress` and `Output`, and is told how
/// many; everything else is kept for it, since a lost `Changed` or `finished` would be a lie.
pub struct Watcher {
    queue: Arc<Queue>,
}

/// A record as a watcher gets it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Watched {
    /// How many records were lost just before this one.
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
                if let Some(watched) = waiting.records.pop_front() {
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
        lock(&self.queue.waiting).records.pop_front()
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
    records: VecDeque<Watched>,
    lost: u64,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(limit: usize) -> (Arc<Self>, Watcher) {
        let queue = Arc::new(Self { limit, waiting: Mutex::default(), news: Notify::new() });
        (Arc::clone(&queue), Watcher { queue })
    }

    pub(crate) fn push(&self, record: &Arc<Record>) {
        let mut waiting = lock(&self.waiting);
        if waiting.records.len() >= self.limit && record.what.is_lossy() {
            waiting.lost += 1;
            return;
        }
        let lost = std::mem::take(&mut waiting.lost);
        waiting.records.push_back(Watched { lost, record: Arc::clone(record) });
        drop(waiting);
        self.news.notify_one();
    }

    pub(crate) fn close(&self) {
        lock(&self.waiting).closed = true;
        self.news.notify_one();
    }
}
