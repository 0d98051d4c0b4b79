//! Answers what a server asks, and takes in what it tells.
//!
//! Every request gets an answer: silence hangs most servers, an error ends some of them.

use std::{
    ops::ControlFlow,
    sync::Arc,
    task::{Context, Poll},
};

use async_lsp::{
    AnyEvent, AnyNotification, AnyRequest, ErrorCode, LspService, ResponseError,
    lsp_types::{Url, WorkspaceFolder},
};
use serde_json::{Value, json};
use tower_service::Service;

use super::told::Told;
use crate::{table::Unloaded, uri};

/// The answering side of a connection.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub told: Arc<Told>,
    /// What the server is told when it asks for its configuration, nested by section.
    pub settings: Value,
    /// A part of what it logs once it knows its files.
    pub logs_when_ready: Option<String>,
    /// How it says that it could not read the project.
    pub unloaded: Option<Unloaded>,
    pub folder: WorkspaceFolder,
}

impl Service<AnyRequest> for Inbox {
    type Response = Value;
    type Error = ResponseError;
    type Future = std::future::Ready<Result<Value, ResponseError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ResponseError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: AnyRequest) -> Self::Future {
        std::future::ready(self.answer(&request.method, &request.params))
    }
}

impl LspService for Inbox {
    fn notify(&mut self, told: AnyNotification) -> ControlFlow<async_lsp::Result<()>> {
        self.hear(&told.method, told.params);
        ControlFlow::Continue(())
    }

    fn emit(&mut self, _event: AnyEvent) -> ControlFlow<async_lsp::Result<()>> {
        ControlFlow::Continue(())
    }
}

impl Inbox {
    fn answer(&self, method: &str, params: &Value) -> Result<Value, ResponseError> {
        match method {
            "workspace/configuration" => {
                // One for each, in order: a list of another length ends some servers.
                let items = params["items"].as_array().map_or(&[][..], Vec::as_slice);
                Ok(items.iter().map(|item| section(&self.settings, &item["section"])).collect())
            }
            "client/registerCapability" => {
                self.told.change(|state| {
                    list(&params["registrations"]).iter().for_each(|item| state.register(item));
                });
                Ok(Value::Null)
            }
            "client/unregisterCapability" => {
                // The protocol spells the field so.
                self.told.change(|state| {
                    list(&params["unregisterations"])
                        .iter()
                        .for_each(|item| state.unregister(item));
                });
                Ok(Value::Null)
            }
            "window/workDoneProgress/create" | "window/showMessageRequest" => Ok(Value::Null),
            "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/inlineValue/refresh"
            | "workspace/codeLens/refresh"
            | "workspace/foldingRange/refresh" => {
                self.told.change(|state| state.refreshes += 1);
                Ok(Value::Null)
            }
            "workspace/workspaceFolders" => Ok(json!([self.folder])),
            "window/showDocument" => Ok(json!({ "success": false })),
            "workspace/applyEdit" => Ok(json!({
                "applied": false,
                "failureReason": "this client changes files by its own tools alone",
            })),
            _ => Err(ResponseError::new(
                ErrorCode::METHOD_NOT_FOUND,
                format!("this client has no `{method}`"),
            )),
        }
    }

    fn hear(&self, method: &str, mut params: Value) {
        match method {
            "textDocument/publishDiagnostics" => {
                let file =
                    params["uri"].as_str().and_then(|uri| uri::to_path(uri, |path| path.exists()));
                let Some(file) = file else {
                    return self.told.change(|state| state.odd("diagnostics for no file"));
                };
                let version = params["version"].as_i64();
                let diagnostics = match params["diagnostics"].take() {
                    Value::Array(diagnostics) => diagnostics,
                    _ => {
                        return self.told.change(|state| state.odd("diagnostics that are no list"));
                    }
                };
                self.told.change(|state| state.publish(file, version, diagnostics));
            }
            // clangd says so once it is asked to.
            "textDocument/clangd.fileStatus" => {
                let file =
                    params["uri"].as_str().and_then(|uri| uri::to_path(uri, |path| path.exists()));
                let is_idle = params["state"] == "idle";
                if let Some(file) = file {
                    self.told.change(|state| state.set_build(file, is_idle));
                }
            }
            "window/logMessage" => {
                let logged = params["message"].as_str().unwrap_or_default();
                if self.logs_when_ready.as_deref().is_some_and(|part| logged.contains(part)) {
                    self.told.change(|state| {
                        state.knows_files = true;
                        state.logged_ready += 1;
                    });
                }
                if self.unloaded.as_ref().is_some_and(|unloaded| logged.contains(&unloaded.logs)) {
                    self.told.change(|state| state.set_unloaded());
                }
            }
            "$/progress" => self.told.change(|state| {
                state.set_progress(&params);
                if let Some(unloaded) = &self.unloaded {
                    state.shown(&unloaded.shows);
                }
            }),
            "experimental/serverStatus" => self.told.change(|state| state.set_status(&params)),
            // Dart says so that it analyses; the words are those of other servers' progress.
            "$/analyzerStatus" => self.told.change(|state| {
                let kind = if params["isAnalyzing"] == true { "begin" } else { "end" };
                let value = json!({ "kind": kind, "title": "analyzing" });
                state.set_progress(&json!({ "token": method, "value": value }));
            }),
            _ => {}
        }
    }
}

/// The settings of a dotted section; null where there are none.
fn section(settings: &Value, name: &Value) -> Value {
    let Some(name) = name.as_str().filter(|name| !name.is_empty()) else { return settings.clone() };
    let inner = |value: &Value, key: &str| value.get(key).cloned();
    name.split('.')
        .try_fold(settings.clone(), |value, key| inner(&value, key))
        .unwrap_or(Value::Null)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The folder of a root as the protocol has it.
pub(crate) fn folder_of(root: &Url, name: &str) -> WorkspaceFolder {
    WorkspaceFolder { uri: root.clone(), name: name.to_owned() }
}
