//! The pipe to a server: one JSON-RPC message a line.
//!
//! It stands in for the SDK's own transport, which passes over an answer that is too long and leaves its call waiting, answers what
//! is no message, and reads without end what a server floods it with. Here an answer is kept as it came, and whoever asked
//! reads it. See the decision on the SDK's client in this project's `docs/decisions`.

mod form;
mod incoming;
mod lines;
mod noise;
#[cfg(test)]
mod sdk;
mod skim;

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_tool_core::Secrets;
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Serialize;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    time::Instant,
};

use self::lines::{LineReader, Piece};
pub(crate) use self::{
    incoming::{Incoming, TOO_LARGE, UNREADABLE},
    lines::MAX_MESSAGE_BYTES,
    noise::Noise,
};
use crate::handler::Calls;

/// So much of a line that is no message is looked at.
const NOISE_BYTES: usize = 400;

type Input = Box<dyn AsyncWrite + Send + Unpin>;
type Output = Box<dyn AsyncRead + Send + Unpin>;

/// Both directions of one server's pipe.
pub(crate) struct Wire {
    lines: LineReader<Output>,
    input: Arc<tokio::sync::Mutex<Option<Input>>>,
    shared: Arc<WireState>,
}

/// What is known of a pipe while the SDK has it.
#[derive(Debug, Default)]
pub(crate) struct WireState {
    /// The calls whose progress is told.
    pub(crate) calls: Calls,
    noise: Mutex<Noise>,
    secrets: Secrets,
    /// When the last answer came.
    heard: Mutex<Option<Instant>>,
    /// Whether the server may ask something of its client.
    takes_requests: AtomicBool,
}

impl WireState {
    /// What the server wrote that is no message.
    pub(crate) fn noise(&self) -> Noise {
        self.noise.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on the server's own requests are taken, as the older revisions have them.
    pub(crate) fn take_requests(&self) {
        self.takes_requests.store(true, Ordering::Relaxed);
    }

    /// A text about the server without what it was given as a secret.
    pub(crate) fn hidden(&self, text: String) -> String {
        self.secrets.hidden(text)
    }

    /// Counts what is no message; none once it is too much.
    fn count(&self, line: &[u8], bytes: u64) -> Option<()> {
        let start = String::from_utf8_lossy(&line[..line.len().min(NOISE_BYTES)]);
        let start = self.secrets.hidden(start.into_owned());
        self.noise.lock().unwrap_or_else(PoisonError::into_inner).count(&start, bytes)
    }

    /// When the last answer came, if one did. What tells of progress may be a thread of its own beside one that hangs.
    pub(crate) fn heard(&self) -> Option<Instant> {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn message_came(&self, incoming: &Incoming) {
        if let Incoming::Result { .. } | Incoming::Error { .. } = incoming {
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        self.noise.lock().unwrap_or_else(PoisonError::into_inner).message_came();
    }
}

impl Wire {
    /// A pipe of a server that was given these secrets: none of them comes out of it.
    pub(crate) fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        secrets: Secrets,
    ) -> Self {
        Self {
            lines: LineReader::new(Box::new(output)),
            input: Arc::new(tokio::sync::Mutex::new(Some(Box::new(input)))),
            shared: Arc::new(WireState { secrets, ..WireState::default() }),
        }
    }

    pub(crate) fn state(&self) -> Arc<WireState> {
        Arc::clone(&self.shared)
    }

    /// Writes one message. The future holds no borrow of the wire.
    pub(crate) fn write<M: Serialize>(
        &self,
        message: &M,
    ) -> impl Future<Output = io::Result<()>> + Send + use<M> {
        let line = serde_json::to_vec(message);
        let input = Arc::clone(&self.input);
        async move {
            let mut line = line?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let pipe = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            pipe.write_all(&line).await?;
            pipe.flush().await
        }
    }

    /// The next message, or none once the server wrote its last one, or more of what is none than is read. Dropping the future
    /// loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Incoming> {
        loop {
            let mut incoming = match self.lines.next().await.ok()?? {
                Piece::Line(line) if line.trim_ascii().is_empty() => continue,
                Piece::Line(line) => match Incoming::read(&line) {
                    Some(incoming) => incoming,
                    None => {
                        self.shared.count(&line, line.len() as u64)?;
                        match Incoming::read_in_part(&line) {
                            Some(incoming) => incoming,
                            None => continue,
                        }
                    }
                },
                Piece::TooLong { id: Some(id), bytes, .. } => Incoming::too_large(id, bytes),
                Piece::TooLong { bytes, start, .. } => {
                    self.shared.count(&start, bytes)?;
                    continue;
                }
            };
            self.shared.message_came(&incoming);
            incoming.hide(&self.shared.secrets);
            return Some(incoming);
        }
    }
}

impl Transport<RoleClient> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.write(&item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let incoming = self.next().await?;
            let foreign = matches!(incoming, Incoming::Request { .. })
                && !self.shared.takes_requests.load(Ordering::Relaxed);
            if foreign {
                // In the revision of 2026 a server asks nothing by itself, and its client answers nothing.
                self.shared.count(b"a request of the server", 0)?;
                continue;
            }
            // Told here and not by the SDK, which would tell it whenever it comes to it: in order, and before the answer.
            if let Some(progress) = incoming.progress() {
                self.shared.calls.progress(progress);
            } else if let Some(message) = incoming.for_the_sdk() {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.input.lock().await.take();
        Ok(())
    }
}

/// A text of a server's message, where there is one.
pub(crate) fn string_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}
