//! Where a text stands in a file, whichever way the file ends its lines.

use std::{borrow::Cow, ops::Range};

use agent_edits::with_newlines;
use agent_workspace::{LineEnding, Text};

/// Where a text was found.
pub(super) struct Found {
    /// From left to right, without overlap: as [`str::replace`] takes them.
    pub(super) ranges: Vec<Range<usize>>,
    /// Whether the text also begins inside of one of the ranges.
    pub(super) overlaps: bool,
}

/// Finds `old` in a text. An `\n` in it matches `\r\n` too, unless it has a `\r` of its own.
pub(super) fn find(text: &Text, old: &str) -> Found {
    let content = &text.content;
    match text.info.line_ending {
        LineEnding::CrLf | LineEnding::Mixed if old.contains('\n') && !old.contains('\r') => {
            let (plain, removed) = without_carriage_returns(content);
            let back = |at: usize| at + removed.partition_point(|newline| *newline < at);
            let mut found = search(&plain, old);
            for range in &mut found.ranges {
                *range = back(range.start)..back(range.end);
            }
            found
        }
        LineEnding::Cr if !old.contains('\r') => search(content, &old.replace('\n', "\r")),
        _ => search(content, old),
    }
}

/// The replacement with the line endings of the file; where the file mixes them, with those of
/// what it replaces. An `old` that has a `\r` of its own is about line endings, so that `new` is
/// taken as it is.
pub(super) fn as_in_file<'a>(
    text: &Text,
    old: &str,
    new: &'a str,
    range: Range<usize>,
) -> Cow<'a, str> {
    if old.contains('\r') || !new.contains('\n') {
        return Cow::Borrowed(new);
    }
    match text.info.line_ending {
        LineEnding::CrLf | LineEnding::Cr => Cow::Owned(with_newlines(new, text.info.newline)),
        LineEnding::Mixed => {
            let replaced = &text.content[range];
            let newline = match replaced.find('\n') {
                Some(at) if replaced[..at].ends_with('\r') => "\r\n",
                Some(_) => "\n",
                None => text.info.newline,
            };
            Cow::Owned(with_newlines(new, newline))
        }
        _ => Cow::Borrowed(new),
    }
}

fn search(content: &str, old: &str) -> Found {
    let ranges: Vec<_> =
        content.match_indices(old).map(|(start, found)| start..start + found.len()).collect();
    let step = old.chars().next().map_or(1, char::len_utf8);
    let overlaps = ranges.first().is_some_and(|first| {
        let until = (first.end + old.len()).min(content.len());
        let until = content.floor_char_boundary(until);
        content[first.start + step..until]
            .find(old)
            .is_some_and(|at| first.start + step + at < first.end)
    });
    Found { ranges, overlaps }
}

/// The text with `\n` for `\r\n`, and where in it those `\n` stand.
fn without_carriage_returns(content: &str) -> (String, Vec<usize>) {
    let mut plain = String::with_capacity(content.len());
    let mut removed = Vec::new();
    for (index, part) in content.split("\r\n").enumerate() {
        if index > 0 {
            removed.push(plain.len());
            plain.push('\n');
        }
        plain.push_str(part);
    }
    (plain, removed)
}
