use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{Context, ErrorKind, Event, ToolError};

/// The least time between two words about progress, and before the first: work that is done sooner
/// says nothing, and no watcher is flooded.
pub const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// Says to work on another thread that nobody waits for it any more, and to whoever watches the call
/// how far the work is. A clone is the same flag.
///
/// Cancelling a call is dropping its future, which blocking work does not feel: it looks at this
/// flag, which [`Stop::on_drop`] sets.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    told: Option<Arc<Told>>,
}

/// Sets a [`Stop`] when it is dropped.
#[derive(Debug)]
#[must_use = "dropping it sets the flag"]
pub struct StopOnDrop(Stop);

/// Who is told, and when that was last.
#[derive(Debug)]
struct Told {
    cx: Context,
    last: Mutex<Instant>,
}

impl Stop {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same flag, with the watchers of a call told of progress, at most once in
    /// [`PROGRESS_EVERY`].
    #[must_use]
    pub fn telling(self, cx: &Context) -> Self {
        let told = Told { cx: cx.clone(), last: Mutex::new(Instant::now()) };
        Self { told: Some(Arc::new(told)), ..self }
    }

    /// Sets the flag.
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Sets the flag when what it gives is dropped: with the future of a call.
    pub fn on_drop(&self) -> StopOnDrop {
        StopOnDrop(self.clone())
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// An error once the flag is set, for a place in the work at which nothing was changed yet.
    ///
    /// # Errors
    /// `stopped`.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.is_set() {
            let message = "the call was cancelled before it changed anything";
            return Err(ToolError::new(ErrorKind::Cancelled, "stopped", message));
        }
        Ok(())
    }

    /// The flag itself, for code that knows no tools.
    #[must_use]
    pub fn shared(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// Tells how far the work is, unless that was said a moment ago.
    pub fn progress(&self, message: &str, done: usize, total: usize) {
        let Some(told) = &self.told else { return };
        let mut last = told.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() < PROGRESS_EVERY {
            return;
        }
        *last = Instant::now();
        told.cx.emit(Event::Progress {
            message: message.to_owned(),
            done: u64::try_from(done).ok(),
            total: u64::try_from(total).ok(),
        });
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}
