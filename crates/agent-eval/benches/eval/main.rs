//! Measures against jupyter_client and ipykernel of the same environment, in turns, in one run, and prints ratios of medians:
//! `cargo xtask bench eval`.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up has failed")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use agent_eval::{Cell, Interpreters, Language, rewrite::rewrite};
use agent_process::{Guard, Launcher};
use agent_tool_core::{
    BoxFuture, CallId, Context, Dispatch, Limits, Nothing, Tier, ToolCall, ToolOutput, ToolResult,
    ToolSpec,
};
use agent_workspace::Workspace;

const STARTS: usize = 7;
const TRIPS: usize = 500;
const FLOODS: usize = 3;
const FLOOD: &str =
    "import sys\nb = 'y' * (1 << 20)\nfor _ in range(100): _n = sys.stdout.write(b)";
const IDLE: Duration = Duration::from_millis(1500);

fn main() {
    agent_process::guard::main_if_asked();
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::spawn(measure()).await }).unwrap();
}

async fn measure() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::builder().root(folder.path()).open().unwrap();
    let launcher = Launcher::new(Guard::new());
    let ours =
        Interpreters::builder(workspace, launcher).virtual_env(None).python(python()).build();
    let cx = Context::new(CallId::new("bench"), Tier::Exec, Arc::new(Echo), Arc::new(Nothing));
    let mut peer = Peer::start();

    let (mut start, mut start_peer) = (Vec::new(), Vec::new());
    run(&ours, Language::Python, "1", &cx).await;
    for _ in 0..STARTS {
        start_peer.push(peer.ask(r#"{"do": "start"}"#));
        ours.close().await;
        let begun = Instant::now();
        ours.start(Language::Python).await.unwrap();
        start.push(begun.elapsed().as_secs_f64());
    }
    print("start to ready", &mut start, &mut start_peer, 1.0 / 8.0);

    for (language, most) in [(Language::Python, 1.0 / 10.0), (Language::JavaScript, 1.0 / 5.0)] {
        run(&ours, language, "1 + 1", &cx).await;
        let (mut trips, mut trips_peer) = (Vec::new(), Vec::new());
        for _ in 0..TRIPS / 50 {
            for _ in 0..50 {
                trips.push(run(&ours, language, "1 + 1", &cx).await);
            }
            for _ in 0..50 {
                trips_peer.push(peer.ask(r#"{"do": "run", "code": "1 + 1"}"#));
            }
        }
        print(&format!("1 + 1 in {}", language.as_str()), &mut trips, &mut trips_peer, most);
    }

    let (mut calls, mut pings) = (Vec::new(), Vec::new());
    let code = "import time\nts = []\nfor _ in range(200):\n    t = time.perf_counter(); tool('echo', {'n': 1}); ts.append(time.perf_counter() - t)\nsorted(ts)[100]";
    let mut cat = Cat::start();
    for _ in 0..5 {
        let outcome = ours.run(Cell::new(code), &cx).await.unwrap();
        calls.push(outcome.result().unwrap()["text/plain"].as_str().unwrap().parse().unwrap());
        pings.extend((0..200).map(|_| cat.ping()));
    }
    print("a bridged call (peer: ping-pong over a bare pipe)", &mut calls, &mut pings, 4.0);

    let (mut flood, mut flood_peer) = (Vec::new(), Vec::new());
    let line = serde_json::json!({"do": "run", "code": FLOOD}).to_string();
    for _ in 0..FLOODS {
        flood.push(run(&ours, Language::Python, FLOOD, &cx).await);
        flood_peer.push(peer.ask(&line));
    }
    print("100 MB in 1 MB writes", &mut flood, &mut flood_peer, 0.5);

    ours.close().await;
    peer.ask(r#"{"do": "start"}"#);
    let outcome =
        ours.run(Cell::new("import os; f'{os.getpid()} {os.getppid()}'"), &cx).await.unwrap();
    tokio::time::sleep(IDLE).await;
    let ids =
        outcome.result().unwrap()["text/plain"].as_str().unwrap().trim_matches('\'').to_owned();
    let memory: f64 = ids.split(' ').map(pss).sum();
    print(
        "idle memory, PSS in KiB, with the supervisor",
        &mut [memory],
        &mut [peer.ask(r#"{"do": "pss"}"#)],
        0.5,
    );

    let corpus = corpus();
    let bytes: usize = corpus.iter().map(String::len).sum();
    let begun = Instant::now();
    let changed =
        corpus.iter().filter(|text| matches!(rewrite(text), std::borrow::Cow::Owned(_))).count();
    let speed = bytes as f64 / 1e6 / begun.elapsed().as_secs_f64();
    println!(
        "{:58} {speed:.0} MB/s over {:.0} MB ({changed} files changed); at least 20",
        "the scanner of idioms",
        bytes as f64 / 1e6
    );
}

fn print(name: &str, ours: &mut [f64], peer: &mut [f64], most: f64) {
    let (ours, peer) = (median(ours), median(peer));
    let ratio = ours / peer;
    let held = if ratio <= most { "" } else { "   OVER" };
    println!(
        "{name:58} ours {ours:10.6}   peer {peer:10.6}   ratio {ratio:.3}, at most {most:.3}{held}"
    );
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

async fn run(interpreters: &Interpreters, language: Language, code: &str, cx: &Context) -> f64 {
    let begun = Instant::now();
    let outcome = interpreters.run(Cell::new(code).language(language), cx).await.unwrap();
    assert!(outcome.error.is_none() && outcome.death.is_none(), "{outcome:?}");
    begun.elapsed().as_secs_f64()
}

fn python() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.tools/eval/bin/python3")
}

fn pss(id: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// The sources of the standard library.
fn corpus() -> Vec<String> {
    let code = "import sysconfig; print(sysconfig.get_paths()['stdlib'])";
    let folder = Command::new(python()).args(["-c", code]).output().unwrap().stdout;
    let mut texts = Vec::new();
    gather(Path::new(String::from_utf8(folder).unwrap().trim()), &mut texts);
    texts
}

fn gather(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "py") {
            texts.extend(fs::read_to_string(&path));
        }
    }
}

/// Its tools answer at once.
struct Echo;

impl Dispatch for Echo {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call<'a>(&'a self, call: ToolCall, _parent: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { Ok(ToolOutput::default().with_data(call.args)) })
    }

    fn narrow(&self, _limits: Limits) -> Arc<dyn Dispatch> {
        Arc::new(Echo)
    }
}

/// A program of the peer's side, asked line by line.
struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    fn start() -> Self {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/eval/peer.py");
        Self::of(Command::new(python()).arg(script))
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    /// What it measured.
    fn ask(&mut self, line: &str) -> f64 {
        self.line(line).trim().parse().unwrap()
    }

    fn line(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two Pythons' floor: a line there and back.
struct Cat(Peer);

impl Cat {
    fn start() -> Self {
        let code = "import os\nwhile True:\n    b = os.read(0, 4096)\n    if not b: break\n    os.write(1, b)";
        Self(Peer::of(Command::new(python()).args(["-c", code])))
    }

    fn ping(&mut self) -> f64 {
        let begun = Instant::now();
        self.0.line("ping");
        begun.elapsed().as_secs_f64()
    }
}
