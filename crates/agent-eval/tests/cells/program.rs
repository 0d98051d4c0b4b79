//! The same cases against a built `agent-run`: this is the harness that owns a run over `serve`, with tools of its own that echo.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use regex::Regex;
use serde_json::{Value, json};

use crate::{case::Case, harness};

/// A run of the program.
struct Served {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
}

/// The data of the last cell.
pub(crate) fn run(program: &Path, case: &Case) -> Value {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [folder, home] = &folders;
    for (name, text) in &case.files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let settings = home.path().join("agent-run");
    fs::create_dir_all(&settings).unwrap();
    // The program's configuration knows whole seconds.
    let idle = case.idle_ms().unwrap_or(20_000).div_ceil(1000);
    let text = format!("[eval]\npython = {:?}\nidle_seconds = {idle}\n", harness::python());
    fs::write(settings.join("config.toml"), text).unwrap();
    let mut served = Served::start(program, case, home.path());
    served.request("initialize", &json!({
        "versions": [1], "client": {"name": "cells"}, "roots": [folder.path()], "approve": "all",
        "tools": tools(case),
    }));
    let mut data = Value::Null;
    for (number, cell) in case.cells.iter().enumerate() {
        let args =
            json!({"code": cell, "description": "a cell of a case", "language": case.language});
        let call = json!({"call_id": format!("cell_{number}"), "name": "eval", "args": args});
        let result = served.request("run/call", &call);
        assert!(result["ok"] == true, "{result}");
        data = result["data"].clone();
    }
    served.request("run/shutdown", &json!({}));
    data
}

/// The tools that the cells call by name.
fn tools(case: &Case) -> Vec<Value> {
    let call = Regex::new(r#"tool(?:, |\()['"](\w+)['"]"#).unwrap();
    let cells = case.cells.iter().flat_map(|cell| call.captures_iter(cell));
    let names: BTreeSet<String> =
        cells.map(|found| found[1].to_owned()).filter(|name| name != "eval").collect();
    let spec = |name| {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": true});
        json!({"name": name, "description": "echoes", "tier": "read", "parallel": true, "input_schema": schema})
    };
    names.into_iter().map(spec).collect()
}

impl Served {
    fn start(program: &Path, case: &Case, home: &Path) -> Self {
        let mut child = Command::new(program)
            .arg("serve")
            .env("XDG_CONFIG_HOME", home)
            .env("XDG_STATE_HOME", home)
            .env_remove("VIRTUAL_ENV")
            .envs(&case.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, last: 0 }
    }

    /// Sends a request and serves the run's own calls until the answer is there.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the program ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "host/call" {
                let result = echo(&message["params"]);
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            } else if message["id"] == id && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }
}

fn echo(params: &Value) -> Value {
    if params["name"] == "fail" {
        return json!({"ok": false, "error": {"kind": "failed", "code": "nope", "message": "nope"}});
    }
    json!({"ok": true, "parts": [], "data": {"args": params["args"], "tool": params["name"]}})
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
