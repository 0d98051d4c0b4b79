//! A scripted adapter that delays, reorders, lies and dies.

pub(crate) mod bounds;
pub(crate) mod dangers;
pub(crate) mod ends;
pub(crate) mod handshake;
pub(crate) mod model;
pub(crate) mod operations;
pub(crate) mod trust;

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use agent_process::Trust;
use agent_testkit::dap::{Log, Manner, Script, Toy};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::Checkout;

/// The lines of the file that toys are said to be made of.
const LINES: usize = 40;

/// A checkout in which one adapter is there, a scripted one.
pub(crate) struct Fake {
    pub(crate) checkout: Checkout,
    pub(crate) log: Log,
    program: &'static str,
    stubs: TempDir,
}

impl Fake {
    pub(crate) fn new(script: Script) -> Self {
        Self::with(script, Trust::Trusted)
    }

    pub(crate) fn with(script: Script, trust: Trust) -> Self {
        let stubs = tempfile::tempdir().unwrap();
        let log = script.stub(stubs.path()).unwrap();
        let program = match script.name.as_str() {
            "python3" => "main.py",
            "dlv" => "main.go",
            "dart" => "main.dart",
            _ => "prog",
        };
        let text: String = (1..=LINES).map(|line| format!("line {line} of it\n")).collect();
        let files = [
            ("toy.txt", text.as_str()),
            ("main.py", ""),
            ("main.go", "package main\n"),
            ("main.dart", ""),
            ("requirements.txt", ""),
            ("CMakeLists.txt", ""),
            ("go.mod", ""),
            ("pubspec.yaml", ""),
        ];
        let checkout = Checkout::with(files, &[stubs.path().to_owned()], trust);
        elf(&checkout.folder.path().join("prog"));
        Self { checkout, log, program, stubs }
    }

    /// One that speaks as lldb does.
    pub(crate) fn lldb(toy: Toy) -> Self {
        Self::new(Script::new("lldb-dap", toy))
    }

    /// Breakpoints on these lines.
    pub(crate) async fn breakpoints(&self, lines: &[u32]) -> Value {
        self.checkout.data(json!({"op": "breakpoints", "file": "toy.txt", "lines": lines})).await
    }

    /// The folder of the scripted adapter.
    pub(crate) fn stubs(&self) -> &std::path::Path {
        self.stubs.path()
    }

    pub(crate) fn launch_args(&self) -> Value {
        json!({"op": "launch", "program": self.program})
    }

    pub(crate) async fn launch(&self) -> Value {
        self.checkout.data(self.launch_args()).await
    }

    /// An operation without arguments.
    pub(crate) async fn op(&self, op: &str) -> Value {
        self.checkout.data(json!({"op": op})).await
    }

    pub(crate) async fn code(&self, op: &str) -> String {
        self.checkout.code(json!({"op": op})).await
    }
}

/// A file that reads like a program and is never run.
pub(crate) fn elf(path: &PathBuf) {
    fs::write(path, b"\x7fELF and nothing more").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The lldb of the scripts.
pub(crate) fn lldb() -> Toy {
    Toy::new(Manner::Lldb)
}

/// Where a report says that the debuggee stands.
pub(crate) fn at(report: &Value) -> (String, String, i64) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = report["frame"]["line"].as_i64().unwrap_or(0);
    (text(&report["state"]), text(&report["reason"]), line)
}

pub(crate) fn place(state: &str, reason: &str, line: i64) -> (String, String, i64) {
    (state.to_owned(), reason.to_owned(), line)
}
