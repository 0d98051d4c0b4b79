//! What this program has started, by its descent: for tests that count what is left.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, thread,
    time::{Duration, Instant},
};

/// How long what was killed may take to be gone, on a machine that does other things.
const PATIENCE: Duration = Duration::from_secs(20);

const PAUSE: Duration = Duration::from_millis(20);

/// A process, known by its start as well, since ids are given away again.
pub type Known = (u32, u64);

/// The processes that were there when a case began.
#[derive(Debug)]
pub struct Left(BTreeSet<Known>);

impl Left {
    /// Counts them.
    #[must_use]
    pub fn count() -> Self {
        Self(descendants())
    }

    /// Waits until nothing is left that the case started.
    ///
    /// # Panics
    ///
    /// If something still is, with its command line.
    pub fn none_within_a_while(&self) {
        gone(&descendants().difference(&self.0).copied().collect());
    }
}

/// Waits until these are gone, wherever they moved.
///
/// # Panics
///
/// If one still is there, with its command line.
pub fn gone(processes: &BTreeSet<Known>) {
    let end = Instant::now() + PATIENCE;
    loop {
        let table = table();
        let left: Vec<_> = processes
            .iter()
            .filter(|(id, start)| table.get(id).is_some_and(|found| found.start == *start))
            .map(|(id, _)| format!("{id}: {}", command_line(*id)))
            .collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "still there: {left:#?}");
        thread::sleep(PAUSE);
    }
}

/// Kills those of the processes whose command line has this in it.
///
/// # Panics
///
/// If there is none, or one cannot be killed.
pub fn kill(processes: &BTreeSet<Known>, part: &str) {
    let meant: Vec<_> =
        processes.iter().filter(|(id, _)| command_line(*id).contains(part)).collect();
    assert!(!meant.is_empty(), "none of {processes:?} is {part}");
    for (id, _) in meant {
        let id = rustix::process::Pid::from_raw(i32::try_from(*id).unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    }
}

/// What descends from this program at this moment, but for the guard.
#[must_use]
pub fn descendants() -> BTreeSet<Known> {
    let table = table();
    let own = std::process::id();
    let descends = |id: u32| {
        let mut above = id;
        while let Some(found) = table.get(&above) {
            if found.parent == own {
                return true;
            }
            above = found.parent;
        }
        false
    };
    let known = table.iter().filter(|(id, _)| descends(**id));
    let known = known.filter(|(id, _)| !command_line(**id).contains("guard"));
    known.map(|(id, found)| (*id, found.start)).collect()
}

struct Row {
    parent: u32,
    start: u64,
}

fn table() -> BTreeMap<u32, Row> {
    let listed = fs::read_dir("/proc").unwrap();
    let ids = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter_map(|id: u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name may hold blanks and parentheses; what follows its last one does not.
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let zombie = fields[0] == "Z";
        let row = Row { parent: fields[1].parse().ok()?, start: fields[19].parse().ok()? };
        (!zombie).then_some((id, row))
    })
    .collect()
}

fn command_line(id: u32) -> String {
    let bytes = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
