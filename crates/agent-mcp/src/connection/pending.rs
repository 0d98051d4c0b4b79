//! A request that is not answered yet.

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleClient, ServiceError,
    model::{ErrorData, ServerResult},
    service::RequestHandle,
};
use serde_json::Value;
use tokio::{runtime::Handle, sync::watch, time::timeout};

use crate::wire::{TOO_LARGE, UNREADABLE};

/// What a server is told with a request that nobody waits for any more.
const ABANDONED: &str = "the caller stopped waiting";

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The server was gone before; why.
    NotSent(String),
    /// The server answered with an error.
    Rejected(ErrorData),
    /// The answer was too large, in bytes.
    TooLarge(u64),
    /// The answer could not be read; why.
    Unreadable(String),
    /// The server went away with the request; why.
    Lost(String),
    /// It took too long, and the server was told so.
    TimedOut(Duration),
}

impl Unanswered {
    pub(super) fn of(error: ErrorData) -> Self {
        match error.code.0 {
            TOO_LARGE => {
                let bytes = error.data.as_ref().and_then(|data| data.get("bytes"));
                Self::TooLarge(bytes.and_then(Value::as_u64).unwrap_or_default())
            }
            UNREADABLE => Self::Unreadable(error.message.into_owned()),
            _ => Self::Rejected(error),
        }
    }
}

/// Dropped before it is answered, it is cancelled.
pub(super) struct Pending {
    handle: Option<RequestHandle<RoleClient>>,
    cancels: Cancels,
}

/// The cancels of one connection that are on their way to the server. A clone means the same.
#[derive(Clone, Debug)]
pub(super) struct Cancels(Arc<watch::Sender<usize>>);

impl Cancels {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// Waits until none is, or for so long.
    pub(super) async fn are_sent(&self, within: Duration) {
        let mut on_their_way = self.0.subscribe();
        let _late = timeout(within, on_their_way.wait_for(|count| *count == 0)).await;
    }
}

impl Pending {
    pub(super) fn new(handle: RequestHandle<RoleClient>, cancels: &Cancels) -> Self {
        Self { handle: Some(handle), cancels: cancels.clone() }
    }

    /// The result, the server's error, or none where the server is gone.
    pub(super) async fn answer(&mut self) -> Result<Value, Option<ErrorData>> {
        let Some(handle) = &mut self.handle else { return Err(None) };
        let answer = (&mut handle.rx).await;
        self.handle = None;
        match answer {
            Ok(Ok(ServerResult::CustomResult(result))) => Ok(result.0),
            Ok(Err(ServiceError::McpError(error))) => Err(Some(error)),
            // The wire gives every result as it came, so what is left is a pipe that broke.
            _ => Err(None),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.handle.take(), Handle::try_current()) {
            let cancels = self.cancels.clone();
            cancels.0.send_modify(|count| *count += 1);
            runtime.spawn(async move {
                let _gone = handle.cancel(Some(ABANDONED.to_owned())).await;
                cancels.0.send_modify(|count| *count -= 1);
            });
        }
    }
}
