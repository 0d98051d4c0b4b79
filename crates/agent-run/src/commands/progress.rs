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

/// Tells of the calls of a run for as long as it is polled.
pub(super) async fn tell(run: &Run) -> Infallible {
    let mut watcher = run.watch();
    let mut ticks = interval(QUIET);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told: HashMap<CallId, Told> = HashMap::new();
    loop {
        ticks.tick().await;
        let mut latest = latest(&mut watcher);
        let live = run.live_calls();
        told.retain(|id, _| live.iter().any(|call| call.call_id == *id));
        // A call that waits for a person, or for its turn, is not at work.
        for call in live.iter().filter(|call| call.waits_for == WaitsFor::Tool) {
            if u128::from(call.ms) < QUIET.as_millis() {
                continue;
            }
            let told = told.entry(call.call_id.clone()).or_default();
            let words = match latest.remove(&call.call_id) {
                Some(words) => words,
                None if told.at.is_none_or(|at| at.elapsed() >= STILL) => at_work(call),
                None => continue,
            };
            if told.words != words {
                remark(in_style(FAINT, for_person(&words)));
                *told = Told { at: Some(Instant::now()), words };
            }
        }
    }
}

/// What was said last of a call.
#[derive(Default)]
struct Told {
    at: Option<Instant>,
    words: String,
}

/// The last progress of each call since the last look.
fn latest(watcher: &mut Watcher) -> HashMap<CallId, String> {
    let mut latest = HashMap::new();
    while let Some(watched) = watcher.try_next() {
        if let What::Event { call_id, event: Event::Progress { message, done, total }, .. } =
            &watched.record.what
        {
            let counted = match (done, total) {
                (Some(done), Some(total)) => format!(" {done}/{total}"),
                (Some(done), None) => format!(" {done}"),
                _ => String::new(),
            };
            latest.insert(call_id.clone(), format!("{message}{counted}"));
        }
    }
    latest
}

fn at_work(call: &LiveCall) -> String {
    format!("{} is at work, {} s", call.name, call.ms / 1_000)
}
