//! Diagnostics on write: a tool that changed files says at once what the change broke and fixed.

mod beside;
mod configured;
mod debt;
mod late;
mod users;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use agent_tool_core::{
    BoxFuture, ChangeKind, Context, FileChange, Part, Preview, Tool, ToolError, ToolOutput,
    ToolResult, ToolSpec,
};
use agent_workspace::WorkspacePath;
use futures::future::join_all;
use serde_json::{Value, json};

pub(crate) use self::debt::Debts;
use self::{configured::Configured, users::Users};
use crate::{
    Lsp,
    ledger::{Observed, Others, Report, Snapshot as Seen, Unsettled, Written},
    position::Document,
    server::{Checks, Sent, Settled, Snapshot, Watched},
    supervisor::{NoServer, Running},
};

/// How much of a start's budget the start itself may take: three of four parts.
const START_SHARE: (u32, u32) = (3, 4);

/// What a linter does not look for.
const ONLY_LINTED: &str = "no server of its language is installed, only a linter; `lsp` with the action status \
                           says which there are";

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
            let called = Instant::now();
            let output = self.inner.call(args, cx).await?;
            Ok(self.lsp.with_diagnostics(output, called).await)
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

/// A write that is looked at.
struct Write {
    targets: Vec<Target>,
    /// The files among what was written that configure servers.
    configured: Vec<Configured>,
    /// When the tool was called: what a server said before is of the files as they were.
    called: Instant,
    /// The files that changed since the write before, by another hand.
    changed: Vec<String>,
    /// What each server had told before it was told of the write.
    marks: HashMap<String, u64>,
    /// What is known of the files that name what it changes, by server.
    users: HashMap<String, Users>,
}

/// A file that was written, with the servers that take it.
struct Target {
    file: WorkspacePath,
    shown: String,
    /// Whether there was a file before.
    existed: bool,
    /// Its text, where it is known.
    before: Option<String>,
    /// The text now; none where it is gone.
    after: Option<String>,
    servers: Vec<Arc<Running>>,
    /// Servers that exist and could not be asked.
    missing: Vec<NoServer>,
    /// Whether linters alone look at it, since no server of its language is installed.
    only_linted: bool,
}

impl Lsp {
    /// The output with what its changes broke and fixed. Whatever a server does, it stays the output
    /// of a tool that did its job.
    async fn with_diagnostics(&self, mut output: ToolOutput, called: Instant) -> ToolOutput {
        let report = self.after_write(&output.changes, called).await;
        let late = self.take_late();
        let mut texts: Vec<_> = late.iter().map(Report::late_text).collect();
        if report.is_some() || !late.is_empty() {
            let text = report.as_ref().map(Report::text).filter(|text| !text.is_empty());
            texts.extend(text);
            let mut data = report.as_ref().map_or_else(Report::of_nothing, Report::data);
            data.late = late.iter().map(Report::late_data).collect();
            let data = serde_json::to_value(data).unwrap_or_default();
            match &mut output.data {
                Value::Object(fields) => drop(fields.insert("diagnostics".to_owned(), data)),
                empty @ Value::Null => *empty = json!({ "diagnostics": data }),
                // Data of another shape has no room for it; the text has it.
                _ => {}
            }
        }
        texts.into_iter().fold(output, |output, text| output.with_part(Part::text(text)))
    }

    /// Tells the servers of files that were written and waits, within bounds, for what they make of
    /// it. None where no server takes any of them.
    async fn after_write(&self, changes: &[FileChange], called: Instant) -> Option<Report> {
        let mut targets = Vec::new();
        for change in changes {
            targets.extend(self.target(change));
        }
        let begun = Instant::now();
        let waits = self.shared.waits;
        let anew = begun + waits.write_and_start / START_SHARE.1 * START_SHARE.0;
        let configured = self.configured(changes, anew).await;
        if targets.is_empty() && configured.is_empty() {
            return None;
        }
        self.start_reaper();
        // A start may take the most of its budget, the rest is for what servers say that run by then.
        let patience = waits.write_and_start / START_SHARE.1 * START_SHARE.0;
        join_all(targets.iter_mut().map(|target| self.find_servers(target, patience))).await;
        targets.retain(|target| !target.servers.is_empty() || !target.missing.is_empty());
        if targets.is_empty() && configured.is_empty() {
            return None;
        }
        let deadline = (begun + waits.write_and_start).min(Instant::now() + waits.write);
        targets.iter_mut().for_each(Target::remember);
        targets.iter().for_each(|target| self.owe_what_nobody_took(target));
        let one = tokio::time::timeout_at(deadline.into(), self.shared.settling.lock()).await;
        let changed = self.changed_beside(changes, &targets, &configured);
        let mut write = Write {
            targets,
            configured,
            called,
            changed,
            marks: HashMap::default(),
            users: HashMap::default(),
        };
        self.send(&mut write, deadline).await;
        let mut observed = match one {
            Ok(_one) => self.observe(&write, deadline).await,
            Err(_) => self.unobserved(&write.targets, "another write is still being looked at"),
        };
        observed.extend(self.unobserved_anew(&write));
        for running in servers(&write.targets) {
            let users = write.users.get(&key(running)).into_iter();
            observed.extend(users.flat_map(|users| users.left(self, running)));
        }
        let written: Vec<_> = write.targets.iter().map(Target::written).collect();
        let report = self.ledger().settle_with(&written, observed, write.others());
        self.wait_for_late(&report, write);
        Some(report)
    }

    /// The files of the servers' languages that changed since the write before and are none of this one's.
    fn changed_beside(
        &self,
        changes: &[FileChange],
        targets: &[Target],
        configured: &[Configured],
    ) -> Vec<String> {
        let mut cursor = self.shared.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files = self.shared.supervisor.changed_since(&mut cursor);
        let servers = servers_of(targets, configured);
        let mine: Vec<_> = changes
            .iter()
            .filter_map(|change| self.shared.workspace.resolve(&change.path).ok())
            .collect();
        files.retain(|file| {
            let is_mine = mine.contains(file);
            let is_taken = |running: &&Arc<Running>| {
                let client = &running.client;
                client.row().language_of(file.rel()).is_some()
                    || client.is_configured_by(file, Watched::Changed)
            };
            !is_mine && servers.iter().any(is_taken)
        });
        files.iter().map(|file| self.show(file)).collect()
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
        Some(Target {
            file,
            shown,
            existed: change.kind() != ChangeKind::Created,
            before,
            after,
            servers: Vec::new(),
            missing: Vec::new(),
            only_linted: false,
        })
    }

    async fn find_servers(&self, target: &mut Target, patience: Duration) {
        // Nothing is installed for it: that is said by `status`, not by every write.
        let found = self.shared.supervisor.all_within(&target.file, patience).await;
        if let Ok((servers, failures)) = found {
            // One that another stands in for is not among these.
            target.only_linted =
                !servers.is_empty() && failures.iter().any(|failure| !failure.is_told());
            target.servers = servers;
            target.missing = failures.into_iter().filter(NoServer::is_told).collect();
        }
    }

    /// Opens what was there before where nothing is known of it, and files that name what changes, then tells of the write.
    async fn send(&self, write: &mut Write, deadline: Instant) {
        let targets = &write.targets;
        let users = servers(targets).into_iter().map(|running| async move {
            let until = self.until(running, deadline);
            (key(running), self.open_users(targets, running, until).await)
        });
        let users: HashMap<_, _> = join_all(users).await.into_iter().collect();
        let mut baselines = Vec::new();
        for target in targets {
            for running in &target.servers {
                let needed = self.ledger().needs_baseline(&target.shown, &running.id);
                let needed = needed && running.client.was_checked_before(write.called);
                if let (Some(before), true) = (&target.before, needed) {
                    let until = self.until(running, deadline);
                    baselines.push(self.baseline(target, running, before, until));
                }
            }
        }
        let beside = servers(targets).into_iter().map(|running| {
            let until = self.until(running, deadline);
            self.baselines_beside(write, running, users.get(&key(running)), until)
        });
        tokio::join!(join_all(baselines), join_all(beside));
        let mut marks = HashMap::new();
        for running in write.servers() {
            marks.insert(key(running), running.client.told.look().sequence());
            let of_this = |target: &&Target| target.serves(running);
            let mut told: Vec<_> = targets
                .iter()
                .filter(of_this)
                .filter_map(|target| match (target.existed, &target.after) {
                    (_, None) => Some((target.file.clone(), Watched::Deleted)),
                    (false, Some(_)) => Some((target.file.clone(), Watched::Created)),
                    // Those that are open are told with their text.
                    _ if running.client.knows(&target.file) => None,
                    _ => Some((target.file.clone(), Watched::Changed)),
                })
                .collect();
            let configured = write.configured.iter().filter(|one| one.serves(running));
            told.extend(configured.map(|one| (one.file.clone(), one.change)));
            running.client.tell(&told);
            for target in targets.iter().filter(of_this).filter(|target| target.after.is_some()) {
                // What cannot be read any more is told as a file that is gone, by the next look.
                let _ = running.client.sync(&target.file);
            }
        }
        (write.marks, write.users) = (marks, users);
    }

    async fn baseline(
        &self,
        target: &Target,
        running: &Arc<Running>,
        before: &str,
        until: Instant,
    ) {
        let _used = running.hold();
        let synced = running.client.open_before(&target.file, Document::new(before));
        let sent = Sent { synced };
        // A compiler has only the disk, which has the new text by now.
        let checks = Checks::Past;
        let snapshot =
            running.client.settled(&target.file, &target.shown, &sent, checks, until).await;
        if matches!(snapshot.settled, Settled::Yes(_)) {
            self.ledger().baseline(&target.shown, &running.id, snapshot.diagnostics);
        }
    }

    async fn observe(&self, write: &Write, deadline: Instant) -> Vec<Observed> {
        let targets = &write.targets;
        let there = targets.iter().filter(|target| target.after.is_some());
        let pairs: Vec<_> =
            there.flat_map(|target| target.servers.iter().map(move |one| (target, one))).collect();
        let looks = pairs.iter().map(|(target, running)| async move {
            let snapshot = self.settled_now(running, &target.file, &target.shown, deadline).await.0;
            observed(&target.shown, running, snapshot)
        });
        let mut observed: Vec<_> = join_all(looks).await.into_iter().flatten().collect();
        let all_settled = observed.iter().all(|one| match &one.snapshot {
            Seen::Settled(_) | Seen::Unsettled(Unsettled::NotLookedFor { .. }) => true,
            Seen::Unsettled(_) => false,
        });
        // What is said of other files while the written ones are not settled may be of the text before.
        if all_settled {
            observed.extend(self.observe_beside(write, deadline).await);
        } else {
            observed.extend(self.unobserved_beside(write));
        }
        for target in targets.iter().filter(|target| target.after.is_some()) {
            if target.only_linted {
                let why = Unsettled::NotLookedFor { why: ONLY_LINTED.to_owned() };
                observed.push(Observed::new(&target.shown, "the rest", Seen::Unsettled(why)));
            }
            for missing in &target.missing {
                let why = match missing.is_untrusted() {
                    true => Unsettled::NotLookedFor { why: missing.why.clone() },
                    false => Unsettled::TimedOut { waiting_for: missing.why.clone() },
                };
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

    /// What a server says of a file as it is on the disk, and the version of it that this is.
    async fn settled_now(
        &self,
        running: &Arc<Running>,
        file: &WorkspacePath,
        shown: &str,
        deadline: Instant,
    ) -> (Snapshot, Option<i32>) {
        let _used = running.hold();
        let sent = match running.client.send_file(file) {
            Ok(sent) => sent,
            Err(error) => return (Snapshot::unread(error.message()), None),
        };
        let checks = self.shared.supervisor.checks();
        let snapshot = running.client.settled(file, shown, &sent, checks, deadline).await;
        (snapshot, Some(sent.synced.version))
    }
}

impl Write {
    /// The servers of what was written, and those that it configures.
    fn servers(&self) -> Vec<&Arc<Running>> {
        servers_of(&self.targets, &self.configured)
    }

    /// What was written, as shown.
    fn files(&self) -> Vec<String> {
        let configured = self.configured.iter().map(|one| &one.shown);
        self.targets.iter().map(|target| &target.shown).chain(configured).cloned().collect()
    }

    /// The files that were opened in a server since they name what is changed.
    fn opened(&self, running: &Running) -> &[WorkspacePath] {
        self.users.get(&key(running)).map_or(&[], |users| &users.opened)
    }

    /// What is known of the files that may have needed what was changed.
    fn others(&self) -> Others {
        let mut names: Vec<_> =
            self.users.values().flat_map(|users| users.names.iter().cloned()).collect();
        let mut known = HashSet::new();
        names.retain(|name| known.insert(name.clone()));
        let unknown = self.users.values().flat_map(|users| users.unknown.iter().cloned());
        let earlier = self.users.values().flat_map(|users| users.earlier.iter().cloned());
        Others {
            changed: self.changed.clone(),
            earlier: earlier.collect(),
            configures: self
                .configured
                .iter()
                .flat_map(|one| one.names().map(|id| (one.shown.clone(), id.to_owned())))
                .collect(),
            ..Others::new(names, unknown)
        }
    }
}

impl Target {
    /// What a command changed is not told with its text from before: a server may have it.
    fn remember(&mut self) {
        if self.existed && self.before.is_none() {
            let known = self.servers.iter().find_map(|one| one.client.text_of(&self.file));
            self.before = known.map(|document| document.text().to_owned());
        }
    }

    fn serves(&self, running: &Arc<Running>) -> bool {
        self.servers.iter().any(|one| Arc::ptr_eq(one, running))
    }

    /// Whether a server cannot be shown the file as it was: it is gone, or its text from before is not known.
    fn is_past(&self) -> bool {
        self.existed && (self.before.is_none() || self.after.is_none())
    }

    fn written(&self) -> Written {
        // A text that is not known is no reason to take any line for a new one.
        let same = self.existed.then(|| self.after.as_deref().unwrap_or_default());
        Written::new(self.shown.clone(), self.before.as_deref().or(same), self.after.as_deref())
    }
}

/// Every server of the files, once.
fn servers(targets: &[Target]) -> Vec<&Arc<Running>> {
    servers_of(targets, &[])
}

/// The same with those that are configured.
fn servers_of<'a>(targets: &'a [Target], configured: &'a [Configured]) -> Vec<&'a Arc<Running>> {
    let mut all: Vec<&Arc<Running>> = Vec::new();
    let written = targets.iter().flat_map(|target| &target.servers);
    for running in written.chain(configured.iter().flat_map(|one| &one.servers)) {
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
        (Settled::Yes(_) | Settled::InPart(_), None) => Seen::Settled(snapshot.diagnostics),
        (_, Some(_)) => Seen::Unsettled(Unsettled::Crashed),
        (Settled::No(why), None) => Seen::Unsettled(Unsettled::TimedOut { waiting_for: why }),
    }
}

/// What a server said of a file, and what it does not look for.
fn observed(shown: &str, running: &Running, snapshot: Snapshot) -> Vec<Observed> {
    let mut observed = Vec::new();
    if let Settled::InPart(why) = &snapshot.settled {
        let rest = Seen::Unsettled(Unsettled::NotLookedFor { why: why.clone() });
        observed.push(Observed::new(shown, format!("{}, the rest", running.id), rest));
    }
    observed.insert(0, Observed::new(shown, &running.id, seen(running, snapshot)));
    observed
}
