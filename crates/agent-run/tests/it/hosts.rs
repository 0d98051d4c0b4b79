//! The hosts of `fixtures/hosts` own a run, and every line of both sides is as the schema says.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Deserialize;

use crate::{
    home::{Home, fixtures},
    peer::{Said, Side},
    schema::Checker,
};

/// A host does so many steps, each of which says that it was right.
const STEPS: usize = 12;

/// So many are those of the one that debugs.
const DEBUG_STEPS: usize = 11;

/// What every host sends and gets that tries all of a run.
const KINDS: [&str; 4] =
    ["request:initialize", "request:card/present", "request:host/call", "request:worker/run"];

#[derive(Deserialize)]
struct Recorded {
    side: Side,
    line: String,
}

/// A program that is `agent-run` with a recorder before it.
fn recorded_program(home: &Home, record: &Path) -> PathBuf {
    let program = home.home.path().join("agent-run");
    let recorder = fixtures().join("hosts/record.py");
    let text = format!(
        "#!/bin/sh\nexec python3 '{}' '{}' '{}' \"$@\"\n",
        recorder.display(),
        record.display(),
        env!("CARGO_BIN_EXE_agent-run")
    );
    fs::write(&program, text).expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
    program
}

/// Runs a host to its end, holds it to so many right steps, and gives back which kinds of messages went both ways.
fn run_host(home: &Home, mut command: Command, steps: usize) -> BTreeSet<String> {
    let record = home.home.path().join("record.jsonl");
    command.arg(recorded_program(home, &record)).arg(home.checkout.path());
    home.adopt(&mut command);
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let right = |line: &&str| line.contains("\"ok\": true") || line.contains("\"ok\":true");
    assert_eq!(said.lines().filter(right).count(), steps, "{said}");
    let text = fs::read_to_string(record).expect("a record");
    let record: Vec<Said> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of the record"))
        .map(|Recorded { side, line }| Said { side, line })
        .collect();
    Checker::new().check(&record)
}

fn assert_kinds(kinds: &BTreeSet<String>) {
    for kind in KINDS {
        assert!(kinds.contains(kind), "{kind} was not recorded: {kinds:?}");
    }
}

fn python(script: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg(fixtures().join("hosts/python").join(script)).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

#[test]
fn a_host_in_python_owns_a_run() {
    let home = Home::example();
    assert_kinds(&run_host(&home, python("host.py"), STEPS));
}

#[test]
fn a_host_in_python_debugs_a_program_to_its_end() {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/debugpy/bin");
    if !tools.exists() {
        assert!(
            std::env::var_os("AGENT_TESTS_LIVE").is_none(),
            "run `cargo xtask setup` first: there is no debugpy"
        );
        eprintln!("skipped: there is no debugpy; `cargo xtask setup` installs it");
        return;
    }
    let home = Home::new(&[]);
    let mut folders = vec![tools];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut command = python("debug.py");
    command.env("PATH", std::env::join_paths(folders).expect("folders"));
    let kinds = run_host(&home, command, DEBUG_STEPS);
    assert!(kinds.contains("request:card/present"), "nobody was asked: {kinds:?}");
}

#[test]
fn a_host_says_which_checkout_it_needs() {
    let home = Home::new(&[]);
    let mut command = python("host.py");
    command.arg(env!("CARGO_BIN_EXE_agent-run")).arg(home.checkout.path());
    home.adopt(&mut command);
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
    assert!(said.contains("/web; give a copy of fixtures/projects/example"), "{said}");
}

#[test]
fn a_host_in_typescript_owns_a_run() {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/npm/node_modules");
    let compiler = tools.join(".bin/tsc");
    if !compiler.exists() {
        assert!(
            std::env::var_os("AGENT_TESTS_LIVE").is_none(),
            "run `cargo xtask setup` first: there is no tsc"
        );
        eprintln!("skipped: there is no tsc; `cargo xtask setup` installs it");
        return;
    }
    let home = Home::example();
    let out = home.home.path().join("out");
    let project = fixtures().join("hosts/typescript");
    let mut compile = Command::new(compiler);
    compile
        .arg("-p")
        .arg(&project)
        .arg("--outDir")
        .arg(&out)
        .arg("--typeRoots")
        .arg(tools.join("@types"));
    let compiled = compile.output().expect("it starts");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));
    fs::copy(project.join("package.json"), out.join("package.json")).expect("a copy");
    let mut command = Command::new("node");
    command.arg(out.join("host.js"));
    assert_kinds(&run_host(&home, command, STEPS));
}
