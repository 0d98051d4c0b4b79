//! One call, as the tool that carries it out sees it.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};

use super::{lock, output::Output};

/// Whether a call is still wanted, and where to say how far it is.
#[derive(Debug)]
pub struct Call {
    cancelled: AtomicBool,
    progress: Option<Progress>,
}

#[derive(Debug)]
struct Progress {
    token: Value,
    told: Mutex<u64>,
    output: Arc<Output>,
}

impl Call {
    /// A call that nobody cancels or watches.
    pub fn detached() -> Self {
        Self { cancelled: AtomicBool::new(false), progress: None }
    }

    pub(crate) fn new(token: Option<Value>, output: Arc<Output>) -> Self {
        let progress = token.map(|token| Progress { token, told: Mutex::new(0), output });
        Self { progress, ..Self::detached() }
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    /// Whether the client gave it up: whatever comes of it, nobody is told.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Tells the client that `done` of `total` is done, if it asked to be told. What is not more than before is not said.
    pub fn progress(&self, done: u64, total: u64) {
        let Some(progress) = &self.progress else { return };
        let mut told = lock(&progress.told);
        if done <= *told || self.is_cancelled() {
            return;
        }
        *told = done;
        progress.output.send(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": progress.token, "progress": done, "total": total},
        }));
    }
}
