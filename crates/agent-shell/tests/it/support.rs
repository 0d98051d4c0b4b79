//! A checkout with a shell, and a context that keeps what is told.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use agent_process::{Guard, Launcher};
use agent_shell::{Shell, ShellArgs, ShellReport};
use agent_tool_core::{CallId, Context, Event, Events, Nothing, Tier};
use agent_workspace::Workspace;
use tempfile::TempDir;

pub(crate) struct Checkout {
    pub(crate) folder: TempDir,
    pub(crate) shell: Shell,
    told: Arc<Told>,
}

#[derive(Default)]
struct Told(Mutex<Vec<Event>>);

impl Events for Told {
    fn emit(&self, _cx: &Context, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

impl Checkout {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let shell = Shell::new(workspace, Launcher::new(Guard::new()));
        Self { folder, shell, told: Arc::default() }
    }

    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn context(&self) -> Context {
        Context::new(CallId::new("call_1"), Tier::Exec, Arc::new(Nothing), self.told.clone())
    }

    pub(crate) async fn run(&self, args: ShellArgs) -> ShellReport {
        self.shell.run(&args, &self.context()).await.unwrap()
    }

    /// All output that was told, and the paths of the changes that were.
    pub(crate) fn told(&self) -> (String, Vec<String>) {
        let told = self.told.0.lock().unwrap();
        let mut output = String::new();
        let mut paths = Vec::new();
        for event in told.iter() {
            match event {
                Event::Output { text } => output.push_str(text),
                Event::Changed { change } => paths.push(change.path.clone()),
                _ => {}
            }
        }
        (output, paths)
    }
}
