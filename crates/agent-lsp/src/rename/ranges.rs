//! Whether a server's ranges are where it thinks: each must cover the old name.

use std::ops::Range;

use agent_tool_core::{ErrorKind, ToolError, clip};
use memchr::memmem;
use serde_json::json;

use crate::{
    edits::FileEdits,
    language::{Case, Language},
};

/// So much of a wrong range is shown.
const SHOWN_RANGE: usize = 40;

/// Holds every edit against the old name. A range that replaces text must have the name in it, as a whole identifier; raw
/// marks, sigils and quotes around it may be in the range or not. An insertion must touch the name, as in the shorthand
/// `{ area }` that becomes `{ area: surface }`.
///
/// A server that counts positions otherwise than it says is caught so: its ranges lie beside the name. One that renames
/// another symbol is too: its ranges lie on that one's name.
///
/// # Errors
/// `other_symbol` where a range is another identifier, else `position_encoding_mismatch`; with the place and what the range
/// covers.
pub fn check_ranges(edits: &[FileEdits], language: &Language, old: &str) -> Result<(), ToolError> {
    let core = core(language, old);
    for file in edits {
        let text = file.document.text();
        for edit in &file.edits {
            let covers = names(language, text, core, &edit.range);
            if !covers {
                return Err(mismatch(file, language, &edit.range, old));
            }
        }
    }
    Ok(())
}

/// Whether the identifier that begins at a place is the name, and not another that begins with it.
pub(super) fn stands_at(language: &Language, text: &str, start: usize, name: &str) -> bool {
    let found = text.get(start..).and_then(|rest| rest.get(..name.len()));
    found.is_some_and(|found| language.same(found, name))
        && is_whole(language, text, start, name.len())
}

/// The name without what may be written around it.
pub(super) fn core<'a>(language: &Language, name: &'a str) -> &'a str {
    let raw = language.raw.and_then(|raw| name.strip_prefix(raw.open)?.strip_suffix(raw.close));
    let name = raw.unwrap_or(name);
    let bare =
        name.trim_start_matches(|first| language.before.contains(&first) || "'\"`".contains(first));
    let bare = bare.trim_end_matches(['\'', '"', '`']);
    // Nothing would be found everywhere.
    if bare.is_empty() { name } else { bare }
}

/// Whether a range has the name in it, or touches it where the range is empty.
pub(super) fn names(language: &Language, text: &str, name: &str, range: &Range<usize>) -> bool {
    if range.is_empty() {
        let at = range.start;
        let before = at.checked_sub(name.len());
        return stands_at(language, text, at, name)
            || before.is_some_and(|start| stands_at(language, text, start, name));
    }
    let covered = &text[range.clone()];
    let found = positions(language, covered, name);
    found.iter().any(|start| is_whole(language, text, range.start + start, name.len()))
}

fn positions(language: &Language, text: &str, name: &str) -> Vec<usize> {
    let fold = |text: &str| match language.case {
        Case::Matters => text.to_owned(),
        Case::Ignored => text.to_ascii_lowercase(),
    };
    let (text, name) = (fold(text), fold(name));
    memmem::find_iter(text.as_bytes(), &name).collect()
}

/// A sigil before the name belongs to it and does not make it another.
fn is_whole(language: &Language, text: &str, start: usize, length: usize) -> bool {
    let before = text[..start].chars().next_back();
    let sigil = before.is_some_and(|before| language.before.contains(&before));
    (sigil || !language.joins(text, start)) && !language.joins(text, start + length)
}

fn mismatch(file: &FileEdits, language: &Language, range: &Range<usize>, old: &str) -> ToolError {
    let text = file.document.text();
    let place = file.document.place(range.start);
    let covered = clip(&text[range.clone()], SHOWN_RANGE).text;
    let line = file.document.line(place.line).unwrap_or_default().trim();
    let at = format!("{}:{}:{}", file.file, place.line, place.column);
    let error = if is_identifier(language, text, range) {
        let message = format!(
            "the server's edit at {at} covers `{covered}`, which is another name than `{old}`: it would rename another symbol, \
             as that which `{old}` is an alias of, or counts positions otherwise than it says; nothing was written, so name the \
             place where the symbol meant is defined, or rename by hand"
        );
        ToolError::new(ErrorKind::Failed, "other_symbol", message)
    } else {
        let message = format!(
            "position encoding mismatch: the server's edit at {at} covers `{covered}` and not `{old}`, so it counts positions \
             otherwise than it says, or has another text; nothing was written, so rename with another server or by hand"
        );
        ToolError::new(ErrorKind::Failed, "position_encoding_mismatch", message)
    };
    error.with_data(json!({
        "file": file.file, "line": place.line, "column": place.column, "covered": covered,
        "text": clip(line, SHOWN_RANGE * 4).text,
    }))
}

/// Whether a range is one whole identifier. Positions that are counted otherwise cut words or cover what is between them.
fn is_identifier(language: &Language, text: &str, range: &Range<usize>) -> bool {
    let covered = &text[range.clone()];
    let starts = covered.chars().next().is_some_and(|first| language.may_start(first));
    starts
        && !language.is_keyword(covered)
        && covered.chars().all(|character| language.is_part(character))
        && is_whole(language, text, range.start, covered.len())
}
