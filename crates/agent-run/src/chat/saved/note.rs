//! What a journal keeps of workers: they end with the program, and a model that goes on is told which of them are gone.

use agent_tool_core::for_person;
use agent_vibe::{Status, WorkerReport};
use serde::{Deserialize, Serialize};

/// The line of a journal that is no message. The last one holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct NoteLine {
    pub(super) note: Note,
}

/// The workers that a model knows of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The highest number that a worker of the conversation had.
    pub(super) last_worker: usize,
    pub(super) workers: Vec<WorkerNote>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WorkerNote {
    id: String,
    label: String,
    status: Status,
}

impl Note {
    /// The same with the workers of this run.
    pub(super) fn with(&self, workers: &[WorkerReport]) -> Self {
        let mut note = self.clone();
        for WorkerReport { worker_id, label, status, .. } in workers {
            let number = worker_id.trim_start_matches('w').parse().unwrap_or_default();
            note.last_worker = note.last_worker.max(number);
            note.workers.push(WorkerNote {
                id: worker_id.clone(),
                label: label.clone(),
                status: *status,
            });
        }
        note
    }

    /// What a model is told of the workers of before; nothing where there are none.
    pub(super) fn gone(&self) -> Option<String> {
        let each = self.workers.iter().map(|WorkerNote { id, label, status }| {
            let how = match status {
                Status::Running => "was at work, and how far it came is not known",
                Status::Done => "was done",
                Status::Failed => "had failed",
                _ => "was killed",
            };
            format!("{id} ({}) {how}", for_person(label))
        });
        let each = each.collect::<Vec<_>>().join("; ");
        (!each.is_empty()).then(|| {
            format!(
                "(agent-run, not the person: the program was ended and begun anew here, and the workers of before are gone with it: \
                 {each}. They take no message and vibe_list has none of them; a new worker has a new id.)"
            )
        })
    }
}
