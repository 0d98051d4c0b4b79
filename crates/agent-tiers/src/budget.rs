//! How much of a result reaches the model.

use std::{fmt, sync::Arc};

use agent_tool_core::{CallId, Part, ToolResult, clip_middle};

/// How many characters of text a result may have, unless the host sets another budget.
pub const RESULT_CHARS: usize = 32_000;

/// How many characters the remark on what was cut takes at most, without its hint.
const REMARK_CHARS: usize = 48;

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
    /// The result within the budget. Structured data is for hosts and stays whole; pictures are
    /// not counted.
    pub(crate) fn apply(&self, call: &CallId, mut result: ToolResult) -> ToolResult {
        match &mut result {
            Ok(output) => {
                let fits = texts(&output.parts).map(str::len).sum::<usize>() <= self.chars;
                if !fits && let Some(cap) = self.cap(&output.parts) {
                    let hint = self.keep(call, &output.joined_text());
                    for part in &mut output.parts {
                        if let Part::Text { text } = part {
                            cut(text, cap, hint.as_deref());
                        }
                    }
                }
            }
            Err(error) if error.message.len() > self.chars => {
                let over = error.message.chars().count() > self.chars;
                let hint = if over { self.keep(call, &error.message) } else { None };
                cut(&mut error.message, self.chars, hint.as_deref());
            }
            Err(_) => {}
        }
        result
    }

    /// The most characters that each text may keep so that all together fit: short texts, such
    /// as diagnostics that a wrapper appended, stay whole at the cost of the long ones.
    fn cap(&self, parts: &[Part]) -> Option<usize> {
        let mut lengths: Vec<_> = texts(parts).map(|text| text.chars().count()).collect();
        if lengths.iter().sum::<usize>() <= self.chars {
            return None;
        }
        lengths.sort_unstable();
        let mut left = self.chars;
        let mut others = lengths.len();
        for length in lengths {
            if length > left / others {
                return Some(left / others);
            }
            left -= length;
            others -= 1;
        }
        None
    }

    fn keep(&self, call: &CallId, text: &str) -> Option<String> {
        let path = self.artifacts.as_ref()?.keep(call, text)?;
        Some(format!("the whole result is in {path}, which `read` opens"))
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
