//! One trial for each cell of the fixtures, with the real interpreters. `cargo xtask setup` installs them.

#![expect(clippy::unwrap_used, reason = "a trial that cannot be set up has failed")]

mod case;
mod harness;
mod judge;
mod program;

use std::{env, path::PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Builder;

use crate::case::Case;

/// Set where every interpreter must be there.
const LIVE: &str = "AGENT_TESTS_LIVE";

/// Names a built `agent-run` to run the cells in, in the place of this program: `cargo xtask fixtures --cells FILE.json`.
const PROGRAM: &str = "AGENT_TESTS_PROGRAM";

// spec: EVAL-01, EVAL-03, EVAL-04, EVAL-05, EVAL-07, EVAL-09
fn main() {
    agent_process::guard::main_if_asked();
    let arguments = Arguments::from_args();
    let ready = harness::python().exists() || env::var_os(LIVE).is_some();
    let trials = case::all().into_iter().map(|(kind, case)| {
        let name = format!("{}::{}", case.language, case.id);
        Trial::test(name, move || judged(&case)).with_kind(kind).with_ignored_flag(!ready)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn judged(case: &Case) -> Result<(), Failed> {
    let data = match env::var_os(PROGRAM) {
        Some(program) => program::run(&PathBuf::from(program), case),
        None => Builder::new_current_thread().enable_all().build()?.block_on(harness::run(case)),
    };
    match judge::judge(&case.expect, case.max_ms, &data).as_slice() {
        [] => Ok(()),
        faults => Err(faults.join("\n").into()),
    }
}
