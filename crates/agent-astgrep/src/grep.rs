//! Search: the library behind `ast_grep`.

use std::{collections::BTreeMap, fmt::Write as _, ops::Range};

use agent_tool_core::{ToolError, clip};
use agent_workspace::SkipReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Capture, Match, Pattern, Structure, VariableKind,
    failures::of_pattern,
    ordered::in_order,
    scan::{Found, Look, Scratch},
    stop::Stop,
};

/// How many matches are shown where the call does not say.
pub const DEFAULT_RESULTS: usize = 50;

/// The most matches that a call can ask for.
pub const MAX_RESULTS: usize = 1_000;

/// How many characters of a match, and of a capture, a result has.
const TEXT_CHARS: usize = 2_000;

/// How many characters of a match's first line the model reads.
const LINE_CHARS: usize = 200;

/// How many skipped files a result names; all of them are counted.
const NAMED_SKIPPED: usize = 50;

/// The arguments of `ast_grep`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepArgs {
    /// Code with metavariables: $X is any one node, $$$X any run of siblings, $_ any node. A
    /// repeated $X must be the same text.
    pub pattern: String,
    /// A file or folder; the whole workspace by default.
    pub path: Option<String>,
    /// A language id such as dart, python, rust, c, typescript. Inferred for a file, and for a
    /// folder of one language.
    pub language: Option<String>,
    /// How many matches to show; 50 by default, 1000 at most.
    pub max_results: Option<usize>,
}

/// What a search saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GrepOutcome {
    /// The language's id.
    pub language: String,
    /// The context in which the pattern was accepted.
    pub context: String,
    /// By path, then position, outer before inner.
    pub matches: Vec<GrepMatch>,
    /// How many matches are listed.
    pub shown: usize,
    /// How many there are; null where the search stopped early.
    pub total: Option<usize>,
    /// Whether there are more than are listed.
    pub more: bool,
    /// How many files were looked at.
    pub searched: usize,
    /// How many of them hold all the words of the pattern, and were parsed.
    pub parsed: usize,
    /// How many of those have syntax errors, near which nothing can match.
    pub syntax_errors: usize,
    /// How many were given up on in some place, since matching took too many steps.
    pub given_up: usize,
    /// Files that were left out, the first of them.
    pub skipped: Vec<GrepSkipped>,
    /// How many were left out.
    pub skipped_total: usize,
}

/// One match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GrepMatch {
    /// The file, as the workspace shows it.
    pub file: String,
    /// Where it begins: the line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// Where it ends: the line.
    pub end_line: usize,
    /// The column behind its last character.
    pub end_column: usize,
    /// The text, clipped.
    pub text: String,
    /// What the metavariables stand for: a text, or a list of texts for a run.
    pub captures: BTreeMap<String, CaptureText>,
}

/// The text of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CaptureText {
    /// One node.
    One(String),
    /// A run of nodes.
    Many(Vec<String>),
}

/// A file that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GrepSkipped {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: SkipReason,
}

impl GrepArgs {
    /// What a model may ask for: a result has to fit into a conversation.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        match self.max_results {
            Some(limit) if !(1..=MAX_RESULTS).contains(&limit) => {
                let message =
                    format!("ast_grep: `max_results` came as {limit} but takes 1 to {MAX_RESULTS}");
                Err(ToolError::invalid_args(message))
            }
            _ => Ok(()),
        }
    }
}

impl Structure {
    /// Searches, on all cores, and blocks until it is done. Where a model is limited to
    /// [`MAX_RESULTS`], a program may ask for all matches.
    ///
    /// # Errors
    /// `unparsable_pattern` and the other codes of a pattern, `unknown_language`, `no_language`,
    /// `ambiguous_language`, and those of a path outside the workspace or missing.
    pub fn grep(&self, args: &GrepArgs) -> Result<GrepOutcome, ToolError> {
        self.grep_until(args, &Stop::default())
    }

    /// The same, ending soon after `stop`.
    pub(crate) fn grep_until(
        &self,
        args: &GrepArgs,
        stop: &Stop,
    ) -> Result<GrepOutcome, ToolError> {
        let limit = args.max_results.unwrap_or(DEFAULT_RESULTS);
        let scope = self.scope(args.path.as_deref(), args.language.as_deref(), stop)?;
        let pattern = Pattern::compile(&scope.grammar, &args.pattern).map_err(of_pattern)?;
        self.trees.begin_search();
        let looks = in_order(
            scope.files.len(),
            limit,
            stop.flag(),
            || Scratch::new(&scope.grammar),
            |scratch, index| {
                let look =
                    self.look(&pattern, &scope.files[index], limit.saturating_add(1), scratch);
                let weight =
                    if let Look::Searched(found) = &look { found.matches.len() } else { 0 };
                (look, weight)
            },
        );
        stop.check()?;
        let mut outcome = GrepOutcome {
            language: scope.grammar.id().to_owned(),
            context: pattern.context().to_string(),
            matches: Vec::new(),
            shown: 0,
            total: None,
            more: false,
            searched: looks.items.len(),
            parsed: 0,
            syntax_errors: 0,
            given_up: 0,
            skipped: Vec::new(),
            skipped_total: 0,
        };
        let mut total = 0;
        for skipped in &scope.skipped {
            outcome.skip(self.workspace.show(&skipped.path), skipped.reason);
        }
        for (file, look) in scope.files.iter().zip(looks.items) {
            match look {
                Look::WithoutLiterals => {}
                Look::Skipped(reason) => outcome.skip(self.workspace.show(file), reason),
                Look::Searched(found) => {
                    outcome.parsed += 1;
                    outcome.syntax_errors += usize::from(found.has_error);
                    outcome.given_up += usize::from(found.budget_exceeded);
                    total += found.matches.len();
                    let room = limit - outcome.matches.len();
                    let file = self.workspace.show(file);
                    outcome.matches.extend(described(&file, &pattern, &found, room));
                }
            }
        }
        outcome.shown = outcome.matches.len();
        outcome.more = total > outcome.shown;
        outcome.total = looks.complete.then_some(total);
        Ok(outcome)
    }
}

impl GrepOutcome {
    fn skip(&mut self, file: String, reason: SkipReason) {
        self.skipped_total += 1;
        if self.skipped.len() < NAMED_SKIPPED {
            self.skipped.push(GrepSkipped { file, reason });
        }
    }

    /// What the model reads.
    #[must_use]
    pub fn text(&self, pattern: &str) -> String {
        let mut text = String::new();
        for found in &self.matches {
            let first = found.text.lines().next().unwrap_or_default();
            let first = clip(first, LINE_CHARS).text;
            let more = match found.end_line - found.line {
                0 => String::new(),
                lines => format!("  (to line {})", found.line + lines),
            };
            let _ = writeln!(text, "{}:{}:{}: {first}{more}", found.file, found.line, found.column);
        }
        let _ = match (self.shown, self.total, self.more) {
            (0, ..) => write!(text, "no match"),
            (shown, _, true) => write!(
                text,
                "{shown} matches shown, more exist: narrow `path` or raise `max_results`"
            ),
            (1, ..) => write!(text, "1 match"),
            (shown, ..) => write!(text, "{shown} matches"),
        };
        let _ = write!(text, "; {}", self.seen(pattern));
        text
    }

    /// What was done, and where nothing was found, why that may be.
    fn seen(&self, pattern: &str) -> String {
        let mut seen = format!(
            "{} as {}, {} {} files searched",
            self.language,
            self.context,
            self.searched,
            if self.total.is_none() { "first" } else { "" }
        )
        .replace("  ", " ");
        if self.shown == 0 {
            let _ = write!(seen, ", {} of them hold all words of the pattern", self.parsed);
        }
        if self.syntax_errors > 0 {
            let _ = write!(
                seen,
                ", {} with syntax errors, near which nothing matches",
                self.syntax_errors
            );
        }
        if self.given_up > 0 {
            let _ = write!(
                seen,
                ", {} given up on in places (too many steps): matches may be missing there",
                self.given_up
            );
        }
        if self.skipped_total > 0 {
            let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
            for skipped in &self.skipped {
                *reasons.entry(skipped.reason.words()).or_default() += 1;
            }
            let reasons: Vec<_> =
                reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
            let _ = write!(seen, ", {} skipped ({})", self.skipped_total, reasons.join(", "));
        }
        if self.shown == 0 && self.searched > 0 {
            let _ = write!(seen, ". {}", self.likely_cause(pattern));
        }
        seen
    }

    fn likely_cause(&self, pattern: &str) -> String {
        if self.parsed == 0 {
            return "No file holds all the words of the pattern as it spells them; look at spelling \
                    and quotes, or put $X where a word may differ."
                .to_owned();
        }
        let mut cause = String::from(
            "The words occur, but not in this shape: every named part must be in the pattern (a \
             return type, `async`, an else branch, more arguments), and strings, comments and macro \
             bodies are not code",
        );
        if pattern.contains(['"', '\'']) {
            cause.push_str("; quotes are taken as written");
        }
        cause.push('.');
        cause
    }
}

fn described<'a>(
    file: &'a str,
    pattern: &'a Pattern,
    found: &'a Found,
    room: usize,
) -> impl Iterator<Item = GrepMatch> + 'a {
    let lines = Lines::of(&found.source);
    found
        .matches
        .iter()
        .take(room)
        .map(move |matched| describe(file, pattern, found, &lines, matched))
}

fn describe(
    file: &str,
    pattern: &Pattern,
    found: &Found,
    lines: &Lines<'_>,
    matched: &Match,
) -> GrepMatch {
    let text = |range: &Range<usize>| {
        let text = String::from_utf8_lossy(&found.source[range.clone()]);
        clip(&text, TEXT_CHARS).text
    };
    let captures = pattern.variables().iter().zip(&matched.captures);
    let captures = captures.map(|(variable, capture)| {
        let captured = match capture {
            Capture::One(range) => CaptureText::One(text(range)),
            Capture::Many { nodes, .. } => CaptureText::Many(nodes.iter().map(text).collect()),
        };
        debug_assert_eq!(
            variable.kind == VariableKind::Many,
            matches!(captured, CaptureText::Many(_))
        );
        (variable.name.clone(), captured)
    });
    let (line, column) = lines.position(matched.range.start);
    let (end_line, end_column) = lines.position(matched.range.end);
    GrepMatch {
        file: file.to_owned(),
        line,
        column,
        end_line,
        end_column,
        text: text(&matched.range),
        captures: captures.collect(),
    }
}

/// Where the lines of a source begin.
struct Lines<'a> {
    source: &'a [u8],
    starts: Vec<usize>,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl<'a> Lines<'a> {
    fn of(source: &'a [u8]) -> Self {
        // A byte-order mark is no column.
        let first = if source.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let ends = memchr::memchr_iter(b'\n', source).map(|end| end + 1);
        Self { source, starts: std::iter::once(first).chain(ends).collect() }
    }

    /// Line and column of an offset, from 1, the column in characters.
    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let before = self.source.get(self.starts[line - 1]..offset).unwrap_or_default();
        (line, String::from_utf8_lossy(before).chars().count() + 1)
    }
}
