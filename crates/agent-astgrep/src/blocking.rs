//! Work that computes or reads files, on the pool that may block.

use agent_tool_core::{Context, ErrorKind, Stop, ToolError};

/// Runs the work there. Dropping the future sets the flag; the work ends when it looks at it.
pub(crate) async fn blocking<T: Send + 'static>(
    cx: &Context,
    work: impl FnOnce(&Stop) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = Stop::new().telling(cx);
    let _guard = stop.on_drop();
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(result) => result,
        // The runtime above makes an error of the call of it.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => {
            let message = "the program is ending, so the call was not made";
            Err(ToolError::new(ErrorKind::Cancelled, "stopped", message).with_source(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_work_is_a_panic_of_the_call() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.expect("a runtime");
        let panics =
            || runtime.block_on(blocking::<()>(&Context::detached(), |_| panic!("no such state")));
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
        let panic = panic.expect_err("the panic goes on");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"no such state"));
    }
}
