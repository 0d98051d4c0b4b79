//! Comments and strings, by the grammar of the file.

use agent_grammars::{Grammar, tree_sitter::Tree};

use super::Occurrence;

/// The parsed text of a document, for telling code from comments and strings.
#[derive(Debug)]
pub struct Code<'a> {
    grammar: &'a Grammar,
    tree: Tree,
}

impl<'a> Code<'a> {
    /// Parses a text. `None` when the parser gives up.
    #[must_use]
    pub fn parse(grammar: &'a Grammar, text: &str) -> Option<Self> {
        let tree = grammar.parser().parse(text, None)?;
        Some(Self { grammar, tree })
    }

    /// Whether an occurrence is code. What is interpolated into a string is. `None` where the text cannot be parsed.
    #[must_use]
    pub fn contains(&self, occurrence: &Occurrence) -> Option<bool> {
        let range = &occurrence.identifier;
        let leaf = self.tree.root_node().descendant_for_byte_range(range.start, range.end)?;
        if leaf.is_error() {
            return None;
        }
        let profile = self.grammar.profile();
        let opaque =
            |kind: &str| profile.opaque.contains(&kind) || profile.comments.contains(&kind);
        let parent = leaf.parent().is_some_and(|parent| opaque(parent.kind()));
        Some(!opaque(leaf.kind()) && !parent)
    }
}
