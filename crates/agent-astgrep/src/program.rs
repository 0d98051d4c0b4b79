//! A compiled pattern: the tree of the fragment with metavariables in place of placeholders.

use std::collections::{HashMap, HashSet};

use agent_grammars::tree_sitter::Node;

use crate::metavar::VariableKind;
use crate::own_text;
use crate::symbols::{BLANK, COMMA, LIST, OPAQUE, PROSE, SEMICOLON, STRICT, Symbols, TRANSPARENT};

/// One place in a list of siblings.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) item: Item,
    /// A separator or terminator that a candidate may lack.
    pub(crate) optional: bool,
}

/// What a candidate has to be.
#[derive(Debug)]
pub(crate) enum Item {
    /// Any one named node.
    One { variable: Option<usize> },
    /// Any run of siblings.
    Many { variable: Option<usize> },
    /// A node with just this text.
    Leaf(Leaf),
    /// A node of one of these kinds with these children, and with this text between them.
    Node { kinds: Vec<u16>, children: Vec<Element>, own: Vec<Box<[u8]>>, may_be_absent: bool },
}

/// A token.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) text: Box<[u8]>,
    pub(crate) kind: u16,
    pub(crate) named: bool,
    /// A string or a piece of one, which is compared as it stands.
    pub(crate) opaque: bool,
    /// Text whose layout has no meaning.
    pub(crate) prose: bool,
}

/// What the compiler needs to know of the scaffolded source.
pub(crate) struct Compiler<'s> {
    pub(crate) source: &'s [u8],
    pub(crate) symbols: &'s Symbols,
    /// Placeholders by the id of their node.
    pub(crate) placeholders: &'s HashMap<usize, (VariableKind, Option<usize>)>,
    /// Ellipses that were erased: the node in which, the byte where, and the variable.
    pub(crate) erased: &'s [(usize, usize, Option<usize>)],
    /// Sets of kinds that are one declaration.
    pub(crate) equivalents: &'s [Vec<u16>],
}

impl Compiler<'_> {
    /// The elements for `nodes`, which are siblings under `parent`.
    pub(crate) fn elements(&self, parent: Option<Node<'_>>, nodes: &[Node<'_>]) -> Vec<Element> {
        let strict = parent.is_some_and(|parent| self.symbols.has(parent, STRICT));
        let trailing = self.symbols.trailing_separators(nodes, strict);
        let mut erased: Vec<_> = parent
            .map(|parent| self.erased.iter().filter(|gap| gap.0 == parent.id()).collect())
            .unwrap_or_default();
        let mut elements = Vec::new();
        for (&node, optional) in nodes.iter().zip(trailing) {
            while erased.first().is_some_and(|gap| gap.1 <= node.start_byte()) {
                let variable = erased.remove(0).2;
                elements.push(Element { item: Item::Many { variable }, optional: false });
            }
            elements.push(Element { item: self.item(node), optional });
        }
        let rest = erased.into_iter().map(|gap| Item::Many { variable: gap.2 });
        elements.extend(rest.map(|item| Element { item, optional: false }));
        self.absorb_separators(elements)
    }

    /// A separator beside an ellipsis belongs to it, because it goes where the run goes.
    fn absorb_separators(&self, elements: Vec<Element>) -> Vec<Element> {
        let is_many = |element: Option<&Element>| {
            element.is_some_and(|element| matches!(element.item, Item::Many { .. }))
        };
        let is_separator = |element: &Element| match &element.item {
            Item::Leaf(leaf) => !leaf.named && matches!(&*leaf.text, b"," | b";"),
            _ => false,
        };
        let beside: HashSet<usize> = (0..elements.len())
            .filter(|&index| is_separator(&elements[index]))
            .filter(|&index| {
                is_many(elements.get(index + 1))
                    || index.checked_sub(1).is_some_and(|before| is_many(elements.get(before)))
            })
            .collect();
        let kept = elements.into_iter().enumerate().filter(|(index, _)| !beside.contains(index));
        kept.map(|(_, element)| element).collect()
    }

    fn item(&self, node: Node<'_>) -> Item {
        match self.placeholders.get(&node.id()) {
            Some(&(VariableKind::One, variable)) => return Item::One { variable },
            Some(&(VariableKind::Many, variable)) => return Item::Many { variable },
            None => {}
        }
        let mut cursor = node.walk();
        let children: Vec<_> = node
            .children(&mut cursor)
            .filter(|&child| !self.symbols.is_trivia(child, self.source))
            .collect();
        let own = own_text::pieces(node, &mut cursor, self.source, self.symbols);
        if self.symbols.has(node, TRANSPARENT)
            && own.is_empty()
            && let [only] = children[..]
        {
            return self.item(only);
        }
        if children.is_empty() && !self.erased.iter().any(|gap| gap.0 == node.id()) {
            return Item::Leaf(self.leaf(node));
        }
        let elements = self.elements(Some(node), &children);
        let only_ellipses =
            elements.iter().all(|element| matches!(element.item, Item::Many { .. }));
        Item::Node {
            kinds: self.kinds(node),
            children: elements,
            own: own.into_iter().map(|piece| self.source[piece].into()).collect(),
            may_be_absent: only_ellipses && self.symbols.has(node, LIST),
        }
    }

    fn leaf(&self, node: Node<'_>) -> Leaf {
        Leaf {
            text: self.source[node.byte_range()].into(),
            kind: node.kind_id(),
            named: node.is_named(),
            opaque: self.symbols.has(node, OPAQUE)
                || node.parent().is_some_and(|parent| self.symbols.has(parent, OPAQUE)),
            prose: self.symbols.has(node, PROSE),
        }
    }

    fn kinds(&self, node: Node<'_>) -> Vec<u16> {
        let own = node.kind_id();
        self.equivalents.iter().find(|set| set.contains(&own)).cloned().unwrap_or_else(|| vec![own])
    }
}

impl Symbols {
    /// For each of `nodes`, which are all children of one parent without trivia: whether it is a
    /// separator that may as well be missing.
    pub(crate) fn trailing_separators(&self, nodes: &[Node<'_>], strict: bool) -> Vec<bool> {
        let mut at_end = true;
        let mut flags: Vec<bool> = nodes
            .iter()
            .rev()
            .map(|&node| self.is_optional_separator(node, strict, &mut at_end))
            .collect();
        flags.reverse();
        flags
    }

    /// One step of [`Self::trailing_separators`], from the last node to the first: `at_end` tells
    /// whether nothing but closing delimiters has been seen.
    pub(crate) fn is_optional_separator(
        &self,
        node: Node<'_>,
        strict: bool,
        at_end: &mut bool,
    ) -> bool {
        let traits = self.of(node);
        if traits & BLANK != 0 {
            return true;
        }
        if traits & SEMICOLON != 0 {
            return !strict;
        }
        if traits & COMMA != 0 {
            let optional = *at_end && !strict;
            // `[1,,]` has a hole, so one comma at most may be missing.
            *at_end = false;
            return optional;
        }
        if traits & crate::symbols::CLOSER == 0 {
            *at_end = false;
        }
        false
    }
}

/// Calls `visit` for every leaf that a match must contain.
pub(crate) fn required_leaves<'e>(elements: &'e [Element], visit: &mut impl FnMut(&'e Leaf)) {
    for element in elements.iter().filter(|element| !element.optional) {
        match &element.item {
            Item::Leaf(leaf) => visit(leaf),
            Item::Node { children, .. } => required_leaves(children, visit),
            Item::One { .. } | Item::Many { .. } => {}
        }
    }
}

/// How often each variable is bound, to know whether a match can depend on an earlier choice.
pub(crate) fn repeats(elements: &[Element]) -> bool {
    fn walk(elements: &[Element], seen: &mut HashSet<usize>) -> bool {
        elements.iter().any(|element| match &element.item {
            Item::One { variable: Some(variable) } | Item::Many { variable: Some(variable) } => {
                !seen.insert(*variable)
            }
            Item::Node { children, .. } => walk(children, seen),
            _ => false,
        })
    }
    walk(elements, &mut HashSet::new())
}
