//! What the debugger costs beside a raw client that sends the same requests, in turns, with the real adapters.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement fails as a test does and prints"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use agent_debug::{BreakpointsArgs, Debugger, LaunchArgs, RunArgs, RunState, Step};
use agent_process::{Finder, Guard, Launcher, Trust};
use agent_workspace::Workspace;
use serde_json::{Value, json};

/// How often each side launches.
const ROUNDS: usize = 5;

/// How often each side does each operation in a round.
const REPEATS: usize = 8;

/// How long whoever steps thinks before; nothing steps debugpy within 100 ms of a stop.
const THOUGHT: Duration = Duration::from_millis(120);

/// An adapter that talks by its pipes, and a program for it.
struct Subject {
    name: &'static str,
    adapter: PathBuf,
    args: &'static [&'static str],
    id: &'static str,
    program: &'static str,
    source: &'static str,
    line: u32,
    launch: fn(&Path, &str) -> Value,
}

/// Milliseconds of each operation.
#[derive(Default)]
struct Times {
    launch: Vec<f64>,
    step: Vec<f64>,
    stack: Vec<f64>,
    variables: Vec<f64>,
    evaluate: Vec<f64>,
}

fn main() {
    // Under `cargo test --benches` it is built and not run.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let root = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    let programs = root.join("fixtures/dap/programs");
    let python = root.join(".tools/debugpy/bin/python3");
    let mut subjects = Vec::new();
    if python.is_file() {
        let text = fs::read_to_string(programs.join("python/main.py")).unwrap();
        subjects.push((
            Subject {
                name: "debugpy, Python",
                adapter: python,
                args: &["-I", "-m", "debugpy.adapter"],
                id: "debugpy",
                program: "main.py",
                source: "main.py",
                line: marked(&text),
                launch: |folder, program| {
                    json!({"type": "python", "request": "launch", "program": program, "cwd": folder,
                        "console": "internalConsole", "redirectOutput": true, "subProcess": false})
                },
            },
            programs.join("python"),
        ));
    }
    if let Some(adapter) = on_path(&["lldb-dap", "lldb-dap-22", "lldb-dap-19"]) {
        let text = fs::read_to_string(programs.join("c/main.c")).unwrap();
        subjects.push((
            Subject {
                name: "lldb-dap, C",
                adapter,
                args: &[],
                id: "lldb-dap",
                program: "sample",
                source: "main.c",
                line: marked(&text),
                launch: |folder, program| json!({"program": program, "cwd": folder}),
            },
            programs.join("c"),
        ));
    }
    for (subject, sources) in subjects {
        compare(&subject, &sources);
    }
}

fn compare(subject: &Subject, sources: &Path) {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(sources).unwrap().flatten() {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    if subject.program == "sample" {
        let built = Command::new("gcc")
            .args(["-g", "-O0", "-pthread", "main.c", "-o", "sample"])
            .current_dir(folder.path())
            .status();
        assert!(built.unwrap().success());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let debugger = runtime.block_on(async { ours(subject, folder.path()) });
    let (mut raw, mut own) = (Times::default(), Times::default());
    for round in 0..=ROUNDS {
        let (mut raw_round, mut own_round) = (Times::default(), Times::default());
        raw_client(subject, folder.path(), &mut raw_round);
        runtime.block_on(own_client(&debugger, subject, &mut own_round));
        // The first round finds the adapter and warms the caches.
        if round > 0 {
            raw.add(raw_round);
            own.add(own_round);
        }
    }
    println!("{}: median ms, raw client | this crate | difference", subject.name);
    let rows = [
        ("launch to the first stop, stack read", &raw.launch, &own.launch),
        ("step, stack read", &raw.step, &own.step),
        ("stack", &raw.stack, &own.stack),
        ("variables", &raw.variables, &own.variables),
        ("evaluate", &raw.evaluate, &own.evaluate),
    ];
    for (name, raw, own) in rows {
        let (raw, own) = (median(raw), median(own));
        let share = 100.0 * (own - raw) / raw;
        println!("  {name:38} {raw:9.2} | {own:9.2} | {:+8.2} ({share:+.1} %)", own - raw);
    }
}

fn ours(subject: &Subject, folder: &Path) -> Debugger {
    let launcher = Launcher::new(Guard::new());
    let mut path = vec![subject.adapter.parent().unwrap().to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let finder = Finder::new(launcher.clone()).search_path(std::env::join_paths(path).unwrap());
    Debugger::with_finder(Workspace::open(folder).unwrap(), launcher, finder, Trust::Trusted)
}

async fn own_client(debugger: &Debugger, subject: &Subject, times: &mut Times) {
    debugger.breakpoints(&BreakpointsArgs::new(subject.source, [subject.line])).await.unwrap();
    let begun = Instant::now();
    let mut stop = debugger.launch(&LaunchArgs::new(subject.program)).await.unwrap();
    times.launch.push(ms(begun));
    debugger.breakpoints(&BreakpointsArgs::new(subject.source, [])).await.unwrap();
    for _ in 0..REPEATS {
        tokio::time::sleep(THOUGHT).await;
        let begun = Instant::now();
        stop = debugger.step(Step::Over, &RunArgs::new()).await.unwrap();
        times.step.push(ms(begun));
    }
    assert_eq!(stop.state, RunState::Stopped);
    let frame = stop.frame.unwrap().id;
    let reference = debugger.scopes(frame).await.unwrap().scopes[0].reference.unwrap();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        debugger.stack(None).await.unwrap();
        times.stack.push(ms(begun));
        let begun = Instant::now();
        debugger.variables(reference).await.unwrap();
        times.variables.push(ms(begun));
        let begun = Instant::now();
        debugger.evaluate("acc", None).await.unwrap();
        times.evaluate.push(ms(begun));
    }
    debugger.terminate().await;
}

fn raw_client(subject: &Subject, folder: &Path, times: &mut Times) {
    let source = folder.join(subject.source);
    let program = folder.join(subject.program);
    let begun = Instant::now();
    let mut raw = Raw::start(subject);
    raw.ask(
        "initialize",
        json!({"adapterID": subject.id, "linesStartAt1": true, "pathFormat": "path",
        "supportsVariableType": true, "supportsVariablePaging": true}),
    );
    raw.send("launch", (subject.launch)(folder, &program.to_string_lossy()));
    raw.event("initialized");
    let lines = json!({"source": {"path": source}, "breakpoints": [{"line": subject.line}]});
    raw.ask("setBreakpoints", lines);
    if subject.id == "debugpy" {
        raw.ask("setExceptionBreakpoints", json!({"filters": ["uncaught"]}));
    }
    raw.ask("configurationDone", json!({}));
    let thread = raw.event("stopped")["body"]["threadId"].clone();
    let stack = json!({"threadId": thread, "startFrame": 0, "levels": 30});
    raw.ask("stackTrace", stack.clone());
    times.launch.push(ms(begun));
    raw.ask("setBreakpoints", json!({"source": {"path": source}, "breakpoints": []}));
    for _ in 0..REPEATS {
        std::thread::sleep(THOUGHT);
        let begun = Instant::now();
        raw.send("next", json!({"threadId": thread}));
        raw.event("stopped");
        raw.ask("stackTrace", stack.clone());
        times.step.push(ms(begun));
    }
    let frame = raw.ask("stackTrace", stack.clone())["body"]["stackFrames"][0]["id"].clone();
    let scopes = raw.ask("scopes", json!({"frameId": frame}));
    let reference = scopes["body"]["scopes"][0]["variablesReference"].clone();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        raw.ask("stackTrace", stack.clone());
        times.stack.push(ms(begun));
        let begun = Instant::now();
        raw.ask("variables", json!({"variablesReference": reference, "start": 0, "count": 51}));
        times.variables.push(ms(begun));
        let begun = Instant::now();
        raw.ask("evaluate", json!({"expression": "acc", "frameId": frame, "context": "watch"}));
        times.evaluate.push(ms(begun));
    }
    raw.ask("disconnect", json!({"terminateDebuggee": true}));
}

/// A client that frames, waits and does nothing else.
struct Raw {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Events that came before the answer that was waited for.
    early: Vec<Value>,
    seq: u64,
}

impl Raw {
    fn start(subject: &Subject) -> Self {
        let mut child = Command::new(&subject.adapter)
            .args(subject.args)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, early: Vec::new(), seq: 0 }
    }

    fn send(&mut self, command: &str, arguments: Value) -> u64 {
        self.seq += 1;
        let body =
            json!({"seq": self.seq, "type": "request", "command": command, "arguments": arguments});
        let body = body.to_string();
        let message = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.input.write_all(message.as_bytes()).unwrap();
        self.seq
    }

    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let seq = self.send(command, arguments);
        loop {
            let message = self.next();
            if message["request_seq"] == seq {
                return message;
            }
            if message["type"] == "event" {
                self.early.push(message);
            }
        }
    }

    fn event(&mut self, name: &str) -> Value {
        if let Some(index) = self.early.iter().position(|event| event["event"] == name) {
            return self.early.remove(index);
        }
        loop {
            let message = self.next();
            if message["event"] == name {
                return message;
            }
        }
    }

    fn next(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the adapter is gone");
            match line.trim_end().strip_prefix("Content-Length: ") {
                Some(digits) => length = digits.parse().unwrap(),
                None if line.trim_end().is_empty() && length > 0 => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        std::thread::sleep(Duration::from_millis(100));
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

impl Times {
    fn add(&mut self, mut other: Self) {
        self.launch.append(&mut other.launch);
        self.step.append(&mut other.step);
        self.stack.append(&mut other.stack);
        self.variables.append(&mut other.variables);
        self.evaluate.append(&mut other.evaluate);
    }
}

fn ms(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1000.0
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn marked(text: &str) -> u32 {
    let line = text.lines().position(|line| line.contains("BP:loop")).unwrap();
    u32::try_from(line + 1).unwrap()
}

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    found.into_iter().find(|path| path.is_file())
}
