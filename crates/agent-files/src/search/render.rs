//! What was found as text, and how much of it.

use std::collections::BTreeMap;

use agent_tool_core::counted;
use agent_workspace::{Encoding, SkipReason};

use super::{
    DecodedFile, FileCount, LineMatch, SearchArgs, SearchOutcome, SearchOutput, SkippedFile,
    scan::{FileHits, Found},
};

/// So many characters of a line are shown, those around the match.
const MAX_LINE: usize = 400;

/// How many of them stand before the match, where the line is longer.
const BEFORE_MATCH: usize = 100;

/// So many characters are shown at once: a little less than the budget that a run has for a
/// result, so that the cut falls between two lines.
const MAX_SHOWN: usize = 30_000;

/// So many files are named for each reason to skip them, and for each encoding.
const NAMED_FILES: usize = 3;

/// The encodings that a result names.
const ENCODINGS: [(&[Encoding], &str); 2] =
    [(&[Encoding::Utf16Le, Encoding::Utf16Be], "UTF-16"), (&[Encoding::Latin1], "Latin-1")];

/// The part of a long line around a column.
pub(super) fn around(line: &str, column: usize) -> String {
    let total = line.chars().count();
    if total <= MAX_LINE {
        return line.to_owned();
    }
    let from = (column - 1).saturating_sub(BEFORE_MATCH).min(total - MAX_LINE);
    let part: String = line.chars().skip(from).take(MAX_LINE).collect();
    let head = if from > 0 { "…" } else { "" };
    let tail = if from + MAX_LINE < total { "…" } else { "" };
    format!("{head}{part}{tail}")
}

/// Everything that is said of a search.
pub(super) fn outcome(
    found: Found,
    skipped_by_walk: impl Iterator<Item = (String, SkipReason)>,
    start: &str,
    args: &SearchArgs,
) -> SearchOutcome {
    let limit = args.max_results.unwrap_or(super::DEFAULT_RESULTS);
    let output = match args.pattern {
        None => SearchOutput::Files,
        Some(_) => args.output.unwrap_or_default(),
    };
    let mut skipped: Vec<_> = skipped_by_walk.chain(found.skipped).collect();
    skipped.sort();
    let mut outcome = SearchOutcome {
        output,
        searched: found.searched,
        decoded: found
            .decoded
            .into_iter()
            .map(|(file, encoding)| DecodedFile { file, encoding })
            .collect(),
        skipped: skipped.into_iter().map(|(file, reason)| SkippedFile { file, reason }).collect(),
        ..SearchOutcome::default()
    };
    let all = match output {
        SearchOutput::Content => found.files.iter().map(|hits| hits.count).sum(),
        _ => found.files.len(),
    };
    let files = found.files.len();
    for hits in found.files {
        if !take(&mut outcome, hits, limit) {
            break;
        }
    }
    outcome.total = found.complete.then_some(all);
    outcome.more = outcome.shown < all;
    let summary = summary(&outcome, files, start, args);
    if !outcome.text.is_empty() {
        outcome.text.push('\n');
    }
    outcome.text.push_str(&summary);
    outcome
}

/// Takes the results of one file; false where no more fits.
fn take(outcome: &mut SearchOutcome, hits: FileHits, limit: usize) -> bool {
    let room = |outcome: &SearchOutcome, more: usize| {
        outcome.shown < limit && outcome.text.len() + more <= MAX_SHOWN
    };
    match outcome.output {
        SearchOutput::Content => return take_lines(outcome, hits, limit),
        SearchOutput::Files => {
            if !room(outcome, hits.file.len()) {
                return false;
            }
            outcome.text.push_str(&format!("{}\n", hits.file));
            outcome.files.push(hits.file);
        }
        SearchOutput::Count => {
            if !room(outcome, hits.file.len()) {
                return false;
            }
            outcome.text.push_str(&format!("{}:{}\n", hits.file, hits.count));
            outcome.counts.push(FileCount { file: hits.file, count: hits.count });
        }
    }
    outcome.shown += 1;
    true
}

fn take_lines(outcome: &mut SearchOutcome, hits: FileHits, limit: usize) -> bool {
    let gap = if outcome.text.is_empty() { "" } else { "\n" };
    let mut text = format!("{gap}{}\n", hits.file);
    let mut last: Option<u64> = None;
    let mut taken = Vec::new();
    let mut whole = true;
    for line in hits.lines {
        let is_match = line.column.is_some();
        let full = outcome.shown + taken.len() >= limit;
        // Beyond the last match only the context that follows it is taken.
        if is_match && full || outcome.text.len() + text.len() + line.text.len() > MAX_SHOWN {
            whole = false;
            break;
        }
        if last.is_some_and(|last| last + 1 < line.number) {
            text.push_str("--\n");
        }
        last = Some(line.number);
        let mark = if is_match { ':' } else { '-' };
        text.push_str(&format!("{}{mark}{}\n", line.number, line.text));
        if let Some(column) = line.column {
            taken.push(LineMatch {
                file: hits.file.clone(),
                line: line.number,
                column,
                text: line.text,
            });
        }
    }
    if taken.is_empty() {
        return false;
    }
    outcome.shown += taken.len();
    outcome.matches.extend(taken);
    outcome.text.push_str(&text);
    whole
}

fn summary(outcome: &SearchOutcome, files: usize, start: &str, args: &SearchArgs) -> String {
    let shown = outcome.shown;
    let searched = counted(outcome.searched, "file");
    let kind = if outcome.output == SearchOutput::Content { "matching line" } else { "file" };
    let mut said = match (outcome.total, args.pattern.is_some()) {
        (Some(0), _) => nothing(outcome, start, args),
        (Some(total), true) if outcome.more => format!(
            "{shown} of {} shown, {searched} searched; narrow `path`, `glob` or `pattern` for the rest",
            counted(total, kind)
        ),
        (Some(total), true) if outcome.output == SearchOutput::Content => {
            format!("{} in {}, {searched} searched", counted(total, kind), counted(files, "file"))
        }
        (Some(_), true) if outcome.output == SearchOutput::Count => {
            let lines = outcome.counts.iter().map(|count| count.count).sum();
            let (lines, files) = (counted(lines, "matching line"), counted(files, "file"));
            format!("{lines} in {files}, {searched} searched")
        }
        (Some(total), true) => format!("{}, {searched} searched", counted(total, kind)),
        (Some(total), false) if outcome.more => {
            format!(
                "{shown} of {} shown; narrow `path` or `glob` for the rest",
                counted(total, kind)
            )
        }
        (Some(total), false) => counted(total, kind),
        (None, _) => format!(
            "stopped early with {}, {searched} searched; there are more: narrow `path`, `glob` or \
             `pattern`, or raise `max_results`",
            counted(shown, kind)
        ),
    };
    for (encoding, name) in ENCODINGS {
        let read = outcome.decoded.iter().filter(|decoded| encoding.contains(&decoded.encoding));
        let read: Vec<&str> = read.map(|decoded| decoded.file.as_str()).collect();
        if !read.is_empty() {
            said.push_str(&format!("; read as {name}: {}", named(&read)));
        }
    }
    let skipped = skipped(&outcome.skipped);
    if !skipped.is_empty() {
        said.push_str(&format!("; skipped {skipped}"));
    }
    format!("({said})")
}

/// Zero matches say what was done, so that a wrong place is not taken for a wrong pattern.
fn nothing(outcome: &SearchOutcome, start: &str, args: &SearchArgs) -> String {
    let place = match &args.glob {
        Some(glob) => format!("`{start}` with the glob `{glob}`"),
        None => format!("`{start}`"),
    };
    if outcome.searched == 0 && outcome.skipped.is_empty() {
        return format!(
            "there is no file in {place}; hidden and ignored files are left out unless `path` names them"
        );
    }
    if outcome.searched == 0 {
        return format!("no file in {place} was searched");
    }
    let pattern = args.pattern.as_deref().unwrap_or_default();
    let case = if args.case_insensitive == Some(true) { "" } else { ", case sensitive" };
    format!(
        "no match of `{pattern}` in {place}: {} searched{case}",
        counted(outcome.searched, "file")
    )
}

fn skipped(skipped: &[SkippedFile]) -> String {
    let mut by_reason: BTreeMap<SkipReason, Vec<&str>> = BTreeMap::new();
    for file in skipped {
        by_reason.entry(file.reason).or_default().push(&file.file);
    }
    let said: Vec<_> = by_reason
        .into_iter()
        .map(|(reason, files)| format!("{} {} ({})", files.len(), reason.words(), named(&files)))
        .collect();
    said.join(", ")
}

fn named(files: &[&str]) -> String {
    let named = files[..files.len().min(NAMED_FILES)].join(", ");
    match files.len().saturating_sub(NAMED_FILES) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
