//! Requests without an answer, as a tool's errors.

use agent_tool_core::{ErrorKind, ToolError};
use serde_json::json;

use crate::server::{CallError, NO_SUCH_METHOD, Readiness, is_out_of_date, words};

/// A request that has no answer: whether the server is at work, ended, or refuses.
pub(crate) fn of_call(
    id: &str,
    error: &CallError,
    ended: Option<&str>,
    readiness: &Readiness,
) -> ToolError {
    let (kind, code, message) = match (error, ended, readiness) {
        (CallError::InnerEnded | CallError::Deaf { .. }, ..) => {
            (ErrorKind::Failed, "server_failed", format!("{id}: {}", words(error)))
        }
        (_, Some(ended), _) => {
            (ErrorKind::Failed, "server_failed", format!("{id} ended before it answered: {ended}"))
        }
        (CallError::Stopped, None, _) => {
            (ErrorKind::Failed, "server_failed", format!("{id} ended before it answered"))
        }
        (CallError::Stuck { .. }, None, _) => {
            (ErrorKind::Unavailable, "not_ready", format!("{id}: {}", words(error)))
        }
        (CallError::TimedOut { .. }, None, Readiness::Busy(work)) => (
            ErrorKind::Timeout,
            "not_ready",
            format!("{id} did not answer in time; it is at work: {work}; ask again later"),
        ),
        (CallError::TimedOut { .. }, None, _) => (
            ErrorKind::Timeout,
            "timed_out",
            format!("{id}: {}; ask again, or reload it", words(error)),
        ),
        (CallError::Refused { code: NO_SUCH_METHOD, .. }, None, _) => (
            ErrorKind::Unavailable,
            "unsupported",
            format!("{id} cannot answer that; ask something else of it"),
        ),
        (CallError::Refused { code, message }, None, _) if is_out_of_date(*code) => (
            ErrorKind::Unavailable,
            "not_ready",
            format!("{id} says that its answer is out of date: {message} ({code}); ask again"),
        ),
        (CallError::Refused { .. }, None, _) => {
            (ErrorKind::Failed, "refused", format!("{id}: {}", words(error)))
        }
    };
    ToolError::new(kind, code, message).with_data(json!({ "server": id }))
}
