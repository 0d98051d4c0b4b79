//! The tools of this workspace are no MCP tools: whoever serves what a run bridges in serves none of them.
//!
//! The server is this program, run again: it makes a registry as a run does, with a scripted server bridged in, and serves the bridged
//! set over standard input and output. There is no such server outside of this test.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]
#![expect(clippy::print_stderr, reason = "a test program says why it leaves something out")]

mod server;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use agent_mcp::{Bridge, ServerConfig, Servers};
use agent_process::{Guard, Launcher};
use libtest_mimic::{Arguments, Trial};
use serde_json::Value;

fn main() {
    agent_process::guard::main_if_asked();
    agent_testkit::mcp::main_if_asked();
    if env::var_os(server::FOLDER).is_some() {
        return server::run();
    }
    let python = tools().join("mcp-servers-python/bin/python");
    let missing = !python.exists();
    if missing {
        eprintln!("the official client is not installed; run `cargo xtask setup`");
    }
    let live = env::var_os("AGENT_TESTS_LIVE").is_some_and(|live| live == "1");
    let trials = vec![
        Trial::test("a_client_sees_the_bridged_tools_and_none_of_ours", || {
            a_client_sees_the_bridged_tools_and_none_of_ours();
            Ok(())
        }),
        Trial::test("the_official_client_sees_the_bridged_tools_and_none_of_ours", move || {
            the_official_client_sees_the_bridged_tools_and_none_of_ours(&python);
            Ok(())
        })
        .with_ignored_flag(missing && !live),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// What the server's bridged set has.
const BRIDGED: [&str; 2] = ["mcp__outside__look", "mcp__outside__touch"];

// spec: TIER-06
fn a_client_sees_the_bridged_tools_and_none_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let program = env::current_exe().unwrap();
        let config = ServerConfig::new(program.to_str().unwrap());
        let config = config.env(server::FOLDER, folder.path().to_str().unwrap());
        let launcher = Launcher::new(Guard::new());
        let servers = Servers::default().with("run", config);
        let bridge = Bridge::builder(launcher, folder.path()).connect(servers).await;
        let [report] = bridge.reports() else { panic!() };
        let listed: Vec<_> = report.tools.iter().map(|tool| tool.own_name.as_str()).collect();
        assert_eq!(listed, BRIDGED, "{report:?}");
        bridge.close().await;
    });
    the_run_has_tools_of_its_own(folder.path());
}

// spec: TIER-06
fn the_official_client_sees_the_bridged_tools_and_none_of_ours(python: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let script = root().join("fixtures/mcp/list.py");
    let output = Command::new(python)
        .args([script.as_os_str(), env::current_exe().unwrap().as_os_str()])
        .env(server::FOLDER, folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let listed: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    assert_eq!(listed["tools"], serde_json::json!(BRIDGED), "{errors}");
    assert_eq!(
        listed["called"], "[\"mcp__outside__look\"] {\"a\":1}",
        "a call goes through the registry"
    );
    the_run_has_tools_of_its_own(folder.path());
}

/// Without them the test would prove nothing.
fn the_run_has_tools_of_its_own(folder: &Path) {
    let registry = fs::read_to_string(folder.join(server::REGISTRY)).unwrap();
    for ours in ["read", "write", "apply_patch", "ast_grep", "resolve"] {
        assert!(registry.lines().any(|name| name == ours), "{registry}");
    }
    assert!(BRIDGED.iter().all(|name| registry.lines().any(|known| known == *name)), "{registry}");
}

fn tools() -> PathBuf {
    root().join(".tools")
}

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}
