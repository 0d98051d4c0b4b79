//! A registry seen from a surface under a ceiling.

use std::{collections::BTreeSet, sync::Arc};

use agent_tool_core::{
    BoxFuture, CallId, Caller, Context, Dispatch, ErrorKind, Limits, Preview, Tier, Tool, ToolCall,
    ToolError, ToolResult, ToolSpec, caught, check_args,
};

use crate::{
    Surface, What,
    call::Arrival,
    calls::{Live, ROOT},
    run::Shared,
    surface::SurfaceCell,
    unknown,
};

/// A run's tools as one caller sees them. A clone is cheap and means the same view.
///
/// What a view lists and what may be called through it are told by one test: a tool is there
/// when its tier is neither above the view's ceiling nor above its surface's cap and its name is
/// not left out. Whatever is not there is answered as a name that never existed.
///
/// The ceiling is fixed for good. The surface may change: a view and all that was narrowed from
/// it share it. [`Dispatch::narrow`] takes the surface's cap of that moment into the ceiling, so a
/// surface that is raised later raises nothing that was narrowed before, and one that is lowered
/// lowers all of it.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) run: Arc<Shared>,
    id: Arc<str>,
    surface: Arc<SurfaceCell>,
    pub(crate) authority: Authority,
    /// The call whose context this view is handed out in.
    pub(crate) holder: Option<Arc<Live>>,
}

/// The fixed part of what a view admits.
#[derive(Clone, Debug)]
pub(crate) struct Authority {
    pub(crate) ceiling: Tier,
    pub(crate) without: Arc<BTreeSet<String>>,
}

impl View {
    pub(crate) fn new(
        run: Arc<Shared>,
        id: String,
        surface: Surface,
        authority: Authority,
    ) -> Self {
        let surface = Arc::new(SurfaceCell::new(surface));
        Self { run, id: id.into(), surface, authority, holder: None }
    }

    /// The view's name within its run, `view_1` and so on.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The surface as it is now.
    #[must_use]
    pub fn surface(&self) -> Surface {
        self.surface.get()
    }

    /// Sets the surface and tells the watchers. A call that runs goes on; one that still waits is
    /// looked at again before it begins.
    pub fn set_surface(&self, surface: Surface) {
        if self.surface.set(surface) != surface {
            let view = Some(self.id.to_string());
            self.run.log.push(|| What::ToolsChanged { view, surface: Some(surface) });
        }
    }

    /// The most that may be called here, whatever the surface.
    #[must_use]
    pub fn ceiling(&self) -> Tier {
        self.authority.ceiling
    }

    /// The surroundings from which the main agent calls: what `view.call(..)` passes as
    /// the parent.
    #[must_use]
    pub fn root(&self) -> Context {
        let log = Arc::clone(&self.run.log);
        Context::new(CallId::new(ROOT), self.authority.ceiling, Arc::new(self.clone()), log)
    }

    /// A call of the main agent's own, as [`View::start`] makes it.
    ///
    /// The future gives the errors of [`Dispatch::call`].
    pub fn call(&self, call: ToolCall) -> BoxFuture<'static, ToolResult> {
        self.start(call, &self.root())
    }

    /// Makes a call on behalf of `parent`. The call arrives now, not when its future is polled
    /// first: exclusive tools are called in the order in which this function was. Dropping the
    /// future cancels the call.
    pub fn start(&self, call: ToolCall, parent: &Context) -> BoxFuture<'static, ToolResult> {
        match Arrival::of(self, call, parent) {
            Ok(arrival) => Box::pin(arrival.walk()),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// What a call of the main agent's would do. Nothing is recorded and nobody is asked.
    ///
    /// # Errors
    ///
    /// `unknown_tool`, `invalid_args`, and what the tool's own preview refuses.
    pub async fn preview(&self, call: &ToolCall) -> Result<Preview, ToolError> {
        let tool = self.admit(&call.name, Tier::Exec, &[])?;
        let args = check_args(tool.spec(), call.args.clone())?;
        let cx = self.root();
        let preview = caught(async { tool.preview(&args, &cx).await }).await;
        preview.unwrap_or_else(|panic| Err(self.run.panicked(&call.name, &panic)))
    }

    /// The tool of this name, if it is there for a caller under this ceiling. None of these callers can be called again from
    /// within, so they are not offered for a name that is not there.
    pub(crate) fn admit(
        &self,
        name: &str,
        ceiling: Tier,
        callers: &[Caller],
    ) -> Result<Arc<dyn Tool>, ToolError> {
        let registry = self.run.registry()?;
        let tool = registry.get(name).filter(|tool| self.admits(tool.spec(), ceiling));
        tool.cloned().ok_or_else(|| {
            let there = registry.iter().map(|tool| tool.spec());
            let there = there.filter(|spec| self.admits(spec, ceiling));
            let there = there.filter(|spec| !self.run.calls.any_of(callers, &spec.name));
            unknown::tool(name, there.map(|spec| spec.name.as_str()))
        })
    }

    fn admits(&self, spec: &ToolSpec, ceiling: Tier) -> bool {
        spec.tier <= self.authority.ceiling.min(self.surface.get().cap()).min(ceiling)
            && !self.authority.without.contains(&spec.name)
    }

    /// The view as it is handed to a call: under the call's own ceiling.
    pub(crate) fn held_by(&self, holder: Arc<Live>, ceiling: Tier) -> View {
        let authority = self.authority.meet(ceiling, Limits::default());
        View { authority, holder: Some(holder), ..self.clone() }
    }

    /// The chain of callers of a call that `parent` makes.
    ///
    /// A parent that is a call of this run becomes its last link. Any other parent, such as the
    /// root or a worker's own context, is no call, and its chain is taken as it is. A call that is
    /// over calls no more: without its link, what it left running would pass for the main agent.
    pub(crate) fn chain(&self, parent: &Context) -> Result<Vec<Caller>, ToolError> {
        let mut chain = parent.callers().to_vec();
        let held = self.holder.as_ref().filter(|holder| holder.id == *parent.call_id());
        if held.is_some_and(|holder| holder.is_over()) {
            return Err(ToolError::new(
                ErrorKind::Cancelled,
                "caller_ended",
                "the call on whose behalf this one was made is over; nothing was done",
            ));
        }
        if let Some(live) = self.run.calls.get(parent.call_id()) {
            chain.push(Caller::new(live.id.clone(), live.name.clone()));
        }
        Ok(chain)
    }
}

impl Dispatch for View {
    fn specs(&self) -> Vec<ToolSpec> {
        let registry = self.run.registry().unwrap_or_default();
        let specs = registry.iter().map(|tool| tool.spec());
        specs.filter(|spec| self.admits(spec, Tier::Exec)).cloned().collect()
    }

    fn call<'a>(&'a self, call: ToolCall, parent: &'a Context) -> BoxFuture<'a, ToolResult> {
        self.start(call, parent)
    }

    fn narrow(&self, limits: Limits) -> Arc<dyn Dispatch> {
        let authority = self.authority.meet(self.surface.get().cap(), limits);
        Arc::new(View { authority, ..self.clone() })
    }

    fn note_wait(&self, other: &CallId, waiter: &Context) -> Box<dyn Send> {
        let callers = waiter.callers().iter().map(|caller| caller.call_id.clone());
        let waiting = callers.chain([waiter.call_id().clone()]).collect();
        Box::new(self.run.calls.note_wait(waiting, other.clone()))
    }

    fn held_from(&self, other: &CallId, holder: &Context) -> Option<String> {
        let callers = holder.callers().iter().map(|caller| &caller.call_id);
        let holding: Vec<&CallId> = callers.chain([holder.call_id()]).collect();
        self.run.calls.held_from(other, &holding)
    }
}

impl Authority {
    /// The smaller of both.
    pub(crate) fn meet(&self, ceiling: Tier, limits: Limits) -> Self {
        let ceiling = self.ceiling.min(ceiling).min(limits.ceiling.unwrap_or(Tier::Exec));
        if limits.without.is_empty() {
            return Self { ceiling, without: Arc::clone(&self.without) };
        }
        let mut without = BTreeSet::clone(&self.without);
        without.extend(limits.without);
        Self { ceiling, without: Arc::new(without) }
    }
}
