//! Tools of the host's own, which join the registry like ours.

use agent_tool_core::{
    BoxFuture, CallId, Content, Context, ErrorKind, Event, FileChange, Tier, Tool, ToolError,
    ToolOutput, ToolResult, ToolSpec, check_args,
};
use serde_json::{Value, json};

use super::{
    peer::{Peer, RpcError},
    protocol::{HostCall, HostChange, HostResult, HostTool},
};

/// A tool whose work is done by the host.
pub(crate) struct Hosted {
    spec: ToolSpec,
    peer: Peer,
}

impl Hosted {
    /// A tool with the tier that the host declared, `exec` if none. The schema is the host's own:
    /// it is shown as it came.
    pub(crate) fn new(tool: HostTool, peer: Peer) -> Self {
        let tier = tool.tier.unwrap_or(Tier::Exec);
        let mut spec = ToolSpec::new(tool.name, tier, tool.description);
        spec.input_schema = tool.input_schema;
        spec.tier_is_hearsay = true;
        if tool.parallel == Some(false) {
            spec = spec.exclusive();
        }
        Self { spec, peer }
    }
}

impl Tool for Hosted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args = check_args(&self.spec, args)?;
            let call = HostCall {
                call_id: cx.call_id().clone(),
                parent: cx.callers().last().map(|caller| caller.call_id.clone()),
                name: self.spec.name.clone(),
                args,
            };
            let running = Running::new(&self.peer, cx.call_id());
            let answer = self.peer.request("host/call", &call).get().await;
            running.done();
            let result = answer.map_err(|error| no_answer(&self.spec.name, &error))?;
            let result: HostResult = serde_json::from_value(result).map_err(|error| {
                ToolError::new(
                    ErrorKind::Failed,
                    "host_result",
                    format!("{}: the host's answer is no result: {error}", self.spec.name),
                )
            })?;
            read(result, cx)
        })
    }
}

fn read(result: HostResult, cx: &Context) -> ToolResult {
    let changes: Vec<FileChange> = result.changes.into_iter().map(change).collect();
    for change in &changes {
        cx.emit(Event::Changed { change: change.clone() });
    }
    if result.ok {
        let mut output = ToolOutput::default().with_data(result.data).with_changes(changes);
        output.parts = result.parts;
        return Ok(output);
    }
    let Some(error) = result.error else {
        return Err(ToolError::new(
            ErrorKind::Failed,
            "host_error",
            "the host's tool failed and did not say why",
        ));
    };
    let code = error.code.unwrap_or_else(|| "host_error".to_owned());
    Err(ToolError::new(error.kind.unwrap_or(ErrorKind::Failed), code, error.message)
        .with_data(error.data))
}

/// A side whose text the host did not send is one that no wrapper can compare.
fn change(change: HostChange) -> FileChange {
    use agent_tool_core::ChangeKind::{Created, Deleted};
    let side = |text: Option<String>| {
        text.map_or(Content::Omitted { bytes: 0 }, |text| Content::of(text.as_bytes()))
    };
    let before = if change.kind == Created { Content::Absent } else { side(change.before) };
    let after = if change.kind == Deleted { Content::Absent } else { side(change.after) };
    FileChange::new(change.path, before, after)
}

fn no_answer(name: &str, error: &RpcError) -> ToolError {
    ToolError::new(
        ErrorKind::Failed,
        "outcome_unknown",
        format!(
            "{name}: the host answered with no result ({}); whether the call took effect is not known; look before \
             you repeat it",
            error.message
        ),
    )
    .with_data(json!({"code": error.code}))
}

/// A call at the host. Dropped before its answer it is cancelled, and the host is told.
pub(super) struct Running<'a> {
    peer: &'a Peer,
    call_id: &'a CallId,
    done: bool,
}

impl<'a> Running<'a> {
    pub(super) fn new(peer: &'a Peer, call_id: &'a CallId) -> Self {
        Self { peer, call_id, done: false }
    }

    pub(super) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.peer.notify("$/cancel", &json!({"call_id": self.call_id}));
        }
    }
}
