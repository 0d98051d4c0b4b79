//! Messages out, each one line and whole.

use std::{
    fmt,
    io::{self, Write},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::Value;

use super::lock;

/// Where messages go. Whoever sends waits for a client that does not read: nothing piles up in memory.
pub(crate) struct Output {
    writer: Mutex<Writer>,
    closed: AtomicBool,
}

struct Writer {
    to: Box<dyn Write + Send>,
    error: Option<io::Error>,
}

impl Output {
    pub(crate) fn new(to: impl Write + Send + 'static) -> Self {
        let writer = Writer { to: Box::new(to), error: None };
        Self { writer: Mutex::new(writer), closed: AtomicBool::new(false) }
    }

    pub(crate) fn send(&self, message: &Value) {
        let line = serde_json::to_vec(message).map(|mut line| {
            line.push(b'\n');
            line
        });
        let mut writer = lock(&self.writer);
        if writer.error.is_some() {
            return;
        }
        let sent = line.map_err(io::Error::from).and_then(|line| writer.to.write_all(&line));
        let sent = sent.and_then(|()| writer.to.flush());
        if let Err(error) = sent {
            // Half a line may be out: nothing may follow it.
            writer.error = Some(error);
            self.closed.store(true, Ordering::Release);
        }
    }

    /// Whether nobody can be answered any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// How the writing went. That a client went away is its right.
    pub(crate) fn result(&self) -> io::Result<()> {
        // A worker that waits for a client holds the lock; what it waits for cannot have failed yet.
        let Ok(mut writer) = self.writer.try_lock() else { return Ok(()) };
        match writer.error.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}
