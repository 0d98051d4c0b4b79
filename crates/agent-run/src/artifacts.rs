//! Results too long for a model, kept for their run, and what earlier runs kept.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agent_files::ARTIFACT_SCHEME;
use agent_tiers::Artifacts;
use agent_tool_core::CallId;

use crate::{
    lock,
    state::{RUN_PREFIX, State},
};

/// What a run kept goes so long after it began.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What more runs than these kept goes too, the oldest first.
const KEPT_RUNS: usize = 50;

/// The start of a run looks at so many folders and removes so many of them; the next one goes on.
const LISTED_AT_START: usize = 10_000;
const REMOVED_AT_START: usize = 100;

/// The file by whose lock a run that lives is known. No artifact has such a name.
const LIVE: &str = ".live";

/// Long results in the run's state folder, numbered: a call's id is the host's, and may come again.
pub(crate) struct Kept {
    /// None where there is no state folder: then nothing is kept.
    folder: Option<PathBuf>,
    count: AtomicU64,
    /// Held for as long as the run lives, from its first artifact on.
    live: Mutex<Option<fs::File>>,
}

impl Kept {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, count: AtomicU64::new(0), live: Mutex::new(None) }
    }

    fn hold(&self, folder: &Path) -> Option<()> {
        let mut live = lock(&self.live);
        if live.is_none() {
            let path = folder.join(LIVE);
            State::write(&path, b"").ok()?;
            let file = fs::File::open(&path).ok()?;
            file.lock().ok()?;
            *live = Some(file);
        }
        Some(())
    }
}

impl Artifacts for Kept {
    fn keep(&self, _call: &CallId, text: &str) -> Option<String> {
        let folder = self.folder.as_ref()?;
        self.hold(folder)?;
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("result_{number}.txt");
        State::write(&folder.join(&name), text.as_bytes()).ok()?;
        Some(format!("{ARTIFACT_SCHEME}{name}"))
    }
}

/// Removes what old runs kept, never that of one which lives. Best effort: what stays is looked at by the next run.
pub(crate) fn remove_old(all: &Path) {
    let Ok(entries) = fs::read_dir(all) else { return };
    let folders = entries.take(LISTED_AT_START).filter_map(Result::ok);
    let mut runs: Vec<(Duration, PathBuf)> = folders
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| Some((began(entry.file_name().to_str()?)?, entry.path())))
        .collect();
    runs.sort();
    let surplus = runs.len().saturating_sub(KEPT_RUNS);
    let oldest = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let oldest = oldest.saturating_sub(KEPT_FOR);
    let old = runs.into_iter().enumerate();
    let old = old.filter(|(index, (began, _))| *index < surplus || *began < oldest);
    for (_, (_, folder)) in old.filter(|(_, (_, folder))| !lives(folder)).take(REMOVED_AT_START) {
        let _ = fs::remove_dir_all(folder);
    }
}

/// When the run of this name began, since the epoch.
fn began(name: &str) -> Option<Duration> {
    let (began, process) = name.strip_prefix(RUN_PREFIX)?.split_once('-')?;
    process.parse::<u32>().ok()?;
    began.parse().ok().map(Duration::from_millis)
}

/// A lock that cannot be asked for tells nothing, so its run is taken to live.
fn lives(folder: &Path) -> bool {
    match fs::File::open(folder.join(LIVE)) {
        Ok(file) => file.try_lock().is_err(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}
