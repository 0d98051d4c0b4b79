//! Runs fixture cases: the integration programs, filtered.

use std::process::Command;

use anyhow::Result;

use crate::{features, sh};

pub fn fixtures(args: &[&str]) -> Result<()> {
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
