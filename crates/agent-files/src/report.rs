//! What an error shows of a file, so that the next call can be right.

use agent_tool_core::{ErrorKind, ToolError, clip};
use serde_json::json;

use crate::{
    lines::Line,
    nearest::{Nearest, nearest},
};

/// So many lines of a place are shown.
const EXCERPT_LINES: usize = 20;

/// So many characters of a line in an excerpt.
const EXCERPT_LINE: usize = 200;

/// `no_match` for a text that is not in a file.
pub(crate) fn no_match(shown: &str, file: &[Line<'_>], wanted: &str) -> ToolError {
    let wanted: Vec<_> = wanted
        .strip_suffix('\n')
        .unwrap_or(wanted)
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .collect();
    let found = nearest(file, &wanted);
    let message = match &found {
        Some(found) => format!("`old_string` is not in `{shown}`; {}", place(file, found)),
        None => format!(
            "`old_string` is not in `{shown}`, and nothing there is like it; read the file, and copy \
             the text from it"
        ),
    };
    ToolError::new(ErrorKind::NotFound, "no_match", message)
        .with_data(json!({ "path": shown, "nearest": found.map(|found| found.line + 1) }))
}

/// Says where the nearest place is, how it differs and what stands there.
pub(crate) fn place(file: &[Line<'_>], found: &Nearest) -> String {
    let differs = found.differs.words().map(|words| format!(", {words}")).unwrap_or_default();
    let at = found.line + 1;
    let end = found.line + found.count;
    let lines = if found.count == 1 { format!("line {at}") } else { format!("lines {at}-{end}") };
    let mut shown = format!("the nearest is {lines}{differs}:");
    for (index, line) in
        file.iter().enumerate().skip(found.line).take(found.count.min(EXCERPT_LINES))
    {
        shown.push_str(&format!("\n{}\t{}", index + 1, clip(line.text, EXCERPT_LINE).text));
    }
    if found.count > EXCERPT_LINES {
        shown.push_str(&format!("\n… {} more lines", found.count - EXCERPT_LINES));
    }
    shown
}

/// The lines as a block under a message.
pub(crate) fn block<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut shown = String::new();
    let mut more = 0;
    for (index, line) in lines.enumerate() {
        if index < EXCERPT_LINES {
            shown.push_str(&format!("\n\t{}", clip(line, EXCERPT_LINE).text));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        shown.push_str(&format!("\n… {more} more lines"));
    }
    shown
}

/// `no_change` for a call that would leave everything as it is.
pub(crate) fn no_change(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, "no_change", message)
}

/// `3, 9, 20`, and how many more there are.
pub(crate) fn numbers(listed: &[usize], total: usize) -> String {
    let shown: Vec<_> = listed.iter().map(ToString::to_string).collect();
    let more = total.saturating_sub(listed.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
