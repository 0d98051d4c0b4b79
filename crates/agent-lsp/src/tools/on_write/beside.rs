//! The files beside the written ones, whose errors a write may have made.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agent_workspace::WorkspacePath;
use futures::future::join_all;

use super::{Target, Write, key, observed, seen, users::Users};
use crate::{
    Lsp,
    ledger::{Beside, Observed, Snapshot as Seen, Unsettled},
    server::{Checks, Readiness, Sent, Settled, State},
    supervisor::Running,
    table::{Rebuild, Wait},
};

/// How many other open files are asked about after a write.
pub(super) const OTHER_FILES: usize = 20;

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
    /// Takes in what a server says of other files before it is told of the write. Some of them were opened for it.
    pub(super) async fn baselines_beside(
        &self,
        write: &Write,
        running: &Arc<Running>,
        users: Option<&Users>,
        until: Instant,
    ) {
        if users.is_some_and(|users| users.is_past) {
            return;
        }
        let opened = users.map_or(&[][..], |users| &users.opened);
        let _used = running.hold();
        let client = &running.client;
        if client.ready(until).await != Readiness::Ready || !client.was_checked_before(write.called)
        {
            return;
        }
        let mut targets = write.targets.iter();
        let is_late = targets.any(|target| target.serves(running) && target.is_past())
            || write.configured.iter().any(|one| one.serves(running));
        let is_checked = matches!(client.wait(), Wait::CompilerOnSave(_));
        if client.last_sent().at.elapsed() < client.wait().beside() && !client.is_asked() {
            client.told.quiet(BESIDE_QUIET, until, State::publishes).await;
        }
        let others = self.others_and(opened, &write.targets, running, 0);
        let needed = |other: &Other| self.ledger().needs_baseline(&other.shown, &running.id);
        let others: Vec<_> = others.into_iter().filter(needed).take(OTHER_BASELINES).collect();
        let looks = others.iter().map(|other| async move {
            let Other { file, shown, sent } = other;
            let is_pushed =
                matches!(client.wait(), Wait::PushVersioned { .. } | Wait::PushUnversioned { .. });
            let snapshot = if is_forced(running) || is_late && !is_checked {
                // What it reads from the disk is another by now.
                let published = client.published(&client.path(file));
                if published.is_none_or(|published| published.at >= write.called) {
                    return;
                }
                client.as_published(file, shown, sent, until)
            } else if is_pushed && opened.contains(file) {
                client.settled(file, shown, sent, Checks::Past, until).await
            } else {
                client.settled_beside(file, shown, sent, Checks::Past, until).await
            };
            let is_before = users.is_none_or(|users| users.are_shown(running));
            if is_before && matches!(snapshot.settled, Settled::Yes(_)) {
                self.ledger().baseline(shown, &running.id, snapshot.diagnostics);
            }
        });
        join_all(looks).await;
    }

    /// The files beside the written ones, whose errors a write may have made.
    pub(super) async fn observe_beside(&self, write: &Write, deadline: Instant) -> Vec<Observed> {
        let targets = &write.targets;
        let is_there = targets.iter().any(|target| target.after.is_some());
        let looks = write.servers().into_iter().map(|running| async move {
            let _used = running.hold();
            let mark = write.marks.get(&key(running)).copied().unwrap_or_default();
            if let Readiness::Unhealthy(why) | Readiness::Busy(why) =
                running.client.ready(deadline).await
            {
                let why = format!("not ready: {why}");
                return self.unobserved_of(write, running, &why);
            }
            if !running.client.is_asked() {
                self.pushed_beside(write, running, mark, deadline).await;
            }
            let others = self.others_of(write, running, mark);
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
                let why = Seen::Unsettled(Unsettled::NotLookedAt(Beside::Open));
                Observed::new(self.show(&file), &running.id, why)
            })
            .collect()
    }

    /// The files beside the written ones that are looked at when those have settled, which is later.
    pub(super) fn unobserved_beside(&self, write: &Write) -> Vec<Observed> {
        let all = write.servers().into_iter();
        let why = "looked at after the written files";
        all.flat_map(|running| self.unobserved_of(write, running, why)).collect()
    }

    fn unobserved_of(&self, write: &Write, running: &Running, why: &str) -> Vec<Observed> {
        let others = self.others_of(write, running, u64::MAX).into_iter();
        let others = others.map(|other| {
            let why = Unsettled::TimedOut { waiting_for: why.to_owned() };
            Observed::new(&other.shown, &running.id, Seen::Unsettled(why))
        });
        others.collect()
    }

    fn others_of(&self, write: &Write, running: &Running, since: u64) -> Vec<Other> {
        self.others_and(write.opened(running), &write.targets, running, since)
    }

    /// The files that a server has something to say of, and those that were opened for the write.
    fn others_and(
        &self,
        opened: &[WorkspacePath],
        targets: &[Target],
        running: &Running,
        since: u64,
    ) -> Vec<Other> {
        let mut others = self.others(targets, running, since);
        let is_new = |file: &&WorkspacePath| others.iter().all(|other| other.file != **file);
        let more: Vec<_> = opened.iter().filter(is_new).cloned().collect();
        others.extend(more.into_iter().filter_map(|file| self.other(running, file)));
        others
    }

    fn other(&self, running: &Running, file: WorkspacePath) -> Option<Other> {
        let sent = Sent { synced: running.client.as_known(&file)? };
        Some(Other { shown: self.show(&file), file, sent })
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
        files.into_iter().filter_map(|file| self.other(running, file)).collect()
    }

    /// Waits for what a server publishes for the files beside the written ones.
    async fn pushed_beside(&self, write: &Write, running: &Running, mark: u64, deadline: Instant) {
        let told = &running.client.told;
        let targets = &write.targets;
        let opened = write.opened(running);
        if !opened.is_empty() {
            // It publishes for them anew where they have something else now.
            let paths: Vec<_> = opened.iter().map(|file| running.client.path(file)).collect();
            let all = |state: &State| {
                let is_new =
                    |path| state.published(path).is_some_and(|published| published.sequence > mark);
                paths.iter().all(|path| is_new(path)).then_some(())
            };
            let end = running.client.last_sent().at + running.client.wait().beside();
            told.until(end.min(deadline), all).await;
        }
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

/// Whether it looks at an open file again only when it is made to.
fn is_forced(running: &Running) -> bool {
    matches!(running.client.wait(), Wait::PushVersioned { rebuild: Rebuild::Forced, .. })
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
