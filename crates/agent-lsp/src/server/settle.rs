//! When a file's diagnostics are those of the text that was sent, and not of one before.
//!
//! No way of waiting holds for all servers. Some answer when they are asked, some publish with a
//! version, some without one, some publish nothing where nothing changed, and one lets a compiler
//! run after a save. Which it is stands in the server table.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use agent_workspace::WorkspacePath;
use serde_json::{Value, json};

use super::{
    client::Client,
    connection::CallError,
    documents::Synced,
    readiness::Readiness,
    requests::DocumentDiagnostic,
    sync::LastSent,
    told::{Published, State},
};
use crate::{
    diagnostic::Diagnostic,
    position::Document,
    table::{Rebuild, Wait},
};

/// How long to wait for further publishes of a server that was expected to answer and does not.
const PUSHED_SETTLE: Duration = Duration::from_millis(150);

/// How long nothing must be published any more for texts that were sent together.
const TOGETHER: Duration = Duration::from_millis(20);

/// Whether a compiler runs after a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    Run,
    /// The checkout is not trusted, and a check runs its code.
    Untrusted,
    /// What the last one found: the disk is another by now.
    Past,
}

/// A file's diagnostics, and whether they are those of its present text.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub diagnostics: Vec<Diagnostic>,
    /// How many more there are than are listed.
    pub cut: usize,
    pub settled: Settled,
}

impl Snapshot {
    /// A file that could not be read.
    pub(crate) fn unread(why: &str) -> Self {
        Self { diagnostics: Vec::new(), cut: 0, settled: Settled::No(why.to_owned()) }
    }
}

/// Whether diagnostics are those of the text that the server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// They are: what shows it.
    Yes(&'static str),
    /// That is not known: why.
    No(String),
    /// They are those of a part of what there is to look for, and the rest is not looked for: why.
    InPart(String),
}

/// A file as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub synced: Synced,
}

impl Client {
    /// Sends a file as it is on the disk.
    pub(crate) fn send_file(&self, file: &WorkspacePath) -> agent_workspace::Result<Sent> {
        Ok(Sent { synced: self.sync(file)? })
    }

    /// Waits until the diagnostics of a file are those of what was sent, or until `deadline`.
    pub(crate) async fn settled(
        self: &Arc<Self>,
        file: &WorkspacePath,
        shown: &str,
        sent: &Sent,
        checks: Checks,
        deadline: Instant,
    ) -> Snapshot {
        let read = Reading { client: self, path: self.path(file), file, shown, sent, deadline };
        if let Readiness::Unhealthy(why) | Readiness::Busy(why) = self.ready(deadline).await {
            let list = read.published().map_or_else(Vec::new, |found| found.diagnostics);
            return read.snapshot(&list, 0, Settled::No(format!("not ready: {why}")));
        }
        let snapshot = match self.wait() {
            Wait::Pull {} => read.pull().await,
            Wait::PushVersioned { settle_ms, .. } => read.versioned(millis(*settle_ms)).await,
            Wait::PushUnversioned { settle_ms, budget_ms, .. } => {
                read.unversioned(millis(*settle_ms), millis(*budget_ms)).await
            }
            Wait::CompilerOnSave { progress, begin_ms, settle_ms } => {
                let check = Check { progress, begin: millis(*begin_ms), tail: millis(*settle_ms) };
                read.on_save(checks, &check).await
            }
            Wait::TsserverSync { settle_ms } => match read.tsserver().await {
                Some(snapshot) => snapshot,
                None => read.unversioned(millis(*settle_ms), Duration::MAX).await,
            },
        };
        if self.told.is_over() {
            self.exit_seen().await;
            return read.snapshot(&[], 0, Settled::No("the server ended".to_owned()));
        }
        if self.has_text(file, &sent.synced.document) {
            return snapshot;
        }
        read.snapshot(&[], 0, Settled::No("the file was changed meanwhile".to_owned()))
    }

    /// The diagnostics of a file that was not changed, at a time when those of the changed ones are final:
    /// asked for where the server can be asked, else what it published last.
    pub(crate) async fn settled_beside(
        self: &Arc<Self>,
        file: &WorkspacePath,
        shown: &str,
        sent: &Sent,
        checks: Checks,
        deadline: Instant,
    ) -> Snapshot {
        let read = Reading { client: self, path: self.path(file), file, shown, sent, deadline };
        let asked = match self.wait() {
            Wait::CompilerOnSave { progress, begin_ms, settle_ms } => {
                let check = Check { progress, begin: millis(*begin_ms), tail: millis(*settle_ms) };
                Some(read.on_save(checks, &check).await)
            }
            Wait::Pull {} => match self.offers("textDocument/diagnostic") {
                Some(options) => Some(read.answered(&options).await),
                None => None,
            },
            Wait::TsserverSync { .. } => read.tsserver().await,
            Wait::PushVersioned { rebuild: Rebuild::Forced, .. } => Some(read.looked_again().await),
            _ => None,
        };
        match (asked, read.published()) {
            (Some(asked), _) => asked,
            (None, Some(published)) => read.of(&published, Settled::Yes("it published last")),
            (None, None) => read.unpublished(),
        }
    }

    /// Whether a file's diagnostics come by being asked for, so that those of files beside a changed one
    /// are asked for too.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(
            self.wait(),
            Wait::Pull {}
                | Wait::TsserverSync { .. }
                | Wait::CompilerOnSave { .. }
                | Wait::PushVersioned { rebuild: Rebuild::Forced, .. }
        )
    }

    /// What the server says of a file at this moment, as it sends it: what it answers when it is asked,
    /// and what it published.
    pub(crate) async fn raw_diagnostics(
        &self,
        file: &WorkspacePath,
        deadline: Instant,
    ) -> Vec<Value> {
        let asked = match self.offers("textDocument/diagnostic") {
            Some(options) => self.pulled(file, &options, deadline).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let published = self.published(&self.path(file)).map(|published| published.diagnostics);
        asked.into_iter().chain(published.unwrap_or_default()).collect()
    }

    /// What the server answers when it is asked for a file's diagnostics, or why it gives none.
    async fn pulled(
        &self,
        file: &WorkspacePath,
        options: &Value,
        deadline: Instant,
    ) -> Result<Vec<Value>, String> {
        let mut params = json!({ "textDocument": { "uri": self.uri(file) } });
        if let Some(identifier) = options["identifier"].as_str() {
            params["identifier"] = json!(identifier);
        }
        let answer = self.ask::<DocumentDiagnostic>(params, deadline).await;
        let mut answer = answer.map_err(|error| words(&error))?;
        match answer["items"].take() {
            Value::Array(items) => Ok(items),
            _ => Err("the server gave no list of diagnostics".to_owned()),
        }
    }

    /// Diagnostics that were published for a file, whatever they are of.
    pub(crate) fn published(&self, path: &Path) -> Option<Published> {
        self.told.look().published(path).cloned()
    }
}

/// How a check after a save shows.
struct Check<'a> {
    /// How the tokens of its progress begin.
    progress: &'a str,
    /// How long it may take to begin.
    begin: Duration,
    /// How long after its end its last publish may come.
    tail: Duration,
}

struct Reading<'a> {
    client: &'a Arc<Client>,
    path: std::path::PathBuf,
    file: &'a WorkspacePath,
    shown: &'a str,
    sent: &'a Sent,
    deadline: Instant,
}

impl Reading<'_> {
    async fn pull(&self) -> Snapshot {
        match self.client.offered("textDocument/diagnostic", self.deadline).await {
            Some(options) => self.answered(&options).await,
            None => self.versioned(PUSHED_SETTLE).await,
        }
    }

    async fn answered(&self, options: &Value) -> Snapshot {
        match self.asked(options).await {
            Ok((list, cut)) => self.snapshot(&list, cut, Settled::Yes("the server was asked")),
            Err(why) => self.snapshot(&[], 0, Settled::No(why)),
        }
    }

    async fn asked(&self, options: &Value) -> Result<(Vec<Value>, usize), String> {
        Ok((self.client.pulled(self.file, options, self.deadline).await?, 0))
    }

    async fn versioned(&self, settle: Duration) -> Snapshot {
        let (version, mark) = (i64::from(self.sent.synced.version), self.sent.synced.mark);
        let fresh = |state: &State| {
            let published = state.published(&self.path)?;
            let counts = match published.version {
                // A later one is of the same text, or the text is found to be another at the end.
                Some(published) => published >= version,
                None => published.sequence > mark,
            };
            counts.then(|| published.clone())
        };
        let Some(published) = self.client.told.until(self.deadline, fresh).await else {
            return self.unpublished();
        };
        if matches!(self.client.wait(), Wait::PushVersioned { rebuild: Rebuild::Forced, .. }) {
            return self.looked_again().await;
        }
        let how = "it published for this version";
        // Of texts that were sent together the first is looked at before the others came.
        if self.client.last_sent().texts > 1 {
            return self.quiet(settle.max(TOGETHER), how).await;
        }
        self.still(published, settle, how).await
    }

    /// What is published for a text that was the last thing that the server was told, and else what it
    /// publishes when it is made to look at the text again. By itself it publishes at times and takes a file
    /// that was missing for missing still.
    async fn looked_again(&self) -> Snapshot {
        let how = Settled::Yes("it published for this version");
        let told = self.client.last_sent().mark;
        if let Some(published) = self.published().filter(|_| self.sent.synced.mark >= told) {
            return self.of(&published, how);
        }
        let Some(version) = self.client.rebuild(self.file) else { return self.unpublished() };
        let fresh = |state: &State| {
            let published = state.published(&self.path)?;
            let is_fresh = published.version.is_some_and(|found| found >= i64::from(version));
            is_fresh.then(|| published.clone())
        };
        match self.client.told.until(self.deadline, fresh).await {
            Some(published) => self.of(&published, how),
            None => self.unpublished(),
        }
    }

    /// What was published before another file changed, unless that change makes the server publish anew.
    async fn beside(&self, published: Published) -> Published {
        let LastSent { at, mark, .. } = self.client.last_sent();
        if published.sequence > mark {
            return published;
        }
        let newer = |state: &State| {
            state.published(&self.path).filter(|found| found.sequence > mark).cloned()
        };
        let end = (at + self.client.wait().beside()).min(self.deadline);
        self.client.told.until(end, newer).await.unwrap_or(published)
    }

    async fn unversioned(&self, settle: Duration, budget: Duration) -> Snapshot {
        let mark = self.sent.synced.mark;
        let fresh = |state: &State| {
            state.published(&self.path).filter(|published| published.sequence > mark).cloned()
        };
        let now = Instant::now();
        let first = now.checked_add(budget).unwrap_or(self.deadline).min(self.deadline);
        let Some(published) = self.client.told.until(first, fresh).await else {
            return self.unpublished();
        };
        self.still(published, settle, "it published since, and then was quiet").await
    }

    /// What was published, once nothing more came for so long.
    async fn still(&self, published: Published, settle: Duration, how: &'static str) -> Snapshot {
        let last = self.beside(published).await;
        if last.at.elapsed() >= settle {
            return self.of(&last, Settled::Yes(how));
        }
        self.quiet(settle.saturating_sub(last.at.elapsed()), how).await
    }

    async fn on_save(&self, checks: Checks, check: &Check<'_>) -> Snapshot {
        // First the check, and then what the server finds by itself: it reads a file that others changed a
        // little after it was told of it, and is not heard to have done so.
        let settled = match checks {
            Checks::Untrusted => Settled::InPart(
                "only the server's own analysis: its check runs the project's code, and this \
                 checkout is not trusted"
                    .to_owned(),
            ),
            Checks::Past if self.was_checked(check) => Settled::Yes("the last check ended"),
            Checks::Past => Settled::No("no check has ended yet".to_owned()),
            Checks::Run => self.checked(check).await,
        };
        let native = match self.client.offers("textDocument/diagnostic") {
            Some(options) => self.asked(&options).await.map(|(list, _)| list),
            None => Ok(Vec::new()),
        };
        let mut list = match native {
            Ok(list) => list,
            Err(why) => return self.snapshot(&[], 0, Settled::No(why)),
        };
        if checks == Checks::Untrusted {
            return self.snapshot(&list, 0, settled);
        }
        let checked = self.published();
        let cut = checked.as_ref().map_or(0, |published| published.cut);
        list.extend(checked.into_iter().flat_map(|published| published.diagnostics));
        self.snapshot(&list, cut, settled)
    }

    fn was_checked(&self, check: &Check<'_>) -> bool {
        let told = self.client.told.look();
        let ended = told.ended().any(|end| end.token.starts_with(check.progress));
        ended && !told.progress().keys().any(|token| token.starts_with(check.progress))
    }

    /// Saves, and waits until a check that began since has ended and none runs.
    async fn checked(&self, check: &Check<'_>) -> Settled {
        self.client.save(self.file);
        // Another save that comes meanwhile cuts the check short that this one started.
        let mark = || self.client.saved_at();
        let mine = |token: &str| token.starts_with(check.progress);
        let runs = |state: &State| state.progress().keys().any(|token| mine(token));
        // One that began before the save looked at the text before.
        let over = |state: &State| {
            let ended = state.ended().any(|end| mine(&end.token) && end.began > mark());
            let last = state.ended().filter(|end| mine(&end.token)).map(|end| end.at).max();
            last.filter(|_| ended && !runs(state))
        };
        let begins = (Instant::now() + check.begin).min(self.deadline);
        let begun = |state: &State| {
            let mut running = state.progress().iter();
            let running = running.any(|(token, progress)| mine(token) && progress.began > mark());
            (running || over(state).is_some()).then_some(())
        };
        if self.client.told.until(begins, begun).await.is_none() {
            return Settled::No("the check after the save has not begun".to_owned());
        }
        loop {
            let Some(ended) = self.client.told.until(self.deadline, over).await else {
                return Settled::No("the check after the save still runs".to_owned());
            };
            // One that was cut short by the next save ends too, and then the next begins.
            let again = |state: &State| runs(state).then_some(());
            if self.client.told.until(ended + check.tail, again).await.is_none() {
                return Settled::Yes("the check after the save ended");
            }
        }
    }

    /// Asks tsserver itself; none where the server does not carry the question.
    async fn tsserver(&self) -> Option<Snapshot> {
        let answer = self.client.tsserver_diagnostics(&self.path, self.deadline).await?;
        Some(match answer {
            Ok(list) => self.snapshot(&list, 0, Settled::Yes("tsserver was asked")),
            Err(error) => self.snapshot(&[], 0, Settled::No(words(&error))),
        })
    }

    /// Waits until nothing more is published for so long.
    async fn quiet(&self, settle: Duration, how: &'static str) -> Snapshot {
        let watched = |state: &State| state.published(&self.path).map(|found| found.sequence);
        let quiet = self.client.told.quiet(settle, self.deadline, watched).await;
        let settled = if quiet {
            Settled::Yes(how)
        } else {
            Settled::No("the server still publishes".to_owned())
        };
        match self.published() {
            Some(published) => self.of(&published, settled),
            None => self.unpublished(),
        }
    }

    fn published(&self) -> Option<Published> {
        self.client.published(&self.path)
    }

    fn unpublished(&self) -> Snapshot {
        let why = "the server has published nothing for this text".to_owned();
        self.snapshot(&[], 0, Settled::No(why))
    }

    fn of(&self, published: &Published, settled: Settled) -> Snapshot {
        self.snapshot(&published.diagnostics, published.cut, settled)
    }

    fn snapshot(&self, list: &[Value], cut: usize, settled: Settled) -> Snapshot {
        let document: &Document = &self.sent.synced.document;
        let encoding = self.client.encoding();
        let read = |value| Diagnostic::of_lsp(value, self.shown, document, encoding);
        Snapshot { diagnostics: list.iter().filter_map(read).collect(), cut, settled }
    }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Why a request failed, for a model.
pub(crate) fn words(error: &CallError) -> String {
    match error {
        CallError::Stopped => "the server ended".to_owned(),
        CallError::Deaf { bytes, long } => format!(
            "the server reads nothing, so it was ended: {bytes} bytes wait for it, and it took none for {:.1} s",
            long.as_secs_f64()
        ),
        CallError::InnerEnded => "its tsserver ended, so it was ended too; ask again".to_owned(),
        CallError::TimedOut { unread: Some((bytes, long)) } => format!(
            "the server did not answer in time and has not read {bytes} bytes for {:.1} s",
            long.as_secs_f64()
        ),
        CallError::TimedOut { unread: None } => "the server did not answer in time".to_owned(),
        CallError::Refused { code, message } => format!("the server answered: {message} ({code})"),
    }
}
