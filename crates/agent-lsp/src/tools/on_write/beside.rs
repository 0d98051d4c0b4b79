//! The files beside the written ones, whose errors a write may have made.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use agent_workspace::WorkspacePath;
use futures::future::join_all;

use super::{Target, key, observed, seen, servers};
use crate::{
    Lsp,
    ledger::{Observed, Snapshot as Seen, Unsettled},
    server::{Checks, Readiness, Sent, Settled, State},
    supervisor::Running,
};

/// How many other open files are asked about after a write.
const OTHER_FILES: usize = 20;

/// How many other files' earlier diagnostics are taken in before a write.
const OTHER_BASELINES: usize = 200;

/// How long nothing must be published any more for the files beside the written ones.
const BESIDE_QUIET: Duration = Duration::from_millis(20);

/// Another file than the written ones, as a server has it.
struct Other {
    file: WorkspacePath,
    shown: String,
    sent: Sent,
}

impl Lsp {
    /// Takes in what a server says of other files before it is told of the write.
    pub(super) async fn baselines_beside(
        &self,
        targets: &[Target],
        running: &Arc<Running>,
        until: Instant,
    ) {
        let _used = running.hold();
        if running.client.readiness() != Readiness::Ready {
            return;
        }
        let client = &running.client;
        if client.last_sent().at.elapsed() < client.wait().beside() && !client.is_asked() {
            running.client.told.quiet(BESIDE_QUIET, until, State::publishes).await;
        }
        let others = self.others(targets, running, 0);
        let needed = |other: &Other| self.ledger().needs_baseline(&other.shown, &running.id);
        let others: Vec<_> = others.into_iter().filter(needed).take(OTHER_BASELINES).collect();
        let looks = others.iter().map(|other| async move {
            let snapshot = running
                .client
                .settled_beside(&other.file, &other.shown, &other.sent, Checks::Past, until)
                .await;
            if matches!(snapshot.settled, Settled::Yes(_)) {
                self.ledger().baseline(&other.shown, &running.id, snapshot.diagnostics);
            }
        });
        join_all(looks).await;
    }

    /// The files beside the written ones, whose errors a write may have made.
    pub(super) async fn observe_beside(
        &self,
        targets: &[Target],
        marks: &HashMap<String, u64>,
        deadline: Instant,
    ) -> Vec<Observed> {
        let is_there = targets.iter().any(|target| target.after.is_some());
        let looks = servers(targets).into_iter().map(|running| async move {
            let _used = running.hold();
            let mark = marks.get(&key(running)).copied().unwrap_or_default();
            if !running.client.is_asked() {
                self.pushed_beside(targets, running, mark, deadline).await;
            }
            let others = self.others(targets, running, mark);
            let checks = self.shared.supervisor.checks();
            let looks = others.iter().map(|other| async move {
                let snapshot = running
                    .client
                    .settled_beside(&other.file, &other.shown, &other.sent, checks, deadline)
                    .await;
                // What is not looked for is said of the written files.
                match snapshot.settled {
                    Settled::InPart(_) if is_there => {
                        vec![Observed::new(&other.shown, &running.id, seen(running, snapshot))]
                    }
                    _ => observed(&other.shown, running, snapshot),
                }
            });
            let mut all: Vec<_> = join_all(looks).await.into_iter().flatten().collect();
            all.extend(self.not_asked_beside(targets, running));
            all
        });
        join_all(looks).await.into_iter().flatten().collect()
    }

    /// The open files beside the written ones that are too many to ask about.
    fn not_asked_beside(&self, targets: &[Target], running: &Running) -> Vec<Observed> {
        let files = open_beside(targets, running);
        files
            .skip(OTHER_FILES)
            .map(|file| {
                let why = format!("at most {OTHER_FILES} other open files are asked about");
                let why = Seen::Unsettled(Unsettled::NotLookedFor { why });
                Observed::new(self.show(&file), &running.id, why)
            })
            .collect()
    }

    /// The files beside the written ones that are looked at when those have settled, which is later.
    pub(super) fn unobserved_beside(&self, targets: &[Target]) -> Vec<Observed> {
        let asked = servers(targets).into_iter().filter(|running| running.client.is_asked());
        asked
            .flat_map(|running| {
                let others = self.others(targets, running, u64::MAX);
                others.into_iter().map(|other| {
                    let why = "looked at after the written files".to_owned();
                    let why = Seen::Unsettled(Unsettled::TimedOut { waiting_for: why });
                    Observed::new(&other.shown, &running.id, why)
                })
            })
            .collect()
    }

    /// Files that were not written and of which a server has something to say: those that it has open,
    /// where it is asked for diagnostics, and those that it published for since.
    fn others(&self, targets: &[Target], running: &Running, since: u64) -> Vec<Other> {
        let client = &running.client;
        let is_other = |file: &WorkspacePath| targets.iter().all(|target| target.file != *file);
        let mut files = Vec::new();
        files.extend(open_beside(targets, running).take(OTHER_FILES));
        {
            let told = client.told.look();
            let since = told.all_published().filter(|(_, published)| published.sequence > since);
            let inside = since.filter_map(|(path, _)| self.shared.workspace.contain(path));
            let is_new = |file: &WorkspacePath| is_other(file) && !files.contains(file);
            let new: Vec<_> = inside.filter(is_new).collect();
            files.extend(new);
        }
        let other = |file: WorkspacePath| {
            let sent = Sent { synced: client.as_known(&file)? };
            Some(Other { shown: self.show(&file), file, sent })
        };
        files.into_iter().filter_map(other).collect()
    }

    /// Waits for what a server publishes for the files beside the written ones.
    async fn pushed_beside(
        &self,
        targets: &[Target],
        running: &Running,
        mark: u64,
        deadline: Instant,
    ) {
        let told = &running.client.told;
        if targets.iter().all(|target| target.after.is_none()) {
            // Nothing was written that it would publish for first.
            let publishes = told.look().publishes();
            let any = |state: &State| {
                let mut since = state.all_published();
                let since = since.any(|(_, published)| published.sequence > mark);
                (since || state.publishes() > publishes).then_some(())
            };
            told.until(deadline.min(Instant::now() + running.client.wait().beside()), any).await;
        } else if running.client.open_count() <= targets.len()
            && self.others(targets, running, 0).is_empty()
        {
            // It publishes for what is open alone, and nothing else is.
            return;
        }
        told.quiet(BESIDE_QUIET, deadline, State::publishes).await;
    }
}

/// The files that a server has open beside the written ones, where it is asked for diagnostics.
fn open_beside<'a>(
    targets: &'a [Target],
    running: &Running,
) -> impl Iterator<Item = WorkspacePath> + use<'a> {
    let asked = running.client.is_asked().then(|| running.client.open_files());
    let is_other = |file: &WorkspacePath| targets.iter().all(|target| target.file != *file);
    asked.into_iter().flatten().filter(is_other)
}
