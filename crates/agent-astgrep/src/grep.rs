//! Search: the library behind `ast_grep`.

use std::{collections::BTreeMap, fmt::Write as _};

use agent_tool_core::{Stop, ToolError, clip, counted};
use agent_workspace::{SkipReason, WorkspacePath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Pattern, Structure,
    failures::of_pattern,
    found::GrepMatch,
    ordered::in_order,
    scan::{Look, Scratch},
};

/// How many matches are shown where the call does not say.
pub const DEFAULT_RESULTS: usize = 50;

/// The most matches that a call can ask for.
pub const MAX_RESULTS: usize = 1_000;

/// How many characters of a match's first line the model reads.
const LINE_CHARS: usize = 200;

/// How many skipped files a result names; all of them are counted.
const NAMED_SKIPPED: usize = 50;

/// How many files without a match are asked for the likely cause.
const FILES_ASKED: usize = 20;

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
    /// Where nothing was found: the likely cause, as one file shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<GrepHint>,
    #[serde(skip)]
    reasons: BTreeMap<SkipReason, usize>,
    #[serde(skip)]
    languages: BTreeMap<String, usize>,
}

/// The likely cause of finding nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GrepHint {
    /// The file that shows it.
    pub file: String,
    /// The line there, from 1.
    pub line: usize,
    /// The cause, and what to try.
    pub message: String,
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
    /// `ambiguous_language`, those of a path outside the workspace or missing, and `stopped` soon
    /// after the flag is set.
    pub fn grep(&self, args: &GrepArgs, stop: &Stop) -> Result<GrepOutcome, ToolError> {
        let limit = args.max_results.unwrap_or(DEFAULT_RESULTS);
        let scope = self.scope(args.path.as_deref(), args.language.as_deref(), stop)?;
        let pattern = Pattern::compile(&scope.grammar, &args.pattern).map_err(of_pattern)?;
        self.trees.begin_search();
        let looks = in_order(
            scope.files.len(),
            limit,
            &stop.shared(),
            || Scratch::new(&scope.grammar),
            |scratch, index| {
                let look = self.look(&pattern, &scope.files[index], limit, scratch);
                stop.progress("files searched", index + 1, scope.files.len());
                let weight = if let Look::Searched(found) = &look { found.count } else { 0 };
                (look, weight)
            },
        );
        stop.check()?;
        let mut outcome = GrepOutcome::new(&pattern);
        outcome.languages = scope.languages;
        for skipped in &scope.skipped {
            outcome.skip(self.workspace.show(&skipped.path), skipped.reason);
        }
        let mut total = 0;
        let mut parsed = Vec::new();
        for (file, look) in scope.files.iter().zip(looks.items) {
            match look {
                Look::WithoutLiterals => outcome.searched += 1,
                Look::Skipped(reason) => outcome.skip(self.workspace.show(file), reason),
                Look::Searched(found) => {
                    outcome.searched += 1;
                    parsed.push(file);
                    outcome.syntax_errors += usize::from(found.has_error);
                    outcome.given_up += usize::from(found.budget_exceeded);
                    total += found.count;
                    let room = limit - outcome.matches.len();
                    outcome.matches.extend(found.matches.into_iter().take(room));
                }
            }
        }
        outcome.parsed = parsed.len();
        outcome.shown = outcome.matches.len();
        outcome.more = total > outcome.shown;
        outcome.total = looks.complete.then_some(total);
        if total == 0 {
            outcome.hint = self.hint(&pattern, &parsed);
        }
        Ok(outcome)
    }

    /// Why nothing was found, as the first of these files show that shows it.
    fn hint(&self, pattern: &Pattern, files: &[&WorkspacePath]) -> Option<GrepHint> {
        let mut scratch = Scratch::new(pattern.grammar());
        files.iter().take(FILES_ASKED).find_map(|file| {
            let hint = self
                .parsed(pattern, file, &mut scratch, |file| pattern.hint(file.tree, file.source));
            let hint = hint.ok()??;
            Some(GrepHint {
                file: self.workspace.show(file),
                line: hint.line,
                message: hint.message,
            })
        })
    }
}

impl GrepOutcome {
    fn new(pattern: &Pattern) -> Self {
        Self {
            language: pattern.grammar().id().to_owned(),
            context: pattern.context().to_string(),
            matches: Vec::new(),
            shown: 0,
            total: None,
            more: false,
            searched: 0,
            parsed: 0,
            syntax_errors: 0,
            given_up: 0,
            skipped: Vec::new(),
            skipped_total: 0,
            hint: None,
            reasons: BTreeMap::new(),
            languages: BTreeMap::new(),
        }
    }

    fn skip(&mut self, file: String, reason: SkipReason) {
        self.skipped_total += 1;
        *self.reasons.entry(reason).or_default() += 1;
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
        let matches = counted(self.shown, "match");
        let _ = match (self.shown, self.more) {
            (0, _) => write!(text, "no match"),
            (_, true) => {
                write!(text, "{matches} shown, more exist: narrow `path` or raise `max_results`")
            }
            (_, false) => write!(text, "{matches}"),
        };
        let _ = write!(text, "; {}", self.seen(pattern));
        text
    }

    /// What was done, and where nothing was found, why that may be.
    fn seen(&self, pattern: &str) -> String {
        let files = counted(self.searched, "file");
        let first = if self.total.is_none() { "the first " } else { "" };
        let mut seen = format!("{} as {}, {first}{files} searched", self.language, self.context);
        if self.shown == 0 && self.searched > 0 {
            let _ = write!(seen, ", {} of them with all words of the pattern", self.parsed);
        }
        if self.syntax_errors > 0 {
            let errors = self.syntax_errors;
            let _ =
                write!(seen, ", {errors} with syntax errors, around which matches may be missing");
        }
        if self.given_up > 0 {
            let _ = write!(
                seen,
                ", {} given up on in places (too many steps): matches may be missing there",
                self.given_up
            );
        }
        if self.skipped_total > 0 {
            let reasons = self.reasons.iter();
            let reasons: Vec<_> =
                reasons.map(|(reason, count)| format!("{count} {}", reason.words())).collect();
            let _ = write!(seen, ", {} skipped ({})", self.skipped_total, reasons.join(", "));
        }
        if self.shown == 0 {
            let _ = write!(seen, ". {}", self.likely_cause(pattern));
        }
        seen
    }

    fn likely_cause(&self, pattern: &str) -> String {
        if let Some(GrepHint { file, line, message }) = &self.hint {
            return format!("Likely cause, at {file}:{line}: {message}.");
        }
        if self.searched == 0 {
            return self.no_files();
        }
        if self.skipped_total > 0 && self.parsed == 0 {
            return "No file that was read holds all the words of the pattern as it spells them; the \
                    skipped ones may."
                .to_owned();
        }
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

    /// Why nothing was searched.
    fn no_files(&self) -> String {
        let others: Vec<_> =
            self.languages.iter().map(|(id, count)| format!("{id} ({count})")).collect();
        let there = if others.is_empty() {
            "No file of a known language is there".to_owned()
        } else {
            format!("No {} file is there; there are files of {}", self.language, others.join(", "))
        };
        let skipped =
            if self.skipped_total > 0 { ", and the skipped ones were not read" } else { "" };
        format!(
            "{there}{skipped}. Hidden and ignored files are left out unless `path` names one or its \
             folder."
        )
    }
}
