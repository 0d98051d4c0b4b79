use std::{
    convert::Infallible,
    fs::{File, OpenOptions},
    io::{self, Write},
    net::SocketAddr,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use futures::{Stream, stream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    Request, Response,
    body::{Bytes, Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, sync::watch};

use super::{
    Fail, Format, Log, Received, Rule, Script,
    frames::{self, Frames, Then},
};

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// So often it is looked whether there is the file that an answer waits for.
const LOOK: Duration = Duration::from_millis(10);

/// A server that runs until it is dropped, on a thread of its own.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    log: watch::Receiver<Log>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// A server on a free port of loopback.
    ///
    /// # Errors
    /// There is no port.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::launch(script, 0, None)
    }

    /// A server on this port, or a free one where it is 0, that writes each request to a file as a line of JSON.
    ///
    /// # Errors
    /// The port is taken, or the file cannot be written.
    pub fn launch(script: Script, port: u16, file: Option<&Path>) -> io::Result<Self> {
        let open = |path| OpenOptions::new().append(true).create(true).open(path);
        let file = file.map(open).transpose()?;
        let listener = std::net::TcpListener::bind(("127.0.0.1", port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (sender, log) = watch::channel(Log::default());
        let desk = Arc::new(Desk {
            uses: Mutex::new(vec![0; script.rules.len()]),
            script,
            log: sender,
            file: Mutex::new(file),
        });
        let (stop, stopped) = oneshot::channel();
        let (ready, up) = mpsc::channel();
        let thread = thread::Builder::new().name("scripted-model".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(run(listener, desk, &ready, stopped)),
                Err(error) => drop(ready.send(Err(error))),
            }
        })?;
        up.recv().map_err(|_| io::ErrorKind::BrokenPipe)??;
        Ok(Self { address, log, stop: Some(stop), thread: Some(thread) })
    }

    /// The address of both formats, `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What was asked so far.
    #[must_use]
    pub fn log(&self) -> Log {
        self.log.borrow().clone()
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Received> {
        self.log().requests
    }

    /// Waits until the log is as it should be. It needs no runtime.
    ///
    /// # Panics
    /// The server is gone.
    pub async fn until(&self, holds: impl FnMut(&Log) -> bool) -> Log {
        let mut log = self.log.clone();
        let log = log.wait_for(holds).await.expect("the server lives");
        log.clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// What all connections share.
struct Desk {
    script: Script,
    uses: Mutex<Vec<u32>>,
    log: watch::Sender<Log>,
    file: Mutex<Option<File>>,
}

async fn run(
    listener: std::net::TcpListener,
    desk: Arc<Desk>,
    ready: &mpsc::Sender<io::Result<()>>,
    mut stopped: oneshot::Receiver<()>,
) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let _gone = ready.send(Ok(()));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopped => return,
        };
        let Ok((socket, _)) = accepted else { continue };
        let desk = Arc::clone(&desk);
        let service = service_fn(move |request| {
            let desk = Arc::clone(&desk);
            async move { Ok::<_, Infallible>(desk.answer(request).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(socket), service);
        tokio::spawn(async move {
            // A client that leaves and an answer that is cut are errors here.
            let _ended = connection.await;
        });
    }
}

impl Desk {
    async fn answer(self: &Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let format = if path.ends_with("/messages") {
            Format::Anthropic
        } else if path.ends_with("/chat/completions") {
            Format::OpenAi
        } else {
            return plain(Format::OpenAi, &wrong(404, format!("no {path} here")));
        };
        let headers = request.headers().iter();
        let headers = headers
            .map(|(name, value)| {
                (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        let body = match request.into_body().collect().await {
            Ok(body) => serde_json::from_slice(&body.to_bytes()).unwrap_or(Value::Null),
            Err(_) => Value::Null,
        };
        let request = Received { format, path, headers, body };
        let number = self.note(&request);
        if let Some(refused) = self.refuse(&request) {
            return refused;
        }
        let Some(rule) = self.pick(&request) else {
            self.log.send_modify(|log| log.unanswered += 1);
            return plain(
                format,
                &wrong(400, format!("no rule of the script fits this: {}", request.last())),
            );
        };
        let mut watched = Watched { desk: Arc::clone(self), complete: false };
        tokio::time::sleep(Duration::from_millis(rule.wait_ms)).await;
        while rule.until_file.as_ref().is_some_and(|file| !file.exists()) {
            tokio::time::sleep(LOOK).await;
        }
        if let Some(fail) = &rule.fail {
            watched.complete = true;
            return plain(format, fail);
        }
        let pace = Duration::from_millis(rule.pace_ms);
        let frames = paced(frames::of(&rule, &request, number), pace, watched);
        let response = Response::builder().header("content-type", "text/event-stream");
        let body = UnsyncBoxBody::new(StreamBody::new(frames));
        response.body(body).unwrap_or_else(|_| Response::new(empty()))
    }

    fn note(&self, request: &Received) -> usize {
        if let Some(file) = lock(&self.file).as_mut() {
            let line =
                json!({"path": request.path, "tools": request.tools(), "body": request.body});
            let _full = writeln!(file, "{line}");
        }
        let mut number = 0;
        self.log.send_modify(|log| {
            log.requests.push(request.clone());
            number = log.requests.len();
        });
        number
    }

    fn refuse(&self, request: &Received) -> Option<Response<Body>> {
        let key = self.script.key.as_deref()?;
        if request.key() == Some(key) {
            return None;
        }
        let fail = Fail {
            status: 401,
            kind: "authentication_error".to_owned(),
            message: format!("Incorrect API key provided: {}.", request.key().unwrap_or("none")),
            ..Fail::default()
        };
        Some(plain(request.format, &fail))
    }

    fn pick(&self, request: &Received) -> Option<Rule> {
        let mut uses = lock(&self.uses);
        let mut rules = self.script.rules.iter().zip(uses.iter_mut());
        let (rule, used) = rules.find(|(rule, used)| {
            (rule.times == 0 || **used < rule.times) && rule.when.fits(request)
        })?;
        *used += 1;
        Some(rule.clone())
    }
}

/// Notes a client that left before the answer was complete.
struct Watched {
    desk: Arc<Desk>,
    complete: bool,
}

impl Watched {
    fn finish(mut self) {
        self.complete = true;
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.complete {
            self.desk.log.send_modify(|log| log.left += 1);
        }
    }
}

fn paced(
    answer: Frames,
    pace: Duration,
    watched: Watched,
) -> Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>> {
    let state = (answer.frames.into_iter(), Some(answer.then), watched);
    Box::pin(stream::unfold(state, move |(mut frames, mut then, mut watched)| async move {
        if let Some(frame) = frames.next() {
            if pace.is_zero() {
                tokio::task::yield_now().await;
            } else {
                tokio::time::sleep(pace).await;
            }
            // A client need not read on after the last frame.
            watched.complete = frames.len() == 0 && matches!(then, Some(Then::End));
            return Some((Ok(Frame::data(Bytes::from(frame))), (frames, then, watched)));
        }
        match then.take()? {
            Then::Hang => std::future::pending().await,
            Then::End => {
                watched.finish();
                None
            }
            Then::Cut => {
                watched.complete = true;
                // What came before is on its way first.
                tokio::task::yield_now().await;
                let cut = io::Error::new(io::ErrorKind::ConnectionReset, "cut by the script");
                Some((Err(cut), (frames, None, watched)))
            }
        }
    }))
}

fn plain(format: Format, fail: &Fail) -> Response<Body> {
    let mut response =
        Response::builder().status(fail.status).header("content-type", "application/json");
    for (name, value) in [("retry-after", &fail.retry_after), ("location", &fail.location)] {
        if let Some(value) = value {
            response = response.header(name, value);
        }
    }
    let body = Bytes::from(frames::error(format, fail).to_string());
    let body = Full::new(body).map_err(|never| match never {});
    response.body(UnsyncBoxBody::new(body)).unwrap_or_else(|_| Response::new(empty()))
}

fn wrong(status: u16, message: String) -> Fail {
    Fail { status, kind: "invalid_request_error".to_owned(), message, ..Fail::default() }
}

fn empty() -> Body {
    UnsyncBoxBody::new(Full::new(Bytes::new()).map_err(|never| match never {}))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
