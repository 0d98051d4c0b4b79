//! The symbols of a file, and of the workspace by a query.

use std::{fmt::Write as _, sync::Arc, time::Instant};

use agent_edits::tool_error::of_workspace;
use agent_tool_core::{ErrorKind, ToolError, counted};
use agent_workspace::WorkspacePath;
use futures::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    asked::{evidence, failed},
    navigate::{Places, position},
};
use crate::{
    Lsp,
    location::Evidence,
    server::{
        CallError, Readiness,
        requests::{DocumentSymbol, WorkspaceSymbol},
    },
    supervisor::Running,
    uri,
};

/// How many symbols of a file an answer lists.
pub const MAX_DOCUMENT_SYMBOLS: usize = 200;

/// How many symbols of the workspace an answer lists.
pub const MAX_WORKSPACE_SYMBOLS: usize = 100;

/// The kinds of the protocol, from 1.
const KINDS: [&str; 26] = [
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "enum member",
    "struct",
    "event",
    "operator",
    "type parameter",
];

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// What it is in, from the outside in; empty at the top.
    pub container: String,
    /// The file as shown.
    pub file: String,
    /// Where its name is: the line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// The answer of `symbols`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Symbols {
    /// The first of them.
    pub symbols: Vec<Symbol>,
    /// How many the server named.
    pub total: usize,
    /// How many of them are not listed.
    pub more: usize,
    /// How far it can be believed.
    pub evidence: Evidence,
}

impl Lsp {
    /// The symbols of a file, in its order.
    ///
    /// # Errors
    /// As [`Lsp::navigate`], but for the symbol.
    pub async fn document_symbols(&self, file: &str) -> Result<Symbols, ToolError> {
        let deadline = self.answer_by();
        let file = self.file(file)?;
        let running = self.server(&file, deadline).await?;
        let _used = running.hold();
        self.symbols_of(&running, &file, MAX_DOCUMENT_SYMBOLS, deadline).await
    }

    /// The symbols that a server names of a file, the first so many.
    pub(crate) async fn symbols_of(
        &self,
        running: &Running,
        file: &WorkspacePath,
        most: usize,
        deadline: Instant,
    ) -> Result<Symbols, ToolError> {
        running.client.send_file(file).map_err(of_workspace)?;
        let params = json!({ "textDocument": { "uri": running.client.uri(file) } });
        let answer = running.client.ask::<DocumentSymbol>(params, deadline).await;
        let answer = answer.map_err(|error| failed(running, &error))?;
        let uri = running.client.uri(file).to_string();
        let mut places = Places::new(self, running.client.encoding());
        let mut all = Vec::new();
        collect(&answer, &uri, "", &mut all);
        Ok(listed(&mut places, self, &all, most, Evidence::Confirmed))
    }

    /// The symbols of the workspace that a query names: of every server that runs, or of the first
    /// that can be started for the workspace's files.
    ///
    /// # Errors
    /// `no_server` where none runs and none can be started; else as [`Lsp::navigate`].
    pub async fn workspace_symbols(&self, query: &str) -> Result<Symbols, ToolError> {
        let deadline = self.answer_by();
        let offers = |running: &Arc<Running>| running.client.offers("workspace/symbol").is_some();
        let mut live = self.shared.supervisor.live();
        live.retain(offers);
        if live.is_empty() {
            self.start_reaper();
            live = self
                .shared
                .supervisor
                .any(deadline)
                .await
                .map_err(crate::supervisor::NoServer::into_error)?;
        }
        live.retain(offers);
        if live.is_empty() {
            let message =
                "no language server of this workspace searches it for symbols; use search";
            return Err(ToolError::new(ErrorKind::Unavailable, "unsupported", message));
        }
        let answers = live.iter().map(|running| async move {
            let _used = running.hold();
            let ready = running.client.ready(deadline).await;
            let params = json!({ "query": query });
            (running, ready, running.client.ask::<WorkspaceSymbol>(params, deadline).await)
        });
        let mut found = Vec::new();
        let mut worst = Evidence::Confirmed;
        let mut failure = None;
        let mut asked = 0;
        for (running, ready, answer) in join_all(answers).await {
            match answer {
                Ok(answer) => {
                    asked += 1;
                    if ready != Readiness::Ready {
                        worst = evidence(&ready);
                    }
                    let mut places = Places::new(self, running.client.encoding());
                    let mut all = Vec::new();
                    collect(&answer, "", "", &mut all);
                    // What is outside of the workspace is another project's.
                    let listed = listed(&mut places, self, &all, usize::MAX, worst);
                    found.extend(listed.symbols);
                }
                Err(error) => {
                    worst = match &error {
                        CallError::TimedOut { .. } | CallError::Stuck { .. } => Evidence::TimedOut,
                        CallError::Stopped | CallError::InnerEnded | CallError::Deaf { .. } => {
                            Evidence::Crashed
                        }
                        CallError::Refused { .. } => Evidence::Partial,
                    };
                    failure = Some(failed(running, &error));
                }
            }
        }
        match failure {
            Some(failure) if asked == 0 => return Err(failure),
            _ => {}
        }
        found.retain(|symbol| !symbol.file.starts_with('/') && !symbol.file.contains("://"));
        // The best first: the very name, then what begins so, then the rest, as the server had them.
        let lowered = query.to_lowercase();
        found.sort_by_key(|symbol| {
            let name = symbol.name.to_lowercase();
            (name != lowered, !name.starts_with(&lowered))
        });
        let total = found.len();
        found.truncate(MAX_WORKSPACE_SYMBOLS);
        let more = total - found.len();
        Ok(Symbols { symbols: found, total, more, evidence: worst })
    }
}

struct Raw<'a> {
    name: String,
    kind: u64,
    container: String,
    uri: String,
    start: &'a Value,
}

/// The symbols of an answer, nested or flat, with what they are in.
fn collect<'a>(answer: &'a Value, uri: &str, container: &str, into: &mut Vec<Raw<'a>>) {
    for symbol in answer.as_array().into_iter().flatten() {
        let name = symbol["name"].as_str().unwrap_or_default().to_owned();
        let (uri, range) = match symbol["location"]["uri"].as_str() {
            Some(uri) => (uri, &symbol["location"]["range"]),
            None if symbol["selectionRange"].is_object() => (uri, &symbol["selectionRange"]),
            None => (uri, &symbol["range"]),
        };
        let within = symbol["containerName"].as_str().unwrap_or(container).to_owned();
        let inner = if within.is_empty() { name.clone() } else { format!("{within}.{name}") };
        into.push(Raw {
            name,
            kind: symbol["kind"].as_u64().unwrap_or_default(),
            container: within,
            uri: uri.to_owned(),
            start: &range["start"],
        });
        collect(&symbol["children"], uri, &inner, into);
    }
}

fn listed(
    places: &mut Places<'_>,
    lsp: &Lsp,
    all: &[Raw<'_>],
    most: usize,
    evidence: Evidence,
) -> Symbols {
    let symbols: Vec<_> = all
        .iter()
        .take(most)
        .map(|raw| {
            let target = uri::locate(&lsp.shared.workspace, &raw.uri);
            let at = places.location(&target, position(raw.start));
            let kind =
                usize::try_from(raw.kind).ok().and_then(|kind| KINDS.get(kind.wrapping_sub(1)));
            Symbol {
                name: raw.name.clone(),
                kind: kind.copied().unwrap_or("symbol").to_owned(),
                container: raw.container.clone(),
                file: at.file,
                line: at.line,
                column: at.column,
            }
        })
        .collect();
    let more = all.len() - symbols.len();
    Symbols { symbols, total: all.len(), more, evidence }
}

impl Symbols {
    /// What the model reads.
    pub(crate) fn text(&self) -> String {
        if self.symbols.is_empty() {
            return format!("no symbols{}", self.evidence.remark());
        }
        let mut text = counted(self.total, "symbol");
        if self.more > 0 {
            let _ = write!(text, ", the first {} of them", self.symbols.len());
        }
        text.push(':');
        let mut file = "";
        for symbol in &self.symbols {
            if symbol.file != file {
                file = &symbol.file;
                let _ = write!(text, "\n{file}");
            }
            let within = match symbol.container.as_str() {
                "" => String::new(),
                container => format!(" in {container}"),
            };
            let _ = write!(text, "\n  {}: {} {}{within}", symbol.line, symbol.kind, symbol.name);
        }
        text.push_str(self.evidence.remark());
        text
    }
}
