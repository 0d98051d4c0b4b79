//! From a file, a line and a symbol to a server and a position in it.

use std::{sync::Arc, time::Instant};

use agent_tool_core::{ErrorKind, ToolError};
use agent_workspace::WorkspacePath;
use async_lsp::lsp_types::{Position, request::Request};
use serde_json::{Value, json};

use crate::{
    Lsp,
    error::of_workspace,
    failures::of_call,
    language::Language,
    location::Evidence,
    position::Document,
    server::{CallError, Readiness, Sent, requests::Definition},
    supervisor::Running,
    symbol::{self, Decision, Occurrence, Query, Resolved},
};

/// A question about one place, with the server that is asked.
pub(crate) struct Asked {
    pub running: Arc<Running>,
    pub file: WorkspacePath,
    pub sent: Sent,
    pub resolved: Resolved,
    pub position: Position,
    pub deadline: Instant,
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
                let mut meanings = Vec::new();
                for occurrence in ambiguous.occurrences() {
                    let position = document.position(occurrence.identifier.start, encoding);
                    let params = running.client.at(&file, position);
                    let answer = running.client.ask::<Definition>(params, deadline).await;
                    meanings.push(meaning(answer.ok()));
                }
                ambiguous.settle(&meanings)?
            }
        };
        let position = document.position(resolved.range.start, encoding);
        drop(used);
        Ok(Asked { running, file, sent, resolved, position, deadline })
    }
}

impl Asked {
    /// Asks about the place. An empty answer of a server that still reads the project is asked for
    /// again once it is ready.
    pub(crate) async fn ask<R>(&self, mut params: Value) -> Result<(Value, Evidence), ToolError>
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
        let mut ready = client.readiness();
        let mut answer = client.ask::<R>(params.clone(), self.deadline).await;
        if ready == Readiness::Ready {
            // It may have begun to read the project while it answered.
            ready = client.readiness();
        }
        if ready != Readiness::Ready && answer.as_ref().is_ok_and(is_empty) {
            ready = client.ready(self.deadline).await;
            answer = client.ask::<R>(params, self.deadline).await;
            if matches!(ready, Readiness::Busy(_)) && answer.as_ref().is_ok_and(is_empty) {
                return Err(self.failed(&CallError::TimedOut { unread: None }));
            }
        }
        let answer = answer.map_err(|error| self.failed(&error))?;
        Ok((answer, evidence(&ready)))
    }

    /// Waits until the server knows the project, and then asks: for answers that must be whole. One that
    /// does not in time is not asked.
    pub(crate) async fn ask_ready<R>(&self, params: Value) -> Result<(Value, Evidence), ToolError>
    where
        R: Request<Params = Value, Result = Value>,
    {
        let _used = self.running.hold();
        if let Readiness::Busy(_) = self.running.client.ready(self.deadline).await {
            return Err(self.failed(&CallError::TimedOut { unread: None }));
        }
        self.ask::<R>(params).await
    }

    /// What a failed request comes to.
    pub(crate) fn failed(&self, error: &CallError) -> ToolError {
        let ended = self.running.end_in_words();
        let readiness = self.running.client.readiness();
        of_call(&self.running.id, error, ended.as_deref(), &readiness)
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

/// Where a definition is, to be compared with another's.
fn meaning(answer: Option<Value>) -> Option<Vec<(String, Value)>> {
    let targets = super::navigate::targets(&answer?);
    (!targets.is_empty()).then(|| {
        targets.into_iter().map(|target| (target.uri, target.range["start"].clone())).collect()
    })
}

fn is_empty(answer: &Value) -> bool {
    match answer {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// How far an answer can be believed, given how ready the server was.
pub(crate) fn evidence(readiness: &Readiness) -> Evidence {
    match readiness {
        Readiness::Ready => Evidence::Confirmed,
        Readiness::Busy(_) => Evidence::StillIndexing,
        Readiness::Unhealthy(_) => Evidence::Partial,
    }
}
