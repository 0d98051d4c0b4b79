//! The server's own loop: one thread reads and answers in order, so that a script is what happens.

use std::{
    collections::{BTreeMap, VecDeque},
    env,
    io::{self, BufRead, Write},
    process::{self, Command},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{Does, Flaw, Pages, Script, Speaks};
use crate::played::Recorder;

const STATELESS: &str = "2026-07-28";
const WITH_INITIALIZE: &str = "2025-11-25";
const META: &str = "io.modelcontextprotocol";

/// What a server says that is no message.
const NOISE: &str = "listening on nothing \u{1b}[31m{\"half\": ";

pub(super) fn run(script: Script) -> ! {
    if let Some(words) = script.flaws.iter().find_map(|flaw| match flaw {
        Flaw::DiesAtStart(words) => Some(words),
        _ => None,
    }) {
        let _gone = writeln!(io::stderr(), "{words}");
        process::exit(3);
    }
    if script.flaws.contains(&Flaw::LeavesAChild) {
        let _child = Command::new("sleep").arg("1000").spawn();
    }
    if script.flaws.contains(&Flaw::FloodsAtStart) {
        while writeln!(io::stdout(), "{NOISE}").is_ok() {}
        process::exit(0);
    }
    if script.flaws.contains(&Flaw::FloodsInOneLine) {
        let block = NOISE.repeat(1_000);
        while io::stdout().write_all(block.as_bytes()).is_ok() {}
        process::exit(0);
    }
    if script.flaws.contains(&Flaw::NeverReads) {
        rest();
    }
    let log = Recorder::new(script.log.as_deref());
    let mut server = Server {
        script,
        log,
        input: Box::new(io::stdin().lock()),
        calls: BTreeMap::new(),
        late: VecDeque::new(),
    };
    while let Some(message) = server.next() {
        server.take(&message);
    }
    if server.script.flaws.contains(&Flaw::OutlivesItsInput) {
        rest();
    }
    process::exit(0)
}

fn rest() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1000));
    }
}

struct Server {
    script: Script,
    log: Recorder,
    input: Box<dyn BufRead>,
    /// How often each tool was called.
    calls: BTreeMap<String, usize>,
    /// Answers that wait for the next message.
    late: VecDeque<Value>,
}

impl Server {
    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        if self.input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        self.log.write(line.trim_end());
        serde_json::from_str(&line).ok()
    }

    fn write(&self, message: &Value) {
        let noise = if self.has(&Flaw::Garbage) { format!("{NOISE}\n") } else { String::new() };
        let mut out = io::stdout().lock();
        let written =
            out.write_all(format!("{noise}{message}\n").as_bytes()).and_then(|()| out.flush());
        if written.is_err() {
            process::exit(0);
        }
    }

    fn has(&self, flaw: &Flaw) -> bool {
        self.script.flaws.contains(flaw)
    }

    fn take(&mut self, message: &Value) {
        if self.has(&Flaw::Silent) {
            return;
        }
        while let Some(late) = self.late.pop_front() {
            self.write(&late);
        }
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            return;
        };
        if self.has(&Flaw::DiesAtDiscover) && method == "server/discover" {
            process::exit(5);
        }
        let answer = match method {
            "server/discover" => self.discover(),
            "initialize" => self.initialize(),
            "tools/list" => self.list(&message["params"]),
            "tools/call" => self.call(id, &message["params"]),
            other => Err((-32601, format!("no method {other}"), Value::Null)),
        };
        let answer = match answer {
            Ok(Value::Null) => return,
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": self.complete(result)}),
            Err((code, message, data)) => {
                let error = json!({"code": code, "message": message, "data": data});
                match self.has(&Flaw::ErrorsWithoutIds) {
                    true => json!({"jsonrpc": "2.0", "error": error}),
                    false => json!({"jsonrpc": "2.0", "id": id, "error": error}),
                }
            }
        };
        if method == "tools/list" && self.has(&Flaw::DiesListed) {
            self.write(&answer);
            process::exit(9);
        }
        if method == "tools/list" && self.has(&Flaw::SilentListed) {
            self.script.flaws.push(Flaw::Silent);
        }
        match self.has(&Flaw::AnswersLate) && matches!(method, "server/discover") {
            true => self.late.push_back(answer),
            false => self.write(&answer),
        }
    }

    /// The revision without a handshake says what kind of result it is.
    fn complete(&self, mut result: Value) -> Value {
        if self.script.speaks == Speaks::Stateless && result.get("resultType").is_none() {
            result["resultType"] = "complete".into();
        }
        result
    }

    fn discover(&self) -> Answered {
        let unsupported = |supported: &[&str]| {
            Err((
                -32022,
                "Unsupported protocol version".to_owned(),
                json!({"supported": supported}),
            ))
        };
        match self.script.speaks {
            Speaks::Initialize => Err((-32601, "Method not found".to_owned(), Value::Null)),
            Speaks::Future => unsupported(&["2031-01-01"]),
            Speaks::Stateless => Ok(json!({
                "supportedVersions": [STATELESS],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {format!("{META}/serverInfo"): {"name": "scripted", "version": "1.2.3"}},
            })),
        }
    }

    fn initialize(&self) -> Answered {
        match self.script.speaks {
            Speaks::Initialize => Ok(json!({
                "protocolVersion": WITH_INITIALIZE,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1.2.3"},
            })),
            Speaks::Stateless => Err((
                -32022,
                "Unsupported protocol version".to_owned(),
                json!({"supported": [STATELESS]}),
            )),
            Speaks::Future => Err((-32022, "no".to_owned(), json!({"supported": ["2031-01-01"]}))),
        }
    }

    fn list(&self, params: &Value) -> Answered {
        let cursor = params["cursor"].as_str().and_then(|cursor| cursor.parse::<usize>().ok());
        let number = cursor.unwrap_or(0);
        let last = self.script.pages.len() - 1;
        if self.script.paging == Pages::SecondIsSilent && number == 1 {
            return Ok(Value::Null);
        }
        let tools = &self.script.pages[number.min(last)];
        let mut page = json!({"tools": tools});
        if self.script.speaks == Speaks::Stateless {
            page["ttlMs"] = 0.into();
            page["cacheScope"] = "private".into();
        }
        let next = match self.script.paging {
            Pages::Round if number >= last => Some(0),
            Pages::Endless => Some(number + 1),
            _ => (number < last).then_some(number + 1),
        };
        if let Some(next) = next {
            page["nextCursor"] = next.to_string().into();
        }
        Ok(page)
    }

    fn call(&mut self, id: &Value, params: &Value) -> Answered {
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        if !self.script.pages.iter().flatten().any(|tool| tool["name"] == *name) {
            return Err((-32602, format!("Unknown tool: {name}"), Value::Null));
        }
        let count = self.calls.entry(name.clone()).or_default();
        let number = std::mem::replace(count, *count + 1);
        let script = self.script.does.get(&name);
        let does = script.map(|does| does[number.min(does.len() - 1)].clone());
        let text = |text: &str| Ok(json!({"content": [{"type": "text", "text": text}]}));
        match does.unwrap_or(Does::Echo) {
            Does::Answer(result) => Ok(result),
            Does::Refuse { code, message } => Err((code, message, Value::Null)),
            Does::Echo => {
                let args = params["arguments"].clone();
                let said = args.to_string();
                Ok(json!({"content": [{"type": "text", "text": said}], "structuredContent": args}))
            }
            Does::Environment(name) => {
                text(&env::var(name).unwrap_or_else(|_| "not set".to_owned()))
            }
            Does::Folder => text(&env::current_dir().unwrap_or_default().to_string_lossy()),
            Does::Silence => Ok(Value::Null),
            Does::Hang => rest(),
            Does::HangAndTell => {
                let token = &params["_meta"]["progressToken"];
                for progress in 1.. {
                    let params = json!({"progressToken": token, "progress": progress});
                    self.write(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
                    thread::sleep(Duration::from_millis(20));
                }
                rest()
            }
            Does::Die { code, words } => {
                let _gone = writeln!(io::stderr(), "{words}");
                process::exit(code)
            }
            Does::Flood(lines) => {
                for _ in 0..lines {
                    if writeln!(io::stdout(), "{NOISE}").is_err() {
                        process::exit(0);
                    }
                }
                text("after the flood")
            }
            Does::Line(line) => {
                let line = line.replace("$id", &id.to_string());
                if writeln!(io::stdout(), "{line}").is_err() {
                    process::exit(0);
                }
                Ok(Value::Null)
            }
            Does::Large(bytes) => text(&"x".repeat(bytes)),
            Does::Progress(steps) => {
                let token = &params["_meta"]["progressToken"];
                for (progress, total, message) in steps {
                    let params = json!({"progressToken": token, "progress": progress, "total": total, "message": message});
                    self.write(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
                }
                text("done")
            }
            Does::Ask(method, asked) => self.ask(id, 1, &method, &asked),
            Does::Insist(times, method, asked) => self.ask(id, times, &method, &asked),
        }
    }

    /// Asks the client so many times for the call of this id, and answers with the last answer.
    fn ask(&mut self, id: &Value, times: usize, method: &str, asked: &Value) -> Answered {
        let mut answer = Value::Null;
        for number in 1..=times {
            let own = format!("ask-{id}-{number}");
            self.write(&json!({"jsonrpc": "2.0", "id": own, "method": method, "params": asked}));
            answer = loop {
                match self.next() {
                    None => process::exit(0),
                    Some(message) if message["id"] == *own => break message,
                    Some(message) if message["method"] == "notifications/cancelled" => {
                        return Ok(Value::Null);
                    }
                    Some(_) => {}
                }
            };
        }
        let answer = answer.get("result").or(answer.get("error")).cloned().unwrap_or_default();
        Ok(json!({"content": [{"type": "text", "text": answer.to_string()}]}))
    }
}

/// A result, null for none at all, or an error: its code, its message and its data.
type Answered = Result<Value, (i64, String, Value)>;
