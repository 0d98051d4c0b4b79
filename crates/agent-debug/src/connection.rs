//! The wire to an adapter: requests with their answers, events to the session's state.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use agent_process::frame::{Decoder, FrameReader, FrameWriter, JsonFrame, Odd};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::oneshot,
    time::{Instant, timeout_at},
};

use crate::{
    error::RequestError,
    protocol::{
        Incoming, Response,
        outgoing::{self, Request},
    },
    state::Shared,
};

/// The most bytes of one message; a longer one is skipped and fails the request that it answers.
pub const MAX_MESSAGE_BYTES: usize = 32 << 20;

/// Requests to an adapter.
#[derive(Debug)]
pub(crate) struct Connection {
    writer: FrameWriter,
    open: Mutex<Open>,
    last_seq: AtomicI64,
    heard: Arc<Mutex<Instant>>,
}

/// An adapter that has not answered but talks is waited for so many times as long as a silent one.
const PATIENCE: u32 = 6;

/// The requests without an answer.
#[derive(Debug, Default)]
struct Open {
    closed: bool,
    requests: HashMap<i64, oneshot::Sender<Response>>,
}

/// A request that was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    command: &'static str,
    answer: oneshot::Receiver<Response>,
    /// When the adapter said anything last.
    heard: Arc<Mutex<Instant>>,
}

impl Connection {
    /// Talks over these pipes. What comes in goes to `shared` until the adapter closes its end.
    pub(crate) fn start(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        shared: Arc<Shared>,
    ) -> (Arc<Self>, tokio::task::JoinHandle<()>) {
        let connection = Arc::new(Self {
            writer: FrameWriter::start(writer),
            open: Mutex::default(),
            last_seq: AtomicI64::new(0),
            heard: Arc::new(Mutex::new(Instant::now())),
        });
        let reading = tokio::spawn(read(reader, connection.clone(), shared));
        (connection, reading)
    }

    /// Sends a request, whose answer comes later.
    pub(crate) fn send(&self, request: &Request) -> Result<Sent, RequestError> {
        let seq = self.next_seq();
        let (sender, answer) = oneshot::channel();
        {
            let mut open = self.open();
            if open.closed {
                return Err(RequestError::Gone);
            }
            open.requests.insert(seq, sender);
        }
        if self.writer.send_json(&request.message(seq)).is_err() {
            self.open().requests.remove(&seq);
            return Err(RequestError::Gone);
        }
        Ok(Sent { command: request.command, answer, heard: self.heard.clone() })
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&self, request: &Request, limit: Duration) -> Answer {
        self.send(request)?.answer(limit).await
    }

    /// How many requests were sent.
    pub(crate) fn sent(&self) -> i64 {
        self.last_seq.load(Ordering::Relaxed)
    }

    /// The adapter sees the end of its input.
    pub(crate) fn close(&self) {
        self.writer.close();
    }

    /// The same at once, although it does not read.
    pub(crate) fn abort(&self) {
        self.writer.abort();
    }

    fn next_seq(&self) -> i64 {
        self.last_seq.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message over the cap fails the request that it answers: the one that its beginning names, or the only one.
    fn skipped(&self, odd: &Odd) {
        let Odd::TooLarge { bytes, start } = odd else { return };
        let only = {
            let open = self.open();
            let mut seqs = open.requests.keys().copied();
            seqs.next().filter(|_| seqs.next().is_none())
        };
        let Some(request_seq) = answered_by(start).or(only) else { return };
        let _ = self.answered(Response {
            request_seq,
            command: String::new(),
            success: false,
            body: Value::Null,
            message: Some(format!(
                "the answer has {bytes} bytes, which is over the cap; ask for less"
            )),
        });
    }

    /// Hands an answer to whoever asked. Whether that had gone, so that it comes late.
    fn answered(&self, response: Response) -> bool {
        let waiting = self.open().requests.remove(&response.request_seq);
        waiting.is_some_and(|waiting| waiting.send(response).is_err())
    }
}

/// What a request comes to.
pub(crate) type Answer = Result<Value, RequestError>;

impl Sent {
    /// Waits for the answer's body. The time counts from what the adapter said last: one that is busy with a flood of output
    /// answers in its turn.
    pub(crate) async fn answer(mut self, limit: Duration) -> Answer {
        let last = Instant::now() + limit * PATIENCE;
        let mut until = Instant::now() + limit;
        loop {
            match timeout_at(until, &mut self.answer).await {
                Ok(Ok(response)) if response.success => return Ok(response.body),
                Ok(Ok(response)) => return Err(RequestError::Refused(response.error())),
                Ok(Err(_)) => return Err(RequestError::Gone),
                Err(_) => {}
            }
            let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            let later = (heard + limit).min(last);
            if later <= until {
                return Err(RequestError::Late(self.command, limit));
            }
            until = later;
        }
    }
}

async fn read(pipe: impl AsyncRead + Unpin, connection: Arc<Connection>, shared: Arc<Shared>) {
    let mut reader = FrameReader::with_decoder(pipe, Decoder::new(MAX_MESSAGE_BYTES));
    // A pipe that fails is as good as one that ended.
    while let Ok(Some(frame)) = reader.next_json().await {
        *connection.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        match frame {
            JsonFrame::Message(message) => match Incoming::of(message) {
                Incoming::Response(response) => {
                    if connection.answered(response) {
                        shared.answered_late();
                    }
                }
                Incoming::Event(event) => shared.event(event),
                Incoming::Request { seq, command } => {
                    let refusal = outgoing::refusal(connection.next_seq(), seq, &command);
                    let _ = connection.writer.send_json(&refusal);
                }
                Incoming::Unknown => {}
            },
            JsonFrame::Odd(odd) => {
                connection.skipped(&odd);
                shared.console(format!("{odd}\n").as_bytes());
            }
            _ => {}
        }
    }
    // Whoever waits for an answer is to find the session ending once it has none.
    shared.closed();
    let mut open = connection.open();
    open.closed = true;
    open.requests.clear();
}

/// The request that a message answers, by the beginning of its text.
fn answered_by(start: &str) -> Option<i64> {
    let (_, rest) = start.split_once("\"request_seq\"")?;
    let digits = rest.trim_start_matches([':', ' ']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}
