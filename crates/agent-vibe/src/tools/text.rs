//! What a model is told of workers.

use std::time::Duration;

use crate::{Status, WorkerReport};

pub(super) fn spawned(report: &WorkerReport) -> String {
    let WorkerReport { worker_id, tier, authority, .. } = report;
    format!(
        "{} is running, tier {tier}, authority {authority}; vibe_wait {worker_id} gives its result",
        report.name()
    )
}

pub(super) fn sent(report: &WorkerReport) -> String {
    let next = report.attempt + 1;
    match report.queued {
        0 => format!("{} is running again, attempt {}", report.name(), report.attempt),
        count => format!(
            "{} is at work on attempt {}; it gets {} in attempt {next}, which follows at once",
            report.name(),
            report.attempt,
            messages(count)
        ),
    }
}

pub(super) fn waited(report: &WorkerReport, limit: Option<Duration>) -> String {
    if report.timed_out {
        let limit = limit.unwrap_or_default().as_secs();
        return format!(
            "{} is still running after {limit} s of waiting ({} in all, attempt {}{}); it goes on, and \
             there is no result yet",
            report.name(),
            report.seconds(),
            report.attempt,
            queued(report.queued)
        );
    }
    let mut text = ended(report);
    if report.queued > 0 && report.status != Status::Killed {
        text.push_str(&format!(
            "\n{} came meanwhile, so attempt {} followed at once",
            messages(report.queued),
            report.attempt + 1
        ));
    }
    text
}

pub(super) fn killed(report: &WorkerReport) -> String {
    ended(report)
}

pub(super) fn listed(reports: &[WorkerReport]) -> String {
    if reports.is_empty() {
        return "no worker was spawned".to_owned();
    }
    reports.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn ended(report: &WorkerReport) -> String {
    let status = match report.status {
        Status::Done => "is done",
        Status::Failed => "failed",
        Status::Killed => "was killed",
        Status::Running => "is running",
    };
    let mut text =
        format!("{} {status} (attempt {}, {})", report.name(), report.attempt, report.seconds());
    if report.detached {
        text.push_str(
            "; it did not stop within 2 s and was let go, so what it started may still be at work, and \
             whatever comes of it is ignored",
        );
    }
    match (&report.result, report.status) {
        (Some(result), Status::Killed) => text.push_str(&format!("; it had said:\n{result}")),
        (Some(result), _) => text.push_str(&format!(":\n{result}")),
        (None, _) => {}
    }
    text
}

fn line(report: &WorkerReport) -> String {
    let WorkerReport { worker_id, label, tier, authority, status, attempt, .. } = report;
    let mut line = format!(
        "{worker_id}  {status}  {tier}  {}  attempt {attempt}{}  authority {authority}  {label}",
        report.seconds(),
        queued(report.queued)
    );
    if report.detached {
        line.push_str("  (did not stop)");
    }
    if let Some(tool) = &report.waits_for {
        line.push_str(&format!(
            "\n    waits for {tool}, which the call that asks for this list holds: it goes on once that ends, and not before"
        ));
    }
    if let Some(result) = &report.result {
        let result = result.split_whitespace().collect::<Vec<_>>().join(" ");
        line.push_str(&format!("\n    latest result: {result}"));
    }
    line
}

fn queued(count: usize) -> String {
    if count == 0 { String::new() } else { format!(", {} queued", messages(count)) }
}

fn messages(count: usize) -> String {
    if count == 1 { "1 message".to_owned() } else { format!("{count} messages") }
}
