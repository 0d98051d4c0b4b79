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
    client::{Client, Readiness},
    connection::CallError,
    documents::Synced,
    requests::{DocumentDiagnostic, ExecuteCommand},
    told::{Published, State},
};
use crate::{diagnostic::Diagnostic, position::Document, table::Wait};

/// How long a server may take to register that it can be asked, after it was initialized.
const REGISTRATION: Duration = Duration::from_millis(1_000);

/// How long to wait for further publishes of a server that was expected to answer and does not.
const PUSHED_SETTLE: Duration = Duration::from_millis(150);

/// tsserver's commands that answer when they are done, and the command that carries them.
const TSSERVER: &str = "typescript.tsserverRequest";
const TSSERVER_COMMANDS: [&str; 2] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

/// Whether a compiler runs after a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    Run,
    /// The checkout is not trusted, and a check runs its code.
    Untrusted,
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
}

/// Where a file stood when it was sent: what was told later counts.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub synced: Synced,
    /// What the server had told before it was sent.
    pub mark: u64,
}

impl Client {
    /// Sends a file as it is on the disk, and remembers what had been told before.
    pub(crate) fn send_file(&self, file: &WorkspacePath) -> agent_workspace::Result<Sent> {
        let mark = self.told.look().sequence();
        Ok(Sent { synced: self.sync(file)?, mark })
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
        match self.wait() {
            Wait::Pull {} => read.pull().await,
            Wait::PushVersioned { settle_ms } => read.versioned(millis(*settle_ms)).await,
            Wait::PushUnversioned { settle_ms, .. } => read.unversioned(millis(*settle_ms)).await,
            Wait::CompilerOnSave { progress, begin_ms, settle_ms } => {
                let check = Check { progress, begin: millis(*begin_ms), tail: millis(*settle_ms) };
                read.on_save(checks, &check).await
            }
            Wait::TsserverSync { settle_ms } => match read.tsserver().await {
                Some(snapshot) => snapshot,
                None => read.unversioned(millis(*settle_ms)).await,
            },
        }
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
        let soon = (Instant::now() + REGISTRATION).min(self.deadline);
        let Some(options) = self.client.offered("textDocument/diagnostic", soon).await else {
            return self.versioned(PUSHED_SETTLE).await;
        };
        match self.asked(&options).await {
            Ok((list, cut)) => self.snapshot(&list, cut, Settled::Yes("the server was asked")),
            Err(why) => self.snapshot(&[], 0, Settled::No(why)),
        }
    }

    async fn asked(&self, options: &Value) -> Result<(Vec<Value>, usize), String> {
        Ok((self.client.pulled(self.file, options, self.deadline).await?, 0))
    }

    async fn versioned(&self, settle: Duration) -> Snapshot {
        let version = i64::from(self.sent.synced.version);
        // The same text again is published no second time.
        let mark = if self.sent.synced.sent { self.sent.mark } else { 0 };
        let fresh = |state: &State| {
            let published = state.published(&self.path)?;
            let counts = match published.version {
                Some(published) => published == version,
                None => published.sequence > mark,
            };
            counts.then(|| published.clone())
        };
        let Some(published) = self.client.told.until(self.deadline, fresh).await else {
            return self.unpublished();
        };
        if settle.is_zero() {
            return self.of(&published, Settled::Yes("it published for this version"));
        }
        self.quiet(settle, "it published for this version").await
    }

    async fn unversioned(&self, settle: Duration) -> Snapshot {
        let mark = if self.sent.synced.sent { self.sent.mark } else { 0 };
        let fresh = |state: &State| {
            state.published(&self.path).filter(|published| published.sequence > mark).map(|_| ())
        };
        if self.client.told.until(self.deadline, fresh).await.is_none() {
            return self.unpublished();
        }
        self.quiet(settle, "it published since, and then was quiet").await
    }

    async fn on_save(&self, checks: Checks, check: &Check<'_>) -> Snapshot {
        let native = match self.client.offers("textDocument/diagnostic") {
            Some(options) => self.asked(&options).await.map(|(list, _)| list),
            None => Ok(Vec::new()),
        };
        let mut list = match native {
            Ok(list) => list,
            Err(why) => return self.snapshot(&[], 0, Settled::No(why)),
        };
        if checks == Checks::Untrusted {
            let why = "only the server's own analysis: its check runs the project's code, and this \
                       checkout is not trusted";
            return self.snapshot(&list, 0, Settled::No(why.to_owned()));
        }
        let mark = self.client.save(self.file);
        let over = |state: &State| {
            let running = state.progress().keys().any(|token| token.starts_with(check.progress));
            let mut ended = state.ended();
            let ended =
                ended.any(|end| end.token.starts_with(check.progress) && end.sequence > mark);
            (ended && !running).then_some(())
        };
        let begins = (Instant::now() + check.begin).min(self.deadline);
        let begun = |state: &State| {
            let running = state.progress().keys().any(|token| token.starts_with(check.progress));
            (running || over(state).is_some()).then_some(())
        };
        let settled = if self.client.told.until(begins, begun).await.is_none() {
            Settled::No("the check after the save has not begun".to_owned())
        } else if self.client.told.until(self.deadline, over).await.is_none() {
            Settled::No("the check after the save still runs".to_owned())
        } else {
            tokio::time::sleep(check.tail).await;
            Settled::Yes("the check after the save ended")
        };
        let checked = self.published();
        let cut = checked.as_ref().map_or(0, |published| published.cut);
        list.extend(checked.into_iter().flat_map(|published| published.diagnostics));
        self.snapshot(&list, cut, settled)
    }

    /// Asks tsserver itself; none where the server does not carry the question.
    async fn tsserver(&self) -> Option<Snapshot> {
        let commands = self.client.capability("/executeCommandProvider/commands")?.as_array()?;
        if !commands.iter().any(|command| command == TSSERVER) {
            return None;
        }
        let mut list = Vec::new();
        for command in TSSERVER_COMMANDS {
            let arguments = json!([command, { "file": self.path }]);
            let params = json!({ "command": TSSERVER, "arguments": arguments });
            let answer = match self.client.ask::<ExecuteCommand>(params, self.deadline).await {
                Ok(answer) => answer,
                Err(error) => return Some(self.snapshot(&[], 0, Settled::No(words(&error)))),
            };
            // A dead tsserver answers without a body.
            let body = answer["body"].as_array()?;
            list.extend(body.iter().map(of_tsserver));
        }
        Some(self.snapshot(&list, 0, Settled::Yes("tsserver was asked")))
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

/// A diagnostic of tsserver as one of the protocol: lines and columns from 1 there, from 0 here.
fn of_tsserver(found: &Value) -> Value {
    let place = |place: &Value| {
        let from_zero = |value: &Value| value.as_u64().unwrap_or(1).saturating_sub(1);
        json!({ "line": from_zero(&place["line"]), "character": from_zero(&place["offset"]) })
    };
    let severity = match found["category"].as_str() {
        Some("error") => 1,
        Some("warning") => 2,
        _ => 4,
    };
    json!({
        "range": { "start": place(&found["start"]), "end": place(&found["end"]) },
        "severity": severity,
        "code": found["code"],
        "source": "typescript",
        "message": found["text"],
    })
}

/// Why a request failed, for a model.
pub(crate) fn words(error: &CallError) -> String {
    match error {
        CallError::Stopped => "the server ended".to_owned(),
        CallError::TimedOut { unread: Some((bytes, long)) } => format!(
            "the server did not answer in time and has not read {bytes} bytes for {:.1} s",
            long.as_secs_f64()
        ),
        CallError::TimedOut { unread: None } => "the server did not answer in time".to_owned(),
        CallError::Refused { code, message } => format!("the server answered: {message} ({code})"),
    }
}
