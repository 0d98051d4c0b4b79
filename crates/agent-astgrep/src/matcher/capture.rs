//! From bindings, which point into the matcher's buffers, to captures, which are bytes.

use std::ops::Range;

use agent_grammars::tree_sitter::Node;

use super::{Binding, Matcher, Run};
use crate::pattern::{Capture, Match};
use crate::symbols::{COMMA, SEMICOLON};

impl<'t> Matcher<'_, 't> {
    /// Keeps what is bound now. The buffers below are about to be taken back.
    pub(super) fn accept(&mut self) -> bool {
        let captures = self.bindings.iter().map(|binding| match binding {
            Some(Binding::One(node)) => Capture::One(node.byte_range()),
            Some(Binding::Many(run)) => self.many(*run),
            None => Capture::Many { nodes: Vec::new(), slice: 0..0 },
        });
        self.captures = captures.collect();
        true
    }

    pub(super) fn found(&mut self, first: Node<'t>, last: Node<'t>) -> Match {
        let range = self.start_byte.unwrap_or(first.start_byte())..last.end_byte();
        Match {
            replaced: self.replaced(range.clone(), last),
            captures: std::mem::take(&mut self.captures),
            has_error: first.has_error() || last.has_error(),
            range,
        }
    }

    /// A terminator that the pattern does not have stays where it is, and one that it has is
    /// replaced even where the grammar keeps it outside of the node.
    fn replaced(&self, range: Range<usize>, last: Node<'t>) -> Range<usize> {
        let mut token = last;
        while let Some(child) =
            token.child_count().checked_sub(1).and_then(|index| token.child(index))
        {
            token = child;
        }
        let ends_so = self.pattern.symbols.has(token, SEMICOLON);
        if self.pattern.ends_with_terminator && !ends_so {
            let next = last.next_sibling();
            let terminator = next.filter(|&next| self.pattern.symbols.has(next, SEMICOLON));
            return range.start..terminator.map_or(range.end, |next| next.end_byte());
        }
        if self.pattern.ends_with_terminator || !ends_so || token.start_byte() <= range.start {
            return range;
        }
        let kept = self.source[range.start..token.start_byte()].trim_ascii_end().len();
        range.start..range.start + kept
    }

    fn many(&self, run: Run) -> Capture {
        let entries = &self.entries[run.first..run.end];
        let is_separator = |node: Node<'t>| self.pattern.symbols.has(node, COMMA | SEMICOLON);
        let nodes: Vec<_> = entries
            .iter()
            .map(|entry| entry.node)
            .filter(|&node| !is_separator(node))
            .map(|node| node.byte_range())
            .collect();
        let before = if run.first > run.list.first {
            self.entries[run.first - 1].node.end_byte()
        } else {
            run.list.start_byte
        };
        // The separator that leads the run goes with it, and is no part of its text.
        let start = match entries.first() {
            Some(first) if is_separator(first.node) => first.node.end_byte(),
            _ => before,
        };
        // A separator behind the last one belongs to the run, unless something follows that it
        // separates the run from.
        let mut next = run.end;
        while next < run.list.end && is_separator(self.entries[next].node) {
            next += 1;
        }
        let separates = next < run.list.end && self.entries[next].node.is_named();
        let end = match entries.last() {
            Some(last) if separates && is_separator(last.node) => last.node.start_byte(),
            _ if separates => self.entries[run.end].node.start_byte(),
            _ if next < run.list.end => self.entries[next].node.start_byte(),
            _ => run.list.end_byte,
        };
        Capture::Many { nodes, slice: start.min(end)..end }
    }
}
