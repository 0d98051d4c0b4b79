//! When a file's diagnostics are those of the text that was sent, and not of one before.
//!
//! No way of waiting holds for all servers. Some answer when they are asked, some publish with a
//! version, some without one, some publish nothing where nothing changed, and one lets a compiler
//! run after a save. Which it is stands in the server table.

mod on_save;

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

/// What asks for a file's diagnostics.
const DIAGNOSTIC: &str = "textDocument/diagnostic";

/// How long to wait for further publishes of a server that was expected to answer and does not.
const PUSHED_SETTLE: Duration = Duration::from_millis(150);

/// How long nothing must be published any more for texts that were sent together.
const TOGETHER: Duration = Duration::from_millis(20);

/// How long a server must have been idle that was at work after it published: it may publish once more.
const BUILT: Duration = Duration::from_millis(1_000);

/// How often that is looked at.
const BUILT_LOOK: Duration = Duration::from_millis(50);

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
            Wait::CompilerOnSave(times) => read.on_save(checks, times).await,
            Wait::TsserverSync { settle_ms } => match read.tsserver().await {
                Some(snapshot) => snapshot,
                None => read.unversioned(millis(*settle_ms), Duration::MAX).await,
            },
        };
        if self.told.is_over() {
            self.exit_seen().await;
            return read.snapshot(&[], 0, Settled::No("the server ended".to_owned()));
        }
        // It may have logged so since it was found to be ready, and have published in between.
        if let Some(why) = self.unloaded() {
            return read.snapshot(&[], 0, Settled::No(format!("not ready: {why}")));
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
        self.reads_by_itself(deadline).await;
        let asked = match self.wait() {
            Wait::CompilerOnSave(check) => Some(read.on_save(checks, check).await),
            Wait::Pull {} => match self.offered(DIAGNOSTIC, deadline).await {
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

    /// Whether what it has is of the files before a moment: a compiler that ran since may have seen what was written then.
    pub(crate) fn was_checked_before(&self, moment: Instant) -> bool {
        let Wait::CompilerOnSave(check) = self.wait() else { return true };
        let told = self.told.look();
        let last = told.checks(check).map(|end| end.at).max();
        last.is_some_and(|at| at < moment) && !told.is_checking(check)
    }

    /// What was published last for a file, once the server is done with it.
    pub(crate) fn as_published(
        self: &Arc<Self>,
        file: &WorkspacePath,
        shown: &str,
        sent: &Sent,
        deadline: Instant,
    ) -> Snapshot {
        let read = Reading { client: self, path: self.path(file), file, shown, sent, deadline };
        let is_built = self.told.look().is_built(&read.path, Duration::ZERO);
        match read.published() {
            Some(published) if is_built => read.of(&published, Settled::Yes("it published last")),
            _ => read.unpublished(),
        }
    }

    /// Whether a file's diagnostics come by being asked for, so that those of files beside a changed one
    /// are asked for too.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(
            self.wait(),
            Wait::Pull {}
                | Wait::TsserverSync { .. }
                | Wait::CompilerOnSave(_)
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
        let asked = match self.offers(DIAGNOSTIC) {
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
        if let Some(options) = self.client.offered(DIAGNOSTIC, self.deadline).await {
            return self.answered(&options).await;
        }
        // It publishes, or it is on a machine that is so busy that it still starts.
        let either = |state: &State| match state.registered(DIAGNOSTIC) {
            Some(options) => Some(Ok(options.clone())),
            None => self.fresh(state).map(Err),
        };
        match self.client.told.until(self.deadline, either).await {
            Some(Ok(options)) => self.answered(&options).await,
            Some(Err(_)) => self.versioned(PUSHED_SETTLE).await,
            None => self.unpublished(),
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

    /// What was published for the text that was sent.
    fn fresh(&self, state: &State) -> Option<Published> {
        let published = state.published(&self.path)?;
        let counts = match published.version {
            // A later one is of the same text, or the text is found to be another at the end.
            Some(version) => version >= i64::from(self.sent.synced.version),
            None => published.sequence > self.sent.synced.mark,
        };
        counts.then(|| published.clone())
    }

    async fn versioned(&self, settle: Duration) -> Snapshot {
        let fresh = |state: &State| self.fresh(state);
        let Some(published) = self.client.told.until(self.deadline, fresh).await else {
            return self.unpublished();
        };
        if self.is_unloaded(&published) {
            return self.rebuilt(settle).await;
        }
        let Some(published) = self.built(published).await else {
            return self.snapshot(
                &[],
                0,
                Settled::No("the server still builds the file".to_owned()),
            );
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

    /// Whether it was published while the project could not be read, which is over.
    fn is_unloaded(&self, published: &Published) -> bool {
        let Some(unloaded) = &self.client.row().unloaded else { return false };
        let told = self.client.told.look();
        let mut over = told.ended().filter(|end| end.title == unloaded.shows);
        over.any(|end| end.sequence > published.sequence)
    }

    /// What is published for the text once it is sent again.
    async fn rebuilt(&self, settle: Duration) -> Snapshot {
        let Some(version) = self.client.rebuild(self.file) else { return self.unpublished() };
        let fresh = |state: &State| {
            let version_of = state.published(&self.path)?.version?;
            (version_of >= i64::from(version)).then_some(())
        };
        match self.client.told.until(self.deadline, fresh).await {
            Some(()) => self.quiet(settle, "it published for this version").await,
            None => self.unpublished(),
        }
    }

    /// What is published for a text that was the last thing that the server was told, and else what it
    /// publishes when it is made to look at the text again. By itself it publishes at times and takes a file
    /// that was missing for missing still.
    async fn looked_again(&self) -> Snapshot {
        let how = Settled::Yes("it published for this version");
        let LastSent { mark: told, texts, .. } = self.client.last_sent();
        // Of texts that were sent together none was looked at with the others known.
        let was_last = texts <= 1 && self.sent.synced.mark >= told;
        if let Some(published) = self.published().filter(|_| was_last) {
            return self.of(&published, how);
        }
        let Some(version) = self.client.rebuild(self.file) else { return self.unpublished() };
        let fresh = |state: &State| {
            let published = state.published(&self.path)?;
            let is_fresh = published.version.is_some_and(|found| found >= i64::from(version));
            is_fresh.then(|| published.clone())
        };
        let Some(published) = self.client.told.until(self.deadline, fresh).await else {
            return self.unpublished();
        };
        match self.built(published).await {
            Some(published) => self.of(&published, how),
            None => {
                self.snapshot(&[], 0, Settled::No("the server still builds the file".to_owned()))
            }
        }
    }

    /// What was published last once the server is done with the file. At first clangd publishes what it finds with the headers as
    /// they were, which are new text at old places.
    async fn built(&self, published: Published) -> Option<Published> {
        let done = |state: &State| state.is_built(&self.path, BUILT).then_some(());
        loop {
            let again = (Instant::now() + BUILT_LOOK).min(self.deadline);
            if self.client.told.until(again, done).await.is_some() {
                return Some(self.published().unwrap_or(published));
            }
            if Instant::now() >= self.deadline {
                return None;
            }
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

    /// What was published, or what it is after the server took back what it said of a file that it did not know yet.
    async fn withdrawn(&self, published: Published) -> Published {
        let Some(source) = self.client.wait().provisional() else { return published };
        let is_provisional = |published: &Published| {
            published.diagnostics.iter().any(|found| found["source"] == source)
        };
        if !is_provisional(&published) {
            return published;
        }
        let end = (published.at + self.client.wait().beside()).min(self.deadline);
        let other = |state: &State| {
            state.published(&self.path).filter(|found| !is_provisional(found)).cloned()
        };
        self.client.told.until(end, other).await.unwrap_or(published)
    }

    /// What was published, once nothing more came for so long.
    async fn still(&self, published: Published, settle: Duration, how: &'static str) -> Snapshot {
        let last = self.withdrawn(self.beside(published).await).await;
        if last.at.elapsed() >= settle {
            return self.of(&last, Settled::Yes(how));
        }
        self.quiet(settle.saturating_sub(last.at.elapsed()), how).await
    }

    /// Asks tsserver itself; none where the server does not carry the question.
    async fn tsserver(&self) -> Option<Snapshot> {
        if let Some(file) = self.client.unnoticed(&self.path, self.deadline).await {
            let why = format!("tsserver has not noticed yet that {} is gone", file.rel().display());
            return Some(self.snapshot(&[], 0, Settled::No(why)));
        }
        let loaded = self.client.projects_loaded().await;
        let mut answer = self.client.tsserver_diagnostics(&self.path, self.deadline).await?;
        if let Ok(found) = &answer {
            match self.client.loads_what_is_missed(found, loaded, self.deadline).await {
                Ok(false) => {}
                Ok(true) => {
                    answer = self.client.tsserver_diagnostics(&self.path, self.deadline).await?;
                }
                Err(why) => return Some(self.snapshot(found, 0, Settled::No(why))),
            }
        }
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
        CallError::Stuck { bytes, long } => format!(
            "the server has not read {bytes} bytes for {:.0} s, so it is asked nothing until it does; `lsp reload` starts it anew",
            long.as_secs_f64()
        ),
        CallError::InnerEnded => "its tsserver ended, so it was ended too; ask again".to_owned(),
        CallError::TimedOut { unread: Some((bytes, long)) } => format!(
            "the server did not answer in time and has not read {bytes} bytes for {:.1} s",
            long.as_secs_f64()
        ),
        CallError::TimedOut { .. } => "the server did not answer in time".to_owned(),
        CallError::Refused { code, message } => format!("the server answered: {message} ({code})"),
    }
}
