//! The answer to a name that no tool of a view has.

use agent_tool_core::{ToolError, clip};
use strsim::normalized_damerau_levenshtein;

/// How alike two names are at least, of 1, for the one to be named as what was meant.
const LEAST_LIKENESS: f64 = 0.5;

/// So many characters of the list of tools are told.
const LIST_CHARS: usize = 1_000;

/// What is told knows nothing but the tools that are there, so that a hidden name answers as one that never existed.
pub(crate) fn tool<'a>(name: &str, there: impl Iterator<Item = &'a str>) -> ToolError {
    let there: Vec<&str> = there.collect();
    let mut error = ToolError::unknown_tool(name);
    if there.is_empty() {
        return error;
    }
    let plain = name.to_lowercase();
    let likeness = |other: &str| normalized_damerau_levenshtein(&plain, &other.to_lowercase());
    let nearest = there
        .iter()
        .map(|other| (likeness(other), *other))
        .filter(|(likeness, _)| *likeness >= LEAST_LIKENESS)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let meant = nearest.map(|(_, other)| format!(", the nearest is `{other}`")).unwrap_or_default();
    let list = clip(&there.join(", "), LIST_CHARS).text;
    error.message = format!("there is no tool {name:?} here{meant}; call one of {list}");
    error
}
