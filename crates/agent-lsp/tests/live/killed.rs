//! When the program is killed its guard ends what it started: servers, and what those started.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use agent_edits::Edits;
use agent_lsp::Lsp;
use agent_process::{Guard, Launcher};
use agent_testkit::processes::{descendants, gone};
use agent_tool_core::Context;
use agent_workspace::Workspace;
use serde_json::json;

use crate::{
    servers::{self, Live, program_of, workspace},
    session::{copy, table_of},
};

/// Names the server and the folder of a program that starts it and is killed.
const OWNER: &str = "AGENT_LSP_OWNER";

/// A server, and a file that makes it start.
struct Killed {
    id: &'static str,
    program: &'static str,
    project: &'static str,
    file: &'static str,
    /// How many processes it is, at least.
    processes: usize,
}

/// A server that outlives the end of its input, and is in no other case: it has no diagnostics of its own.
const BASH: Killed = Killed {
    id: "bash",
    program: ".tools/bash/node_modules/.bin/bash-language-server",
    project: "bash",
    file: "shop.sh",
    processes: 1,
};

/// A case that was put together.
type Run = Box<dyn FnOnce() + Send>;

/// Each server with its program, and the case.
pub(crate) fn cases() -> Vec<(&'static str, &'static str, Run)> {
    all()
        .map(|killed| {
            let (id, program) = (killed.id, killed.program);
            let case = move || nothing_is_left_after_a_kill(&killed);
            (id, program, Box::new(case) as Run)
        })
        .collect()
}

// report: D13
fn nothing_is_left_after_a_kill(killed: &Killed) {
    let outer = tempfile::tempdir().unwrap();
    let before = descendants();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .env(OWNER, killed.id)
        .env("TMPDIR", outer.path())
        .current_dir(outer.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "{}", killed.id);
    let started: std::collections::BTreeSet<_> =
        descendants().difference(&before).copied().collect();
    // With the owner itself.
    assert!(started.len() > killed.processes, "{}: {started:?}", killed.id);
    // SIGKILL: nothing of the program runs after it.
    owner.kill().unwrap();
    owner.wait().unwrap();
    gone(&started);
}

/// Starts a server, says that it is ready and waits to be killed, if this process was started for that.
pub(crate) fn main_if_asked() {
    let Ok(id) = std::env::var(OWNER) else { return };
    let killed = all().find(|killed| killed.id == id).unwrap();
    let root = std::env::current_dir().unwrap().join("shop");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(own(&killed, &root));
}

async fn own(killed: &Killed, root: &Path) {
    fs::create_dir_all(root).unwrap();
    let root = root.canonicalize().unwrap();
    let project = workspace().join("fixtures/lsp/projects").join(killed.project);
    copy(&project, &root, &[("@ROOT@", root.to_str().unwrap())]);
    let workspace = Workspace::open(&root).unwrap();
    let edits = Edits::open(&workspace, root.with_file_name("state")).unwrap();
    let lsp = Lsp::builder(workspace, edits, Launcher::new(Guard::new()))
        .table(table_of(killed.id, &[program_of(killed.program)]))
        .build();
    let ask = lsp.tools().into_iter().find(|tool| tool.spec().name == "lsp").unwrap();
    let args = json!({ "action": "symbols", "file": killed.file });
    ask.call(args, &Context::detached()).await.unwrap();
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ready").unwrap();
    stdout.flush().unwrap();
    std::future::pending::<()>().await;
}

fn all() -> impl Iterator<Item = Killed> {
    servers::ALL.iter().map(|live| Killed::of(live)).chain([BASH])
}

impl Killed {
    fn of(live: &Live) -> Self {
        let Live { id, program, language, processes, .. } = *live;
        Self { id, program, project: language.folder, file: language.library.0, processes }
    }
}
