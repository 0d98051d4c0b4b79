//! What a long call is at, on standard error.

use std::{collections::HashMap, convert::Infallible, time::Duration};

use agent_tiers::{LiveCall, Run, WaitsFor, Watcher, What};
use agent_tool_core::{CallId, Event, for_person};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::style::{FAINT, in_style, remark};

/// Work that is done sooner needs no word about its progress, and after it there is at most one
/// word for each such time.
const QUIET: Duration = Duration::from_secs(1);

/// A call that says nothing of itself is said to be at work so often.
const STILL: Duration = Duration::from_secs(5);

/// Tells of the calls of a run.
pub(super) struct Telling<'a> {
    run: &'a Run,
    watcher: Watcher,
    told: HashMap<CallId, Told>,
    /// The last progress of each call that was not told yet.
    progress: HashMap<CallId, String>,
    /// What calls wrote that was not told yet. A nested call's is its caller's to show.
    written: HashMap<CallId, String>,
}

impl<'a> Telling<'a> {
    /// Of the calls that are made from here on.
    pub(super) fn of(run: &'a Run) -> Self {
        let (told, progress, written) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { run, watcher: run.watch(), told, progress, written }
    }

    /// Tells for as long as it is polled.
    pub(super) async fn tell(&mut self) -> Infallible {
        let mut ticks = interval(QUIET);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.progress.clear();
            self.take();
            let live = self.run.live_calls();
            self.told.retain(|id, _| live.iter().any(|call| call.call_id == *id));
            // A call that waits for a person, or for its turn, is not at work.
            for call in live.iter().filter(|call| call.waits_for == WaitsFor::Tool) {
                if u128::from(call.works_ms) >= QUIET.as_millis() {
                    self.tell_of(call);
                }
            }
        }
    }

    /// Tells what was written by calls that were broken off.
    pub(super) fn rest(&mut self) {
        self.take();
        for (_, text) in self.written.drain() {
            write(&text);
        }
    }

    fn tell_of(&mut self, call: &LiveCall) {
        let written = self.written.get_mut(&call.call_id).map(whole_lines).unwrap_or_default();
        let told = self.told.entry(call.call_id.clone()).or_default();
        if !written.is_empty() {
            write(&written);
            told.at = Some(Instant::now());
        }
        let words = match self.progress.remove(&call.call_id) {
            // The words are the tool's, so they begin with its name: an external one says what it likes.
            Some(words) => format!("{}: {words}", call.name),
            None if told.at.is_none_or(|at| at.elapsed() >= STILL) => at_work(call),
            None => return,
        };
        if told.words != words {
            remark(in_style(FAINT, for_person(&words)));
            *told = Told { at: Some(Instant::now()), words };
        }
    }

    /// Takes what the run has recorded since the last look.
    fn take(&mut self) {
        while let Some(watched) = self.watcher.try_next() {
            if watched.lost > 0 {
                let said = format!("{} remarks came too fast to be shown here", watched.lost);
                remark(in_style(FAINT, said));
            }
            match &watched.record.what {
                What::Event {
                    call_id, event: Event::Progress { message, done, total }, ..
                } => {
                    self.progress.insert(call_id.clone(), counted(message, *done, *total));
                }
                What::Event { call_id, event: Event::Output { text }, parent: None } => {
                    self.written.entry(call_id.clone()).or_default().push_str(text);
                }
                // The result has it.
                What::Finished { call_id, .. } => drop(self.written.remove(call_id)),
                _ => {}
            }
        }
    }
}

/// Progress in words, with how far it is.
pub(crate) fn counted(message: &str, done: Option<u64>, total: Option<u64>) -> String {
    match (done, total) {
        (Some(done), Some(total)) => format!("{message} {done}/{total}"),
        (Some(done), None) => format!("{message} {done}"),
        _ => message.to_owned(),
    }
}

/// Takes the lines that are whole out of a text.
fn whole_lines(text: &mut String) -> String {
    let end = text.rfind('\n').map_or(0, |end| end + 1);
    let rest = text.split_off(end);
    std::mem::replace(text, rest)
}

fn write(text: &str) {
    for line in for_person(text).lines() {
        remark(in_style(FAINT, line));
    }
}

/// What was said last of a call.
#[derive(Default)]
struct Told {
    at: Option<Instant>,
    words: String,
}

fn at_work(call: &LiveCall) -> String {
    format!("{} is at work, {} s", call.name, call.works_ms / 1_000)
}
