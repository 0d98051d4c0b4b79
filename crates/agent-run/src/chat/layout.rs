//! Results as a person wants to see them: made of their data where a tool has a layout here, else of their first or last lines.

mod cell;
mod code;
mod diagnostics;
mod stop;

use agent_tool_core::{ToolOutput, ToolResult, clip};
use serde_json::Value;

use crate::{
    style::{ALERT, FAINT, diff, in_style},
    visible::readable,
};

/// So many characters of a line of a result are shown.
const LINE_CHARS: usize = 200;

/// A result as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// What it came to, in a few words.
    pub(super) summary: String,
    /// The lines that say most, and how many more there are.
    pub(super) lines: Vec<String>,
}

impl Layout {
    /// A result that came before: what it came to is said, and its lines are not shown again.
    pub(super) fn same_as(self, number: usize) -> Self {
        let again = in_style(FAINT, format!(", the same again as [{number}]"));
        Self { summary: format!("{}{again}", self.summary), lines: Vec::new() }
    }
}

/// Which lines of a result are shown at once; the rest is behind `/open`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    First(usize),
    Last(usize),
}

/// What is shown of each tool's lines. What is not here shows its first ones.
const SHOWN: [(&str, Part); 11] = [
    ("read", Part::First(4)),
    ("search", Part::First(14)),
    ("ast_grep", Part::First(14)),
    ("ast_edit", Part::First(24)),
    ("shell", Part::Last(12)),
    ("eval", Part::Last(24)),
    ("debug", Part::First(20)),
    ("lsp", Part::First(14)),
    ("write", Part::First(12)),
    ("edit", Part::First(12)),
    ("apply_patch", Part::First(16)),
];

const SHOWN_ELSE: Part = Part::First(6);

/// How much is shown of a change that a card showed before it was made, beside what became of it.
const SHOWN_AFTER_CARD: Part = Part::First(0);

/// Tools whose result repeats the change that their card showed.
const CHANGING: [&str; 4] = ["write", "edit", "apply_patch", "lsp_rename"];

/// The result of a call, with the number under which it opens. `seen` says that a card showed what it would do.
pub(super) fn of(name: &str, result: &ToolResult, number: usize, seen: Seen) -> Layout {
    let output = match result {
        Ok(output) => output,
        Err(error) => {
            let text = readable(&error.message);
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let summary = in_style(ALERT, &error.code).to_string();
            return Layout { summary, lines: bounded(&lines, SHOWN_ELSE, number) };
        }
    };
    let part = SHOWN.iter().find(|(tool, _)| *tool == name).map_or(SHOWN_ELSE, |(_, part)| *part);
    let part = match seen {
        Seen::OnCard if CHANGING.contains(&name) && !has_news(&output.data) => SHOWN_AFTER_CARD,
        _ => part,
    };
    let (summary, lines) = own(name, output).unwrap_or_else(|| plain(output));
    Layout { summary: in_style(FAINT, summary).to_string(), lines: bounded(&lines, part, number) }
}

/// Whether the person saw on a card what a call would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    OnCard,
    Not,
}

fn own(name: &str, output: &ToolOutput) -> Option<(String, Vec<String>)> {
    match name {
        "search" | "ast_grep" => code::matches(&output.data),
        "debug" => stop::stop(&output.data),
        "lsp" => diagnostics::diagnostics(&output.data),
        "eval" => cell::cell(&output.data),
        "shell" => cell::command(&output.data),
        name if CHANGING.contains(&name) => change(output),
        _ => None,
    }
}

/// Whether a write's result has diagnostics that came with it.
fn has_news(data: &Value) -> bool {
    data["diagnostics"]["new"].as_array().is_some_and(|new| !new.is_empty())
}

/// What became of a change, and the change itself.
fn change(output: &ToolOutput) -> Option<(String, Vec<String>)> {
    let (_, mut lines) = plain(output);
    (!lines.is_empty()).then(|| (lines.remove(0), lines))
}

fn plain(output: &ToolOutput) -> (String, Vec<String>) {
    let lines: Vec<String> = lines_of(&output.joined_text())
        .map(|line| diff(&line).trim_end_matches('\n').to_owned())
        .collect();
    (counted(lines.len(), "line"), lines)
}

/// `1 line`, `3 lines`, `nothing`.
fn counted(count: usize, what: &str) -> String {
    match count {
        0 => "nothing".to_owned(),
        count => agent_tool_core::counted(count, what),
    }
}

/// The lines of a text of somebody else's, each no longer than is shown.
fn lines_of(text: &str) -> impl Iterator<Item = String> {
    let text = readable(text);
    text.lines()
        .map(|line| clip(line, LINE_CHARS).text.replace('\n', " "))
        .collect::<Vec<_>>()
        .into_iter()
}

/// One line of a text of somebody else's.
fn line_of(text: &str) -> String {
    clip(&readable(text).replace('\n', " "), LINE_CHARS).text.replace('\n', " ")
}

/// The lines that are shown at once, and how many are not.
fn bounded(lines: &[String], part: Part, number: usize) -> Vec<String> {
    let (range, before, after) = match part {
        Part::First(most) if lines.len() > most => (0..most, 0, lines.len() - most),
        Part::Last(most) if lines.len() > most => {
            (lines.len() - most..lines.len(), lines.len() - most, 0)
        }
        _ => (0..lines.len(), 0, 0),
    };
    let more = |count: usize, place: &str| {
        let said = format!("… {} {place}: /open {number}", counted(count, "line"));
        (count > 0).then(|| in_style(FAINT, said).to_string())
    };
    let body = lines[range].iter().cloned();
    more(before, "before").into_iter().chain(body).chain(more(after, "more")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The lines of a layout without styles.
    pub(super) fn told(name: &str, data: Value) -> (String, Vec<String>) {
        let output = ToolOutput::text("as the model reads it").with_data(data);
        let layout = of(name, &Ok(output), 7, Seen::Not);
        let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
        (plain(&layout.summary), layout.lines.iter().map(|line| plain(line)).collect())
    }

    #[test]
    fn the_end_of_a_command_and_the_beginning_of_a_file_are_shown() {
        let lines: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
        let output = || Ok(ToolOutput::text(lines.join("\n")));
        let layout = of("shell", &output(), 7, Seen::Not);
        assert_eq!((layout.lines.len(), layout.lines[12].as_str()), (13, "20"));
        assert!(layout.lines[0].contains("8 lines before: /open 7"), "{}", layout.lines[0]);
        let layout = of("read", &output(), 7, Seen::Not);
        assert_eq!((layout.lines.len(), layout.lines[0].as_str()), (5, "1"));
        assert!(layout.lines[4].contains("16 lines more: /open 7"), "{}", layout.lines[4]);
    }

    #[test]
    fn a_result_that_came_before_says_what_it_came_to() {
        let data = json!({"ending": {"how": "exited", "code": 3}, "output": "x\n"});
        let output = ToolOutput::text("x").with_data(data);
        let layout = of("shell", &Ok(output), 2, Seen::Not).same_as(1);
        let summary = anstream::adapter::strip_str(&layout.summary).to_string();
        assert_eq!(
            (summary.as_str(), layout.lines.len()),
            ("exit code 3, 1 line, the same again as [1]", 0)
        );
    }

    #[test]
    fn a_change_that_a_card_showed_is_not_shown_again() {
        let output = || {
            let text = "modified `a` (+1 -1)\n--- a/a\n+++ b/a\n-x\n+y";
            Ok(ToolOutput::text(text).with_data(json!({"files": []})))
        };
        let layout = of("edit", &output(), 7, Seen::OnCard);
        assert!(layout.summary.contains("modified `a` (+1 -1)"), "{}", layout.summary);
        assert_eq!(layout.lines.len(), 1, "{:?}", layout.lines);
        assert!(layout.lines[0].contains("4 lines more: /open 7"), "{:?}", layout.lines);
        assert_eq!(of("edit", &output(), 7, Seen::Not).lines.len(), 4);
    }
}
