//! One call, walked: admission, gates, admission again, the turn, the tool, the budget.

use std::sync::{Arc, atomic::Ordering};

use agent_tool_core::{
    CallId, Caller, Context, Decision, ErrorKind, Gate, Place, Tier, Tool, ToolCall, ToolError,
    ToolResult, caught, check_args,
};
use tracing::Instrument;

use crate::{
    Outcome, View, WaitsFor, What,
    approval::{First, first},
    calls::{Open, ROOT},
    hiding::hide,
    run::Shared,
};

/// A call that has arrived: it has an id, a place in the line of an exclusive tool, and a record
/// that says it began. The order of the fields is the order in which a cancelled call lets go: the
/// turn is free before the record says that the call is over.
pub(crate) struct Arrival {
    place: Option<Place>,
    open: Open,
    view: View,
    call: ToolCall,
    cx: Context,
    /// The tool, or why there is none for this caller.
    tool: Result<Arc<dyn Tool>, ToolError>,
}

impl Arrival {
    pub(crate) fn of(view: &View, call: ToolCall, parent: &Context) -> Result<Self, ToolError> {
        let run = &view.run;
        let chain = view.chain(parent)?;
        let mut tool = view.admit(&call.name, parent.ceiling(), &chain);
        if let Err(error) = &tool
            && error.code == "run_ended"
        {
            return Err(error.clone());
        }
        let live = run.calls.enter(call.id.clone(), &call.name, parent.call_id(), chain.clone())?;
        let open = Open::new(Arc::clone(&live), &run.calls, &run.log);
        let surface = view.surface();
        run.log.push(|| {
            let tier = tool.as_ref().ok().map(|tool| tool.spec().tier);
            let mut what = What::started(live.id.clone(), chain.clone(), &call, tier, surface);
            if let What::Started { args, .. } = &mut what {
                run.log.hiding.secrets.hidden_in(args);
            }
            what
        });
        let ceiling = parent.ceiling().min(view.authority.ceiling).min(surface.cap());
        let inner = view.held_by(Arc::clone(&live), ceiling);
        let cx = surroundings(&live.id, chain, ceiling, inner, run);
        let place = match take_place(run, tool.as_deref(), cx.callers(), parent.call_id()) {
            Ok(place) => place,
            Err(error) => {
                tool = Err(error);
                None
            }
        };
        Ok(Self { place, open, view: view.clone(), call, cx, tool })
    }

    /// Walks the call to its end and closes it.
    pub(crate) async fn walk(mut self) -> ToolResult {
        let span = tracing::info_span!(
            "execute_tool",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = %self.call.name,
            gen_ai.tool.call.id = %self.open.live.id,
            error.r#type = tracing::field::Empty,
        );
        let result = self.run().instrument(span.clone()).await;
        drop(self.place.take());
        let result = hide(&self.view.run.log.hiding.secrets, result);
        let result = self.view.run.budget.apply(&self.open.live.id, result);
        if let Err(error) = &result {
            span.record("error.type", &*error.code);
        }
        self.open.finish(&result);
        result
    }

    async fn run(&mut self) -> ToolResult {
        let tool = self.tool.clone()?;
        // Nobody is asked about a call that cannot be right, and the gates judge what the tool gets.
        self.call.args = check_args(tool.spec(), self.call.args.take())?;
        let fingerprint = self.pass_gates(&*tool).await?;
        self.still_there(&tool)?;
        if let Some(place) = &self.place {
            self.take_turn(place).await?;
            self.still_there(&tool)?;
        }
        self.open.live.wait_for(WaitsFor::Tool);
        let cx = self.cx.clone().with_approved(fingerprint);
        let args = self.call.args.take();
        let result = caught(async { tool.call(args, &cx).await }).await;
        result.unwrap_or_else(|panic| Err(self.view.run.panicked(&self.call.name, &panic)))
    }

    /// Waits for the turn, unless whoever has it waits for who made this call.
    async fn take_turn(&self, place: &Place) -> Result<(), ToolError> {
        let (calls, name) = (&self.view.run.calls, &self.call.name);
        self.open.live.wait_for(WaitsFor::Turn);
        // Another wait may have become part of a circle by this one.
        calls.news.send_replace(());
        let never = calls.never_comes(&self.open.live.asker, name);
        match first(place.turn(), never).await {
            First::Other(()) => Ok(()),
            First::Own(()) => Err(waits_for_its_caller(name)),
        }
    }

    /// Asks the gates in order, the approval last, and gives back the fingerprint of the plan
    /// that was approved.
    async fn pass_gates(&self, tool: &dyn Tool) -> Result<Option<String>, ToolError> {
        let mut fingerprint = None;
        for gate in &self.view.run.gates {
            if let Some(approved) = self.ask(&**gate, tool).await? {
                fingerprint = Some(approved);
            }
        }
        let approval = &self.view.run.approval;
        let ruling = caught(async { approval.rule(tool, &self.call, &self.cx).await }).await;
        let ruling = ruling.map_err(|panic| self.view.run.panicked(&self.call.name, &panic))?;
        let approved = verdict(ruling.decision);
        if let Some(by) = ruling.by {
            self.view.run.log.push(|| What::Approval {
                call_id: self.cx.call_id().clone(),
                outcome: if approved.is_ok() { Outcome::Allowed } else { Outcome::Refused },
                by,
                fingerprint: approved.clone().ok().flatten(),
                effect: ruling.effect,
            });
        }
        Ok(approved?.or(fingerprint))
    }

    async fn ask(&self, gate: &dyn Gate, tool: &dyn Tool) -> Result<Option<String>, ToolError> {
        match caught(async { gate.check(tool, &self.call, &self.cx).await }).await {
            Ok(decision) => verdict(decision),
            Err(panic) => Err(ToolError::new(
                ErrorKind::Failed,
                "gate_panicked",
                format!("a gate before {} panicked, so nothing was done: {panic}", self.call.name),
            )),
        }
    }

    /// Looks again after a wait: the surface may have been lowered, the registry replaced.
    fn still_there(&self, tool: &Arc<dyn Tool>) -> Result<(), ToolError> {
        let now = self.view.admit(&self.call.name, self.cx.ceiling(), self.cx.callers())?;
        if Arc::ptr_eq(&now, tool) {
            return Ok(());
        }
        let name = &self.call.name;
        Err(ToolError::new(
            ErrorKind::Conflict,
            "tool_replaced",
            format!("{name} was replaced while the call waited; nothing was done; call it again"),
        ))
    }
}

impl Shared {
    /// Counts a panic of a tool and words it for the model.
    pub(crate) fn panicked(&self, tool: &str, panic: &str) -> ToolError {
        self.panics.fetch_add(1, Ordering::Relaxed);
        ToolError::new(
            ErrorKind::Failed,
            "tool_panicked",
            format!(
                "{tool} has a defect and broke off (panic: {panic}); what it began may be half \
                 done, so look before you call it again"
            ),
        )
    }
}

/// The surroundings of a call: its chain as it was found, its own way back into the run, and the
/// run's log, whatever the parent's watcher is.
fn surroundings(
    id: &CallId,
    chain: Vec<Caller>,
    ceiling: Tier,
    dispatch: View,
    run: &Shared,
) -> Context {
    let (id, dispatch, log) = (id.clone(), Arc::new(dispatch), Arc::clone(&run.log));
    let root = if chain.is_empty() { id.clone() } else { CallId::new(ROOT) };
    let root = Context::new(root, ceiling, dispatch, log);
    chain.into_iter().fold(root, |cx, caller| cx.child(caller, id.clone(), ceiling))
}

/// Takes a place in the line of an exclusive tool. A call from inside another never waits for one: the turn may be held by
/// what it was made from. Who works beside it, such as a worker, waits as the main agent does.
fn take_place(
    run: &Shared,
    tool: Result<&dyn Tool, &ToolError>,
    callers: &[Caller],
    asker: &CallId,
) -> Result<Option<Place>, ToolError> {
    let Ok(tool) = tool else { return Ok(None) };
    let spec = tool.spec();
    let name = &spec.name;
    if run.calls.any_of(callers, name) {
        let message = format!("{name} is what this call was made from; it cannot call itself");
        return Err(ToolError::new(ErrorKind::Conflict, "recursive_call", message));
    }
    if spec.parallel {
        return Ok(None);
    }
    // Nobody is asked about a call whose turn would never come.
    if run.calls.is_circle(asker, name) {
        return Err(waits_for_its_caller(name));
    }
    if run.calls.get(asker).is_none() {
        return Ok(Some(run.turns.join(name)));
    }
    let busy = || {
        let message = format!(
            "{name} is busy with another call, of which a person may be asked just now; a call from inside another one \
             does not wait for it, since that may be what it waits for; nothing was done; do something else first and \
             call it again, and if it stays busy, say that this was not done"
        );
        ToolError::new(ErrorKind::Conflict, "busy_tool", message)
    };
    run.turns.try_join(name).map(Some).ok_or_else(busy)
}

fn waits_for_its_caller(name: &str) -> ToolError {
    let message = format!(
        "the call that has {name} now waits for you, so your turn would never come; nothing was done; go on without it \
         and say in your result that this was not done"
    );
    ToolError::new(ErrorKind::Conflict, "busy_tool", message)
}

/// A decision of a kind that this version does not know is a refusal.
fn verdict(decision: Decision) -> Result<Option<String>, ToolError> {
    match decision {
        Decision::Pass => Ok(None),
        Decision::Approved { fingerprint } => Ok(fingerprint),
        Decision::Refused(error) => Err(error),
        _ => Err(ToolError::new(
            ErrorKind::Denied,
            "undecided",
            "a gate answered in a way that this version does not know; nothing was done",
        )),
    }
}
