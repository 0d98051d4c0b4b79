//! A result is parsed again before anyone sees it.

use agent_grammars::Layout;
use agent_grammars::tree_sitter::{Node, Tree};

use super::Job;
use super::render::{Rendered, Spot, Wrap};
use crate::error::{ErrorKind, RewriteError};
use crate::metavar::is_word;
use crate::pattern::Pattern;
use crate::symbols::{LIST, SEMICOLON, Symbols};

/// What has to be in parentheses, because the parse takes a part of it for something else.
pub(super) fn torn(job: &Job<'_>, rendered: &Rendered) -> Result<Vec<Wrap>, RewriteError> {
    let tree = parse(job.pattern, &rendered.out)?;
    let torn: Vec<_> = rendered
        .spots
        .iter()
        .filter(|spot| !spot.glued && !holds(&tree, job, rendered, spot))
        .collect();
    // Parentheses around the widest often mend what is inside of it. What lies within another was
    // written, and so is listed, before it.
    let widest = torn.iter().enumerate().filter(|(position, spot)| {
        !torn[position + 1..]
            .iter()
            .any(|other| other.range.start <= spot.range.start && spot.range.end <= other.range.end)
    });
    Ok(widest.map(|(_, spot)| spot.wrap).collect())
}

/// Whether the result may be written.
pub(super) fn check(job: &Job<'_>, rendered: &Rendered) -> Result<(), RewriteError> {
    let Job { pattern, source, tree: before, matches, .. } = job;
    let after = parse(pattern, &rendered.out)?;
    let line = |index: usize| {
        let start = matches[index].range.start;
        memchr::memchr_iter(b'\n', &source[..start]).count() + 1
    };
    if errors(after.root_node()) > errors(before.root_node()) {
        let error = RewriteError::new(
            ErrorKind::SyntaxError,
            "the result has a syntax error that the file did not have; write a rewrite that can \
             stand where the match stands",
        );
        return Err(match first_spot_in_error(&after, rendered) {
            Some(spot) => error.at_line(line(spot.index)),
            None => error,
        });
    }
    for spot in &rendered.spots {
        let fits = if spot.glued {
            rendered.out[spot.range.clone()].iter().all(|&byte| is_word(byte))
        } else {
            holds(&after, job, rendered, spot)
        };
        if !fits {
            let text = String::from_utf8_lossy(&rendered.out[spot.range.clone()]);
            let message = format!(
                "`{text}` would not stay one piece where the rewrite puts it; write the rewrite \
                 so that it stands alone, or in brackets"
            );
            let error = RewriteError::new(ErrorKind::Precedence, message);
            return Err(error.at_line(line(spot.index)));
        }
    }
    for spot in &rendered.spots {
        if let Wrap::Replacement { index } = spot.wrap
            && joins_the_line_before(job, &after, matches[index].range.start, rendered, spot)
        {
            let error = RewriteError::new(
                ErrorKind::Precedence,
                "the rewrite would go on with the statement before it, since nothing ends that one; \
                 write the rewrite so that it begins with a word, or with a `;`",
            );
            return Err(error.at_line(line(index)));
        }
    }
    let indented = pattern.grammar.profile().layout == Layout::Indented;
    if indented && empty_blocks(&after, &pattern.symbols) > empty_blocks(before, &pattern.symbols) {
        return Err(RewriteError::new(
            ErrorKind::EmptyBlock,
            "a block would be left without a statement; rewrite to the language's empty statement, \
             such as pass, or match the whole block",
        ));
    }
    Ok(())
}

fn parse(pattern: &Pattern, source: &[u8]) -> Result<Tree, RewriteError> {
    pattern.grammar.parser().parse(source, None).ok_or_else(|| {
        RewriteError::new(ErrorKind::SyntaxError, "the parser gave up on the result")
    })
}

/// Whether a spot is one node of the result.
fn holds(tree: &Tree, job: &Job<'_>, rendered: &Rendered, spot: &Spot) -> bool {
    let text = &rendered.out[spot.range.clone()];
    let start = spot.range.start + (text.len() - text.trim_ascii_start().len());
    let end = spot.range.start + text.trim_ascii_end().len();
    if start >= end {
        return true;
    }
    let Some(node) = tree.root_node().descendant_for_byte_range(start, end) else { return false };
    let ends_here = |at: usize| {
        // A terminator behind it that the rewrite left alone is no part of it.
        at == end || (at > end && terminator_only(&rendered.out[end..at]))
    };
    if node.start_byte() == start && ends_here(node.end_byte()) {
        return true;
    }
    if matches!(spot.wrap, Wrap::Capture { .. }) || job.template.is_one_node {
        return is_statement_head(node, start, end, &job.pattern.symbols);
    }
    let mut cursor = node.walk();
    let run: Vec<_> = node
        .children(&mut cursor)
        .filter(|child| child.end_byte() > start && child.start_byte() < end)
        .collect();
    run.first().is_some_and(|first| first.start_byte() == start)
        && run.last().is_some_and(|last| ends_here(last.end_byte()))
}

/// Whether what began a statement begins none any more: where a line's end is all that ends a
/// statement, `(`, `[` and an operator go on with the line before.
fn joins_the_line_before(
    job: &Job<'_>,
    after: &Tree,
    start: usize,
    rendered: &Rendered,
    spot: &Spot,
) -> bool {
    let symbols = &job.pattern.symbols;
    let Some(before) = list_begun_at(job.tree, symbols, start) else { return false };
    let text = &rendered.out[spot.range.clone()];
    let blank = text.len() - text.trim_ascii_start().len();
    blank < text.len()
        && list_begun_at(after, symbols, spot.range.start + blank).is_none_or(|list| list != before)
}

/// The kind of the file or the list of which an element begins here.
fn list_begun_at(tree: &Tree, symbols: &Symbols, start: usize) -> Option<u16> {
    let mut node = tree.root_node().descendant_for_byte_range(start, start + 1)?;
    loop {
        let parent = node.parent()?;
        if parent.parent().is_none() || symbols.has(parent, LIST) {
            return (node.start_byte() == start).then(|| parent.kind_id());
        }
        if parent.start_byte() != start {
            return None;
        }
        node = parent;
    }
}

fn terminator_only(text: &[u8]) -> bool {
    text.trim_ascii() == b";" || text.trim_ascii().is_empty()
}

/// A whole element of a list of statements that the grammar makes no node of its own for.
fn is_statement_head(node: Node<'_>, start: usize, end: usize, symbols: &Symbols) -> bool {
    let mut cursor = node.walk();
    let mut inside = node
        .children(&mut cursor)
        .filter(|child| child.end_byte() > start && child.start_byte() < end)
        .filter(|child| !symbols.has(*child, SEMICOLON));
    let first = inside.next();
    inside.next().is_none()
        && first.is_some_and(|only| only.start_byte() == start && only.end_byte() == end)
}

/// Error and missing nodes.
fn errors(root: Node<'_>) -> usize {
    let mut count = 0;
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if !node.has_error() {
            continue;
        }
        count += usize::from(node.is_error() || node.is_missing());
        let mut cursor = node.walk();
        stack.extend(node.children(&mut cursor));
    }
    count
}

fn first_spot_in_error<'r>(tree: &Tree, rendered: &'r Rendered) -> Option<&'r Spot> {
    let in_error = |spot: &&Spot| {
        let node = tree.root_node().descendant_for_byte_range(spot.range.start, spot.range.end);
        node.is_some_and(|node| node.has_error())
    };
    rendered.spots.iter().find(in_error)
}

/// Lists of nothing, which a grammar may accept where the language does not.
fn empty_blocks(tree: &Tree, symbols: &Symbols) -> usize {
    let mut count = 0;
    let mut stack = vec![tree.root_node()];
    while let Some(node) = stack.pop() {
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        let nothing = !children.iter().any(|child| child.is_named() && !child.is_extra());
        count += usize::from(symbols.has(node, LIST) && nothing);
        stack.extend(children);
    }
    count
}
