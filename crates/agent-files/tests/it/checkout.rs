//! A folder with files, and the tools over it.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use agent_edits::Edits;
use agent_files::Files;
use agent_tool_core::{
    CallId, Context, Event, Events, FileChange, Nothing, Preview, Tier, Tool, ToolError, ToolOutput,
};
use agent_workspace::Workspace;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

pub(crate) struct Checkout {
    folder: TempDir,
    _state: TempDir,
    pub(crate) files: Files,
    tools: Vec<Arc<dyn Tool>>,
    pub(crate) runtime: Runtime,
    pub(crate) watcher: Arc<Watcher>,
}

/// Keeps the changes that it is told of.
#[derive(Default)]
pub(crate) struct Watcher {
    changes: Mutex<Vec<FileChange>>,
}

impl Events for Watcher {
    fn emit(&self, _cx: &Context, event: Event) {
        if let Event::Changed { change } = event {
            self.changes.lock().unwrap().push(change);
        }
    }
}

impl Watcher {
    pub(crate) fn changes(&self) -> Vec<FileChange> {
        self.changes.lock().unwrap().clone()
    }
}

impl Checkout {
    pub(crate) fn new<'a>(files: impl IntoIterator<Item = (&'a str, impl AsRef<[u8]>)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let edits = Edits::open(&workspace, state.path().join("journals")).unwrap();
        let files_of_run = Files::new(workspace, edits);
        // One thread that blocks: work on the pool is in turns, so that tests can order it.
        let runtime =
            Builder::new_multi_thread().worker_threads(1).max_blocking_threads(1).build().unwrap();
        let checkout = Self {
            folder,
            _state: state,
            tools: files_of_run.clone().tools(),
            files: files_of_run,
            runtime,
            watcher: Arc::default(),
        };
        for (path, content) in files {
            checkout.put(path, content);
        }
        checkout
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The bytes of a file; `None` where there is none.
    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.path(path)).ok()
    }

    pub(crate) fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name == name).unwrap()
    }

    pub(crate) fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    pub(crate) fn context(&self) -> Context {
        let watcher = Arc::clone(&self.watcher);
        Context::new(CallId::new("call_1"), Tier::Write, Arc::new(Nothing), watcher)
    }

    pub(crate) fn call(&self, name: &str, args: Value) -> Result<ToolOutput, ToolError> {
        self.runtime.block_on(self.tool(name).call(args, &self.context()))
    }

    pub(crate) fn preview(&self, name: &str, args: &Value) -> Result<Preview, ToolError> {
        self.runtime.block_on(self.tool(name).preview(args, &self.context()))
    }

    /// The code of the error of a call.
    pub(crate) fn refused(&self, name: &str, args: Value) -> String {
        match self.call(name, args) {
            Ok(output) => panic!("{name} was not refused: {}", output.joined_text()),
            Err(error) => error.code.into_owned(),
        }
    }
}
