//! What a parse has to be for a context to accept a fragment.

use std::collections::HashMap;
use std::ops::Range;

use agent_grammars::Grammar;
use agent_grammars::tree_sitter::{Node, Tree};

use super::Spelled;
use crate::metavar::{Occurrence, Sigil, VariableKind, is_word};
use crate::symbols::{CLOSER, COMMA, COMMENT, LIST, OPAQUE, SEMICOLON, Symbols};

/// Where the fragment lies in the scaffolded source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The first byte of the fragment that is no layout.
    start: usize,
    /// Behind the last byte of the fragment that is no layout.
    end: usize,
    /// How far a node may reach behind it: over an added terminator and the layout after it.
    limit: usize,
}

impl Span {
    pub(super) fn new(source: &str, offset: usize, length: usize, terminator: usize) -> Self {
        let text = &source[offset..offset + length];
        let start = offset + (text.len() - text.trim_start().len());
        let end = offset + text.trim_end().len();
        let after = offset + length + terminator;
        let rest = &source[after..];
        Self { start, end: end.max(start), limit: after + (rest.len() - rest.trim_start().len()) }
    }
}

impl Span {
    pub(super) fn start(&self) -> usize {
        self.start
    }
}

/// The first error of a tree, as its offset and what it is.
pub(super) fn first_error(root: Node<'_>) -> Option<(usize, &'static str)> {
    let mut first: Option<(usize, &'static str)> = None;
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if !node.has_error() {
            continue;
        }
        let mut cursor = node.walk();
        let below = stack.len();
        stack.extend(node.children(&mut cursor).filter(Node::has_error));
        // The parser skipped from the start of an error on; an inner one is nearer to the cause.
        let found = if node.is_missing() {
            "something is missing here"
        } else if node.is_error() && stack.len() == below {
            "it cannot be read on from here"
        } else {
            continue;
        };
        if first.is_none_or(|(at, _)| node.start_byte() < at) {
            first = Some((node.start_byte(), found));
        }
    }
    first
}

/// Whether the placeholder at `range` stands in a string or a comment, as text of it.
pub(super) fn is_text(tree: &Tree, symbols: &Symbols, range: Range<usize>) -> bool {
    let Some(mut node) = tree.root_node().descendant_for_byte_range(range.start, range.end) else {
        return false;
    };
    if node.byte_range() != range {
        // A piece of a string is a leaf of its own in many grammars.
        let piece = node.child_count() == 0 && symbols.in_opaque(node);
        return piece || symbols.has(node, OPAQUE | COMMENT);
    }
    while let Some(parent) = node.parent() {
        if parent.byte_range() != range {
            return symbols.has(parent, OPAQUE | COMMENT);
        }
        node = parent;
    }
    false
}

/// A word of the language that the parse took for a name.
pub(super) fn keyword_as_name<'s>(
    tree: &Tree,
    source: &'s str,
    grammar: &Grammar,
    symbols: &Symbols,
    span: Span,
) -> Option<(usize, &'s str)> {
    let mut found = None;
    let mut stack = vec![tree.root_node()];
    while let Some(node) = stack.pop() {
        if node.end_byte() <= span.start || node.start_byte() >= span.end {
            continue;
        }
        if symbols.has(node, OPAQUE | COMMENT) {
            continue;
        }
        if node.child_count() > 0 {
            let mut cursor = node.walk();
            stack.extend(node.children(&mut cursor));
            continue;
        }
        let text = &source[node.byte_range()];
        if !node.is_named() || !is_name_kind(node.kind()) || node.kind() == text {
            continue;
        }
        let reserved = (grammar.profile().reserved.contains(&text)
            && !is_property(&source[..node.start_byte()], node.kind()))
            || (node.start_byte() == span.start
                && is_keyword(grammar, text)
                && opens_something(&source[node.end_byte()..span.end]));
        if reserved && found.is_none_or(|(at, _)| node.start_byte() < at) {
            found = Some((node.start_byte(), text));
        }
    }
    found
}

/// Grammars call a name an identifier, a name, a variable, a constant or a word.
fn is_name_kind(kind: &str) -> bool {
    ["ident", "name", "variable", "constant", "word", "constructor"]
        .iter()
        .any(|part| kind.contains(part))
}

/// `promise.catch(f)`: behind a dot any word is a name.
fn is_property(before: &str, kind: &str) -> bool {
    let before = before.trim_end();
    kind.contains("property") || [".", "::", "->"].iter().any(|access| before.ends_with(access))
}

fn is_keyword(grammar: &Grammar, word: &str) -> bool {
    word.len() > 1
        && word.bytes().all(|byte| byte.is_ascii_lowercase())
        && grammar.language().id_for_node_kind(word, false) != 0
}

/// A word before another word is a keyword; before a bracket or an operator it may be a name
/// (`get(x)` calls something, `get x` does not).
fn opens_something(rest: &str) -> bool {
    let spaced = rest.trim_start();
    rest.len() > spaced.len()
        && spaced
            .bytes()
            .next()
            .is_some_and(|next| is_word(next) || matches!(next, b'"' | b'\'' | b'{' | b'@' | b'$'))
}

/// The nodes that are the fragment and nothing else, with their parent.
pub(super) fn locate<'t>(
    tree: &'t Tree,
    symbols: &Symbols,
    source: &str,
    span: Span,
) -> Option<(Option<Node<'t>>, Vec<Node<'t>>)> {
    let fits =
        |start: usize, end: usize| start == span.start && (span.end..=span.limit).contains(&end);
    let root = tree.root_node();
    let mut node = root.descendant_for_byte_range(span.start, span.end)?;
    while !node.is_named() {
        node = node.parent()?;
    }
    // A file and a list are never meant as such: what is meant is what they hold.
    let is_run = node.parent().is_none() || symbols.has(node, LIST);
    if !is_run && fits(node.start_byte(), node.end_byte()) {
        return Some((node.parent(), vec![node]));
    }
    let mut cursor = node.walk();
    let mut run: Vec<_> = node
        .children(&mut cursor)
        .filter(|child| child.end_byte() > span.start && child.start_byte() < span.limit)
        .filter(|child| !source[child.byte_range()].trim().is_empty())
        .collect();
    // What the scaffold added to end the statement is no part of the fragment.
    while run.last().is_some_and(|last| !last.is_named() && last.start_byte() >= span.end) {
        run.pop();
    }
    let (first, last) = (run.first()?, run.last()?);
    if !fits(first.start_byte(), last.end_byte()) {
        return None;
    }
    if run.len() == 2 && !run[1].is_named() && &source[run[1].byte_range()] == ";" {
        run.pop();
    }
    Some((Some(node), run))
}

type Placed = (HashMap<usize, (VariableKind, usize)>, Vec<(usize, usize, usize)>);

/// The node of each placeholder and the place of each erased ellipsis, or the offset of the first
/// that has none.
pub(super) fn place(
    tree: &Tree,
    symbols: &Symbols,
    offset: usize,
    spelled: &Spelled,
    occurrences: &[Occurrence],
    span: Span,
) -> Result<Placed, usize> {
    let root = tree.root_node();
    let mut placeholders = HashMap::new();
    let mut erased = Vec::new();
    for (index, (spot, occurrence)) in spelled.spots.iter().zip(occurrences).enumerate() {
        let range = spot.spelled.start + offset..spot.spelled.end + offset;
        let node = root.descendant_for_byte_range(range.start, range.end).ok_or(range.start)?;
        if spot.erased {
            let inside = node.start_byte() >= span.start && node.end_byte() <= span.limit;
            let beside = node.child_count() == 0 || symbols.has(node, OPAQUE | COMMENT);
            if beside || !inside {
                return Err(range.start);
            }
            erased.push((node.id(), range.start, index));
            continue;
        }
        if node.byte_range() != range || is_text(tree, symbols, range.clone()) {
            return Err(range.start);
        }
        let kind =
            if occurrence.sigil == Sigil::Many { VariableKind::Many } else { VariableKind::One };
        placeholders.insert(outermost(node, symbols).id(), (kind, index));
    }
    Ok((placeholders, erased))
}

/// The widest node with the range of `node`: the placeholder stands for whatever may stand there.
/// A list is not climbed into, because the placeholder is one of its elements.
fn outermost<'t>(mut node: Node<'t>, symbols: &Symbols) -> Node<'t> {
    while let Some(parent) = node.parent() {
        let same = parent.byte_range() == node.byte_range() && parent.parent().is_some();
        if !same || symbols.has(parent, LIST | COMMA | SEMICOLON | CLOSER) {
            break;
        }
        node = parent;
    }
    node
}
