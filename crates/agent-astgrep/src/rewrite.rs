//! A template with the metavariables of a pattern put back.

mod layout;
mod output;
mod render;
mod template;
mod verify;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use agent_grammars::tree_sitter::Tree;

use crate::error::RewriteError;
use crate::pattern::{Match, Pattern};
use layout::Layout;
use render::{Rendered, Renderer, Wrap};
use template::Template;

/// How deep matches inside of one another are replaced. Those further in stay as they are, and are
/// listed: a file may nest deeper than any stack.
pub const MAX_NESTED: usize = 500;

/// How often a file is rendered at most: as it is, then with parentheses, the outer ones first. Each
/// rendering settles one level of nesting.
const MAX_RENDERINGS: usize = 16;

/// A pattern and a template, compiled together.
#[derive(Debug)]
pub struct Rewrite {
    pattern: Arc<Pattern>,
    template: Template,
}

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewritten {
    /// The whole file as it would be.
    pub bytes: Vec<u8>,
    /// The changes, by position, none overlapping another. One that lies in a capture of another is
    /// part of that one's text.
    pub edits: Vec<Edit>,
    /// How many matches were replaced, those inside of captures included.
    pub replacements: usize,
    /// How many comments stood in what was replaced and are gone.
    pub dropped_comments: usize,
    /// Matches that stay as they are, and why.
    pub skipped: Vec<Skipped>,
    /// Whether the matcher gave up on a node, so that a match may have been left out.
    pub budget_exceeded: bool,
}

/// One change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edit {
    /// The bytes of the source that go.
    pub range: Range<usize>,
    /// What comes in their place.
    pub replacement: Vec<u8>,
}

/// A match that was not replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The bytes of the match.
    pub range: Range<usize>,
    /// Why it stays.
    pub reason: SkipReason,
}

/// Why a match was not replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// It holds a syntax error, so what it is is a guess.
    HoldsSyntaxError,
    /// It overlaps another match and lies in none of its captures.
    Overlaps,
    /// It holds bytes beyond ASCII in a file that is not UTF-8.
    NotUtf8,
    /// It is inside of [`MAX_NESTED`] other matches.
    NestedTooDeep,
}

impl SkipReason {
    /// The reason in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HoldsSyntaxError => "it holds a syntax error",
            Self::Overlaps => "it overlaps another match and is in none of its captures",
            Self::NestedTooDeep => "it is nested too deep in other matches",
            Self::NotUtf8 => "it holds bytes beyond ASCII in a file that is not UTF-8",
        }
    }
}

impl Rewrite {
    /// Compiles `template` for the matches of `pattern`. An empty template deletes.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownVariable`](crate::ErrorKind::UnknownVariable) for a variable that the
    /// pattern does not bind, [`ErrorKind::VariableKind`](crate::ErrorKind::VariableKind) for one
    /// with the wrong number of dollars,
    /// [`ErrorKind::InvalidRewrite`](crate::ErrorKind::InvalidRewrite) for `$$NAME`.
    pub fn compile(pattern: &Arc<Pattern>, template: &str) -> Result<Self, RewriteError> {
        let template = Template::compile(pattern, template)?;
        Ok(Self { pattern: Arc::clone(pattern), template })
    }

    /// The pattern that this replaces the matches of.
    #[must_use]
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Replaces every match in `source`, of which `tree` is the parse.
    ///
    /// # Errors
    /// The file must not be changed where the result would have a syntax error
    /// ([`ErrorKind::SyntaxError`](crate::ErrorKind::SyntaxError)), a capture would fall apart
    /// ([`ErrorKind::Precedence`](crate::ErrorKind::Precedence)), or a block would be empty that
    /// must not be ([`ErrorKind::EmptyBlock`](crate::ErrorKind::EmptyBlock)).
    pub fn apply(&self, source: &[u8], tree: &Tree) -> Result<Rewritten, RewriteError> {
        let found = self.pattern.find(tree, source, usize::MAX);
        let (matches, skipped) = fit_to_edit(found.matches, source);
        let mut rewritten = Rewritten {
            bytes: source.to_vec(),
            edits: Vec::new(),
            replacements: 0,
            dropped_comments: 0,
            skipped,
            budget_exceeded: found.budget_exceeded,
        };
        if matches.is_empty() {
            return Ok(rewritten);
        }
        let job = Job {
            pattern: &self.pattern,
            template: &self.template,
            layout: Layout::of(source, tree, &self.pattern),
            matches: &matches,
            source,
            tree,
        };
        let rendered = self.render(&job)?;
        let left = (0..matches.len()).filter(|index| !rendered.applied.contains(index));
        rewritten.skipped.extend(left.map(|index| Skipped {
            range: matches[index].range.clone(),
            reason: if rendered.too_deep.contains(&index) {
                SkipReason::NestedTooDeep
            } else {
                SkipReason::Overlaps
            },
        }));
        rewritten.skipped.sort_by_key(|skipped| skipped.range.start);
        rewritten.bytes = rendered.out.into_bytes();
        rewritten.edits = rendered.edits;
        rewritten.replacements = rendered.applied.len();
        rewritten.dropped_comments = rendered.dropped_comments;
        Ok(rewritten)
    }

    /// Renders until nothing more needs parentheses, then checks.
    fn render(&self, job: &Job<'_>) -> Result<Rendered, RewriteError> {
        let mut wraps: HashSet<Wrap> = HashSet::new();
        let mut rendered = Renderer::new(job, &wraps).file();
        for _ in 1..MAX_RENDERINGS {
            let known = wraps.len();
            wraps.extend(verify::torn(job, &rendered)?);
            if wraps.len() == known {
                break;
            }
            rendered = Renderer::new(job, &wraps).file();
        }
        verify::check(job, &rendered)?;
        Ok(rendered)
    }
}

/// One file to be rewritten.
pub(crate) struct Job<'a> {
    pattern: &'a Pattern,
    template: &'a Template,
    source: &'a [u8],
    tree: &'a Tree,
    layout: Layout,
    matches: &'a [Match],
}

/// The matches that may be edited, and the others.
fn fit_to_edit(matches: Vec<Match>, source: &[u8]) -> (Vec<Match>, Vec<Skipped>) {
    let is_utf8 = std::str::from_utf8(source).is_ok();
    let mut skipped = Vec::new();
    let mut fit = Vec::new();
    for found in matches {
        let reason = if found.has_error {
            Some(SkipReason::HoldsSyntaxError)
        } else if !is_utf8 && !source[found.range.clone()].is_ascii() {
            Some(SkipReason::NotUtf8)
        } else {
            None
        };
        match reason {
            Some(reason) => skipped.push(Skipped { range: found.range, reason }),
            None => fit.push(found),
        }
    }
    (fit, skipped)
}

/// Tools hold both across threads, so losing this would be a breaking change.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Pattern>();
    shared::<Rewrite>();
};
