//! The calls of a worker end with its attempt.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll};

use agent_tool_core::{
    BoxFuture, CallId, Context, Dispatch, ErrorKind, Limits, ToolCall, ToolError, ToolResult,
    ToolSpec,
};

use crate::attempt::Attempt;

/// A worker's way into the run for as long as one attempt lasts. What the worker left running
/// elsewhere calls nothing afterwards, and a call that is under way when the attempt ends is dropped,
/// with its card: that a worker stopped must not hang on its own good will.
#[derive(Clone)]
pub(crate) struct Leash {
    pub(crate) dispatch: Arc<dyn Dispatch>,
    pub(crate) attempt: Arc<Attempt>,
}

impl Dispatch for Leash {
    fn specs(&self) -> Vec<ToolSpec> {
        if self.attempt.end().is_some() { Vec::new() } else { self.dispatch.specs() }
    }

    fn call<'a>(&'a self, call: ToolCall, parent: &'a Context) -> BoxFuture<'a, ToolResult> {
        if self.attempt.end().is_some() {
            return Box::pin(std::future::ready(Err(worker_ended())));
        }
        // Made now and not when it is polled: calls arrive in the order in which they are made.
        let call = self.dispatch.call(call, parent);
        Box::pin(async move {
            let (mut ended, mut call) = (pin!(self.attempt.ended()), call);
            poll_fn(|cx| match ended.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(Err(worker_ended())),
                Poll::Pending => call.as_mut().poll(cx),
            })
            .await
        })
    }

    fn narrow(&self, limits: Limits) -> Arc<dyn Dispatch> {
        let dispatch = self.dispatch.narrow(limits);
        Arc::new(Self { dispatch, attempt: Arc::clone(&self.attempt) })
    }

    fn note_wait(&self, other: &CallId, waiter: &Context) -> Box<dyn Send> {
        self.dispatch.note_wait(other, waiter)
    }

    fn held_from(&self, other: &CallId, holder: &Context) -> Option<String> {
        self.dispatch.held_from(other, holder)
    }
}

fn worker_ended() -> ToolError {
    let message = "the worker's attempt that this call belongs to is over, so the call is too; what it \
                   had done stays";
    ToolError::new(ErrorKind::Cancelled, "worker_ended", message)
}
