//! What was not there in time: waited for in the background, told with the next result.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use agent_workspace::WorkspacePath;

use crate::{
    Lsp,
    ledger::{Report, Ticket, Unsettled},
    lsp::Shared,
    server::Settled,
};

/// How long diagnostics that were not there in time are waited for in the background.
const LATE_WAITS: Duration = Duration::from_secs(120);

/// How long at a time, between which a run may end.
const LATE_SLICE: Duration = Duration::from_millis(500);

/// Diagnostics that are waited for after their write was answered.
struct Late {
    shared: Weak<Shared>,
    file: WorkspacePath,
    shown: String,
    ticket: Ticket,
}

impl Late {
    async fn wait(self) {
        let end = Instant::now() + LATE_WAITS;
        while Instant::now() < end {
            let slice = Instant::now() + LATE_SLICE;
            let Some(lsp) = self.shared.upgrade().map(|shared| Lsp { shared }) else { return };
            if self.told(&lsp, slice).await {
                return;
            }
            drop(lsp);
            // A server that answers at once that it is not ready is asked again a little later.
            tokio::time::sleep_until(slice.into()).await;
        }
    }

    /// Looks once more; whether there is nothing more to wait for.
    async fn told(&self, lsp: &Lsp, deadline: Instant) -> bool {
        let server = self.ticket.server();
        let running = match lsp.shared.supervisor.by_id(&self.file, server, deadline).await {
            Ok(running) => running,
            Err(failure) => return failure.code != "not_ready",
        };
        let (snapshot, version) =
            lsp.settled_now(&running, &self.file, &self.shown, deadline).await;
        if !matches!(snapshot.settled, Settled::Yes(_)) {
            return false;
        }
        // A write that came meanwhile is under way, and tells what it finds itself.
        let _one = lsp.shared.settling.lock().await;
        if running.client.version_now(&self.file) != version {
            return false;
        }
        let report = lsp.ledger().late(&self.ticket, snapshot.diagnostics);
        report.into_iter().for_each(|report| lsp.tell_late(report));
        true
    }
}

impl Lsp {
    /// Goes on waiting for what was not there in time, and keeps it for the next result.
    pub(super) fn wait_for_late(&self, report: &Report) {
        let comes = |why: &Unsettled| !matches!(why, Unsettled::NotLookedFor { .. });
        for pending in report.pending.iter().filter(|pending| comes(&pending.why)) {
            let shown = pending.ticket.file().to_owned();
            let Ok(file) = self.file(&shown) else { continue };
            let late = Late {
                // A run that ends takes its servers along, whoever still waits for them.
                shared: Arc::downgrade(&self.shared),
                file,
                shown,
                ticket: pending.ticket.clone(),
            };
            tokio::spawn(late.wait());
        }
    }
}
