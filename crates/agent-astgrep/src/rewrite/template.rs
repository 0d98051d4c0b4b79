//! A template, cut into text and variables.

use std::collections::HashSet;
use std::ops::Range;

use crate::error::{ErrorKind, RewriteError};
use crate::ladder::{self, Scaffold};
use crate::metavar::{Occurrence, Sigil, VariableKind, is_word, scan};
use crate::pattern::{Pattern, dedent};
use crate::symbols::OPAQUE;

#[derive(Debug)]
pub(super) struct Template {
    pub(super) pieces: Vec<Piece>,
    /// The lines, from 0, that begin in a string and keep their layout.
    pub(super) verbatim_lines: HashSet<usize>,
    /// Whether the whole template is one node, so that every replacement has to be one.
    pub(super) is_one_node: bool,
    /// One level of indentation as the template writes it.
    pub(super) indent_unit: usize,
}

#[derive(Debug)]
pub(super) enum Piece {
    Text(String),
    Variable {
        /// Its number among the variables of the pattern.
        number: usize,
        /// Whether it is a part of a longer word.
        glued: bool,
        /// Whether brackets are on both sides of it, so that it is all that they hold.
        bracketed: bool,
    },
}

impl Template {
    pub(super) fn compile(pattern: &Pattern, text: &str) -> Result<Self, RewriteError> {
        let text = dedent(text);
        let scaffold = ladder::accept(&pattern.grammar, &pattern.symbols, &text).ok();
        let occurrences = scan(&text);
        let literal = scaffold
            .as_ref()
            .map_or_else(|| vec![false; occurrences.len()], |scaffold| scaffold.literal.clone());
        let live = occurrences.iter().zip(&literal).filter(|(_, literal)| !**literal);
        let mut pieces = Vec::new();
        let mut position = 0;
        for (occurrence, _) in live {
            let Range { start, end } = occurrence.range;
            pieces.push(Piece::Text(text[position..start].to_owned()));
            let before = text[..start].bytes().next_back();
            let after = text[end..].bytes().next();
            pieces.push(Piece::Variable {
                number: number(pattern, &text, occurrence)?,
                glued: before.is_some_and(is_word) || after.is_some_and(is_word),
                bracketed: before.is_some_and(|byte| b"([{<|".contains(&byte))
                    && after.is_some_and(|byte| b")]}>|".contains(&byte)),
            });
            position = end;
        }
        pieces.push(Piece::Text(text[position..].to_owned()));
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Ok(Self {
            pieces,
            verbatim_lines: scaffold
                .as_ref()
                .map(|scaffold| lines_in_strings(pattern, scaffold))
                .unwrap_or_default(),
            is_one_node: scaffold
                .as_ref()
                .is_some_and(|scaffold| scaffold.roots(&pattern.symbols).1.len() == 1),
            indent_unit: indent_unit(&text),
        })
    }

    /// Whether matches are deleted.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

fn number(pattern: &Pattern, text: &str, occurrence: &Occurrence) -> Result<usize, RewriteError> {
    let written = &text[occurrence.range.clone()];
    let kind = match occurrence.sigil {
        Sigil::One => VariableKind::One,
        Sigil::Many => VariableKind::Many,
        Sigil::Miscounted => {
            return Err(RewriteError::new(
                ErrorKind::InvalidRewrite,
                format!("`{written}` in the rewrite is no metavariable; write one dollar or three"),
            ));
        }
    };
    let Some(name) = &occurrence.name else {
        return Err(RewriteError::new(
            ErrorKind::UnknownVariable,
            format!(
                "`{written}` binds nothing, so the rewrite cannot use it; name it in the pattern"
            ),
        ));
    };
    match pattern.variables.iter().position(|variable| variable.name == *name) {
        Some(number) if pattern.variables[number].kind == kind => Ok(number),
        Some(number) => Err(RewriteError::new(
            ErrorKind::VariableKind,
            format!(
                "the rewrite has `{written}`, the pattern `{}`; write it as the pattern does",
                pattern.variables[number]
            ),
        )),
        None => {
            let known: Vec<_> = pattern.variables.iter().map(ToString::to_string).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(RewriteError::new(
                ErrorKind::UnknownVariable,
                format!("`{written}` is not in the pattern, which binds: {known}"),
            ))
        }
    }
}

fn lines_in_strings(pattern: &Pattern, scaffold: &Scaffold) -> HashSet<usize> {
    let first_row = scaffold.first_row();
    let mut lines = HashSet::new();
    let mut stack = vec![scaffold.tree.root_node()];
    while let Some(node) = stack.pop() {
        let rows = node.start_position().row..node.end_position().row;
        if rows.is_empty() {
            continue;
        }
        if pattern.symbols.has(node, OPAQUE) {
            lines.extend(rows.filter_map(|row| (row + 1).checked_sub(first_row)));
            continue;
        }
        let mut cursor = node.walk();
        stack.extend(node.children(&mut cursor));
    }
    lines
}

/// The least indentation of a line that has any, in characters.
fn indent_unit(text: &str) -> usize {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .filter(|&indent| indent > 0)
        .min()
        .unwrap_or(4)
}
