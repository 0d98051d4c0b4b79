//! A pattern as a user meets it: compiled once, then asked of many trees.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use agent_grammars::tree_sitter::{Node, Tree};
use agent_grammars::{ContextName, Grammar, Keywords, TokenBoundaries};

use crate::error::PatternError;
use crate::ladder::{self, Scaffold};
use crate::literals::Literals;
use crate::metavar::{Sigil, Variable, VariableKind, scan};
use crate::program::{Compiler, Element, Item, repeats};
use crate::search;
use crate::symbols::{LEADING, OPAQUE, Symbols};

/// The longest pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 8 * 1024;

/// The most nodes that may be inside of one another in a pattern. Compiling and matching go as deep.
pub const MAX_PATTERN_DEPTH: usize = 256;

/// A fragment of code with metavariables, compiled for one grammar.
///
/// It is `Send` and `Sync` and holds no state of a search, so threads share it.
#[derive(Debug)]
pub struct Pattern {
    pub(crate) grammar: Arc<Grammar>,
    pub(crate) symbols: Symbols,
    pub(crate) elements: Vec<Element>,
    pub(crate) fragment: String,
    pub(crate) variables: Vec<Variable>,
    pub(crate) repeats: bool,
    pub(crate) folds_case: bool,
    pub(crate) ends_with_terminator: bool,
    /// Whether the fragment is a declaration without annotations of its own.
    pub(crate) skips_leading: bool,
    context: ContextName,
    root_kinds: Vec<String>,
    literals: Literals,
}

/// One place where a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match {
    /// The bytes of the matched nodes.
    pub range: Range<usize>,
    /// The bytes that a rewrite replaces: `range`, without a terminator that the pattern did not
    /// write, or with one that it did write.
    pub replaced: Range<usize>,
    /// One for each of [`Pattern::variables`].
    pub captures: Vec<Capture>,
    /// Whether the matched nodes hold a syntax error.
    pub has_error: bool,
}

/// What a metavariable stands for in a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Capture {
    /// The bytes of one node.
    One(Range<usize>),
    /// A run of siblings.
    Many {
        /// The bytes of each, without separators and comments.
        nodes: Vec<Range<usize>>,
        /// The bytes between what stands before and behind the run: all of its layout, separators
        /// and comments.
        slice: Range<usize>,
    },
}

/// What a search in one tree came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matches {
    /// By position, outer before inner.
    pub matches: Vec<Match>,
    /// Whether there is at least one more than the limit.
    pub more: bool,
    /// Whether a node was given up on, because the steps allowed for it were used up: there may be
    /// a match that is not listed.
    pub budget_exceeded: bool,
}

impl Pattern {
    /// Compiles `text` with the grammar of the files that it will be asked of.
    ///
    /// # Errors
    /// [`ErrorKind::UnparsablePattern`](crate::ErrorKind::UnparsablePattern) where no context of
    /// the language accepts it, [`ErrorKind::InvalidPattern`](crate::ErrorKind::InvalidPattern)
    /// where it is empty, too long, or would match everything,
    /// [`ErrorKind::VariableKind`](crate::ErrorKind::VariableKind) where one name is used both as
    /// `$NAME` and as `$$$NAME`.
    pub fn compile(grammar: &Arc<Grammar>, text: &str) -> Result<Self, PatternError> {
        let fragment = dedent(text);
        refuse_unsearchable(&fragment)?;
        let symbols = Symbols::new(grammar);
        let scaffold = ladder::accept(grammar, &symbols, &fragment)?;
        if depth(&scaffold.tree) > MAX_PATTERN_DEPTH {
            return Err(PatternError::invalid(format!(
                "the pattern is nested more than {MAX_PATTERN_DEPTH} nodes deep; replace what is \
                 inside by metavariables"
            )));
        }
        let (variables, numbers) = number_variables(&scaffold)?;
        let elements = build(grammar, &symbols, &scaffold, &numbers);
        if elements
            .iter()
            .all(|element| matches!(element.item, Item::One { .. } | Item::Many { .. }))
        {
            return Err(matches_everything(&fragment));
        }
        let (_, roots) = scaffold.roots(&symbols);
        let root_kinds = roots
            .iter()
            .filter(|root| root.is_named())
            .map(|root| root.kind().to_owned())
            .collect();
        let folds_case = grammar.profile().keywords == Keywords::CaseInsensitive;
        let literals = Literals::of(
            &elements,
            folds_case,
            grammar.profile().boundaries == TokenBoundaries::Words,
        );
        Ok(Self {
            grammar: Arc::clone(grammar),
            repeats: repeats(&elements),
            folds_case,
            skips_leading: skips_leading(&symbols, &roots),
            ends_with_terminator: fragment.ends_with(';'),
            context: scaffold.context,
            root_kinds,
            elements,
            fragment,
            variables,
            literals,
            symbols,
        })
    }

    /// The grammar that it was compiled for. A tree of any other means nothing to it.
    #[must_use]
    pub fn grammar(&self) -> &Arc<Grammar> {
        &self.grammar
    }

    /// The context that accepted the fragment.
    #[must_use]
    pub fn context(&self) -> ContextName {
        self.context
    }

    /// The kinds of the fragment's own nodes: one, or those of a run of siblings.
    #[must_use]
    pub fn root_kinds(&self) -> &[String] {
        &self.root_kinds
    }

    /// The metavariables, in order of their first use.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The tokens that every match holds verbatim.
    #[must_use]
    pub fn literals(&self) -> &Literals {
        &self.literals
    }

    /// Whether a match in `source` is possible at all, without parsing it: false only where it
    /// lacks a literal.
    #[must_use]
    pub fn may_match(&self, source: &[u8]) -> bool {
        self.literals.all_in(source)
    }

    /// The matches in a tree of this pattern's grammar, `limit` at most.
    #[must_use]
    pub fn find(&self, tree: &Tree, source: &[u8], limit: usize) -> Matches {
        search::find(self, tree, source, limit, search::Reach::NearLiterals)
    }

    /// The same as [`Self::find`] by looking at every node. It is here to be compared with.
    #[doc(hidden)]
    #[must_use]
    pub fn find_by_full_visit(&self, tree: &Tree, source: &[u8], limit: usize) -> Matches {
        search::find(self, tree, source, limit, search::Reach::EveryNode)
    }
}

fn depth(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let mut deepest = 0;
    loop {
        deepest = deepest.max(cursor.depth() as usize);
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return deepest;
            }
        }
    }
}

fn skips_leading(symbols: &Symbols, roots: &[Node<'_>]) -> bool {
    let [only] = roots else { return false };
    only.child(0).is_some_and(|first| !symbols.has(first, LEADING))
}

/// The fragment without the indentation that the caller's text had in common.
pub(crate) fn dedent(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let text = text.trim_end();
    let body_start = text
        .split_inclusive('\n')
        .take_while(|line| line.trim().is_empty())
        .map(str::len)
        .sum::<usize>();
    let body = &text[body_start..];
    let indent = &body[..body.len() - body.trim_start().len()];
    let strip = |line: &str| line.strip_prefix(indent).unwrap_or(line).to_owned();
    body.split('\n').map(strip).collect::<Vec<_>>().join("\n")
}

fn refuse_unsearchable(fragment: &str) -> Result<(), PatternError> {
    if fragment.is_empty() {
        return Err(PatternError::invalid(
            "the pattern is empty; write a fragment of code, such as f($X)",
        ));
    }
    if fragment.len() > MAX_PATTERN_BYTES {
        return Err(PatternError::invalid(format!(
            "the pattern has {} bytes, more than {MAX_PATTERN_BYTES}; replace what differs from \
             place to place by $$$NAME",
            fragment.len()
        )));
    }
    let occurrences = scan(fragment);
    let mut rest = fragment.to_owned();
    for occurrence in occurrences.iter().rev() {
        if occurrence.sigil != Sigil::Miscounted {
            rest.replace_range(occurrence.range.clone(), "");
        }
    }
    let nothing_else = rest.chars().all(|rest| rest.is_whitespace() || matches!(rest, ';' | ','));
    let alone = occurrences.len() == 1 && occurrences[0].sigil != Sigil::Miscounted;
    if nothing_else && alone {
        return Err(matches_everything(fragment));
    }
    Ok(())
}

fn matches_everything(fragment: &str) -> PatternError {
    PatternError::invalid(format!(
        "`{fragment}` alone matches everything; add the code around it, such as f({fragment})"
    ))
}

/// The variables in order of first use, and for each occurrence the number of its variable.
fn number_variables(
    scaffold: &Scaffold,
) -> Result<(Vec<Variable>, Vec<Option<usize>>), PatternError> {
    let mut variables: Vec<Variable> = Vec::new();
    let mut numbers = Vec::new();
    for occurrence in &scaffold.occurrences {
        let Some(name) = &occurrence.name else {
            numbers.push(None);
            continue;
        };
        let kind =
            if occurrence.sigil == Sigil::Many { VariableKind::Many } else { VariableKind::One };
        match variables.iter().position(|variable| variable.name == *name) {
            Some(number) if variables[number].kind == kind => numbers.push(Some(number)),
            Some(_) => {
                return Err(PatternError::variable_kind(format!(
                    "the pattern has both ${name} and $$${name}; give one of them another name"
                )));
            }
            None => {
                numbers.push(Some(variables.len()));
                variables.push(Variable { name: name.clone(), kind });
            }
        }
    }
    Ok((variables, numbers))
}

fn build(
    grammar: &Grammar,
    symbols: &Symbols,
    scaffold: &Scaffold,
    numbers: &[Option<usize>],
) -> Vec<Element> {
    let placeholders: HashMap<_, _> = scaffold
        .placeholders
        .iter()
        .map(|(&node, &(kind, occurrence))| (node, (kind, numbers[occurrence])))
        .collect();
    let erased: Vec<_> = scaffold
        .erased
        .iter()
        .map(|&(node, offset, occurrence)| (node, offset, numbers[occurrence]))
        .collect();
    let kind_ids = |kinds: &&[&str]| -> Vec<u16> {
        kinds.iter().map(|kind| grammar.language().id_for_node_kind(kind, true)).collect()
    };
    let equivalents: Vec<_> = grammar.profile().equivalents.iter().map(kind_ids).collect();
    let source = scaffold.source.as_bytes();
    let compiler = Compiler {
        source,
        symbols,
        placeholders: &placeholders,
        erased: &erased,
        equivalents: &equivalents,
    };
    let (parent, roots) = scaffold.roots(symbols);
    let roots: Vec<_> =
        roots.into_iter().filter(|&root| !symbols.is_trivia(root, source)).collect();
    compiler.elements(parent, &roots)
}

impl Pattern {
    /// The token that the whole pattern is, if it is one.
    pub(crate) fn single_token(&self) -> Option<&crate::program::Leaf> {
        match &self.elements[..] {
            [Element { item: Item::Leaf(leaf), .. }] => Some(leaf),
            _ => None,
        }
    }

    /// Whether the single token is a string, which is then looked for among strings.
    pub(crate) fn is_opaque(&self, node: Node<'_>) -> bool {
        self.symbols.has(node, OPAQUE)
    }
}
