//! A run of a test's own: a folder, interpreters, and tools that are told what to do.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_eval::{Cell, Interpreters, InterpretersBuilder, Language, Outcome};
use agent_process::{Guard, Launcher};
use agent_tool_core::{
    BoxFuture, CallId, Context, Dispatch, ErrorKind, Limits, Nothing, Part, Tier, ToolCall,
    ToolError, ToolOutput, ToolResult, ToolSpec,
};
use agent_workspace::Workspace;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The Python that `cargo xtask setup` installs, with the libraries that cells import.
pub(crate) fn python() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.tools/eval/bin/python3")
}

pub(crate) struct Session {
    pub(crate) folder: TempDir,
    pub(crate) interpreters: Interpreters,
    pub(crate) tools: Tools,
}

/// What a test's tools were called with: the name, the arguments, the call's parent.
#[derive(Clone, Default)]
pub(crate) struct Tools {
    pub(crate) calls: Arc<Mutex<Vec<(String, Value, String)>>>,
    /// Calls of `wait` that were dropped before they ended.
    pub(crate) dropped: Arc<Mutex<usize>>,
}

/// Counts a call that is dropped.
struct Dropped(Arc<Mutex<usize>>);

impl Session {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(change: impl FnOnce(InterpretersBuilder) -> InterpretersBuilder) -> Self {
        Self::launched(Launcher::new(Guard::new()), change)
    }

    pub(crate) fn launched(
        launcher: Launcher,
        change: impl FnOnce(InterpretersBuilder) -> InterpretersBuilder,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::builder().root(folder.path()).open().unwrap();
        let builder = Interpreters::builder(workspace, launcher).virtual_env(None).python(python());
        Self { folder, interpreters: change(builder).build(), tools: Tools::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) async fn try_cell(&self, cell: Cell) -> Result<Outcome, ToolError> {
        self.interpreters.run(cell, &self.tools.context()).await
    }

    pub(crate) async fn cell(&self, cell: Cell) -> Outcome {
        self.try_cell(cell).await.unwrap_or_else(|error| panic!("{}: {error}", error.code))
    }

    pub(crate) async fn run(&self, code: &str) -> Outcome {
        self.cell(Cell::new(code)).await
    }

    pub(crate) async fn js(&self, code: &str) -> Outcome {
        self.cell(Cell::new(code).language(Language::JavaScript)).await
    }

    /// The text of the last expression.
    pub(crate) async fn value(&self, code: &str) -> String {
        result(&self.run(code).await)
    }

    pub(crate) async fn js_value(&self, code: &str) -> String {
        result(&self.js(code).await)
    }

    /// The result as the tool gives it.
    pub(crate) async fn tool(&self, args: Value) -> ToolResult {
        self.interpreters.tools().remove(0).call(args, &self.tools.context()).await
    }
}

/// The text of a cell's last expression.
pub(crate) fn result(outcome: &Outcome) -> String {
    let shown = outcome.result().and_then(|bundle| bundle["text/plain"].as_str());
    shown.unwrap_or_else(|| panic!("no result: {outcome:#?}")).to_owned()
}

impl Tools {
    pub(crate) fn context(&self) -> Context {
        let dispatch = Arc::new(self.clone());
        Context::new(CallId::new("the-cell"), Tier::Exec, dispatch, Arc::new(Nothing))
    }
}

impl Dispatch for Tools {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call<'a>(&'a self, call: ToolCall, parent: &'a Context) -> BoxFuture<'a, ToolResult> {
        let parent = parent.call_id().as_str().to_owned();
        self.calls.lock().unwrap().push((call.name.clone(), call.args.clone(), parent));
        Box::pin(async move {
            match call.name.as_str() {
                "text" => Ok(ToolOutput::text("a text").with_data(json!({"lines": 1}))),
                "image" => Ok(ToolOutput::default().with_part(Part::image("image/png", "AAAA"))),
                "structured" => Ok(ToolOutput::default().with_data(json!({"n": [1, 2]}))),
                "denied" => {
                    Err(ToolError::new(ErrorKind::Denied, "not_approved", "nobody allowed it"))
                }
                "wait" => {
                    let dropped = Dropped(Arc::clone(&self.dropped));
                    let time = Duration::from_millis(call.args["ms"].as_u64().unwrap());
                    tokio::time::sleep(time).await;
                    std::mem::forget(dropped);
                    Ok(ToolOutput::text("waited"))
                }
                name => Err(ToolError::unknown_tool(name)),
            }
        })
    }

    fn narrow(&self, _limits: Limits) -> Arc<dyn Dispatch> {
        Arc::new(self.clone())
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}
