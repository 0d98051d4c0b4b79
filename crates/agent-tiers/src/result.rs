//! A result as hosts read it.

use agent_tool_core::{ChangeKind, ErrorKind, FileChange, Part, ToolError, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One result as one JSON object: what `agent-run --json` prints and `serve` answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResultLine {
    /// The tool that was called.
    pub tool: String,
    /// Whether the tool did its job.
    pub ok: bool,
    /// What the model reads.
    pub parts: Vec<Part>,
    /// The same as structured data.
    pub data: Value,
    /// The files that the call changed.
    pub changes: Vec<ChangeLine>,
    /// Why the tool did not do its job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorLine>,
}

impl ResultLine {
    /// The line for a result of this tool.
    #[must_use]
    pub fn new(tool: impl Into<String>, result: &ToolResult) -> Self {
        let tool = tool.into();
        match result {
            Ok(output) => Self {
                tool,
                ok: true,
                parts: output.parts.clone(),
                data: output.data.clone(),
                changes: output.changes.iter().map(ChangeLine::from).collect(),
                error: None,
            },
            Err(error) => Self {
                tool,
                ok: false,
                parts: Vec::new(),
                data: Value::Null,
                changes: Vec::new(),
                error: Some(ErrorLine::from(error)),
            },
        }
    }
}

/// A changed file without its texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChangeLine {
    /// The path as the workspace shows it.
    pub path: String,
    /// How the file changed.
    pub kind: ChangeKind,
}

impl From<&FileChange> for ChangeLine {
    fn from(change: &FileChange) -> Self {
        Self { path: change.path.clone(), kind: change.kind() }
    }
}

/// An error as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorLine {
    /// What a program branches on.
    pub kind: ErrorKind,
    /// One for each cause.
    pub code: String,
    /// What to do next.
    pub message: String,
    /// What was got so far.
    #[serde(default)]
    pub data: Value,
}

impl From<&ToolError> for ErrorLine {
    fn from(error: &ToolError) -> Self {
        Self {
            kind: error.kind,
            code: error.code.clone().into_owned(),
            message: error.message.clone(),
            data: error.data.clone(),
        }
    }
}
