//! A rename as a plan: asked of a server, and held against everything that makes it believable.

use agent_edits::{Plan, tool_error::of_workspace};
use agent_tool_core::{ErrorKind, Stop, ToolError};
use agent_workspace::WorkspacePath;
use async_lsp::lsp_types::{Position, Range};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Compared, Leftovers, Reference, Where, check_complete, check_name, check_not_empty,
    check_ranges, leftovers,
    ranges::stands_at,
    reexported::Whole,
    standing::{Standing, is_member},
};
use crate::{
    Lsp,
    edits::{self, Changes, FileOperation},
    language::Language,
    location::{RenamedFile, ResolvedSymbol},
    query::{Asked, position, targets},
    server::{CallError, NO_SUCH_METHOD, Readiness, Sent, requests},
    supervisor::Running,
    uri::{self, Target},
};

/// The arguments of `lsp_rename`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RenameArgs {
    /// The file in which the symbol is.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// A part of the line that names the symbol; `name#2` is its second occurrence there.
    pub symbol: String,
    /// The new name.
    pub new_name: String,
}

/// A rename that holds, and is not written yet.
#[derive(Debug)]
#[non_exhaustive]
pub struct PlannedRename {
    /// What the line and the symbol stood for.
    pub resolved: ResolvedSymbol,
    /// The old name.
    pub old: String,
    /// Where it is renamed from, if that is another place: the definition.
    pub from_definition: Option<String>,
    /// The files with their edits.
    pub files: Vec<RenamedFile>,
    /// How many places are renamed.
    pub renamed: usize,
    /// The files that are made, moved or removed with it.
    pub operations: Vec<FileOperation>,
    /// What the server wants a person to look at.
    pub annotations: Vec<String>,
    /// Where the old name still stands as text afterwards.
    pub leftovers: Leftovers,
    /// Where the new name is already, in the scope of the symbol: `lib.py:3`.
    pub taken: Option<String>,
    /// Where it is exported again and renamed there too, at which the server would keep the old name: `src/index.ts:3`.
    pub exported: Vec<String>,
    /// What was held against it; none where the server lists no references.
    pub compared: Option<Compared>,
    plan: Plan,
}

/// The place that a rename is asked at.
struct At {
    file: WorkspacePath,
    position: Position,
    definition: Option<String>,
    /// Where the symbol is defined in that file, if it is, and by its name.
    defined: Option<Position>,
}

/// The references that a server lists.
#[derive(Default)]
struct Listed {
    /// Those in the workspace.
    inside: Vec<Reference>,
    /// How many are elsewhere.
    outside: usize,
}

impl PlannedRename {
    /// What is written, all or nothing.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

impl Lsp {
    /// Asks for a rename and holds it against the files. Nothing is written.
    ///
    /// # Errors
    /// `invalid_name`; `not_ready` while the server reads the project, since what it renamed then
    /// would be a part; `cannot_rename`, `empty_rename`, `position_encoding_mismatch`, `other_symbol`,
    /// `partial_rename`, `stale_rename` and those of [`edits::read`]; else as [`Lsp::navigate`].
    pub async fn plan_rename(
        &self,
        args: &RenameArgs,
        stop: &Stop,
    ) -> Result<PlannedRename, ToolError> {
        let asked = self.asked(&args.file, args.line, &args.symbol).await?;
        let running = std::sync::Arc::clone(&asked.running);
        let _used = running.hold();
        let client = &asked.running.client;
        let language = Language::by_id(&client.language(&asked.file));
        let old = asked.resolved.identifier.clone();
        check_name(language, &old, &args.new_name)?;
        if let Readiness::Busy(work) | Readiness::Unhealthy(work) =
            client.ready(asked.deadline).await
        {
            return Err(not_ready(&asked.running.id, &work));
        }
        if client.offers("textDocument/rename").is_none() {
            return Err(asked.unsupported("textDocument/rename"));
        }
        if !self.open_all_with(&old, &running, &asked.file, asked.deadline).await {
            return Err(not_known(&running, &old));
        }
        let at = self.definition_of(&asked, &old).await?;
        self.prepare(&asked, &at, &old).await?;
        let standing = self.standing(&asked, &at, (&old, &args.new_name)).await;
        let references = self.references_of(&asked, &at).await?;
        let mut params = client.at(&at.file, at.position);
        params["newName"] = json!(args.new_name);
        let answer = client.ask::<requests::Rename>(params, asked.deadline).await;
        let answer = answer.map_err(|error| asked.failed(&error))?;
        let edit = self.with_moved_files(&asked, read_edit(answer, &old)?).await?;
        let whole = self.through_exports(&asked, edit, (&old, &args.new_name)).await?;
        let Whole { edit, places: exported } = whole;
        let changes =
            edits::read(&self.shared.workspace, &edit, client.encoding(), &client.sent())?;
        check_not_empty(&changes, &old)?;
        check_ranges(&changes.edits, language, &old)?;
        let compared = match references {
            Some(Listed { inside, outside }) => {
                let (workspace, encoding) = (&self.shared.workspace, client.encoding());
                let compared =
                    check_complete(workspace, &changes, &inside, language, &old, encoding)?;
                Some(Compared { foreign: compared.foreign + outside, ..compared })
            }
            None => None,
        };
        let only_here = changes.edits.iter().all(|edits| {
            self.shared.workspace.follow(&at.file).is_ok_and(|file| file == edits.path)
        });
        let looked = match standing.local && only_here {
            true => Where::Renamed,
            false => Where::Workspace,
        };
        let left = {
            let (workspace, plan) = (self.shared.workspace.clone(), changes.plan().clone());
            let (name, stop) = (old.clone(), stop.clone());
            tokio::task::spawn_blocking(move || leftovers(&workspace, &plan, &name, looked, &stop))
                .await
        };
        let left = left.map_err(|error| {
            let message = "the program is ending, so nothing was renamed";
            ToolError::new(ErrorKind::Cancelled, "stopped", message).with_source(error)
        })??;
        let plan = planned(&asked, old, at, changes, left, compared);
        Ok(PlannedRename { taken: standing.taken, exported, ..plan })
    }

    /// The place to rename from: where the symbol is defined, if the definition bears its name. At a
    /// use some servers only make an alias.
    async fn definition_of(&self, asked: &Asked, old: &str) -> Result<At, ToolError> {
        let here = At {
            file: asked.file.clone(),
            position: asked.position,
            definition: None,
            defined: None,
        };
        let client = &asked.running.client;
        if client.offers("textDocument/definition").is_none() {
            return Ok(here);
        }
        let params = client.at(&asked.file, asked.position);
        let answer = client.ask::<requests::Definition>(params, asked.deadline).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(CallError::Refused { .. }) => return Ok(here),
            Err(error) => return Err(asked.failed(&error)),
        };
        let targets = targets(&answer);
        let [target] = targets.as_slice() else { return Ok(here) };
        let Target::Inside(file) = uri::locate(&self.shared.workspace, &target.uri) else {
            return Ok(here);
        };
        let Sent { synced, .. } = client.send_file(&file).map_err(of_workspace)?;
        let start = position(&target.range["start"]);
        let offset = synced.document.nearest_offset(start, client.encoding());
        let language = Language::by_id(&client.language(&file));
        if !stands_at(language, synced.document.text(), offset, old) {
            // An alias: what is defined there has another name, which is not to be changed.
            return Ok(here);
        }
        if file == asked.file {
            return Ok(At { defined: Some(start), ..here });
        }
        let place = synced.document.place(offset);
        let definition = Some(format!("{}:{}:{}", self.show(&file), place.line, place.column));
        Ok(At { file, position: start, definition, defined: Some(start) })
    }

    /// How the symbol stands among those of the file that defines it, as far as that is known.
    async fn standing(&self, asked: &Asked, at: &At, names: (&str, &str)) -> Standing {
        let client = &asked.running.client;
        let offered = client.offers("textDocument/documentSymbol").is_some();
        let Some(defined) = at.defined.filter(|_| offered) else { return Standing::default() };
        let deadline = asked.deadline;
        let symbols = self.symbols_of(&asked.running, &at.file, usize::MAX, deadline).await;
        let Ok(symbols) = symbols else { return Standing::default() };
        let Ok(Sent { synced, .. }) = client.send_file(&at.file) else {
            return Standing::default();
        };
        let offset = synced.document.nearest_offset(defined, client.encoding());
        let line = synced.document.place(offset).line;
        let language = Language::by_id(&client.language(&at.file));
        let standing = Standing::of(&symbols.symbols, language, names, line);
        let member = is_member(language, synced.document.text(), offset, names.0);
        Standing { local: standing.local && !member, ..standing }
    }

    /// Asks whether the place can be renamed, where the server takes that question.
    async fn prepare(&self, asked: &Asked, at: &At, old: &str) -> Result<(), ToolError> {
        let client = &asked.running.client;
        let offers = client.offers("textDocument/rename").unwrap_or_default();
        if offers["prepareProvider"] != true {
            return Ok(());
        }
        let refused = |why: String| {
            let message = format!("`{old}` cannot be renamed: {why}");
            Err(ToolError::new(ErrorKind::InvalidArgs, "cannot_rename", message))
        };
        let params = client.at(&at.file, at.position);
        match client.ask::<requests::PrepareRename>(params, asked.deadline).await {
            Ok(Value::Null) => {
                refused("the server says that there is nothing to rename".to_owned())
            }
            Ok(_) | Err(CallError::Refused { code: NO_SUCH_METHOD, .. }) => Ok(()),
            Err(CallError::Refused { message, .. }) => refused(message),
            Err(error) => Err(asked.failed(&error)),
        }
    }

    /// Every place that uses the symbol, to hold the rename against.
    async fn references_of(&self, asked: &Asked, at: &At) -> Result<Option<Listed>, ToolError> {
        let client = &asked.running.client;
        if client.offers("textDocument/references").is_none() {
            return Ok(None);
        }
        let mut params = client.at(&at.file, at.position);
        params["context"] = json!({ "includeDeclaration": true });
        let answer = client.ask::<requests::References>(params, asked.deadline).await;
        let answer = answer.map_err(|error| asked.failed(&error))?;
        let mut listed = Listed::default();
        for target in targets(&answer) {
            let located = match uri::locate(&self.shared.workspace, &target.uri) {
                Target::Inside(file) => self.shared.workspace.follow(&file).ok(),
                _ => None,
            };
            let Some(path) = located else {
                listed.outside += 1;
                continue;
            };
            let range =
                Range::new(position(&target.range["start"]), position(&target.range["end"]));
            listed.inside.push(Reference { path, range });
        }
        Ok(Some(listed))
    }

    /// The edit with what the server wants changed when its files move. One that is told that this
    /// client asks for that leaves those changes out of the rename.
    async fn with_moved_files(&self, asked: &Asked, mut edit: Value) -> Result<Value, ToolError> {
        let client = &asked.running.client;
        let moved = edit["documentChanges"].as_array().into_iter().flatten();
        let moved: Vec<_> = moved
            .filter(|change| change["kind"] == "rename")
            .map(|change| json!({ "oldUri": change["oldUri"], "newUri": change["newUri"] }))
            .collect();
        let asks = client.capability("/workspace/fileOperations/willRename").is_some();
        if !moved.is_empty() && asks {
            let params = json!({ "files": moved });
            let more = client.ask::<requests::WillRenameFiles>(params, asked.deadline).await;
            // Where that fails nothing is moved: the files that import them would be broken.
            let more = more.map_err(|error| asked.failed(&error))?;
            let mut first = text_edits(more);
            if let Some(changes) = edit["documentChanges"].as_array_mut() {
                first.append(changes);
                *changes = first;
            }
        }
        Ok(edit)
    }
}

fn read_edit(answer: Value, old: &str) -> Result<Value, ToolError> {
    if answer.is_object() {
        return Ok(answer);
    }
    let message = format!(
        "the server renamed `{old}` in no file; name the place where it is defined, or edit it by hand"
    );
    Err(ToolError::new(ErrorKind::Failed, "empty_rename", message))
}

/// The text edits of an answer in the form that has an order.
pub(super) fn text_edits(mut answer: Value) -> Vec<Value> {
    if let Value::Array(changes) = answer["documentChanges"].take() {
        return changes;
    }
    let changes = answer["changes"].as_object().cloned().unwrap_or_default();
    let edits = changes.into_iter();
    edits
        .map(|(uri, edits)| json!({ "textDocument": { "uri": uri, "version": null }, "edits": edits }))
        .collect()
}

fn not_ready(id: &str, work: &str) -> ToolError {
    let message = format!(
        "{id} does not know the whole project yet ({work}), and a rename now would miss places; try \
         again when it is ready"
    );
    ToolError::new(ErrorKind::Unavailable, "not_ready", message)
}

fn not_known(running: &Running, old: &str) -> ToolError {
    let Running { id, client, .. } = running;
    let by = client.row().knows_by.join(" or ");
    let message = format!(
        "{id} knows the files that are open alone, and could not open every one that has `{old}`, so a rename now would \
         miss places; give the project a {by} and call lsp reload, or rename by hand"
    );
    ToolError::new(ErrorKind::Unavailable, "not_ready", message)
}

fn planned(
    asked: &Asked,
    old: String,
    at: At,
    changes: Changes,
    leftovers: Leftovers,
    compared: Option<Compared>,
) -> PlannedRename {
    PlannedRename {
        resolved: asked.resolved.at.clone(),
        old,
        from_definition: at.definition,
        files: changes.files(),
        renamed: changes.count(),
        annotations: changes
            .annotations
            .iter()
            .filter(|annotation| annotation.needs_confirmation == Some(true))
            .map(|annotation| annotation.label.clone())
            .collect(),
        leftovers,
        taken: None,
        exported: Vec::new(),
        compared,
        plan: changes.plan().clone(),
        operations: changes.operations,
    }
}
