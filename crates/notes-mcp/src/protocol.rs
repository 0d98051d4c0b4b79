//! MCP 2026-07-28 over standard input and output, for a server that offers tools and nothing else.
//!
//! The revision is stateless: every request says its version and what its client can, and nothing is inferred from an earlier one. One
//! message is one line. The reader answers what costs nothing and hands calls to a few workers, so that a `notifications/cancelled` is
//! read while a call is under way; where all workers are busy and the queue is full, it reads no further until one is free.

mod call;
mod line;
mod output;
mod request;
mod strict;

use std::{
    collections::HashMap,
    io::{self, BufRead, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    },
    thread,
    time::Duration,
};

use serde_json::{Map, Value, json};

pub use self::{call::Call, line::LINE_BYTES};
use self::{
    line::Line,
    output::Output,
    request::{Fault, Incoming, Request, SERVER_INFO},
};

/// The one revision that is spoken.
pub const VERSION: &str = "2026-07-28";

/// Calls that run at the same time.
const WORKERS: usize = 4;

/// Calls that may wait for a worker before the reader stops reading.
const QUEUE: usize = 64;

/// After the end of the input the calls under way have so long to be answered. Each is bounded by less; only a client that
/// does not read its answers needs the limit.
const DRAIN: Duration = Duration::from_secs(5);

/// How long a client may keep what it was told of the server and its tools, which never changes while it runs.
const TTL_MS: u64 = 3_600_000;

/// What a server offers.
pub trait Tools: Send + Sync {
    /// Who the server is.
    fn identity(&self) -> Identity<'_>;

    /// The tools as `tools/list` gives them, the same and in the same order each time.
    fn list(&self) -> Vec<Value>;

    /// Calls one. Nothing where there is no such tool; a refusal is the text that the model reads.
    fn call(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        call: &Call,
    ) -> Option<Result<Value, String>>;
}

/// What a server says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    /// A programmatic name.
    pub name: &'a str,
    /// The program's version, not the protocol's.
    pub version: &'a str,
    /// What a model should know before it chooses a tool.
    pub instructions: &'a str,
}

/// Serves one client until its input ends, then lets the calls under way end, and gives back.
///
/// # Errors
///
/// Where the input cannot be read, or the output cannot be written for another reason than that the client went away.
pub fn serve(
    tools: Arc<dyn Tools>,
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let server = Arc::new(Server {
        tools,
        output: Arc::new(Output::new(output)),
        under_way: Mutex::new(HashMap::new()),
    });
    let (jobs, waiting) = sync_channel(QUEUE);
    let (working, drained) = channel();
    start_workers(&server, waiting, working)?;
    let mut buffer = Vec::new();
    while !server.output.is_closed() {
        match line::read(&mut input, &mut buffer)? {
            Line::End => break,
            Line::TooLong => server.fault(None, Fault::too_long()),
            Line::Message => server.receive(&buffer, &jobs),
        }
    }
    drop(jobs);
    // Nothing is ever sent here: the workers hold the other end until they are done.
    let _ = drained.recv_timeout(DRAIN);
    server.output.result()
}

type Id = Value;

struct Server {
    tools: Arc<dyn Tools>,
    output: Arc<Output>,
    under_way: Mutex<HashMap<String, Arc<Call>>>,
}

/// A call that waits for a worker.
struct Job {
    id: Id,
    name: String,
    arguments: Map<String, Value>,
    call: Arc<Call>,
}

fn start_workers(
    server: &Arc<Server>,
    waiting: Receiver<Job>,
    working: Sender<()>,
) -> io::Result<()> {
    let waiting = Arc::new(Mutex::new(waiting));
    for _ in 0..WORKERS {
        let (server, waiting, working) = (server.clone(), waiting.clone(), working.clone());
        thread::Builder::new().spawn(move || {
            let _working = working;
            while let Ok(job) = { lock(&waiting).recv() } {
                server.work(&job);
            }
        })?;
    }
    Ok(())
}

impl Server {
    fn receive(&self, line: &[u8], jobs: &SyncSender<Job>) {
        match request::read(line) {
            Incoming::Nothing => {}
            Incoming::Fault(id, fault) => self.fault(id, fault),
            Incoming::Cancelled(id) => {
                // Under one lock, so that a worker that is done sees both or neither.
                let mut under_way = lock(&self.under_way);
                if let Some(call) = under_way.remove(&id.to_string()) {
                    call.cancel();
                }
            }
            Incoming::Request(request) => {
                let id = request.id.clone();
                match self.answer(request, jobs) {
                    Ok(None) => {}
                    Ok(Some(result)) => self.result(id, result),
                    Err(fault) => self.fault(Some(id), fault),
                }
            }
        }
    }

    /// The result of a request, unless a worker will give it.
    fn answer(&self, request: Request, jobs: &SyncSender<Job>) -> Result<Option<Value>, Fault> {
        match request.method.as_str() {
            "server/discover" => {
                request.meta()?;
                Ok(Some(json!({
                    "supportedVersions": [VERSION],
                    "capabilities": {"tools": {}},
                    "instructions": self.tools.identity().instructions,
                    "ttlMs": TTL_MS,
                    "cacheScope": "public",
                })))
            }
            "tools/list" => {
                request.meta()?;
                // All tools are on one page, so no cursor was ever given out; an empty one is a cursor too.
                if request.params.contains_key("cursor") {
                    return Err(Fault::params(
                        "this server gave out no such cursor; list without one",
                    ));
                }
                Ok(Some(
                    json!({"tools": self.tools.list(), "ttlMs": TTL_MS, "cacheScope": "public"}),
                ))
            }
            "tools/call" => self.enqueue(request, jobs).map(|()| None),
            // There is no handshake in this revision. Whoever tries one is told which revision there is.
            "initialize" => Err(Fault::version(request.params.get("protocolVersion"))),
            other => {
                request.version()?;
                Err(Fault::no_method(other))
            }
        }
    }

    fn enqueue(&self, mut request: Request, jobs: &SyncSender<Job>) -> Result<(), Fault> {
        let progress = request.meta()?.progress;
        let name = match request.params.remove("name") {
            Some(Value::String(name)) => name,
            _ => return Err(Fault::params("`params.name` has to be a tool's name")),
        };
        let arguments = match request.params.remove("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(Fault::params("`params.arguments` has to be an object")),
        };
        let call = Arc::new(Call::new(progress, self.output.clone()));
        {
            let mut under_way = lock(&self.under_way);
            let key = request.id.to_string();
            if under_way.contains_key(&key) {
                return Err(Fault::request(
                    "a call with this id is under way; give each an id of its own",
                ));
            }
            under_way.insert(key, call.clone());
        }
        // The workers go when the sender does, so there is always one to take it.
        let _ = jobs.send(Job { id: request.id, name, arguments, call });
        Ok(())
    }

    fn work(&self, job: &Job) {
        if job.call.is_cancelled() {
            return;
        }
        // What a tool panicked with is on standard error; nothing of ours is left half changed by it.
        let called = || self.tools.call(&job.name, &job.arguments, &job.call);
        let outcome = catch_unwind(AssertUnwindSafe(called));
        // From here on a cancellation comes too late. One that came before gets no answer.
        let mut under_way = lock(&self.under_way);
        if job.call.is_cancelled() {
            return;
        }
        under_way.remove(&job.id.to_string());
        drop(under_way);
        let result = match outcome {
            Ok(Some(Ok(data))) => structured(data).map_err(|_| Fault::internal()),
            Ok(Some(Err(refusal))) => Ok(content(refusal, true)),
            Ok(None) => Err(Fault::no_tool(&job.name)),
            Err(_) => Err(Fault::internal()),
        };
        let id = job.id.clone();
        match result {
            Ok(result) => self.result(id, result),
            Err(fault) => self.fault(Some(id), fault),
        }
    }

    // What is assigned is moved; `json!` would copy it.
    fn result(&self, id: Id, mut result: Value) {
        let identity = self.tools.identity();
        result["resultType"] = json!("complete");
        result["_meta"] =
            json!({SERVER_INFO: {"name": identity.name, "version": identity.version}});
        let mut message = json!({"jsonrpc": "2.0", "id": id});
        message["result"] = result;
        self.output.send(&message);
    }

    fn fault(&self, id: Option<Id>, fault: Fault) {
        self.output.send(&fault.message(id));
    }
}

/// The result of a call as data, and as the same in a text for who reads no data.
fn structured(data: Value) -> serde_json::Result<Value> {
    // `Value::to_string` writes through a formatter, which takes noticeably longer.
    let mut result = content(serde_json::to_string(&data)?, false);
    result["structuredContent"] = data;
    Ok(result)
}

/// The result of a call as a text.
fn content(text: String, is_error: bool) -> Value {
    let mut block = json!({"type": "text"});
    block["text"] = text.into();
    let mut result = json!({"isError": is_error});
    result["content"] = Value::Array(vec![block]);
    result
}

/// Nothing panics while it holds one of these locks; a poisoned one still holds what is true.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
