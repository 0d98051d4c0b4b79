//! A host made of a script: it says line after line and writes down both sides.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::home::Home;

/// How long any one message may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Host,
    Run,
}

/// A line of a session.
pub(crate) struct Said {
    pub(crate) side: Side,
    pub(crate) line: String,
}

/// One `agent-run serve` and the lines that went both ways.
pub(crate) struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: mpsc::Receiver<String>,
    /// Messages of the run that nothing waited for yet.
    unread: Vec<Value>,
    record: Vec<Said>,
    last_id: u64,
}

impl Peer {
    pub(crate) fn start(home: &Home, options: &[&str]) -> Self {
        Self::start_with(home, options, &[])
    }

    /// The same with variables in its environment.
    pub(crate) fn start_with(home: &Home, options: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = home.command(&[options, &["serve"]].concat());
        command.envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (lines, output) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                if lines.send(line.expect("UTF-8")).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, output, unread: Vec::new(), record: Vec::new(), last_id: 0 }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a message as a host should; it is held to the schema too.
    pub(crate) fn say(&mut self, message: &Value) {
        let line = message.to_string();
        self.raw(format!("{line}\n").as_bytes());
        self.record.push(Said { side: Side::Host, line });
    }

    /// Sends bytes as they are. What a run makes of nonsense is held to the schema, nonsense is not.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).expect("the run reads");
        input.flush().expect("the run reads");
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and gives back its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The whole answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.wait(|message| message.get("method").is_none() && message["id"] == id)
    }

    /// The result of a request.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let mut answer = self.answer(id);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }

    /// The code of the error of a request.
    pub(crate) fn refused(&mut self, method: &str, params: Value) -> i64 {
        let id = self.ask(method, params);
        let answer = self.answer(id);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method} gave {answer}"))
    }

    /// The code of the error that bytes are answered with, under no id.
    pub(crate) fn code_of(&mut self, bytes: &[u8]) -> i64 {
        self.raw(bytes);
        let answer = self.wait(|message| message.get("id").is_some_and(Value::is_null));
        answer["error"]["code"].as_i64().expect("an error")
    }

    /// Opens the run with this host's cards and tools.
    pub(crate) fn initialize(&mut self, home: &Home, more: Value) -> Value {
        let mut params = json!({
            "versions": [1], "client": {"name": "peer"}, "roots": [home.checkout.path()],
            "approve": "all", "capabilities": {"cards": true},
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        self.request("initialize", params)
    }

    /// The result of a call.
    pub(crate) fn call(&mut self, call_id: &str, name: &str, args: Value) -> Value {
        self.request("run/call", json!({"call_id": call_id, "name": name, "args": args}))
    }

    /// The next message of this method.
    pub(crate) fn heard(&mut self, method: &str) -> Value {
        self.wait(|message| message["method"] == method)
    }

    /// The first message, not yet waited for, of which this holds.
    pub(crate) fn wait(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unread.iter().position(&holds) {
            return self.unread.remove(at);
        }
        loop {
            let Ok(line) = self.output.recv_timeout(PATIENCE) else {
                panic!("waited in vain; unread: {:?}", self.unread);
            };
            let message: Value = serde_json::from_str(&line).expect("a message of the run");
            self.record.push(Said { side: Side::Run, line });
            if holds(&message) {
                return message;
            }
            self.unread.push(message);
        }
    }

    /// Closes the input and gives back how the run ended, what was still unread, and the record.
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<Value>, Vec<Said>) {
        self.input = None;
        while let Ok(line) = self.output.recv_timeout(PATIENCE) {
            self.unread.push(serde_json::from_str(&line).expect("a message of the run"));
            self.record.push(Said { side: Side::Run, line });
        }
        let status = self.child.wait().expect("it ends");
        (status, std::mem::take(&mut self.unread), std::mem::take(&mut self.record))
    }

    /// How a run ended that ends by itself or was told to by a signal: its input stays open until then, since its end would be
    /// a reason of its own.
    pub(crate) fn ended(mut self) -> ExitStatus {
        while self.output.recv_timeout(PATIENCE).is_ok() {}
        self.child.wait().expect("it ends")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
