//! Workers of the host's own.

use agent_tool_core::{BoxFuture, Part};
use agent_vibe::{Job, WorkError, WorkerFactory, WorkerTier};

use super::{
    hosted::Running,
    peer::Peer,
    protocol::{HostResult, WorkerRun},
};

/// Has the host run every worker, by `worker/run`.
pub(super) struct HostWorkers {
    peer: Peer,
}

impl HostWorkers {
    pub(super) fn new(peer: Peer) -> Self {
        Self { peer }
    }
}

impl WorkerFactory for HostWorkers {
    /// Which models it has is the host's.
    fn serves(&self, _tier: WorkerTier) -> bool {
        true
    }

    fn start(&self, job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
        let peer = self.peer.clone();
        Box::pin(async move {
            let run = WorkerRun {
                worker: job.worker_id().to_owned(),
                brief: job.brief().join("\n\n"),
                ceiling: job.authority(),
                call_id: job.context().call_id().clone(),
                label: job.label().to_owned(),
                tier: job.tier(),
                attempt: job.attempt(),
            };
            let running = Running::new(&peer, &run.call_id);
            let answer = peer.request("worker/run", &run).get().await;
            running.done();
            let answer = answer.map_err(|error| {
                WorkError::new(format!("the host answered with no result: {}", error.message))
            })?;
            let result: HostResult = serde_json::from_value(answer).map_err(|error| {
                WorkError::new(format!("the host's answer is no result: {error}"))
            })?;
            let text = text(&result.parts);
            if result.ok {
                return Ok(text);
            }
            let why = result.error.map(|error| error.message).unwrap_or_default();
            let why = if why.is_empty() { "the host did not say why" } else { &why };
            let got = if text.is_empty() { text } else { format!("\nit had said:\n{text}") };
            Err(WorkError::new(format!("{why}{got}")))
        })
    }
}

fn text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
