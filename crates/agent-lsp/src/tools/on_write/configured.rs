//! Files that configure servers: no server has diagnostics of them, and they may break every file.

use std::{sync::Arc, time::Instant};

use agent_tool_core::{ChangeKind, FileChange};
use agent_workspace::WorkspacePath;
use futures::future::join_all;

use super::{Write, beside::OTHER_FILES};
use crate::{
    Lsp,
    ledger::{Observed, Snapshot as Seen, Unsettled},
    server::Watched,
    supervisor::Running,
};

/// What is waited for where a server is started anew.
const ANEW: &str = "it is started anew for its configuration";

/// A file that was written and that configures servers which run.
pub(super) struct Configured {
    pub file: WorkspacePath,
    pub shown: String,
    pub change: Watched,
    pub servers: Vec<Arc<Running>>,
    /// Those that are started anew and were not there in time, with what was open in them.
    starting: Vec<(String, Vec<WorkspacePath>)>,
}

impl Configured {
    pub(super) fn serves(&self, running: &Arc<Running>) -> bool {
        self.servers.iter().any(|one| Arc::ptr_eq(one, running))
    }

    /// The servers, by their names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let there = self.servers.iter().map(|running| running.id.as_str());
        there.chain(self.starting.iter().map(|(id, _)| id.as_str()))
    }
}

impl Lsp {
    /// The changed files that configure servers which run. One that has to be started anew for it is, until `deadline`.
    pub(super) async fn configured(
        &self,
        changes: &[FileChange],
        deadline: Instant,
    ) -> Vec<Configured> {
        let live = self.shared.supervisor.live();
        let mut all = Vec::new();
        for change in changes {
            let Ok(file) = self.shared.workspace.resolve(&change.path) else { continue };
            let watched = match change.kind() {
                ChangeKind::Deleted => Watched::Deleted,
                ChangeKind::Created => Watched::Created,
                _ => Watched::Changed,
            };
            let of_it = live.iter().filter(|one| one.client.is_configured_by(&file, watched));
            let found = join_all(of_it.map(|running| async move {
                let now = self.shared.supervisor.by_key(&running.key(), deadline).await;
                now.map_err(|_| (running.id.clone(), running.client.open_files()))
            }));
            let (mut servers, mut starting) = (Vec::new(), Vec::new());
            for found in found.await {
                match found {
                    Ok(running) => servers.push(running),
                    Err(late) => starting.push(late),
                }
            }
            if !(servers.is_empty() && starting.is_empty()) {
                let shown = self.show(&file);
                all.push(Configured { file, shown, change: watched, servers, starting });
            }
        }
        all
    }

    /// The files that were open in servers that are still started anew.
    pub(super) fn unobserved_anew(&self, write: &Write) -> Vec<Observed> {
        let starting = write.configured.iter().flat_map(|one| &one.starting);
        let files = starting
            .flat_map(|(id, files)| files.iter().take(OTHER_FILES).map(move |file| (id, file)));
        let is_other = |file: &WorkspacePath| write.targets.iter().all(|one| one.file != *file);
        let files = files.filter(|(_, file)| is_other(file));
        files
            .map(|(id, file)| {
                let why = Unsettled::TimedOut { waiting_for: ANEW.to_owned() };
                Observed::new(self.show(file), id, Seen::Unsettled(why))
            })
            .collect()
    }
}
