//! The requests and notifications that this client sends. Answers stay JSON: servers send shapes
//! that typed ones refuse, and one wrong field must not cost the rest of an answer.

use async_lsp::lsp_types::{notification::Notification, request::Request};
use serde_json::Value;

macro_rules! requests {
    ($($name:ident $method:literal;)*) => {$(
        #[doc = concat!("`", $method, "`")]
        #[derive(Debug)]
        pub(crate) enum $name {}

        impl Request for $name {
            type Params = Value;
            type Result = Value;
            const METHOD: &'static str = $method;
        }
    )*};
}

macro_rules! notifications {
    ($($name:ident $method:literal;)*) => {$(
        #[doc = concat!("`", $method, "`")]
        #[derive(Debug)]
        pub(crate) enum $name {}

        impl Notification for $name {
            type Params = Value;
            const METHOD: &'static str = $method;
        }
    )*};
}

requests! {
    Initialize "initialize";
    Shutdown "shutdown";
    Definition "textDocument/definition";
    TypeDefinition "textDocument/typeDefinition";
    Implementation "textDocument/implementation";
    References "textDocument/references";
    Hover "textDocument/hover";
    DocumentSymbol "textDocument/documentSymbol";
    WorkspaceSymbol "workspace/symbol";
    CodeAction "textDocument/codeAction";
    DocumentDiagnostic "textDocument/diagnostic";
    PrepareRename "textDocument/prepareRename";
    Rename "textDocument/rename";
    WillRenameFiles "workspace/willRenameFiles";
    ExecuteCommand "workspace/executeCommand";
}

notifications! {
    Initialized "initialized";
    DidOpen "textDocument/didOpen";
    DidChange "textDocument/didChange";
    DidSave "textDocument/didSave";
    DidClose "textDocument/didClose";
    DidChangeWatchedFiles "workspace/didChangeWatchedFiles";
    DidChangeConfiguration "workspace/didChangeConfiguration";
    RunFlycheck "rust-analyzer/runFlycheck";
}
