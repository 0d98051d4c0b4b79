//! What was not there in time: waited for in the background, told with the next result.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use agent_workspace::WorkspacePath;

use super::Write;
use crate::{
    Lsp,
    ledger::{Origin, Report, Ticket, Unsettled},
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
        if let Some(mut report) = report {
            let owed = lsp.shared.debts.of(&running.key()).files.contains_key(&self.file);
            let why = owed.then(|| format!("{}: the next write has them looked at", running.id));
            report.others.unknown.extend(why);
            lsp.tell_late(report);
        }
        true
    }
}

/// The files beside those of a write that settles late: what was published for them meanwhile, and what is open.
struct LateBeside {
    shared: Weak<Shared>,
    write: Write,
    tickets: Vec<Ticket>,
}

impl LateBeside {
    async fn wait(self) {
        let end = Instant::now() + LATE_WAITS;
        while Instant::now() < end {
            let slice = Instant::now() + LATE_SLICE;
            {
                let Some(lsp) = self.shared.upgrade().map(|shared| Lsp { shared }) else { return };
                let is_waited =
                    self.tickets.iter().any(|ticket| lsp.ledger().is_waited_for(ticket));
                if !is_waited {
                    self.tell(&lsp).await;
                    return;
                }
            }
            tokio::time::sleep_until(slice.into()).await;
        }
    }

    async fn tell(&self, lsp: &Lsp) {
        let _one = lsp.shared.settling.lock().await;
        let deadline = Instant::now() + lsp.shared.waits.write;
        let observed = lsp.observe_beside(&self.write, deadline).await;
        let report = lsp.ledger().late_beside(self.write.files(), observed);
        report.into_iter().for_each(|report| lsp.tell_late(report));
    }
}

impl Lsp {
    /// Goes on waiting for what was not there in time, and keeps it for the next result.
    pub(super) fn wait_for_late(&self, report: &Report, write: Write) {
        let comes = |why: &Unsettled| !matches!(why, Unsettled::NotLookedFor { .. });
        let written = report
            .pending
            .iter()
            .filter(|pending| pending.origin == Origin::Written && comes(&pending.why));
        let tickets: Vec<_> = written.map(|pending| pending.ticket.clone()).collect();
        if !tickets.is_empty() {
            let shared = Arc::downgrade(&self.shared);
            tokio::spawn(LateBeside { shared, write, tickets }.wait());
        }
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
