//! The calls of one answer.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use agent_tool_core::{CallId, ToolCall, ToolError, ToolSpec};
use futures::{StreamExt, stream::FuturesUnordered};
use serde_json::{Map, Value};

use crate::{
    Agent, Call, CallResult, RawCall, Stop, StopReason, TurnEvent, Watch,
    ids::Ids,
    live::Live,
    message::{malformed, repeated_id},
};

/// How many calls of one answer are under way at once.
pub const PARALLEL_CALLS: usize = 16;

/// A call and, where it cannot be made, the answer to it.
pub(crate) struct Checked {
    pub(crate) call: Call,
    pub(crate) refused: Option<ToolError>,
}

/// Reads calls as a model wrote them.
pub(crate) fn check(
    raw: Vec<RawCall>,
    stop: &StopReason,
    tools: &[ToolSpec],
    ids: &mut Ids,
) -> Vec<Checked> {
    let last = raw.len().saturating_sub(1);
    let mut seen = HashSet::new();
    let checked = raw.into_iter().enumerate().map(|(index, raw)| {
        let cut = index == last && *stop == StopReason::OutputLimit;
        let args = match raw.arguments.trim() {
            "" if !cut => Ok(Value::Object(Map::new())),
            text => serde_json::from_str(text).map_err(|_| raw.arguments.clone()),
        };
        let (args, malformed_args) = match args {
            Ok(args) => (args, None),
            Err(text) => (Value::Null, Some(text)),
        };
        let spec = tools.iter().find(|spec| spec.name == raw.name);
        let tier = spec.filter(|spec| !spec.tier_is_hearsay).map(|spec| spec.tier);
        let id = ids.make(&raw.id);
        let call = Call { id, name: raw.name, args, malformed: malformed_args, tier };
        let again = !raw.id.is_empty() && !seen.insert(raw.id.clone());
        let refused = match &call.malformed {
            _ if again => Some(repeated_id(&call.name, &raw.id)),
            Some(came) => Some(malformed(&call, came, stop)),
            None => None,
        };
        Checked { call, refused }
    });
    checked.collect()
}

/// Makes the calls. Those that may overlap and stand side by side run at once; an exclusive one waits
/// for all before it and is waited for by all after it.
pub(crate) async fn run(
    agent: &Agent,
    live: &mut Live<'_>,
    checked: Vec<Checked>,
    tools: &[ToolSpec],
) {
    let calls: Vec<Call> = checked.iter().map(|checked| checked.call.clone()).collect();
    let started = live.open(&calls);
    let stop = live.stop.clone();
    let mut waiting = checked.into_iter().enumerate().peekable();
    while let Some(first) = waiting.next() {
        let overlaps = may_overlap(&first.1, tools);
        let mut group = vec![first];
        while let Some(next) = waiting.next_if(|(_, next)| overlaps && may_overlap(next, tools)) {
            group.push(next);
        }
        let mut group = group.into_iter();
        let mut running: FuturesUnordered<_> = FuturesUnordered::new();
        for (index, checked) in group.by_ref().take(PARALLEL_CALLS) {
            running.push(one(agent, live.watch, index, checked, (&started, &stop)));
        }
        while let Some((index, result)) = running.next().await {
            if let Some(result) = result {
                live.record(index, result);
            }
            if let Some((index, checked)) = group.next() {
                running.push(one(agent, live.watch, index, checked, (&started, &stop)));
            }
        }
    }
}

fn may_overlap(checked: &Checked, tools: &[ToolSpec]) -> bool {
    let spec = tools.iter().find(|spec| spec.name == checked.call.name);
    checked.refused.is_some() || spec.is_none_or(|spec| spec.parallel)
}

/// Makes a call; none once the turn is to end.
async fn one(
    agent: &Agent,
    watch: &dyn Watch,
    index: usize,
    checked: Checked,
    (started, stop): (&[AtomicBool], &Stop),
) -> (usize, Option<CallResult>) {
    if stop.is_set() {
        return (index, None);
    }
    let Checked { call, refused } = checked;
    let (call_id, name) = (CallId::new(call.id.as_str()), call.name.clone());
    started[index].store(true, Ordering::Relaxed);
    watch.event(TurnEvent::CallStarted {
        call_id: call_id.clone(),
        name: name.clone(),
        args: call.args.clone(),
    });
    let since = Instant::now();
    let result = match refused {
        Some(error) => Err(error),
        None => {
            let wish = ToolCall::new(name.clone(), call.args.clone()).with_id(call_id.clone());
            agent.dispatch.call(wish, &agent.parent).await
        }
    };
    let told = CallResult::of(&call, &result);
    let result = Arc::new(result);
    watch.event(TurnEvent::CallFinished { call_id, name, result, took: since.elapsed() });
    (index, Some(told))
}
