//! A checkout with `*.toy` files, the scripted server for them, and the tools as a model has them.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use agent_edits::Edits;
use agent_lsp::{
    Lsp, Waits,
    table::{ServerTable, Trust},
};
use agent_process::{Guard, Launcher};
use agent_testkit::lsp::{Kind, Launch, Log, Script, Toy, alive, uri_of};
use agent_tool_core::{
    BoxFuture, Content, Context, FileChange, Tier, Tool, ToolError, ToolOutput, ToolResult,
    ToolSpec,
};
use agent_workspace::Workspace;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything takes on a machine that does other work too. No test waits so long for what comes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What makes a folder a root of the toy server.
pub(crate) const MARKER: &str = "toy.root";

/// The answer is final.
pub(crate) const PULL: &str = r#"{ class = "pull" }"#;
/// One publish for a version.
pub(crate) const VERSIONED: &str = r#"{ class = "push_versioned", settle_ms = 0 }"#;
/// Publishes without a version, of which the last counts.
pub(crate) const UNVERSIONED: &str =
    r#"{ class = "push_unversioned", settle_ms = 120, budget_ms = 1500 }"#;
/// A compiler on save.
pub(crate) const ON_SAVE: &str = r#"{ class = "compiler_on_save", progress = "toy/check", begin_ms = 1500, settle_ms = 50, restart_ms = 200 }"#;
/// How the tokens of that compiler begin.
pub(crate) const CHECK: &str = "toy/check";

/// A row of the server table and the script of its program.
pub(crate) struct Row {
    script: Script,
    keys: BTreeMap<&'static str, String>,
    program: Program,
}

/// What the row's program is.
enum Program {
    Scripted,
    Missing,
    Broken(&'static str),
}

/// A checkout to be made.
pub(crate) struct Setup {
    files: Vec<(String, String)>,
    rows: Vec<Row>,
    waits: Waits,
    trust: Trust,
}

/// A checkout with its servers and tools.
pub(crate) struct Checkout {
    outer: TempDir,
    launches: BTreeMap<String, Launch>,
    pub(crate) lsp: Lsp,
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

/// A server for the toy language whose diagnostics are versioned pushes, ready at once.
pub(crate) fn toy(toy: Toy) -> Row {
    row(Script::toy("toy", toy))
}

/// A row for a script, whose id is the script's name.
pub(crate) fn row(script: Script) -> Row {
    let keys = BTreeMap::from([
        ("languages", r#"{ toy = ["*.toy"] }"#.to_owned()),
        ("roots", format!(r#"["{MARKER}"]"#)),
        ("priority", "10".to_owned()),
        ("ready", r#""at_once""#.to_owned()),
        ("wait", VERSIONED.to_owned()),
        ("install", r#""make toy""#.to_owned()),
    ]);
    Row { script, keys, program: Program::Scripted }
}

impl Row {
    /// Sets a key of the row, as TOML.
    pub(crate) fn key(mut self, key: &'static str, value: &str) -> Self {
        self.keys.insert(key, value.to_owned());
        self
    }

    pub(crate) fn wait(self, wait: &str) -> Self {
        self.key("wait", wait)
    }

    /// When it is ready: `progress`, `server_status`, `analyzer_status`.
    pub(crate) fn ready(self, ready: &str) -> Self {
        self.key("ready", &format!(r#""{ready}""#))
    }

    pub(crate) fn linter(self) -> Self {
        self.key("role", r#""linter""#)
    }

    /// Its program is not there.
    pub(crate) fn missing(mut self) -> Self {
        self.program = Program::Missing;
        self
    }

    /// Its program says this on its error output, whatever it is asked, and exits with 1.
    pub(crate) fn broken(mut self, stderr: &'static str) -> Self {
        self.program = Program::Broken(stderr);
        self
    }

    fn install(&self, outer: &Path, table: &mut String) -> (String, Launch) {
        let id = &self.script.name;
        let programs = outer.join("programs");
        let launch: Launch = self.script.install(outer).unwrap();
        match self.program {
            Program::Scripted => drop(launch.stub(&programs, id).unwrap()),
            Program::Broken(stderr) => {
                agent_testkit::lsp::broken_stub(&programs, id, stderr, 1).unwrap();
            }
            Program::Missing => {}
        }
        let program = programs.join(id);
        let program = program.to_str().unwrap();
        let _ = writeln!(table, "[[server]]\nid = \"{id}\"");
        let keys = BTreeMap::from([
            ("programs", format!("[\"{program}\"]")),
            ("probe", format!("[\"{program}\", \"--version\"]")),
        ]);
        for (key, value) in
            keys.iter().filter(|(key, _)| !self.keys.contains_key(*key)).chain(&self.keys)
        {
            let _ = writeln!(table, "{key} = {value}");
        }
        (id.clone(), launch)
    }
}

impl Setup {
    pub(crate) fn new(rows: impl IntoIterator<Item = Row>) -> Self {
        // A test that waits for nothing is not to be ended by a bound of time on a slow machine.
        let mut waits = Waits::default();
        waits.write = PATIENCE;
        waits.write_and_start = PATIENCE;
        waits.baseline = Duration::from_secs(2);
        Self {
            files: vec![(MARKER.to_owned(), String::new())],
            rows: rows.into_iter().collect(),
            waits,
            trust: Trust::Trusted,
        }
    }

    pub(crate) fn file(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Without the marker at the root of the workspace.
    pub(crate) fn unmarked(mut self) -> Self {
        self.files.retain(|(name, _)| name != MARKER);
        self
    }

    pub(crate) fn untrusted(mut self) -> Self {
        self.trust = Trust::Untrusted;
        self
    }

    pub(crate) fn waits(mut self, set: impl FnOnce(&mut Waits)) -> Self {
        set(&mut self.waits);
        self
    }

    pub(crate) fn make(self) -> Checkout {
        let outer = tempfile::tempdir().unwrap();
        for folder in ["checkout", "programs", "state"] {
            fs::create_dir(outer.path().join(folder)).unwrap();
        }
        let root = outer.path().join("checkout");
        for (name, text) in &self.files {
            put(&root, name, text);
        }
        let mut table: String = ServerTable::bundled()
            .servers()
            .iter()
            .map(|row| format!("[[server]]\nid = \"{}\"\ndisabled = true\n", row.id))
            .collect();
        let launches: BTreeMap<_, _> =
            self.rows.iter().map(|row| row.install(outer.path(), &mut table)).collect();
        let table = ServerTable::with_user_rows(&table).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let edits = Edits::open(&workspace, outer.path().join("state")).unwrap();
        let launcher = Launcher::new(Guard::nobody());
        let lsp = Lsp::builder(workspace, edits, launcher)
            .table(table)
            .trust(self.trust)
            .waits(self.waits)
            .build();
        let write = |name, tells| -> Arc<dyn Tool> {
            let spec = ToolSpec::new(name, Tier::Write, "Writes files.");
            Arc::new(Write { spec, root: root.clone(), tells })
        };
        let mut tools: BTreeMap<_, _> =
            lsp.tools().into_iter().map(|tool| (tool.spec().name.clone(), tool)).collect();
        for tool in [write("write", Tells::Texts), write("shell", Tells::Sizes)] {
            tools.insert(tool.spec().name.clone(), lsp.diagnostics_on_write(tool));
        }
        Checkout { outer, launches, lsp, tools }
    }
}

impl Checkout {
    /// Calls a tool by its name.
    pub(crate) async fn call(&self, name: &str, args: Value) -> Result<ToolOutput, ToolError> {
        self.tool(name).call(args, &Context::detached()).await
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        Arc::clone(&self.tools[name])
    }

    /// What `lsp` answers about a symbol.
    pub(crate) async fn ask(&self, action: &str, file: &str, line: usize, symbol: &str) -> Value {
        self.try_ask(action, file, line, symbol).await.unwrap().data
    }

    pub(crate) async fn try_ask(
        &self,
        action: &str,
        file: &str,
        line: usize,
        symbol: &str,
    ) -> Result<ToolOutput, ToolError> {
        let args = json!({ "action": action, "file": file, "line": line, "symbol": symbol });
        self.call("lsp", args).await
    }

    /// What `hover` says, as a text.
    pub(crate) async fn hover(&self, file: &str, line: usize, symbol: &str) -> String {
        self.ask("hover", file, line, symbol).await["contents"].as_str().unwrap().to_owned()
    }

    /// The state, the reason and the messages of a file's diagnostics.
    pub(crate) async fn diagnostics(&self, file: &str) -> (String, String, Vec<String>) {
        let output = self.call("lsp", json!({ "action": "diagnostics", "file": file })).await;
        let data = output.unwrap().data;
        let text = |key: &str| data[key].as_str().unwrap().to_owned();
        (text("state"), text("why"), messages(&data["diagnostics"]))
    }

    /// Writes one file by the wrapped tool.
    pub(crate) async fn write(&self, file: &str, text: &str) -> ToolOutput {
        self.write_all(&[(file, Some(text))]).await
    }

    /// Writes, makes and deletes several files by one call.
    pub(crate) async fn write_all(&self, files: &[(&str, Option<&str>)]) -> ToolOutput {
        let files: Vec<_> =
            files.iter().map(|(path, text)| json!({ "path": path, "text": text })).collect();
        self.call("write", json!({ "files": files })).await.unwrap()
    }

    /// The row of `status` for a server.
    pub(crate) async fn status(&self, id: &str) -> Value {
        let status = self.call("lsp", json!({ "action": "status" })).await.unwrap().data;
        let servers = status["servers"].as_array().unwrap();
        servers.iter().find(|server| server["id"] == id).cloned().unwrap_or_default()
    }

    /// Waits until a server's row of `status` has a state.
    pub(crate) async fn until_state(&self, id: &str, state: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let status = self.status(id).await;
            if status["state"] == state {
                return status;
            }
            assert!(Instant::now() < end, "it is not {state} but {status}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The log of the server `toy`, as far as it is written.
    pub(crate) fn log(&self) -> Log {
        self.log_of("toy")
    }

    pub(crate) fn log_of(&self, id: &str) -> Log {
        Log::read(&self.launches[id].log).unwrap()
    }

    /// Waits until the client sent a message, and gives how many times it did.
    pub(crate) async fn until_sent(&self, method: &str, times: usize) -> Log {
        self.until(|log| log.calls(method).len() >= times).await
    }

    /// Waits until the log has what is looked for.
    pub(crate) async fn until(&self, sought: impl Fn(&Log) -> bool) -> Log {
        let mut log = self.log();
        log.seen(PATIENCE, |log| sought(log).then_some(())).await.unwrap();
        log
    }

    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(self.outer.path()).unwrap().join("checkout")
    }

    pub(crate) fn uri(&self, file: &str) -> String {
        uri_of(&self.root().join(file))
    }

    /// Changes a file behind the run's back, as a shell does.
    pub(crate) fn put(&self, name: &str, text: &str) {
        put(&self.root(), name, text);
    }

    /// Puts a program of the project's own into it.
    pub(crate) fn put_program(&self, name: &str, shell: &str) {
        self.put(name, &format!("#!/bin/sh\n{shell}\n"));
        let path = self.root().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.root().join(name)).unwrap();
    }

    /// Puts a server's program where it is looked for.
    pub(crate) fn install(&self, id: &str) {
        self.launches[id].stub(&self.outer.path().join("programs"), id).unwrap();
    }

    /// Puts a server's program into the checkout, as a project has its own.
    pub(crate) fn install_as(&self, id: &str, name: &str) -> PathBuf {
        let path = self.root().join(name);
        let folder = path.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        self.launches[id].stub(folder, path.file_name().unwrap().to_str().unwrap()).unwrap()
    }

    /// Drops all handles, and gives the folder that the logs are in, which is to be kept.
    pub(crate) fn drop_all(self) -> TempDir {
        self.outer
    }
}

/// The messages of diagnostics.
pub(crate) fn messages(diagnostics: &Value) -> Vec<String> {
    let list = diagnostics.as_array().unwrap();
    list.iter().map(|found| found["message"].as_str().unwrap().to_owned()).collect()
}

/// What a write says of diagnostics, in words; empty if it says nothing.
pub(crate) fn woven(output: &ToolOutput) -> String {
    let text = output.joined_text();
    text.strip_prefix("written").unwrap().trim_start().to_owned()
}

/// The messages of a write's new diagnostics.
pub(crate) fn new_of(output: &ToolOutput) -> Vec<String> {
    messages(&output.data["diagnostics"]["new"])
}

/// The messages of what may be older than the write.
pub(crate) fn perhaps_new_of(output: &ToolOutput) -> Vec<String> {
    messages(&output.data["diagnostics"]["perhaps_new"])
}

/// The messages of the diagnostics that a write fixed.
pub(crate) fn fixed_of(output: &ToolOutput) -> Vec<String> {
    messages(&output.data["diagnostics"]["fixed"])
}

/// The state that a write's diagnostics have.
pub(crate) fn state_of(output: &ToolOutput) -> &str {
    output.data["diagnostics"]["state"].as_str().unwrap()
}

/// Waits until none of the processes runs any more.
pub(crate) async fn gone(processes: &[u32], within: Duration) {
    let end = Instant::now() + within;
    while processes.iter().any(|pid| alive(*pid)) {
        assert!(Instant::now() < end, "some of {processes:?} still run");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Every process that a log knows: servers and what they started.
pub(crate) fn processes(log: &Log) -> Vec<u32> {
    let mut all = log.started();
    all.extend(log.spawned());
    all
}

/// The notifications and requests about a file, by their methods without the prefix.
pub(crate) fn about(log: &Log, uri: &str) -> Vec<String> {
    let names = |entry: &agent_testkit::lsp::Entry| {
        let here = entry.body.pointer("/textDocument/uri").is_some_and(|at| at == uri);
        let watched = entry.body["changes"].as_array().into_iter().flatten();
        let mut watched = watched.filter(|change| change["uri"] == uri);
        let kind = watched.next().map(|change| match change["type"].as_u64() {
            Some(1) => "created",
            Some(2) => "changed",
            _ => "deleted",
        });
        let method = entry.method.rsplit('/').next().unwrap_or_default();
        kind.map(str::to_owned).or_else(|| here.then(|| method.to_owned()))
    };
    let sent = |kind| matches!(kind, Kind::Request | Kind::Notification);
    log.entries().iter().filter(|entry| sent(entry.kind)).filter_map(names).collect()
}

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A tool that writes files and says so, and knows nothing of servers.
struct Write {
    spec: ToolSpec,
    root: PathBuf,
    tells: Tells,
}

/// What it tells of a file as it was.
#[derive(Clone, Copy, PartialEq)]
enum Tells {
    Texts,
    Sizes,
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let files = args["files"].as_array().unwrap();
            let changes = files.iter().map(|file| self.write(file)).collect();
            Ok(ToolOutput::text("written").with_data(json!({})).with_changes(changes))
        })
    }
}

impl Write {
    fn write(&self, file: &Value) -> FileChange {
        let name = file["path"].as_str().unwrap();
        let path = self.root.join(name);
        let content = |path: &Path| match fs::read(path) {
            Ok(bytes) => Content::of(&bytes),
            Err(_) => Content::Absent,
        };
        let before = match content(&path) {
            Content::Text { text } if self.tells == Tells::Sizes => {
                Content::Omitted { bytes: text.len() as u64 }
            }
            content => content,
        };
        match file["text"].as_str() {
            Some(text) => put(&self.root, name, text),
            None => fs::remove_file(&path).unwrap(),
        }
        FileChange::new(name, before, content(&path))
    }
}
