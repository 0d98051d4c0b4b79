//! `edit`: one text in a file replaced by another.

mod find;

use agent_edits::{Plan, TextEdit, TextEdits};
use agent_tool_core::{ErrorKind, Stop, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    Change, Files, error,
    lines::{line_of, lines},
    report,
};

/// So many line numbers are named where a text is found several times.
const LISTED_LINES: usize = 20;

/// What to replace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EditArgs {
    /// The file.
    pub path: String,
    /// The exact text, without line numbers.
    pub old_string: String,
    /// What replaces it.
    pub new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    pub replace_all: Option<bool>,
}

impl EditArgs {
    /// The one occurrence of `old` becomes `new`.
    #[must_use]
    pub fn new(path: impl Into<String>, old: impl Into<String>, new: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            old_string: old.into(),
            new_string: new.into(),
            replace_all: None,
        }
    }

    /// Every occurrence of it.
    #[must_use]
    pub fn everywhere(mut self) -> Self {
        self.replace_all = Some(true);
        self
    }
}

impl Files {
    /// Plans to replace a text. `\n` stands for the file's own line endings, in what is looked for
    /// and in what replaces it.
    ///
    /// # Errors
    ///
    /// `empty_old_string`, `no_change`, `no_match` with the nearest place, `ambiguous_match` with
    /// the lines, `binary_file`, and those of the workspace and of [`Plan`].
    pub fn plan_edit(&self, args: &EditArgs, stop: &Stop) -> Result<Change, ToolError> {
        check(args)?;
        let path = self.resolve(&args.path)?;
        let (before, text) = self.text(&path, stop)?;
        let found = find::find(&text, &args.old_string);
        let everywhere = args.replace_all == Some(true);
        let shown = self.workspace.show(&path);
        match found.ranges.len() {
            0 => {
                let all = lines(&text.content, text.info.line_ending);
                return Err(report::no_match(&shown, &all, &args.old_string));
            }
            1 if !found.overlaps || everywhere => {}
            _ if everywhere => {}
            count => return Err(several(&shown, &text, &found, count)),
        }
        let count = found.ranges.len();
        let edits = found.ranges.into_iter().map(|range| {
            let new = find::as_in_file(&text, &args.old_string, &args.new_string, range.clone());
            TextEdit::new(range, new)
        });
        let edits = TextEdits::new(edits).map_err(error::of_edits)?;
        let content = edits.apply(&text.content).map_err(error::of_edits)?;
        let after = text.encode(&content).map_err(error::of_workspace)?;
        let mut plan = Plan::new(&self.workspace);
        plan.modify(&path, before, after).map_err(error::of_edits)?;
        let notes = if everywhere { vec![format!("{count} replaced")] } else { Vec::new() };
        Ok(Change::new(plan, notes))
    }
}

fn check(args: &EditArgs) -> Result<(), ToolError> {
    if args.old_string.is_empty() {
        return Err(ToolError::new(
            ErrorKind::InvalidArgs,
            "empty_old_string",
            "edit: `old_string` is empty, so it says no place; use write for a whole file, or name \
             the text next to which something is added",
        ));
    }
    if args.old_string == args.new_string {
        return Err(report::no_change(
            "edit: `old_string` and `new_string` are the same, so nothing would change",
        ));
    }
    Ok(())
}

fn several(
    shown: &str,
    text: &agent_workspace::Text,
    found: &find::Found,
    count: usize,
) -> ToolError {
    let at: Vec<_> = found
        .ranges
        .iter()
        .take(LISTED_LINES)
        .map(|range| line_of(&text.content, text.info.line_ending, range.start))
        .collect();
    let message = if count == 1 {
        format!("`old_string` is in `{shown}` twice, overlapping itself, from line {}", at[0])
    } else {
        format!(
            "`old_string` is in `{shown}` {count} times, at lines {}",
            report::numbers(&at, count)
        )
    };
    ToolError::new(
        ErrorKind::InvalidArgs,
        "ambiguous_match",
        format!("{message}; add the lines around it to make it unique, or set replace_all"),
    )
    .with_data(json!({ "lines": at, "total": count }))
}
