//! Runs fixture cases: the integration programs, filtered; or cells of a file against the built program.

use std::{path::Path, process::Command};

use anyhow::{Context, Result};

use crate::{features, setup, sh};

/// What `crates/agent-eval/tests/cells` reads.
const PROGRAM: &str = "AGENT_TESTS_PROGRAM";
const CELLS: &str = "AGENT_TESTS_CELLS";

pub fn fixtures(args: &[&str]) -> Result<()> {
    if let ["--cells", file, filters @ ..] = args {
        return cells(Path::new(file), filters);
    }
    let all = features::everything();
    let mut command: Command =
        sh::cargo(["test", "--workspace", "--features", &all, "--test", "it"]);
    let (flags, filters): (Vec<&str>, Vec<&str>) =
        args.iter().partition(|arg| arg.starts_with("--"));
    if flags.contains(&"--bless") {
        command.env("AGENT_TESTS_BLESS", "1");
    }
    if flags.contains(&"--live") {
        command.env("AGENT_TESTS_LIVE", "1");
    }
    command.arg("--").args(filters);
    sh::run(&mut command)
}

/// Judges a file in the format of `fixtures/eval/cells.json` against a built `agent-run`.
fn cells(file: &Path, filters: &[&str]) -> Result<()> {
    setup::setup()?;
    let file = file.canonicalize().with_context(|| format!("{}", file.display()))?;
    let program = sh::built(["--features", &features::everything()])?;
    let mut command = sh::cargo(["test", "--package", "agent-eval", "--test", "cells", "--"]);
    sh::run(command.args(filters).env(PROGRAM, program).env(CELLS, file))
}
