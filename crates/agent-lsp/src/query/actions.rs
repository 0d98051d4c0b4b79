//! The quick fixes that a server offers. They are listed, never applied.

use std::fmt::Write as _;

use agent_tool_core::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Lsp,
    location::{Evidence, ResolvedSymbol},
    server::{Checks, requests},
};

/// How many an answer lists.
pub const MAX_ACTIONS: usize = 50;

/// How the kinds begin that are listed first: the others change what is not wrong.
const QUICK_FIX: &str = "quickfix";

/// A quick fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeAction {
    /// What it does, in the server's words.
    pub title: String,
    /// Its kind, such as `quickfix`.
    pub kind: Option<String>,
    /// Whether the server thinks it is the one to take.
    pub preferred: bool,
    /// Why it cannot be applied, where it cannot.
    pub disabled: Option<String>,
}

/// The answer of `code_actions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeActions {
    /// What was asked about.
    pub resolved: ResolvedSymbol,
    /// The first of them, fixes before other changes.
    pub actions: Vec<CodeAction>,
    /// How many there are.
    pub total: usize,
    /// How many of them are not listed.
    pub more: usize,
    /// How far it can be believed.
    pub evidence: Evidence,
}

impl Lsp {
    /// The quick fixes at a symbol, with the diagnostics there as their context.
    ///
    /// # Errors
    /// As [`Lsp::navigate`].
    pub async fn code_actions(
        &self,
        file: &str,
        line: usize,
        symbol: &str,
    ) -> Result<CodeActions, ToolError> {
        let asked = self.asked(file, line, symbol).await?;
        let client = &asked.running.client;
        let document = &asked.sent.synced.document;
        let end = document.position(asked.resolved.range.end, client.encoding());
        // Fixes belong to diagnostics, so those of this very text come first.
        let (shown, by) = (self.show(&asked.file), asked.deadline);
        client.settled(&asked.file, &shown, &asked.sent, Checks::Untrusted, by).await;
        let diagnostics = client.raw_diagnostics(&asked.file, by).await;
        let touches = |diagnostic: &Value| {
            let line = |at: &str| diagnostic["range"][at]["line"].as_u64().unwrap_or_default();
            let here = u64::from(asked.position.line);
            line("start") <= here && here <= line("end")
        };
        let diagnostics: Vec<_> = diagnostics.into_iter().filter(touches).collect();
        let params = json!({
            "range": { "start": asked.position, "end": end },
            "context": { "diagnostics": diagnostics, "triggerKind": 1 },
        });
        let (answer, evidence) = asked.ask::<requests::CodeAction>(params).await?;
        let all = answer.as_array().map_or(&[][..], Vec::as_slice);
        let mut actions: Vec<_> = all.iter().filter_map(action).collect();
        let total = actions.len();
        actions.sort_by_key(|action| {
            let is_fix = action.kind.as_deref().is_some_and(|kind| kind.starts_with(QUICK_FIX));
            (action.disabled.is_some(), !is_fix)
        });
        actions.truncate(MAX_ACTIONS);
        let more = total - actions.len();
        let resolved = asked.resolved.at.clone();
        Ok(CodeActions { resolved, total, more, actions, evidence })
    }
}

fn action(value: &Value) -> Option<CodeAction> {
    Some(CodeAction {
        title: value["title"].as_str()?.to_owned(),
        kind: value["kind"].as_str().filter(|kind| !kind.is_empty()).map(str::to_owned),
        preferred: value["isPreferred"] == true,
        disabled: value["disabled"]["reason"].as_str().map(str::to_owned),
    })
}

impl CodeActions {
    /// What the model reads.
    pub(crate) fn text(&self) -> String {
        let mut text = match self.total {
            0 => "no code actions".to_owned(),
            1 => "1 code action".to_owned(),
            total => format!("{total} code actions"),
        };
        for action in &self.actions {
            let _ = write!(text, "\n- {}", action.title);
            if let Some(kind) = &action.kind {
                let _ = write!(text, " ({kind})");
            }
            if action.preferred {
                text.push_str(", preferred");
            }
            if let Some(why) = &action.disabled {
                let _ = write!(text, ", not possible: {why}");
            }
        }
        if self.more > 0 {
            let _ = write!(text, "\n… {} more", self.more);
        }
        if self.total > 0 {
            text.push_str("\nthey are listed, not applied: make the change with edit");
        }
        text.push_str(self.evidence.remark());
        text
    }
}
