//! The errors of this crate and of those below, with their codes, as a tool's.

pub(crate) use agent_edits::tool_error::{of_edits, of_workspace};
use agent_grammars::{GrammarError, GrammarErrorKind};
use agent_tool_core::{ErrorKind, ToolError};
use serde_json::json;

use crate::{PatternError, RewriteError};

pub(crate) fn of_grammar(error: GrammarError) -> ToolError {
    let (kind, code) = match error.kind() {
        GrammarErrorKind::UnknownLanguage => (ErrorKind::InvalidArgs, "unknown_language"),
        _ => (ErrorKind::Failed, error.code()),
    };
    let data = json!({ "known": error.known_ids() });
    ToolError::new(kind, code, error.to_string()).with_data(data).with_source(error)
}

pub(crate) fn of_pattern(error: PatternError) -> ToolError {
    let contexts: Vec<_> = error
        .contexts()
        .iter()
        .map(|tried| {
            json!({
                "context": tried.context.to_string(),
                "line": tried.line,
                "column": tried.column,
                "reason": tried.reason,
            })
        })
        .collect();
    let (code, message) = (error.code(), error.to_string());
    let error = ToolError::new(ErrorKind::InvalidArgs, code, message).with_source(error);
    error.with_data(json!({ "contexts": contexts }))
}

pub(crate) fn of_rewrite(error: RewriteError) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, error.code(), error.to_string()).with_source(error)
}
