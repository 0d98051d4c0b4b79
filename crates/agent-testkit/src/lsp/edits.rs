//! LSP's shapes, for scripts that give edits and diagnostics themselves.

use serde_json::{Map, Value, json};

/// A range within one line (0-indexed), its columns in the agreed encoding.
#[must_use]
pub fn range(line: u32, start: u32, end: u32) -> Value {
    json!({
        "start": {"line": line, "character": start}, "end": {"line": line, "character": end},
    })
}

/// A diagnostic: severity 1 is an error, 2 a warning.
#[must_use]
pub fn diagnostic(range: Value, severity: u8, code: impl Into<Value>, message: &str) -> Value {
    json!({"range": range, "severity": severity, "code": code.into(), "message": message})
}

/// A location.
#[must_use]
pub fn location(uri: &str, range: Value) -> Value {
    json!({"uri": uri, "range": range})
}

/// A text edit.
#[must_use]
pub fn text_edit(range: Value, new_text: &str) -> Value {
    json!({"range": range, "newText": new_text})
}

/// A workspace edit with `changes`.
#[must_use]
pub fn changes<'a>(files: impl IntoIterator<Item = (&'a str, Vec<Value>)>) -> Value {
    let files: Map<String, Value> =
        files.into_iter().map(|(uri, edits)| (uri.to_owned(), edits.into())).collect();
    json!({"changes": files})
}

/// A workspace edit with `documentChanges`: [`document_edit`]s and operations on files.
#[must_use]
pub fn document_changes(changes: impl IntoIterator<Item = Value>) -> Value {
    json!({"documentChanges": changes.into_iter().collect::<Vec<_>>()})
}

/// The edits of one document, for a version or for none.
#[must_use]
pub fn document_edit(
    uri: &str,
    version: Option<i64>,
    edits: impl IntoIterator<Item = Value>,
) -> Value {
    let edits: Vec<Value> = edits.into_iter().collect();
    json!({"textDocument": {"uri": uri, "version": version}, "edits": edits})
}

/// A file is made.
#[must_use]
pub fn create_file(uri: &str) -> Value {
    json!({"kind": "create", "uri": uri})
}

/// A file is renamed.
#[must_use]
pub fn rename_file(old: &str, new: &str) -> Value {
    json!({"kind": "rename", "oldUri": old, "newUri": new})
}

/// A file is deleted.
#[must_use]
pub fn delete_file(uri: &str) -> Value {
    json!({"kind": "delete", "uri": uri})
}

/// An edit or an operation with the options of the protocol (`overwrite`, `ignoreIfExists`, …).
#[must_use]
pub fn with_options(mut operation: Value, options: Value) -> Value {
    operation["options"] = options;
    operation
}

/// An edit or an operation that refers to an annotation.
#[must_use]
pub fn annotated(mut change: Value, annotation: &str) -> Value {
    change["annotationId"] = annotation.into();
    change
}

/// A workspace edit with an annotation that needs the person's confirmation.
#[must_use]
pub fn needing_confirmation(mut edit: Value, annotation: &str, label: &str) -> Value {
    edit["changeAnnotations"][annotation] = json!({"label": label, "needsConfirmation": true});
    edit
}
