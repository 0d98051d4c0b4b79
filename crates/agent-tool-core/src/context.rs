//! What a call knows of its surroundings, and the way back into the run.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BoxFuture, Event, Tier, ToolError, ToolResult, ToolSpec};

/// Identifies a call within its run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

impl CallId {
    /// An id as somebody else made it.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A wish to call a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id under which the caller will know the call. Without one the dispatcher makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<CallId>,
    /// The tool's name.
    pub name: String,
    /// The arguments, as they came.
    pub args: Value,
}

impl ToolCall {
    /// A call without an id.
    #[must_use]
    pub fn new(name: impl Into<String>, args: Value) -> Self {
        Self { id: None, name: name.into(), args }
    }

    /// The same call under an id of the caller's.
    #[must_use]
    pub fn with_id(mut self, id: CallId) -> Self {
        self.id = Some(id);
        self
    }
}

/// One link in the chain that led to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Caller {
    /// The calling call.
    pub call_id: CallId,
    /// The tool that it calls from, or the name of a worker.
    pub name: String,
}

impl Caller {
    /// A link of the chain.
    #[must_use]
    pub fn new(call_id: CallId, name: impl Into<String>) -> Self {
        Self { call_id, name: name.into() }
    }
}

/// What narrows a [`Dispatch`]. Narrowing takes the smaller of both and is then fixed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// The highest tier that may be called.
    #[serde(default)]
    pub ceiling: Option<Tier>,
    /// Names that may not be called.
    #[serde(default)]
    pub without: Vec<String>,
}

impl Limits {
    /// No tool above this tier.
    #[must_use]
    pub fn up_to(ceiling: Tier) -> Self {
        Self { ceiling: Some(ceiling), without: Vec::new() }
    }

    /// The same limits without these tools.
    #[must_use]
    pub fn without(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.without.extend(names.into_iter().map(Into::into));
        self
    }
}

/// Where calls are made: a registry seen from a surface under a ceiling.
pub trait Dispatch: Send + Sync + 'static {
    /// Exactly what may be called through this dispatch.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Makes a call on behalf of `parent`.
    ///
    /// # Errors
    ///
    /// The tool's own, and those of what stands before it: `unknown_tool`, a refusal, a conflict.
    fn call<'a>(&'a self, call: ToolCall, parent: &'a Context) -> BoxFuture<'a, ToolResult>;

    /// A dispatch that admits no more than this one and no more than `limits`.
    fn narrow(&self, limits: Limits) -> Arc<dyn Dispatch>;

    /// Notes that the call that `waiter` belongs to, and all that it was made from, go on no further before somebody
    /// else does, whose own surroundings have this id, for as long as what comes back is held. Where calls wait for turns, that
    /// keeps the two from waiting for each other.
    fn note_wait(&self, other: &CallId, waiter: &Context) -> Box<dyn Send> {
        let _ = (other, waiter);
        Box::new(())
    }

    /// The tool whose turn somebody waits for, whose own surroundings have this id, where the call that `holder` belongs to or
    /// one that it was made from has that turn: they go on no further before it ends.
    fn held_from(&self, other: &CallId, holder: &Context) -> Option<String> {
        let _ = (other, holder);
        None
    }
}

/// Takes the events of calls. Implementations return at once, whatever becomes of the event.
pub trait Events: Send + Sync + 'static {
    /// Takes one event of the call that `cx` belongs to.
    fn emit(&self, cx: &Context, event: Event);
}

/// A dispatch with no tools and a sink that forgets: the surroundings of a detached call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Dispatch for Nothing {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call<'a>(&'a self, call: ToolCall, _parent: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { Err(ToolError::unknown_tool(&call.name)) })
    }

    fn narrow(&self, _limits: Limits) -> Arc<dyn Dispatch> {
        Arc::new(Nothing)
    }
}

impl Events for Nothing {
    fn emit(&self, _cx: &Context, _event: Event) {}
}

/// The surroundings of one call. A clone is cheap and means the same call.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    call_id: CallId,
    callers: Vec<Caller>,
    ceiling: Tier,
    approved: Option<String>,
    dispatch: Arc<dyn Dispatch>,
    events: Arc<dyn Events>,
}

impl Context {
    /// Surroundings with nothing to re-enter and nobody who watches:
    /// `tool.call(args, &Context::detached())` is a whole program.
    #[must_use]
    pub fn detached() -> Self {
        Self::new(CallId::new("call_0"), Tier::Exec, Arc::new(Nothing), Arc::new(Nothing))
    }

    /// The surroundings of a call that nobody called: the root of a chain.
    #[must_use]
    pub fn new(
        call_id: CallId,
        ceiling: Tier,
        dispatch: Arc<dyn Dispatch>,
        events: Arc<dyn Events>,
    ) -> Self {
        let callers = Vec::new();
        Self {
            inner: Arc::new(Inner { call_id, callers, ceiling, approved: None, dispatch, events }),
        }
    }

    /// The surroundings of a call that this one makes: one link longer, never a higher ceiling,
    /// and without this call's approval.
    #[must_use]
    pub fn child(&self, caller: Caller, call_id: CallId, ceiling: Tier) -> Self {
        let mut inner = Inner::clone(&self.inner);
        inner.callers.push(caller);
        inner.call_id = call_id;
        inner.ceiling = inner.ceiling.min(ceiling);
        inner.approved = None;
        Self { inner: Arc::new(inner) }
    }

    /// The same surroundings with another way back into the run.
    #[must_use]
    pub fn with_dispatch(self, dispatch: Arc<dyn Dispatch>) -> Self {
        self.map(|inner| inner.dispatch = dispatch)
    }

    /// The same surroundings with another watcher.
    #[must_use]
    pub fn with_events(self, events: Arc<dyn Events>) -> Self {
        self.map(|inner| inner.events = events)
    }

    /// The same surroundings after an approval of the plan with this fingerprint.
    #[must_use]
    pub fn with_approved(self, fingerprint: Option<String>) -> Self {
        self.map(|inner| inner.approved = fingerprint)
    }

    fn map(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.inner));
        self
    }

    /// This call's id.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        &self.inner.call_id
    }

    /// The chain of callers, outermost first. Empty for a call of the model's own.
    #[must_use]
    pub fn callers(&self) -> &[Caller] {
        &self.inner.callers
    }

    /// The most that this call, and whatever it calls, may reach.
    #[must_use]
    pub fn ceiling(&self) -> Tier {
        self.inner.ceiling
    }

    /// The fingerprint of the plan that was approved for this call.
    #[must_use]
    pub fn approved(&self) -> Option<&str> {
        self.inner.approved.as_deref()
    }

    /// Holds a plan against what was approved.
    ///
    /// # Errors
    ///
    /// `approval_changed` where a plan was approved and it is another one.
    pub fn check_approved(&self, fingerprint: &str) -> Result<(), ToolError> {
        match self.approved() {
            Some(approved) if approved != fingerprint => Err(ToolError::new(
                crate::ErrorKind::Conflict,
                "approval_changed",
                "the files changed after the approval, so what was approved is not what would be \
                 done now; nothing was done; call again to have the new change approved",
            )),
            _ => Ok(()),
        }
    }

    /// The dispatch to re-enter.
    #[must_use]
    pub fn dispatch(&self) -> &Arc<dyn Dispatch> {
        &self.inner.dispatch
    }

    /// Calls a tool of the run on behalf of this call: the same surface, gates and wrappers as
    /// for a call of the model's.
    ///
    /// # Errors
    ///
    /// Those of [`Dispatch::call`].
    pub async fn call(&self, call: ToolCall) -> ToolResult {
        self.inner.dispatch.call(call, self).await
    }

    /// Tells the watchers. Never blocks, never fails.
    pub fn emit(&self, event: Event) {
        self.inner.events.emit(self, event);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("call_id", &self.inner.call_id)
            .field("callers", &self.inner.callers)
            .field("ceiling", &self.inner.ceiling)
            .finish_non_exhaustive()
    }
}
