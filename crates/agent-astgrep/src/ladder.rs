//! A fragment is parsed in a scaffold: one context after the other, until one accepts it.
//!
//! Accepts means: no error node, nothing missing, no keyword read as a name, and the fragment is
//! exactly one node or a run of siblings.

mod check;
mod spell;

use std::collections::HashMap;

use agent_grammars::tree_sitter::{Node, Parser, Tree};
use agent_grammars::{Context, ContextName, Grammar, Opener, Profile};

use crate::error::{ContextFailure, PatternError};
use crate::metavar::{Occurrence, Sigil, VariableKind, is_word, scan};
use crate::symbols::Symbols;
use spell::{Choice, Spelled};

/// The most spellings of the metavariables that one context is tried with.
const MAX_SPELLINGS: usize = 400;

/// A fragment in the context that accepted it.
#[derive(Debug)]
pub(crate) struct Scaffold {
    pub(crate) context: ContextName,
    pub(crate) tree: Tree,
    pub(crate) source: String,
    /// The metavariables that are none in a string, in order, with the text of the fragment.
    pub(crate) occurrences: Vec<Occurrence>,
    /// For each occurrence in the text, in order: whether it is text of a string.
    pub(crate) literal: Vec<bool>,
    /// Placeholders by the id of their node: the kind, and the index in `occurrences`.
    pub(crate) placeholders: HashMap<usize, (VariableKind, usize)>,
    /// Erased ellipses: the id of the node, the offset, and the index in `occurrences`.
    pub(crate) erased: Vec<(usize, usize, usize)>,
    span: check::Span,
}

impl Scaffold {
    /// The fragment's own nodes, and their parent.
    pub(crate) fn roots(&self, symbols: &Symbols) -> (Option<Node<'_>>, Vec<Node<'_>>) {
        // The attempt that accepted the fragment has found them already.
        check::locate(&self.tree, symbols, &self.source, self.span).unwrap_or_default()
    }

    /// The line of the scaffolded source on which the fragment begins, from 0.
    pub(crate) fn first_row(&self) -> usize {
        self.source[..self.span.start()].matches('\n').count()
    }

    fn is_misreading(&self, grammar: &Grammar, symbols: &Symbols) -> bool {
        let (_, roots) = self.roots(symbols);
        roots.iter().any(|root| grammar.profile().misreadings.contains(&root.kind()))
    }
}

/// Parses `fragment` in the first context of `grammar` that accepts it.
pub(crate) fn accept(
    grammar: &Grammar,
    symbols: &Symbols,
    fragment: &str,
) -> Result<Scaffold, PatternError> {
    let mut climb = Climb { grammar, symbols, parser: grammar.parser(), failures: Vec::new() };
    let mut misread = None;
    for context in ordered_contexts(grammar, fragment) {
        let Some(scaffold) = climb.rung(context, fragment)? else { continue };
        if !scaffold.is_misreading(grammar, symbols) {
            return Ok(scaffold);
        }
        misread.get_or_insert(scaffold);
    }
    if let Some(scaffold) = misread {
        return Ok(scaffold);
    }
    let tried: Vec<_> = climb.failures.iter().map(|failure| failure.context.as_str()).collect();
    let message = format!(
        "no context of {} accepts the pattern (tried: {}); write one whole statement, expression, \
         member or declaration, with every bracket closed, and $NAME or $$$NAME only where a whole \
         node or list of nodes may stand",
        grammar.id(),
        tried.join(", "),
    );
    Err(PatternError::unparsable(message, climb.failures))
}

/// The ladder, with the context that the first word asks for in front.
fn ordered_contexts<'g>(grammar: &'g Grammar, fragment: &str) -> Vec<&'g Context> {
    let profile = grammar.profile();
    let mut contexts: Vec<_> = profile.contexts.iter().collect();
    if let Some(opener) = opener(profile, fragment) {
        contexts.sort_by_key(|context| context.name != opener.context);
    }
    contexts
}

/// What the language says about the start of the fragment.
fn opener<'g>(profile: &'g Profile, fragment: &str) -> Option<&'g Opener> {
    profile.openers.iter().find(|opener| {
        let Some(rest) = fragment.strip_prefix(opener.word) else { return false };
        !opener.word.bytes().all(is_word) || rest.starts_with([' ', '\n', '\t', '"', '\''])
    })
}

struct Climb<'g> {
    grammar: &'g Grammar,
    symbols: &'g Symbols,
    parser: Parser,
    failures: Vec<ContextFailure>,
}

/// One way to write a fragment in a context.
struct Attempt<'a> {
    context: &'a Context,
    fragment: &'a str,
    occurrences: &'a [Occurrence],
    terminator: &'a str,
}

/// How far an attempt came.
struct Failure {
    /// The offset in the fragment.
    offset: usize,
    reason: String,
}

impl Climb<'_> {
    fn rung(
        &mut self,
        context: &Context,
        fragment: &str,
    ) -> Result<Option<Scaffold>, PatternError> {
        let fragment = indented_like(context, fragment);
        let occurrences = scan(&fragment);
        let mut furthest: Option<Failure> = None;
        for terminator in self.grammar.profile().terminators {
            if fragment.ends_with(';') && !terminator.is_empty() {
                continue;
            }
            let attempt =
                Attempt { context, fragment: &fragment, occurrences: &occurrences, terminator };
            let literal = self.inside_strings(&attempt);
            refuse_misspelled(&attempt, &literal)?;
            let live: Vec<Occurrence> = occurrences
                .iter()
                .zip(&literal)
                .filter(|(_, literal)| !**literal)
                .map(|(occurrence, _)| occurrence.clone())
                .collect();
            let attempt = Attempt { occurrences: &live, ..attempt };
            match self.spellings(&attempt) {
                Ok(scaffold) => return Ok(Some(Scaffold { literal, ..scaffold })),
                Err(failure) => {
                    if furthest.as_ref().is_none_or(|known| known.offset < failure.offset) {
                        furthest = Some(failure);
                    }
                }
            }
        }
        if let Some(failure) = furthest {
            self.failures.push(located(context.name, &fragment, failure));
        }
        Ok(None)
    }

    /// For each occurrence, whether it stands in a string or a comment, where it is text.
    fn inside_strings(&mut self, attempt: &Attempt<'_>) -> Vec<bool> {
        let mut literal = vec![false; attempt.occurrences.len()];
        if literal.is_empty() {
            return literal;
        }
        let choices = vec![Choice::plain(); literal.len()];
        let spelled = spell::spell(attempt.fragment, attempt.occurrences, &choices);
        let source = scaffolded(attempt, &spelled);
        if let Some(tree) = self.parser.parse(&source, None) {
            let offset = attempt.context.prefix.len();
            for (flag, spot) in literal.iter_mut().zip(&spelled.spots) {
                let range = spot.spelled.start + offset..spot.spelled.end + offset;
                *flag = check::is_text(&tree, self.symbols, range);
            }
        }
        literal
    }

    fn spellings(&mut self, attempt: &Attempt<'_>) -> Result<Scaffold, Failure> {
        let mut furthest = Failure { offset: 0, reason: "nothing was parsed".to_owned() };
        let profile = self.grammar.profile();
        for choices in spell::combinations(profile, attempt.fragment, attempt.occurrences)
            .into_iter()
            .take(MAX_SPELLINGS)
        {
            match self.attempt(attempt, &choices) {
                Ok(scaffold) => return Ok(scaffold),
                Err(failure) if failure.offset >= furthest.offset => furthest = failure,
                Err(_) => {}
            }
        }
        Err(furthest)
    }

    fn attempt(&mut self, attempt: &Attempt<'_>, choices: &[Choice]) -> Result<Scaffold, Failure> {
        let spelled = spell::spell(attempt.fragment, attempt.occurrences, choices);
        let source = scaffolded(attempt, &spelled);
        let offset = attempt.context.prefix.len();
        let fail = |at: usize, reason: &str| Failure {
            offset: spelled.to_fragment(at.saturating_sub(offset)).min(attempt.fragment.len()),
            reason: reason.to_owned(),
        };
        let Some(tree) = self.parser.parse(&source, None) else {
            return Err(fail(offset, "the parser gave up"));
        };
        if let Some((at, reason)) = check::first_error(tree.root_node()) {
            return Err(fail(at, reason));
        }
        let span = check::Span::new(&source, offset, spelled.text.len(), attempt.terminator.len());
        if let Some((at, word)) =
            check::keyword_as_name(&tree, &source, self.grammar, self.symbols, span)
        {
            return Err(fail(at, &format!("the keyword `{word}` would be read as a name")));
        }
        let Some((_, roots)) = check::locate(&tree, self.symbols, &source, span) else {
            return Err(fail(offset, "it is only a part of what it would stand in"));
        };
        if roots.iter().any(|root| root.is_extra()) {
            return Err(fail(offset, "it is a comment"));
        }
        let placed = check::place(&tree, self.symbols, offset, &spelled, attempt.occurrences, span);
        let (placeholders, erased) =
            placed.map_err(|at| fail(at, "a metavariable stands where no whole node can stand"))?;
        Ok(Scaffold {
            context: attempt.context.name,
            occurrences: attempt.occurrences.to_vec(),
            tree,
            placeholders,
            erased,
            span,
            literal: Vec::new(),
            source,
        })
    }
}

fn scaffolded(attempt: &Attempt<'_>, spelled: &Spelled) -> String {
    let Context { prefix, suffix, .. } = attempt.context;
    format!("{prefix}{}{}{suffix}", spelled.text, attempt.terminator)
}

/// What no context can mend: a name with a wrong number of dollars, or glued to a word.
fn refuse_misspelled(attempt: &Attempt<'_>, literal: &[bool]) -> Result<(), PatternError> {
    let live = attempt.occurrences.iter().zip(literal).filter(|(_, literal)| !**literal);
    for (occurrence, _) in live {
        let text = &attempt.fragment[occurrence.range.clone()];
        let name = occurrence.name.as_deref().unwrap_or("_");
        if occurrence.sigil == Sigil::Miscounted {
            return Err(PatternError::unparsable(
                format!(
                    "`{text}` is no metavariable; write ${name} for one node or $$${name} for a run"
                ),
                Vec::new(),
            ));
        }
        let before = attempt.fragment[..occurrence.range.start].bytes().next_back();
        if before.is_some_and(is_word) {
            return Err(PatternError::invalid(format!(
                "`{text}` is glued to a word, and a metavariable stands for whole nodes; write \
                 ${name} for the whole name"
            )));
        }
    }
    Ok(())
}

/// Lines after the first get the indentation that the first has from the scaffold.
fn indented_like(context: &Context, fragment: &str) -> String {
    let last_line = context.prefix.rsplit('\n').next().unwrap_or("");
    if last_line.is_empty() || !last_line.trim().is_empty() {
        return fragment.to_owned();
    }
    fragment.replace('\n', &format!("\n{last_line}"))
}

fn located(context: ContextName, fragment: &str, failure: Failure) -> ContextFailure {
    let mut offset = failure.offset.min(fragment.len());
    while !fragment.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &fragment[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    ContextFailure {
        context,
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        reason: failure.reason,
    }
}
