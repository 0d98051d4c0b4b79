//! The official SDKs' servers, in both revisions. `cargo xtask setup` installs them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use agent_mcp::{Bridge, ServerConfig, ServerTrust, Servers};
use agent_tool_core::{ErrorKind, Event, Reply, Tier};
use serde_json::json;

use crate::support::{Bed, Person, Watcher, call, context, tool};

/// The major versions of each SDK, by the folder of its packages, with the revision that they come to.
const PYTHON: [(&str, &str); 2] =
    [("mcp-servers-python", "2026-07-28"), ("mcp-servers-python-1", "2025-11-25")];
const TYPESCRIPT: [(&str, &str, &str); 2] = [
    ("mcp-servers-node", "typescript.mjs", "2026-07-28"),
    ("mcp-servers-node-1", "typescript-1.mjs", "2025-11-25"),
];

/// What of it all is not installed.
pub(crate) fn missing() -> Option<String> {
    let folders = PYTHON.iter().map(|(folder, _)| folder);
    let mut folders = folders.chain(TYPESCRIPT.iter().map(|(folder, ..)| folder));
    let absent = folders.find(|folder| !tools().join(folder).join("installed.txt").exists())?;
    Some(format!("{absent} is not installed; run `cargo xtask setup`"))
}

fn tools() -> PathBuf {
    root().join(".tools")
}

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

fn fixture(name: &str) -> String {
    root().join("fixtures/mcp").join(name).to_str().unwrap().to_owned()
}

fn python(folder: &str) -> ServerConfig {
    let program = tools().join(folder).join("bin/python");
    ServerConfig::new(program.to_str().unwrap()).args([fixture("python.py")])
}

fn typescript(folder: &str, script: &str) -> ServerConfig {
    let packages = tools().join(folder).to_str().unwrap().to_owned();
    ServerConfig::new("node").args([fixture(script), packages])
}

async fn bridge(bed: &Bed, config: ServerConfig) -> Bridge {
    let path = bed.folder.path().to_str().unwrap();
    let config = config.env("AGENT_MCP_TEST", path).trust(ServerTrust::Trusted);
    bed.bridge(Servers::default().with("live", config)).await
}

async fn adds_and_fails(bridge: &Bridge, revision: &str) {
    let [report] = bridge.reports() else { panic!() };
    assert_eq!(
        (report.revision.as_deref(), report.why.as_deref()),
        (Some(revision), None),
        "{report:?}"
    );
    assert_eq!(report.remarks, [""; 0], "{revision}");
    let output = call(bridge, "mcp__live__add", json!({"a": 2, "b": 3})).await.unwrap();
    assert_eq!(output.data["total"], 5, "{output:?}");
    let error = call(bridge, "mcp__live__fails", json!({})).await.unwrap_err();
    assert_eq!(error.code, "mcp_tool_failed", "{error:?}");
    assert!(error.message.contains("fails"), "{error}");
    let error = call(bridge, "mcp__live__add", json!({"a": "x", "b": 1})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgs);
}

pub(crate) async fn the_python_sdks_server_in_both_revisions() {
    for (folder, revision) in PYTHON {
        let bed = Bed::new();
        let bridge = bridge(&bed, python(folder)).await;
        adds_and_fails(&bridge, revision).await;
        let watcher = Arc::new(Watcher::default());
        let cx = context("c", watcher.clone());
        let output = tool(&bridge, "mcp__live__counts").call(json!({}), &cx).await.unwrap();
        assert!(output.joined_text().ends_with("counted"));
        let told = watcher.0.lock().unwrap().clone();
        let is_second =
            |event: &Event| matches!(event, Event::Progress { done: Some(2), total: Some(2), .. });
        assert!(told.iter().any(is_second), "{told:?}");
        bridge.close().await;
        assert_eq!(bed.processes(), [0; 0]);
    }
}

pub(crate) async fn the_typescript_sdks_server_in_both_revisions() {
    for (folder, script, revision) in TYPESCRIPT {
        let bed = Bed::new();
        let bridge = bridge(&bed, typescript(folder, script)).await;
        adds_and_fails(&bridge, revision).await;
        // It says that adding changes nothing, and its person trusts it.
        assert_eq!(tool(&bridge, "mcp__live__add").spec().tier, Tier::Read);
        assert_eq!(tool(&bridge, "mcp__live__fails").spec().tier, Tier::Exec);
        bridge.close().await;
        assert_eq!(bed.processes(), [0; 0]);
    }
}

pub(crate) async fn the_python_sdks_server_asks_a_person() {
    for (folder, _) in PYTHON {
        for (answer, said) in [(Reply::option("yes"), "accept True"), (Reply::Skipped, "decline")] {
            let person = Person::new(move |_| Some(answer.clone()));
            let bed = Bed::new().person(&person);
            let bridge = bridge(&bed, python(folder)).await;
            let output = call(&bridge, "mcp__live__asks", json!({})).await.unwrap();
            assert!(output.joined_text().ends_with(said), "{folder}: {output:?}");
            let card = person.seen.lock().unwrap()[0].clone();
            assert!(card.body.contains("> Are you sure?"), "{}", card.body);
        }
    }
}
