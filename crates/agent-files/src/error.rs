//! The errors of the crates below, with their codes, as a tool's.

use std::borrow::Cow;

use agent_tool_core::{ErrorKind, ToolError};
use agent_workspace::{ErrorKind as Cause, SkipReason};

/// An error of the workspace. Its code stays.
pub(crate) fn of_workspace(error: agent_workspace::Error) -> ToolError {
    let message = error.message().to_owned();
    let (kind, code) = match error.kind() {
        Cause::OutsideWorkspace => (ErrorKind::Denied, "outside_workspace"),
        Cause::NotFound => (ErrorKind::NotFound, "not_found"),
        Cause::NotAFile => (ErrorKind::InvalidArgs, "not_a_file"),
        Cause::IsADirectory => (ErrorKind::InvalidArgs, "is_a_directory"),
        Cause::NotADirectory => (ErrorKind::InvalidArgs, "not_a_directory"),
        Cause::PermissionDenied => (ErrorKind::Denied, "permission_denied"),
        Cause::TooLarge => (ErrorKind::InvalidArgs, "too_large"),
        Cause::LinkLoop => (ErrorKind::InvalidArgs, "link_loop"),
        Cause::InvalidPath => (ErrorKind::InvalidArgs, "invalid_path"),
        Cause::InvalidGlob => (ErrorKind::InvalidArgs, "invalid_glob"),
        Cause::NotEncodable => (ErrorKind::InvalidArgs, "not_encodable"),
        Cause::Stopped => (ErrorKind::Cancelled, "stopped"),
        _ => (ErrorKind::Failed, "io"),
    };
    ToolError::new(kind, code, message).with_source(error)
}

/// An error of a plan or of its application. Its code stays.
pub(crate) fn of_edits(error: agent_edits::Error) -> ToolError {
    use agent_edits::ErrorKind as Cause;
    let message = error.message().to_owned();
    let (kind, code) = match error.kind() {
        Cause::Workspace => (kind_of_code(error.code()), error.code()),
        Cause::StaleEdit => (ErrorKind::Conflict, "stale_edit"),
        Cause::ReadOnly => (ErrorKind::Denied, "read_only"),
        Cause::ProtectedPath => (ErrorKind::Denied, "protected_path"),
        Cause::AlreadyExists => (ErrorKind::Conflict, "already_exists"),
        Cause::DuplicatePath => (ErrorKind::InvalidArgs, "duplicate_path"),
        Cause::IsALink => (ErrorKind::InvalidArgs, "is_a_link"),
        Cause::UnfinishedChange => (ErrorKind::Conflict, "unfinished_change"),
        Cause::StateFolder => (ErrorKind::Unavailable, "state_folder"),
        Cause::ApplyFailed => (ErrorKind::Failed, "apply_failed"),
        Cause::OutcomeUnknown => (ErrorKind::Failed, "outcome_unknown"),
        _ => (ErrorKind::Failed, error.code()),
    };
    ToolError::new(kind, Cow::Borrowed(code), message).with_source(error)
}

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

/// The workspace's kinds, for an error that came through a plan and has only its code left.
fn kind_of_code(code: &str) -> ErrorKind {
    match code {
        "not_found" => ErrorKind::NotFound,
        "outside_workspace" | "permission_denied" => ErrorKind::Denied,
        "stopped" => ErrorKind::Cancelled,
        "io" => ErrorKind::Failed,
        _ => ErrorKind::InvalidArgs,
    }
}
