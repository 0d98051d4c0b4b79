//! The floor: a client of a few lines that does what has to be done on the wire and nothing else.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use agent_lsp::uri;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

/// How long anything may take.
const LONG: Duration = Duration::from_secs(60);

/// A server, and a thread that reads it.
pub(crate) struct Raw {
    child: Child,
    input: Arc<Mutex<ChildStdin>>,
    heard: Receiver<Value>,
    root: PathBuf,
    calls: i64,
    version: i64,
    /// Those of the answer to `initialize`.
    pub capabilities: Value,
}

impl Raw {
    /// Starts a server in a project and initializes it.
    pub(crate) fn start(program: &Path, args: &[&str], root: &Path) -> Self {
        let mut command = Command::new(program);
        command.args(args).current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.process_group(0);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let input = Arc::new(Mutex::new(child.stdin.take().unwrap()));
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (tell, heard) = channel();
        let answers = Arc::clone(&input);
        thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if message["method"].is_string() && !message["id"].is_null() {
                    let answer = json!({
                        "jsonrpc": "2.0", "id": message["id"], "result": answer(&message),
                    });
                    write(&answers, &answer);
                }
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let root = root.to_owned();
        let mut raw =
            Self { child, input, heard, root, calls: 0, version: 0, capabilities: Value::Null };
        let folder = uri::of_path(&raw.root);
        let answer = raw.request(
            "initialize",
            json!({
                "processId": std::process::id(),
                "rootUri": folder,
                "workspaceFolders": [{ "uri": folder, "name": "shop" }],
                "capabilities": {
                    "general": { "positionEncodings": ["utf-8", "utf-16"] },
                    "window": { "workDoneProgress": true },
                    "workspace": { "configuration": true },
                    "textDocument": {
                        "synchronization": { "didSave": true },
                        "publishDiagnostics": { "versionSupport": true },
                        "diagnostic": { "dynamicRegistration": true },
                    },
                    "experimental": { "serverStatusNotification": true },
                },
            }),
        );
        raw.capabilities = answer["capabilities"].clone();
        raw.notify("initialized", json!({}));
        raw
    }

    pub(crate) fn open(&mut self, file: &str, language: &str) {
        let text = std::fs::read_to_string(self.root.join(file)).unwrap();
        self.version = 1;
        let document = json!({
            "uri": self.uri(file), "languageId": language, "version": 1, "text": text,
        });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Writes a file, changes the document, and saves it. Gives its version.
    pub(crate) fn change(&mut self, file: &str, text: &str) -> i64 {
        std::fs::write(self.root.join(file), text).unwrap();
        self.version += 1;
        let document = json!({ "uri": self.uri(file), "version": self.version });
        let changes = json!([{ "text": text }]);
        self.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": changes }),
        );
        self.notify("textDocument/didSave", json!({ "textDocument": { "uri": self.uri(file) } }));
        self.version
    }

    /// Asks, and waits for the answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        write(&self.input, &request);
        let mut message = self.until(|message| message["method"].is_null() && message["id"] == id);
        assert!(message["error"].is_null(), "{method}: {message}");
        message["result"].take()
    }

    /// Waits for a message.
    pub(crate) fn until(&mut self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        let end = Instant::now() + LONG;
        loop {
            let message = self.heard.recv_timeout(end.saturating_duration_since(Instant::now()));
            let message = message.expect("the server said nothing for long, or ended");
            if wanted(&message) {
                return message;
            }
        }
    }

    /// Takes what comes until nothing has come for so long.
    pub(crate) fn settle(&mut self, quiet: Duration) {
        while !matches!(self.heard.recv_timeout(quiet), Err(RecvTimeoutError::Timeout)) {}
    }

    pub(crate) fn uri(&self, file: &str) -> String {
        uri::of_path(&self.root.join(file)).to_string()
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    fn notify(&self, method: &str, params: Value) {
        write(&self.input, &json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // With all that it started.
        if let Some(group) = self.child.id().try_into().ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// What a server is answered that asks something.
fn answer(request: &Value) -> Value {
    match request["method"].as_str() {
        Some("workspace/configuration") => {
            let items = request["params"]["items"].as_array().map_or(0, Vec::len);
            json!(vec![Value::Null; items])
        }
        _ => Value::Null,
    }
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok()?;
            }
            Some(_) => {}
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn write(input: &Mutex<ChildStdin>, message: &Value) {
    let body = message.to_string();
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
    // A server that is gone shows by its silence.
    let _ = write!(input, "Content-Length: {}\r\n\r\n{body}", body.len());
    let _ = input.flush();
}
