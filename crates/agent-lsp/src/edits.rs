//! A server's `WorkspaceEdit` as a plan: read and held against the files before anything is written.
//!
//! A server knows the files as it was sent them or as it read them, and its edit is worth nothing when they are otherwise. So a
//! version that is not ours is refused, as are edits that overlap, that lie outside of their text, and that reach a file
//! which is not the agent's to change.

mod place;
mod tree;

use std::collections::{BTreeMap, HashSet};

use agent_edits::{
    Plan, TextEdit, TextEdits,
    tool_error::{of_edits, of_workspace},
    with_newlines,
};
use agent_tool_core::{ErrorKind, ToolError};
use agent_workspace::{Text, Workspace, WorkspacePath};
use async_lsp::lsp_types::{
    ChangeAnnotation, DocumentChangeOperation, DocumentChanges, OneOf, ResourceOp,
    TextDocumentEdit, TextEdit as LspEdit, Url, WorkspaceEdit,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    location::RenamedFile,
    position::{Document, PositionEncoding},
};
use place::Place;
use tree::Tree;

pub(crate) use place::is_foreign;
pub use tree::MAX_MOVED_FILES;

/// What a server was last sent of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The version that went with it.
    pub version: i32,
    /// The text, as [`Document`] has it.
    pub text: String,
}

/// The documents that a server has open, by their paths with links followed.
pub type Documents = BTreeMap<WorkspacePath, Sent>;

/// The edits of one file, held against its text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileEdits {
    /// The file, links followed, under the name that it had before the edit.
    pub path: WorkspacePath,
    /// The file as shown.
    pub file: String,
    /// The text that the edits are for.
    pub document: Document,
    /// The edits in the order of the text, each once.
    pub edits: Vec<TextEdit>,
}

/// A file that is made, moved or removed. Files are named as shown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileOperation {
    /// It is made.
    Create {
        /// The file.
        file: String,
    },
    /// It gets another name.
    Rename {
        /// Its name.
        from: String,
        /// Its new name.
        to: String,
    },
    /// It goes.
    Delete {
        /// The file.
        file: String,
    },
}

/// What an edit would do, held against the files.
#[derive(Debug)]
#[non_exhaustive]
pub struct Changes {
    /// The edits of texts, file by file, in the order of the server.
    pub edits: Vec<FileEdits>,
    /// The operations on files, in order.
    pub operations: Vec<FileOperation>,
    /// What the server says about parts of it, such as that a person should look: nobody does, so it is told afterwards.
    pub annotations: Vec<ChangeAnnotation>,
    plan: Plan,
}

/// Reads a server's `WorkspaceEdit`, as it came, and makes a plan of it. Nothing is written.
///
/// `documentChanges` is taken before `changes`. Edits of one file that no file operation stands between are one set, all in
/// positions of the text before them: identical ones once, touching ones fine, overlapping ones refused. Text that is put in
/// gets the file's line endings. The start of an edit must be a place of the text; an end past the line, or past the text,
/// is its end.
///
/// # Errors
/// `unreadable_edit`; `stale_rename` when a file is not what the server was sent, or the edit is for another version; `overlapping_edits`,
/// `out_of_range`, `inside_character`; `outside_workspace`, `library_file`, `is_a_link`; `already_exists`, `not_found`,
/// `folder_not_empty`, `too_many_files`, `duplicate_path`, and those of the workspace.
pub fn read(
    workspace: &Workspace,
    edit: &Value,
    encoding: PositionEncoding,
    documents: &Documents,
) -> Result<Changes, ToolError> {
    let value = edit;
    let edit = WorkspaceEdit::deserialize(value).map_err(|error| {
        let message = format!("the server's edit cannot be read ({error}); nothing was renamed");
        ToolError::new(ErrorKind::Failed, "unreadable_edit", message).with_source(error)
    })?;
    let mut reader = Reader {
        workspace,
        encoding,
        documents,
        tree: Tree::new(workspace),
        edits: Vec::new(),
        operations: Vec::new(),
    };
    let mut group = Group::default();
    for step in steps(&edit) {
        match step {
            Step::Text { uri, version, edits } => group.add(&reader.place(uri)?, version, edits),
            Step::File(operation) => {
                reader.apply(std::mem::take(&mut group))?;
                reader.operate(operation)?;
            }
        }
    }
    reader.apply(group)?;
    let Reader { tree, edits, operations, .. } = reader;
    Ok(Changes { edits, operations, annotations: annotations(value, &edit), plan: tree.plan()? })
}

impl Changes {
    /// The plan, for a preview and for [`Edits::apply`](agent_edits::Edits::apply).
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How many places are edited.
    #[must_use]
    pub fn count(&self) -> usize {
        self.edits.iter().map(|file| file.edits.len()).sum()
    }

    /// The files with the number of their edits, as data, each once.
    #[must_use]
    pub fn files(&self) -> Vec<RenamedFile> {
        let mut files: Vec<RenamedFile> = Vec::new();
        for FileEdits { file, edits, .. } in &self.edits {
            match files.iter_mut().find(|known| known.file == *file) {
                Some(known) => known.edits += edits.len(),
                None => files.push(RenamedFile { file: file.clone(), edits: edits.len() }),
            }
        }
        files
    }
}

/// One element of an edit.
enum Step<'a> {
    Text { uri: &'a Url, version: Option<i32>, edits: Vec<&'a LspEdit> },
    File(&'a ResourceOp),
}

fn steps(edit: &WorkspaceEdit) -> Vec<Step<'_>> {
    match (&edit.document_changes, &edit.changes) {
        (Some(DocumentChanges::Edits(edits)), _) => edits.iter().map(text).collect(),
        (Some(DocumentChanges::Operations(operations)), _) => operations
            .iter()
            .map(|operation| match operation {
                DocumentChangeOperation::Edit(edit) => text(edit),
                DocumentChangeOperation::Op(operation) => Step::File(operation),
            })
            .collect(),
        (None, Some(changes)) => {
            let mut all: Vec<_> = changes.iter().collect();
            // The map has no order, and two runs should print the same.
            all.sort_by(|a, b| a.0.cmp(b.0));
            all.into_iter()
                .map(|(uri, edits)| Step::Text {
                    uri,
                    version: None,
                    edits: edits.iter().collect(),
                })
                .collect()
        }
        (None, None) => Vec::new(),
    }
}

fn text(edit: &TextDocumentEdit) -> Step<'_> {
    let plain = edit.edits.iter().map(|edit| match edit {
        OneOf::Left(edit) => edit,
        OneOf::Right(annotated) => &annotated.text_edit,
    });
    let document = &edit.text_document;
    Step::Text { uri: &document.uri, version: document.version, edits: plain.collect() }
}

/// The annotations that a part of the edit has, by label. rust-analyzer defines one in every edit and uses it rarely.
/// `lsp-types` reads an edit with an annotation as one without, so they are taken from the JSON.
fn annotations(value: &Value, edit: &WorkspaceEdit) -> Vec<ChangeAnnotation> {
    let mut used = HashSet::new();
    for change in value["documentChanges"].as_array().into_iter().flatten() {
        let edits = change["edits"].as_array().into_iter().flatten();
        let all = std::iter::once(change).chain(edits);
        used.extend(all.filter_map(|part| part["annotationId"].as_str()));
    }
    let defined = edit.change_annotations.iter().flatten();
    let mut annotations: Vec<ChangeAnnotation> = defined
        .filter(|(id, _)| used.contains(id.as_str()))
        .map(|(_, annotation)| annotation.clone())
        .collect();
    annotations.sort_by(|a, b| a.label.cmp(&b.label));
    annotations
}

/// The text edits between two file operations, by file.
#[derive(Default)]
struct Group<'a> {
    files: Vec<FileGroup<'a>>,
}

struct FileGroup<'a> {
    target: WorkspacePath,
    /// Those that the server named; there may be several elements for one file.
    versions: Vec<i32>,
    edits: Vec<&'a LspEdit>,
}

impl<'a> Group<'a> {
    fn add(&mut self, place: &Place, version: Option<i32>, edits: Vec<&'a LspEdit>) {
        let known = self.files.iter().position(|file| file.target == place.target);
        let index = known.unwrap_or_else(|| {
            let (target, versions, edits) = (place.target.clone(), Vec::new(), Vec::new());
            self.files.push(FileGroup { target, versions, edits });
            self.files.len() - 1
        });
        self.files[index].versions.extend(version);
        self.files[index].edits.extend(edits);
    }
}

struct Reader<'a> {
    workspace: &'a Workspace,
    encoding: PositionEncoding,
    documents: &'a Documents,
    tree: Tree<'a>,
    edits: Vec<FileEdits>,
    operations: Vec<FileOperation>,
}

impl Reader<'_> {
    fn place(&self, uri: &Url) -> Result<Place, ToolError> {
        Place::of(self.workspace, uri.as_str())
    }

    fn apply(&mut self, group: Group<'_>) -> Result<(), ToolError> {
        group.files.iter().try_for_each(|file| self.apply_to(file))
    }

    fn apply_to(&mut self, file: &FileGroup<'_>) -> Result<(), ToolError> {
        let FileGroup { target, versions, edits } = file;
        let shown = self.workspace.show(target);
        let text = Text::decode(self.tree.bytes(target)?);
        // A file that was moved before is still the text that the server has under its old name.
        if let Some(sent) = self.tree.unedited(target).and_then(|path| self.documents.get(path)) {
            refuse_stale(&shown, versions, sent, &text.content)?;
        }
        let document = Document::new(text.content.as_str());
        let edits = edits
            .iter()
            .map(|edit| {
                let range = self.range(&document, edit, &shown)?;
                Ok(TextEdit::new(range, with_newlines(&edit.new_text, text.info.newline)))
            })
            .collect::<Result<Vec<_>, ToolError>>()?;
        let edits = TextEdits::new(edits).map_err(|error| in_file(of_edits(error), &shown))?;
        let content =
            edits.apply(&text.content).map_err(|error| in_file(of_edits(error), &shown))?;
        let bytes = text.encode(&content).map_err(of_workspace)?;
        let path = self.tree.origin(target);
        self.edits.push(FileEdits {
            file: self.workspace.show(&path),
            path,
            document,
            edits: edits.edits().to_vec(),
        });
        self.tree.write(target, bytes)
    }

    fn range(
        &self,
        document: &Document,
        edit: &LspEdit,
        shown: &str,
    ) -> Result<std::ops::Range<usize>, ToolError> {
        let start = document.offset(edit.range.start, self.encoding).map_err(|why| {
            let position = edit.range.start;
            ToolError::new(
                ErrorKind::Failed,
                "out_of_range",
                format!(
                    "the server edits {shown} at line {}, character {} ({}), which {why}: it has another text than the file; \
                     nothing was written, so reload the server and try again",
                    position.line, position.character, self.encoding.as_str()
                ),
            )
        })?;
        let end = document.nearest_offset(edit.range.end, self.encoding);
        if end < start {
            return Err(ToolError::new(
                ErrorKind::Failed,
                "out_of_range",
                format!("the server's edit of {shown} ends before it starts; nothing was written"),
            ));
        }
        Ok(start..end)
    }

    fn operate(&mut self, operation: &ResourceOp) -> Result<(), ToolError> {
        match operation {
            ResourceOp::Create(create) => {
                let options = create.options.as_ref();
                let exists = tree::Exists::of(
                    options.and_then(|options| options.overwrite),
                    options.and_then(|options| options.ignore_if_exists),
                );
                let place = self.place(&create.uri)?;
                self.operations.extend(self.tree.create(&place, exists)?);
            }
            ResourceOp::Rename(rename) => {
                let options = rename.options.as_ref();
                let exists = tree::Exists::of(
                    options.and_then(|options| options.overwrite),
                    options.and_then(|options| options.ignore_if_exists),
                );
                let (from, to) = (self.place(&rename.old_uri)?, self.place(&rename.new_uri)?);
                self.operations.extend(self.tree.rename(&from, &to, exists)?);
            }
            ResourceOp::Delete(delete) => {
                let options = delete.options.as_ref();
                let set = |option: Option<bool>| option == Some(true);
                let missing =
                    tree::Missing::of(options.is_some_and(|all| set(all.ignore_if_not_exists)));
                let depth = tree::Depth::of(options.is_some_and(|all| set(all.recursive)));
                let place = self.place(&delete.uri)?;
                self.operations.extend(self.tree.delete(&place, missing, depth)?);
            }
        }
        Ok(())
    }
}

/// An edit is for a text. A version of 0 says nothing, as none does, and then the text alone decides.
fn refuse_stale(
    shown: &str,
    versions: &[i32],
    sent: &Sent,
    content: &str,
) -> Result<(), ToolError> {
    let other = versions.iter().find(|version| **version != 0 && **version != sent.version);
    let why = match other {
        _ if sent.text != content => "the file has changed since the server was sent it".to_owned(),
        Some(version) => {
            format!("the edit is for version {version} and the file is at {}", sent.version)
        }
        None => return Ok(()),
    };
    Err(ToolError::new(
        ErrorKind::Conflict,
        "stale_rename",
        format!("{shown}: {why}; nothing was written, so ask again"),
    ))
}

fn in_file(mut error: ToolError, shown: &str) -> ToolError {
    error.message = format!("in {shown}, nothing written: {}", error.message);
    error
}
