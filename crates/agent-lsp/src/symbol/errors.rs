//! The errors of a symbol. Each shows the line and says what to write instead.

use std::fmt::Write as _;

use agent_tool_core::{ErrorKind, ToolError, clip};
use serde_json::{Value, json};

use super::{Found, Query, search::Line};
use crate::position::Document;

/// A longer line is shown in part.
const SHOWN_LINE: usize = 200;
/// Characters shown on either side of an occurrence.
const AROUND: usize = 24;
const NEAREST_LINES: usize = 3;
const SIMILAR_NAMES: usize = 5;
const LISTED_OCCURRENCES: usize = 20;

pub(super) fn required(document: &Document, query: &Query<'_>) -> ToolError {
    let line = document.line(query.line).map(show).map_or_else(String::new, |line| {
        format!("; line {} of {} is `{line}`", query.line, query.file)
    });
    ToolError::new(
        ErrorKind::InvalidArgs,
        "symbol_required",
        format!("`symbol` is missing: write the part of the line that is meant, as it stands there{line}"),
    )
    .with_data(json!({"file": query.file, "line": query.line}))
}

pub(super) fn line_out_of_range(document: &Document, query: &Query<'_>) -> ToolError {
    let lines = document.line_count();
    ToolError::new(
        ErrorKind::InvalidArgs,
        "line_out_of_range",
        format!(
            "{} has no line {}; its lines are 1 to {lines}, so read the file again and name the line that has the symbol",
            query.file, query.line
        ),
    )
    .with_data(json!({"file": query.file, "line": query.line, "lines": lines}))
}

pub(super) fn not_found(
    document: &Document,
    query: &Query<'_>,
    symbol: &str,
    line: &Line<'_>,
) -> ToolError {
    let mut similar = line.similar(symbol);
    similar.truncate(SIMILAR_NAMES);
    let nearest =
        if similar.is_empty() { nearest(document, query, symbol, line) } else { Vec::new() };
    let shown = show(line.text);
    let why = if !similar.is_empty() {
        let names: Vec<_> = similar.iter().map(|name| format!("`{name}`")).collect();
        format!("; did you mean {}?", names.join(" or "))
    } else if nearest.is_empty() {
        "; no line of the file has it, so read the file again".to_owned()
    } else {
        let lines = nearest.iter().map(|(number, text)| format!("\n  line {number}: `{text}`"));
        format!("; the nearest lines that have it:{}", lines.collect::<String>())
    };
    let found: Vec<Value> =
        nearest.iter().map(|(line, text)| json!({"line": line, "text": text})).collect();
    ToolError::new(
        ErrorKind::NotFound,
        "symbol_not_found",
        format!(
            "`{symbol}` is no whole name on line {} of {}, which is `{shown}`{why}",
            query.line, query.file
        ),
    )
    .with_data(json!({
        "file": query.file, "line": query.line, "text": shown, "similar": similar, "nearest": found,
        "occurrences": [],
    }))
}

pub(super) fn no_such_occurrence(found: &Found, number: usize) -> ToolError {
    let Found { symbol, line, file, occurrences, .. } = found;
    let all: Vec<usize> = (0..occurrences.len()).collect();
    let times = if all.len() == 1 { "once".to_owned() } else { format!("{} times", all.len()) };
    ToolError::new(
        ErrorKind::NotFound,
        "symbol_not_found",
        format!(
            "there is no `{symbol}#{number}`: line {line} of {file} has `{symbol}` {times}{}",
            list(found, &all)
        ),
    )
    .with_data(data(found, &all))
}

pub(super) fn ambiguous(found: &Found, indices: &[usize]) -> ToolError {
    let Found { symbol, line, file, text, .. } = found;
    ToolError::new(
        ErrorKind::InvalidArgs,
        "ambiguous_symbol",
        format!(
            "`{symbol}` may be {} different symbols on line {line} of {file}, which is `{}`; pick one by its number, or \
             write more of the line{}",
            indices.len(),
            show(text),
            list(found, indices)
        ),
    )
    .with_data(data(found, indices))
}

fn list(found: &Found, indices: &[usize]) -> String {
    let mut out = String::new();
    for &index in indices.iter().take(LISTED_OCCURRENCES) {
        let column = found.occurrences[index].place.column;
        // Writing to a string does not fail.
        let _ = write!(
            out,
            "\n  `{}#{}` at column {column}: {}",
            found.symbol,
            index + 1,
            around(found, index)
        );
    }
    if indices.len() > LISTED_OCCURRENCES {
        let _ = write!(out, "\n  … and {} more", indices.len() - LISTED_OCCURRENCES);
    }
    out
}

fn data(found: &Found, indices: &[usize]) -> Value {
    let occurrences: Vec<Value> = indices
        .iter()
        .map(|&index| {
            let place = found.occurrences[index].place;
            json!({
                "line": place.line, "column": place.column, "occurrence": index + 1,
                "text": around(found, index),
            })
        })
        .collect();
    json!({
        "file": found.file, "line": found.line, "text": show(&found.text), "symbol": found.symbol,
        "occurrences": occurrences,
    })
}

/// The occurrence with what stands around it.
fn around(found: &Found, index: usize) -> String {
    let column = found.occurrences[index].place.column;
    let length = found.symbol.chars().count();
    let from = column.saturating_sub(AROUND + 1);
    let part: String =
        found.text.chars().skip(from).take(column - from + length + AROUND).collect();
    let total = found.text.chars().count();
    let head = if from > 0 { "…" } else { "" };
    let tail = if from + part.chars().count() < total { "…" } else { "" };
    format!("{head}{}{tail}", part.trim())
}

fn nearest(
    document: &Document,
    query: &Query<'_>,
    symbol: &str,
    line: &Line<'_>,
) -> Vec<(usize, String)> {
    let mut lines: Vec<usize> = (1..=document.line_count())
        .filter(|number| {
            let text = document.line(*number).unwrap_or_default();
            !Line { text, ..*line }.whole(symbol).is_empty()
        })
        .collect();
    lines.sort_by_key(|number| number.abs_diff(query.line));
    lines.truncate(NEAREST_LINES);
    lines
        .into_iter()
        .map(|number| (number, show(document.line(number).unwrap_or_default())))
        .collect()
}

fn show(line: &str) -> String {
    clip(line.trim(), SHOWN_LINE).text
}
