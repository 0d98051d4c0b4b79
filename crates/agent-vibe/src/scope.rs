//! What belongs to a worker and ends with it.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use tokio::sync::watch;

use crate::lock;

/// The scope of one worker, through all of its attempts. It ends when the worker is killed, when vibe
/// mode is turned off and when the run ends, and not when an attempt is done: a message may
/// start the next. A clone means the same scope.
///
/// What lives in the future of an attempt needs no scope, since that future is dropped: calls, cards,
/// processes whose handle it holds. A scope is for what outlives an attempt, such as a
/// conversation, an interpreter or a task of the worker's own.
#[derive(Clone)]
pub struct WorkerScope {
    inner: Arc<Inner>,
}

struct Inner {
    over: watch::Sender<bool>,
    kept: Mutex<Vec<Kept>>,
}

/// A thing that is dropped with a scope.
pub(crate) type Kept = Box<dyn Send>;

impl WorkerScope {
    pub(crate) fn new() -> Self {
        let over = watch::Sender::new(false);
        Self { inner: Arc::new(Inner { over, kept: Mutex::default() }) }
    }

    /// Keeps a thing until the scope ends, and drops it then; at once where the scope is over.
    pub fn keep(&self, thing: impl Send + 'static) {
        let mut kept = lock(&self.inner.kept);
        if !self.is_over() {
            kept.push(Box::new(thing));
        }
    }

    /// Whether the scope has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        *self.inner.over.borrow()
    }

    /// Waits until the scope ends.
    pub async fn over(&self) {
        // The sender is held by the scope itself, so the wait has no other end.
        let _ = self.inner.over.subscribe().wait_for(|over| *over).await;
    }

    /// Ends the scope and gives what it kept, to be dropped where that may take its time.
    pub(crate) fn end(&self) -> Vec<Kept> {
        let mut kept = lock(&self.inner.kept);
        self.inner.over.send_replace(true);
        std::mem::take(&mut *kept)
    }
}

impl fmt::Debug for WorkerScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerScope").field("over", &self.is_over()).finish_non_exhaustive()
    }
}
