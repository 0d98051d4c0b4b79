//! tsserver, which some language servers start and hand their questions to. It can be asked past them, and
//! answers when it is done.

use std::{path::Path, sync::PoisonError, time::Instant};

use serde_json::{Value, json};

use super::{client::Client, connection::CallError, requests::ExecuteCommand};

/// The command that carries a question.
const REQUEST: &str = "typescript.tsserverRequest";

/// What is asked for the diagnostics of a file.
const DIAGNOSTICS: [&str; 2] = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync"];

/// What loads the project of a file before it is answered.
const PROJECT: &str = "projectInfo";

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
            let is_new = !self.loaded().contains(&file);
            if is_new {
                let args = json!({ "file": self.path(&file), "needFileNameList": false });
                if let Some(Ok(_)) = self.ask_tsserver(PROJECT, args, deadline).await {
                    self.loaded().insert(file);
                }
            }
        }
    }

    /// Whether tsserver is dead while the server that started it lives: that one answers every question with
    /// nothing then, and says so to nobody.
    pub(super) async fn tsserver_is_dead(&self, deadline: Instant) -> bool {
        let Some(file) = self.open_files().into_iter().next() else { return false };
        let args = json!({ "file": self.path(&file), "needFileNameList": false });
        let answer = self.ask_tsserver(PROJECT, args, deadline).await;
        matches!(answer, Some(Ok(answer)) if answer["body"].is_null())
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

    fn loaded(
        &self,
    ) -> std::sync::MutexGuard<'_, std::collections::HashSet<agent_workspace::WorkspacePath>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
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
