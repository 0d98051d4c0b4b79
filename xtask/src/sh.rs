//! Running programs, with what was run said when it fails.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// How often an install is tried, and how long it waits in between.
const INSTALL_TRIES: u32 = 4;
const INSTALL_PAUSE: Duration = Duration::from_secs(10);

/// The workspace's folder.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or_else(|| manifest.to_owned(), Path::to_owned)
}

/// A command of `program` with these arguments.
pub fn command<'a>(program: &str, args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    command
}

/// `cargo` as this program was started by it.
pub fn cargo<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), args)
}

/// Builds `agent-run` and gives back where cargo put it: its configuration and its environment may name another folder
/// than `target`.
pub fn built<'a>(more: impl IntoIterator<Item = &'a str>) -> Result<PathBuf> {
    let build = [
        "build",
        "--quiet",
        "--package",
        "agent-run",
        "--message-format",
        "json-render-diagnostics",
    ];
    let messages = output(&mut cargo(build.into_iter().chain(more)))?;
    executable(&messages, "agent-run").context("cargo named no program `agent-run`")
}

/// The program of a target, from what cargo says while it builds.
pub fn executable(messages: &str, target: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == target)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// Runs a command with its output passed through.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Runs a command and gives back its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} printed no UTF-8"))
}

/// Runs an installer, again where a registry did not answer.
pub fn install(command: &mut Command) -> Result<()> {
    for attempt in 1..INSTALL_TRIES {
        match run(command) {
            Ok(()) => return Ok(()),
            Err(error) => eprintln!("try {attempt} of {INSTALL_TRIES}: {error:#}"),
        }
        thread::sleep(INSTALL_PAUSE * attempt);
    }
    run(command)
}

/// The files below `folder`, sorted, without hidden ones and those that are built.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = folder.read_dir().with_context(|| format!("cannot list {folder:?}"))?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with('.') || name == "target" || name == "node_modules" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Does one step of a chore and says how many minutes it took.
pub fn timed(name: &str, step: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("\n== {name}");
    let begun = Instant::now();
    step().with_context(|| format!("the step `{name}` failed"))?;
    eprintln!("== {name}: {:.1} minutes", begun.elapsed().as_secs_f64() / 60.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_where_cargo_says_that_it_built_it() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"agent_tiers"},"executable":null}
not JSON
{"reason":"compiler-artifact","target":{"name":"agent-run"},"executable":"/elsewhere/x/debug/agent-run"}
{"reason":"build-finished","success":true}"#;
        let found = executable(messages, "agent-run");
        assert_eq!(found.as_deref(), Some(Path::new("/elsewhere/x/debug/agent-run")));
        assert_eq!(executable(messages, "agent_tiers"), None);
    }
}
