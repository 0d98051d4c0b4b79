//! Signature and documentation.

use agent_tool_core::ToolError;
use serde_json::{Value, json};

use crate::{
    Lsp,
    location::{Hover, ResolvedSymbol},
    server::requests,
};

impl Lsp {
    /// What the server says of a symbol, as Markdown, empty where it says nothing.
    ///
    /// # Errors
    /// As [`Lsp::navigate`].
    pub async fn hover(
        &self,
        file: &str,
        line: usize,
        symbol: &str,
    ) -> Result<(ResolvedSymbol, Hover), ToolError> {
        let asked = self.asked(file, line, symbol).await?;
        let (answer, evidence) = asked.ask::<requests::Hover>(json!({})).await?;
        let contents = markdown(&answer["contents"]).trim().to_owned();
        Ok((asked.resolved.at.clone(), Hover { contents, evidence }))
    }
}

/// The contents of a hover: markup, a marked string, or a list of those.
fn markdown(contents: &Value) -> String {
    match contents {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(markdown).collect::<Vec<_>>().join("\n\n"),
        Value::Object(fields) => {
            let text = fields.get("value").and_then(Value::as_str).unwrap_or_default();
            match fields.get("language").and_then(Value::as_str) {
                Some(language) => format!("```{language}\n{text}\n```"),
                None => text.to_owned(),
            }
        }
        _ => String::new(),
    }
}
