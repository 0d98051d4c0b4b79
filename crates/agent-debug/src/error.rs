//! Why an operation was not done, as a tool's error.

use std::time::Duration;

use agent_tool_core::{ErrorKind, ToolError, clip};

/// The most characters of what an adapter says of a failure.
const ADAPTER_WORDS: usize = 2_000;

/// What went wrong with a request to the adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The adapter said no, in these words.
    Refused(String),
    /// It did not answer in time.
    Late(&'static str, Duration),
    /// It is gone.
    Gone,
}

pub(crate) fn no_session() -> ToolError {
    ToolError::new(
        ErrorKind::NotFound,
        "no_session",
        "there is no debug session; start one with launch or attach",
    )
}

pub(crate) fn session_ended(how: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Conflict,
        "session_ended",
        format!(
            "the debug session is over: {how}; output still shows what it wrote, launch starts anew"
        ),
    )
}

pub(crate) fn session_live(status: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Conflict,
        "session_live",
        format!("a debug session is live ({status}); terminate it first"),
    )
}

pub(crate) fn running(what: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Conflict,
        "running",
        format!("{what}; pause it first, or continue to wait for its next stop"),
    )
}

pub(crate) fn busy(what: &str, time: Duration) -> ToolError {
    ToolError::new(
        ErrorKind::Conflict,
        "busy_session",
        format!(
            "{what} has been at work for {} s; only status, output, pause and terminate are taken meanwhile",
            time.as_secs()
        ),
    )
}

pub(crate) fn unresponsive(what: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Unavailable,
        "unresponsive",
        format!(
            "the adapter does not answer ({what}); it is asked again once it has answered that, and terminate ends the session in any case"
        ),
    )
}

pub(crate) fn adapter_died(how: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Failed,
        "adapter_died",
        format!("the adapter is gone: {how}; launch starts a new one"),
    )
}

pub(crate) fn not_trusted(what: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Denied,
        "not_trusted",
        format!(
            "{what} runs code of a checkout that nobody trusts, so it was not asked about and nothing was done; \
             only the person can change that, by beginning the run anew with --trust (a host: with \"trust\": true)"
        ),
    )
}

pub(crate) fn no_adapter(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "no_adapter", message)
}

pub(crate) fn launch_failed(message: impl Into<String>) -> ToolError {
    let message = clip(&message.into(), ADAPTER_WORDS).text;
    ToolError::new(ErrorKind::Failed, "launch_failed", message)
}

pub(crate) fn attach_failed(message: impl Into<String>) -> ToolError {
    let message = clip(&message.into(), ADAPTER_WORDS).text;
    ToolError::new(ErrorKind::Failed, "attach_failed", message)
}

pub(crate) fn bad_program(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, "bad_program", message)
}

/// A request that the session could not do without.
pub(crate) fn of_request(error: RequestError) -> ToolError {
    match error {
        RequestError::Refused(words) => ToolError::new(
            ErrorKind::Failed,
            "adapter_refused",
            format!("the adapter refused: {}", clip(&words, ADAPTER_WORDS).text),
        ),
        RequestError::Late(command, limit) => unresponsive(&late(command, limit)),
        RequestError::Gone => adapter_died("it closed its output"),
    }
}

pub(crate) fn late(command: &str, limit: Duration) -> String {
    format!("{command} is unanswered after {} s", limit.as_secs())
}

/// An error of the workspace. Its code stays.
pub(crate) fn of_workspace(error: agent_workspace::Error) -> ToolError {
    use agent_workspace::ErrorKind as Cause;
    let message = error.message().to_owned();
    let (kind, code) = match error.kind() {
        Cause::OutsideWorkspace => (ErrorKind::Denied, "outside_workspace"),
        Cause::NotFound => (ErrorKind::NotFound, "not_found"),
        Cause::InvalidPath => (ErrorKind::InvalidArgs, "invalid_path"),
        Cause::PermissionDenied => (ErrorKind::Denied, "permission_denied"),
        _ => (ErrorKind::Failed, "io"),
    };
    ToolError::new(kind, code, message).with_source(error)
}
