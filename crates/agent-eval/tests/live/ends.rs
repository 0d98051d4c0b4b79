//! Nothing of an interpreter outlives it: counted.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    time::Duration,
};

use agent_eval::{Cell, outcome::Status};
use agent_testkit::processes::{descendants, gone};

use crate::session::Session;

/// A child, a grandchild, and one that left the group.
const FAMILY: &str = "import subprocess
a = subprocess.Popen(['sleep', '600'])
b = subprocess.Popen(['sh', '-c', 'sleep 601 & sleep 602'])
c = subprocess.Popen(['sh', '-c', 'sleep 603'], start_new_session=True)
import time; time.sleep(0.3)";

const FAMILY_JS: &str = "const { spawn } = require('child_process')
spawn('sleep', ['604']); spawn('sh', ['-c', 'sleep 605 & sleep 606'])
await new Promise(r => setTimeout(r, 300))";

pub(crate) async fn nothing_is_left_after_a_reset_a_close_or_a_drop() {
    let session = Session::new();
    for end in ["reset", "close", "drop"] {
        session.run(FAMILY).await;
        session.js(FAMILY_JS).await;
        let family = descendants();
        assert!(family.len() >= 11, "two supervisors, two kernels, their children: {family:?}");
        match end {
            "reset" => {
                let fresh = session.cell(Cell::new("1").reset()).await;
                assert_eq!(fresh.status, Status::Ok);
                session
                    .cell(Cell::new("1").language(agent_eval::Language::JavaScript).reset())
                    .await;
                let new = descendants();
                gone(&family.difference(&new).copied().collect());
                assert_eq!(new.len(), 4, "{new:?}");
            }
            "close" => {
                session.interpreters.close().await;
                gone(&family);
            }
            _ => break,
        }
    }
    let family = descendants();
    drop(session);
    gone(&family);
}

pub(crate) async fn nothing_is_left_while_c_code_holds_the_lock() {
    let session = Session::new();
    session.run("import ctypes").await;
    let cx = session.tools.context();
    let cell = session.interpreters.run(Cell::new("ctypes.PyDLL(None).sleep(600)"), &cx);
    assert!(tokio::time::timeout(Duration::from_millis(500), cell).await.is_err());
    let family: BTreeSet<_> = descendants();
    drop(session);
    gone(&family);
}

pub(crate) async fn nothing_is_left_after_a_crash() {
    let session = Session::new();
    session.run(FAMILY).await;
    let family = descendants();
    let died = session.run("import os; os.kill(os.getpid(), 9)").await;
    assert_eq!(died.status, Status::Died);
    assert!(died.death.unwrap().contains("SIGKILL"));
    gone(&family);
}

/// Set in this program where it is the one that is killed.
pub(crate) const HOST: &str = "AGENT_EVAL_TEST_HOST";

/// Starts a family in both languages, says so, and waits to be killed.
pub(crate) fn be_host() -> ! {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let session = Session::new();
        session.run(FAMILY).await;
        session.js(FAMILY_JS).await;
        std::io::stdout().write_all(b"ready\n").unwrap();
        std::future::pending::<()>().await;
    });
    std::process::exit(0)
}

pub(crate) async fn nothing_is_left_after_the_program_is_killed() {
    let program = std::env::current_exe().unwrap();
    let mut host = Command::new(program).env(HOST, "1").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(host.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let family = descendants();
    assert!(family.len() >= 12, "{family:?}");
    host.kill().unwrap();
    host.wait().unwrap();
    gone(&family);
}
