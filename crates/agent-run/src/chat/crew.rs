//! The workers of a conversation as its person sees them: a line when one ends, and all of them on request.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use agent_tiers::{Run, WaitsFor, Watcher, What};
use agent_tool_core::{CallId, clip, counted};
use agent_vibe::{Status, WorkerReport, Workers};
use serde_json::Value;
use tokio::task::AbortHandle;

use super::{
    screen::Screen,
    show::{id_of, summary},
};
use crate::{
    columns::{fold, one_row},
    edge, lock,
    style::{ADDED, ALERT, FAINT, STRONG, in_style},
    visible::readable,
};

/// So many characters of a worker's result are in its line.
const RESULT_CHARS: usize = 100;

/// So many of a worker's last calls are shown of it.
const CALLS: usize = 5;

/// What stands before a worker's call.
const CALL: &str = "    │ ";

/// What is said of a call that has no end.
const AT_WORK: &str = "at work";
const AT_CARD: &str = "waits for an answer to its card";
const WAITS: &str = "waits for its turn";

/// What is said of one that came to its end, and of one that did not.
const DONE: &str = "done";
const CUT_OFF: &str = "cut off";

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
    /// What each called.
    called: Mutex<BTreeMap<String, Called>>,
}

/// What a worker called.
#[derive(Debug, Default)]
struct Called {
    count: usize,
    /// The last ones, the oldest first.
    last: VecDeque<(CallId, String, String)>,
}

impl Crew {
    /// Tells of the workers of this run when they end.
    pub(super) fn watched(
        workers: Workers,
        consent: Option<String>,
        screen: Screen,
        run: &Run,
    ) -> Self {
        let (told, called) = (Mutex::default(), Mutex::default());
        let seen = Arc::new(Seen { workers, screen, told, called });
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

    /// Rows for each worker, with what it called last.
    pub(super) fn rows(&self, run: &Run) -> Vec<String> {
        self.look();
        let waits = run.live_calls().into_iter();
        let waits: HashMap<_, _> = waits.map(|call| (call.call_id, call.waits_for)).collect();
        let told = self.seen.told();
        let called = self.seen.called();
        let columns = self.seen.screen.columns();
        self.seen
            .workers
            .list()
            .iter()
            // One that had ended before its mode was turned off ended as it did.
            .map(|now| {
                told.get(&now.worker_id).filter(|_| now.status == Status::Killed).unwrap_or(now)
            })
            .flat_map(|worker| {
                let calls = called.get(&worker.worker_id);
                let calls = calls.into_iter().flat_map(|called| called.rows(&waits, columns));
                rows(worker, columns).into_iter().chain(calls).collect::<Vec<_>>()
            })
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

    /// Notes what a worker itself calls.
    fn note(&self, what: &What) {
        match what {
            What::Started { call_id, callers, name, args, .. } => {
                let [caller] = callers.as_slice() else { return };
                let Some(worker) = id_of(&caller.name) else { return };
                self.called().entry(worker.to_owned()).or_default().begin(call_id, name, args);
            }
            What::Finished { call_id, ok, error, .. } => {
                let code = error.as_ref().map_or("error", |error| error.code.as_str());
                // Another's word, in quotes unless it is a plain one.
                self.end(call_id, &if *ok { DONE.to_owned() } else { edge::word(code) });
            }
            What::Cancelled { call_id, .. } => self.end(call_id, CUT_OFF),
            _ => {}
        }
    }

    fn end(&self, call_id: &CallId, how: &str) {
        self.called().values_mut().for_each(|called| called.end(call_id, how));
    }

    fn called(&self) -> MutexGuard<'_, BTreeMap<String, Called>> {
        lock(&self.called)
    }

    fn told(&self) -> MutexGuard<'_, BTreeMap<String, WorkerReport>> {
        lock(&self.told)
    }
}

async fn watch(seen: Arc<Seen>, mut records: Watcher) {
    // A worker's end is a record of the run; which one does not matter.
    while let Some(watched) = records.next().await {
        seen.note(&watched.record.what);
        seen.look();
    }
}

impl Called {
    fn begin(&mut self, id: &CallId, name: &str, args: &Value) {
        self.count += 1;
        if self.last.len() == CALLS {
            self.last.pop_front();
        }
        let wish = format!("{} {}", edge::word(name), summary(name, args));
        self.last.push_back((id.clone(), wish.trim_end().to_owned(), AT_WORK.to_owned()));
    }

    fn end(&mut self, id: &CallId, how: &str) {
        if let Some((.., end)) = self.last.iter_mut().find(|(call, ..)| call == id) {
            *end = how.to_owned();
        }
    }

    /// `2 calls` and, of each of the last ones, `shell ls: done`.
    fn rows(&self, waits: &HashMap<CallId, WaitsFor>, columns: Option<usize>) -> Vec<String> {
        let before = self.count - self.last.len();
        let said = (before > 0).then(|| format!("… {} before", counted(before, "call")));
        let last = self.last.iter().map(|(id, wish, end)| match waits.get(id) {
            Some(WaitsFor::Approval) => format!("{AT_CARD}: {wish}"),
            Some(WaitsFor::Turn) => format!("{WAITS}: {wish}"),
            _ => format!("{end}: {wish}"),
        });
        let rows = said.into_iter().chain(last);
        rows.map(|row| one_row(&in_style(FAINT, row).to_string(), columns, CALL)).collect()
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
    let first = readable(&clip(result.lines().next().unwrap_or_default(), RESULT_CHARS).text);
    let first = first.replace('\n', " ");
    let behind = (!first.is_empty()).then(|| one_row(&first, columns, RESULT));
    fold(&own, columns, "", RESULT).into_iter().chain(behind).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_calls_of_a_worker_are_shown_with_their_ends() {
        let mut called = Called::default();
        for number in 1..=CALLS + 2 {
            let id = CallId::new(format!("call_{number}"));
            called.begin(&id, "shell", &json!({"command": format!("echo {number}")}));
        }
        called.end(&CallId::new("call_1"), "done");
        called.end(&CallId::new("call_3"), "done");
        called.end(&CallId::new("call_4"), "refused_by_person");
        let waits = HashMap::from([
            (CallId::new("call_6"), WaitsFor::Approval),
            (CallId::new("call_7"), WaitsFor::Tool),
        ]);
        let rows = called.rows(&waits, Some(60));
        let rows: Vec<String> = rows.iter().map(|row| plain(row)).collect();
        assert_eq!(
            rows,
            [
                "    │ … 2 calls before",
                "    │ done: shell echo 3",
                "    │ refused_by_person: shell echo 4",
                "    │ at work: shell echo 5",
                "    │ waits for an answer to its card: shell echo 6",
                "    │ at work: shell echo 7",
            ]
        );
    }

    fn plain(row: &str) -> String {
        anstream::adapter::strip_str(row).to_string()
    }
}
