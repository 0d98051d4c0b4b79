//! A planned change of files: what a preview shows, and what the call then applies.

use agent_edits::{ChangeKind, Entry, Executable, Plan};
use agent_tool_core::{
    Context, Event, FileChange, Preview, PreviewKind, Stop, ToolError, ToolOutput, counted,
};
use serde_json::{Value, json};

use crate::{Files, diff, error};

/// So many characters of one file's diff are in a result.
const RESULT_DIFF: usize = 4_000;

/// So many characters of all diffs are in a result; further files are only named.
const RESULT_DIFFS: usize = 16_000;

/// So many characters of one file's diff are on a card.
const PREVIEW_DIFF: usize = 20_000;

/// A change of files that has not been made, and what is to be said of it.
#[derive(Clone, Debug)]
pub struct Change {
    plan: Plan,
    notes: Vec<String>,
    renames: Vec<(String, String)>,
}

impl Change {
    pub(crate) fn new(plan: Plan, notes: Vec<String>) -> Self {
        Self { plan, notes, renames: Vec::new() }
    }

    pub(crate) fn with_renames(mut self, renames: Vec<(String, String)>) -> Self {
        self.renames = renames;
        self
    }

    /// The plan that would be applied.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Remarks, such as that CRLF was kept.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The files that change, with their content before and after.
    #[must_use]
    pub fn changes(&self) -> Vec<FileChange> {
        self.plan.changes()
    }

    /// What a person is shown of it.
    #[must_use]
    pub fn preview(&self, tool: &str) -> Preview {
        let mut cut = false;
        let bodies: Vec<_> = self
            .entries()
            .map(|entry| {
                let diff = diff::of_entry(entry, &self.shown(entry), PREVIEW_DIFF);
                cut |= diff.cut;
                match (diff.text.is_empty(), entry.executable()) {
                    (true, _) => self.sentence(entry, Tense::Planned),
                    (false, None) => diff.text,
                    (false, Some(_)) => {
                        format!("{}\n({})", diff.text, self.sentence(entry, Tense::Planned))
                    }
                }
            })
            .collect();
        let nothing = bodies.is_empty();
        let preview = Preview::new(self.kind(), format!("{tool}: {}", self.title()))
            .with_body([bodies, self.notes.clone()].concat().join("\n"))
            .with_changes(self.changes())
            .with_fingerprint(self.plan.fingerprint());
        let preview = if cut { preview.showing_a_part() } else { preview };
        if nothing { preview.changing_nothing() } else { preview }
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.plan.entries().iter().filter(|entry| entry.kind() != ChangeKind::Unchanged)
    }

    fn shown(&self, entry: &Entry) -> String {
        self.plan.workspace().show(entry.path())
    }

    fn kind(&self) -> PreviewKind {
        let all = |kind: ChangeKind| self.entries().all(|entry| entry.kind() == kind);
        if !self.plan.is_empty() && all(ChangeKind::Delete) {
            PreviewKind::Delete
        } else if !self.renames.is_empty() && self.renames.len() * 2 == self.entries().count() {
            PreviewKind::Move
        } else {
            PreviewKind::Edit
        }
    }

    fn title(&self) -> String {
        let sentences: Vec<_> = self
            .entries()
            .filter(|entry| !self.is_source_of_rename(entry))
            .map(|entry| self.sentence(entry, Tense::Planned))
            .collect();
        match sentences.as_slice() {
            [] => "nothing would change".to_owned(),
            [only] => only.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        }
    }

    fn is_source_of_rename(&self, entry: &Entry) -> bool {
        entry.kind() == ChangeKind::Delete
            && self.renames.iter().any(|(from, _)| *from == self.shown(entry))
    }

    /// What would be done to a file, or was.
    fn sentence(&self, entry: &Entry, tense: Tense) -> String {
        let shown = self.shown(entry);
        let done = matches!(tense, Tense::Done(_));
        let counts = match tense {
            Tense::Done(Some(counts)) => Some(counts),
            _ => None,
        };
        let said = match entry.kind() {
            ChangeKind::Create => match self.renames.iter().find(|(_, to)| *to == shown) {
                Some((from, _)) => {
                    let verb = if done { "renamed" } else { "rename" };
                    format!("{verb} `{from}` to `{shown}`{}", modified(counts))
                }
                None => {
                    let verb = if done { "created" } else { "create" };
                    let lines = counts.map_or(String::new(), |(added, _)| {
                        format!(" ({})", counted(added, "line"))
                    });
                    format!("{verb} `{shown}`{lines}")
                }
            },
            ChangeKind::Delete => format!("{} `{shown}`", if done { "deleted" } else { "delete" }),
            _ => {
                let verb = if done { "modified" } else { "modify" };
                let lines = match counts {
                    Some((0, 0)) if entry.before() == entry.after() => String::new(),
                    Some((0, 0)) => " (only line endings or the encoding)".to_owned(),
                    counts => modified(counts),
                };
                format!("{verb} `{shown}`{lines}")
            }
        };
        match entry.executable() {
            Some(Executable::Yes) => format!("{said}, executable"),
            Some(Executable::No) => format!("{said}, not executable"),
            None => said,
        }
    }

    /// The result for the model: what was done, with short diffs of what was modified. A file that
    /// was created is not repeated: its text came from the model a moment ago.
    fn output(&self) -> ToolOutput {
        let mut parts = Vec::new();
        let mut left = RESULT_DIFFS;
        for entry in self.entries().filter(|entry| !self.is_source_of_rename(entry)) {
            let shown = self.shown(entry);
            let source = self.source_of_rename(&shown);
            let diff = match source {
                Some(source) => {
                    let names = (self.shown(source), shown.as_str());
                    diff::of_move(source, entry, (&names.0, names.1), RESULT_DIFF.min(left))
                }
                None => diff::of_entry(entry, &shown, RESULT_DIFF.min(left)),
            };
            parts.push(self.sentence(entry, Tense::Done(diff.counts)));
            let moved = source.is_some() && diff.counts != Some((0, 0));
            if (entry.kind() == ChangeKind::Modify || moved) && left > 0 && !diff.text.is_empty() {
                left = left.saturating_sub(diff.text.chars().count());
                parts.push(diff.text);
            }
        }
        if parts.is_empty() {
            parts.push("nothing was changed: the text is already so".to_owned());
        }
        parts.extend(self.notes.iter().map(|note| format!("({note})")));
        ToolOutput::text(parts.join("\n")).with_data(self.data()).with_changes(self.changes())
    }

    fn source_of_rename(&self, shown: &str) -> Option<&Entry> {
        let (from, _) = self.renames.iter().find(|(_, to)| to == shown)?;
        self.entries().find(|entry| self.shown(entry) == *from)
    }

    fn data(&self) -> Value {
        let files: Vec<_> = self
            .changes()
            .iter()
            .zip(self.entries())
            .map(|(change, entry)| {
                let from = self.renames.iter().find(|(_, to)| *to == change.path);
                let mut file = json!({ "path": change.path, "kind": change.kind() });
                if let Some((from, _)) = from {
                    file["from"] = json!(from);
                }
                if let Some(executable) = entry.executable() {
                    file["executable"] = json!(executable == Executable::Yes);
                }
                file
            })
            .collect();
        json!({ "files": files, "notes": self.notes })
    }
}

impl Files {
    /// Applies a change: all of its files or none. Watchers are told of each file, from here and
    /// not from a future, so that a call that was cancelled meanwhile is still seen to have written.
    ///
    /// # Errors
    ///
    /// `approval_changed` where another plan was approved, `stopped` where nobody waits any more,
    /// and those of [`agent_edits::Edits::apply`].
    pub fn apply(
        &self,
        change: &Change,
        cx: &Context,
        stop: &Stop,
    ) -> Result<ToolOutput, ToolError> {
        cx.check_approved(&change.plan.fingerprint())?;
        if stop.is_set() {
            return Err(error::stopped());
        }
        if !change.plan.is_empty() {
            self.edits.apply(&change.plan).map_err(error::of_edits)?;
        }
        let output = change.output();
        for change in &output.changes {
            cx.emit(Event::Changed { change: change.clone() });
        }
        Ok(output)
    }
}

#[derive(Clone, Copy)]
enum Tense {
    Planned,
    /// With new and removed lines, where they were counted.
    Done(Option<(usize, usize)>),
}

fn modified(counts: Option<(usize, usize)>) -> String {
    match counts {
        None | Some((0, 0)) => String::new(),
        Some((added, removed)) => format!(" (+{added} -{removed})"),
    }
}
