//! Why nothing was done, as a tool's error.

use agent_tool_core::{ErrorKind, Tier, ToolError, clip};
use serde_json::Value;

use crate::{Status, WorkerReport, WorkerTier};

/// How many characters a list of workers takes in a message.
const LIST_CHARS: usize = 1_000;

pub(crate) fn unknown_worker(id: &str, there: &[WorkerReport]) -> ToolError {
    let id = clip(id, 80).text;
    let message = match there {
        [] => format!("there is no worker {id:?}, and none was spawned yet; vibe_spawn starts one"),
        there => format!("there is no worker {id:?}; there are {}", names(there)),
    };
    ToolError::new(ErrorKind::NotFound, "unknown_worker", message)
}

pub(crate) fn all_running(limit: usize, there: &[WorkerReport]) -> ToolError {
    let running: Vec<_> =
        there.iter().filter(|worker| worker.status == Status::Running).cloned().collect();
    let message = match running.as_slice() {
        [] => "no worker may run in this run; do the work yourself".to_owned(),
        running => format!(
            "{limit} workers are running, which is the most: {}; wait for one or kill one, then try \
             again",
            names(running)
        ),
    };
    ToolError::new(ErrorKind::Conflict, "no_slot", message)
}

pub(crate) fn all_spawned(limit: usize) -> ToolError {
    let message = format!(
        "{limit} workers were spawned in this run, which is the most; send the work to one that is \
         done, or do it yourself"
    );
    ToolError::new(ErrorKind::Conflict, "no_slot", message)
}

pub(crate) fn killed_worker(report: &WorkerReport) -> ToolError {
    let message = format!(
        "{} was killed and takes no more messages; spawn another worker for the work",
        report.name()
    );
    ToolError::new(ErrorKind::Conflict, "killed_worker", message).with_data(data(report))
}

pub(crate) fn unknown_tier(wanted: &str, served: &[WorkerTier]) -> ToolError {
    let wanted = clip(wanted, 80).text;
    let message = match served {
        [] => format!(
            "there is no worker of tier {wanted:?} here, nor of another; do the work yourself"
        ),
        served => {
            let served: Vec<_> = served.iter().map(|tier| tier.as_str()).collect();
            format!("there is no worker of tier {wanted:?} here; there is {}", served.join(" and "))
        }
    };
    ToolError::new(ErrorKind::InvalidArgs, "unknown_tier", message)
}

pub(crate) fn more_than_the_caller(wanted: Tier, caller: Tier) -> ToolError {
    let message = format!(
        "a worker cannot have the authority {wanted}, since its caller has {caller} here; leave \
         `authority` out, or ask for less"
    );
    ToolError::new(ErrorKind::Denied, "authority_exceeded", message)
}

pub(crate) fn not_held(why: String) -> ToolError {
    ToolError::new(ErrorKind::Denied, "authority_exceeded", why)
}

pub(crate) fn worker_above_the_caller(report: &WorkerReport, caller: Tier) -> ToolError {
    let message = format!(
        "{} has the authority {} and its caller has {caller} here, so it was sent nothing; spawn a \
         worker for what may be done here",
        report.name(),
        report.authority
    );
    ToolError::new(ErrorKind::Denied, "authority_exceeded", message)
}

pub(crate) fn brief_full(report: &WorkerReport, limit: usize) -> ToolError {
    let message = format!(
        "the brief and messages of {} would come to more than {limit} bytes; spawn another worker, \
         or put it into a file and name that",
        report.name()
    );
    ToolError::new(ErrorKind::InvalidArgs, "brief_full", message)
}

pub(crate) fn vibe_off() -> ToolError {
    let message = "vibe mode is off, so there are no workers; do the work yourself";
    ToolError::new(ErrorKind::Unavailable, "vibe_off", message)
}

/// What a wait is told that was under way when the mode was turned off.
pub(crate) fn vibe_turned_off(report: &WorkerReport) -> ToolError {
    let message = format!(
        "vibe mode was turned off, and {} was {}; do the work yourself",
        report.name(),
        report.status
    );
    ToolError::new(ErrorKind::Unavailable, "vibe_off", message).with_data(data(report))
}

fn data(report: &WorkerReport) -> Value {
    serde_json::to_value(report).unwrap_or_default()
}

fn names(workers: &[WorkerReport]) -> String {
    let names: Vec<_> =
        workers.iter().map(|worker| format!("{}, {}", worker.name(), worker.status)).collect();
    clip(&names.join("; "), LIST_CHARS).text
}
