//! From a file, a line and a symbol to a server and a position in it.

use std::{sync::Arc, time::Instant};

use agent_edits::tool_error::of_workspace;
use agent_tool_core::{ErrorKind, ToolError};
use agent_workspace::WorkspacePath;
use async_lsp::lsp_types::{Position, request::Request};
use serde_json::{Value, json};

use crate::{
    Lsp,
    failures::of_call,
    language::Language,
    location::Evidence,
    position::Document,
    server::{CallError, Readiness, Sent, is_empty, requests::Definition},
    supervisor::Running,
    symbol::{self, Decision, Occurrence, Query, Resolved},
};

/// Into how many parts the time of a question is cut. One about one place waits a part for the server to
/// know the project, one about every use all parts but one: the last is for the answer.
const PARTS: u32 = 4;

/// A question about one place, with the server that is asked.
pub(crate) struct Asked {
    pub running: Arc<Running>,
    pub file: WorkspacePath,
    pub sent: Sent,
    pub resolved: Resolved,
    pub position: Position,
    pub deadline: Instant,
    /// Until when a question about one place waits for the server to know the project.
    soon: Instant,
    /// Until when one about the whole project does.
    late: Instant,
}

impl Lsp {
    /// Resolves a place, with the file sent as it is on the disk.
    pub(crate) async fn asked(
        &self,
        file: &str,
        line: usize,
        symbol: &str,
    ) -> Result<Asked, ToolError> {
        let deadline = self.answer_by();
        let shown = file;
        let file = self.file(shown)?;
        let running = self.server(&file, deadline).await?;
        let part = self.shared.waits.answer / PARTS;
        let (soon, late) = (Instant::now() + part, deadline.checked_sub(part).unwrap_or(deadline));
        let used = running.hold();
        let sent = running.client.send_file(&file).map_err(of_workspace)?;
        let document = Arc::clone(&sent.synced.document);
        let shown = self.show(&file);
        let language = Language::by_id(&running.client.language(&file));
        let query = Query { file: &shown, line, symbol };
        let found = symbol::find(&document, &query, language)?;
        let in_code = in_code(&running.client.language(&file), &document);
        let encoding = running.client.encoding();
        let resolved = match found.decide(in_code)? {
            Decision::Resolved(resolved) => resolved,
            Decision::Ask(ambiguous) => {
                running.client.ready(soon).await;
                let mut meanings = Vec::new();
                for occurrence in ambiguous.occurrences() {
                    let position = document.position(occurrence.identifier.start, encoding);
                    let params = running.client.at(&file, position);
                    let answer = running.client.ask::<Definition>(params, deadline).await;
                    meanings.push(match answer {
                        Ok(answer) => meaning(&answer),
                        // As most servers say of a word in a comment.
                        Err(CallError::Refused { .. }) => None,
                        Err(error) => return Err(failed(&running, &error)),
                    });
                }
                ambiguous.settle(&meanings)?
            }
        };
        let position = document.position(resolved.range.start, encoding);
        drop(used);
        Ok(Asked { running, file, sent, resolved, position, deadline, soon, late })
    }
}

impl Asked {
    /// Asks about the place, as soon as the server knows the project or has had its time for that: what
    /// a server says while it reads is cut short or wrong, be it not empty. An empty answer of one that
    /// still reads is asked for again.
    pub(crate) async fn ask<R>(&self, params: Value) -> Result<(Value, Evidence), ToolError>
    where
        R: Request<Params = Value, Result = Value>,
    {
        self.ask_by::<R>(params, self.soon).await
    }

    /// The same for answers that must be whole: the server gets more time to know the project, and is not
    /// asked where it does not.
    pub(crate) async fn ask_ready<R>(&self, params: Value) -> Result<(Value, Evidence), ToolError>
    where
        R: Request<Params = Value, Result = Value>,
    {
        let _used = self.running.hold();
        if let Readiness::Busy(_) = self.running.client.ready(self.late).await {
            return Err(self.failed(&CallError::TimedOut { unread: None }));
        }
        self.ask_by::<R>(params, self.late).await
    }

    async fn ask_by<R>(
        &self,
        mut params: Value,
        ready_by: Instant,
    ) -> Result<(Value, Evidence), ToolError>
    where
        R: Request<Params = Value, Result = Value>,
    {
        let client = &self.running.client;
        let _used = self.running.hold();
        if client.offered(R::METHOD, self.deadline).await.is_none() {
            return Err(self.unsupported(R::METHOD));
        }
        let at = client.at(&self.file, self.position);
        for (key, value) in at.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        let mut ready = client.ready(ready_by).await;
        let mut answer = client.ask::<R>(params.clone(), self.deadline).await;
        if ready == Readiness::Ready {
            // It may have begun to read the project while it answered.
            ready = client.readiness();
        }
        if ready != Readiness::Ready && answer.as_ref().is_ok_and(is_empty) {
            ready = client.ready(self.late).await;
            answer = client.ask::<R>(params, self.deadline).await;
            if matches!(ready, Readiness::Busy(_)) && answer.as_ref().is_ok_and(is_empty) {
                return Err(self.failed(&CallError::TimedOut { unread: None }));
            }
        }
        let answer = answer.map_err(|error| self.failed(&error))?;
        Ok((answer, evidence(&ready)))
    }

    /// What a failed request comes to.
    pub(crate) fn failed(&self, error: &CallError) -> ToolError {
        failed(&self.running, error)
    }

    /// The server has no such request.
    pub(crate) fn unsupported(&self, method: &str) -> ToolError {
        let id = &self.running.id;
        let message = format!("{id} cannot answer `{method}`; ask something else of it");
        ToolError::new(ErrorKind::Unavailable, "unsupported", message)
            .with_data(json!({ "server": id }))
    }
}

/// Whether an occurrence is code, where the grammar of the file is built in.
#[cfg(feature = "grammars")]
fn in_code(language: &str, document: &Document) -> impl FnMut(&Occurrence) -> Option<bool> + use<> {
    let grammars = agent_grammars::Grammars::bundled();
    let grammar = grammars.by_id(language).ok().cloned();
    let text = document.text().to_owned();
    move |occurrence| {
        let grammar = grammar.as_ref()?;
        symbol::Code::parse(grammar, &text)?.contains(occurrence)
    }
}

#[cfg(not(feature = "grammars"))]
fn in_code(
    _language: &str,
    _document: &Document,
) -> impl FnMut(&Occurrence) -> Option<bool> + use<> {
    |_| None
}

/// What a failed request of a server comes to.
pub(crate) fn failed(running: &Running, error: &CallError) -> ToolError {
    let readiness = running.client.readiness();
    of_call(&running.id, error, running.end_in_words().as_deref(), &readiness)
}

/// Where a definition is, to be compared with another's.
fn meaning(answer: &Value) -> Option<Vec<(String, Value)>> {
    let targets = super::navigate::targets(answer);
    (!targets.is_empty()).then(|| {
        targets.into_iter().map(|target| (target.uri, target.range["start"].clone())).collect()
    })
}

/// How far an answer can be believed, given how ready the server was.
pub(crate) fn evidence(readiness: &Readiness) -> Evidence {
    match readiness {
        Readiness::Ready => Evidence::Confirmed,
        Readiness::Busy(_) => Evidence::StillIndexing,
        Readiness::Unhealthy(_) => Evidence::Partial,
    }
}
