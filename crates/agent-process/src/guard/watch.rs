//! The guard's own side.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, Write},
    process, thread,
    time::{Duration, Instant},
};

use tokio::signal::unix::{SignalKind, signal};

use super::{
    NAME, Priority, READY, TERM_TIME, TERM_TIME_IN_ALL,
    entry::{self, Line},
};
use crate::{Tree, platform, tree};

const POLL: Duration = Duration::from_millis(10);

/// How long what carries the run's mark is looked for: between its fork and the end of its exec a process does not show it.
const SWEEP_TIME: Duration = Duration::from_millis(300);
const SWEEP_POLL: Duration = Duration::from_millis(30);

/// Reads until the pipe closes, kills what is registered then, and ends the process.
pub(super) fn main(run: &str) -> ! {
    let _ = platform::name_self(NAME);
    // The leader of a group has none of its own; then it has no terminal to lose either.
    let _ = platform::new_session();
    // A handler that nobody listens to is how a signal is ignored without unsafe code. The runtime only installs it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let _inside = runtime.as_ref().map(tokio::runtime::Runtime::enter);
    let kinds = [
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::quit(),
        SignalKind::pipe(),
    ];
    let _ignored: Vec<_> = kinds.into_iter().map(signal).collect();

    let mut stdout = io::stdout();
    let _ = writeln!(stdout, "{READY}").and_then(|()| stdout.flush());
    finish(read(io::stdin().lock()));
    sweep(run);
    process::exit(0);
}

fn read(mut lines: impl BufRead) -> BTreeMap<Priority, Vec<Tree>> {
    let mut registered = BTreeMap::new();
    let mut line = String::new();
    while let Ok(1..) = lines.read_line(&mut line) {
        match entry::parse(&line) {
            Some(Line::Register { number, priority, tree }) => {
                registered.insert(number, (priority, tree));
            }
            Some(Line::Release { number }) => {
                registered.remove(&number);
            }
            None => {}
        }
        line.clear();
    }
    let mut levels: BTreeMap<Priority, Vec<Tree>> = BTreeMap::new();
    for (priority, tree) in registered.into_values() {
        levels.entry(priority).or_default().push(tree);
    }
    levels
}

/// One priority after the other: each tree is asked to end, and killed if it does not.
fn finish(levels: BTreeMap<Priority, Vec<Tree>>) {
    let last = Instant::now() + TERM_TIME_IN_ALL;
    for trees in levels.into_values() {
        tree::terminate(&trees);
        let deadline = last.min(Instant::now() + TERM_TIME);
        while Instant::now() < deadline && tree::any_lives(&trees) {
            thread::sleep(POLL);
        }
        tree::kill(&trees);
    }
}

fn sweep(run: &str) {
    let deadline = Instant::now() + SWEEP_TIME;
    loop {
        tree::sweep(run);
        if Instant::now() >= deadline {
            break;
        }
        thread::sleep(SWEEP_POLL);
    }
}
