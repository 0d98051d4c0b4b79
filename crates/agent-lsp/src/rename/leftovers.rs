//! Where the old name still stands after a rename: in comments, in strings, in other symbols of that name, in other languages.

use std::{collections::BTreeMap, fmt::Write as _};

use agent_edits::{Plan, tool_error::of_workspace};
use agent_tool_core::{Stop, ToolError, clip, counted};
use agent_workspace::{MAX_SEARCH_BYTES, SkipReason, WalkOptions, Workspace, WorkspacePath};
use memchr::memmem;

use crate::{language::Language, location::Location, position::Document};

/// At most so many places are listed.
pub const LEFTOVERS_LIMIT: usize = 20;
/// At most so many of one file, so that a change log does not hide the rest.
pub const FILE_LEFTOVERS: usize = 5;

const SHOWN_LINE: usize = 160;

/// Where an old name is looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it is chosen by the caller")]
pub enum Where {
    /// In the whole workspace.
    #[default]
    Workspace,
    /// In the files that the plan edits, where no other can mean the symbol.
    Renamed,
}

/// The places where a name stands as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftovers {
    /// By file and line, one for each line.
    pub places: Vec<Location>,
    /// In how many lines it stands.
    pub total: usize,
    /// In how many files.
    pub files: usize,
    /// Where it was looked for.
    pub looked: Where,
    /// How many files could not be looked at: too large, or unreadable.
    pub skipped: usize,
}

/// Looks through the workspace as it will be once the plan is applied, for whole identifiers with the old name, in files of any
/// language. Hidden, ignored and binary files are not looked at.
///
/// It blocks and reads every file; set the flag to end it. Nothing was changed then.
///
/// # Errors
/// `stopped`, and those of a walk.
pub fn leftovers(
    workspace: &Workspace,
    plan: &Plan,
    old: &str,
    looked: Where,
    stop: &Stop,
) -> Result<Leftovers, ToolError> {
    let planned: BTreeMap<&WorkspacePath, Option<&[u8]>> =
        plan.entries().iter().map(|entry| (entry.target(), entry.after())).collect();
    let mut found = Leftovers { looked, ..Leftovers::default() };
    let finder = memmem::Finder::new(old);
    let mut buffer = Vec::new();
    let files = match looked {
        Where::Workspace => files(workspace, &planned, stop)?,
        Where::Renamed => {
            let there = planned.iter().filter(|(_, after)| after.is_some());
            there.map(|(path, _)| (*path).clone()).collect()
        }
    };
    for (index, path) in files.iter().enumerate() {
        stop.check()?;
        stop.progress("looking for the old name", index, files.len());
        let bytes = match planned.get(path) {
            Some(after) => after.unwrap_or_default(),
            None => match workspace.read_into(path, MAX_SEARCH_BYTES, &mut buffer) {
                Ok(_) => buffer.as_slice(),
                Err(_) => {
                    found.skipped += 1;
                    continue;
                }
            },
        };
        let binary = SkipReason::of_bytes(bytes) == Some(SkipReason::Binary);
        if !binary && finder.find(bytes).is_some() {
            found.add(&workspace.show(path), &Document::decode(bytes), old);
        }
    }
    Ok(found)
}

/// The files of the workspace's roots, with those that the plan makes, without those that it removes.
fn files(
    workspace: &Workspace,
    planned: &BTreeMap<&WorkspacePath, Option<&[u8]>>,
    stop: &Stop,
) -> Result<Vec<WorkspacePath>, ToolError> {
    let mut files = Vec::new();
    for root in workspace.roots() {
        let start = workspace.contain(root.path()).unwrap_or_else(WorkspacePath::working_directory);
        let options = WalkOptions::new().stop(stop.shared());
        files.extend(workspace.walk(&start, &options).map_err(of_workspace)?.files);
    }
    files.extend(
        planned.iter().filter(|(_, after)| after.is_some()).map(|(path, _)| (*path).clone()),
    );
    files.retain(|path| planned.get(path) != Some(&None));
    files.sort();
    files.dedup();
    Ok(files)
}

impl Leftovers {
    /// The lines for the model; empty when there is nothing left.
    #[must_use]
    pub fn text(&self, old: &str) -> String {
        let mut out = String::new();
        if self.total > 0 {
            let (lines, files) = (counted(self.total, "line"), counted(self.files, "file"));
            let among = match self.looked {
                Where::Workspace => "",
                Where::Renamed => {
                    " among those it was renamed in, the only ones looked at, since it is a function's own by the server's symbols"
                }
            };
            out = format!(
                "`{old}` still stands as text in {lines} of {files}{among} (comments, strings, other languages, other symbols \
                 of that name, or code that the server does not know):"
            );
            for Location { file, line, text, .. } in &self.places {
                // Writing to a string does not fail.
                let _ = write!(out, "\n  {file}:{line}: {text}");
            }
            if self.total > self.places.len() {
                let _ = write!(out, "\n  and {} more", self.total - self.places.len());
            }
        }
        if self.skipped > 0 {
            let separator = if out.is_empty() { "" } else { "\n" };
            let skipped = counted(self.skipped, "file");
            let _ = write!(
                out,
                "{separator}{skipped} too large or unreadable were not looked at for `{old}`"
            );
        }
        out
    }

    fn add(&mut self, file: &str, document: &Document, old: &str) {
        // Whose identifiers they are is not asked: a name in a comment has no language.
        let language = Language::by_id("");
        let text = document.text();
        let mut lines: Vec<(usize, usize)> = memmem::find_iter(text.as_bytes(), old)
            .filter(|start| {
                !language.joins(text, *start) && !language.joins(text, start + old.len())
            })
            .map(|start| document.place(start))
            .map(|place| (place.line, place.column))
            .collect();
        lines.dedup_by_key(|(line, _)| *line);
        if lines.is_empty() {
            return;
        }
        self.total += lines.len();
        self.files += 1;
        let room = LEFTOVERS_LIMIT.saturating_sub(self.places.len()).min(FILE_LEFTOVERS);
        self.places.extend(lines.into_iter().take(room).map(|(line, column)| Location {
            file: file.to_owned(),
            line,
            column,
            text: clip(document.line(line).unwrap_or_default().trim(), SHOWN_LINE).text,
        }));
    }
}
