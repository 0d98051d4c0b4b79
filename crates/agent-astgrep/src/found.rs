//! A match as a result has it: lines, columns and texts instead of offsets.

use std::{collections::BTreeMap, ops::Range};

use agent_tool_core::clip;
use serde::Serialize;

use crate::{Capture, Match, Pattern};

/// How many characters of a match, and of a capture, a result has.
const TEXT_CHARS: usize = 2_000;

/// One match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GrepMatch {
    /// The file, as the workspace shows it.
    pub file: String,
    /// Where it begins: the line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// Where it ends: the line.
    pub end_line: usize,
    /// The column behind its last character.
    pub end_column: usize,
    /// The text, clipped.
    pub text: String,
    /// What the metavariables stand for: a text, or a list of texts for a run.
    pub captures: BTreeMap<String, CaptureText>,
}

/// The text of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CaptureText {
    /// One node.
    One(String),
    /// A run of nodes.
    Many(Vec<String>),
}

/// The first `room` matches in a file, in words.
pub(crate) fn describe(
    file: &str,
    pattern: &Pattern,
    source: &[u8],
    matches: &[Match],
    room: usize,
) -> Vec<GrepMatch> {
    if matches.is_empty() {
        return Vec::new();
    }
    let lines = Lines::of(source);
    let text = |range: &Range<usize>| {
        clip(&String::from_utf8_lossy(&source[range.clone()]), TEXT_CHARS).text
    };
    let mut from = Place { offset: 0, line: 0, column: 1 };
    let one = |matched: &Match| {
        let captures = pattern.variables().iter().zip(&matched.captures);
        let captures = captures.map(|(variable, capture)| {
            let captured = match capture {
                Capture::One(range) => CaptureText::One(text(range)),
                Capture::Many { nodes, .. } => CaptureText::Many(nodes.iter().map(text).collect()),
            };
            (variable.name.clone(), captured)
        });
        let start = lines.position(matched.range.start, &from);
        let end = lines.position(matched.range.end, &start);
        let (line, column, end_line, end_column) = (start.line, start.column, end.line, end.column);
        from = start;
        GrepMatch {
            file: file.to_owned(),
            line,
            column,
            end_line,
            end_column,
            text: text(&matched.range),
            captures: captures.collect(),
        }
    };
    matches.iter().take(room).map(one).collect()
}

/// An offset with its line and column, from 1, the column in characters.
struct Place {
    offset: usize,
    line: usize,
    column: usize,
}

/// Where the lines of a source begin.
struct Lines<'a> {
    source: &'a [u8],
    starts: Vec<usize>,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl<'a> Lines<'a> {
    fn of(source: &'a [u8]) -> Self {
        // A byte-order mark is no column.
        let first = if source.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let ends = memchr::memchr_iter(b'\n', source).map(|end| end + 1);
        Self { source, starts: std::iter::once(first).chain(ends).collect() }
    }

    /// Where an offset is. On the line of `from` and behind it, only what is between is counted: all
    /// of a file may be one line.
    fn position(&self, offset: usize, from: &Place) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let (start, column) = if line == from.line && from.offset <= offset {
            (from.offset, from.column)
        } else {
            (self.starts[line - 1], 1)
        };
        let between = self.source.get(start..offset).unwrap_or_default();
        let column = column + String::from_utf8_lossy(between).chars().count();
        Place { offset, line, column }
    }
}
