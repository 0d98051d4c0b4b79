//! What the scripted child can be.

#![expect(clippy::zombie_processes, reason = "what outlives its parent is what these are for")]

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Write},
    process::{Child, Command, Stdio, exit},
    thread,
    time::Duration,
};

use agent_process::{
    Guard, Launcher, Priority, Process, Program, RunLimits, Tree,
    frame::{FrameReader, JsonFrame, encode},
};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::support::{ROLE, TRIAL, own_program};

/// Says whether others may look into it, before and after it closed itself, and what holds for a program that it starts.
fn closed() {
    let say = || println!("{:?}", rustix::process::dumpable_behavior().unwrap());
    say();
    if env::args().count() > 1 {
        return;
    }
    agent_process::close_to_children().unwrap();
    say();
    let status = Command::new(own_program()).arg("again").status().unwrap();
    assert!(status.success());
}

pub(crate) fn main_if_asked() {
    let Ok(role) = env::var(ROLE) else { return };
    let mut words = role.split(' ');
    let name = words.next().unwrap_or_default();
    let args: Vec<&str> = words.collect();
    match (name, args.as_slice()) {
        ("sleep", []) => sleep(),
        ("closed", []) => closed(),
        ("session", []) => {
            rustix::process::setsid().unwrap();
            sleep();
        }
        ("until-eof", []) => {
            say_ready();
            until_eof();
        }
        ("deaf", []) => on_signals(&[SignalKind::terminate(), SignalKind::interrupt()], |_| {}),
        ("interrupted", []) => on_signals(&[SignalKind::interrupt()], |_| exit(130)),
        ("logs-term", [file, line]) => on_signals(&[SignalKind::terminate()], |_| {
            let mut file = fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
            writeln!(file, "{line}").unwrap();
            exit(0);
        }),
        ("exit", [code]) => exit(code.parse().unwrap()),
        ("stderr", [lines, length]) => stderr(lines.parse().unwrap(), length.parse().unwrap()),
        ("stdout", [bytes]) => {
            io::stdout().write_all(&vec![b'x'; bytes.parse().unwrap()]).unwrap();
        }
        ("family", []) => {
            family();
            sleep_on();
        }
        ("marked-family-until-eof", []) => {
            marked_family();
            say_ready();
            until_eof();
        }
        ("family-until-eof", []) => {
            family();
            until_eof();
        }
        ("family-exit", []) => family(),
        ("orphan", []) => {
            start_ready("session", Environment::Whole);
            say_ready();
        }
        ("environment", []) => {
            for (name, value) in env::vars() {
                println!("{name}={value}");
            }
        }
        ("looks-for-terminal", []) => match fs::File::open("/dev/tty") {
            Ok(_) => println!("a terminal"),
            Err(_) => println!("no terminal"),
        },
        ("prints-own-and-childs-terminal", []) => {
            runtime().block_on(prints_own_and_childs_terminal());
        }
        ("prints-childs-environment", []) => runtime().block_on(prints_childs_environment()),
        ("server", [mode]) => runtime().block_on(server(mode)),
        ("owner", [guard, children @ ..]) => runtime().block_on(owner(guard, children)),
        ("owner-with-killed-guard", []) => runtime().block_on(owner_with_killed_guard()),
        ("owner-of-foreign", []) => runtime().block_on(owner_of_foreign()),
        ("restless-owner", []) => runtime().block_on(restless_owner()),
        _ => panic!("no role {role:?}"),
    }
    exit(0);
}

enum Environment {
    Whole,
    /// Without the mark: only its parent leads to it.
    Bare,
}

fn say_ready() {
    println!("ready {}", std::process::id());
    io::stdout().flush().unwrap();
}

fn sleep() -> ! {
    say_ready();
    sleep_on();
}

fn sleep_on() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1000));
    }
}

fn until_eof() {
    io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
}

fn on_signals(kinds: &[SignalKind], act: impl Fn(usize)) {
    runtime().block_on(async {
        let mut signals: Vec<_> = kinds.iter().map(|kind| signal(*kind).unwrap()).collect();
        say_ready();
        loop {
            let waits = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
            let mut waits: Vec<_> = waits.collect();
            let which = std::future::poll_fn(|cx| {
                let ready = waits.iter_mut().position(|wait| wait.as_mut().poll(cx).is_ready());
                ready.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
            })
            .await;
            drop(waits);
            act(which);
        }
    });
}

fn stderr(lines: usize, length: usize) {
    let mut stderr = io::BufWriter::new(io::stderr().lock());
    for line in 1..=lines {
        writeln!(stderr, "{line:0length$}").unwrap();
    }
    stderr.flush().unwrap();
    exit(3);
}

/// Four children: one in this group, one in a session of its own, one in a session of its own whose parent has ended, and one
/// without the mark in a group of its own.
fn family() {
    marked_family();
    start_ready("session", Environment::Bare);
    say_ready();
}

fn marked_family() {
    start_ready("sleep", Environment::Whole);
    start_ready("session", Environment::Whole);
    start_ready("orphan", Environment::Whole).wait().unwrap();
}

/// Starts a child and waits for its line; the child lives on.
fn start_ready(role: &str, environment: Environment) -> Child {
    let mut command = Command::new(own_program());
    if matches!(environment, Environment::Bare) {
        command.env_clear().env(TRIAL, env::var(TRIAL).unwrap());
    }
    command.env(ROLE, role).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("ready"), "{role}: {line:?}");
    child
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn child(role: &str) -> Program {
    Program::new(own_program(), "/").env(ROLE, role).env(TRIAL, env::var(TRIAL).unwrap())
}

async fn prints_own_and_childs_terminal() {
    let own = if fs::File::open("/dev/tty").is_ok() { "a terminal" } else { "no terminal" };
    let launcher = Launcher::new(Guard::nobody());
    let output = launcher.run(&child("looks-for-terminal"), &RunLimits::new()).await.unwrap();
    println!("own: {own}; child: {}", String::from_utf8_lossy(&output.stdout).trim_end());
}

async fn prints_childs_environment() {
    let program = child("environment").env("SET_BY_CALLER_TOKEN", "passes");
    let launcher = Launcher::new(Guard::nobody());
    let output = launcher.run(&program, &RunLimits::new()).await.unwrap();
    io::stdout().write_all(&output.stdout).unwrap();
}

/// Owns a launcher with a guard and what it started, and prints `ready GUARD`. A child is a role with `:` for the space and
/// the priority after `@`.
async fn owner(guard: &str, children: &[&str]) {
    let guard = match guard {
        "program" => Guard::new(),
        "shell" => Guard::shell(),
        other => panic!("no guard {other:?}"),
    };
    let launcher = Launcher::new(guard.clone());
    let mut processes: Vec<Process> = Vec::new();
    for child_role in children {
        let (role, priority) = child_role.split_once('@').unwrap_or((child_role, "255"));
        let program = child(&role.replace(':', " ")).priority(Priority(priority.parse().unwrap()));
        let process = launcher.spawn(&program).await.unwrap();
        crate::support::ready(&process).await;
        processes.push(process);
    }
    println!("ready {}", guard.id().unwrap());
    io::stdout().flush().unwrap();
    std::future::pending::<()>().await;
    drop(processes);
}

/// Starts a second process after its guard was killed, and prints `ready GUARD` with the new one's id.
async fn owner_with_killed_guard() {
    let guard = Guard::new();
    let launcher = Launcher::new(guard.clone());
    let first = launcher.spawn(&child("deaf")).await.unwrap();
    crate::support::ready(&first).await;
    let id = guard.id().unwrap();
    let raw = rustix::process::Pid::from_raw(id.try_into().unwrap()).unwrap();
    rustix::process::kill_process(raw, rustix::process::Signal::KILL).unwrap();
    crate::support::until("the guard is gone", || !crate::support::lives(id));
    let second = launcher.spawn(&child("sleep")).await.unwrap();
    crate::support::ready(&second).await;
    assert_ne!(guard.id(), Some(id));
    println!("ready {}", guard.id().unwrap());
    io::stdout().flush().unwrap();
    std::future::pending::<()>().await;
    drop((first, second));
}

/// Starts two processes past the launcher, has both watched, lets the second go, and prints `ready SECOND`.
async fn owner_of_foreign() {
    let guard = Guard::new();
    guard.ready().await.unwrap();
    let start = || start_ready("session", Environment::Whole).id();
    let (kept, let_go) = (start(), start());
    let watch = |id| guard.watch(Tree::of(id).unwrap(), Priority::DEBUGGEE).unwrap();
    let _watched = watch(kept);
    drop(watch(let_go));
    println!("ready {let_go}");
    io::stdout().flush().unwrap();
    std::future::pending::<()>().await;
}

/// Starts and drops processes for ever, so that it can be killed at any moment of it.
async fn restless_owner() {
    let launcher = Launcher::new(Guard::new());
    say_ready();
    loop {
        let process = launcher.spawn(&child("sleep")).await.unwrap();
        crate::support::ready(&process).await;
    }
}

/// A language server in small that misbehaves once it is initialised.
async fn server(mode: &str) {
    let mut out = io::stdout();
    let mut write = |bytes: &[u8]| {
        out.write_all(bytes).unwrap();
        out.flush().unwrap();
    };
    if mode == "never-reads" {
        sleep();
    }
    let mut input = FrameReader::new(tokio::io::stdin());
    while let Some(JsonFrame::Message(message)) = input.next_json().await.unwrap() {
        match message["method"].as_str() {
            Some("initialize") => {
                write(&reply(&message, json!({"capabilities": {}})));
                write(&bad(mode));
            }
            Some("change") => {
                write(&message_of(&json!({"method": "$/x", "params": "y".repeat(300_000)})));
            }
            Some("exit") => exit(0),
            Some(_) if !message["id"].is_null() => write(&reply(&message, json!("hello"))),
            _ => {}
        }
    }
}

fn message_of(message: &Value) -> Vec<u8> {
    encode(message.to_string().as_bytes())
}

fn reply(to: &Value, result: Value) -> Vec<u8> {
    message_of(&json!({"jsonrpc": "2.0", "id": to["id"], "result": result}))
}

fn bad(mode: &str) -> Vec<u8> {
    let log = json!({"jsonrpc": "2.0", "method": "window/logMessage", "params": {"message": "x"}});
    let body = log.to_string();
    let length = body.len();
    let diagnostics = |uri: &str, diagnostic: Value| {
        let params = json!({"uri": uri, "diagnostics": [diagnostic]});
        message_of(&json!({"jsonrpc": "2.0", "method": "publish", "params": params}))
    };
    match mode {
        "noise" => b"Starting up, please wait...\n".to_vec(),
        "noise-without-line-end" => b"Starting up... ".to_vec(),
        "bare-line-feeds" => format!("Content-Length: {length}\n\n{body}").into_bytes(),
        "no-space" => format!("Content-Length:{length}\r\n\r\n{body}").into_bytes(),
        "content-type" => {
            let kind = "Content-Type: application/vscode-jsonrpc; charset=utf-8";
            format!("Content-Length: {length}\r\n{kind}\r\n\r\n{body}").into_bytes()
        }
        "content-type-first" => {
            format!("Content-Type: x\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
        }
        "broken-json" => encode(b"{oops"),
        "no-jsonrpc" => message_of(&json!({"method": "window/logMessage"})),
        "null-id" => message_of(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700}})),
        "negative-character" => diagnostics("file:///a.c", json!({"character": -1})),
        "relative-uri" => diagnostics("a.c", json!({})),
        "markup-message" => diagnostics("file:///a.c", json!({"message": {"kind": "markdown"}})),
        "unknown-notification" => message_of(&json!({"jsonrpc": "2.0", "method": "telemetry"})),
        "string-id" => message_of(&json!({"jsonrpc": "2.0", "id": "ts1", "method": "ask"})),
        "same-id" => message_of(&json!({"jsonrpc": "2.0", "id": 1, "method": "ask"})),
        _ => Vec::new(),
    }
}
