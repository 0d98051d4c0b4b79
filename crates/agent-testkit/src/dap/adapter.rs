//! The adapter itself: it reads requests, and runs the rules or the toy.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, BufRead, BufReader, Write},
    net::TcpStream,
    os::unix::process::CommandExt,
    process::{self, Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{Manner, Script, Step, Toy};
use crate::{lsp::wire, played::Recorder};

/// The thread of the toy.
const THREAD: i64 = 7;

/// The frame of every stop, and the one below it.
const FRAME: i64 = 1000;

/// The reference of every stop.
const LOCALS: i64 = 1;

/// The argument by which the client says where it listens.
const CLIENT: &str = "--client-addr=";

struct Adapter {
    script: Script,
    output: Mutex<Box<dyn Write + Send>>,
    recorder: Recorder,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: HashMap<String, u64>,
    last_seq: i64,
    /// The launch that is not answered yet.
    launch: Option<Value>,
    attached: bool,
    breakpoints: BTreeMap<String, Vec<u32>>,
    line: u32,
    running: bool,
    ended: bool,
    child: Option<Child>,
}

/// Debugs until the input ends.
pub(super) fn run(script: Script, args: &[String]) -> ! {
    let recorder = Recorder::new(script.log.as_deref());
    let called = args.iter().find_map(|arg| arg.strip_prefix(CLIENT));
    let (mut input, output): (Box<dyn BufRead>, Box<dyn Write + Send>) = match called {
        Some(address) => {
            let Ok(stream) = TcpStream::connect(address) else { process::exit(1) };
            let Ok(reader) = stream.try_clone() else { process::exit(1) };
            (Box::new(BufReader::new(reader)), Box::new(stream))
        }
        None => (Box::new(io::stdin().lock()), Box::new(io::stdout())),
    };
    let adapter =
        Arc::new(Adapter { script, output: Mutex::new(output), recorder, state: Mutex::default() });
    while let Ok(Some(message)) = wire::read(&mut input) {
        if message["type"] == "request" {
            let (command, arguments) = (&message["command"], &message["arguments"]);
            adapter.recorder.write(json!({"command": command, "arguments": arguments}));
            adapter.request(message);
        } else {
            adapter.recorder.write(json!({"command": "(response)", "arguments": message}));
        }
    }
    adapter.kill();
    process::exit(0)
}

impl Adapter {
    fn request(self: &Arc<Self>, message: Value) {
        let command = message["command"].as_str().unwrap_or_default().to_owned();
        let nth = {
            let mut state = self.state();
            let seen = state.seen.entry(command.clone()).or_default();
            *seen += 1;
            *seen
        };
        let rule = self
            .script
            .rules
            .iter()
            .find(|rule| rule.on == command && rule.nth.is_none_or(|wanted| wanted == nth));
        let Some(rule) = rule else { return self.default(&message, &command) };
        let (adapter, steps) = (self.clone(), rule.steps.clone());
        let waits = steps.iter().any(|step| matches!(step, Step::Wait(_)));
        let work = move || {
            for step in &steps {
                adapter.step(step, &message, &command);
            }
        };
        if waits {
            thread::spawn(work);
        } else {
            work();
        }
    }

    fn step(self: &Arc<Self>, step: &Step, message: &Value, command: &str) {
        match step {
            Step::Default => self.default(message, command),
            Step::Wait(ms) => thread::sleep(Duration::from_millis(*ms)),
            Step::Reply(body) => self.reply(message, body.clone()),
            Step::Fail { message: said, body } => self.fail(message, said.as_deref(), body),
            Step::Silence => {}
            Step::Event { event, body } => self.event(event, body.clone()),
            Step::Request { command } => self.send(json!({"type": "request", "command": command})),
            Step::Send(message) => self.send(message.clone()),
            Step::Write(text) => self.write(text.as_bytes()),
            Step::Body(text) => {
                let head = format!("Content-Length: {}\r\n\r\n{text}", text.len());
                self.write(head.as_bytes());
            }
            Step::Flood { events, bytes } => {
                let text = "y".repeat(*bytes);
                for _ in 0..*events {
                    self.event("output", json!({"category": "stdout", "output": text}));
                }
            }
            Step::Stderr(text) => {
                let _gone = writeln!(io::stderr(), "{text}");
            }
            Step::StopReading => loop {
                thread::park();
            },
            Step::Exit(code) => process::exit(*code),
        }
    }

    fn default(self: &Arc<Self>, message: &Value, command: &str) {
        let arguments = &message["arguments"];
        match command {
            "initialize" => self.initialize(message),
            "launch" | "attach" => self.start(message, command),
            "setBreakpoints" => self.set_breakpoints(message, arguments),
            "setFunctionBreakpoints" => {
                let wanted = arguments["breakpoints"].as_array().map_or(0, Vec::len);
                let set: Vec<_> =
                    (0..wanted).map(|n| json!({"id": 900 + n, "verified": true})).collect();
                self.reply(message, json!({"breakpoints": set}));
            }
            "setExceptionBreakpoints" => self.reply(message, Value::Null),
            "configurationDone" => self.configured(message),
            "threads" => {
                let main = json!({"id": THREAD, "name": "main"});
                self.reply(message, json!({"threads": [main]}));
            }
            "stackTrace" => self.stack(message),
            "scopes" => {
                let scope = json!({"name": "Locals", "presentationHint": "locals",
                    "variablesReference": LOCALS, "expensive": false});
                self.reply(message, json!({"scopes": [scope]}));
            }
            "variables" => {
                let line = self.state().line.to_string();
                let line =
                    json!({"name": "line", "value": line, "type": "int", "variablesReference": 0});
                self.reply(message, json!({"variables": [line]}));
            }
            "evaluate" => {
                let line = self.state().line;
                let result =
                    format!("{} at {line}", arguments["expression"].as_str().unwrap_or_default());
                self.reply(message, json!({"result": result, "variablesReference": 0}));
            }
            "continue" => self.resume(message, None),
            "next" | "stepIn" | "stepOut" => self.resume(message, Some(1)),
            "pause" => {
                self.reply(message, Value::Null);
                self.paused();
            }
            "disconnect" => {
                if arguments["terminateDebuggee"] == true {
                    self.kill();
                }
                if self.script.toy.manner == Manner::Delve && self.state().ended {
                    self.exit_words("Process 1 has exited with status ");
                }
                self.reply(message, Value::Null);
                if self.script.toy.manner != Manner::Debugpy {
                    process::exit(0);
                }
            }
            _ => self.fail(message, Some("unknown request"), &Value::Null),
        }
    }

    fn initialize(&self, message: &Value) {
        let on = json!([{"filter": "uncaught", "label": "Uncaught", "default": true}]);
        self.reply(
            message,
            json!({
                "supportsConfigurationDoneRequest": true,
                "supportsFunctionBreakpoints": true,
                "supportsConditionalBreakpoints": true,
                "supportsHitConditionalBreakpoints": self.script.toy.manner != Manner::Dart,
                "supportsLogPoints": true,
                "exceptionBreakpointFilters": on,
            }),
        );
        if self.script.toy.manner == Manner::Dart {
            self.event("initialized", Value::Null);
        }
    }

    fn start(&self, message: &Value, command: &str) {
        self.state().attached = command == "attach";
        if command == "launch" {
            self.spawn();
        }
        match self.script.toy.manner {
            Manner::Debugpy => {
                self.state().launch = Some(message.clone());
                self.event("initialized", Value::Null);
            }
            Manner::Lldb => {
                self.reply(message, Value::Null);
                self.event("initialized", Value::Null);
            }
            Manner::Delve => {
                self.event("initialized", Value::Null);
                self.reply(message, Value::Null);
            }
            Manner::Dart => self.state().launch = Some(message.clone()),
        }
    }

    fn spawn(&self) {
        let Some(command) = &self.script.toy.debuggee else { return };
        let child = Command::new("sh")
            .args(["-c", command])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        if let Ok(child) = child {
            self.event("process", json!({"name": "toy", "systemProcessId": child.id()}));
            self.state().child = Some(child);
        }
    }

    fn configured(self: &Arc<Self>, message: &Value) {
        self.reply(message, Value::Null);
        let launch = self.state().launch.take();
        if self.script.toy.manner == Manner::Dart {
            self.event("dart.debuggerUris", json!({"vmServiceUri": "ws://127.0.0.1:1/x/ws"}));
            self.event("stopped", json!({"reason": "entry", "threadId": THREAD}));
            self.event("continued", json!({"threadId": THREAD}));
        }
        if let Some(launch) = launch {
            self.reply(&launch, Value::Null);
        }
        self.state().running = true;
        self.go(None);
    }

    fn set_breakpoints(&self, message: &Value, arguments: &Value) {
        let path = arguments["source"]["path"].as_str().unwrap_or_default().to_owned();
        let wanted = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        let mut set = Vec::new();
        let mut answers = Vec::new();
        for wanted in &wanted {
            let line = u32::try_from(wanted["line"].as_u64().unwrap_or(0)).unwrap_or(0);
            match self.script.toy.bound(line) {
                Some(at) => {
                    set.push(at);
                    answers.push(json!({"id": at, "verified": true, "line": at}));
                }
                None => answers.push(json!({"verified": false})),
            }
        }
        self.state().breakpoints.insert(path, set);
        self.reply(message, json!({"breakpoints": answers}));
    }

    fn stack(&self, message: &Value) {
        let path = self.state().breakpoints.keys().next().cloned().unwrap_or_default();
        let frame = |id: i64, name: &str, line: u32| {
            json!({"id": id, "name": name, "line": line, "column": 1,
                "source": {"name": "toy", "path": path}})
        };
        let line = self.state().line;
        let frames = [frame(FRAME, "work", line), frame(FRAME + 1, "main", self.script.toy.lines)];
        self.reply(message, json!({"stackFrames": frames, "totalFrames": 2}));
    }

    fn resume(self: &Arc<Self>, message: &Value, lines: Option<u32>) {
        {
            let mut state = self.state();
            if state.running || state.ended {
                drop(state);
                return self.fail(message, Some("not stopped"), &Value::Null);
            }
            state.running = true;
        }
        if self.script.toy.stops_first {
            self.go(lines);
            self.reply(message, json!({"allThreadsContinued": true}));
        } else {
            self.reply(message, json!({"allThreadsContinued": true}));
            self.event("continued", json!({"threadId": THREAD, "allThreadsContinued": true}));
            self.go(lines);
        }
    }

    /// Runs to the next stop, or so many lines.
    fn go(self: &Arc<Self>, lines: Option<u32>) {
        let toy = &self.script.toy;
        if toy.run_ms == 0 {
            return self.run_now(lines);
        }
        let (adapter, time) = (self.clone(), Duration::from_millis(toy.run_ms));
        thread::spawn(move || {
            thread::sleep(time);
            adapter.run_now(lines);
        });
    }

    fn run_now(&self, lines: Option<u32>) {
        let toy: &Toy = &self.script.toy;
        let mut stop = None;
        {
            let mut state = self.state();
            if !state.running {
                return;
            }
            let hit: Vec<u32> = state.breakpoints.values().flatten().copied().collect();
            for (count, line) in toy.after(state.line).enumerate() {
                state.line = line;
                let stepped = lines.is_some_and(|lines| count + 1 >= lines as usize);
                let reason = if toy.crash == Some(line) {
                    Some("exception")
                } else if hit.contains(&line) {
                    Some("breakpoint")
                } else {
                    stepped.then_some("step")
                };
                if reason.is_some() {
                    stop = reason;
                    break;
                }
            }
            if stop.is_some() {
                state.running = false;
            }
        }
        let line = self.state().line;
        self.event("output", json!({"category": "stdout", "output": format!("line {line}\n")}));
        match stop {
            Some("exception") => {
                self.stopped("exception", json!({"text": "Oops", "description": "it broke"}))
            }
            Some(reason) => self.stopped(reason, json!({"hitBreakpointIds": [line]})),
            None if toy.spins => {}
            None => self.end(),
        }
    }

    fn stopped(&self, reason: &str, more: Value) {
        let mut body = json!({"reason": reason, "threadId": THREAD, "allThreadsStopped": true});
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        self.event("stopped", body);
    }

    fn paused(&self) {
        let was = std::mem::take(&mut self.state().running);
        if was {
            self.stopped("pause", Value::Null);
        }
    }

    fn end(&self) {
        {
            let mut state = self.state();
            state.running = false;
            state.ended = true;
        }
        match self.script.toy.manner {
            Manner::Debugpy | Manner::Lldb => {
                self.event("exited", json!({"exitCode": self.script.toy.exit_code}));
            }
            Manner::Dart => {
                let code = self.script.toy.exit_code;
                let words =
                    if code == 0 { "Exited.".to_owned() } else { format!("Exited ({code}).") };
                self.event(
                    "output",
                    json!({"category": "console", "output": format!("\n{words}\n")}),
                );
            }
            Manner::Delve => {}
        }
        self.event("terminated", Value::Null);
    }

    fn exit_words(&self, words: &str) {
        let text = format!("{words}{}\n", self.script.toy.exit_code);
        self.event("output", json!({"category": "console", "output": text}));
    }

    fn kill(&self) {
        let child = self.state().child.take();
        if let Some(mut child) = child {
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }

    fn reply(&self, message: &Value, body: Value) {
        let mut reply = json!({"type": "response", "request_seq": message["seq"],
            "command": message["command"], "success": true});
        if !body.is_null() {
            reply["body"] = body;
        }
        self.send(reply);
    }

    fn fail(&self, message: &Value, said: Option<&str>, body: &Value) {
        let mut reply = json!({"type": "response", "request_seq": message["seq"],
            "command": message["command"], "success": false});
        if let Some(said) = said {
            reply["message"] = said.into();
        }
        if !body.is_null() {
            reply["body"] = body.clone();
        }
        self.send(reply);
    }

    fn event(&self, event: &str, body: Value) {
        let mut message = json!({"type": "event", "event": event});
        if !body.is_null() {
            message["body"] = body;
        }
        self.send(message);
    }

    fn send(&self, mut message: Value) {
        let seq = {
            let mut state = self.state();
            state.last_seq += 1;
            if self.script.toy.manner == Manner::Lldb { 0 } else { state.last_seq }
        };
        message["seq"] = seq.into();
        self.write(&wire::frame(&message));
    }

    /// Writes bytes whole. A client that is gone is noticed at the input.
    fn write(&self, bytes: &[u8]) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let _gone = output.write_all(bytes).and_then(|()| output.flush());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
