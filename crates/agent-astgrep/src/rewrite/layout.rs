//! How a file is laid out: its line ends, its indentation, and the lines that must not move.

use std::{iter::once, ops::Range};

use agent_grammars::tree_sitter::{Node, Tree};

use crate::pattern::Pattern;
use crate::symbols::{COMMENT, OPAQUE};

#[derive(Debug)]
pub(super) struct Layout {
    pub(super) line_end: &'static str,
    /// One level of indentation, or `None` where nothing is indented.
    indent_unit: Option<String>,
    /// Strings, templates and comments of more than one line, by position.
    fixed: Vec<Range<usize>>,
    /// All comments, by position; none is in another.
    comments: Vec<Range<usize>>,
    /// Where the lines begin.
    lines: Vec<usize>,
}

impl Layout {
    pub(super) fn of(source: &[u8], tree: &Tree, pattern: &Pattern) -> Self {
        let mut layout = Self {
            line_end: dominant_line_end(source),
            indent_unit: indent_unit(source),
            fixed: Vec::new(),
            comments: Vec::new(),
            lines: once(0).chain(memchr::memchr_iter(b'\n', source).map(|end| end + 1)).collect(),
        };
        layout.collect(tree.root_node(), pattern);
        layout.fixed.sort_by_key(|range| range.start);
        layout.comments.sort_by_key(|range| range.start);
        layout
    }

    fn collect(&mut self, root: Node<'_>, pattern: &Pattern) {
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            let symbols = &pattern.symbols;
            if symbols.has(node, COMMENT) {
                self.comments.push(node.byte_range());
            }
            if symbols.has(node, OPAQUE | COMMENT) {
                if node.start_position().row < node.end_position().row {
                    self.fixed.push(node.byte_range());
                }
                continue;
            }
            let mut cursor = node.walk();
            stack.extend(node.children(&mut cursor));
        }
    }

    /// Whether the line that begins at `offset` begins in a string or a comment.
    pub(super) fn is_fixed(&self, offset: usize) -> bool {
        let behind = self.fixed.partition_point(|range| range.start < offset);
        self.fixed[..behind].iter().rev().take(1).any(|range| offset < range.end)
    }

    /// The template's indentation as this file would write it. Spaces stay as they are among
    /// spaces and tabs among tabs.
    pub(super) fn indentation(&self, written: &str, template_unit: usize) -> String {
        let Some(unit) = &self.indent_unit else { return written.to_owned() };
        let file_uses_tabs = unit.starts_with('\t');
        let written_with_tabs = written.contains('\t');
        if written.is_empty() || file_uses_tabs == written_with_tabs {
            return written.to_owned();
        }
        let levels = if written_with_tabs {
            written.matches('\t').count()
        } else {
            written.len().div_ceil(template_unit.max(1))
        };
        unit.repeat(levels)
    }

    /// Whether a comment that reaches to the end of its line ends at `offset`.
    pub(super) fn line_comment_ends_at(&self, source: &[u8], offset: usize) -> bool {
        let closed = |comment: &[u8]| {
            ["*/", "-->", "-}", "]]", "%>"].iter().any(|close| comment.ends_with(close.as_bytes()))
        };
        let at_line_end = matches!(source.get(offset), None | Some(b'\n' | b'\r'));
        let ending = self.comments.binary_search_by_key(&offset, |comment| comment.end);
        at_line_end && ending.is_ok_and(|index| !closed(&source[self.comments[index].clone()]))
    }

    /// The comments in a range.
    pub(super) fn comments_in(&self, range: &Range<usize>) -> &[Range<usize>] {
        let first = self.comments.partition_point(|comment| comment.start < range.start);
        let inside = self.comments[first..].iter();
        &self.comments[first..][..inside.take_while(|comment| comment.end <= range.end).count()]
    }

    /// The whitespace that the line of `offset` begins with.
    pub(super) fn indent_at<'s>(&self, source: &'s [u8], offset: usize) -> &'s [u8] {
        let line = self.lines.partition_point(|line| *line <= offset).saturating_sub(1);
        blank_start(&source[self.lines[line]..offset])
    }
}

/// The blanks and tabs that a line begins with.
pub(super) fn blank_start(line: &[u8]) -> &[u8] {
    &line[..line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()]
}

fn dominant_line_end(source: &[u8]) -> &'static str {
    let lines = memchr::memchr_iter(b'\n', source).count();
    let carriage = memchr::memmem::find_iter(source, b"\r\n").count();
    if carriage * 2 > lines { "\r\n" } else { "\n" }
}

fn indent_unit(source: &[u8]) -> Option<String> {
    let mut tabs = 0;
    let mut spaces = 0;
    let mut least = usize::MAX;
    for line in source.split(|&byte| byte == b'\n') {
        let width = line.iter().take_while(|&&byte| byte == b' ').count();
        match line.first() {
            Some(b'\t') => tabs += 1,
            // One space is the body of a block comment.
            Some(b' ') if width > 1 && width < line.len() => {
                spaces += 1;
                least = least.min(width);
            }
            _ => {}
        }
    }
    if tabs == 0 && spaces == 0 {
        None
    } else if tabs > spaces {
        Some("\t".to_owned())
    } else {
        Some(" ".repeat(least))
    }
}
