//! Every test, with nothing skipped.

use anyhow::Result;

use crate::{
    features, setup,
    sh::{self, timed},
};

/// Turns a live case whose program is missing into a failure.
const LIVE: (&str, &str) = ("AGENT_TESTS_LIVE", "1");

pub fn test() -> Result<()> {
    let program = features::everything();
    let all = features::of_workspace();
    timed("setup", setup::setup)?;
    timed("build", || {
        // Tests across programs start the real binary, so it is built before they run.
        sh::run(&mut sh::cargo(["build", "--package", "agent-run", "--features", &program]))?;
        sh::run(&mut sh::cargo(["test", "--workspace", "--no-run", "--features", &all]))
    })?;
    timed("test", || {
        let args = ["test", "--workspace", "--all-targets", "--no-fail-fast", "--features", &all];
        sh::run(sh::cargo(args).env(LIVE.0, LIVE.1))
    })?;
    // The examples of the documentation come last, with nothing printed after them: the run closes
    // on the test runner's own summary.
    sh::run(sh::cargo(["test", "--workspace", "--doc", "--features", &all]).env(LIVE.0, LIVE.1))
}
