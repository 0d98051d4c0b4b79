//! Clients that others made, as they are.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::support::App;

const LOG: &str = "INFO started\nERROR cannot save\n";

/// Turns a client that is missing into a failure.
const LIVE: &str = "AGENT_TESTS_LIVE";

/// A script of `tests/clients`, to be run by the Python that has the official client; nothing where there is none.
pub(crate) fn python(script: &str) -> Option<Command> {
    let python = tool("mcp/bin/python")?;
    let mut command = Command::new(python);
    command.arg(scripts().join(script)).env("PYTHONDONTWRITEBYTECODE", "1");
    Some(command)
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn tool(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.tools").join(path);
    if path.exists() {
        return Some(path);
    }
    assert!(
        std::env::var_os(LIVE).is_none(),
        "run `cargo xtask setup` first: there is no {path:?}"
    );
    eprintln!("skipped: there is no {path:?}; `cargo xtask setup` installs it");
    None
}

fn scripts() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

fn json_of(output: &Output) -> Value {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}\n{err}"))
}

/// What each of the clients' programs found out, the same from any.
fn expected() -> Value {
    json!({
        "tools": ["log_tail", "log_search", "note_read", "log_rotate_plan", "log_rotate_apply"],
        "found": 2,
        "refused": [true, "invalid_argument: `lines` is a whole number from 1 to 200"],
        "applied": ["applied", "already_applied"],
        "unknown": -32602,
    })
}

// spec: NOTE-09
#[test]
fn the_official_python_client_uses_the_server_in_its_modern_mode() {
    let Some(mut client) = python("client.py") else { return };
    // Long enough that the search says how far it is.
    let log = format!("{LOG}{}", "INFO x\n".repeat(400_000));
    let app = App::with_log(&log);
    let output = client.arg(env!("CARGO_BIN_EXE_notes-mcp")).arg(app.root()).output();
    let mut expected = expected();
    expected["version"] = json!("2026-07-28");
    expected["found"] = json!(400_002);
    expected["progress"] = json!([[1_048_576, log.len()], [2_097_152, log.len()]]);
    assert_eq!(json_of(&output.expect("it starts")), expected);
    assert_eq!(app.read("app/logs/app.log.1"), log.as_bytes());
}

// spec: NOTE-09
#[test]
fn the_official_typescript_client_finds_the_revision_by_itself() {
    let Some(node) = tool("mcp-npm/node_modules/node/bin/node") else { return };
    let Some(packages) = tool("mcp-npm") else { return };
    let app = App::with_log(LOG);
    let output = Command::new(node)
        .args(["--input-type=module", "-", env!("CARGO_BIN_EXE_notes-mcp")])
        .arg(app.root())
        // Packages are looked for from the folder that a script on standard input is run in.
        .current_dir(packages)
        .stdin(File::open(scripts().join("client.mjs")).expect("the script"))
        .output();
    let mut expected = expected();
    expected["old"] = json!([-32022, ["2026-07-28"]]);
    assert_eq!(json_of(&output.expect("it starts")), expected);
    assert_eq!(app.read("app/logs/app.log.1"), LOG.as_bytes());
}

// spec: NOTE-08, NOTE-09
#[test]
fn the_inspector_plans_in_one_process_and_applies_in_the_next() {
    let Some(node) = tool("mcp-npm/node_modules/node/bin") else { return };
    let Some(inspector) = tool("mcp-npm/node_modules/.bin/mcp-inspector") else { return };
    let app = App::with_log(LOG);
    let server = json!({
        "type": "stdio",
        "command": env!("CARGO_BIN_EXE_notes-mcp"),
        "args": ["--root", app.root()],
        "protocolEra": "modern",
    });
    app.write("inspector.json", json!({"mcpServers": {"notes": server}}).to_string());
    let known = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([node].into_iter().chain(std::env::split_paths(&known)));
    let path = path.expect("a search path");
    // It starts a server of its own for each call.
    let call = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(&inspector);
        command
            .env("PATH", &path)
            .env("HOME", app.root())
            .env("MCP_INSPECTOR_SECRET_STORE", "memory");
        command.args(["--cli", "--config"]).arg(app.path("inspector.json"));
        command.args(["--server", "notes", "--format", "json", "--method", "tools/call"]);
        command.args(["--tool-name", name]);
        for argument in arguments {
            command.args(["--tool-arg", argument]);
        }
        let output = command.output().expect("it starts");
        (output.status.code(), json_of(&output)["result"].take())
    };
    let (code, plan) = call("log_rotate_plan", &[]);
    assert_eq!(code, Some(0), "{plan}");
    let id = plan["structuredContent"]["plan_id"].as_str().expect("an id");
    let argument = format!("plan_id={id}");
    let outcomes = [(); 2].map(|()| {
        let (code, applied) = call("log_rotate_apply", &[&argument]);
        (code, applied["structuredContent"]["status"].clone())
    });
    assert_eq!(outcomes, [(Some(0), json!("applied")), (Some(0), json!("already_applied"))]);
    // 5 is what it ends with where a tool refused.
    let (code, refused) = call("note_read", &["name=../secret"]);
    assert_eq!((code, &refused["isError"]), (Some(5), &json!(true)));
    assert_eq!(fs::read(app.path("app/logs/app.log.1")).expect("the archive"), LOG.as_bytes());
}
