//! The messages of the serve protocol, version 1: one JSON-RPC 2.0 message a line.
//!
//! `serve.schema.json` beside this file says the same for hosts in other languages; the tests hold
//! every message of a real session to it.

use agent_tiers::{LiveCall, Surface};
use agent_tool_core::{CallId, Card, Event, Preview, Reply, Tier, ToolSpec};
use agent_vibe::{WorkerReport, WorkerTier};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The protocol's versions that this program speaks.
pub(crate) const VERSIONS: [u32; 1] = [1];

/// The longest message, in bytes without its newline.
pub(crate) const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// JSON-RPC's own codes and the three of this protocol. A tool's error is a result.
pub(crate) mod code {
    pub(crate) const PARSE_ERROR: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    pub(crate) const INTERNAL_ERROR: i64 = -32603;
    pub(crate) const NOT_INITIALIZED: i64 = 1;
    pub(crate) const UNSUPPORTED_VERSION: i64 = 2;
    pub(crate) const CLOSING: i64 = 3;
}

/// `initialize`: the first request. What it fixes is fixed for the run.
#[derive(Debug, Deserialize)]
pub(crate) struct Initialize {
    pub versions: Vec<u32>,
    pub roots: Vec<Root>,
    #[serde(default)]
    pub surface: Option<Surface>,
    #[serde(default)]
    pub ceiling: Option<Tier>,
    #[serde(default)]
    pub approve: Option<crate::args::Approve>,
    #[serde(default)]
    pub trust: Option<bool>,
    #[serde(default)]
    pub capabilities: Capabilities,
    #[serde(default)]
    pub tools: Vec<HostTool>,
    /// Turns vibe mode on: with the host's workers where it has the capability, else with those that
    /// are configured.
    #[serde(default)]
    pub vibe: Option<bool>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Client {
    pub name: String,
    #[serde(default)]
    pub version: Option<String>,
}

/// A root: a path, or a path under a name.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Root {
    Path(String),
    Named { name: String, path: String },
}

/// What the host can do for the run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Capabilities {
    /// It shows cards. Without it nobody is connected.
    #[serde(default)]
    pub cards: bool,
    /// It runs workers. Without it they are the run's own.
    #[serde(default)]
    pub workers: bool,
}

/// A tool of the host's own, which joins the registry.
#[derive(Debug, Deserialize)]
pub(crate) struct HostTool {
    pub name: String,
    #[serde(default)]
    pub tier: Option<Tier>,
    #[serde(default)]
    pub parallel: Option<bool>,
    pub description: String,
    pub input_schema: Value,
}

#[derive(Debug, Serialize)]
pub(crate) struct Initialized {
    pub version: u32,
    pub server: Client,
    pub run: String,
    pub capabilities: ServerCapabilities,
}

#[derive(Debug, Serialize)]
pub(crate) struct ServerCapabilities {
    pub tools: usize,
    pub trust: bool,
    pub surface: Surface,
    pub ceiling: Tier,
}

/// Params that name a view, or none for the run's main one.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct OfView {
    #[serde(default)]
    pub view: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Tools {
    pub tools: Vec<ToolSpec>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PreviewParams {
    pub name: String,
    #[serde(default)]
    pub args: Value,
    #[serde(default)]
    pub view: Option<String>,
}

/// `run/preview`'s result. A preview that the tool refuses is a result with its error.
#[derive(Debug, Serialize)]
pub(crate) struct Previewed {
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<agent_tool_core::ToolError>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CallParams {
    pub call_id: CallId,
    pub name: String,
    #[serde(default)]
    pub args: Value,
    #[serde(default)]
    pub view: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct OpenView {
    #[serde(default)]
    pub surface: Option<Surface>,
    #[serde(default)]
    pub ceiling: Option<Tier>,
    #[serde(default)]
    pub without: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Opened {
    pub view: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SetView {
    #[serde(default)]
    pub view: Option<String>,
    pub surface: Surface,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CloseView {
    pub view: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CancelParams {
    pub call_id: CallId,
}

/// `files/changed`: the host changed files by itself.
#[derive(Debug, Deserialize)]
pub(crate) struct FilesChanged {
    #[expect(
        dead_code,
        reason = "the shape is checked; every file is looked at before it is used"
    )]
    pub paths: Vec<String>,
}

/// `card/present`: shows a card until it is answered or withdrawn.
#[derive(Debug, Serialize)]
pub(crate) struct PresentCard {
    pub card: Card,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CardReply {
    pub reply: Reply,
}

#[derive(Debug, Serialize)]
pub(crate) struct CardWithdrawn {
    pub id: String,
    pub why: String,
}

/// `host/call`: a call of one of the host's own tools.
#[derive(Debug, Serialize)]
pub(crate) struct HostCall {
    pub call_id: CallId,
    pub parent: Option<CallId>,
    pub name: String,
    pub args: Value,
}

/// `worker/run`: one attempt of a worker that the host runs.
#[derive(Debug, Serialize)]
pub(crate) struct WorkerRun {
    pub worker: String,
    pub brief: String,
    pub ceiling: Tier,
    /// What `$/cancel` names where the attempt ends before its answer.
    pub call_id: CallId,
    pub label: String,
    pub tier: WorkerTier,
    pub attempt: u32,
}

/// What the host answers to `host/call`: the shape of `run/call`'s result, where a change may also
/// carry the texts before and after, for the wrappers that compare them.
#[derive(Debug, Deserialize)]
pub(crate) struct HostResult {
    pub ok: bool,
    #[serde(default)]
    pub parts: Vec<agent_tool_core::Part>,
    #[serde(default)]
    pub data: Value,
    #[serde(default)]
    pub changes: Vec<HostChange>,
    #[serde(default)]
    pub error: Option<HostError>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HostChange {
    pub path: String,
    pub kind: agent_tool_core::ChangeKind,
    #[serde(default)]
    pub before: Option<String>,
    #[serde(default)]
    pub after: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HostError {
    #[serde(default)]
    pub kind: Option<agent_tool_core::ErrorKind>,
    #[serde(default)]
    pub code: Option<String>,
    pub message: String,
    #[serde(default)]
    pub data: Value,
}

/// `call/event`: what happens in a call. `seq` counts without gaps save the lost ones.
#[derive(Debug, Serialize)]
pub(crate) struct CallEvent {
    pub seq: u64,
    /// How many events were lost just before this one, to a host that read too slowly.
    #[serde(skip_serializing_if = "is_none_lost")]
    pub lost: u64,
    pub call_id: CallId,
    pub parent: Option<CallId>,
    pub event: Event,
}

#[derive(Debug, Serialize)]
pub(crate) struct ToolsChanged {
    pub view: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Warn,
    Error,
}

#[derive(Debug, Serialize)]
pub(crate) struct Log {
    pub level: Level,
    pub message: String,
}

/// `run/status`'s result.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    pub calls: Vec<LiveCall>,
    pub cards: Vec<String>,
    pub workers: Vec<WorkerReport>,
    pub resources: Vec<Value>,
    pub seq: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none_lost(lost: &u64) -> bool {
    *lost == 0
}
