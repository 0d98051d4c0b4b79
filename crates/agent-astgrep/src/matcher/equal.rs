//! A repeated metavariable: the same tokens, whatever their layout and comments.

use agent_grammars::tree_sitter::{Node, TreeCursor};

use super::{Binding, Matcher, Run};
use crate::own_text::trimmed;
use crate::symbols::{COMMA, SEMICOLON};

impl<'t> Matcher<'_, 't> {
    pub(super) fn same(&self, left: Binding<'t>, right: Binding<'t>) -> bool {
        match (left, right) {
            (Binding::One(left), Binding::One(right)) => self.same_node(left, right),
            (Binding::Many(left), Binding::Many(right)) => self.same_run(left, right),
            // A name is of one kind in a pattern.
            _ => false,
        }
    }

    fn same_run(&self, left: Run, right: Run) -> bool {
        let mut left = self.significant(left);
        let mut right = self.significant(right);
        loop {
            match (left.next(), right.next()) {
                (None, None) => return true,
                (Some(left), Some(right)) if self.same_node(left, right) => {}
                _ => return false,
            }
        }
    }

    /// The nodes of a run without its separators.
    fn significant(&self, run: Run) -> impl Iterator<Item = Node<'t>> {
        self.entries[run.first..run.end]
            .iter()
            .map(|entry| entry.node)
            .filter(|&node| !self.pattern.symbols.has(node, COMMA | SEMICOLON))
    }

    fn same_node(&self, left: Node<'t>, right: Node<'t>) -> bool {
        if self.source[left.byte_range()] == self.source[right.byte_range()] {
            return true;
        }
        let mut left = Tokens::new(left);
        let mut right = Tokens::new(right);
        loop {
            match (self.next_token(&mut left), self.next_token(&mut right)) {
                (None, None) => return true,
                (Some(left), Some(right)) if left == right => {}
                _ => return false,
            }
        }
    }

    /// The next token of a node: a leaf, or text that is in no leaf.
    fn next_token(&self, tokens: &mut Tokens<'t>) -> Option<&'t [u8]> {
        loop {
            if let Some(leaf) = tokens.waiting.take() {
                return Some(leaf);
            }
            let Some(node) =
                tokens.next_leaf(|node| self.pattern.symbols.is_trivia(node, self.source))
            else {
                let rest = std::mem::replace(&mut tokens.end, tokens.limit)..tokens.limit;
                return trimmed(rest, self.source).map(|rest| &self.source[rest]);
            };
            let between = tokens.end..node.start_byte();
            tokens.end = tokens.end.max(node.end_byte());
            let between = trimmed(between, self.source).map(|between| &self.source[between]);
            let text = &self.source[node.byte_range()];
            let is_trivia = self.pattern.symbols.is_trivia(node, self.source);
            if !is_trivia && !text.iter().all(u8::is_ascii_whitespace) {
                tokens.waiting = Some(text);
            }
            if between.is_some() {
                return between;
            }
        }
    }
}

/// The leaves of a node, from left to right, comments too.
struct Tokens<'t> {
    cursor: TreeCursor<'t>,
    started: bool,
    /// Where the last leaf ended, and where the node does.
    end: usize,
    limit: usize,
    waiting: Option<&'t [u8]>,
}

impl<'t> Tokens<'t> {
    fn new(node: Node<'t>) -> Self {
        let (end, limit) = (node.start_byte(), node.end_byte());
        Self { cursor: node.walk(), started: false, end, limit, waiting: None }
    }

    /// The next leaf; a node that is trivia counts as one whatever is in it.
    fn next_leaf(&mut self, is_trivia: impl Fn(Node<'t>) -> bool) -> Option<Node<'t>> {
        if self.started {
            while !self.cursor.goto_next_sibling() {
                if !self.cursor.goto_parent() {
                    return None;
                }
            }
        }
        self.started = true;
        while !is_trivia(self.cursor.node()) && self.cursor.goto_first_child() {}
        Some(self.cursor.node())
    }
}

/// Whether two texts are equal but for their whitespace.
pub(super) fn without_layout(left: &[u8], right: &[u8]) -> bool {
    let words = |text: &[u8]| -> bool { text.iter().any(u8::is_ascii_whitespace) };
    if !words(left) && !words(right) {
        return false;
    }
    let split = |text: &'_ [u8]| -> Vec<Vec<u8>> {
        text.split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    };
    split(left) == split(right)
}
