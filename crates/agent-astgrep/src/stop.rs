//! Work on the blocking pool that ends soon after nobody waits for it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use agent_tool_core::{ErrorKind, ToolError};

/// A flag that says that nobody waits any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn shared(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if self.0.load(Ordering::Relaxed) {
            let message = "the call was cancelled before it changed anything";
            return Err(ToolError::new(ErrorKind::Cancelled, "stopped", message));
        }
        Ok(())
    }
}

struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Does blocking work. Dropping the future sets the work's flag; a commit of files looks at it
/// before it begins and not afterwards.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&Stop) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let waiting = Waiting(Stop::default());
    let stop = waiting.0.clone();
    let done = tokio::task::spawn_blocking(move || work(&stop)).await;
    match done {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            // The runtime above makes an error of the call of it.
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => {
                let message = "the runtime is shutting down; nothing was done";
                Err(ToolError::new(ErrorKind::Cancelled, "stopped", message).with_source(error))
            }
        },
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
