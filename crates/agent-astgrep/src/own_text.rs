//! Text of a node that is in none of its children: the digits of `10px`, the quotes and the letters
//! of a YAML scalar, the `2 ` of `2 ether`. A grammar that keeps such a token to itself makes no node
//! of it, and it tells one node from another all the same.

use std::ops::Range;

use agent_grammars::tree_sitter::{Node, TreeCursor};

use crate::symbols::{COMMENT, OPAQUE, Symbols};

/// The pieces of such text in a node, in order, none of them blank.
pub(crate) fn pieces<'t>(
    node: Node<'t>,
    cursor: &mut TreeCursor<'t>,
    source: &[u8],
    symbols: &Symbols,
) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    cursor.reset(node);
    if !cursor.goto_first_child() {
        return pieces;
    }
    let verbatim = is_verbatim(node, symbols);
    let mut end = node.start_byte();
    loop {
        let child = cursor.node();
        push(&mut pieces, end..child.start_byte(), source, verbatim);
        end = end.max(child.end_byte());
        if !cursor.goto_next_sibling() {
            break;
        }
    }
    push(&mut pieces, end..node.end_byte(), source, verbatim);
    pieces
}

/// Whether layout counts in a node: it is text.
pub(crate) fn is_verbatim(node: Node<'_>, symbols: &Symbols) -> bool {
    symbols.has(node, OPAQUE | COMMENT)
}

/// Adds what stands between two children, if anything does.
pub(crate) fn push(
    pieces: &mut Vec<Range<usize>>,
    range: Range<usize>,
    source: &[u8],
    verbatim: bool,
) {
    // Children that overlap leave nothing between them, and nearly all follow one another.
    if range.start >= range.end {
        return;
    }
    if verbatim {
        pieces.push(range);
    } else if let Some(piece) = trimmed(range, source) {
        pieces.push(piece);
    }
}

/// A piece without the layout around it; a backslash that continues a line is layout.
pub(crate) fn trimmed(range: Range<usize>, source: &[u8]) -> Option<Range<usize>> {
    let is_layout = |at: usize| {
        source[at].is_ascii_whitespace()
            || (source[at] == b'\\' && matches!(source.get(at + 1), Some(b'\n' | b'\r')))
    };
    let start = range.clone().find(|&at| !is_layout(at))?;
    let end = range.rev().find(|&at| !is_layout(at))? + 1;
    Some(start..end)
}
