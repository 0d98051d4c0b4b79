//! The workers of a conversation as its person sees them: a line when one ends, and all of them on request.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use agent_tiers::{Run, Watcher};
use agent_tool_core::{clip, for_person};
use agent_vibe::{Status, WorkerReport, Workers};
use tokio::task::AbortHandle;

use super::screen::Screen;
use crate::{
    columns::{fold, one_row},
    edge,
    style::{ADDED, ALERT, FAINT, STRONG, in_style},
};

/// So many characters of a worker's result are in its line.
const RESULT_CHARS: usize = 100;

/// What stands before a worker's result.
const RESULT: &str = "    ";

/// The workers of a conversation. Dropped, nothing is told of them any more.
pub(super) struct Crew {
    seen: Arc<Seen>,
    consent: Option<String>,
    watching: AbortHandle,
}

struct Seen {
    workers: Workers,
    screen: Screen,
    /// The last of each that was told.
    told: Mutex<BTreeMap<String, WorkerReport>>,
}

impl Crew {
    /// Tells of the workers of this run when they end.
    pub(super) fn watched(
        workers: Workers,
        consent: Option<String>,
        screen: Screen,
        run: &Run,
    ) -> Self {
        let seen = Arc::new(Seen { workers, screen, told: Mutex::default() });
        let watching = tokio::spawn(watch(Arc::clone(&seen), run.watch())).abort_handle();
        Self { seen, consent, watching }
    }

    /// What is to be said where workers are turned on: for what a command does nobody is asked.
    pub(super) fn consent(&self) -> Option<&str> {
        self.consent.as_deref()
    }

    /// Tells of those that ended since it was looked last.
    pub(super) fn look(&self) {
        self.seen.look();
    }

    /// Rows for each worker.
    pub(super) fn rows(&self) -> Vec<String> {
        self.look();
        let told = self.seen.told();
        self.seen
            .workers
            .list()
            .iter()
            // One that had ended before its mode was turned off ended as it did.
            .map(|now| {
                told.get(&now.worker_id).filter(|_| now.status == Status::Killed).unwrap_or(now)
            })
            .flat_map(|worker| rows(worker, self.seen.screen.columns()))
            .collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl Seen {
    fn look(&self) {
        let mut told = self.told();
        for now in self.workers.list() {
            if now.status == Status::Running {
                continue;
            }
            let before = told.get(&now.worker_id);
            let news = before.is_none_or(|before| {
                before.attempt != now.attempt
                    || before.status != now.status && now.status != Status::Killed
            });
            if news {
                self.screen.rows(&rows(&now, self.screen.columns()));
                told.insert(now.worker_id.clone(), now);
            }
        }
    }

    fn told(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, WorkerReport>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn watch(seen: Arc<Seen>, mut records: Watcher) {
    // A worker's end is a record of the run; which one does not matter.
    while records.next().await.is_some() {
        seen.look();
    }
}

/// `w1 pears (fast): done after 3.2 s` and, behind a margin, `There are 4 pears.`
fn rows(worker: &WorkerReport, columns: Option<usize>) -> Vec<String> {
    let id = in_style(STRONG, &worker.worker_id);
    let label = edge::word(&worker.label);
    let style = match worker.status {
        Status::Done => ADDED,
        Status::Running => FAINT,
        _ => ALERT,
    };
    let status = in_style(style, worker.status);
    let how = if worker.status == Status::Running { "for" } else { "after" };
    let seconds = format!("{}.{} s", worker.elapsed_ms / 1_000, worker.elapsed_ms % 1_000 / 100);
    let own = format!("{id} {label} ({}): {status} {how} {seconds}", worker.tier);
    let result = worker.result.as_deref().unwrap_or_default();
    let first = for_person(&clip(result.lines().next().unwrap_or_default(), RESULT_CHARS).text);
    let first = first.replace('\n', " ");
    let behind = (!first.is_empty()).then(|| one_row(&first, columns, RESULT));
    fold(&own, columns, "", RESULT).into_iter().chain(behind).collect()
}
