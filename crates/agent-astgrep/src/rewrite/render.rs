//! Writes a file with its matches replaced: captures verbatim, matches inside of them replaced too.

use std::collections::HashSet;
use std::ops::Range;

use agent_grammars::tree_sitter::Tree;

use super::layout::Layout;
use super::output::Output;
use super::template::{Piece, Template};
use super::{Edit, Job, MAX_NESTED};
use crate::pattern::{Capture, Match, Pattern};
use crate::symbols::{COMMA, COMMENT, SEMICOLON};

/// Something that needs parentheses to stay what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wrap {
    /// The capture that a piece of the template puts into the replacement of a match.
    Capture { index: usize, piece: usize },
    /// The replacement of a match as a whole.
    Replacement { index: usize },
}

/// Where in the output something went that has to be one node there.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) range: Range<usize>,
    pub(super) wrap: Wrap,
    pub(super) index: usize,
    /// A capture in a longer word cannot be a node.
    pub(super) glued: bool,
}

/// A file as it would be.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) out: Output,
    pub(super) spots: Vec<Spot>,
    pub(super) edits: Vec<Edit>,
    pub(super) applied: HashSet<usize>,
    /// Matches that lie in too many others.
    pub(super) too_deep: HashSet<usize>,
    pub(super) dropped_comments: usize,
}

pub(super) struct Renderer<'a> {
    pattern: &'a Pattern,
    template: &'a Template,
    source: &'a [u8],
    tree: &'a Tree,
    layout: &'a Layout,
    matches: &'a [Match],
    wraps: &'a HashSet<Wrap>,
    rendered: Rendered,
    /// How many replacements the current position is inside of.
    depth: usize,
}

/// From which indentation to which lines are moved.
#[derive(Clone, Copy)]
struct Shift<'a> {
    from: &'a [u8],
    to: &'a [u8],
}

impl<'a> Renderer<'a> {
    pub(super) fn new(job: &'a Job<'a>, wraps: &'a HashSet<Wrap>) -> Self {
        let Job { pattern, template, source, tree, layout, matches } = job;
        let rendered = Rendered::default();
        Self { pattern, template, source, tree, layout, matches, wraps, rendered, depth: 0 }
    }

    pub(super) fn file(mut self) -> Rendered {
        self.slice(0..self.source.len(), 0, Shift { from: b"", to: b"" });
        self.rendered
    }

    /// Writes a slice of the source. Matches from number `first` on that lie in it are replaced.
    fn slice(&mut self, range: Range<usize>, first: usize, shift: Shift<'_>) {
        let mut position = range.start;
        for index in first..self.matches.len() {
            let replaced = &self.matches[index].replaced;
            if replaced.start >= range.end {
                break;
            }
            if self.depth >= MAX_NESTED {
                self.rendered.too_deep.insert(index);
                continue;
            }
            if replaced.start < position || replaced.end > range.end {
                continue;
            }
            self.text(position..replaced.start, shift);
            position = self.replacement(index).clamp(replaced.end, range.end.max(replaced.end));
        }
        self.text(position.min(range.end)..range.end, shift);
    }

    /// Writes source as it is, but for the indentation of lines that may move.
    fn text(&mut self, range: Range<usize>, shift: Shift<'_>) {
        let mut position = range.start;
        while let Some(newline) = memchr::memchr(b'\n', &self.source[position..range.end]) {
            let line = position + newline + 1;
            self.rendered.out.push(&self.source[position..line]);
            position = line;
            let rest = &self.source[line..range.end];
            let moves = shift.from != shift.to
                && rest.starts_with(shift.from)
                && !matches!(rest.first(), None | Some(b'\r' | b'\n'))
                && !self.layout.is_fixed(line);
            if moves {
                self.rendered.out.push(shift.to);
                position = line + shift.from.len();
            }
        }
        self.rendered.out.push(&self.source[position..range.end]);
    }

    /// Writes the replacement of a match, and tells where the source goes on behind it.
    fn replacement(&mut self, index: usize) -> usize {
        let replaced = self.matches[index].replaced.clone();
        let first_time = self.rendered.applied.insert(index);
        if self.template.is_empty() {
            return self.deletion(&replaced, first_time);
        }
        let start = self.rendered.out.len();
        let wrap = self.parentheses(Wrap::Replacement { index });
        self.rendered.out.push(wrap.0);
        self.depth += 1;
        let kept = self.pieces(index);
        self.depth -= 1;
        self.rendered.out.push(wrap.1);
        let range = start..self.rendered.out.len();
        self.rendered.spots.push(Spot {
            range: range.clone(),
            wrap: Wrap::Replacement { index },
            index,
            glued: false,
        });
        if first_time {
            self.rendered.dropped_comments += self.comments_outside(&replaced, &kept);
        }
        if self.depth == 0 {
            let replacement = self.rendered.out[range].to_vec();
            self.rendered.edits.push(Edit { range: replaced.clone(), replacement });
        }
        replaced.end
    }

    /// Writes the template for one match, and gives the slices of the source that it used.
    fn pieces(&mut self, index: usize) -> Vec<Range<usize>> {
        let base = self.rendered.out.indent().to_vec();
        let mut kept = Vec::new();
        let mut line = 0;
        let mut swallow_comma = false;
        for (piece, content) in self.template.pieces.iter().enumerate() {
            match content {
                Piece::Text(text) => {
                    let text = if std::mem::take(&mut swallow_comma) {
                        text.trim_start().trim_start_matches(',').trim_start_matches(' ')
                    } else {
                        text
                    };
                    self.template_text(text, &base, &mut line);
                }
                Piece::Variable { number, glued, bracketed } => {
                    match self.matches[index].captures[*number].clone() {
                        Capture::One(range) => {
                            let wrap = Wrap::Capture { index, piece };
                            self.one(index, range.clone(), wrap, *glued);
                            kept.push(range);
                        }
                        Capture::Many { nodes, slice } => {
                            let written = self.many(index, &nodes, slice.clone(), *bracketed);
                            if written {
                                kept.push(slice);
                            } else {
                                swallow_comma = self.close_gap(piece);
                            }
                        }
                    }
                }
            }
        }
        kept
    }

    fn template_text(&mut self, text: &str, base: &[u8], line: &mut usize) {
        for (number, content) in text.split('\n').enumerate() {
            if number == 0 {
                self.rendered.out.push(content.as_bytes());
                continue;
            }
            *line += 1;
            self.rendered.out.push(self.layout.line_end.as_bytes());
            let is_last = number == text.matches('\n').count();
            let blank = content.is_empty() && !is_last;
            if self.template.verbatim_lines.contains(line) || blank {
                self.rendered.out.push(content.as_bytes());
                continue;
            }
            let bare = content.trim_start_matches([' ', '\t']);
            let indent = &content[..content.len() - bare.len()];
            let indent = self.layout.indentation(indent, self.template.indent_unit);
            self.rendered.out.push(base);
            self.rendered.out.push(indent.as_bytes());
            self.rendered.out.push(bare.as_bytes());
        }
    }

    fn one(&mut self, index: usize, range: Range<usize>, wrap: Wrap, glued: bool) {
        let start = self.rendered.out.len();
        let parentheses = self.parentheses(wrap);
        self.rendered.out.push(parentheses.0);
        self.shifted(range, index);
        self.rendered.out.push(parentheses.1);
        let range = start..self.rendered.out.len();
        self.rendered.spots.push(Spot { range, wrap, index, glued });
    }

    /// Writes a run, and tells whether there was anything to write.
    fn many(
        &mut self,
        index: usize,
        nodes: &[Range<usize>],
        slice: Range<usize>,
        bracketed: bool,
    ) -> bool {
        let text = &self.source[slice.clone()];
        let mut range = slice.start + (text.len() - text.trim_ascii_start().len())
            ..slice.start + text.trim_ascii_end().len();
        if range.start >= range.end {
            return false;
        }
        let opened = slice.start > 0 && b"([{<|".contains(&self.source[slice.start - 1]);
        let closed = self.source.get(slice.end).is_some_and(|byte| b")]}>|".contains(byte));
        if bracketed && opened {
            range.start = slice.start;
        }
        if bracketed && closed {
            range.end = slice.end;
        } else if let Some(last) = nodes.last() {
            // A separator behind the last one has nothing to separate any more.
            let tail = self.source[last.end..range.end].trim_ascii();
            if tail == b"," {
                range.end = last.end;
            }
        }
        self.shifted(range.clone(), index);
        if self.layout.line_comment_ends_at(self.source, range.end) {
            let indent = self.rendered.out.indent().to_vec();
            self.rendered.out.push(self.layout.line_end.as_bytes());
            self.rendered.out.push(&indent);
        }
        true
    }

    /// Writes a slice of a capture with its lines moved to where it stands now.
    fn shifted(&mut self, range: Range<usize>, index: usize) {
        let source = self.source;
        let from = self.layout.indent_at(source, range.start);
        let to = self.rendered.out.indent().to_vec();
        self.slice(range, index + 1, Shift { from, to: &to });
    }

    /// An empty run takes a comma of the template with it, and the line if it stands alone on one.
    /// Tells whether the comma is the one that comes next.
    fn close_gap(&mut self, piece: usize) -> bool {
        let text_at = |index: Option<usize>| match index.and_then(|at| self.template.pieces.get(at))
        {
            Some(Piece::Text(text)) => text.as_str(),
            _ => "",
        };
        let after = text_at(Some(piece + 1));
        let before = text_at(piece.checked_sub(1));
        if after.trim_start().starts_with(',') {
            return true;
        }
        let out = &mut self.rendered.out;
        if before.trim_end().ends_with(',') {
            let kept = out.trim_ascii_end().len() - 1;
            out.truncate(kept);
        } else if after.starts_with('\n')
            && before.rsplit('\n').next().is_some_and(is_blank)
            && let Some(newline) = out.line().checked_sub(1)
            && out[newline..].trim_ascii().is_empty()
        {
            let carriage = newline > 0 && out[newline - 1] == b'\r';
            out.truncate(newline - usize::from(carriage));
        }
        false
    }

    fn parentheses(&self, wrap: Wrap) -> (&'static [u8], &'static [u8]) {
        match self.pattern.grammar.profile().parentheses {
            Some((open, close)) if self.wraps.contains(&wrap) => {
                (open.as_bytes(), close.as_bytes())
            }
            _ => (b"", b""),
        }
    }

    fn comments_outside(&self, replaced: &Range<usize>, kept: &[Range<usize>]) -> usize {
        let inside = |outer: &Range<usize>, inner: &Range<usize>| {
            outer.start <= inner.start && inner.end <= outer.end
        };
        self.layout
            .comments_in(replaced)
            .iter()
            .filter(|comment| !kept.iter().any(|kept| inside(kept, comment)))
            .count()
    }

    /// Deletes a match, with the statement that would be empty and the line that would be blank.
    fn deletion(&mut self, replaced: &Range<usize>, first_time: bool) -> usize {
        let mut end = self.sole_statement(replaced);
        let mut start = replaced.start;
        let out = &mut self.rendered.out;
        let line = out.line();
        let rest = &self.source[end..];
        let after = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        let line_ends = matches!(rest.get(after), None | Some(b'\n'));
        if out[line..].trim_ascii().is_empty() && line_ends {
            start -= (out.len() - line).min(start);
            out.truncate(line);
            end += after + usize::from(rest.get(after).is_some());
        } else if line_ends {
            // Nothing but layout would be left at the end of the line.
            let kept = line + out[line..].trim_ascii_end().len();
            start -= out.len() - kept;
            out.truncate(kept);
        }
        if first_time {
            self.rendered.dropped_comments += self.comments_outside(&(start..end), &[]);
        }
        if self.depth == 0 {
            self.rendered.edits.push(Edit { range: start..end, replacement: Vec::new() });
        }
        end
    }

    /// The end of the statement that consists of `replaced` and a terminator.
    fn sole_statement(&self, replaced: &Range<usize>) -> usize {
        let root = self.tree.root_node();
        let mut end = replaced.end;
        let mut node = root.descendant_for_byte_range(replaced.start, replaced.end);
        while let Some(inner) = node {
            let Some(parent) = inner.parent() else { break };
            let mut cursor = parent.walk();
            let alone = parent
                .children(&mut cursor)
                .filter(|child| child.id() != inner.id())
                .all(|child| self.pattern.symbols.has(child, SEMICOLON | COMMENT));
            if !alone || parent.start_byte() != replaced.start || parent.parent().is_none() {
                let next = inner.next_sibling().filter(|_| inner.end_byte() == end);
                let separator = |next: &agent_grammars::tree_sitter::Node<'_>| {
                    self.pattern.symbols.has(*next, SEMICOLON)
                        && !self.pattern.symbols.has(*next, COMMA)
                };
                return next.filter(separator).map_or(end, |next| next.end_byte());
            }
            end = end.max(parent.end_byte());
            node = Some(parent);
        }
        end
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
