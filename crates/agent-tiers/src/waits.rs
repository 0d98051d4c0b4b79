//! Who waits for whom where no line shows it: a call for somebody who works beside it.

use std::{collections::HashMap, sync::Arc};

use agent_tool_core::CallId;
use tokio::sync::watch;

use crate::{
    WaitsFor,
    calls::{Calls, Live},
    lock,
};

/// The waits of calls for others than the calls that they make.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    noted: Vec<Wait>,
    last: u64,
}

#[derive(Debug)]
struct Wait {
    number: u64,
    /// The call that waits and all that it was made from.
    waiting: Vec<CallId>,
    /// The surroundings of whom it waits for.
    other: CallId,
}

/// Takes a wait back when it is dropped.
struct Noted {
    number: u64,
    calls: Arc<Calls>,
}

/// Tells who waits for a turn that there is something to look at.
pub(crate) type News = watch::Sender<()>;

impl Calls {
    /// Notes that these calls wait for whom these surroundings belong to, until what comes back is dropped.
    pub(crate) fn note_wait(
        self: &Arc<Self>,
        waiting: Vec<CallId>,
        other: CallId,
    ) -> impl Send + use<> {
        let mut waits = lock(&self.waits);
        waits.last += 1;
        let number = waits.last;
        waits.noted.push(Wait { number, waiting, other });
        drop(waits);
        self.news.send_replace(());
        Noted { number, calls: Arc::clone(self) }
    }

    /// Ends once `asker` waits for a turn at `tool` that would never come, since whoever has it waits for `asker`.
    pub(crate) async fn never_comes(&self, asker: &CallId, tool: &str) {
        let mut news = self.news.subscribe();
        // The sender is our own, so it does not close.
        while !self.is_circle(asker, tool) && news.changed().await.is_ok() {}
    }

    /// The tool that `other` waits for a turn at, where one of these calls is of it: only what has its turn makes others.
    pub(crate) fn held_from(&self, other: &CallId, holding: &[&CallId]) -> Option<String> {
        let live = lock(&self.live);
        let is_held = |name: &&str| {
            holding.iter().any(|id| live.get(*id).is_some_and(|call| call.name == **name))
        };
        awaited_by(other, &live).find(is_held).map(str::to_owned)
    }

    /// Whether a call of `tool` waits for `asker`, through others who wait for turns too.
    ///
    /// Only a call that has its turn makes others, so whatever of the tool is noted as waiting stands before `asker`.
    pub(crate) fn is_circle(&self, asker: &CallId, tool: &str) -> bool {
        let live = lock(&self.live);
        let waits = lock(&self.waits);
        let (mut tools, mut seen) = (vec![tool.to_owned()], Vec::new());
        while let Some(tool) = tools.pop() {
            let of_tool = |id: &CallId| live.get(id).is_some_and(|call| call.name == tool);
            let others = waits.noted.iter().filter(|wait| wait.waiting.iter().any(of_tool));
            for other in others.map(|wait| &wait.other) {
                if other == asker {
                    return true;
                }
                if seen.contains(&other) {
                    continue;
                }
                seen.push(other);
                tools.extend(awaited_by(other, &live).map(str::to_owned));
            }
        }
        false
    }
}

/// The tools for whose turn the calls of this one wait.
fn awaited_by<'a>(
    asker: &'a CallId,
    live: &'a HashMap<CallId, Arc<Live>>,
) -> impl Iterator<Item = &'a str> {
    let theirs = live.values().filter(move |call| call.asker == *asker);
    let waiting = theirs.filter(|call| call.waits_for() == WaitsFor::Turn);
    waiting.map(|call| call.name.as_str())
}

impl Drop for Noted {
    fn drop(&mut self) {
        lock(&self.calls.waits).noted.retain(|wait| wait.number != self.number);
    }
}
