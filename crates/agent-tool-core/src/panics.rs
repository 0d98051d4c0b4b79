//! A panic as a value.

use std::{
    any::Any,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

use crate::clip;

/// How many characters of a panic's message are repeated.
const MESSAGE_LIMIT: usize = 500;

/// Awaits a future of somebody else's; a panic inside comes back as its message, so that it fails one
/// call and not who made it.
///
/// No task is spawned for it: dropping the outer future drops the inner one at once, and no
/// runtime is needed.
///
/// # Errors
///
/// What the panic said.
///
/// ```
/// # use agent_tool_core::caught;
/// let broken = caught(async { if true { panic!("no port") } });
/// assert_eq!(pollster::block_on(broken), Err("no port".to_owned()));
/// ```
pub async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panic) => Poll::Ready(Err(panic_message(panic.as_ref()))),
    })
    .await
}

/// What a caught panic said.
#[must_use]
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    clip(text.unwrap_or("no message"), MESSAGE_LIMIT).text
}
