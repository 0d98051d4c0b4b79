//! Looking through files: only those that hold all the words of the pattern are parsed.

use std::sync::Arc;

use agent_grammars::Grammar;
use agent_workspace::{FileIdentity, MAX_SEARCH_BYTES, SkipReason, WorkspacePath};
use tree_sitter::{Parser, Tree};

use crate::{
    Pattern, Structure,
    found::{GrepMatch, describe},
    trees::{Parsed, TreeKey},
};

/// What a look at one file came to.
#[derive(Debug)]
pub(crate) enum Look {
    /// It cannot match: a word of the pattern is not in it. It was read and not parsed.
    WithoutLiterals,
    /// It was left out.
    Skipped(SkipReason),
    /// It was parsed and searched.
    Searched(Found),
}

/// The matches in one file.
#[derive(Debug)]
pub(crate) struct Found {
    /// The first of them, in words: where all are kept as offsets, so are all sources.
    pub matches: Vec<GrepMatch>,
    /// How many there are, counted up to one more than the limit.
    pub count: usize,
    /// Whether the file has a syntax error somewhere, near which nothing can match.
    pub has_error: bool,
    pub budget_exceeded: bool,
}

/// A file with its tree, as it was when it had this identity.
#[derive(Clone, Copy)]
pub(crate) struct Parse<'a> {
    pub source: &'a [u8],
    pub tree: &'a Tree,
    pub identity: &'a FileIdentity,
}

/// Why a file was not parsed.
#[derive(Debug)]
pub(crate) enum Unparsed {
    /// A word of the pattern is not in it.
    WithoutLiterals,
    /// It was left out.
    Skipped(SkipReason),
}

/// What one thread keeps between files.
pub(crate) struct Scratch {
    parser: Parser,
    buffer: Vec<u8>,
}

impl Scratch {
    pub(crate) fn new(grammar: &Grammar) -> Self {
        Self { parser: grammar.parser(), buffer: Vec::new() }
    }
}

impl Structure {
    /// Searches one file, for at most `limit` matches and one more.
    pub(crate) fn look(
        &self,
        pattern: &Pattern,
        file: &WorkspacePath,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Look {
        let found = self.parsed(pattern, file, scratch, |Parse { source, tree, .. }| {
            let found = pattern.find(tree, source, limit.saturating_add(1));
            let shown = self.workspace.show(file);
            Found {
                matches: describe(&shown, pattern, source, &found.matches, limit),
                count: found.matches.len(),
                has_error: tree.root_node().has_error(),
                budget_exceeded: found.budget_exceeded,
            }
        });
        match found {
            Ok(found) => Look::Searched(found),
            Err(Unparsed::WithoutLiterals) => Look::WithoutLiterals,
            Err(Unparsed::Skipped(reason)) => Look::Skipped(reason),
        }
    }

    /// Gives a file and its tree to `with`, parsing it only where it holds all words of the pattern
    /// and no tree of this very file is kept.
    pub(crate) fn parsed<T>(
        &self,
        pattern: &Pattern,
        file: &WorkspacePath,
        scratch: &mut Scratch,
        with: impl FnOnce(Parse<'_>) -> T,
    ) -> Result<T, Unparsed> {
        let key = TreeKey { path: file.clone(), grammar: pattern.grammar().id().to_owned() };
        if let Some((Parsed { source, tree }, identity)) = self.kept(&key) {
            if !pattern.may_match(&source) {
                return Err(Unparsed::WithoutLiterals);
            }
            return Ok(with(Parse { source: &source, tree: &tree, identity: &identity }));
        }
        let Scratch { parser, buffer } = scratch;
        let identity = self
            .workspace
            .read_into(file, MAX_SEARCH_BYTES, buffer)
            .map_err(|error| Unparsed::Skipped(SkipReason::of_error(&error)))?;
        // First: in another encoding the words are there and not found.
        if let Some(reason) = SkipReason::of_bytes(buffer) {
            return Err(Unparsed::Skipped(reason));
        }
        if !pattern.may_match(buffer) {
            return Err(Unparsed::WithoutLiterals);
        }
        // Without a language, a time limit or a flag, which this parser all has or has not,
        // parsing does not fail.
        let tree = parser
            .parse(buffer.as_slice(), None)
            .ok_or(Unparsed::Skipped(SkipReason::Unreadable))?;
        if !self.trees.is_off() {
            let source: Arc<[u8]> = buffer.as_slice().into();
            self.trees.keep(key, identity, Parsed { source, tree: tree.clone() });
        }
        Ok(with(Parse { source: buffer, tree: &tree, identity: &identity }))
    }

    fn kept(&self, key: &TreeKey) -> Option<(Parsed, FileIdentity)> {
        if self.trees.is_off() || !self.trees.holds(key) {
            return None;
        }
        let identity = self.workspace.identity(&key.path).ok()?;
        Some((self.trees.get(key, &identity)?, identity))
    }
}
