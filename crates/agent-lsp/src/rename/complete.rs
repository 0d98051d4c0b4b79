//! Whether a rename reaches every place that the server knows of.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
};

use agent_tool_core::{ErrorKind, ToolError, clip, counted};
use agent_workspace::{Workspace, WorkspacePath};
use async_lsp::lsp_types::Range;
use serde_json::json;

use super::ranges::{core, names};
use crate::{
    edits::{Changes, is_foreign},
    language::Language,
    location::Location,
    position::{Document, PositionEncoding},
};

/// At most so many missing places are listed.
pub const MISSING_LIMIT: usize = 10;

const SHOWN_LINE: usize = 160;

/// A place that the server says uses the symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The file, links followed.
    pub path: WorkspacePath,
    /// The place, in the server's positions.
    pub range: Range,
}

/// What a rename was held against: distinct places, however often and by whatever path a server lists them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compared {
    /// References that the rename edits.
    pub reached: usize,
    /// References that have another name, such as an alias, and stay as they are.
    pub otherwise_named: usize,
    /// References in files that are not the project's, which stay as they are.
    pub foreign: usize,
}

/// Holds a rename against the references of the symbol, asked for before it: each in the project that has its name must be
/// edited. Servers rename in open files alone, or before they have read the project, and say nothing of it. A reference by
/// another name, such as an alias of an import, stays as it is.
///
/// # Errors
/// `partial_rename`, which names what is missing.
pub fn check_complete(
    workspace: &Workspace,
    changes: &Changes,
    references: &[Reference],
    language: &Language,
    name: &str,
    encoding: PositionEncoding,
) -> Result<Compared, ToolError> {
    let core = core(language, name);
    let mut compared = Compared::default();
    let mut seen = HashSet::new();
    let mut texts: BTreeMap<&WorkspacePath, Document> = BTreeMap::new();
    let mut missing = Vec::new();
    for Reference { path, range } in references {
        if !seen.insert((path, range.start)) {
            continue;
        }
        if is_foreign(path.rel()) {
            compared.foreign += 1;
            continue;
        }
        let edits: Vec<_> = changes.edits.iter().filter(|file| file.path == *path).collect();
        let document = match edits.first() {
            Some(file) => &file.document,
            None => texts.entry(path).or_insert_with(|| {
                let bytes = workspace.read(path).map(|content| content.bytes);
                Document::decode(&bytes.unwrap_or_default())
            }),
        };
        let place = document.nearest_range(*range, encoding);
        let reached = edits
            .iter()
            .flat_map(|file| &file.edits)
            .any(|edit| edit.range.start <= place.end && place.start <= edit.range.end);
        let named = place.is_empty() || names(language, document.text(), core, &place);
        match (reached, named) {
            (true, _) => compared.reached += 1,
            (false, false) => compared.otherwise_named += 1,
            (false, true) => {
                let place = document.place(place.start);
                missing.push(Location {
                    file: workspace.show(path),
                    line: place.line,
                    column: place.column,
                    text: clip(document.line(place.line).unwrap_or_default().trim(), SHOWN_LINE)
                        .text,
                });
            }
        }
    }
    if missing.is_empty() {
        return Ok(compared);
    }
    let kept = kept(changes, language, core);
    missing.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    missing.dedup();
    let total = compared.reached + missing.len();
    Err(partial(missing, total, name, &kept))
}

/// The places at which the edit keeps the old name beside the new one, as `{ area }` that becomes `{ area: surface }`: what
/// has the name from there on is another symbol to the server.
fn kept(changes: &Changes, language: &Language, name: &str) -> Vec<Location> {
    let files =
        changes.edits.iter().flat_map(|file| file.edits.iter().map(move |edit| (file, edit)));
    let keeps = files.filter(|(file, edit)| {
        let there = file.document.text();
        let inserts = edit.range.is_empty() || there[edit.range.clone()] == *name;
        let is_kept = edit.range.is_empty() && !edit.text.trim().is_empty();
        inserts && (is_kept || names(language, &edit.text, name, &(0..edit.text.len())))
    });
    let all = keeps.map(|(file, edit)| {
        let place = file.document.place(edit.range.start);
        let text = file.document.line(place.line).unwrap_or_default().trim();
        Location {
            file: file.file.clone(),
            line: place.line,
            column: place.column,
            text: clip(text, SHOWN_LINE).text,
        }
    });
    all.take(MISSING_LIMIT).collect()
}

fn partial(mut missing: Vec<Location>, total: usize, name: &str, kept: &[Location]) -> ToolError {
    let count = missing.len();
    missing.truncate(MISSING_LIMIT);
    let mut message = format!(
        "the server would rename only a part: its edit lacks {count} of {}; nothing was written, so ",
        counted(total, "reference")
    );
    // Writing to a string does not fail.
    let list = |message: &mut String, places: &[Location]| {
        for Location { file, line, column, text } in places {
            let _ = write!(message, "\n  {file}:{line}:{column}: {text}");
        }
    };
    if kept.is_empty() {
        message
            .push_str("wait until it has read the project, or rename where the symbol is defined:");
    } else {
        let _ = write!(
            message,
            "edit these places by hand, as with ast_edit: waiting changes nothing, for the server keeps `{name}` as a name of its \
             own at"
        );
        list(&mut message, kept);
        message.push_str("\nand leaves what has it from there:");
    }
    list(&mut message, &missing);
    if count > missing.len() {
        let _ = write!(message, "\n  and {} more", count - missing.len());
    }
    ToolError::new(ErrorKind::Conflict, "partial_rename", message)
        .with_data(json!({"missing": missing, "kept": kept, "total": count, "references": total}))
}
