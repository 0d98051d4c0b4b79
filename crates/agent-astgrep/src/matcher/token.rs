//! What one element takes: a node for a metavariable, a token for a token.

use agent_grammars::tree_sitter::Node;

use super::{Binding, Leniency, Matcher, equal};
use crate::program::{Item, Leaf};
use crate::symbols::{BLANK, PROSE, VALUE};

impl<'t> Matcher<'_, 't> {
    pub(super) fn take_one(&mut self, variable: Option<usize>, node: Node<'t>) -> bool {
        let is_node = node.is_named() || self.pattern.symbols.has(node, VALUE);
        let takes = is_node && !node.is_error() && !node.is_missing();
        takes && self.bind(variable, Binding::One(node))
    }

    pub(super) fn bind(&mut self, variable: Option<usize>, binding: Binding<'t>) -> bool {
        let Some(variable) = variable else { return true };
        match self.bindings[variable] {
            Some(known) => self.leniency == Some(Leniency::Repeats) || self.same(known, binding),
            None => {
                self.bindings[variable] = Some(binding);
                self.trail.push(variable);
                true
            }
        }
    }

    /// Whether the node whose children were looked at last has just this text in none of them.
    pub(super) fn has_own_text(&self, own: &[Box<[u8]>]) -> bool {
        let pieces = self.own_text.iter().map(|piece| &self.source[piece.clone()]);
        self.own_text.len() == own.len()
            && own.iter().zip(pieces).all(|(own, piece)| **own == *piece)
    }

    pub(super) fn token_matches(&self, item: &Item, node: Node<'t>) -> bool {
        matches!(item, Item::Leaf(leaf) if self.leaf_matches(leaf, node))
    }

    pub(super) fn leaf_matches(&self, leaf: &Leaf, node: Node<'t>) -> bool {
        if node.is_named() != leaf.named || node.is_missing() {
            return false;
        }
        let text = &self.source[node.byte_range()];
        if leaf.named {
            return text == &*leaf.text
                || (leaf.prose
                    && self.pattern.symbols.has(node, PROSE)
                    && equal::without_layout(text, &leaf.text));
        }
        // An anonymous token may be an alias, so its text counts as well as its kind.
        node.kind_id() == leaf.kind
            && (text == &*leaf.text
                || (self.pattern.folds_case && text.eq_ignore_ascii_case(&leaf.text))
                || equal::without_layout(text, &leaf.text)
                || self.pattern.symbols.has(node, BLANK))
    }
}
