//! A registry seen from a surface under a ceiling, and the way of a call.

use std::{collections::HashSet, fmt, sync::Arc};

use agent_tool_core::{
    BoxFuture, CallId, Caller, Context, Decision, Dispatch, ErrorKind, Limits, Preview, Tier, Tool,
    ToolCall, ToolError, ToolResult, ToolSpec,
};
use tracing::Instrument as _;

use crate::{
    Surface, WaitsFor, What,
    calls::{Live, Open, ROOT},
    panics::caught,
    run::Shared,
    surface::SurfaceCell,
    turns::Place,
};

/// The tools that a model is shown and may call. A clone is cheap and means the same view.
///
/// Listing and calling use one test, so that what is hidden answers as a name that never existed.
/// The ceiling is fixed; the surface may change between calls and is looked at again after an
/// approval and after a turn.
#[derive(Clone)]
pub struct View {
    shared: Arc<Shared>,
    id: Arc<str>,
    surface: Arc<SurfaceCell>,
    ceiling: Tier,
    without: Arc<HashSet<String>>,
}

impl View {
    pub(crate) fn new(shared: Arc<Shared>, id: String, surface: Surface, limits: Limits) -> Self {
        Self {
            shared,
            id: id.into(),
            surface: Arc::new(SurfaceCell::new(surface)),
            ceiling: limits.ceiling.unwrap_or(Tier::Exec),
            without: Arc::new(limits.without.into_iter().collect()),
        }
    }

    /// The view's id within its run.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The surface that it shows now.
    #[must_use]
    pub fn surface(&self) -> Surface {
        self.surface.get()
    }

    /// Shows another surface from now on; for the host alone. Views narrowed from this one see
    /// the smaller of the surface and what they were fixed at.
    pub fn set_surface(&self, surface: Surface) {
        if self.surface.set(surface) != surface {
            let view = Some(self.id.to_string());
            self.shared.log.push(|| What::ToolsChanged { view, surface: Some(surface) });
        }
    }

    /// The most that may be called here, whatever the surface.
    #[must_use]
    pub fn ceiling(&self) -> Tier {
        self.ceiling
    }

    /// A call of the main agent's own.
    ///
    /// # Errors
    ///
    /// Those of [`Dispatch::call`].
    pub async fn call(&self, call: ToolCall) -> ToolResult {
        let root = self.root();
        self.walk(call, &root).await
    }

    /// What a call would do, for a host that shows it.
    ///
    /// # Errors
    ///
    /// `unknown_tool`, and what the tool refuses.
    pub async fn preview(&self, call: &ToolCall) -> Result<Preview, ToolError> {
        let tool = self.admit(&call.name, Tier::Exec);
        let tool = tool.ok_or_else(|| ToolError::unknown_tool(&call.name))?;
        let root = self.root();
        match caught(tool.preview(&call.args, &root)).await {
            Ok(preview) => preview,
            Err(message) => Err(panicked(&call.name, &message)),
        }
    }

    fn root(&self) -> Context {
        let log = Arc::clone(&self.shared.log);
        Context::new(CallId::new(ROOT), self.ceiling, Arc::new(self.clone()), log)
    }

    /// The tool of this name, if it may be called here now: the one test for listing and calling.
    fn admit(&self, name: &str, ceiling: Tier) -> Option<Arc<dyn Tool>> {
        let registry = self.shared.registry();
        let tool = registry.get(name)?;
        self.admits(tool.spec(), ceiling).then(|| Arc::clone(tool))
    }

    fn admits(&self, spec: &ToolSpec, ceiling: Tier) -> bool {
        spec.tier <= self.ceiling.min(ceiling)
            && self.surface.get().admits(spec.tier)
            && !self.without.contains(&spec.name)
    }

    /// One call, from its arrival to its end.
    async fn walk(&self, call: ToolCall, parent: &Context) -> ToolResult {
        let calls = &self.shared.calls;
        let caller = self.caller(parent);
        let mut callers = parent.callers().to_vec();
        callers.extend(caller.clone());
        let live = calls.enter(call.id.clone(), &call.name, callers.clone())?;
        // Dropped when the call is cancelled, after everything that the call holds.
        let open = Open::new(Arc::clone(&live), calls, &self.shared.log);
        let tool = self.admit(&call.name, parent.ceiling());
        let tier = tool.as_ref().map(|tool| tool.spec().tier);
        let surface = self.surface.get();
        self.shared.log.push(|| What::Started {
            call_id: live.id.clone(),
            callers,
            name: call.name.clone(),
            args: call.args.clone(),
            tier,
            surface,
        });
        let span = tracing::info_span!(
            "execute_tool",
            "gen_ai.tool.name" = %call.name,
            "gen_ai.tool.call.id" = %live.id,
        );
        let nested = caller.is_some();
        let cx = match caller {
            Some(caller) => parent.child(caller, live.id.clone(), self.ceiling),
            None => {
                let ceiling = self.ceiling.min(parent.ceiling());
                let log = Arc::clone(&self.shared.log);
                Context::new(live.id.clone(), ceiling, Arc::new(self.clone()), log)
            }
        };
        let cx = cx.with_dispatch(Arc::new(self.clone()));
        let name = call.name.clone();
        let work = async {
            match tool {
                Some(tool) => self.admitted(tool, call, cx, &live, nested).await,
                None => Err(ToolError::unknown_tool(&call.name)),
            }
        };
        let result = match caught(work.instrument(span)).await {
            Ok(result) => result,
            Err(message) => Err(panicked(&name, &message)),
        };
        let result = self.shared.budget.apply(&live.id, result);
        open.finish(&result);
        result
    }

    /// A call of a tool that may be called: its place in the line, the gates, its turn, the tool.
    async fn admitted(
        &self,
        tool: Arc<dyn Tool>,
        call: ToolCall,
        cx: Context,
        live: &Live,
        nested: bool,
    ) -> ToolResult {
        let place = self.place(tool.spec(), nested)?;
        let mut approved = None;
        for gate in &self.shared.gates {
            match gate.check(tool.as_ref(), &call, &cx).await {
                Decision::Pass => {}
                Decision::Approved { fingerprint } => approved = fingerprint,
                Decision::Refused(error) => return Err(error),
                _ => return Err(undecided(&call.name)),
            }
        }
        if let Some(place) = &place {
            live.wait_for(WaitsFor::Turn);
            place.turn().await;
        }
        // A person may have thought for an hour: what was admitted then must be admitted now.
        match self.admit(&call.name, cx.ceiling()) {
            Some(now) if Arc::ptr_eq(&now, &tool) => {}
            Some(_) => return Err(replaced(&call.name)),
            None => return Err(ToolError::unknown_tool(&call.name)),
        }
        live.wait_for(WaitsFor::Tool);
        let cx = cx.with_approved(approved);
        tool.call(call.args, &cx).await
    }

    /// A place before an exclusive tool. A nested call never waits for one: its caller may be the
    /// very call that has the turn.
    fn place(&self, spec: &ToolSpec, nested: bool) -> Result<Option<Place>, ToolError> {
        if spec.parallel {
            return Ok(None);
        }
        if !nested {
            return Ok(Some(self.shared.turns.join(&spec.name)));
        }
        self.shared.turns.try_join(&spec.name).map(Some).ok_or_else(|| {
            let message = format!(
                "{} is at work on another call, and a call from within a call does not wait for its \
                 turn; call it again when that one is done",
                spec.name
            );
            ToolError::new(ErrorKind::Conflict, "busy_tool", message)
        })
    }

    /// The link that the parent adds to the chain; none for a call of the main agent's own.
    fn caller(&self, parent: &Context) -> Option<Caller> {
        let id = parent.call_id();
        let live = self.shared.calls.get(id);
        if live.is_none() && parent.callers().is_empty() {
            return None;
        }
        // A worker goes on after the call that spawned it, and is known by its own id.
        let name = live.map_or_else(|| id.to_string(), |live| live.name.clone());
        Some(Caller::new(id.clone(), name))
    }
}

impl Dispatch for View {
    fn specs(&self) -> Vec<ToolSpec> {
        let registry = self.shared.registry();
        let specs = registry.iter().map(|tool| tool.spec());
        specs.filter(|spec| self.admits(spec, Tier::Exec)).cloned().collect()
    }

    fn call<'a>(&'a self, call: ToolCall, parent: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(self.walk(call, parent))
    }

    /// The authority of what is narrowed is fixed here: the smaller of this view's, of what its
    /// surface admits now, and of the limits. A surface that is raised later raises nothing.
    fn narrow(&self, limits: Limits) -> Arc<dyn Dispatch> {
        let ceiling = self.ceiling.min(self.surface.get().cap());
        let without = self.without.iter().cloned().chain(limits.without).collect();
        Arc::new(Self {
            ceiling: limits.ceiling.map_or(ceiling, |limit| limit.min(ceiling)),
            without: Arc::new(without),
            ..self.clone()
        })
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("id", &self.id)
            .field("surface", &self.surface())
            .field("ceiling", &self.ceiling)
            .finish_non_exhaustive()
    }
}

fn panicked(tool: &str, message: &str) -> ToolError {
    let message = format!(
        "{tool} broke down ({message}); this is a fault of the tool, and what it had begun is not \
         known; look before you call it again"
    );
    ToolError::new(ErrorKind::Failed, "tool_panicked", message)
}

fn replaced(tool: &str) -> ToolError {
    let message =
        format!("{tool} was replaced while the call waited; nothing was done; call it again");
    ToolError::new(ErrorKind::Conflict, "tool_replaced", message)
}

/// A decision that this version does not know allows nothing.
fn undecided(tool: &str) -> ToolError {
    let message = format!("a gate gave no decision that this run knows, so {tool} was not called");
    ToolError::new(ErrorKind::Denied, "undecided", message)
}
