//! What the launch and the attach of each adapter take, and which adapter a program is for.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use agent_process::Launcher;
use agent_tool_core::ToolError;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ADAPTERS, Adapter, Checkout, Detected, rust};
use crate::error::{bad_program, launch_failed, no_adapter};

/// How much of a program's file is looked at.
const HEAD_BYTES: usize = 8 << 10;

/// The name and the type of the note by which a Go program names its build.
const GO_NOTE: &[u8] = b"\x04\0\0\0Go\0\0";

/// A server that is slow to answer is no server that is gone.
const PATIENT: &str = "settings set plugin.process.gdb-remote.packet-timeout 30";

/// A program that is to be started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// Its absolute path.
    pub(crate) program: PathBuf,
    /// The path as it was asked for.
    pub(crate) shown: String,
    pub(crate) args: Vec<String>,
    /// The folder that it runs in.
    pub(crate) folder: PathBuf,
}

/// A launch as an adapter takes it.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) arguments: Value,
    /// The folder that the adapter itself runs in.
    pub(crate) folder: PathBuf,
    /// Functions to stop at, since the adapter does not stop by itself.
    pub(crate) functions: &'static [&'static str],
    /// Files that live as long as the session.
    pub(crate) scratch: Option<TempDir>,
}

/// What a path is, as far as adapters care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Folder,
    GoBinary,
    Binary,
    Other { executable: bool },
}

impl Launch {
    /// The adapter that this program is for; none where it does not tell.
    ///
    /// # Errors
    ///
    /// `bad_program` where nothing can start it.
    pub(crate) fn adapter(&self) -> Result<Option<&'static Adapter>, ToolError> {
        let extension = self.program.extension().and_then(|extension| extension.to_str());
        let by_extension = ADAPTERS.iter().find(|adapter| {
            extension.is_some_and(|extension| adapter.extensions.contains(&extension))
        });
        let named = |id: &str| ADAPTERS.iter().find(|adapter| adapter.id == id);
        let found = match (self.kind()?, by_extension) {
            (Kind::Folder, _) if go_folder(&self.program) => named("delve"),
            (Kind::Folder, _) => {
                return Err(bad_program(format!(
                    "`{}` is a folder; name the program in it",
                    self.shown
                )));
            }
            (_, Some(adapter)) => Some(adapter),
            (Kind::GoBinary, _) => named("delve"),
            (Kind::Binary, _) => named("lldb"),
            (Kind::Other { .. }, _) if python_script(&self.program) => named("debugpy"),
            (Kind::Other { .. }, _) => None,
        };
        Ok(found)
    }

    fn kind(&self) -> Result<Kind, ToolError> {
        let shown = &self.shown;
        let metadata = fs::metadata(&self.program).map_err(|_| {
            bad_program(format!(
                "`{shown}` does not exist; build it first, or name another program"
            ))
        })?;
        if metadata.is_dir() {
            return Ok(Kind::Folder);
        }
        let executable = is_executable(&self.program);
        let head = head(&self.program)
            .map_err(|error| bad_program(format!("`{shown}` cannot be read: {error}")))?;
        let binary = head.starts_with(b"\x7fELF")
            || head.starts_with(b"\xcf\xfa\xed\xfe")
            || head.starts_with(b"\xca\xfe\xba\xbe");
        if binary && !executable {
            return Err(bad_program(format!("`{shown}` may not be executed")));
        }
        let go = head.windows(GO_NOTE.len()).any(|window| window == GO_NOTE);
        Ok(match (binary, go) {
            (true, true) => Kind::GoBinary,
            (true, false) => Kind::Binary,
            (false, _) => Kind::Other { executable },
        })
    }

    /// Refuses what the adapter could not start, before it is asked.
    fn check(&self, adapter: &Adapter) -> Result<Kind, ToolError> {
        let kind = self.kind()?;
        let shown = &self.shown;
        match (adapter.id, kind) {
            ("lldb", Kind::Folder) | ("debugpy" | "dart", Kind::Folder) => {
                Err(bad_program(format!("`{shown}` is a folder; name the program in it")))
            }
            ("lldb", Kind::Other { executable: false }) => Err(bad_program(format!(
                "`{shown}` is no program that lldb can start; name the binary that was built of it"
            ))),
            ("lldb", Kind::Other { executable: true }) => Err(bad_program(format!(
                "`{shown}` is a script and no binary; name the binary that it runs"
            ))),
            ("delve", Kind::Folder | Kind::Other { .. }) if !go_program(&self.program) => {
                Err(bad_program(format!(
                    "`{shown}` belongs to a Go package that is no program; name the folder of a `package main`, or a \
                     _test.go file"
                )))
            }
            ("debugpy", Kind::Binary | Kind::GoBinary) => Err(bad_program(format!(
                "`{shown}` is a binary and no Python file; use lldb for it"
            ))),
            _ => Ok(kind),
        }
    }
}

/// The launch as this adapter takes it.
///
/// # Errors
///
/// `bad_program`, `no_adapter`.
pub(crate) async fn prepare(
    launch: &Launch,
    detected: &Detected,
    checkout: &Checkout,
    launcher: &Launcher,
) -> Result<Prepared, ToolError> {
    let kind = launch.check(detected.adapter)?;
    let program = launch.program.to_string_lossy();
    let folder = launch.folder.to_string_lossy();
    let neutral = PathBuf::from("/");
    let plain =
        |arguments| Prepared { arguments, folder: neutral.clone(), functions: &[], scratch: None };
    match detected.adapter.id {
        "debugpy" => {
            let mut arguments = json!({
                "type": "python", "request": "launch", "program": program, "args": launch.args,
                "cwd": folder, "console": "internalConsole", "redirectOutput": true,
                "justMyCode": true,
                // A child would wait for a client of its own for ever.
                "subProcess": false,
            });
            if let Some(python) = &detected.interpreter {
                arguments["python"] = python.to_string_lossy().into();
            }
            Ok(plain(arguments))
        }
        "lldb" => {
            // The debuggee would read from a terminal that nobody types at.
            let mut commands =
                vec![PATIENT.to_owned(), "settings set target.input-path /dev/null".to_owned()];
            let rust = rust_project(launch, checkout);
            // A host that is killed leaves such a folder behind, so there is none where nothing comes into it.
            let scratch = rust.then(scratch).transpose()?;
            if let Some(scratch) = &scratch {
                let place =
                    agent_process::Place::new([launch.folder.clone()]).trust(checkout.trust);
                let found = rust::commands(
                    &checkout.finder,
                    &place,
                    launcher,
                    &launch.folder,
                    scratch.path(),
                );
                commands.extend(found.await);
            }
            let arguments = json!({
                "program": program, "args": launch.args, "cwd": folder, "initCommands": commands,
            });
            let functions: &[&str] = if rust { &rust::PANIC_FUNCTIONS } else { &[] };
            Ok(Prepared { arguments, folder: neutral, functions, scratch })
        }
        "delve" => {
            let (mode, program) = match kind {
                Kind::GoBinary | Kind::Binary => ("exec", launch.program.clone()),
                Kind::Folder => ("debug", launch.program.clone()),
                Kind::Other { .. } => {
                    let test = launch.shown.ends_with("_test.go");
                    let package = launch.program.parent().unwrap_or(&launch.program).to_owned();
                    (if test { "test" } else { "debug" }, package)
                }
            };
            let mut arguments = json!({
                "request": "launch", "mode": mode, "program": program.to_string_lossy(),
                "args": launch.args, "cwd": folder, "outputMode": "remote",
            });
            let scratch = (mode != "exec").then(scratch).transpose()?;
            if let Some(scratch) = &scratch {
                arguments["output"] = scratch.path().join("debuggee").to_string_lossy().into();
            }
            // Go finds a module by the folder that it builds in.
            let inside = if program.is_dir() { program } else { launch.folder.clone() };
            Ok(Prepared { arguments, folder: inside, functions: &[], scratch })
        }
        "dart" => Ok(plain(json!({
            "program": program, "args": launch.args, "cwd": folder, "console": "debugConsole",
        }))),
        other => Err(no_adapter(format!("there is no adapter {other}"))),
    }
}

/// What joins a program that listens on this port of this machine.
pub(crate) fn attach_arguments(adapter: &Adapter, port: u16) -> Value {
    match adapter.id {
        "debugpy" => json!({"request": "attach", "justMyCode": true, "subProcess": false}),
        "delve" => json!({"request": "attach", "mode": "remote"}),
        "lldb" => json!({
            "initCommands": [PATIENT],
            "attachCommands": [format!("gdb-remote 127.0.0.1:{port}")],
        }),
        _ => json!({"vmServiceUri": format!("http://127.0.0.1:{port}/")}),
    }
}

fn scratch() -> Result<TempDir, ToolError> {
    TempDir::with_prefix("agent-debug-")
        .map_err(|error| launch_failed(format!("no temporary folder could be made: {error}")))
}

/// Whether the program is one of a Cargo project's.
fn rust_project(launch: &Launch, checkout: &Checkout) -> bool {
    let above = launch.program.ancestors().skip(1);
    let roots = checkout.workspace.roots().iter().map(|root| root.path());
    above.chain(roots).any(|folder| folder.join("Cargo.toml").is_file())
}

fn go_folder(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    folder.join("go.mod").is_file()
        || entries.into_iter().any(|entry| entry.path().extension().is_some_and(|e| e == "go"))
}

/// Whether Go can build a program of it: a test, or a package with a file of `package main`.
fn go_program(program: &Path) -> bool {
    if program.to_string_lossy().ends_with("_test.go") {
        return true;
    }
    let folder = if program.is_dir() { program } else { program.parent().unwrap_or(program) };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files = files.filter(|path| path.extension().is_some_and(|ending| ending == "go"));
    files.any(|path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some("package") && words.next() == Some("main")
        })
    })
}

/// Whether the first line of a script starts a Python.
fn python_script(path: &Path) -> bool {
    let head = head(path).unwrap_or_default();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    first.starts_with(b"#!") && String::from_utf8_lossy(first).contains("python")
}

fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}
