//! `lsp_rename`: a tool of its own, since it writes.

use std::{fmt::Write as _, sync::Arc};

use agent_edits::{Plan, tool_error::of_edits};
use agent_tool_core::{
    BoxFuture, Context, ErrorKind, Event, FileChange, Preview, PreviewKind, Stop, Tier, Tool,
    ToolError, ToolOutput, ToolResult, ToolSpec, counted, parse_args,
};
use serde_json::Value;

use super::spec;
use crate::{
    Lsp,
    edits::FileOperation,
    location::Renamed,
    rename::{Compared, PlannedRename, RenameArgs},
};

const DESCRIPTION: &str = "Renames a symbol in the whole project by the language server: all files or none. `line` is the line's number and \
     `symbol` a part of that line. Says where the old name still stands as text.";

struct RenameTool {
    spec: ToolSpec,
    lsp: Lsp,
}

pub(super) fn tool(lsp: &Lsp) -> Arc<dyn Tool> {
    let spec = spec::<RenameArgs>("lsp_rename", Tier::Write, DESCRIPTION).exclusive();
    Arc::new(RenameTool { spec, lsp: lsp.clone() })
}

impl Tool for RenameTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args: RenameArgs = parse_args(&self.spec, args)?;
            let stop = Stop::new().telling(cx);
            let _guard = stop.on_drop();
            let rename = self.lsp.plan_rename(&args, &stop).await?;
            cx.check_approved(&rename.plan().fingerprint())?;
            let (edits, plan, within) =
                (self.lsp.shared.edits.clone(), rename.plan().clone(), cx.clone());
            let changes = tokio::task::spawn_blocking(move || apply(&edits, &plan, &stop, &within));
            let changes = match changes.await {
                Ok(changes) => changes?,
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(error) => {
                    let message =
                        "the program is ending; whether anything was renamed is not known";
                    return Err(ToolError::new(ErrorKind::Failed, "outcome_unknown", message)
                        .with_source(error));
                }
            };
            self.move_ledger(&rename, &args.new_name);
            let text = text(&rename, &args.new_name);
            let data = Renamed {
                files: rename.files,
                renamed: rename.renamed,
                leftovers: rename.leftovers.places,
            };
            let data = serde_json::to_value(&data).unwrap_or_default();
            Ok(ToolOutput::text(text).with_data(data).with_changes(changes))
        })
    }

    fn preview<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        Box::pin(async move {
            let args: RenameArgs = parse_args(&self.spec, args.clone())?;
            let stop = Stop::new().telling(cx);
            let _guard = stop.on_drop();
            let rename = self.lsp.plan_rename(&args, &stop).await?;
            let title =
                format!("rename `{}` to `{}`: {}", rename.old, args.new_name, extent(&rename));
            Ok(Preview::new(PreviewKind::Edit, title)
                .with_body(match taken(&rename, &args.new_name) {
                    Some(taken) => format!("{taken}\n{}", listed(&rename)),
                    None => listed(&rename),
                })
                .with_changes(rename.plan().changes())
                .with_fingerprint(rename.plan().fingerprint()))
        })
    }
}

impl RenameTool {
    /// What was known of a file goes along with its name, and what is said of the symbol with the new one.
    fn move_ledger(&self, rename: &PlannedRename, new: &str) {
        self.lsp.ledger().symbol_renamed(&rename.old, new);
        for operation in &rename.operations {
            if let FileOperation::Rename { from, to } = operation {
                self.lsp.ledger().renamed(from, to);
            }
        }
    }
}

/// Writes all files or none. Once it has begun nothing stops it.
fn apply(
    edits: &agent_edits::Edits,
    plan: &Plan,
    stop: &Stop,
    cx: &Context,
) -> Result<Vec<FileChange>, ToolError> {
    stop.check()?;
    edits.apply(plan).map_err(|error| {
        let stale = error.kind() == agent_edits::ErrorKind::StaleEdit;
        let error = of_edits(error);
        match stale {
            true => {
                let message =
                    format!("{}; nothing was renamed: call lsp_rename again", error.message);
                ToolError::new(ErrorKind::Conflict, "stale_rename", message).with_source(error)
            }
            false => error,
        }
    })?;
    let changes = plan.changes();
    for change in &changes {
        cx.emit(Event::Changed { change: change.clone() });
    }
    Ok(changes)
}

fn text(rename: &PlannedRename, new: &str) -> String {
    let at = &rename.resolved;
    let mut text = format!("resolved `{}` at {}:{}:{}", rename.old, at.file, at.line, at.column);
    if let Some(definition) = &rename.from_definition {
        let _ = write!(text, ", renamed from its definition at {definition}");
    }
    let _ = write!(text, "\nrenamed `{}` to `{new}`: {}", rename.old, extent(rename));
    text.push_str(&compared(rename.compared));
    text.push('\n');
    text.push_str(&listed(rename));
    if let Some(taken) = taken(rename, new) {
        let _ = write!(text, "\n{taken}: both have this name now, so look at what uses either");
    }
    if !rename.exported.is_empty() {
        let places = rename.exported.join(", ");
        let _ = write!(
            text,
            "\nexported again and renamed there too at {places}: whoever imports it from outside of the project needs the new \
             name"
        );
    }
    for label in &rename.annotations {
        let _ = write!(text, "\nthe server wants a person to look at: {label}");
    }
    let left = rename.leftovers.text(&rename.old);
    if !left.is_empty() {
        let _ = write!(text, "\n{left}");
    }
    text
}

/// That the new name is that of another already.
fn taken(rename: &PlannedRename, new: &str) -> Option<String> {
    let at = rename.taken.as_ref()?;
    Some(format!("`{new}` exists already at {at}, in the same scope"))
}

/// How many places in how many files.
fn extent(rename: &PlannedRename) -> String {
    format!("{} in {}", counted(rename.renamed, "place"), counted(rename.files.len(), "file"))
}

/// What the rename was held against, and what of the references was not.
fn compared(compared: Option<Compared>) -> String {
    const UNKNOWN: &str = "so whether that is all is not known";
    let Some(Compared { reached, otherwise_named, foreign, .. }) = compared else {
        return format!("; the server lists no references, {UNKNOWN}");
    };
    let mut text = match reached {
        0 => format!("; the server lists no reference by this name, {UNKNOWN}"),
        1 => "; the one reference that the server lists by this name is among these".to_owned(),
        _ => {
            format!("; all {reached} references that the server lists by this name are among these")
        }
    };
    if otherwise_named > 0 {
        let places = counted(otherwise_named, "reference");
        let _ = write!(text, "; {places} by another name, such as an alias, not renamed");
    }
    if foreign > 0 {
        let places = counted(foreign, "reference");
        let _ = write!(text, "; {places} in files that are not the project's, not renamed");
    }
    text
}

fn listed(rename: &PlannedRename) -> String {
    let files = rename.files.iter().map(|file| format!("  {}: {}", file.file, file.edits));
    let operations = rename.operations.iter().map(|operation| match operation {
        FileOperation::Create { file } => format!("  makes {file}"),
        FileOperation::Rename { from, to } => format!("  moves {from} to {to}"),
        FileOperation::Delete { file } => format!("  removes {file}"),
    });
    files.chain(operations).collect::<Vec<_>>().join("\n")
}
