//! What this client can do, as `initialize` says it.
//!
//! Only what is honoured is declared: a server that is told of more behaves as if it were so.
//! Snippets are not, for edits are applied as they come.

use serde_json::{Value, json};

/// Symbol kinds that the protocol has, 1 to 26.
const SYMBOL_KINDS: std::ops::RangeInclusive<u32> = 1..=26;

/// The kinds of code actions that are listed.
const ACTION_KINDS: [&str; 9] = [
    "",
    "quickfix",
    "refactor",
    "refactor.extract",
    "refactor.inline",
    "refactor.rewrite",
    "source",
    "source.organizeImports",
    "source.fixAll",
];

/// The capabilities of this client.
pub(crate) fn of_client() -> Value {
    let dynamic = json!({ "dynamicRegistration": true });
    let linked = json!({ "dynamicRegistration": true, "linkSupport": true });
    json!({
        "general": {
            "positionEncodings": ["utf-8", "utf-16", "utf-32"],
            "staleRequestSupport": { "cancel": true, "retryOnContentModified": [] },
        },
        "window": {
            "workDoneProgress": true,
            "showMessage": { "messageActionItem": { "additionalPropertiesSupport": false } },
            "showDocument": { "support": false },
        },
        "workspace": {
            "applyEdit": false,
            "configuration": true,
            "workspaceFolders": true,
            "workspaceEdit": {
                "documentChanges": true,
                "resourceOperations": ["create", "rename", "delete"],
                "failureHandling": "abort",
                "normalizesLineEndings": false,
                "changeAnnotationSupport": { "groupsOnLabel": false },
            },
            "didChangeConfiguration": dynamic,
            "didChangeWatchedFiles": { "dynamicRegistration": true, "relativePatternSupport": true },
            "symbol": {
                "dynamicRegistration": true,
                "symbolKind": { "valueSet": SYMBOL_KINDS.collect::<Vec<_>>() },
            },
            "executeCommand": dynamic,
            "fileOperations": {
                "dynamicRegistration": true, "willRename": true,
            },
            "diagnostics": { "refreshSupport": true },
        },
        "textDocument": {
            "synchronization": { "dynamicRegistration": true, "didSave": true },
            "publishDiagnostics": {
                "relatedInformation": true,
                "versionSupport": true,
                "codeDescriptionSupport": true,
                "tagSupport": { "valueSet": [1, 2] },
            },
            "diagnostic": { "dynamicRegistration": true, "relatedDocumentSupport": false },
            "hover": { "dynamicRegistration": true, "contentFormat": ["markdown", "plaintext"] },
            "definition": linked,
            "typeDefinition": linked,
            "implementation": linked,
            "references": dynamic,
            "documentSymbol": {
                "dynamicRegistration": true,
                "hierarchicalDocumentSymbolSupport": true,
                "symbolKind": { "valueSet": SYMBOL_KINDS.collect::<Vec<_>>() },
            },
            "codeAction": {
                "dynamicRegistration": true,
                "isPreferredSupport": true,
                // With `disabledSupport` some list everything that they cannot do here.
                "codeActionLiteralSupport": { "codeActionKind": { "valueSet": ACTION_KINDS } },
            },
            "rename": {
                "dynamicRegistration": true,
                "prepareSupport": true,
                "prepareSupportDefaultBehavior": 1,
                "honorsChangeAnnotations": true,
            },
        },
        "experimental": { "serverStatusNotification": true },
    })
}

/// The capability of a server that a method stands on: the field of its `capabilities`.
pub(crate) fn field_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "textDocument/definition" => "definitionProvider",
        "textDocument/typeDefinition" => "typeDefinitionProvider",
        "textDocument/implementation" => "implementationProvider",
        "textDocument/references" => "referencesProvider",
        "textDocument/hover" => "hoverProvider",
        "textDocument/documentSymbol" => "documentSymbolProvider",
        "workspace/symbol" => "workspaceSymbolProvider",
        "textDocument/codeAction" => "codeActionProvider",
        "textDocument/diagnostic" => "diagnosticProvider",
        "textDocument/rename" => "renameProvider",
        "workspace/executeCommand" => "executeCommandProvider",
        _ => return None,
    })
}

/// Whether a capability's value says yes: `false` and null say no, options say yes.
pub(crate) fn says_yes(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}
