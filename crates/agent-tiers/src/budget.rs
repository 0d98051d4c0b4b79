//! How much of a result reaches the model.

use std::{fmt, sync::Arc};

use agent_tool_core::{CallId, Part, ToolError, ToolOutput, ToolResult, clip_middle};
use serde_json::Value;

use crate::json::{self, REMARK_CHARS, fair_cap};

/// How many characters of text a result may have, or of message and data an error, unless the host sets another budget.
pub const RESULT_CHARS: usize = 32_000;

/// Keeps what did not fit into a result.
pub trait Artifacts: Send + Sync + 'static {
    /// Keeps the text of a call and says under which path `read` opens it. `None` where it could
    /// not be kept.
    fn keep(&self, call: &CallId, text: &str) -> Option<String>;
}

/// The budget of each result: every one that passes a view, a nested call's too.
#[derive(Clone)]
pub(crate) struct Budget {
    pub(crate) chars: usize,
    pub(crate) artifacts: Option<Arc<dyn Artifacts>>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { chars: RESULT_CHARS, artifacts: None }
    }
}

impl Budget {
    /// The result within the budget. An output's data is for hosts and stays whole; pictures are
    /// not counted. What an error got so far counts as its message does.
    pub(crate) fn apply(&self, call: &CallId, mut result: ToolResult) -> ToolResult {
        match &mut result {
            Ok(output) => self.apply_to_output(call, output),
            Err(error) => self.apply_to_error(call, error),
        }
        result
    }

    fn apply_to_output(&self, call: &CallId, output: &mut ToolOutput) {
        if texts(&output.parts).map(str::len).sum::<usize>() <= self.chars {
            return;
        }
        let lengths = texts(&output.parts).map(|text| text.chars().count()).collect();
        let Some(cap) = fair_cap(lengths, self.chars) else { return };
        let hint = self.keep(call, &output.joined_text());
        for part in &mut output.parts {
            if let Part::Text { text } = part {
                cut(text, cap, hint.as_deref());
            }
        }
    }

    fn apply_to_error(&self, call: &CallId, error: &mut ToolError) {
        let data = match &error.data {
            Value::Null => Some(0),
            data => json::chars_within(data, self.chars),
        };
        if data.is_some_and(|data| error.message.len() + data <= self.chars) {
            return;
        }
        let message = error.message.chars().count();
        let data = data.or_else(|| json::chars_within(&error.data, usize::MAX)).unwrap_or_default();
        let Some(cap) = fair_cap(vec![message, data], self.chars) else { return };
        let whole = match &error.data {
            Value::Null => error.message.clone(),
            data => format!("{}\n{data}", error.message),
        };
        let hint = self.keep(call, &whole);
        let mut cap_of_data = cap;
        if message > cap {
            cut(&mut error.message, cap, hint.as_deref());
        } else if data > cap {
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            let remark = format!("; its data is cut{hint}");
            cap_of_data = (self.chars - message).saturating_sub(remark.chars().count());
            error.message.push_str(&remark);
        }
        if data > cap_of_data {
            error.data = json::clipped(&error.data, cap_of_data);
        }
    }

    fn keep(&self, call: &CallId, text: &str) -> Option<String> {
        let path = self.artifacts.as_ref()?.keep(call, text)?;
        Some(format!("all that was kept is in {path}, which `read` opens"))
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("chars", &self.chars).finish_non_exhaustive()
    }
}

fn texts(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    })
}

/// Cuts the middle so that the text, its remark included, has at most `cap` characters.
fn cut(text: &mut String, cap: usize, hint: Option<&str>) {
    if text.chars().count() > cap {
        let remark = REMARK_CHARS + hint.map_or(0, |hint| hint.chars().count());
        *text = clip_middle(text, cap.saturating_sub(remark), hint).text;
    }
}
