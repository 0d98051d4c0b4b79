//! What notes-mcp costs: a search beside ripgrep, calls beside the official Python SDK's server, and its start.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::measure::median;
use crate::{setup, sh};

/// How often each thing is timed; medians are printed.
const ROUNDS: usize = 41;

/// Calls in a row on one connection.
const CALLS: u64 = 2_000;

/// The bound of `log_search`, which is what is searched here.
const LOG_BYTES: usize = 5_000_000;

pub fn bench() -> Result<()> {
    setup::setup()?;
    let program = built()?;
    let root = sample("bench-mcp", "")?;
    let coloured = sample("bench-mcp-coloured", "\u{1b}[31m")?;
    let of = |root: &Path| {
        let mut command = Command::new(&program);
        command.arg("--root").arg(root);
        command
    };
    let ours = || of(&root);
    let theirs = || {
        let mut command = Command::new(sh::root().join(".tools/mcp/bin/python"));
        command.arg(sh::root().join("xtask/src/bench/mcp_peer.py")).arg(&root);
        command
    };
    let mut connection = Connection::open(ours())?;
    search(&mut connection, &root, ["log_search over 5 MB", "(bound 1.5)"], "needle")?;
    protocol(&mut connection)?;
    let mut connection = Connection::open(of(&coloured))?;
    search(&mut connection, &coloured, ["  of coloured lines ", "(bound 1.5)"], "needle")?;
    // By what is shown of a line alone, which makes that of each.
    search(&mut connection, &coloured, ["  as it is shown    ", ""], "\\u{1b}[31mERROR")?;
    calls(ours(), theirs())?;
    start(ours, theirs)
}

fn built() -> Result<PathBuf> {
    let build = ["build", "--release", "--quiet", "--package", "notes-mcp"];
    let said = ["--message-format", "json-render-diagnostics"];
    let messages = sh::output(&mut sh::cargo(build.into_iter().chain(said)))?;
    sh::executable(&messages, "notes-mcp").context("cargo named no program `notes-mcp`")
}

/// An application below `target`, with a log of exactly what a search looks at and one line at its end to find. What is before
/// each level may be an escape sequence.
fn sample(name: &str, before: &str) -> Result<PathBuf> {
    let root = sh::root().join("target").join(name);
    fs::create_dir_all(root.join("app/logs"))?;
    fs::create_dir_all(root.join("app/data/notes"))?;
    let mut log = String::with_capacity(LOG_BYTES);
    let last = format!(
        "2026-03-18 06:52:11 {before}ERROR   store: cannot save needle.md for mira: No space left on device\n"
    );
    for n in 0.. {
        let line = format!(
            "2026-03-18 {:02}:{:02}:{:02} {before}INFO    store: saved work/plan-{n}.md for mira in {} ms\n",
            n / 3600 % 24,
            n / 60 % 60,
            n % 60,
            n % 17
        );
        if log.len() + line.len() + last.len() > LOG_BYTES {
            break;
        }
        log.push_str(&line);
    }
    log.push_str(&"-".repeat(LOG_BYTES - log.len() - last.len() - 1));
    log.push('\n');
    log.push_str(&last);
    fs::write(root.join("app/logs/app.log"), log)?;
    fs::write(root.join("app/data/notes/plan.md"), "# Plan\n\nThings to do.\n".repeat(10))?;
    Ok(root)
}

/// Beside ripgrep, which looks for what is in the lines as they are: 1.5 times its time is the bound for that.
fn search(
    connection: &mut Connection,
    root: &Path,
    [what, bound]: [&str; 2],
    text: &str,
) -> Result<()> {
    let log = root.join("app/logs/app.log");
    let arguments = json!({"text": text, "limit": 50});
    let found = connection.call("log_search", &arguments)?;
    let data = &found["result"]["structuredContent"];
    if data["matches"].as_array().map(Vec::len) != Some(1) || data["scanned_bytes"] != LOG_BYTES {
        bail!("the search did not look at all: {data}");
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(seconds(|| connection.call("log_search", &arguments).map(drop))?);
        theirs.push(seconds(|| ripgrep(&log))?);
    }
    let [ours, theirs] = [ours, theirs].map(|times| median(times.into_iter()));
    println!(
        "{what}  {:8.2} ms   ripgrep {:8.2} ms   {:5.2} of its time {bound}",
        ours * 1e3,
        theirs * 1e3,
        ours / theirs
    );
    Ok(())
}

/// The bound: 200 µs for what the protocol adds to a call.
fn protocol(connection: &mut Connection) -> Result<()> {
    // Refused before anything is opened, so that only the protocol is left.
    let bare = 1.0 / rate(connection, "note_read", &json!({"name": ""}))?;
    println!("the protocol, a call  {:8.0} µs                         (bound 200)", bare * 1e6);
    Ok(())
}

fn ripgrep(log: &Path) -> Result<()> {
    let mut command = sh::command("rg", ["--line-number", "--fixed-strings", "needle"]);
    let output = command.arg(log).output().context("install ripgrep, which is the peer here")?;
    if output.stdout.is_empty() {
        bail!("ripgrep found nothing in {}", log.display());
    }
    Ok(())
}

/// The bound: ten times the calls a second.
fn calls(ours: Command, theirs: Command) -> Result<()> {
    let mut ours = Connection::open(ours)?;
    let mut theirs = Connection::open(theirs)?;
    for (name, arguments) in
        [("note_read", json!({"name": "plan.md"})), ("log_tail", json!({"lines": 50}))]
    {
        for connection in [&mut ours, &mut theirs] {
            let answer = connection.call(name, &arguments)?;
            if answer["result"]["isError"] != false {
                bail!("{name} is refused: {answer}");
            }
        }
        let ours = rate(&mut ours, name, &arguments)?;
        let theirs = rate(&mut theirs, name, &arguments)?;
        println!(
            "{name:10} a second   {ours:8.0}      Python  {theirs:8.0}      {:5.1} times as many (bound 10)",
            ours / theirs
        );
    }
    Ok(())
}

/// Calls a second. What the client itself takes of the time is kept small: it looks into no answer.
fn rate(connection: &mut Connection, name: &str, arguments: &Value) -> Result<f64> {
    let line = request("tools/call", &json!({"name": name, "arguments": arguments}));
    let took = seconds(|| (0..CALLS).try_for_each(|_| connection.exchange(&line)))?;
    Ok(CALLS as f64 / took)
}

/// The bound: 10 ms from the start of the process to its first answer.
fn start(ours: impl Fn() -> Command, theirs: impl Fn() -> Command) -> Result<()> {
    let first = |command: Command| {
        seconds(|| Connection::open(command)?.ask("server/discover", &json!({})).map(drop))
    };
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        own.push(first(ours())?);
    }
    for _ in 0..5 {
        other.push(first(theirs())?);
    }
    println!(
        "start to first answer {:8.2} ms   Python  {:8.0} ms   (bound 10)",
        median(own.into_iter()) * 1e3,
        median(other.into_iter()) * 1e3
    );
    Ok(())
}

fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}

/// A client that asks for one thing at a time.
struct Connection {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Connection {
    fn open(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Self { child, input, output, line: String::new() })
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Result<Value> {
        self.ask("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.exchange(&request(method, params))?;
        serde_json::from_str(&self.line).with_context(|| format!("no message: {:?}", self.line))
    }

    fn exchange(&mut self, line: &str) -> Result<()> {
        self.input.write_all(line.as_bytes())?;
        self.line.clear();
        match self.output.read_line(&mut self.line)? {
            0 => bail!("the server ended"),
            _ => Ok(()),
        }
    }
}

/// A request as a line.
fn request(method: &str, params: &Value) -> String {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

impl Drop for Connection {
    fn drop(&mut self) {
        // A server that is still at work when its bench is over is of no use.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
