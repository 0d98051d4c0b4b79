//! Diagnostics on write: a tool that changed files says at once what the change broke and fixed.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use agent_tool_core::{
    BoxFuture, ChangeKind, Context, FileChange, Part, Preview, Tool, ToolError, ToolOutput,
    ToolResult, ToolSpec,
};
use agent_workspace::WorkspacePath;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    Lsp,
    ledger::{Observed, Report, Snapshot as Seen, Ticket, Unsettled, Written},
    lsp::Shared,
    position::Document,
    server::{Readiness, Settled, Snapshot, Watched},
    supervisor::{NoServer, Running},
};

/// How long the diagnostics of the text before a write are waited for.
const BASELINE_WAITS: Duration = Duration::from_millis(300);

/// How many other open files are looked at after a write.
const OTHER_FILES: usize = 20;

/// How long diagnostics that were not there in time are waited for in the background.
const LATE_WAITS: Duration = Duration::from_secs(120);

/// How long at a time, between which a run may end.
const LATE_SLICE: Duration = Duration::from_millis(500);

struct OnWrite {
    inner: Arc<dyn Tool>,
    lsp: Lsp,
}

pub(crate) fn on_write(lsp: &Lsp, inner: Arc<dyn Tool>) -> Arc<dyn Tool> {
    Arc::new(OnWrite { inner, lsp: lsp.clone() })
}

impl Tool for OnWrite {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let output = self.inner.call(args, cx).await?;
            Ok(self.lsp.with_diagnostics(output).await)
        })
    }

    fn preview<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        self.inner.preview(args, cx)
    }
}

/// A file that was written, with the servers that take it.
struct Target {
    file: WorkspacePath,
    shown: String,
    before: Option<String>,
    after: Option<String>,
    servers: Vec<Arc<Running>>,
    /// Servers that exist and could not be asked.
    missing: Vec<NoServer>,
}

impl Lsp {
    /// The output with what its changes broke and fixed. Whatever a server does, it stays the output
    /// of a tool that did its job.
    async fn with_diagnostics(&self, mut output: ToolOutput) -> ToolOutput {
        let report = self.after_write(&output.changes).await;
        let mut late: Vec<_> = self
            .take_late()
            .iter()
            .map(|report| format!("since the last result: {}", report.text()))
            .collect();
        if let Some(report) = report {
            let text = report.text();
            if !text.is_empty() {
                late.push(text);
            }
            let data = serde_json::to_value(report.data()).unwrap_or_default();
            match &mut output.data {
                Value::Object(fields) => drop(fields.insert("diagnostics".to_owned(), data)),
                empty @ Value::Null => *empty = json!({ "diagnostics": data }),
                // Data of another shape has no room for it; the text has it.
                _ => {}
            }
        }
        late.into_iter().fold(output, |output, text| output.with_part(Part::text(text)))
    }

    /// Tells the servers of files that were written and waits, within bounds, for what they make of
    /// it. None where no server takes any of them.
    async fn after_write(&self, changes: &[FileChange]) -> Option<Report> {
        let mut targets = Vec::new();
        for change in changes {
            targets.extend(self.target(change));
        }
        if targets.is_empty() {
            return None;
        }
        let begun = Instant::now();
        self.start_reaper();
        let all_live = targets.iter().all(|target| self.is_live(&target.file));
        let waits = self.shared.waits;
        let budget = if all_live { waits.write } else { waits.write_and_start };
        let deadline = begun + budget;
        join_all(targets.iter_mut().map(|target| self.find_servers(target, deadline))).await;
        targets.retain(|target| !target.servers.is_empty() || !target.missing.is_empty());
        if targets.is_empty() {
            return None;
        }
        let one = tokio::time::timeout_at(deadline.into(), self.shared.settling.lock()).await;
        let deadline = if all_live {
            deadline
        } else {
            deadline.min(Instant::now() + waits.write).max(Instant::now())
        };
        let marks = self.send(&targets).await;
        let observed = match one {
            Ok(_one) => self.observe(&targets, &marks, deadline).await,
            Err(_) => self.unobserved(&targets, "another write is still being looked at"),
        };
        let written: Vec<_> = targets
            .iter()
            .map(|target| {
                Written::new(
                    target.shown.clone(),
                    target.before.as_deref(),
                    target.after.as_deref(),
                )
            })
            .collect();
        let report = self.ledger().settle(&written, observed);
        self.wait_for_late(&report, &targets, &marks);
        Some(report)
    }

    /// A changed file that some server takes by its name and the markers above it.
    fn target(&self, change: &FileChange) -> Option<Target> {
        let file = self.shared.workspace.resolve(&change.path).ok()?;
        self.shared.supervisor.candidates(&file).ok()?;
        let shown = self.show(&file);
        let before = change.before.as_text().map(str::to_owned);
        let after = match change.kind() {
            ChangeKind::Deleted => None,
            _ => Some(change.after.as_text().unwrap_or_default().to_owned()),
        };
        Some(Target { file, shown, before, after, servers: Vec::new(), missing: Vec::new() })
    }

    fn is_live(&self, file: &WorkspacePath) -> bool {
        let candidates = self.shared.supervisor.candidates(file).unwrap_or_default();
        candidates.iter().any(|candidate| candidate.slot.live().is_some())
    }

    async fn find_servers(&self, target: &mut Target, deadline: Instant) {
        match self.shared.supervisor.all(&target.file, deadline).await {
            Ok((servers, failures)) => {
                target.servers = servers;
                target.missing = failures.into_iter().filter(NoServer::exists).collect();
            }
            // Nothing is installed for it: that is said by `status`, not by every write.
            Err(_) => {}
        }
    }

    /// Opens what was there before where nothing is known of it, then tells of the write. Gives what
    /// each server had told before.
    async fn send(&self, targets: &[Target]) -> HashMap<String, u64> {
        let mut baselines = Vec::new();
        for target in targets {
            for running in &target.servers {
                let known = !self.ledger().needs_baseline(&target.shown, &running.id);
                let ready = running.client.readiness() == Readiness::Ready
                    || !running.client.knows(&target.file);
                if let (Some(before), false, true) = (&target.before, known, ready) {
                    baselines.push(self.baseline(target, running, before));
                }
            }
        }
        join_all(baselines).await;
        let mut marks = HashMap::new();
        for running in servers(targets) {
            marks.insert(key(running), running.client.told.look().sequence());
            let of_this =
                |target: &&Target| target.servers.iter().any(|one| Arc::ptr_eq(one, running));
            let told: Vec<_> = targets
                .iter()
                .filter(of_this)
                .filter_map(|target| match (&target.before, &target.after) {
                    (_, None) => Some((target.file.clone(), Watched::Deleted)),
                    (None, Some(_)) => Some((target.file.clone(), Watched::Created)),
                    // Those that are open are told with their text.
                    _ if running.client.knows(&target.file) => None,
                    _ => Some((target.file.clone(), Watched::Changed)),
                })
                .collect();
            running.client.tell(&told);
            for target in targets.iter().filter(of_this).filter(|target| target.after.is_some()) {
                // What cannot be read any more is told as a file that is gone, by the next look.
                let _ = running.client.sync(&target.file);
            }
        }
        marks
    }

    async fn baseline(&self, target: &Target, running: &Arc<Running>, before: &str) {
        let _used = running.hold();
        let mark = running.client.told.look().sequence();
        let synced = running.client.open_before(&target.file, Document::new(before));
        let sent = crate::server::Sent { synced, mark };
        let deadline = Instant::now() + BASELINE_WAITS;
        // A compiler has only the disk, which has the new text by now.
        let checks = crate::server::Checks::Untrusted;
        let snapshot =
            running.client.settled(&target.file, &target.shown, &sent, checks, deadline).await;
        if matches!(snapshot.settled, Settled::Yes(_)) {
            self.ledger().baseline(&target.shown, &running.id, snapshot.diagnostics);
        }
    }

    async fn observe(
        &self,
        targets: &[Target],
        marks: &HashMap<String, u64>,
        deadline: Instant,
    ) -> Vec<Observed> {
        let there = targets.iter().filter(|target| target.after.is_some());
        let pairs: Vec<_> =
            there.flat_map(|target| target.servers.iter().map(move |one| (target, one))).collect();
        let looks = pairs.iter().map(|(target, running)| async move {
            let mark = marks.get(&key(running)).copied().unwrap_or_default();
            let snapshot =
                self.settled_since(running, &target.file, &target.shown, mark, deadline).await;
            Observed::new(&target.shown, &running.id, seen(running, snapshot))
        });
        let mut observed = join_all(looks).await;
        observed.extend(self.others(targets, marks, deadline).await);
        for target in targets.iter().filter(|target| target.after.is_some()) {
            for missing in &target.missing {
                let why = Unsettled::TimedOut { waiting_for: missing.why.clone() };
                let id = missing.id.clone().unwrap_or_default();
                observed.push(Observed::new(&target.shown, id, Seen::Unsettled(why)));
            }
        }
        observed
    }

    fn unobserved(&self, targets: &[Target], why: &str) -> Vec<Observed> {
        let there = targets.iter().filter(|target| target.after.is_some());
        there
            .flat_map(|target| target.servers.iter().map(move |running| (target, running)))
            .map(|(target, running)| {
                let why = Unsettled::TimedOut { waiting_for: why.to_owned() };
                Observed::new(&target.shown, &running.id, Seen::Unsettled(why))
            })
            .collect()
    }

    /// The other open files, whose errors a write may have made.
    async fn others(
        &self,
        targets: &[Target],
        marks: &HashMap<String, u64>,
        deadline: Instant,
    ) -> Vec<Observed> {
        let mut looks = Vec::new();
        for running in servers(targets) {
            let mark = marks.get(&key(running)).copied().unwrap_or_default();
            let open = running.client.open_files();
            let open =
                open.into_iter().filter(|file| targets.iter().all(|target| target.file != *file));
            for file in open.take(OTHER_FILES) {
                let shown = self.show(&file);
                looks.push(async move {
                    let snapshot = self.settled_since(running, &file, &shown, mark, deadline).await;
                    matches!(snapshot.settled, Settled::Yes(_))
                        .then(|| Observed::new(shown, &running.id, seen(running, snapshot)))
                });
            }
        }
        join_all(looks).await.into_iter().flatten().collect()
    }

    async fn settled_since(
        &self,
        running: &Arc<Running>,
        file: &WorkspacePath,
        shown: &str,
        mark: u64,
        deadline: Instant,
    ) -> Snapshot {
        let _used = running.hold();
        let mut sent = match running.client.send_file(file) {
            Ok(sent) => sent,
            Err(error) => return Snapshot::unread(error.message()),
        };
        sent.mark = mark;
        sent.synced.sent = true;
        let checks = self.shared.supervisor.checks();
        running.client.settled(file, shown, &sent, checks, deadline).await
    }

    /// Goes on waiting for what was not there in time, and keeps it for the next result.
    fn wait_for_late(&self, report: &Report, targets: &[Target], marks: &HashMap<String, u64>) {
        for pending in &report.pending {
            let of = |target: &&Target| target.shown == pending.ticket.file();
            let Some(target) = targets.iter().find(of) else { continue };
            let running = target.servers.iter().find(|one| one.id == pending.ticket.server());
            let late = Late {
                // A run that ends takes its servers along, whoever still waits for them.
                shared: Arc::downgrade(&self.shared),
                running: running.map(Arc::downgrade),
                file: target.file.clone(),
                shown: target.shown.clone(),
                mark: running.and_then(|one| marks.get(&key(one))).copied().unwrap_or_default(),
                ticket: pending.ticket.clone(),
            };
            tokio::spawn(late.wait());
        }
    }
}

/// Diagnostics that are waited for after their write was answered.
struct Late {
    shared: Weak<Shared>,
    /// None where the server had not started.
    running: Option<Weak<Running>>,
    file: WorkspacePath,
    shown: String,
    mark: u64,
    ticket: Ticket,
}

impl Late {
    async fn wait(mut self) {
        let end = Instant::now() + LATE_WAITS;
        while Instant::now() < end {
            let Some(lsp) = self.shared.upgrade().map(|shared| Lsp { shared }) else { return };
            let slice = Instant::now() + LATE_SLICE;
            let running = match &self.running {
                Some(running) => running.upgrade(),
                None => lsp.shared.supervisor.full(&self.file, slice).await.ok(),
            };
            let Some(running) = running else {
                // It ended, or it is still starting.
                if self.running.is_some() {
                    return;
                }
                tokio::time::sleep_until(slice.into()).await;
                continue;
            };
            self.running = Some(Arc::downgrade(&running));
            let snapshot =
                lsp.settled_since(&running, &self.file, &self.shown, self.mark, slice).await;
            if matches!(snapshot.settled, Settled::Yes(_)) {
                let report = lsp.ledger().late(&self.ticket, snapshot.diagnostics);
                report.into_iter().for_each(|report| lsp.tell_late(report));
                return;
            }
            // A server that answers at once that it is not ready is asked again a little later.
            drop((lsp, running));
            tokio::time::sleep_until(slice.into()).await;
        }
    }
}

/// Every server of the files, once.
fn servers(targets: &[Target]) -> Vec<&Arc<Running>> {
    let mut all: Vec<&Arc<Running>> = Vec::new();
    for running in targets.iter().flat_map(|target| &target.servers) {
        if !all.iter().any(|known| Arc::ptr_eq(known, running)) {
            all.push(running);
        }
    }
    all
}

fn key(running: &Running) -> String {
    format!("{} {}", running.id, running.pid())
}

fn seen(running: &Running, snapshot: Snapshot) -> Seen {
    match (snapshot.settled, running.end_in_words()) {
        (Settled::Yes(_), None) => Seen::Settled(snapshot.diagnostics),
        (_, Some(_)) => Seen::Unsettled(Unsettled::Crashed),
        (Settled::No(why), None) => Seen::Unsettled(Unsettled::TimedOut { waiting_for: why }),
    }
}
