//! Looking through files: only those that hold all the words of the pattern are parsed.

use std::sync::Arc;

use agent_grammars::Grammar;
use agent_workspace::{FileIdentity, MAX_SEARCH_BYTES, SkipReason, WorkspacePath};
use tree_sitter::{Parser, Tree};

use crate::{
    Match, Pattern, Structure,
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
    pub source: Arc<[u8]>,
    pub matches: Vec<Match>,
    /// Whether the file has a syntax error somewhere, near which nothing can match.
    pub has_error: bool,
    pub budget_exceeded: bool,
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
    /// Searches one file for at most `limit` matches.
    pub(crate) fn look(
        &self,
        pattern: &Pattern,
        file: &WorkspacePath,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Look {
        let key = TreeKey { path: file.clone(), grammar: pattern.grammar().id().to_owned() };
        if let Some(parsed) = self.kept(&key) {
            if !pattern.may_match(&parsed.source) {
                return Look::WithoutLiterals;
            }
            return Look::Searched(find(pattern, parsed.source, &parsed.tree, limit));
        }
        let Scratch { parser, buffer } = scratch;
        let identity = match self.workspace.read_into(file, MAX_SEARCH_BYTES, buffer) {
            Ok(identity) => identity,
            Err(error) => return Look::Skipped(SkipReason::of_error(&error)),
        };
        if !pattern.may_match(buffer) {
            return Look::WithoutLiterals;
        }
        if let Some(reason) = SkipReason::of_bytes(buffer) {
            return Look::Skipped(reason);
        }
        // Without a language, a time limit or a flag, which this parser all has or has not,
        // parsing does not fail.
        let Some(tree) = parser.parse(buffer.as_slice(), None) else {
            return Look::Skipped(SkipReason::Unreadable);
        };
        let source: Arc<[u8]> = buffer.as_slice().into();
        self.keep(key, identity, &source, &tree);
        Look::Searched(find(pattern, source, &tree, limit))
    }

    fn kept(&self, key: &TreeKey) -> Option<Parsed> {
        if self.trees.is_off() || !self.trees.holds(key) {
            return None;
        }
        let identity = self.workspace.identity(&key.path).ok()?;
        self.trees.get(key, &identity)
    }

    fn keep(&self, key: TreeKey, identity: FileIdentity, source: &Arc<[u8]>, tree: &Tree) {
        if !self.trees.is_off() {
            let parsed = Parsed { source: Arc::clone(source), tree: tree.clone() };
            self.trees.keep(key, identity, parsed);
        }
    }
}

fn find(pattern: &Pattern, source: Arc<[u8]>, tree: &Tree, limit: usize) -> Found {
    let found = pattern.find(tree, &source, limit);
    Found {
        has_error: tree.root_node().has_error(),
        budget_exceeded: found.budget_exceeded,
        matches: found.matches,
        source,
    }
}
