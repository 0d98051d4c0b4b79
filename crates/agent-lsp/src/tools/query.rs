//! `lsp`: ten questions.

use std::{fmt::Write as _, sync::Arc};

use agent_tool_core::{
    BoxFuture, Context, Tier, Tool, ToolError, ToolOutput, ToolResult, ToolSpec, counted,
    parse_args,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::spec;
use crate::{
    Lsp, Navigation,
    ledger::Report,
    location::{ResolvedSymbol, ServerStatus},
};

const DESCRIPTION: &str = "Asks the language server. `line` is the line's number and `symbol` a part of that line as it stands; never a \
     column. Answers say what was confirmed and what is still unknown.";

/// The arguments of `lsp`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QueryArgs {
    /// What to ask. definition, type_definition, implementation, references, hover and code_actions
    /// take file, line and symbol; diagnostics takes file ("*" runs the project's check); symbols takes
    /// file or query; status takes nothing; reload takes file or nothing.
    action: Action,
    /// The file; for diagnostics "*" is the whole project.
    file: Option<String>,
    /// The line, from 1.
    line: Option<usize>,
    /// A part of the line that names the symbol; `name#2` is its second occurrence there.
    symbol: Option<String>,
    /// For symbols: what to search the workspace for.
    query: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Definition,
    TypeDefinition,
    Implementation,
    References,
    Hover,
    CodeActions,
    Diagnostics,
    Symbols,
    Status,
    Reload,
}

struct QueryTool {
    spec: ToolSpec,
    lsp: Lsp,
}

pub(super) fn tool(lsp: &Lsp) -> Arc<dyn Tool> {
    let spec = spec::<QueryArgs>("lsp", Tier::Read, DESCRIPTION);
    Arc::new(QueryTool { spec, lsp: lsp.clone() })
}

impl Tool for QueryTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args: QueryArgs = parse_args(&self.spec, args)?;
            args.check()?;
            let mut output = self.answer(&args).await?;
            // What settled since the last result belongs to the next one, whichever it is.
            let late = self.lsp.take_late();
            if let (false, Value::Object(fields)) = (late.is_empty(), &mut output.data) {
                let all: Vec<_> = late.iter().map(Report::late_data).collect();
                fields.insert("late".to_owned(), data(&all));
            }
            for report in late {
                output = output.with_part(agent_tool_core::Part::text(report.late_text()));
            }
            Ok(output)
        })
    }
}

impl QueryTool {
    async fn answer(&self, args: &QueryArgs) -> ToolResult {
        let file = args.file.as_deref().unwrap_or_default();
        let line = args.line.unwrap_or_default();
        let symbol = args.symbol.as_deref().unwrap_or_default();
        match args.action {
            Action::Definition => self.navigate(Navigation::Definition, file, line, symbol).await,
            Action::TypeDefinition => {
                self.navigate(Navigation::TypeDefinition, file, line, symbol).await
            }
            Action::Implementation => {
                self.navigate(Navigation::Implementation, file, line, symbol).await
            }
            Action::References => self.navigate(Navigation::References, file, line, symbol).await,
            Action::Hover => {
                let (resolved, hover) = self.lsp.hover(file, line, symbol).await?;
                let contents = match hover.contents.as_str() {
                    "" => "the server says nothing about it",
                    contents => contents,
                };
                let text = format!(
                    "{}\n{contents}{}",
                    opening(symbol, &resolved),
                    hover.evidence.remark()
                );
                let data = json!({ "resolved": resolved, "contents": hover.contents, "evidence": hover.evidence });
                Ok(ToolOutput::text(text).with_data(data))
            }
            Action::CodeActions => {
                let actions = self.lsp.code_actions(file, line, symbol).await?;
                let text = format!("{}\n{}", opening(symbol, &actions.resolved), actions.text());
                Ok(ToolOutput::text(text).with_data(data(&actions)))
            }
            Action::Diagnostics => {
                let found = match file {
                    "*" => self.lsp.check().await?,
                    file => self.lsp.diagnostics(file).await?,
                };
                Ok(ToolOutput::text(found.text()).with_data(data(&found)))
            }
            Action::Symbols => {
                let symbols = match &args.query {
                    Some(query) => self.lsp.workspace_symbols(query).await?,
                    None => self.lsp.document_symbols(file).await?,
                };
                Ok(ToolOutput::text(symbols.text()).with_data(data(&symbols)))
            }
            Action::Status => {
                let status = self.lsp.status().await;
                let lines: Vec<_> = status.servers.iter().map(status_line).collect();
                let text = match lines.as_slice() {
                    [] => {
                        "no language server is here, and none is known for these files".to_owned()
                    }
                    lines => lines.join("\n"),
                };
                Ok(ToolOutput::text(text).with_data(data(&status)))
            }
            Action::Reload => {
                let status = self.lsp.reload(args.file.as_deref()).await?;
                let lines: Vec<_> = status.servers.iter().map(status_line).collect();
                let text = match lines.as_slice() {
                    [] => "no server ran; the next call looks for one anew".to_owned(),
                    lines => format!("restarted\n{}", lines.join("\n")),
                };
                Ok(ToolOutput::text(text).with_data(data(&status)))
            }
        }
    }

    async fn navigate(
        &self,
        what: Navigation,
        file: &str,
        line: usize,
        symbol: &str,
    ) -> ToolResult {
        let found = self.lsp.navigate(what, file, line, symbol).await?;
        let text = found.text(what, &opening(symbol, &found.resolved), "the server");
        Ok(ToolOutput::text(text).with_data(data(&found)))
    }
}

impl QueryArgs {
    /// Holds the arguments to those that the action takes.
    fn check(&self) -> Result<(), ToolError> {
        let place = ["file", "line", "symbol"];
        let (needs, takes): (&[&str], &[&str]) = match self.action {
            Action::Definition
            | Action::TypeDefinition
            | Action::Implementation
            | Action::References
            | Action::Hover
            | Action::CodeActions => (&place[..2], &place),
            Action::Diagnostics => (&["file"], &["file"]),
            Action::Symbols => (&[], &["file", "query"]),
            Action::Status => (&[], &[]),
            Action::Reload => (&[], &["file"]),
        };
        let given = [
            ("file", self.file.is_some()),
            ("line", self.line.is_some()),
            ("symbol", self.symbol.is_some()),
            ("query", self.query.is_some()),
        ];
        let action = self.action.name();
        for (name, given) in given {
            if given && !takes.contains(&name) {
                let takes = if takes.is_empty() { "nothing".to_owned() } else { takes.join(", ") };
                return Err(ToolError::invalid_args(format!(
                    "lsp: {action} takes {takes}, and `{name}` came too; leave it out"
                )));
            }
            if !given && needs.contains(&name) {
                return Err(ToolError::invalid_args(format!("lsp: {action} needs `{name}`")));
            }
        }
        if self.action == Action::Symbols && self.file.is_some() == self.query.is_some() {
            return Err(ToolError::invalid_args(
                "lsp: symbols takes either `file`, for the symbols of one file, or `query`, for those \
                 of the workspace",
            ));
        }
        Ok(())
    }
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::TypeDefinition => "type_definition",
            Self::Implementation => "implementation",
            Self::References => "references",
            Self::Hover => "hover",
            Self::CodeActions => "code_actions",
            Self::Diagnostics => "diagnostics",
            Self::Symbols => "symbols",
            Self::Status => "status",
            Self::Reload => "reload",
        }
    }
}

/// How an answer about a symbol opens: with what was resolved.
fn opening(symbol: &str, at: &ResolvedSymbol) -> String {
    let mut text = format!("resolved `{symbol}` at {}:{}:{}", at.file, at.line, at.column);
    if at.of > 1 {
        let _ = write!(text, " ({} of {})", at.occurrence, at.of);
    }
    text
}

fn status_line(server: &ServerStatus) -> String {
    let mut text = format!("{}: {}", server.id, server.state);
    if let Some(root) = &server.root {
        let _ = write!(text, " at {root}");
    }
    if let Some(version) = &server.version {
        let _ = write!(text, ", version {version}");
    }
    if let Some(pid) = server.pid {
        let _ = write!(text, ", pid {pid}, {} open", counted(server.documents, "document"));
    }
    if let Some(why) = &server.why {
        let _ = write!(text, " ({why})");
    }
    text
}

fn data(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).unwrap_or_default()
}
