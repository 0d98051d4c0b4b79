//! A panic as a value.

use std::{
    any::Any,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

use agent_tool_core::clip;

/// How many characters of a panic's message are repeated.
const MESSAGE_LIMIT: usize = 500;

/// Awaits a future; a panic inside comes back as its message.
///
/// No task is spawned for it: dropping the outer future must drop the inner one at once, and the
/// crate stays free of a runtime.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panic) => Poll::Ready(Err(message(panic.as_ref()))),
    })
    .await
}

/// What a panic said.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    clip(text.unwrap_or("no message"), MESSAGE_LIMIT).text
}
