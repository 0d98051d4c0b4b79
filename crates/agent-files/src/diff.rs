//! The diff of one file, for the model's result and a person's card.

use std::time::Duration;

use agent_edits::{ChangeKind, Entry};
use agent_tool_core::clip;
use agent_workspace::Text;
use similar::{ChangeTag, TextDiff, TextDiffConfig};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Above so many bytes, both sides together, no diff is made.
const MAX_DIFFED_BYTES: usize = 2 * 1024 * 1024;

/// After that a diff is only approximated.
const TIME_LIMIT: Duration = Duration::from_millis(300);

/// What stands for no file.
const NO_FILE: &str = "/dev/null";

/// A change in lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    /// The unified diff; empty where none was made.
    pub(crate) text: String,
    /// New and removed lines, where they were counted.
    pub(crate) counts: Option<(usize, usize)>,
    /// Whether the text is a part of the diff.
    pub(crate) cut: bool,
}

/// The diff of what happens to a file, cut after `limit` characters.
pub(crate) fn of_entry(entry: &Entry, shown: &str, limit: usize) -> Diff {
    let old = if entry.kind() == ChangeKind::Create { NO_FILE } else { &format!("a/{shown}") };
    let new = if entry.kind() == ChangeKind::Delete { NO_FILE } else { &format!("b/{shown}") };
    between(entry.before(), entry.after(), (old, new), limit)
}

/// The diff between a file that goes and the one that comes instead.
pub(crate) fn of_move(from: &Entry, to: &Entry, names: (&str, &str), limit: usize) -> Diff {
    let (old, new) = (format!("a/{}", names.0), format!("b/{}", names.1));
    between(from.before(), to.after(), (&old, &new), limit)
}

fn between(
    before: Option<&[u8]>,
    after: Option<&[u8]>,
    (old, new): (&str, &str),
    limit: usize,
) -> Diff {
    let sides = [before, after];
    let size: usize = sides.iter().flatten().map(|bytes| bytes.len()).sum();
    if size > MAX_DIFFED_BYTES {
        return Diff::default();
    }
    let texts = sides.map(|side| Text::decode(side.unwrap_or_default()));
    if texts.iter().any(|text| text.info.binary) {
        return Diff::default();
    }
    // The line endings would only be noise here.
    let [before, after] = texts.map(|text| text.content.replace("\r\n", "\n"));
    let mut config = TextDiffConfig::default();
    config.timeout(TIME_LIMIT);
    let diff = config.diff_lines(before.as_str(), after.as_str());
    let clipped = clip(&unified(&diff, old, new), limit);
    Diff { counts: Some(counts(&diff)), text: clipped.text, cut: clipped.cut > 0 }
}

fn unified(diff: &TextDiff<'_, '_, str>, old: &str, new: &str) -> String {
    let text = diff.unified_diff().context_radius(CONTEXT).header(old, new).to_string();
    text.trim_end_matches('\n').to_owned()
}

fn counts(diff: &TextDiff<'_, '_, str>) -> (usize, usize) {
    diff.iter_all_changes().fold((0, 0), |(added, removed), change| match change.tag() {
        ChangeTag::Insert => (added + 1, removed),
        ChangeTag::Delete => (added, removed + 1),
        ChangeTag::Equal => (added, removed),
    })
}
