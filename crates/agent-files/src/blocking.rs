//! Work that computes or reads files, on the pool that may block.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use agent_tool_core::{Context, ErrorKind, Event, ToolError};

/// The least time between two words about progress, and before the first: work that is done sooner
/// says nothing, and no watcher is flooded.
pub const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// Says that nobody waits for the work any more, and tells whoever does how far it is. A clone is
/// the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    told: Option<Arc<Told>>,
}

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

    /// Whether the flag is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Tells how far the work is, unless that was said a moment ago.
    pub(crate) fn progress(&self, message: &str, done: usize, total: usize) {
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

    pub(crate) fn shared(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

/// Runs the work there. Dropping the future sets the flag; the work ends when it looks at it.
pub(crate) async fn blocking<T: Send + 'static>(
    cx: &Context,
    work: impl FnOnce(&Stop) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = Stop::new().telling(cx);
    let guard = SetOnDrop(stop.clone());
    let joined = tokio::task::spawn_blocking(move || work(&stop)).await;
    drop(guard);
    match joined {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(ToolError::new(
            ErrorKind::Cancelled,
            "stopped",
            "the program is ending, so the call was not made",
        )
        .with_source(error)),
    }
}

struct SetOnDrop(Stop);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_work_is_a_panic_of_the_call() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.expect("a runtime");
        let panics = || runtime.block_on(blocking::<()>(|_| panic!("no such state")));
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
        let panic = panic.expect_err("the panic goes on");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"no such state"));
    }
}
