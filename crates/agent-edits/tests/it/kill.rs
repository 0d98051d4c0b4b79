//! The process is killed before the n-th file operation, for every n of a change of five files.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use agent_edits::{Edits, Operation, RecoveryOutcome};
use agent_workspace::Workspace;

use crate::fixture::{AtNth, Fixture, after_five, five, left_in_state};

const AT: &str = "AGENT_EDITS_TEST_KILL_AT";
const OUTER: &str = "AGENT_EDITS_TEST_KILL_IN";

const NOTHING: [PathBuf; 0] = [];

/// The body of the process that dies; a test without the variables does nothing.
#[test]
fn child() {
    let (Ok(at), Some(outer)) = (env::var(AT), env::var_os(OUTER)) else {
        return;
    };
    let outer = PathBuf::from(outer);
    let workspace = Workspace::open(outer.join("checkout")).unwrap();
    let hook = AtNth::new(|nth, number, _: Operation, _: &Path| {
        if number == nth {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL)?;
        }
        Ok(())
    });
    let edits = Edits::open_with_hook(&workspace, outer.join("state"), hook.clone()).unwrap();
    let plan = five(&workspace);
    hook.arm(at.parse().unwrap());
    edits.apply(&plan).unwrap();
}

/// True when the process ended by itself.
fn run_child(outer: &Path, at: usize) -> bool {
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", "kill::child"])
        .env(AT, at.to_string())
        .env(OUTER, outer)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
    assert!(killed || status.success(), "operation {at}: {status}");
    !killed
}

// spec: AST-09
#[test]
fn a_kill_at_any_operation_is_put_right_by_the_next_start() {
    let mut outcomes = Vec::new();
    for at in 0.. {
        let fixture = Fixture::with_five();
        let before = fixture.tree();
        let after = after_five(&before);
        let ended = run_child(fixture.outer.path(), at);
        let edits = fixture.edits();
        let recovered: Vec<_> =
            edits.recovered().iter().map(|recovery| recovery.outcome.clone()).collect();
        let expected = match recovered.as_slice() {
            [RecoveryOutcome::Undone] => &before,
            [RecoveryOutcome::Finished] => &after,
            // The journal had not begun, or was gone again.
            [] if outcomes.is_empty() => &before,
            [] => &after,
            other => panic!("operation {at}: {other:?}"),
        };
        assert_eq!(&fixture.tree(), expected, "operation {at}: {recovered:?}");
        assert_eq!(left_in_state(&fixture.state()), NOTHING);
        outcomes.extend(recovered);
        if ended {
            break;
        }
    }
    outcomes.dedup();
    assert_eq!(outcomes, [RecoveryOutcome::Undone, RecoveryOutcome::Finished]);
}
