//! The way of a message: async-lsp between two pumps of our own.
//!
//! async-lsp ends at the first bad message, blocks its reading while it writes, and keeps the ids of
//! its requests to itself. So what comes in is made well-formed first, what goes out is queued by a
//! writer that never waits, and a mark in the parameters tells which id a request got, so that it
//! can be cancelled. See docs/decisions/0004-async-lsp-between-two-pumps.md.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use agent_process::frame::{
    Frame, FrameReader, FrameWriter, JsonFrame, Odd, Queued, SendError, encode,
};
use async_lsp::{
    Error, MainLoop, ServerSocket,
    lsp_types::{notification::Notification, request::Request},
};
use memchr::memmem;
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream, duplex},
    sync::watch,
    task::JoinSet,
    time::timeout_at,
};
use tokio_util::compat::{TokioAsyncReadCompatExt, TokioAsyncWriteCompatExt};

use super::{inbox::Inbox, told::Told};

/// What the pumps hand to the main loop before it takes it, in bytes.
const PIPE_BYTES: usize = 256 * 1024;

/// A server that reads nothing for so long is said not to read; one that is at work may do so for less.
const STALLS: Duration = Duration::from_millis(500);

/// Marks what a pump has to look into; nothing else goes out with it but by chance.
const MARK: &str = "agent-lsp:";

/// The member of a request's parameters that carries its token.
const TOKEN: &str = "agent-lsp:token";

/// The member that carries the parameters themselves.
const PARAMS: &str = "agent-lsp:params";

/// What stands before a server's id that is neither a string nor a small number.
const ID: &str = "agent-lsp:id:";

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The server is gone.
    Stopped,
    /// It did not answer in time; the request was cancelled.
    TimedOut {
        /// Bytes that the server has not read, and for how long it has read none.
        unread: Option<(usize, Duration)>,
    },
    /// What it hands its questions to ended, and so it answered with nothing.
    InnerEnded,
    /// It was not asked, since this many bytes wait for it and it has taken none for so long.
    Stuck { bytes: usize, long: Duration },
    /// It was ended, since more bytes waited for it than are kept, and it had taken none for so long.
    Deaf { bytes: usize, long: Duration },
    /// It answered with an error.
    Refused { code: i64, message: String },
}

/// A connection to one server. Dropping it ends its tasks.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: ServerSocket,
    calls: Arc<Calls>,
    writer: FrameWriter,
    told: Arc<Told>,
    ended: Arc<watch::Sender<bool>>,
    /// Why it was given up, where it did not end by itself.
    given_up: Arc<OnceLock<CallError>>,
    /// After how long without reading it is asked nothing more.
    stuck_after: Duration,
    _tasks: JoinSet<()>,
}

impl Connection {
    /// Connects to a server by its output and its input.
    pub(crate) fn open(
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
        inbox: Inbox,
        stuck_after: Duration,
    ) -> Self {
        let calls = Arc::new(Calls::default());
        let told = Arc::clone(&inbox.told);
        let writer = FrameWriter::start(input);
        let (main_loop, socket) = MainLoop::new_client(|_| inbox);
        let (to_loop, loop_in) = duplex(PIPE_BYTES);
        let (loop_out, from_loop) = duplex(PIPE_BYTES);
        let mut tasks = JoinSet::new();
        let hears = Arc::clone(&told);
        tasks.spawn(pump_in(FrameReader::new(output), to_loop, Arc::clone(&calls), hears));
        let given_up = Arc::new(OnceLock::new());
        let why = Arc::clone(&given_up);
        tasks.spawn(pump_out(from_loop, writer.clone(), Arc::clone(&calls), why));
        let ended = Arc::new(watch::Sender::new(false));
        let (tells, over) = (Arc::clone(&ended), Arc::clone(&told));
        // The main loop panics when nobody can ask it any more.
        let asks = socket.clone();
        tasks.spawn(async move {
            let _asks = asks;
            // It ends with the server's output, or when the server is too far behind to go on.
            let _ = main_loop.run_buffered(loop_in.compat(), loop_out.compat_write()).await;
            tells.send_replace(true);
            over.end();
        });
        Self { socket, calls, writer, told, ended, given_up, stuck_after, _tasks: tasks }
    }

    /// Waits until nothing can be asked any more.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut ended = self.ended.subscribe();
        async move {
            let _ = ended.wait_for(|ended| *ended).await;
        }
    }

    /// Why it was given up, where it did not end by itself.
    pub(crate) fn given_up(&self) -> Option<CallError> {
        self.given_up.get().cloned()
    }

    /// The same for a server that is not gone: what makes it worth nothing.
    pub(crate) fn give_up_for(&self, why: CallError) {
        // The first reason is the one that led to the others.
        let _ = self.given_up.set(why);
        self.give_up();
    }

    /// What waits for a server that has read nothing for longer than one that is at work does.
    pub(crate) fn stuck(&self) -> Option<Queued> {
        let queued = self.writer.queued();
        (queued.bytes > 0 && queued.stalled >= self.stuck_after).then_some(queued)
    }

    /// Fails the calls under way and all that follow: the server is gone, be it that somebody else holds
    /// its output open.
    pub(crate) fn give_up(&self) {
        self.ended.send_replace(true);
        self.told.end();
    }

    /// Asks, and waits until `deadline`. A future that is dropped cancels its request.
    pub(crate) async fn request<R>(
        &self,
        params: Value,
        deadline: Instant,
    ) -> Result<Value, CallError>
    where
        R: Request<Params = Value, Result = Value>,
    {
        // It may live on for a while, and answer.
        if *self.ended.borrow() {
            return Err(self.given_up().unwrap_or(CallError::Stopped));
        }
        if let Some(Queued { bytes, stalled, .. }) = self.stuck() {
            return Err(CallError::Stuck { bytes, long: stalled });
        }
        let call = Call { calls: &self.calls, writer: &self.writer, token: self.calls.begin() };
        let marked = json!({ TOKEN: call.token, PARAMS: params });
        let answered = async {
            tokio::select! {
                // What was answered before the end counts.
                biased;
                answer = self.socket.request::<R>(marked) => answer,
                () = self.ended() => Err(Error::ServiceStopped),
            }
        };
        match timeout_at(deadline.into(), answered).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(Error::Response(error))) => {
                let (code, message) = (i64::from(error.code.0), error.message);
                Err(CallError::Refused { code, message })
            }
            Ok(Err(_)) => Err(self.given_up().unwrap_or(CallError::Stopped)),
            Err(_) => {
                let queued = self.writer.queued();
                let stalls = queued.bytes > 0 && queued.stalled >= STALLS;
                let unread = stalls.then_some((queued.bytes, queued.stalled));
                Err(CallError::TimedOut { unread })
            }
        }
    }

    /// Tells. An error is a server that is gone.
    pub(crate) fn notify<N>(&self, params: Value) -> Result<(), CallError>
    where
        N: Notification<Params = Value>,
    {
        self.socket.notify::<N>(params).map_err(|_| CallError::Stopped)
    }

    /// Tells the server to end, and closes its input after that.
    pub(crate) fn exit(&self) {
        // Not by way of the main loop, which would come after the end of the input. What was told before
        // is out since the server answered `shutdown`, or it does not read.
        let _ = self.writer.send_json(&json!({ "jsonrpc": "2.0", "method": "exit" }));
        self.writer.close();
    }
}

/// One request, cancelled when it is dropped before its answer came.
struct Call<'a> {
    calls: &'a Calls,
    writer: &'a FrameWriter,
    token: u64,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.calls.cancel(self.token) {
            let cancel =
                json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } });
            // Where it cannot be sent the server is gone or does not read.
            let _ = self.writer.send_json(&cancel);
        }
    }
}

/// The requests under way, by our tokens and by the ids on the wire.
#[derive(Debug, Default)]
struct Calls {
    last: AtomicU64,
    state: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Begun, with the id once it is known.
    ids: HashMap<u64, Option<i64>>,
    /// Sent and not answered, be it that nobody waits any more.
    sent: HashMap<i64, u64>,
    /// Given up before they were sent.
    given_up: HashSet<u64>,
}

impl Calls {
    fn begin(&self) -> u64 {
        let token = self.last.fetch_add(1, Ordering::Relaxed);
        self.lock().ids.insert(token, None);
        token
    }

    /// Gives up a request; the id of one that is sent and not answered.
    fn cancel(&self, token: u64) -> Option<i64> {
        let mut waiting = self.lock();
        match waiting.ids.remove(&token)? {
            Some(id) => Some(id),
            None => {
                waiting.given_up.insert(token);
                None
            }
        }
    }

    /// A message on its way out without our marks, or none if nobody waits for it any more.
    fn unmark(&self, mut message: Value) -> Option<Value> {
        if let Some(id) = message["id"].as_str().and_then(|id| id.strip_prefix(ID)) {
            message["id"] = serde_json::from_str(id).unwrap_or(Value::Null);
        }
        let token = message["params"][TOKEN].as_u64();
        if let (Some(token), Some(id)) = (token, message["id"].as_i64()) {
            let mut waiting = self.lock();
            if waiting.given_up.remove(&token) {
                return None;
            }
            waiting.ids.insert(token, Some(id));
            waiting.sent.insert(id, token);
            match message["params"][PARAMS].take() {
                Value::Null => message.as_object_mut().and_then(|message| message.remove("params")),
                params => message.insert_member("params", params),
            };
        }
        Some(message)
    }

    /// Whether an answer is to a request that was sent; it is then answered.
    fn answered(&self, id: i64) -> bool {
        let mut waiting = self.lock();
        let Some(token) = waiting.sent.remove(&id) else { return false };
        waiting.ids.remove(&token);
        true
    }

    /// A message of the server in the form that async-lsp takes, or why it makes no sense.
    fn well_formed(&self, message: Value) -> Result<Value, &'static str> {
        let Value::Object(mut message) = message else { return Err("JSON that is no message") };
        let id = message.remove("id").unwrap_or(Value::Null);
        let mut formed = Map::from_iter([("jsonrpc".to_owned(), json!("2.0"))]);
        if let Some(method) = message.remove("method") {
            if !method.is_string() {
                return Err("a method that is no text");
            }
            // A method first: an id that equals one of ours makes no answer of a request.
            formed.insert("method".to_owned(), method);
            if let Some(params) = message.remove("params").filter(|params| !params.is_null()) {
                formed.insert("params".to_owned(), params);
            }
            match &id {
                Value::Null => {}
                Value::String(_) => drop(formed.insert("id".to_owned(), id)),
                Value::Number(number) if is_small(number.as_i64()) => {
                    drop(formed.insert("id".to_owned(), id));
                }
                other => drop(formed.insert("id".to_owned(), json!(format!("{ID}{other}")))),
            }
            return Ok(Value::Object(formed));
        }
        // Some servers send a number back as a text.
        let number = id.as_i64().or_else(|| id.as_str()?.parse().ok());
        let id = number.filter(|id| self.answered(*id)).ok_or("an answer that nobody asked for")?;
        formed.insert("id".to_owned(), json!(id));
        match message.remove("error").filter(|error| !error.is_null()) {
            Some(error) => formed.insert("error".to_owned(), error_of(&error)),
            None => {
                formed.insert("result".to_owned(), message.remove("result").unwrap_or_default())
            }
        };
        Ok(Value::Object(formed))
    }

    /// What an answer that was too large to be read comes to for its call.
    fn refusal_of(&self, odd: &Odd) -> Option<Value> {
        let Odd::TooLarge { bytes, start } = odd else { return None };
        // A request of the server has an id too, and its method stands at the start as well.
        let (_, after) = start.split_once("\"id\"").filter(|_| !start.contains("\"method\""))?;
        let digits = after.trim_start_matches([':', ' ']);
        let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
        let id = digits.parse().ok().filter(|id| self.answered(*id))?;
        let message = format!("its answer of {bytes} bytes is over the cap; ask for less");
        let error = json!({ "code": async_lsp::ErrorCode::REQUEST_FAILED.0, "message": message });
        Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

trait InsertMember {
    fn insert_member(&mut self, name: &str, value: Value) -> Option<Value>;
}

impl InsertMember for Value {
    fn insert_member(&mut self, name: &str, value: Value) -> Option<Value> {
        self.as_object_mut().and_then(|object| object.insert(name.to_owned(), value))
    }
}

fn is_small(id: Option<i64>) -> bool {
    id.is_some_and(|id| i32::try_from(id).is_ok())
}

/// An error with the fields that it must have; servers leave out the message, or send any code.
fn error_of(error: &Value) -> Value {
    let code = error["code"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(0);
    let message = error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    json!({ "code": code, "message": message })
}

async fn pump_in(
    mut from_server: FrameReader<impl AsyncRead + Unpin>,
    mut to_loop: DuplexStream,
    calls: Arc<Calls>,
    told: Arc<Told>,
) {
    loop {
        match from_server.next_json().await {
            Ok(Some(JsonFrame::Message(message))) => match calls.well_formed(message) {
                Ok(message) => {
                    let frame = encode(message.to_string().as_bytes());
                    if to_loop.write_all(&frame).await.is_err() {
                        return;
                    }
                }
                Err(what) => told.change(|state| state.odd(what)),
            },
            Ok(Some(JsonFrame::Odd(odd))) => {
                told.change(|state| state.odd(&odd.to_string()));
                if let Some(refusal) = calls.refusal_of(&odd) {
                    let frame = encode(refusal.to_string().as_bytes());
                    if to_loop.write_all(&frame).await.is_err() {
                        return;
                    }
                }
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

async fn pump_out(
    from_loop: DuplexStream,
    writer: FrameWriter,
    calls: Arc<Calls>,
    given_up: Arc<OnceLock<CallError>>,
) {
    let mut from_loop = FrameReader::new(from_loop);
    while let Ok(Some(frame)) = from_loop.next().await {
        let Frame::Body(body) = frame else { continue };
        let sent = if memmem::find(&body, MARK.as_bytes()).is_none() {
            writer.send(&body)
        } else {
            let message = serde_json::from_slice(&body).ok().and_then(|body| calls.unmark(body));
            message.map_or(Ok(()), |message| writer.send_json(&message))
        };
        match sent {
            Ok(()) => {}
            Err(SendError::Stalled(Queued { bytes, stalled, .. })) => {
                // A message that is lost would leave it with other texts than it is believed to have.
                let _ = given_up.set(CallError::Deaf { bytes, long: stalled });
                return;
            }
            // Its input is closed. Whoever waits is told by its end.
            Err(_) => return,
        }
    }
}
