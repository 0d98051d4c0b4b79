//! The errors of this crate and of the workspace as a tool's: the code stays, and each has its kind in one place.

use agent_tool_core::{ErrorKind, ToolError};

use crate::{Error, ErrorKind as Cause};

/// An error of a plan or of its application.
#[must_use]
pub fn of_edits(error: Error) -> ToolError {
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
        Cause::OutOfRange
        | Cause::InsideCharacter
        | Cause::OverlappingEdits
        | Cause::OtherWorkspace => (ErrorKind::Failed, error.code()),
    };
    ToolError::new(kind, code, message).with_source(error)
}

/// An error of the workspace.
#[must_use]
pub fn of_workspace(error: agent_workspace::Error) -> ToolError {
    use agent_workspace::ErrorKind as Cause;
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
        other => (ErrorKind::Failed, other.code()),
    };
    ToolError::new(kind, code, message).with_source(error)
}

/// The workspace's kinds, for an error that came through a plan and has only its code left.
fn kind_of_code(code: &str) -> ErrorKind {
    let known = [
        (ErrorKind::NotFound, "not_found"),
        (ErrorKind::Denied, "outside_workspace"),
        (ErrorKind::Denied, "permission_denied"),
        (ErrorKind::Cancelled, "stopped"),
        (ErrorKind::Failed, "io"),
        (ErrorKind::Failed, "invalid_roots"),
    ];
    let found = known.into_iter().find(|(_, known)| *known == code);
    found.map_or(ErrorKind::InvalidArgs, |(kind, _)| kind)
}
