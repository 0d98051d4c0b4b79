//! `search`: a regular expression in the files of the workspace, or the list of them.

mod pattern;
mod render;
mod scan;

use agent_tool_core::{Stop, ToolError, ToolOutput};
use agent_workspace::{Encoding, SkipReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Files;

pub use pattern::{MAX_PATTERN, REGEX_SIZE_LIMIT};

/// So many results are given unless the call says otherwise.
pub const DEFAULT_RESULTS: usize = 100;

/// The most results of one call.
pub const MAX_RESULTS: usize = 1_000;

/// The most lines of context on each side.
pub const MAX_CONTEXT: usize = 20;

/// What to search for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SearchArgs {
    /// Regular expression (Rust syntax). Without it files are listed.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Folder or file to search, all if absent.
    #[serde(default)]
    pub path: Option<String>,
    /// Only files like `*.rs` or `src/**/*.{ts,tsx}`.
    #[serde(default)]
    pub glob: Option<String>,
    /// What is given.
    #[serde(default)]
    pub output: Option<SearchOutput>,
    /// Ignore case.
    #[serde(default)]
    pub case_insensitive: Option<bool>,
    /// Let matches span lines.
    #[serde(default)]
    pub multiline: Option<bool>,
    /// Lines of context on each side.
    #[serde(default)]
    pub context: Option<usize>,
    /// Default 100.
    #[serde(default)]
    pub max_results: Option<usize>,
}

/// What a search gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "it is chosen by the caller")]
pub enum SearchOutput {
    /// Matching lines (default).
    #[default]
    Content,
    /// Paths.
    Files,
    /// Matching lines per file.
    Count,
}

impl SearchArgs {
    /// Everything that matches a regular expression.
    #[must_use]
    pub fn pattern(pattern: impl Into<String>) -> Self {
        Self { pattern: Some(pattern.into()), ..Self::default() }
    }

    /// The list of files that a glob names.
    #[must_use]
    pub fn glob(glob: impl Into<String>) -> Self {
        Self { glob: Some(glob.into()), ..Self::default() }
    }

    /// The same below a folder, or in a file.
    #[must_use]
    pub fn within(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }
}

/// What was found. Files are in the order of their paths, lines in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SearchOutcome {
    /// What was asked for.
    pub output: SearchOutput,
    /// The matching lines, for [`SearchOutput::Content`].
    pub matches: Vec<LineMatch>,
    /// The files, for [`SearchOutput::Files`].
    pub files: Vec<String>,
    /// The counts, for [`SearchOutput::Count`].
    pub counts: Vec<FileCount>,
    /// How many results are here: lines, or files.
    pub shown: usize,
    /// How many there are; `None` where the search stopped early.
    pub total: Option<usize>,
    /// Whether there are more than are shown.
    pub more: bool,
    /// How many files were searched, or listed.
    pub searched: usize,
    /// The searched files that are no UTF-8, and how they were read: their text is only as right as that.
    pub decoded: Vec<DecodedFile>,
    /// The files that were left out.
    pub skipped: Vec<SkippedFile>,
    /// The same for a model.
    #[serde(skip)]
    pub text: String,
}

/// A line with a match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LineMatch {
    /// The path as the workspace shows it.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column at which the first match begins, from 1, in characters.
    pub column: usize,
    /// The line, cut where it is long.
    pub text: String,
}

/// How many lines of a file match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileCount {
    /// The path as the workspace shows it.
    pub file: String,
    /// How many lines.
    pub count: usize,
}

/// A file that is no UTF-8 and was searched all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DecodedFile {
    /// The path as the workspace shows it.
    pub file: String,
    /// How its bytes were read.
    pub encoding: Encoding,
}

/// A file that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkippedFile {
    /// The path as the workspace shows it.
    pub file: String,
    /// Why.
    pub reason: SkipReason,
}

impl Files {
    /// Searches files, or lists them where there is no pattern. Hidden and ignored files are left
    /// out unless `path` names them.
    ///
    /// # Errors
    ///
    /// `invalid_args`, `invalid_pattern` with a hint, `invalid_glob`, `stopped`, and those of
    /// [`agent_workspace::Workspace::walk`].
    pub fn search(&self, args: &SearchArgs, stop: &Stop) -> Result<SearchOutcome, ToolError> {
        let limits = check(args)?;
        let matcher =
            args.pattern.as_deref().map(|text| pattern::compile(text, args)).transpose()?;
        let starts = match &args.path {
            Some(path) => vec![self.resolve(path)?],
            None => self.workspace.root_paths(),
        };
        let mut options = self.walk_options(stop);
        if let Some(glob) = &args.glob {
            options = options.glob(glob);
        }
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        for start in &starts {
            let walk = self.workspace.walk(start, &options);
            let walk = walk.map_err(|error| self.with_proposals(start, error, stop))?;
            files.extend(walk.files);
            left_out.extend(walk.skipped);
        }
        let show = |path| self.workspace.show(path);
        let found = match matcher {
            None => scan::list(files.iter().map(show)),
            Some(matcher) => {
                let job = scan::Job {
                    workspace: &self.workspace,
                    matcher: &matcher,
                    output: args.output.unwrap_or_default(),
                    multiline: args.multiline == Some(true),
                    context: limits.context,
                    results: limits.results,
                    stop,
                };
                job.run(&files)?
            }
        };
        let skipped = left_out.iter().map(|skipped| (show(&skipped.path), skipped.reason));
        let starts: Vec<_> = starts.iter().map(show).collect();
        Ok(render::outcome(found, skipped, &starts.join(", "), args))
    }
}

/// The outcome as a tool's output.
pub(crate) fn output(outcome: SearchOutcome) -> ToolOutput {
    let data = json!(outcome);
    ToolOutput::text(outcome.text).with_data(data)
}

struct Checked {
    results: usize,
    context: usize,
}

fn check(args: &SearchArgs) -> Result<Checked, ToolError> {
    let refuse = |message: &str| Err(ToolError::invalid_args(format!("search: {message}")));
    let results = args.max_results.unwrap_or(DEFAULT_RESULTS);
    let context = args.context.unwrap_or(0);
    if args.pattern.as_deref() == Some("") {
        return refuse("`pattern` is empty; leave it out to list files");
    }
    if args.pattern.is_none()
        && matches!(args.output, Some(SearchOutput::Content | SearchOutput::Count))
    {
        return refuse("without a `pattern` there are only `files` to give");
    }
    if !(1..=MAX_RESULTS).contains(&results) {
        return refuse(&format!("`max_results` takes 1 to {MAX_RESULTS}"));
    }
    if context > MAX_CONTEXT {
        return refuse(&format!("`context` takes at most {MAX_CONTEXT}"));
    }
    Ok(Checked { results, context })
}
