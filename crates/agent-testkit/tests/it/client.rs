//! A raw client: bytes out, bytes in, nothing shared with the fake's own framing.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use agent_testkit::lsp::{Launch, Log, Script, uri_of};
use serde_json::{Value, json};

/// More than any wait of these tests on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server under way, its folder and its log.
pub(crate) struct Client {
    pub(crate) folder: Arc<tempfile::TempDir>,
    pub(crate) launch: Launch,
    pub(crate) log: Log,
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    /// Messages that came while another was awaited.
    pub(crate) passed: Vec<Value>,
    last_id: u64,
}

impl Client {
    /// Starts a server over a folder with these files and says nothing to it.
    pub(crate) fn start(script: &Script, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("root")).expect("a root");
        for (name, text) in files {
            fs::write(folder.path().join("root").join(name), text).expect("a file");
        }
        let launch = script.install(folder.path()).expect("a script");
        Self::over(Arc::new(folder), launch)
    }

    fn over(folder: Arc<tempfile::TempDir>, launch: Launch) -> Self {
        let mut child = launch
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut stdout = child.stdout.take().expect("its output");
        let (sender, output) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(read @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let log = launch.log();
        let input = child.stdin.take();
        Self {
            folder,
            log,
            launch,
            child,
            input,
            output,
            bytes: Vec::new(),
            passed: Vec::new(),
            last_id: 0,
        }
    }

    /// Starts a server and greets it, as a client that can do these.
    pub(crate) fn greet(script: &Script, files: &[(&str, &str)], capabilities: Value) -> Self {
        let mut client = Self::start(script, files);
        client.initialize(capabilities);
        client.notify("initialized", json!({}));
        client
    }

    /// Starts the same script in the same folder once more.
    pub(crate) fn again(&self) -> Self {
        Self::over(Arc::clone(&self.folder), self.launch.clone())
    }

    pub(crate) fn initialize(&mut self, capabilities: Value) -> Value {
        let root = uri_of(&self.root());
        let folders = json!([{"uri": root, "name": "root"}]);
        let params = json!({
            "processId": null, "rootUri": root, "workspaceFolders": folders,
            "capabilities": capabilities,
        });
        self.request("initialize", params)["result"].clone()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(crate) fn uri(&self, name: &str) -> String {
        uri_of(&self.root().join(name))
    }

    pub(crate) fn write_file(&self, name: &str, text: &str) {
        fs::write(self.root().join(name), text).expect("a file");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("an input");
        // A server that has gone is seen where its answer is awaited.
        let _gone = input.write_all(bytes).and_then(|()| input.flush());
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and does not wait; its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The response to a request, whole.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.response(id)
    }

    pub(crate) fn response(&mut self, id: u64) -> Value {
        self.wait_for(|message| message["id"] == id && message.get("method").is_none())
    }

    pub(crate) fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    /// The next message of a method that the server sends.
    pub(crate) fn wait_for_method(&mut self, method: &str) -> Value {
        self.wait_for(|message| message["method"] == method)
    }

    /// The next publish for a file.
    pub(crate) fn publish(&mut self, name: &str) -> Value {
        let uri = self.uri(name);
        let publish = self.wait_for(|message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri.as_str()
        });
        publish["params"].clone()
    }

    /// The first message that fits, of those that passed and those to come.
    pub(crate) fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.passed.iter().position(&fits) {
            return self.passed.remove(at);
        }
        loop {
            let message = self.next().unwrap_or_else(|| {
                panic!("the output ended; passed: {:?}", self.passed);
            });
            if fits(&message) {
                return message;
            }
            self.passed.push(message);
        }
    }

    /// The next message; `None` at the end of the output.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let header = loop {
            if let Some(at) = self.bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if !self.more() {
                assert_eq!(String::from_utf8_lossy(&self.bytes), "", "half a message");
                return None;
            }
        };
        let text = String::from_utf8(self.bytes[..header].to_vec()).expect("a header");
        let length = text.trim().strip_prefix("Content-Length: ").expect("a length alone");
        let end = header + length.parse::<usize>().expect("a number");
        while self.bytes.len() < end {
            assert!(self.more(), "the output ended in a message");
        }
        let message = serde_json::from_slice(&self.bytes[header..end]).expect("a message");
        self.bytes.drain(..end);
        Some(message)
    }

    /// Everything to the end of the output, as bytes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.bytes)
    }

    /// Whether the output stays open and silent for so long.
    pub(crate) fn is_open_for(&mut self, time: Duration) -> bool {
        self.output.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
    }

    /// The bytes to come, so many.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        while self.bytes.len() < count {
            assert!(self.more(), "the output ended: {:?}", String::from_utf8_lossy(&self.bytes));
        }
        self.bytes.drain(..count).collect()
    }

    fn more(&mut self) -> bool {
        match self.output.recv_timeout(PATIENCE) {
            Ok(bytes) => {
                self.bytes.extend(bytes);
                true
            }
            Err(RecvTimeoutError::Disconnected) => false,
            Err(RecvTimeoutError::Timeout) => panic!("nothing came; passed: {:?}", self.passed),
        }
    }

    /// Sends a request that is answered at once and gives what came before its answer.
    pub(crate) fn meanwhile(&mut self) -> Vec<Value> {
        let id = self.ask("test/ping", Value::Null);
        self.response(id);
        std::mem::take(&mut self.passed)
    }

    pub(crate) fn open(&mut self, name: &str, version: i64, text: &str) {
        let uri = self.uri(name);
        let document = json!({"uri": uri, "languageId": "toy", "version": version, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    pub(crate) fn change(&mut self, name: &str, version: i64, text: &str) {
        let document = json!({"uri": self.uri(name), "version": version});
        let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
        self.notify("textDocument/didChange", params);
    }

    pub(crate) fn save(&mut self, name: &str) {
        let document = json!({"uri": self.uri(name)});
        self.notify("textDocument/didSave", json!({"textDocument": document}));
    }

    pub(crate) fn close(&mut self, name: &str) {
        let document = json!({"uri": self.uri(name)});
        self.notify("textDocument/didClose", json!({"textDocument": document}));
    }

    /// The parameters of a request about a place.
    pub(crate) fn at(&self, name: &str, line: u32, character: u32) -> Value {
        json!({
            "textDocument": {"uri": self.uri(name)},
            "position": {"line": line, "character": character},
        })
    }

    /// The places of an answer, as `file:line:start-end` with 0-indexed lines.
    pub(crate) fn places(&self, response: &Value) -> Vec<String> {
        let root = format!("{}/", uri_of(&self.root()));
        let locations = response["result"].as_array().expect("locations");
        let place = |location: &Value| {
            let uri = location["uri"].as_str().expect("a URI");
            let range = &location["range"];
            let (start, end) = (&range["start"], &range["end"]);
            assert_eq!(start["line"], end["line"]);
            format!(
                "{}:{}:{}-{}",
                uri.strip_prefix(&root).unwrap_or(uri),
                start["line"],
                start["character"],
                end["character"]
            )
        };
        locations.iter().map(place).collect()
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How the server ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status;
            }
            assert!(Instant::now() < deadline, "the server goes on");
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_none()
    }

    pub(crate) fn stderr(&mut self) -> String {
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().expect("its errors");
        stderr.read_to_string(&mut text).expect("text");
        text
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Runs a program to its end: code, output, errors.
pub(crate) fn run(program: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(program);
    command.args(args);
    finished(command)
}

/// Runs a command to its end: code, output, errors.
pub(crate) fn finished(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.output().expect("a process");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}
