//! One case: an empty folder with its files, a fresh interpreter, a run whose tools echo.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use agent_eval::Interpreters;
use agent_process::{Guard, Launcher};
use agent_tool_core::{
    BoxFuture, CallId, Context, Dispatch, ErrorKind, Limits, Nothing, Tier, ToolCall, ToolError,
    ToolOutput, ToolResult, ToolSpec,
};
use agent_workspace::Workspace;
use serde_json::{Value, json};

use crate::case::Case;

/// The budget of silence where a case has none.
const IDLE: Duration = Duration::from_secs(20);

/// `tool(name, args)` gives `{"tool": name, "args": args}`.
struct Echo;

impl Dispatch for Echo {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call<'a>(&'a self, call: ToolCall, _parent: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            if call.name == "fail" {
                return Err(ToolError::new(ErrorKind::Failed, "nope", "nope"));
            }
            let data = json!({"args": call.args, "tool": call.name});
            Ok(ToolOutput::default().with_data(data))
        })
    }

    fn narrow(&self, _limits: Limits) -> Arc<dyn Dispatch> {
        Arc::new(Echo)
    }
}

pub(crate) fn echoing() -> Context {
    Context::new(CallId::new("cell"), Tier::Exec, Arc::new(Echo), Arc::new(Nothing))
}

/// The Python that `cargo xtask setup` installs, with the libraries that cells import.
pub(crate) fn python() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.tools/eval/bin/python3")
}

/// The data of the last cell.
pub(crate) async fn run(case: &Case) -> Value {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in &case.files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let workspace = Workspace::builder().root(folder.path()).open().unwrap();
    let idle = case.idle_ms().map_or(IDLE, Duration::from_millis);
    let builder = Interpreters::builder(workspace, Launcher::new(Guard::new()))
        .virtual_env(None)
        .python(python())
        .idle(idle);
    let builder = case.env.iter().fold(builder, |builder, (name, value)| builder.env(name, value));
    let interpreters = builder.build();
    let tool = interpreters.tools().remove(0);
    let mut data = Value::Null;
    for cell in &case.cells {
        let args =
            json!({"code": cell, "description": "a cell of a case", "language": case.language});
        let output = tool.call(args, &echoing()).await;
        data = output.unwrap_or_else(|error| panic!("{}: {error}", error.code)).data;
    }
    interpreters.close().await;
    data
}
