//! Where in a tree to try a pattern.

use agent_grammars::tree_sitter::{Node, Tree, TreeCursor};

use crate::matcher::Matcher;
use crate::pattern::{Matches, Pattern};
use crate::program::Item;

/// Which nodes to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those that hold an occurrence of the rarest literal: every match does.
    NearLiterals,
    /// All.
    EveryNode,
}

/// One walk from the root down, in order. It enters a node only where a match can be, so its cost
/// grows with the occurrences of the literal and not with the tree.
pub(crate) fn find(
    pattern: &Pattern,
    tree: &Tree,
    source: &[u8],
    limit: usize,
    reach: Reach,
) -> Matches {
    let anchors = match reach {
        Reach::NearLiterals => pattern.literals().rarest(source),
        Reach::EveryNode => None,
    };
    let mut search = Search {
        pattern,
        matcher: Matcher::new(pattern, tree, source),
        anchors: anchors.map(|(offsets, length)| Anchors { offsets, length }),
        limit,
        found: Matches::default(),
    };
    search.walk(&mut tree.walk());
    search.found.budget_exceeded = search.matcher.budget_exceeded();
    search.found
}

struct Anchors {
    offsets: Vec<usize>,
    length: usize,
}

impl Anchors {
    fn any_in(&self, node: Node<'_>) -> bool {
        let first = self.offsets.partition_point(|&offset| offset < node.start_byte());
        self.offsets.get(first).is_some_and(|offset| offset + self.length <= node.end_byte())
    }
}

struct Search<'p, 't> {
    pattern: &'p Pattern,
    matcher: Matcher<'p, 't>,
    anchors: Option<Anchors>,
    limit: usize,
    found: Matches,
}

impl<'t> Search<'_, 't> {
    fn walk(&mut self, cursor: &mut TreeCursor<'t>) {
        loop {
            let node = cursor.node();
            let worth = self.anchors.as_ref().is_none_or(|anchors| anchors.any_in(node));
            if worth {
                self.visit(node);
                if self.found.more {
                    return;
                }
            }
            if worth && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    fn visit(&mut self, node: Node<'t>) {
        let [only] = &self.pattern.elements[..] else {
            let mut from = 0;
            while let Some((found, next)) = self.matcher.run(node, from) {
                self.push(found);
                from = next;
            }
            return;
        };
        let possible = match &only.item {
            Item::Node { kinds, .. } => kinds.contains(&node.kind_id()),
            Item::Leaf(_) => node.child_count() == 0,
            // A pattern of one metavariable was refused when it was compiled.
            Item::One { .. } | Item::Many { .. } => false,
        };
        if possible && let Some(found) = self.matcher.single(node) {
            self.push(found);
        }
    }

    fn push(&mut self, found: crate::pattern::Match) {
        if self.found.matches.len() == self.limit {
            self.found.more = true;
        } else {
            self.found.matches.push(found);
        }
    }
}
