//! The children of a candidate, as the pattern counts them.

use agent_grammars::tree_sitter::Node;

use super::{Entry, List, Matcher};
use crate::own_text;
use crate::symbols::{BLANK, COMMA, SEMICOLON, STRICT, TRANSPARENT};

impl<'t> Matcher<'_, 't> {
    /// Pushes the children of `node` that are no trivia.
    pub(super) fn children(&mut self, node: Node<'t>) -> List {
        let symbols = &self.pattern.symbols;
        let first = self.entries.len();
        self.own_text.clear();
        self.cursor.reset(node);
        if self.cursor.goto_first_child() {
            let verbatim = own_text::is_verbatim(node, symbols);
            let mut end = node.start_byte();
            loop {
                let child = self.cursor.node();
                own_text::push(&mut self.own_text, end..child.start_byte(), self.source, verbatim);
                end = end.max(child.end_byte());
                if !symbols.is_trivia(child, self.source) {
                    self.entries.push(Entry { node: child, optional: false });
                }
                if !self.cursor.goto_next_sibling() {
                    break;
                }
            }
            own_text::push(&mut self.own_text, end..node.end_byte(), self.source, verbatim);
        }
        let strict = symbols.has(node, STRICT);
        let mut at_end = true;
        for entry in self.entries[first..].iter_mut().rev() {
            if symbols.has(entry.node, TRANSPARENT)
                && let Some(only) = only_child(entry.node)
                && own_text::pieces(entry.node, &mut self.cursor, self.source, symbols).is_empty()
            {
                entry.node = only;
            }
            let traits = symbols.of(entry.node);
            // Most entries are neither, and at the end of the list nothing can change any more.
            if at_end || traits & (BLANK | SEMICOLON | COMMA) != 0 {
                entry.optional = symbols.is_optional_separator(entry.node, strict, &mut at_end);
            }
        }
        let end = self.entries.len();
        List { first, end, start_byte: node.start_byte(), end_byte: node.end_byte() }
    }
}

fn only_child(node: Node<'_>) -> Option<Node<'_>> {
    if node.child_count() == 1 { node.child(0) } else { None }
}
