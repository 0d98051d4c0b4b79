use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use agent_process::{Guard, GuardKind, Launcher, MARK_VARIABLE, Priority};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Count, ROLE, TRIAL, lives, own_program, ready, run, stat, until};

/// The one child of a family that dropped the mark is known by its parent alone. The guard finds it while that lives; the shell
/// does not.
const FAMILY: usize = 5;

/// What a run may take to disappear after it was killed.
const GONE: Duration = Duration::from_secs(3);

fn signal(id: u32, signal: Signal) {
    kill_process(Pid::from_raw(id.try_into().unwrap()).unwrap(), signal).unwrap();
}

fn role(count: &Count, role: &str) -> Command {
    let mut command = Command::new(own_program());
    command.env(ROLE, role).env(TRIAL, count.name()).stdout(Stdio::piped()).stdin(Stdio::null());
    command
}

/// The number in the child's `ready N`.
fn ready_number(child: &mut Child) -> u32 {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.trim_end().strip_prefix("ready ").expect(&line).parse().unwrap()
}

/// How often a machine that has other work is given another chance to be within [`GONE`].
const ROUNDS: usize = 5;

/// Nothing is ever left, and it takes less than [`GONE`].
fn killed_owner_leaves_nothing(guard: &str, roles: &str, processes: usize) {
    let mut times = Vec::new();
    while times.iter().all(|time| *time >= GONE) {
        assert!(times.len() < ROUNDS, "{times:?}");
        let count = Count::new();
        let mut owner = role(&count, &format!("owner {guard} {roles}")).spawn().unwrap();
        let guard = ready_number(&mut owner);
        assert_eq!(count.living().len(), 1 + processes);
        assert_eq!(stat(guard).unwrap()[3], guard.to_string(), "it leads a session of its own");
        owner.kill().unwrap();
        owner.wait().unwrap();
        let start = Instant::now();
        count.none_is_left();
        until("the guard is gone", || !lives(guard));
        times.push(start.elapsed());
    }
}

pub(crate) fn a_killed_program_leaves_nothing_behind() {
    let roles = "family deaf until-eof marked-family-until-eof";
    killed_owner_leaves_nothing("program", roles, FAMILY + 2 + FAMILY - 1);
}

pub(crate) fn a_killed_program_leaves_nothing_behind_with_the_shell_guard() {
    let roles = "deaf until-eof marked-family-until-eof";
    killed_owner_leaves_nothing("shell", roles, 2 + FAMILY - 1);
}

/// A role as the foreground of a terminal, and that terminal's other end.
fn at_terminal(count: &Count, role: &str) -> (OwnedFd, Command) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let other_end = fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(own_program()).env(ROLE, role).env(TRIAL, count.name());
    command.stdin(other_end).stdout(Stdio::piped());
    (terminal, command)
}

/// A debug adapter that could open the terminal could make its debuggee the foreground, which stops the owner and gives it what
/// is typed.
pub(crate) fn what_is_started_has_no_terminal() {
    let count = Count::new();
    let (_terminal, mut owner) = at_terminal(&count, "prints-own-and-childs-terminal");
    let output = owner.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, "own: a terminal; child: no terminal\n");
}

/// The owner is the foreground of a terminal whose other end is closed.
pub(crate) fn a_closed_terminal_leaves_nothing_behind() {
    let count = Count::new();
    let (terminal, mut command) = at_terminal(&count, "owner program family deaf");
    let mut owner = command.spawn().unwrap();
    // It holds the end that the owner has.
    drop(command);
    let guard = ready_number(&mut owner);
    assert_eq!(count.living().len(), 1 + FAMILY + 1);
    drop(terminal);
    assert!(!owner.wait().unwrap().success());
    count.none_is_left();
    until("the guard is gone", || !lives(guard));
}

/// Stopped, then killed, a little later in each round: before, within and after a start and its registration.
pub(crate) fn a_program_killed_at_any_moment_of_a_start_leaves_nothing_behind() {
    for round in 0..16 {
        let count = Count::new();
        let mut owner = role(&count, "restless-owner").spawn().unwrap();
        ready_number(&mut owner);
        thread::sleep(Duration::from_micros(2500 * round));
        signal(owner.id(), Signal::STOP);
        let stopped = || stat(owner.id()).is_some_and(|stat| stat[0] == "T");
        until("the owner has stopped", stopped);
        assert!(!count.living().is_empty());
        owner.kill().unwrap();
        owner.wait().unwrap();
        count.none_is_left();
    }
}

pub(crate) fn debuggees_go_before_adapters() {
    for guard in ["program", "shell"] {
        let count = Count::new();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let child = |name: &str, priority: Priority| {
            format!("logs-term:{}:{name}@{}", log.display(), priority.0)
        };
        let children = [
            child("server", Priority::LAST),
            child("adapter", Priority::ADAPTER),
            child("debuggee", Priority::DEBUGGEE),
        ];
        let mut owner =
            role(&count, &format!("owner {guard} {}", children.join(" "))).spawn().unwrap();
        ready_number(&mut owner);
        owner.kill().unwrap();
        owner.wait().unwrap();
        count.none_is_left();
        assert_eq!(fs::read_to_string(&log).unwrap(), "debuggee\nadapter\nserver\n", "{guard}");
    }
}

pub(crate) fn signals_do_not_end_the_guard() {
    for kind in ["program", "shell"] {
        let count = Count::new();
        let mut owner = role(&count, &format!("owner {kind} sleep")).spawn().unwrap();
        let guard = ready_number(&mut owner);
        for each in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            signal(guard, each);
        }
        // The kill comes after all of them were delivered: a guard that they end would not clean up.
        owner.kill().unwrap();
        owner.wait().unwrap();
        count.none_is_left();
        until("the guard is gone", || !lives(guard));
    }
}

pub(crate) fn a_guard_ends_with_its_last_handle() {
    run(async {
        let count = Count::new();
        let guard = Guard::new();
        assert_eq!((guard.kind(), guard.id()), (GuardKind::Program, None));
        let launcher = Launcher::new(guard.clone());
        let process = launcher.spawn(&count.child("family")).await.unwrap();
        ready(&process).await;
        let id = guard.id().unwrap();
        let second = launcher.spawn(&count.child("sleep")).await.unwrap();
        assert_eq!(guard.id(), Some(id), "one guard for each run");
        let shown = |file: &str| fs::read_to_string(format!("/proc/{id}/{file}")).unwrap();
        assert_eq!(shown("comm"), "agent-guard\n");
        assert!(shown("cmdline").starts_with("agent-guard\0"), "{:?}", shown("cmdline"));
        drop((guard, launcher, second));
        assert!(lives(id));
        drop(process);
        count.none_is_left();
        until("the guard is gone and reaped", || stat(id).is_none());
    });
}

/// The first process was registered with a guard that is dead; the next guard kills it all the same.
pub(crate) fn a_killed_guard_is_replaced_and_told_of_what_runs() {
    let count = Count::new();
    let mut owner = role(&count, "owner-with-killed-guard").spawn().unwrap();
    let guard = ready_number(&mut owner);
    assert!(lives(guard));
    assert_eq!(count.living().len(), 3);
    owner.kill().unwrap();
    owner.wait().unwrap();
    count.none_is_left();
}

/// A guard by itself, spoken to by hand.
fn guard_of(kind: &str, run: &str) -> Child {
    let mut command = match kind {
        "program" => {
            let mut command = Command::new(own_program());
            command.arg("__agent-process-guard").arg(run);
            command
        }
        _ => {
            let mut command = Command::new("sh");
            command.arg("-c").arg(include_str!("../../src/guard/guard.sh"));
            command.args(["guard", run, "0.2"]);
            command
        }
    };
    let mut guard = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(guard.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    guard
}

fn tell_and_end(mut guard: Child, lines: &str) {
    guard.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(guard.wait().unwrap().success());
}

fn started(id: u32) -> u64 {
    stat(id).unwrap()[19].parse().unwrap()
}

/// A registration whose leader began at another time is of a process that is gone: the one that has its id now stays.
pub(crate) fn an_id_that_was_given_away_is_left_alone() {
    for kind in ["program", "shell"] {
        let count = Count::new();
        let spawn = || {
            let mut child = role(&count, "sleep").process_group(0).spawn().unwrap();
            ready_number(&mut child);
            child
        };
        let (mut stale, mut registered, mut released) = (spawn(), spawn(), spawn());
        let guard = guard_of(kind, "no-run");
        let lines = format!(
            "register 1 {} {} 255 -\nregister 2 {} {} 255 -\nregister 13 {} {} 255 -\nrelease 13\n",
            stale.id(),
            started(stale.id()) - 1,
            registered.id(),
            started(registered.id()),
            released.id(),
            started(released.id()),
        );
        tell_and_end(guard, &lines);
        until("the registered one has ended", || !lives(registered.id()));
        assert_eq!(registered.wait().unwrap().code(), None, "{kind}: ended by a signal");
        assert!(lives(stale.id()) && lives(released.id()), "{kind}");
        for child in [&mut stale, &mut released] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// A program that dies between a start and its registration leaves the mark alone.
pub(crate) fn what_carries_the_mark_is_killed_though_it_was_never_registered() {
    for kind in ["program", "shell"] {
        let count = Count::new();
        let spawn = |mark: &str| {
            let mut child = role(&count, "session").env(MARK_VARIABLE, mark).spawn().unwrap();
            ready_number(&mut child);
            child
        };
        let ours = ["this-run.7", "outer.1/this-run.8", "this-run.9/inner.1"].map(spawn);
        let others = ["other-this-run.7", "this-run-too.7", "outer.1"].map(spawn);
        tell_and_end(guard_of(kind, "this-run"), "");
        for mut child in ours {
            until("what carries the mark has ended", || !lives(child.id()));
            assert!(!child.wait().unwrap().success(), "{kind}");
        }
        for mut child in others {
            assert!(lives(child.id()), "{kind}");
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// The program was killed while it wrote: `1234` may be the beginning of `12345`.
pub(crate) fn half_a_line_says_nothing() {
    for kind in ["program", "shell"] {
        let count = Count::new();
        let mut child = role(&count, "sleep").process_group(0).spawn().unwrap();
        ready_number(&mut child);
        let line = format!("register 1 {} {} 255 -", child.id(), started(child.id()));
        tell_and_end(guard_of(kind, "no-run"), &line);
        assert!(lives(child.id()), "{kind}");
        tell_and_end(guard_of(kind, "no-run"), &(line + "\n"));
        until("the registered one has ended", || !lives(child.id()));
        assert!(!child.wait().unwrap().success(), "{kind}");
    }
}

/// What a debugger started is watched by its id, and let go by dropping the watch.
pub(crate) fn a_foreign_debuggee_is_killed_until_it_is_let_go() {
    let count = Count::new();
    let mut owner = role(&count, "owner-of-foreign").spawn().unwrap();
    let let_go = ready_number(&mut owner);
    assert_eq!(count.living().len(), 3);
    owner.kill().unwrap();
    owner.wait().unwrap();
    until("the watched one is gone", || count.living() == [let_go]);
    assert_eq!(count.living(), [let_go]);
    signal(let_go, Signal::KILL);
    count.none_is_left();
}
