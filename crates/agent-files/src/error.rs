//! Errors of more than one tool, and those of the crates below as a tool's.

pub(crate) use agent_edits::tool_error::{of_edits, of_workspace};
use agent_tool_core::{ErrorKind, ToolError};
use agent_workspace::SkipReason;

/// A file whose bytes are no text.
pub(crate) fn binary(shown: &str, bytes: usize) -> ToolError {
    ToolError::new(
        ErrorKind::InvalidArgs,
        "binary_file",
        format!(
            "`{shown}` is {} ({bytes} bytes), which this tool does not take; use a program for its format",
            SkipReason::Binary.words()
        ),
    )
}

/// The work was not begun, since nobody waits for it any more.
pub(crate) fn stopped() -> ToolError {
    ToolError::new(
        ErrorKind::Cancelled,
        "stopped",
        "the call was cancelled before it changed anything",
    )
}
