//! The errors of a command that was not run. What a command does itself is no error of the tool.

use agent_process::ErrorKind as Cause;
use agent_tool_core::{ErrorKind, ToolError};

/// The command was not started.
pub(crate) fn not_started(error: agent_process::Error) -> ToolError {
    let kind = match error.kind() {
        Cause::NoFolder | Cause::NotFound => ErrorKind::NotFound,
        Cause::SandboxRefused => ErrorKind::Denied,
        _ => ErrorKind::Failed,
    };
    ToolError::new(kind, error.code(), format!("the command was not run: {error}"))
        .with_source(error)
}

/// The folder is none that a command may be run in.
pub(crate) fn no_folder(error: agent_workspace::Error) -> ToolError {
    use agent_workspace::ErrorKind as Cause;
    let kind = match error.kind() {
        Cause::NotFound => ErrorKind::NotFound,
        Cause::OutsideWorkspace | Cause::PermissionDenied => ErrorKind::Denied,
        _ => ErrorKind::InvalidArgs,
    };
    ToolError::new(kind, error.code(), error.message().to_owned()).with_source(error)
}
