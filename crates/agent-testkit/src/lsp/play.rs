//! Steps, done one after another.

mod publish;
mod values;

use std::{
    collections::VecDeque,
    env,
    io::{self, Write},
    process::{self, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    Holds, Raw, Step, Then,
    launch::{SCRIPT_VARIABLE, SLEEP_VARIABLE},
    log::Kind,
    own,
    server::{Message, Server},
};

/// Which thread plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The one that reads: at the first step that waits, the rest moves to a thread of its own.
    Reader,
    /// One that may wait.
    Own,
}

/// The steps for one message under way.
#[derive(Debug)]
pub(crate) struct Play {
    server: Arc<Server>,
    message: Message,
    answer: Value,
    /// Steps to come; what the server does of itself holds no placeholders.
    steps: VecDeque<(Step, Origin)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Script,
    Server,
}

/// What the next step has to wait for.
enum Pause {
    Time(Duration),
    Quiet(Duration),
    Answer(Value),
}

impl Play {
    pub(crate) fn new(server: Arc<Server>, message: Message) -> Self {
        Self { server, message, answer: Value::Null, steps: VecDeque::new() }
    }

    pub(crate) fn run(mut self, steps: Vec<Step>, place: Place) {
        self.steps = steps.into_iter().map(|step| (step, Origin::Script)).collect();
        while let Some((step, origin)) = self.steps.pop_front() {
            let Some(pause) = self.act(step, origin) else { continue };
            if place == Place::Own {
                if !self.pause(pause) {
                    return;
                }
                continue;
            }
            // What `Quiet` compares with is counted before anything else is read.
            let before = self.syncs();
            thread::spawn(move || self.rest(pause, before));
            return;
        }
    }

    fn rest(mut self, pause: Pause, before: u64) {
        let mut going = self.pause_since(pause, before);
        while going {
            let Some((step, origin)) = self.steps.pop_front() else { return };
            if let Some(pause) = self.act(step, origin) {
                going = self.pause(pause);
            }
        }
    }

    fn pause(&mut self, pause: Pause) -> bool {
        let before = self.syncs();
        self.pause_since(pause, before)
    }

    /// Waits; whether the steps go on.
    fn pause_since(&mut self, pause: Pause, before: u64) -> bool {
        match pause {
            Pause::Time(time) => thread::sleep(time),
            Pause::Quiet(time) => {
                thread::sleep(time);
                return self.syncs() == before;
            }
            Pause::Answer(id) => self.answer = self.server.await_answer(&id),
        }
        true
    }

    fn act(&mut self, step: Step, origin: Origin) -> Option<Pause> {
        let server = Arc::clone(&self.server);
        let step = if origin == Origin::Script { self.filled(step) } else { step };
        match step {
            Step::Default => {
                let steps = own::steps(&server, &self.message);
                for step in steps.into_iter().rev() {
                    self.steps.push_front((step, Origin::Server));
                }
            }
            Step::Wait(ms) => return Some(Pause::Time(Duration::from_millis(ms))),
            Step::Settle(ms) => return Some(Pause::Quiet(Duration::from_millis(ms))),
            Step::Silence => {}
            Step::Reply(result) => server.answer(&self.message, "result", &result),
            Step::Fail { code, message, data } => {
                let mut error = json!({"code": code, "message": message});
                if let Some(data) = data {
                    error["data"] = data;
                }
                server.answer(&self.message, "error", &error);
            }
            Step::Notify { method, params } => self.notify(&method, &params),
            Step::Request { method, params, id, then } => {
                let id = server.ask(id, &method, &params);
                return (then == Then::Await).then_some(Pause::Answer(id));
            }
            Step::Send(message) => server.send(&message),
            Step::Publish { uri, version, diagnostics } => {
                let uri = self.uri(uri);
                let synced = server.state().synced(&uri);
                self.publish(&uri, self.version(version, synced), &diagnostics);
            }
            Step::PublishToy { uri, version, first } => {
                self.publish_toy(&self.uri(uri), version, first);
            }
            Step::Check => self.check(),
            Step::Progress { token, value } => {
                self.notify("$/progress", &json!({"token": token, "value": value}));
            }
            Step::Register { id, method, options } => {
                let mut registration = json!({"id": id, "method": method});
                if !options.is_null() {
                    registration["registerOptions"] = options;
                }
                let params = json!({"registrations": [registration]});
                server.ask(None, "client/registerCapability", &params);
            }
            Step::Unregister { id, method } => {
                // The protocol's own spelling.
                let params = json!({"unregisterations": [{"id": id, "method": method}]});
                server.ask(None, "client/unregisterCapability", &params);
            }
            Step::ServerStatus { health, quiescent, message } => {
                let mut status = json!({"health": health, "quiescent": quiescent});
                if let Some(message) = message {
                    status["message"] = message.into();
                }
                self.notify("experimental/serverStatus", &status);
            }
            Step::AnalyzerStatus { analyzing } => {
                self.notify("$/analyzerStatus", &json!({"isAnalyzing": analyzing}));
            }
            Step::Write(Raw::Text(text)) => server.write(text.as_bytes()),
            Step::Write(Raw::Bytes(bytes)) => server.write(&bytes),
            Step::Flawed { flaw, message } => {
                let default = json!({
                    "jsonrpc": "2.0", "method": "window/logMessage",
                    "params": {"type": 3, "message": "x"},
                });
                server.write(&flaw.bytes(&message.unwrap_or(default)));
            }
            Step::StopReading(ms) => server.gate.shut(ms.map(Duration::from_millis)),
            Step::Flood { publishes, bytes } => self.flood(publishes, bytes),
            Step::Stderr(line) => {
                let _gone = writeln!(io::stderr(), "{line}");
            }
            Step::Spawn { ms, holds } => self.spawn(ms, holds),
            Step::Exit(code) => server.exit(code),
            Step::Abort => {
                server.log.note(Kind::Exit, &"abort".into());
                process::abort();
            }
        }
        None
    }

    fn notify(&self, method: &str, params: &Value) {
        self.server.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn flood(&self, publishes: u64, bytes: usize) {
        let uri = self.uri(None);
        let range = json!({
            "start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1},
        });
        let diagnostics = json!([{"range": range, "message": "y".repeat(bytes)}]);
        let method = "textDocument/publishDiagnostics";
        let params = json!({"uri": uri, "diagnostics": diagnostics});
        let frame =
            super::wire::frame(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
        for _ in 0..publishes {
            self.server.write(&frame);
        }
        self.server.log.write(Kind::Sent, method, &Value::Null, &json!({"flood": publishes}));
    }

    fn spawn(&self, ms: u64, holds: Holds) {
        let Ok(program) = env::current_exe() else { return };
        let mut command = Command::new(program);
        command.env_remove(SCRIPT_VARIABLE).env(SLEEP_VARIABLE, ms.to_string());
        command.stdin(Stdio::null());
        if holds == Holds::Nothing {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        match command.spawn() {
            Ok(child) => self.server.log.note(Kind::Spawned, &child.id().into()),
            Err(error) => self.server.log.note(Kind::Spawned, &error.to_string().into()),
        }
    }
}
