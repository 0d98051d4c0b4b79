//! The errors of the crates below, with their codes, as a tool's.

use std::borrow::Cow;

use agent_tool_core::{ErrorKind, ToolError};
use agent_workspace::ErrorKind as Cause;

/// An error of the workspace. Its code stays.
pub(crate) fn of_workspace(error: agent_workspace::Error) -> ToolError {
    let message = error.message().to_owned();
    ToolError::new(kind_of_workspace(error.kind()), error.code(), message).with_source(error)
}

/// An error of a plan. Its code stays.
pub(crate) fn of_edits(error: agent_edits::Error) -> ToolError {
    use agent_edits::ErrorKind as Cause;
    let message = error.message().to_owned();
    let kind = match error.kind() {
        Cause::AlreadyExists => ErrorKind::Conflict,
        Cause::IsALink => ErrorKind::Denied,
        _ => ErrorKind::Failed,
    };
    ToolError::new(kind, Cow::Borrowed(error.code()), message).with_source(error)
}

fn kind_of_workspace(cause: Cause) -> ErrorKind {
    match cause {
        Cause::OutsideWorkspace | Cause::PermissionDenied => ErrorKind::Denied,
        Cause::NotFound => ErrorKind::NotFound,
        Cause::Stopped => ErrorKind::Cancelled,
        Cause::Io => ErrorKind::Failed,
        _ => ErrorKind::InvalidArgs,
    }
}
