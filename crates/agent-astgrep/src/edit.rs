//! Rewrite: the library behind `ast_edit` and `resolve`.

use std::{
    fmt::Write as _,
    sync::{Arc, MutexGuard, PoisonError},
};

use agent_edits::Plan;
use agent_tool_core::{
    Context, Event, Preview, PreviewKind, Stop, ToolError, ToolOutput, clip, counted,
};
use agent_workspace::{FileContent, SkipReason, WorkspacePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::{
    Pattern, Rewrite, Rewritten, Structure,
    failures::{of_edits, of_pattern, of_rewrite},
    grep::{DEFAULT_RESULTS, GrepArgs},
    ordered::in_order,
    scan::{Scratch, Unparsed},
    staging::{Accept, Staging, files},
};

/// How many characters of the diff a proposal shows; all of it is applied.
const DIFF_CHARS: usize = 12_000;

/// How many lines stand around a change in a diff.
const DIFF_CONTEXT: usize = 2;

/// How many files and places a remark names; all of them are counted.
const NAMED: usize = 50;

/// The arguments of `ast_edit`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditArgs {
    /// Code with metavariables, as in ast_grep.
    pub pattern: String,
    /// What takes its place, with the same metavariables put back. Empty deletes.
    pub rewrite: String,
    /// A file or folder; the whole workspace by default.
    pub path: Option<String>,
    /// A language id; inferred as in ast_grep.
    pub language: Option<String>,
}

/// The arguments of `resolve`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveArgs {
    /// The id that ast_edit gave.
    pub edit_id: String,
    /// What becomes of the edit.
    pub action: Action,
}

/// What becomes of a staged edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Write it, all files or none.
    Accept,
    /// Forget it.
    Discard,
}

/// A file that a rewrite changes, or why it does not.
enum Edited {
    Nothing,
    Skipped(SkipReason),
    Refused(ToolError),
    /// So many matches are what the rewrite makes of them.
    Same(usize),
    Changed(FileContent, Box<Rewritten>),
}

impl Structure {
    /// Stages a rewrite; blocks, writes nothing.
    pub(crate) fn edit(&self, args: &EditArgs, stop: &Stop) -> Result<ToolOutput, ToolError> {
        let scope = self.scope(args.path.as_deref(), args.language.as_deref(), stop)?;
        let pattern = Pattern::compile(&scope.grammar, &args.pattern).map_err(of_pattern)?;
        let rewrite = Rewrite::compile(&Arc::new(pattern), &args.rewrite).map_err(of_rewrite)?;
        self.trees.begin_search();
        let edited = in_order(
            scope.files.len(),
            usize::MAX,
            &stop.shared(),
            || Scratch::new(&scope.grammar),
            |scratch, index| {
                stop.progress("files searched", index + 1, scope.files.len());
                (self.edit_file(&rewrite, &scope.files[index], scratch), 0)
            },
        );
        stop.check()?;
        let mut staged = Staged::new(Plan::new(&self.workspace));
        for (file, edited) in scope.files.iter().zip(edited.items) {
            staged.take(self, file, edited)?;
        }
        if staged.plan.entries().is_empty() {
            return self.nothing_to_edit(args, &staged, stop);
        }
        let id = self.staging().stage(staged.plan.clone())?;
        Ok(staged.output(&id))
    }

    fn edit_file(&self, rewrite: &Rewrite, file: &WorkspacePath, scratch: &mut Scratch) -> Edited {
        let rewritten = self.parsed(rewrite.pattern(), file, scratch, |file| {
            let rewritten = rewrite.apply(file.source, file.tree)?;
            Ok((FileContent::new(file.source.to_vec(), *file.identity), rewritten))
        });
        match rewritten {
            Err(Unparsed::WithoutLiterals) => Edited::Nothing,
            Err(Unparsed::Skipped(reason)) => Edited::Skipped(reason),
            Ok(Err(error)) => {
                let mut error = of_rewrite(error);
                let shown = self.workspace.show(file);
                error.message = format!("{shown}: {}; nothing was staged", error.message);
                Edited::Refused(error)
            }
            Ok(Ok((content, rewritten)))
                if content.bytes == rewritten.bytes && rewritten.replacements > 0 =>
            {
                Edited::Same(rewritten.replacements)
            }
            Ok(Ok((_, rewritten)))
                if rewritten.replacements == 0 && rewritten.skipped.is_empty() =>
            {
                Edited::Nothing
            }
            Ok(Ok((content, rewritten))) => Edited::Changed(content, Box::new(rewritten)),
        }
    }

    /// What the search would say, since it says why nothing may have been found.
    fn nothing_to_edit(
        &self,
        args: &EditArgs,
        staged: &Staged,
        stop: &Stop,
    ) -> Result<ToolOutput, ToolError> {
        let search = GrepArgs {
            pattern: args.pattern.clone(),
            path: args.path.clone(),
            language: args.language.clone(),
            max_results: Some(DEFAULT_RESULTS),
        };
        let seen = self.grep(&search, stop)?;
        let text = format!(
            "nothing to replace, so nothing is staged.{}\n{}",
            staged.remarks(),
            seen.text(&args.pattern)
        );
        let data = json!({"edit_id": Value::Null, "replacements": 0, "files": [], "diff": ""});
        Ok(ToolOutput::text(text).with_data(data))
    }

    /// Applies or forgets a staged edit; blocks.
    pub(crate) fn resolve(
        &self,
        args: &ResolveArgs,
        cx: &Context,
        stop: &Stop,
    ) -> Result<ToolOutput, ToolError> {
        let id = args.edit_id.as_str();
        if args.action == Action::Discard {
            let files = self.staging().discard(id)?;
            return Ok(resolved(
                id,
                "discarded",
                &files,
                format!("{id} is discarded; nothing was changed"),
            ));
        }
        stop.check()?;
        let plan = match self.staging().accept(id)? {
            Accept::AlreadyApplied(files) => {
                let text =
                    format!("already_applied: {id} was applied before; nothing was changed now");
                return Ok(resolved(id, "already_applied", &files, text));
            }
            Accept::Begin(plan) => plan,
        };
        if let Err(error) = cx.check_approved(&plan.fingerprint()) {
            self.staging().put_back(id, plan);
            return Err(error);
        }
        match self.edits.apply(&plan) {
            Ok(_) => {
                let files = files(&plan);
                self.staging().applied(id, files.clone());
                let changes = plan.changes();
                for change in &changes {
                    cx.emit(Event::Changed { change: change.clone() });
                }
                let text = format!("applied {id}: {} changed", counted(files.len(), "file"));
                Ok(resolved(id, "applied", &files, text).with_changes(changes))
            }
            Err(error) => {
                let kind = error.kind();
                let error = of_edits(error);
                use agent_edits::ErrorKind as Cause;
                if matches!(kind, Cause::StaleEdit | Cause::OutcomeUnknown) {
                    self.staging().rejected(id, error.message.clone());
                } else {
                    self.staging().put_back(id, plan);
                }
                Err(error)
            }
        }
    }

    /// What accepting would do, from the plan that it would apply.
    pub(crate) fn resolve_preview(&self, args: &ResolveArgs) -> Result<Preview, ToolError> {
        let id = &args.edit_id;
        if args.action == Action::Discard {
            return Ok(Preview::new(PreviewKind::Edit, format!("discard {id}")));
        }
        let plan = match self.staging().plan(id) {
            Ok(plan) => plan,
            // Nothing would be changed, and the call says so.
            Err(error) if error.code == "already_applied" => {
                return Ok(Preview::new(
                    PreviewKind::Edit,
                    format!("{id} is applied already: change nothing"),
                )
                .changing_nothing());
            }
            Err(error) => return Err(error),
        };
        let title = format!("apply {id}: change {}", counted(plan.entries().len(), "file"));
        Ok(Preview::new(PreviewKind::Edit, title)
            .with_clipped(clip(&diff(&plan), DIFF_CHARS))
            .with_changes(plan.changes())
            .with_fingerprint(plan.fingerprint()))
    }

    fn staging(&self) -> MutexGuard<'_, Staging> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A proposal in the making.
struct Staged {
    plan: Plan,
    counts: Vec<(String, usize)>,
    dropped_comments: usize,
    left: Vec<String>,
    skipped: Vec<(String, SkipReason)>,
    given_up: usize,
    /// Matches that are already what the rewrite makes of them.
    same: usize,
}

impl Staged {
    fn new(plan: Plan) -> Self {
        Self {
            plan,
            counts: Vec::new(),
            dropped_comments: 0,
            left: Vec::new(),
            skipped: Vec::new(),
            given_up: 0,
            same: 0,
        }
    }

    fn take(
        &mut self,
        structure: &Structure,
        file: &WorkspacePath,
        edited: Edited,
    ) -> Result<(), ToolError> {
        let shown = structure.workspace.show(file);
        match edited {
            Edited::Nothing => {}
            Edited::Same(count) => self.same += count,
            Edited::Skipped(reason) => self.skipped.push((shown, reason)),
            Edited::Refused(error) => return Err(error),
            Edited::Changed(content, rewritten) => {
                self.dropped_comments += rewritten.dropped_comments;
                self.given_up += usize::from(rewritten.budget_exceeded);
                for skipped in &rewritten.skipped {
                    let line = 1 + content.bytes[..skipped.range.start]
                        .iter()
                        .filter(|byte| **byte == b'\n')
                        .count();
                    self.left.push(format!("{shown}:{line} ({})", skipped.reason.as_str()));
                }
                if rewritten.replacements > 0 {
                    self.counts.push((shown, rewritten.replacements));
                    self.plan.modify(file, content, rewritten.bytes).map_err(of_edits)?;
                }
            }
        }
        Ok(())
    }

    fn remarks(&self) -> String {
        let mut remarks = String::new();
        if self.dropped_comments > 0 {
            let _ = write!(
                remarks,
                "\n{} inside matches would be lost",
                counted(self.dropped_comments, "comment")
            );
        }
        if self.same > 0 {
            let same = counted(self.same, "match");
            let _ =
                write!(remarks, "\n{same}, in files that stay as they are, read as the rewrite");
        }
        if !self.left.is_empty() {
            let _ = write!(
                remarks,
                "\n{} left as they are: {}",
                counted(self.left.len(), "match"),
                named(&self.left)
            );
        }
        if self.given_up > 0 {
            let _ = write!(
                remarks,
                "\n{} given up on in places (too many steps): matches may be missing there",
                counted(self.given_up, "file")
            );
        }
        if !self.skipped.is_empty() {
            let skipped = self.skipped.iter();
            let skipped: Vec<_> =
                skipped.map(|(file, reason)| format!("{file} ({})", reason.words())).collect();
            let _ = write!(
                remarks,
                "\n{} skipped: {}",
                counted(self.skipped.len(), "file"),
                named(&skipped)
            );
        }
        remarks
    }

    fn output(self, id: &str) -> ToolOutput {
        let replacements: usize = self.counts.iter().map(|(_, count)| count).sum();
        let diff = diff(&self.plan);
        let text = format!(
            "(proposed) {} in {}{}\nNothing is written yet.\n{}\ncall resolve with edit_id \"{id}\"",
            counted(replacements, "replacement"),
            counted(self.counts.len(), "file"),
            self.remarks(),
            clip(&diff, DIFF_CHARS).text,
        );
        let files: Vec<_> = self
            .counts
            .iter()
            .map(|(file, count)| json!({"file": file, "replacements": count}))
            .collect();
        let data = json!({
            "edit_id": id, "replacements": replacements, "files": files, "diff": diff,
            "dropped_comments": self.dropped_comments, "left": self.left,
        });
        ToolOutput::text(text).with_data(data)
    }
}

fn resolved(id: &str, status: &str, files: &[String], text: String) -> ToolOutput {
    ToolOutput::text(text).with_data(json!({"edit_id": id, "status": status, "files": files}))
}

fn diff(plan: &Plan) -> String {
    let mut text = String::new();
    for entry in plan.entries() {
        let shown = plan.workspace().show(entry.path());
        let side =
            |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        let (before, after) = (side(entry.before()), side(entry.after()));
        let diff = TextDiff::from_lines(&before, &after);
        let _ = write!(
            text,
            "{}",
            diff.unified_diff().context_radius(DIFF_CONTEXT).header(&shown, &shown)
        );
    }
    text
}

/// The first of many names, and how many more there are.
fn named(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown}, … {more} more"),
    }
}
