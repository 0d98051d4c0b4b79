use std::{
    collections::VecDeque,
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{Notify, watch},
    time::Instant,
};

use super::encode;

/// The most bytes that wait for a peer that does not read, unless a writer is told otherwise: 64 MiB.
pub const MAX_QUEUED_BYTES: usize = 64 << 20;

/// The sending side. A task of its own carries what is queued to the pipe, so no [`FrameWriter::send`] ever waits for the
/// peer: a peer that writes before it reads cannot lock both sides up.
///
/// Clones share the queue. When the last one is dropped, what is queued is still written and then the pipe is closed.
#[derive(Debug, Clone)]
pub struct FrameWriter {
    handle: Arc<Handle>,
}

/// What waits to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Queued {
    /// Bytes that the pipe has not taken yet.
    pub bytes: usize,
    /// How long the pipe has taken nothing although bytes wait; zero when none do.
    pub stalled: Duration,
}

/// Why the pipe takes nothing more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Closed {
    /// It was closed here, after everything that was queued.
    AfterQueue,
    /// It was closed here at once; this many bytes were not written.
    Aborted(usize),
    /// The peer closed its end or died; the text is the system's.
    Broken(String),
}

/// Why a message was not queued.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The queue is full because the peer does not read.
    Stalled(Queued),
    /// The pipe is closed, or closing.
    Closed(Closed),
}

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Something was queued, or the wish to close came.
    wake: Notify,
    closed: watch::Sender<Option<Closed>>,
    max_queued: usize,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<Vec<u8>>,
    bytes: usize,
    moved: Instant,
    wish: Wish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Write,
    CloseAfterQueue,
    Abort,
}

impl FrameWriter {
    /// Starts the task that writes to `pipe`, with room for [`MAX_QUEUED_BYTES`]. Needs a tokio runtime.
    pub fn start(pipe: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self::with_room(pipe, MAX_QUEUED_BYTES)
    }

    /// The same with room for `max_queued` bytes. A message longer than that is taken when nothing else waits.
    pub fn with_room(pipe: impl AsyncWrite + Send + Unpin + 'static, max_queued: usize) -> Self {
        let state =
            State { queue: VecDeque::new(), bytes: 0, moved: Instant::now(), wish: Wish::Write };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: Notify::new(),
            closed: watch::Sender::new(None),
            max_queued,
        });
        tokio::spawn(carry(pipe, shared.clone()));
        Self { handle: Arc::new(Handle { shared }) }
    }

    /// Queues one message. Returns at once; whether the peer reads it is not known.
    ///
    /// # Errors
    ///
    /// [`SendError::Stalled`] when there is no room, [`SendError::Closed`] once the pipe is closed.
    pub fn send(&self, body: &[u8]) -> Result<(), SendError> {
        let shared = &self.handle.shared;
        if let Some(closed) = shared.closed.borrow().clone() {
            return Err(SendError::Closed(closed));
        }
        let frame = encode(body);
        let mut state = shared.state();
        match state.wish {
            Wish::Write => {}
            Wish::CloseAfterQueue => return Err(SendError::Closed(Closed::AfterQueue)),
            Wish::Abort => return Err(SendError::Closed(Closed::Aborted(state.bytes))),
        }
        if state.bytes > 0 && state.bytes + frame.len() > shared.max_queued {
            return Err(SendError::Stalled(state.queued()));
        }
        if state.bytes == 0 {
            state.moved = Instant::now();
        }
        state.bytes += frame.len();
        state.queue.push_back(frame);
        drop(state);
        shared.wake.notify_one();
        Ok(())
    }

    /// Queues a JSON message.
    ///
    /// # Errors
    ///
    /// As [`FrameWriter::send`].
    pub fn send_json(&self, message: &Value) -> Result<(), SendError> {
        self.send(message.to_string().as_bytes())
    }

    /// What waits to be written, and for how long it has not moved.
    pub fn queued(&self) -> Queued {
        self.handle.shared.state().queued()
    }

    /// Takes nothing more, writes what is queued and closes the pipe: the peer sees the end of its input.
    pub fn close(&self) {
        self.handle.shared.wish(Wish::CloseAfterQueue);
    }

    /// Closes the pipe at once, whatever is queued: the way out when the peer does not read.
    pub fn abort(&self) {
        self.handle.shared.wish(Wish::Abort);
    }

    /// Waits until the pipe is closed, by whichever side.
    pub async fn closed(&self) -> Closed {
        let mut closed = self.handle.shared.closed.subscribe();
        let gone = closed.wait_for(Option::is_some).await;
        gone.ok().and_then(|closed| closed.clone()).unwrap_or(Closed::AfterQueue)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.wish(Wish::CloseAfterQueue);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wish(&self, wish: Wish) {
        let mut state = self.state();
        if state.wish != Wish::Abort {
            state.wish = wish;
        }
        drop(state);
        self.wake.notify_one();
    }
}

impl State {
    fn queued(&self) -> Queued {
        let stalled = if self.bytes > 0 { self.moved.elapsed() } else { Duration::ZERO };
        Queued { bytes: self.bytes, stalled }
    }
}

/// Writes until the pipe breaks or the wish to close is fulfilled. The pipe is closed before anybody is told.
async fn carry(mut pipe: impl AsyncWrite + Send + Unpin, shared: Arc<Shared>) {
    let why = match write_queue(&mut pipe, &shared).await {
        Ok(closed) => closed,
        Err(error) => Closed::Broken(error.to_string()),
    };
    drop(pipe);
    {
        let mut state = shared.state();
        state.queue = VecDeque::new();
        state.bytes = 0;
    }
    shared.closed.send_replace(Some(why));
}

async fn write_queue(
    pipe: &mut (impl AsyncWrite + Send + Unpin),
    shared: &Shared,
) -> io::Result<Closed> {
    loop {
        let next = {
            let mut state = shared.state();
            match (state.wish, state.queue.pop_front()) {
                (Wish::Abort, _) => return Ok(Closed::Aborted(state.bytes)),
                (_, Some(frame)) => Some(frame),
                (Wish::CloseAfterQueue, None) => break,
                (Wish::Write, None) => None,
            }
        };
        let Some(frame) = next else {
            shared.wake.notified().await;
            continue;
        };
        if let Some(aborted) = write_frame(pipe, shared, &frame).await? {
            return Ok(aborted);
        }
    }
    pipe.shutdown().await?;
    Ok(Closed::AfterQueue)
}

async fn write_frame(
    pipe: &mut (impl AsyncWrite + Send + Unpin),
    shared: &Shared,
    frame: &[u8],
) -> io::Result<Option<Closed>> {
    let mut written = 0;
    while written < frame.len() {
        tokio::select! {
            count = pipe.write(&frame[written..]) => {
                let count = count?;
                if count == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                written += count;
                let mut state = shared.state();
                state.bytes = state.bytes.saturating_sub(count);
                state.moved = Instant::now();
            }
            () = shared.wake.notified() => {
                let state = shared.state();
                if state.wish == Wish::Abort {
                    return Ok(Some(Closed::Aborted(state.bytes)));
                }
            }
        }
    }
    pipe.flush().await?;
    Ok(None)
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AfterQueue => write!(f, "the input was closed"),
            Self::Aborted(bytes) => write!(f, "the input was closed with {bytes} bytes unwritten"),
            Self::Broken(why) => write!(f, "the peer closed its input ({why})"),
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stalled(queued) => write!(
                f,
                "the peer does not read: {} bytes wait and none were taken for {:.1} s",
                queued.bytes,
                queued.stalled.as_secs_f64()
            ),
            Self::Closed(closed) => write!(f, "nothing can be sent: {closed}"),
        }
    }
}

impl std::error::Error for SendError {}
