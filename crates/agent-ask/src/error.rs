//! Why a question has no answer, as a tool's error.

use std::time::Duration;

use agent_tool_core::{ErrorKind, ToolError};

/// What a model does without an answer.
pub(crate) const GO_ON: &str =
    "Go on with an assumption, state it in your answer, and do not ask this again";

/// The same inside of a sentence.
const AND_GO_ON: &str =
    "go on with an assumption, state it in your answer, and do not ask this again";

pub(crate) fn invalid(message: impl AsRef<str>) -> ToolError {
    let message = format!("ask_user: {}; nobody was asked", message.as_ref());
    ToolError::new(ErrorKind::InvalidArgs, "invalid_question", message)
}

pub(crate) fn timed_out(limit: Duration) -> ToolError {
    let message = format!(
        "nobody answered within {} and the card is gone; nothing was chosen; {AND_GO_ON}",
        in_words(limit)
    );
    ToolError::new(ErrorKind::Timeout, "timed_out", message)
}

pub(crate) fn timed_out_before() -> ToolError {
    let message = format!(
        "this was asked before in this run and nobody answered in time, so it was not asked again; \
         nothing was chosen; {AND_GO_ON}"
    );
    ToolError::new(ErrorKind::Timeout, "timed_out", message)
}

pub(crate) fn nobody_connected() -> ToolError {
    let message = format!("nobody is connected to answer, so there is no answer; {AND_GO_ON}");
    ToolError::new(ErrorKind::Unavailable, "nobody_connected", message)
}

pub(crate) fn closed() -> ToolError {
    let message = format!("the card was closed without an answer; nothing was chosen; {AND_GO_ON}");
    ToolError::new(ErrorKind::Unavailable, "card_closed", message)
}

pub(crate) fn no_usable_answer(why: &str) -> ToolError {
    let message = format!(
        "no usable answer came back ({why}), so what the person said is not known; {AND_GO_ON}"
    );
    ToolError::new(ErrorKind::Failed, "no_usable_answer", message)
}

/// A time as a person says it.
pub(crate) fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds > 60 && seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        1 => "1 second".to_owned(),
        0 => format!("{} milliseconds", time.as_millis()),
        seconds => format!("{seconds} seconds"),
    }
}
