//! The kinds of a grammar, sorted once into what the matcher asks of them.

use agent_grammars::Grammar;
use agent_grammars::tree_sitter::Node;

/// A set of traits of a kind.
pub(crate) type Traits = u16;

pub(crate) const COMMENT: Traits = 1;
pub(crate) const OPAQUE: Traits = 1 << 1;
pub(crate) const PROSE: Traits = 1 << 2;
pub(crate) const LIST: Traits = 1 << 3;
pub(crate) const CLAUSE: Traits = 1 << 4;
pub(crate) const STRICT: Traits = 1 << 5;
pub(crate) const TRANSPARENT: Traits = 1 << 6;
pub(crate) const MACRO_BODY: Traits = 1 << 7;
pub(crate) const COMMA: Traits = 1 << 8;
pub(crate) const SEMICOLON: Traits = 1 << 9;
pub(crate) const CLOSER: Traits = 1 << 10;
/// An anonymous token of layout alone, such as the line break that ends a statement in Go.
pub(crate) const BLANK: Traits = 1 << 11;
pub(crate) const LEADING: Traits = 1 << 12;
/// An anonymous token that is an expression by itself.
pub(crate) const VALUE: Traits = 1 << 13;

/// The traits of each kind, by its id.
#[derive(Debug)]
pub(crate) struct Symbols {
    traits: Vec<Traits>,
}

impl Symbols {
    pub(crate) fn new(grammar: &Grammar) -> Self {
        let language = grammar.language();
        let profile = grammar.profile();
        let named: [(Traits, &[&str]); 9] = [
            (COMMENT, profile.comments),
            (OPAQUE, profile.opaque),
            (PROSE, profile.prose),
            (LIST, profile.lists),
            (CLAUSE, profile.clauses),
            (STRICT, profile.strict_separators),
            (TRANSPARENT, profile.transparent),
            (MACRO_BODY, profile.macro_bodies),
            (LEADING, profile.leading),
        ];
        let traits_of = |id: u16| {
            let kind = language.node_kind_for_id(id).unwrap_or("");
            if language.node_kind_is_named(id) {
                let has = |(flag, kinds): &(Traits, &[&str])| {
                    if kinds.contains(&kind) { *flag } else { 0 }
                };
                named.iter().map(has).sum()
            } else {
                let value = if profile.values.contains(&kind) { VALUE } else { 0 };
                anonymous_traits(kind) | value
            }
        };
        let count = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
        Self { traits: (0..count).map(traits_of).collect() }
    }

    pub(crate) fn of(&self, node: Node<'_>) -> Traits {
        // An error has an id beyond the table.
        self.traits.get(usize::from(node.kind_id())).copied().unwrap_or(0)
    }

    pub(crate) fn has(&self, node: Node<'_>, traits: Traits) -> bool {
        self.of(node) & traits != 0
    }

    /// Whether a node is no part of the structure: a comment, an extra, or layout that the grammar
    /// made a node of.
    pub(crate) fn is_trivia(&self, node: Node<'_>, source: &[u8]) -> bool {
        if node.is_error() {
            return false;
        }
        if node.is_extra() || self.has(node, COMMENT) {
            return true;
        }
        let text = &source[node.byte_range()];
        if text.is_empty() {
            return !node.is_missing();
        }
        node.is_named()
            && text[0].is_ascii_whitespace()
            && node.child_count() == 0
            && text.iter().all(u8::is_ascii_whitespace)
            && !self.in_opaque(node)
    }

    /// Whether a leaf is text rather than code: a string, a comment, or a piece of one.
    pub(crate) fn in_opaque(&self, node: Node<'_>) -> bool {
        self.has(node, OPAQUE | COMMENT)
            || node.parent().is_some_and(|parent| self.has(parent, OPAQUE | COMMENT))
    }
}

fn anonymous_traits(kind: &str) -> Traits {
    match kind {
        "," => COMMA,
        ";" => SEMICOLON,
        ")" | "]" | "}" | ">" | "|" | "end" => CLOSER,
        _ if !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_whitespace()) => BLANK,
        _ => 0,
    }
}
