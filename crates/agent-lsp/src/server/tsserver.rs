//! tsserver, which some language servers start and hand their questions to. It can be asked past them, and
//! answers when it is done.

mod reload;

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
    sync::{MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use agent_workspace::WorkspacePath;
use serde_json::{Value, json};

use self::reload::Made;
use super::{client::Client, connection::CallError, documents::Watched, requests::ExecuteCommand};

/// The command that carries a question.
const REQUEST: &str = "typescript.tsserverRequest";

/// What is asked for the diagnostics of a file.
const DIAGNOSTICS: [&str; 2] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

/// What loads the project of a file before it is answered.
const PROJECT: &str = "projectInfo";

/// What stands in an error of tsserver's own.
const REFUSES: &str = "TypeScript Server Error";

/// How long it is asked whether it has noticed that a file is gone: its slowest timer is much faster.
const NOTICES_GONE_WITHIN: Duration = Duration::from_secs(10);

/// How long it is asked whether it has noticed a file that was made: not every file belongs to a project.
const NOTICES_MADE_WITHIN: Duration = Duration::from_secs(1);

/// How long between two such questions.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What is known of a server's tsserver.
#[derive(Debug, Default)]
pub(super) struct Tsserver {
    /// The files whose projects it has loaded.
    loaded: HashSet<WorkspacePath>,
    /// Files that came and went: it watches the disk by itself, and until it notices it answers as before.
    unnoticed: BTreeMap<WorkspacePath, Change>,
    /// The files that were made, which it may go on missing.
    made: Made,
}

/// What became of a file.
#[derive(Clone, Copy, Debug)]
struct Change {
    since: Instant,
    is_gone: bool,
}

impl Change {
    /// Whether it may be unnoticed yet.
    fn is_young(&self) -> bool {
        let within = if self.is_gone { NOTICES_GONE_WITHIN } else { NOTICES_MADE_WITHIN };
        self.since.elapsed() < within
    }
}

impl Client {
    /// The diagnostics that tsserver finds in a file, as the protocol has them. None where the question is
    /// not carried, or tsserver is dead: then it is answered without a body.
    pub(super) async fn tsserver_diagnostics(
        &self,
        file: &Path,
        deadline: Instant,
    ) -> Option<Result<Vec<Value>, CallError>> {
        let mut list = Vec::new();
        for question in DIAGNOSTICS {
            let answer =
                match self.ask_tsserver(question, json!({ "file": file }), deadline).await? {
                    Ok(answer) => answer,
                    Err(error) => return Some(Err(error)),
                };
            list.extend(answer["body"].as_array()?.iter().map(diagnostic));
        }
        Some(Ok(list))
    }

    /// Waits until tsserver has loaded the projects of the files that are open. Until then another one
    /// answers that knows single files, and nothing in its answers tells so.
    pub(super) async fn load_projects(&self, deadline: Instant) {
        for file in self.open_files() {
            let is_new = !self.tsserver().loaded.contains(&file);
            if is_new {
                let args = json!({ "file": self.path(&file), "needFileNameList": false });
                if let Some(Ok(answer)) = self.ask_tsserver(PROJECT, args, deadline).await
                    && !answer["body"].is_null()
                {
                    self.tsserver().loaded.insert(file);
                }
            }
        }
    }

    /// Whether tsserver lives, as far as it can be asked. Where it is dead, the server that started it answers every question with
    /// nothing, and says so to nobody.
    ///
    /// # Errors
    ///
    /// That it is dead, or why it is not known.
    pub(super) async fn tsserver_lives(&self, deadline: Instant) -> Result<(), CallError> {
        let Some(file) = self.open_files().into_iter().next() else { return Ok(()) };
        let args = json!({ "file": self.path(&file), "needFileNameList": false });
        match self.ask_tsserver(PROJECT, args, deadline).await {
            Some(Ok(answer)) if answer["body"].is_null() => Err(CallError::InnerEnded),
            Some(Err(CallError::Refused { message, .. })) if message.contains(REFUSES) => Ok(()),
            Some(Err(error)) => Err(error),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    async fn ask_tsserver(
        &self,
        question: &str,
        args: Value,
        deadline: Instant,
    ) -> Option<Result<Value, CallError>> {
        let commands = self.capability("/executeCommandProvider/commands")?.as_array()?;
        if !commands.iter().any(|command| command == REQUEST) {
            return None;
        }
        let params = json!({ "command": REQUEST, "arguments": [question, args] });
        Some(self.ask_again::<ExecuteCommand>(params, deadline).await)
    }

    /// Takes note of a file that it is left to notice by itself.
    pub(super) fn tsserver_has_to_notice(&self, file: &WorkspacePath, change: Watched) {
        let is_gone = match change {
            Watched::Deleted => true,
            Watched::Created => false,
            Watched::Changed => return,
        };
        if !is_gone {
            self.tsserver_may_miss(file);
        }
        let change = Change { since: Instant::now(), is_gone };
        self.tsserver().unnoticed.insert(file.clone(), change);
    }

    /// Waits until the project of a file has what was made and none of what is gone; gives what is gone and it still
    /// has at the end.
    pub(super) async fn unnoticed(&self, file: &Path, deadline: Instant) -> Option<WorkspacePath> {
        loop {
            let changes = {
                let unnoticed = &mut self.tsserver().unnoticed;
                unnoticed.retain(|_, change| change.is_young());
                unnoticed.clone()
            };
            if changes.is_empty() {
                return None;
            }
            let args = json!({ "file": file, "needFileNameList": true });
            // What cannot be asked says so when it is asked for diagnostics.
            let answer = self.ask_tsserver(PROJECT, args, deadline).await?.ok()?;
            let names = answer["body"]["fileNames"].as_array()?;
            let names: HashSet<&Path> =
                names.iter().filter_map(Value::as_str).map(Path::new).collect();
            let is_unnoticed = |(file, change): &(WorkspacePath, Change)| {
                names.contains(self.path(file).as_path()) == change.is_gone
            };
            let (first, change) = changes.into_iter().find(is_unnoticed)?;
            if Instant::now() + LOOK_AGAIN >= deadline {
                return change.is_gone.then_some(first);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn tsserver(&self) -> MutexGuard<'_, Tsserver> {
        self.tsserver.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A diagnostic of tsserver as one of the protocol: lines and columns from 1 there, from 0 here.
fn diagnostic(found: &Value) -> Value {
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
