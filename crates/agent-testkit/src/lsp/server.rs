//! The run loop: one thread reads; steps that wait go on in threads of their own.

use std::{
    process,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};

use super::{
    END_OF_INPUT, Log, START, Script, Step, launch,
    log::{Kind, Recorder},
    own, path_of,
    play::{Place, Play},
    state::State,
    wire::{self, Gate, Input, Output},
};

/// The exit code after `exit` without `shutdown`, and at the end of the input (LSP 3.17, `exit`).
pub(crate) const UNCLEAN: i32 = 1;
/// The exit code after what is no message.
const JUNK: i32 = 3;
/// `RequestCancelled`.
const CANCELLED: i64 = -32800;

/// What came, and what steps speak of when they speak of "the message".
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) method: String,
    pub(crate) id: Option<Value>,
    pub(crate) params: Value,
}

/// What all threads of the server share.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) script: Script,
    pub(crate) log: Recorder,
    pub(crate) gate: Gate,
    output: Output,
    /// Held from looking to publishing, so that what is published last is what was seen last.
    publishing: Mutex<()>,
    state: Mutex<State>,
    answered: Condvar,
    process: u32,
}

/// Runs a script over standard input and output until the process ends.
pub(crate) fn run(script: Script, log: Recorder) -> ! {
    let server = Arc::new(Server::new(script, log));
    server.meet(Message { method: START.to_owned(), ..Message::default() }, Place::Own);
    let mut input = Input::new(&server.gate);
    loop {
        match wire::read(&mut input) {
            Ok(Some(message)) => server.take(message),
            Ok(None) => break,
            Err(fault) => {
                server.log.note(Kind::Junk, &fault.into());
                server.exit(JUNK);
            }
        }
    }
    server.log.note(Kind::EndOfInput, &Value::Null);
    server.meet(Message { method: END_OF_INPUT.to_owned(), ..Message::default() }, Place::Own);
    server.exit(UNCLEAN)
}

impl Server {
    fn new(script: Script, log: Recorder) -> Self {
        let path = script.log.as_deref();
        let before =
            path.and_then(|path| Log::read(path).ok()).map_or(0, |log| log.started().len());
        log.note(Kind::Started, &launch::circumstances());
        let state = State { counts: vec![0; script.rules.len()], ..State::default() };
        Self {
            script,
            log,
            gate: Gate::default(),
            output: Output::default(),
            publishing: Mutex::default(),
            state: Mutex::new(state),
            answered: Condvar::new(),
            process: u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, mut value: Value) {
        let id = value.get("id").cloned();
        let Some(method) = value["method"].as_str().map(str::to_owned) else {
            return self.take_answer(&id.unwrap_or_default(), &value);
        };
        let message = Message { method, id, params: value["params"].take() };
        let kind = if message.id.is_some() { Kind::Request } else { Kind::Notification };
        let shown_id = message.id.clone().unwrap_or_default();
        self.log.write(kind, &message.method, &shown_id, &message.params);
        self.absorb(&message);
        self.meet(message, Place::Reader);
    }

    /// What holds whichever rule takes the message.
    fn absorb(&self, message: &Message) {
        let mut state = self.state();
        let encoding = state.encoding;
        state.documents.absorb(&message.method, &message.params, encoding);
        if let Some(id) = &message.id {
            state.cancelled.remove(&id.to_string());
            state.open_requests.insert(id.to_string());
        }
        match message.method.as_str() {
            "initialize" => own::initialize(&mut state, &self.script, &message.params),
            "textDocument/didClose" => {
                let uri = message.params["textDocument"]["uri"].as_str().unwrap_or_default();
                state.published.remove(&path_of(uri));
            }
            "initialized" => own::initialized(&mut state, &self.script),
            _ => {}
        }
    }

    fn take_answer(&self, id: &Value, message: &Value) {
        let mut state = self.state();
        let method = state.asked.remove(&id.to_string()).unwrap_or_default();
        match message.get("error") {
            Some(error) => self.log.write(Kind::Refusal, &method, id, error),
            None => self.log.write(Kind::Response, &method, id, &message["result"]),
        }
        state.answers.insert(id.to_string(), message.clone());
        self.answered.notify_all();
    }

    /// Finds the rule for a message and plays its steps.
    fn meet(self: &Arc<Self>, message: Message, place: Place) {
        let steps = self.steps(&message);
        Play::new(Arc::clone(self), message).run(steps, place);
    }

    fn steps(&self, message: &Message) -> Vec<Step> {
        let mut state = self.state();
        let mut taken = None;
        for (index, rule) in self.script.rules.iter().enumerate() {
            if !rule.fits(&message.method, &message.params) {
                continue;
            }
            state.counts[index] += 1;
            let due = rule.nth.takes(state.counts[index]) && rule.process.takes(self.process);
            if due && taken.is_none() {
                taken = Some(rule.steps.clone());
            }
        }
        taken.unwrap_or_else(|| vec![Step::Default])
    }

    /// Writes a message, and then the log.
    pub(crate) fn send(&self, message: &Value) {
        self.output.write(&wire::frame(message));
        let method = message["method"].as_str().unwrap_or_default();
        let body = ["params", "result", "error"].iter().find_map(|field| message.get(field));
        let null = Value::Null;
        self.log.write(Kind::Sent, method, &message["id"], body.unwrap_or(&null));
    }

    /// Writes bytes.
    pub(crate) fn write(&self, bytes: &[u8]) {
        self.output.write(bytes);
    }

    /// Answers a request, unless it is none or it was cancelled.
    pub(crate) fn answer(&self, message: &Message, field: &str, body: &Value) {
        let Some(id) = &message.id else { return };
        {
            let mut state = self.state();
            state.open_requests.remove(&id.to_string());
            if state.cancelled.contains(&id.to_string()) {
                return;
            }
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, field: body}));
    }

    /// Answers a request that the client takes back, if it is still open.
    pub(crate) fn cancel(&self, id: &Value) {
        let open = {
            let mut state = self.state();
            let open = state.open_requests.remove(&id.to_string());
            if open {
                state.cancelled.insert(id.to_string());
            }
            open
        };
        if open {
            let error = json!({"code": CANCELLED, "message": "request cancelled"});
            self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    }

    /// Sends a request to the client; its id.
    pub(crate) fn ask(&self, id: Option<Value>, method: &str, params: &Value) -> Value {
        let id = {
            let mut state = self.state();
            state.last_id += 1;
            let id = id.unwrap_or_else(|| state.last_id.into());
            state.asked.insert(id.to_string(), method.to_owned());
            state.answers.remove(&id.to_string());
            id
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the client's answer to a request.
    pub(crate) fn await_answer(&self, id: &Value) -> Value {
        let mut state = self.state();
        loop {
            if let Some(answer) = state.answers.remove(&id.to_string()) {
                return answer;
            }
            state = self.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The turn to look and publish.
    pub(crate) fn publishing(&self) -> MutexGuard<'_, ()> {
        self.publishing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn exit(&self, code: i32) -> ! {
        self.log.note(Kind::Exit, &code.into());
        process::exit(code)
    }
}
