//! Whether a pattern matches at a node: named children one to one, backtracking over the lengths
//! of ellipses within a budget of steps.

mod capture;
mod children;
mod ellipsis;
mod equal;
mod token;

use std::collections::HashSet;
use std::ops::Range;

use agent_grammars::tree_sitter::{Node, Tree, TreeCursor};

use crate::pattern::{Capture, Match, Pattern};
use crate::program::{Element, Item, Leaf};
use crate::symbols::LEADING;

/// The most steps spent on one node before it is given up, which is reported.
pub const MAX_STEPS: usize = 100_000;

/// Matches one pattern in one tree. Its buffers are reused from node to node.
pub(crate) struct Matcher<'p, 't> {
    pattern: &'p Pattern,
    source: &'t [u8],
    cursor: TreeCursor<'t>,
    /// The children that are being matched, list above list.
    entries: Vec<Entry<'t>>,
    /// What stands between the children that were looked at last.
    own_text: Vec<Range<usize>>,
    bindings: Vec<Option<Binding<'t>>>,
    /// What was bound, in order, to be undone.
    trail: Vec<usize>,
    /// Where an ellipsis is known to fail: the elements after it, and the place of the candidate.
    failed: HashSet<(usize, usize)>,
    steps: usize,
    budget_exceeded: bool,
    captures: Vec<Capture>,
    leniency: Option<Leniency>,
    /// The entry that is passed over, where one may be.
    extra: Option<usize>,
    extra_node: Option<Node<'t>>,
    /// Where the match begins, if not where its node does.
    start_byte: Option<usize>,
    /// Where the run that is the whole pattern ended.
    run_end: usize,
}

/// What a candidate is forgiven, to say what a near miss lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leniency {
    /// One child that the pattern has not.
    OneMore,
    /// Different texts for one metavariable.
    Repeats,
}

/// A child of a candidate.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'t> {
    pub(crate) node: Node<'t>,
    /// A separator that the pattern may lack.
    optional: bool,
}

/// What a variable is bound to.
#[derive(Clone, Copy)]
pub(crate) enum Binding<'t> {
    One(Node<'t>),
    Many(Run),
}

/// A run of entries, and what the list that it is from spans.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) first: usize,
    pub(crate) end: usize,
    pub(crate) list: List,
}

/// Entries that are the children of one node.
#[derive(Clone, Copy)]
pub(crate) struct List {
    first: usize,
    end: usize,
    start_byte: usize,
    end_byte: usize,
}

/// What is left to match once a list is done.
enum Then<'p, 'a> {
    /// Nothing: the pattern is one node.
    Done,
    /// Nothing, and the list may go on: the pattern is a run of siblings.
    OpenEnd,
    /// The rest of the list around it.
    List { elements: &'p [Element], at: usize, list: List, then: &'a Then<'p, 'a> },
}

impl<'p, 't> Matcher<'p, 't> {
    pub(crate) fn new(pattern: &'p Pattern, tree: &'t Tree, source: &'t [u8]) -> Self {
        Self {
            pattern,
            source,
            cursor: tree.walk(),
            entries: Vec::new(),
            own_text: Vec::new(),
            bindings: vec![None; pattern.variables.len()],
            trail: Vec::new(),
            failed: HashSet::new(),
            steps: 0,
            budget_exceeded: false,
            captures: Vec::new(),
            leniency: None,
            extra: None,
            extra_node: None,
            start_byte: None,
            run_end: 0,
        }
    }

    pub(crate) fn budget_exceeded(&self) -> bool {
        self.budget_exceeded
    }

    pub(crate) fn lenient(mut self, leniency: Leniency) -> Self {
        self.leniency = Some(leniency);
        self
    }

    /// The child that the last match was forgiven.
    pub(crate) fn extra(&self) -> Option<Node<'t>> {
        self.extra_node
    }

    /// The match of a pattern of one node at `node`.
    pub(crate) fn single(&mut self, node: Node<'t>) -> Option<Match> {
        if node.is_missing() {
            return None;
        }
        if self.pattern.single_token().is_some_and(|leaf| !self.is_this_token(leaf, node)) {
            return None;
        }
        self.reset();
        self.entries.push(Entry { node, optional: false });
        let list =
            List { first: 0, end: 1, start_byte: node.start_byte(), end_byte: node.end_byte() };
        let pattern = self.pattern;
        self.list(&pattern.elements, 0, list, &Then::Done).then(|| self.found(node, node))
    }

    /// The first match of a pattern of several siblings among the children of `parent`, at or
    /// behind the child `from`, and the child to go on from.
    pub(crate) fn run(&mut self, parent: Node<'t>, from: usize) -> Option<(Match, usize)> {
        if parent.child_count() == 0 {
            return None;
        }
        self.reset();
        let list = self.children(parent);
        let pattern = self.pattern;
        for start in from..list.end {
            self.steps = 0;
            self.failed.clear();
            if self.list(&pattern.elements, start, list, &Then::OpenEnd) {
                let end = self.run_end;
                if end == start {
                    continue;
                }
                let found = self.found(self.entries[start].node, self.entries[end - 1].node);
                return Some((found, end));
            }
        }
        None
    }

    fn reset(&mut self) {
        self.entries.clear();
        self.bindings.fill(None);
        self.trail.clear();
        self.failed.clear();
        self.steps = 0;
        self.start_byte = None;
        self.extra = None;
        self.extra_node = None;
    }

    /// A single token matches any name with its text, whatever its kind, but nothing in a string
    /// or a comment; a token that is a string matches its like.
    fn is_this_token(&self, leaf: &Leaf, node: Node<'t>) -> bool {
        if self.source[node.byte_range()] != *leaf.text {
            return false;
        }
        if leaf.opaque {
            return node.kind_id() == leaf.kind && self.pattern.is_opaque(node);
        }
        !self.pattern.symbols.in_opaque(node)
    }

    /// Matches `elements` from the entry `at` of `list`, then what is left. What it binds is undone
    /// where it fails.
    fn list(
        &mut self,
        elements: &'p [Element],
        at: usize,
        list: List,
        then: &Then<'p, '_>,
    ) -> bool {
        let bound = self.trail.len();
        let matched = self.list_forward(elements, at, list, then)
            || (self.leniency == Some(Leniency::OneMore)
                && self.extra.is_none()
                && self.list_with_one_more(elements, at, list, then));
        if !matched {
            self.undo(bound);
        }
        matched
    }

    /// Takes back what was bound since the trail was so long.
    fn undo(&mut self, bound: usize) {
        for variable in self.trail.drain(bound..) {
            self.bindings[variable] = None;
        }
    }

    fn list_with_one_more(
        &mut self,
        elements: &'p [Element],
        at: usize,
        list: List,
        then: &Then<'p, '_>,
    ) -> bool {
        for extra in at..list.end {
            self.extra = Some(extra);
            if self.list(elements, at, list, then) {
                self.extra_node = self.extra_node.or(Some(self.entries[extra].node));
                return true;
            }
        }
        self.extra = None;
        false
    }

    fn list_forward(
        &mut self,
        mut elements: &'p [Element],
        mut at: usize,
        list: List,
        then: &Then<'p, '_>,
    ) -> bool {
        while let Some((first, rest)) = elements.split_first() {
            if !self.step() {
                return false;
            }
            if self.extra == Some(at) && at < list.end {
                at += 1;
            }
            if let Item::Many { variable } = first.item {
                return self.ellipsis(variable, rest, at, list, then);
            }
            if first.optional {
                if at < list.end && self.token_matches(&first.item, self.entries[at].node) {
                    at += 1;
                }
                elements = rest;
                continue;
            }
            while at < list.end
                && self.entries[at].optional
                && !self.token_matches(&first.item, self.entries[at].node)
            {
                at += 1;
            }
            let candidate = (at < list.end).then(|| self.entries[at].node);
            match &first.item {
                Item::One { variable } => {
                    let taken = candidate.is_some_and(|node| self.take_one(*variable, node));
                    if !taken {
                        return false;
                    }
                    at += 1;
                }
                Item::Leaf(leaf) => {
                    if !candidate.is_some_and(|node| self.leaf_matches(leaf, node)) {
                        return false;
                    }
                    at += 1;
                }
                Item::Node { kinds, children, own, may_be_absent } => {
                    match candidate.filter(|node| kinds.contains(&node.kind_id())) {
                        Some(node) => {
                            let then = Then::List { elements: rest, at: at + 1, list, then };
                            return self.node(children, own, node, &then);
                        }
                        None if *may_be_absent => {
                            if !self.bind_empty(children, at, list) {
                                return false;
                            }
                        }
                        None => return false,
                    }
                }
                // Handled above.
                Item::Many { .. } => {}
            }
            elements = rest;
        }
        self.end_of_list(at, list, then)
    }

    fn end_of_list(&mut self, mut at: usize, list: List, then: &Then<'p, '_>) -> bool {
        if let Then::OpenEnd = then {
            self.run_end = at;
            return self.accept();
        }
        while at < list.end && (self.entries[at].optional || self.extra == Some(at)) {
            at += 1;
        }
        if at != list.end {
            return false;
        }
        match then {
            Then::List { elements, at, list, then } => self.list(elements, *at, *list, then),
            Then::Done | Then::OpenEnd => self.accept(),
        }
    }

    fn node(
        &mut self,
        children: &'p [Element],
        own: &[Box<[u8]>],
        node: Node<'t>,
        then: &Then<'p, '_>,
    ) -> bool {
        let below = self.entries.len();
        let list = self.children(node);
        if !self.has_own_text(own) {
            self.entries.truncate(below);
            return false;
        }
        let mut first = below;
        // Only the node of the pattern itself lies above nothing but its own entry.
        if below == 1 && self.pattern.skips_leading {
            while first < list.end && self.pattern.symbols.has(self.entries[first].node, LEADING) {
                first += 1;
            }
            self.start_byte = self.entries.get(first).map(|entry| entry.node.start_byte());
        }
        let matched = self.list(children, first, list, then);
        self.entries.truncate(below);
        matched
    }

    fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            self.budget_exceeded = true;
        }
        self.steps <= MAX_STEPS
    }
}
