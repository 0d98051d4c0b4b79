//! The calls that are under way.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    time::Instant,
};

use agent_tool_core::{CallId, Caller, ErrorKind, ToolError, ToolResult};
use serde::{Deserialize, Serialize};

use crate::{
    What, lock,
    log::Log,
    waits::{News, Waits},
};

/// The id of the surroundings from which the main agent calls. No call may have it.
pub(crate) const ROOT: &str = "root";

const PREFIX: &str = "call_";

/// Ids that count higher than any run does are left alone, lest the counter runs over.
const COUNTABLE: u64 = 1 << 53;

/// A call that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LiveCall {
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub name: String,
    /// The chain that led to it, outermost first.
    pub callers: Vec<Caller>,
    /// How long it has been under way, in milliseconds.
    pub ms: u64,
    /// What it waits for.
    pub waits_for: WaitsFor,
    /// How long its tool has been at work, in milliseconds: not before a gate let it through and its turn came.
    pub works_ms: u64,
}

/// What a call that is under way waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WaitsFor {
    /// A gate: as a rule a person.
    Approval,
    /// Its turn at an exclusive tool.
    Turn,
    /// The tool's own end.
    Tool,
}

#[derive(Debug, Default)]
pub(crate) struct Calls {
    last: AtomicU64,
    pub(crate) live: Mutex<HashMap<CallId, Arc<Live>>>,
    pub(crate) waits: Mutex<Waits>,
    pub(crate) news: News,
}

#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) id: CallId,
    pub(crate) name: String,
    /// The surroundings from which it was made.
    pub(crate) asker: CallId,
    callers: Vec<Caller>,
    since: Instant,
    waits_for: AtomicU8,
    works_since: OnceLock<Instant>,
    over: AtomicBool,
}

impl Calls {
    /// Enters a call under its own id or one that is made for it.
    pub(crate) fn enter(
        &self,
        id: Option<CallId>,
        name: &str,
        asker: &CallId,
        callers: Vec<Caller>,
    ) -> Result<Arc<Live>, ToolError> {
        let mut live = lock(&self.live);
        let id = match id {
            Some(id) if live.contains_key(&id) || id.as_str() == ROOT => {
                let message = format!("a call {id} is under way; use another id");
                return Err(ToolError::new(ErrorKind::Conflict, "duplicate_call_id", message));
            }
            Some(id) => {
                self.reserve(&id);
                id
            }
            None => self.make_id(),
        };
        let call = Arc::new(Live {
            id: id.clone(),
            name: name.to_owned(),
            asker: asker.clone(),
            callers,
            since: Instant::now(),
            waits_for: AtomicU8::new(WaitsFor::Approval as u8),
            works_since: OnceLock::new(),
            over: AtomicBool::new(false),
        });
        live.insert(id, Arc::clone(&call));
        Ok(call)
    }

    pub(crate) fn get(&self, id: &CallId) -> Option<Arc<Live>> {
        lock(&self.live).get(id).cloned()
    }

    /// Whether one of these callers is a call of this tool that is still under way.
    pub(crate) fn any_of(&self, callers: &[Caller], tool: &str) -> bool {
        if callers.is_empty() {
            return false;
        }
        let live = lock(&self.live);
        callers.iter().any(|caller| live.get(&caller.call_id).is_some_and(|call| call.name == tool))
    }

    /// The calls under way, the oldest first.
    pub(crate) fn status(&self) -> Vec<LiveCall> {
        let mut live: Vec<_> = lock(&self.live).values().cloned().collect();
        live.sort_by_key(|call| call.since);
        live.iter().map(|call| call.status()).collect()
    }

    fn make_id(&self) -> CallId {
        let number = self.last.fetch_add(1, Ordering::SeqCst) + 1;
        CallId::new(format!("{PREFIX}{number}"))
    }

    /// A host may count as we do; what is made later must not repeat what it used.
    fn reserve(&self, id: &CallId) {
        let number = id.as_str().strip_prefix(PREFIX).and_then(|number| number.parse().ok());
        if let Some(number) = number.filter(|number| *number < COUNTABLE) {
            self.last.fetch_max(number, Ordering::SeqCst);
        }
    }
}

impl Live {
    pub(crate) fn wait_for(&self, what: WaitsFor) {
        if what == WaitsFor::Tool {
            self.works_since.get_or_init(Instant::now);
        }
        self.waits_for.store(what as u8, Ordering::Relaxed);
    }

    /// Whether the call came to its end.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    pub(crate) fn waits_for(&self) -> WaitsFor {
        let now = self.waits_for.load(Ordering::Relaxed);
        let waits_for =
            [WaitsFor::Approval, WaitsFor::Turn].into_iter().find(|what| *what as u8 == now);
        waits_for.unwrap_or(WaitsFor::Tool)
    }

    fn ms(&self) -> u64 {
        ms_since(self.since)
    }

    /// None where its tool was never at work.
    fn worked_ms(&self) -> Option<u64> {
        self.works_since.get().copied().map(ms_since)
    }

    fn status(&self) -> LiveCall {
        LiveCall {
            call_id: self.id.clone(),
            name: self.name.clone(),
            callers: self.callers.clone(),
            ms: self.ms(),
            waits_for: self.waits_for(),
            works_ms: self.worked_ms().unwrap_or_default(),
        }
    }
}

fn ms_since(moment: Instant) -> u64 {
    u64::try_from(moment.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Closes a call in the transcript, with its result or, where it is dropped first, as cancelled.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) live: Arc<Live>,
    calls: Arc<Calls>,
    log: Arc<Log>,
}

impl Open {
    pub(crate) fn new(live: Arc<Live>, calls: &Arc<Calls>, log: &Arc<Log>) -> Self {
        Self { live, calls: Arc::clone(calls), log: Arc::clone(log) }
    }

    pub(crate) fn finish(&self, result: &ToolResult) {
        if self.leave() {
            let live = &self.live;
            self.log.tell_rest(&live.id);
            self.log.push(|| What::finished(live.id.clone(), result, live.ms(), live.worked_ms()));
        }
    }

    /// Leaves the list of live calls before the end is told, so that whoever hears of the end may
    /// use the id again.
    fn leave(&self) -> bool {
        let first = !self.live.over.swap(true, Ordering::SeqCst);
        if first {
            lock(&self.calls.live).remove(&self.live.id);
        }
        first
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.leave() {
            let live = &self.live;
            self.log.tell_rest(&live.id);
            let waited_for = Some(live.waits_for());
            self.log.push(|| What::Cancelled {
                call_id: live.id.clone(),
                ms: live.ms(),
                worked_ms: live.worked_ms(),
                waited_for,
            });
        }
    }
}
