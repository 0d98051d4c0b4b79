//! tsserver, which some language servers start and hand their questions to. It can be asked past them, and
//! answers when it is done.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
    sync::{MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use agent_workspace::WorkspacePath;
use serde_json::{Value, json};

use super::{client::Client, connection::CallError, documents::Watched, requests::ExecuteCommand};

/// The command that carries a question.
const REQUEST: &str = "typescript.tsserverRequest";

/// What is asked for the diagnostics of a file.
const DIAGNOSTICS: [&str; 2] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

/// What loads the project of a file before it is answered.
const PROJECT: &str = "projectInfo";

/// How long it is asked whether it has noticed that a file is gone: its slowest timer is much faster.
const NOTICES_WITHIN: Duration = Duration::from_secs(10);

/// How long between two such questions.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What is known of a server's tsserver.
#[derive(Debug, Default)]
pub(super) struct Tsserver {
    /// The files whose projects it has loaded.
    loaded: HashSet<WorkspacePath>,
    /// Files that are gone, since when: it watches the disk by itself, and until it notices it answers as if they
    /// were there.
    gone: BTreeMap<WorkspacePath, Instant>,
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
                if let Some(Ok(_)) = self.ask_tsserver(PROJECT, args, deadline).await {
                    self.tsserver().loaded.insert(file);
                }
            }
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
        Some(self.ask::<ExecuteCommand>(params, deadline).await)
    }

    /// Takes note of a file that it is left to notice by itself.
    pub(super) fn tsserver_has_to_notice(&self, file: &WorkspacePath, change: Watched) {
        let gone = &mut self.tsserver().gone;
        match change {
            Watched::Deleted => drop(gone.insert(file.clone(), Instant::now())),
            Watched::Created | Watched::Changed => drop(gone.remove(file)),
        }
    }

    /// Waits until the project of a file has none of those that are gone; gives one that it still has at the end.
    pub(super) async fn unnoticed(&self, file: &Path, deadline: Instant) -> Option<WorkspacePath> {
        loop {
            let gone: Vec<WorkspacePath> = {
                let gone = &mut self.tsserver().gone;
                gone.retain(|_, since| since.elapsed() < NOTICES_WITHIN);
                gone.keys().cloned().collect()
            };
            if gone.is_empty() {
                return None;
            }
            let args = json!({ "file": file, "needFileNameList": true });
            // What cannot be asked says so when it is asked for diagnostics.
            let answer = self.ask_tsserver(PROJECT, args, deadline).await?.ok()?;
            let names = answer["body"]["fileNames"].as_array()?;
            let names: HashSet<&Path> =
                names.iter().filter_map(Value::as_str).map(Path::new).collect();
            let still = gone.into_iter().find(|file| names.contains(self.path(file).as_path()))?;
            if Instant::now() + LOOK_AGAIN >= deadline {
                return Some(still);
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
