//! A run: a copy of a project, the servers of it, the tool that asks them and one that writes.

use std::{
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
use agent_process::{EnvironmentRule, Guard, Launcher};
use agent_tool_core::{
    BoxFuture, Content, Context, FileChange, Tier, Tool, ToolError, ToolOutput, ToolResult,
    ToolSpec,
};
use agent_workspace::Workspace;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    languages::{At, Edit, Language},
    servers::{Live, workspace},
};

/// What a call may take at the most, on a machine that does other things.
const LONG: Duration = Duration::from_secs(120);

/// What one may take whose server is at work until it is told to end.
const SHORT: Duration = Duration::from_secs(8);

/// Where a project's own files say its root.
const ROOT: &str = "@ROOT@";

/// Where a hostile one's files say what they write to when they are run.
const WITNESS: &str = "@WITNESS@";

pub(crate) struct Session {
    pub lsp: Lsp,
    pub language: &'static Language,
    root: PathBuf,
    ask: Arc<dyn Tool>,
    rename: Arc<dyn Tool>,
    write: Arc<dyn Tool>,
    _outer: TempDir,
}

impl Session {
    /// A run in a trusted copy of the project of a server.
    pub(crate) fn new(live: &'static Live) -> Self {
        Self::at(live, "shop", Trust::Trusted)
    }

    /// The same in a folder of this name.
    pub(crate) fn at(live: &'static Live, name: &str, trust: Trust) -> Self {
        Self::over(live, name, trust, &[])
    }

    /// A run whose answers are not waited for for long.
    pub(crate) fn hasty(live: &'static Live) -> Self {
        Self::with(live, "shop", Trust::Trusted, &[], waits(SHORT))
    }

    /// One whose calls take no longer than a model's.
    pub(crate) fn hurried(live: &'static Live) -> Self {
        Self::with(live, "shop", Trust::Trusted, &[], Waits::default())
    }

    /// The same with folders of `fixtures/lsp` put over the project.
    pub(crate) fn over(live: &'static Live, name: &str, trust: Trust, overlays: &[&str]) -> Self {
        Self::with(live, name, trust, overlays, waits(LONG))
    }

    fn with(
        live: &'static Live,
        name: &str,
        trust: Trust,
        overlays: &[&str],
        waits: Waits,
    ) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(outer.path()).unwrap();
        let (root, witness) = (real.join(name), real.join("witness"));
        fs::create_dir(&witness).unwrap();
        let names = [(ROOT, root.to_str().unwrap()), (WITNESS, witness.to_str().unwrap())];
        let fixtures = workspace().join("fixtures/lsp");
        copy(&fixtures.join("projects").join(live.language.folder), &root, &names);
        for overlay in overlays {
            copy(&fixtures.join(overlay), &root, &names);
        }
        let workspace = Workspace::open(&root).unwrap();
        let edits = Edits::open(&workspace, outer.path().join("state")).unwrap();
        // Set for the tests themselves, they would overrule what a checkout says of its toolchain, and let its builds
        // wait for those of this repository.
        let environment =
            EnvironmentRule::new().remove("RUSTUP_TOOLCHAIN").remove("CARGO_TARGET_DIR");
        let launcher = Launcher::new(Guard::new()).environment(environment);
        let lsp = Lsp::builder(workspace, edits, launcher)
            .table(only(live, overlays.is_empty()))
            .trust(trust)
            .waits(waits)
            .build();
        let tool = |name: &str| lsp.tools().into_iter().find(|tool| tool.spec().name == name);
        let (ask, rename) = (tool("lsp").unwrap(), tool("lsp_rename").unwrap());
        let write = lsp.diagnostics_on_write(Arc::new(Write::new(&root)));
        Self { lsp, language: live.language, root, ask, rename, write, _outer: outer }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that a hostile project's files write to.
    pub(crate) fn witness(&self) -> PathBuf {
        self.root.with_file_name("witness")
    }

    /// Calls `lsp`.
    pub(crate) async fn call(&self, args: Value) -> Result<ToolOutput, ToolError> {
        self.ask.call(args, &Context::detached()).await
    }

    /// Calls `lsp` about a symbol of a line, and gives the answer's data.
    pub(crate) async fn ask(&self, action: &str, at: At, symbol: &str) -> Value {
        let line = self.line(at);
        let args = json!({ "action": action, "file": at.0, "line": line, "symbol": symbol });
        match self.call(args.clone()).await {
            Ok(output) => output.data,
            Err(error) => panic!("{args}: {error}"),
        }
    }

    /// Asks again where the server began to read the project anew while it answered, as rust-analyzer does more than once.
    pub(crate) async fn ask_until_read(&self, action: &str, at: At, symbol: &str) -> Value {
        let until = Instant::now() + LONG;
        loop {
            let answer = self.ask(action, at, symbol).await;
            if answer["evidence"] != "still_indexing" || Instant::now() >= until {
                return answer;
            }
        }
    }

    /// Calls `lsp_rename`.
    pub(crate) async fn call_rename(&self, args: Value) -> Result<ToolOutput, ToolError> {
        self.rename.call(args, &Context::detached()).await
    }

    /// Calls it about a symbol of a line, and gives the answer's data.
    pub(crate) async fn rename(&self, at: At, symbol: &str, new_name: &str) -> Value {
        let (file, line) = (at.0, self.line(at));
        let args = json!({ "file": file, "line": line, "symbol": symbol, "new_name": new_name });
        match self.call_rename(args.clone()).await {
            Ok(output) => output.data,
            Err(error) => panic!("{args}: {error}"),
        }
    }

    /// The errors and warnings of a file.
    pub(crate) async fn diagnostics(&self, file: &str) -> Value {
        let args = json!({ "action": "diagnostics", "file": file });
        self.call(args).await.unwrap_or_else(|error| panic!("{file}: {error}")).data
    }

    /// What the wrapped tool gives back.
    pub(crate) async fn write_output(&self, file: &str, text: Option<&str>) -> ToolOutput {
        let args = json!({ "path": file, "text": text });
        self.write.call(args, &Context::detached()).await.unwrap()
    }

    /// Calls the wrapped tool; none is a file to delete.
    pub(crate) async fn write(&self, file: &str, text: Option<&str>) -> Told {
        let output = self.write_output(file, text).await;
        Told { text: output.joined_text(), data: output.data["diagnostics"].clone() }
    }

    /// Writes several files by one call.
    pub(crate) async fn write_all(&self, files: &[(&str, &str)]) -> Told {
        let files: Vec<_> =
            files.iter().map(|(path, text)| json!({ "path": path, "text": text })).collect();
        let output =
            self.write.call(json!({ "files": files }), &Context::detached()).await.unwrap();
        Told { text: output.joined_text(), data: output.data["diagnostics"].clone() }
    }

    /// Writes a file with a text in it replaced.
    pub(crate) async fn edit(&self, edit: &Edit) -> Told {
        let text = self.read(edit.file);
        assert!(text.contains(edit.from), "{}: {:?}", edit.file, edit.from);
        self.write(edit.file, Some(&text.replacen(edit.from, edit.to, 1))).await
    }

    /// Takes an edit back.
    pub(crate) async fn undo(&self, edit: &Edit) -> Told {
        self.edit(&Edit { file: edit.file, from: edit.to, to: edit.from }).await
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.root.join(file)).unwrap()
    }

    /// Makes or changes a file as a shell does, with its folders.
    pub(crate) fn put(&self, file: &str, text: &str) {
        let path = self.root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The number of the one line that holds a text.
    pub(crate) fn line(&self, (file, part): (&str, &str)) -> usize {
        let text = self.read(file);
        let mut lines = text.lines().zip(1..).filter(|(line, _)| line.contains(part));
        let (_, line) = lines.next().unwrap_or_else(|| panic!("{file} has no {part:?}"));
        assert_eq!(lines.next(), None, "{file} has {part:?} twice");
        line
    }

    /// The column of a name in the one line that holds a text, in characters from 1.
    pub(crate) fn column(&self, (file, part): At, name: &str) -> usize {
        let line = self.line((file, part));
        let text = self.read(file);
        let line = text.lines().nth(line - 1).unwrap();
        let at = line.find(part).unwrap();
        let at = at + line[at..].find(name).unwrap();
        line[..at].chars().count() + 1
    }
}

/// What a write's result says of diagnostics.
#[derive(Debug)]
pub(crate) struct Told {
    pub text: String,
    pub data: Value,
}

impl Told {
    /// Asserts what is new and what is gone, each as file and line; that nothing is to come; and
    /// what is known of what was written.
    pub(crate) fn assert(&self, new: &[(&str, usize)], gone: &[(&str, usize)], state: &str) {
        let place = |found: &Value| {
            let line = found["line"].as_u64().and_then(|line| usize::try_from(line).ok());
            (found["file"].as_str().unwrap().to_owned(), line.unwrap())
        };
        let places = |list: &Value| list.as_array().unwrap().iter().map(place).collect::<Vec<_>>();
        let owned = |list: &[(&str, usize)]| {
            list.iter().map(|(file, line)| ((*file).to_owned(), *line)).collect::<Vec<_>>()
        };
        assert!(self.data.is_object(), "no diagnostics at all: {}", self.text);
        assert_eq!(self.data["pending"], json!([]), "{self:#?}");
        assert_eq!(places(&self.data["new"]), owned(new), "{self:#?}");
        let told_gone = [places(&self.data["fixed"]), places(&self.data["perhaps_hidden"])];
        assert_eq!(told_gone.concat(), owned(gone), "{self:#?}");
        assert_eq!(self.data["state"], state, "{self:#?}");
    }
}

impl Told {
    /// Asserts that a place is among what is new or perhaps new, or else that nothing is confirmed and its file is to come
    /// or not looked at, by its name or with all others.
    pub(crate) fn assert_is_told_or_named(&self, (file, line): (&str, usize)) {
        let list = |list: &Value| list.as_array().unwrap().clone();
        let has = |found: &Value| found["file"] == file && found["line"] == line;
        if ["new", "perhaps_new"].iter().any(|name| list(&self.data[name]).iter().any(has)) {
            return;
        }
        let others = &self.data["others"];
        let is_named = list(&self.data["pending"]).iter().any(|waits| waits["file"] == file)
            || list(&others["not_looked_at"]).iter().any(|left| left == file)
            || others["total"].is_null() && others["why"].is_string();
        assert!(is_named && !self.text.contains(", confirmed"), "{self:#?}");
    }

    /// Without what is told of files beside these: some servers look at files that were never opened.
    pub(crate) fn without_unopened(mut self, one: &str, other: &str) -> Self {
        for list in ["new", "fixed", "perhaps_hidden"] {
            let list = self.data[list].as_array_mut().unwrap();
            list.retain(|found| found["file"] == one || found["file"] == other);
        }
        self
    }
}

/// The bundled table with this server alone for its languages, by where it is installed; in a hostile checkout by
/// its name first.
fn only(live: &Live, by_path_alone: bool) -> ServerTable {
    let name = ServerTable::bundled().by_id(live.id).unwrap().programs[0].clone();
    let name = (!by_path_alone).then(|| PathBuf::from(name));
    table_of(live.id, &name.into_iter().chain([live.program()]).collect::<Vec<_>>())
}

/// The bundled table with one server alone for its languages, which is one of these programs.
pub(crate) fn table_of(id: &str, programs: &[PathBuf]) -> ServerTable {
    let bundled = ServerTable::bundled();
    let row = bundled.by_id(id).unwrap();
    let takes = |id: &String| row.languages.contains_key(id);
    let others = bundled.servers().iter().filter(|other| other.languages.keys().any(takes));
    let off = others
        .filter(|other| other.id != id)
        .map(|other| format!("[[server]]\nid = {:?}\ndisabled = true\n", other.id));
    let on = format!("[[server]]\nid = {id:?}\nprograms = {programs:?}\n");
    ServerTable::with_user_rows(&off.chain([on]).collect::<String>()).unwrap()
}

/// Copies a project, with names written into the files that have to say them. What is a program stays one.
pub(crate) fn copy(from: &Path, to: &Path, names: &[(&str, &str)]) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to, names);
        } else {
            let mut text = fs::read_to_string(&from).unwrap();
            for (name, stands_for) in names {
                text = text.replace(name, stands_for);
            }
            fs::write(&to, &text).unwrap();
            if text.starts_with("#!") {
                fs::set_permissions(to, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
    }
}

/// Those of a patient run, but for its answers.
fn waits(answer: Duration) -> Waits {
    let mut waits = Waits::default();
    (waits.answer, waits.write, waits.write_and_start) = (answer, LONG, LONG);
    waits
}

/// Writes a whole file or deletes one, and says what it changed.
struct Write {
    spec: ToolSpec,
    root: PathBuf,
}

impl Write {
    fn new(root: &Path) -> Self {
        let spec = ToolSpec::new("write", Tier::Write, "Writes a file.");
        Self { spec, root: root.to_owned() }
    }

    fn write(&self, file: &Value) -> FileChange {
        let name = file["path"].as_str().unwrap();
        let path = self.root.join(name);
        let content =
            |path: &Path| fs::read(path).map_or(Content::Absent, |bytes| Content::of(&bytes));
        let before = content(&path);
        match file["text"].as_str() {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        FileChange::new(name, before, content(&path))
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let files = args["files"].as_array().cloned().unwrap_or_else(|| vec![args]);
            let changes = files.iter().map(|file| self.write(file)).collect();
            Ok(ToolOutput::text("done").with_changes(changes))
        })
    }
}
