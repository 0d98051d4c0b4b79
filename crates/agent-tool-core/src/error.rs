//! Why a tool did not do its job.

use std::{borrow::Cow, error::Error, fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kind of an error: what a program branches on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call was wrong; another call may be right.
    InvalidArgs,
    /// There is no such thing, or it may not be seen from here.
    NotFound,
    /// A rule, a ceiling or a person said no.
    Denied,
    /// What the tool needs is not there (a server, an adapter, a person).
    Unavailable,
    /// Something else is in the way: a stale plan, a busy tool.
    Conflict,
    /// A limit of time ran out.
    Timeout,
    /// The call was cancelled.
    Cancelled,
    /// Anything else.
    Failed,
}

impl ErrorKind {
    /// The kind as it is written in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::InvalidArgs => "invalid_args",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Denied => "denied",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Failed => "failed",
        }
    }
}

/// A tool that did not do its job: a kind to branch on, a code for the cause, a message for the
/// model that says what to do next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolError {
    /// What a program branches on.
    pub kind: ErrorKind,
    /// Stable, snake_case, one for each cause.
    pub code: Cow<'static, str>,
    /// Lowercase, without a full stop at its end; says what to do next.
    pub message: String,
    /// What was got so far, or what the cause consists of. Null where there is nothing.
    pub data: Value,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl ToolError {
    /// An error of this kind and cause.
    #[must_use]
    pub fn new(
        kind: ErrorKind,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, code: code.into(), message: message.into(), data: Value::Null, source: None }
    }

    /// The same error with data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// The same error with the error that caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The arguments are wrong (`invalid_args`).
    #[must_use]
    pub fn invalid_args(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgs, "invalid_args", message)
    }

    /// The answer to a call of a name that is not on the caller's surface, whether it exists
    /// elsewhere or not (`unknown_tool`).
    #[must_use]
    pub fn unknown_tool(name: &str) -> Self {
        Self::new(
            ErrorKind::NotFound,
            "unknown_tool",
            format!("there is no tool {name:?} here; call one of the tools that are listed"),
        )
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl Serialize for ToolError {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut error = serializer.serialize_struct("ToolError", 4)?;
        error.serialize_field("kind", self.kind.as_str())?;
        error.serialize_field("code", &self.code)?;
        error.serialize_field("message", &self.message)?;
        error.serialize_field("data", &self.data)?;
        error.end()
    }
}
