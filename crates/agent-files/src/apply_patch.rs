//! `apply_patch`: several files at once, all of them or none.

use agent_edits::Plan;
use agent_tool_core::{ErrorKind, Stop, ToolError};
use agent_workspace::{Encoding, Text, WorkspacePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    Change, Files, error,
    lines::lines,
    nearest::nearest,
    patch::{self, Action, FilePatch, Hunk, Misfit, Patch, Reason},
    report,
};

/// So many failures are told at once.
const TOLD_FAILURES: usize = 5;

/// So many lines are named where a hunk fits in several places.
const LISTED_LINES: usize = 20;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// What to apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ApplyPatchArgs {
    /// The patch.
    pub patch: String,
}

impl ApplyPatchArgs {
    /// This patch.
    #[must_use]
    pub fn new(patch: impl Into<String>) -> Self {
        Self { patch: patch.into() }
    }
}

impl Files {
    /// Plans what a patch says. Every file is looked at, so that an error names all that is wrong.
    ///
    /// # Errors
    ///
    /// Those of [`Patch::parse`]; `no_match` and `ambiguous_match` for a hunk, with the lines that
    /// it expects and the nearest place; `no_change`; those of the workspace and of [`Plan`].
    pub fn plan_patch(&self, args: &ApplyPatchArgs, stop: &Stop) -> Result<Change, ToolError> {
        let patch = Patch::parse(&args.patch)?;
        let mut planning =
            Planning { files: self, stop, plan: Plan::new(&self.workspace), renames: Vec::new() };
        let mut failures = Vec::new();
        for (done, file) in patch.files.iter().enumerate() {
            if stop.is_set() {
                return Err(error::stopped());
            }
            stop.progress("looked at files of the patch", done, patch.files.len());
            if let Err(failure) = planning.file(file) {
                failures.push(failure);
            }
        }
        if !failures.is_empty() {
            return Err(together(failures));
        }
        if planning.plan.is_empty() {
            return Err(report::no_change(
                "the patch changes nothing: the files are already as it makes them, or its lines \
                 all stay",
            ));
        }
        Ok(Change::new(planning.plan, Vec::new()).with_renames(planning.renames))
    }
}

struct Planning<'a> {
    files: &'a Files,
    stop: &'a Stop,
    plan: Plan,
    renames: Vec<(String, String)>,
}

impl Planning<'_> {
    fn file(&mut self, file: &FilePatch) -> Result<(), ToolError> {
        let path = self.files.resolve(&file.path)?;
        let written = match &file.action {
            Action::Create => {
                self.create(&path, file)?;
                path
            }
            Action::Delete => return self.delete(&path, &file.hunks),
            Action::Update if file.hunks.is_empty() => path,
            Action::Update => {
                let (before, text) = self.files.text(&path, self.stop)?;
                let after = self.patched(&path, &text, &file.hunks)?;
                self.plan.modify(&path, before, after).map_err(error::of_edits)?;
                path
            }
            Action::Rename(to) => {
                let to = self.files.resolve(to)?;
                self.rename(&path, &to, &file.hunks)?;
                to
            }
        };
        match file.executable {
            Some(executable) => self.plan.executable(&written, executable).map_err(error::of_edits),
            None => Ok(()),
        }
    }

    fn create(&mut self, path: &WorkspacePath, file: &FilePatch) -> Result<(), ToolError> {
        let Some(content) = patch::created(&file.hunks) else {
            return Err(ToolError::new(
                ErrorKind::InvalidArgs,
                "invalid_patch",
                format!(
                    "`{}` is to be created, but its hunks have lines that are not new; begin each \
                     line with `+`",
                    file.path
                ),
            ));
        };
        self.plan.create(path, content.into_bytes()).map_err(error::of_edits)
    }

    fn delete(&mut self, path: &WorkspacePath, hunks: &[Vec<Hunk>]) -> Result<(), ToolError> {
        let before = self.files.content(path, self.stop)?.bytes;
        if !hunks.is_empty() {
            let rest = self.patched(path, &Text::decode(&before), hunks)?;
            if !Text::decode(&rest).content.is_empty() {
                let shown = self.files.workspace.show(path);
                return Err(ToolError::new(
                    ErrorKind::NotFound,
                    "no_match",
                    format!(
                        "`{shown}` has more lines than the patch deletes; read it, and delete it \
                         with `*** Delete File: {shown}` if all of it is to go"
                    ),
                ));
            }
        }
        self.plan.delete(path).map_err(error::of_edits)?;
        self.still(path, &before)
    }

    fn rename(
        &mut self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        hunks: &[Vec<Hunk>],
    ) -> Result<(), ToolError> {
        let before = self.files.content(from, self.stop)?.bytes;
        let after = if hunks.iter().all(Vec::is_empty) {
            None
        } else {
            let (_, text) = self.files.text(from, self.stop)?;
            Some(self.patched(from, &text, hunks)?)
        };
        self.plan.rename(from, to, after).map_err(error::of_edits)?;
        let show = |path| self.files.workspace.show(path);
        self.renames.push((show(from), show(to)));
        self.still(from, &before)
    }

    /// The plan reads again what it removes; it must be what the hunks were held against.
    fn still(&self, path: &WorkspacePath, before: &[u8]) -> Result<(), ToolError> {
        let entry = self.plan.entries().iter().find(|entry| entry.path() == path);
        if entry.and_then(|entry| entry.before()) == Some(before) {
            return Ok(());
        }
        let shown = self.files.workspace.show(path);
        Err(ToolError::new(
            ErrorKind::Conflict,
            "stale_edit",
            format!(
                "`{shown}` changed while the patch was read; read it again and make a new patch"
            ),
        ))
    }

    fn patched(
        &self,
        path: &WorkspacePath,
        text: &Text,
        hunks: &[Vec<Hunk>],
    ) -> Result<Vec<u8>, ToolError> {
        // A diff of git's has a byte-order mark as a character of the first line.
        let marked = text.info.encoding == Encoding::Utf8Bom && names_mark(hunks);
        let mark = if marked { BYTE_ORDER_MARK } else { "" };
        let mut content = format!("{mark}{}", text.content);
        let total: usize = hunks.iter().map(Vec::len).sum();
        let mut before = 0;
        for group in hunks {
            content = patch::apply(&content, &text.info, group).map_err(|misfit| {
                let shown = self.files.workspace.show(path);
                let name = format!("`{shown}`, hunk {} of {total}", before + misfit.hunk + 1);
                failure(&name, &content, text, &group[misfit.hunk], &misfit)
            })?;
            before += group.len();
        }
        if marked {
            return Ok(content.into_bytes());
        }
        text.encode(&content).map_err(error::of_workspace)
    }
}

fn names_mark(hunks: &[Vec<Hunk>]) -> bool {
    let mut lines = hunks.iter().flatten().flat_map(Hunk::old);
    lines.any(|line| line.text.starts_with(BYTE_ORDER_MARK))
}

fn failure(name: &str, content: &str, text: &Text, hunk: &Hunk, misfit: &Misfit) -> ToolError {
    let expected = || report::block(hunk.old().map(|line| line.text.as_str()));
    let no_match = |what: String| ToolError::new(ErrorKind::NotFound, "no_match", what);
    match &misfit.reason {
        Reason::NoSuchLines => {
            let file = lines(content, text.info.line_ending);
            let wanted: Vec<_> = hunk.old().map(|line| line.text.as_str()).collect();
            let found = nearest(&file, &wanted);
            let near = match &found {
                Some(found) => report::place(&file, found),
                None => "nothing there is like them; read the file, and copy the lines".to_owned(),
            };
            no_match(format!("{name}: these lines are not in the file:{}\n{near}", expected()))
                .with_data(json!({ "nearest": found.map(|found| found.line + 1) }))
        }
        Reason::NotAtEnd => no_match(format!(
            "{name}: these lines are in the file, but not at its end, where the patch has them:{}",
            expected()
        )),
        Reason::NoSuchHeader(header) => no_match(format!(
            "{name}: no line above the change is `{header}`; after `@@` write a line of the file \
             that stands above the change, or nothing"
        )),
        Reason::OutOfOrder => no_match(format!(
            "{name}: these lines only stand before, or within, the hunk before it; put the hunks in \
             the order of the file, and join those that overlap:{}",
            expected()
        )),
        Reason::PastEnd => no_match(format!(
            "{name}: it adds lines after line {}, but the file has {}; give lines of context",
            hunk.old_start.unwrap_or_default(),
            lines(content, text.info.line_ending).len()
        )),
        Reason::Several(at) => {
            let listed = &at[..at.len().min(LISTED_LINES)];
            ToolError::new(
                ErrorKind::InvalidArgs,
                "ambiguous_match",
                format!(
                    "{name}: it fits at lines {}; give more lines of context, or after `@@` a line \
                     that stands above the change",
                    report::numbers(listed, at.len())
                ),
            )
            .with_data(json!({ "lines": listed, "total": at.len() }))
        }
        Reason::NoContext => ToolError::new(
            ErrorKind::InvalidArgs,
            "ambiguous_match",
            format!(
                "{name}: it only has new lines, so it says no place; give lines of context, or \
                 `*** End of File` to add them at the end"
            ),
        ),
    }
}

fn together(mut failures: Vec<ToolError>) -> ToolError {
    let count = failures.len();
    let messages: Vec<_> =
        failures.iter().take(TOLD_FAILURES).map(|failure| failure.message.clone()).collect();
    let data: Vec<_> = failures.iter().take(TOLD_FAILURES).map(|failure| json!(failure)).collect();
    let mut first = failures.swap_remove(0);
    let more = count.saturating_sub(TOLD_FAILURES);
    let more = match more {
        0 => String::new(),
        1 => "\n… 1 more file fails".to_owned(),
        _ => format!("\n… {more} more files fail"),
    };
    let head = if count > 1 {
        format!("nothing was changed, {count} files of the patch fail:\n")
    } else {
        "nothing was changed: ".to_owned()
    };
    first.message = format!("{head}{}{more}", messages.join("\n"));
    if count > 1 {
        first.data = json!({ "failures": data });
    }
    first
}
