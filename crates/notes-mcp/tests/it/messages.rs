//! Every line that the server can write, held to the official client's models and to the official schema.

use std::{collections::BTreeSet, fs, io::Write, process::Stdio};

use jsonschema::Validator;
use notes_mcp::{
    Clock, NotesTools,
    protocol::{Call, Identity, Tools},
};
use serde_json::{Map, Value, json};

use crate::{
    clients,
    peer::{Peer, call, request, watched},
    support::{App, StubClock, make_pipe},
};

/// Names the official schema of the revision, where it is at hand.
const SCHEMA: &str = "AGENT_TESTS_MCP_SCHEMA";

/// A line, and the method that it answers.
struct Said {
    asked: Option<&'static str>,
    message: Value,
}

/// Every kind of line that there is: the tools' results, the refusals (but for `log_unreadable`, which takes another user and
/// is no other line than these), and the faults.
const KINDS: &[&str] = &[
    "-32022",
    "-32600",
    "-32601",
    "-32602",
    "-32603",
    "-32700",
    "archive_exists",
    "invalid_argument",
    "io_error",
    "log_changed",
    "log_not_found",
    "log_not_regular",
    "log_rotate_apply",
    "log_rotate_plan",
    "log_search",
    "log_tail",
    "not_a_file",
    "note_not_found",
    "note_read",
    "nothing_to_rotate",
    "notifications/progress",
    "outside_notes",
    "plan_expired",
    "plan_not_found",
    "rotation_in_progress",
    "server/discover",
    "too_many_archives",
    "too_many_plans",
    "tools/list",
];

// spec: NOTE-09
#[test]
fn every_line_is_as_the_official_models_say_and_every_kind_is_seen() {
    let (said, kinds) = session();
    assert_eq!(kinds, KINDS.iter().map(|kind| (*kind).to_owned()).collect());
    let Some(mut python) = clients::python("models.py") else { return };
    let child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("it starts");
    let mut input = child.stdin.take().expect("its input");
    for Said { asked, message } in &said {
        // It may have found a fault, and says so at its end.
        let _ = writeln!(input, "{}", json!({"asked": asked, "message": message}));
    }
    drop(input);
    let output = child.wait_with_output().expect("an end");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        printed.trim(),
        said.len().to_string(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

// spec: NOTE-09
#[test]
fn every_line_is_as_the_official_schema_says() {
    let Some(path) = std::env::var_os(SCHEMA) else {
        eprintln!("skipped: {SCHEMA} names no schema");
        return;
    };
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let schema: Value = serde_json::from_str(&text).expect("a schema");
    let named = |name: &str| -> Validator {
        let mut schema = schema.clone();
        schema["$ref"] = json!(format!("#/$defs/{name}"));
        jsonschema::draft202012::new(&schema).expect("a schema")
    };
    for Said { asked, message } in session().0 {
        let names: &[&str] = match (asked, message["error"]["code"].as_i64()) {
            (_, Some(-32022)) => &["JSONRPCErrorResponse", "UnsupportedProtocolVersionError"],
            (_, Some(_)) => &["JSONRPCErrorResponse"],
            (Some("server/discover"), _) => &["DiscoverResultResponse"],
            (Some("tools/list"), _) => &["ListToolsResultResponse"],
            (Some(_), _) => &["CallToolResultResponse"],
            (None, _) => &["ProgressNotification", "ServerNotification"],
        };
        for name in names.iter().chain(&["JSONRPCMessage"]) {
            if let Err(error) = named(name).validate(&message) {
                panic!("{error} of {name}: {message}");
            }
        }
    }
}

// spec: NOTE-01, NOTE-02, NOTE-03, NOTE-04, NOTE-05
#[test]
fn every_result_is_as_the_schema_of_its_tool_says_and_its_text_is_the_same_data() {
    let app = App::new();
    let tools = app.tools().list();
    let mut seen = BTreeSet::new();
    for Said { message, .. } in session().0 {
        let result = &message["result"];
        let Some(data) = result.get("structuredContent") else { continue };
        // Nothing in a result says which tool it is of, and each fits the schema of one.
        let fits = tools
            .iter()
            .filter(|tool| jsonschema::draft202012::is_valid(&tool["outputSchema"], data));
        let names: Vec<&str> = fits.filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names.len(), 1, "{data} fits {names:?}");
        seen.insert(names[0].to_owned());
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert_eq!(&serde_json::from_str::<Value>(text).expect("the same data"), data);
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}

/// Speaks with servers until each kind of line was there.
fn session() -> (Vec<Said>, BTreeSet<String>) {
    let mut record = Record::default();
    looking(&mut record);
    rotating(&mut record);
    faults(&mut record);
    (record.said, record.kinds)
}

#[derive(Default)]
struct Record {
    said: Vec<Said>,
    kinds: BTreeSet<String>,
}

impl Record {
    /// Sends a request and writes down all that comes of it.
    fn ask(&mut self, peer: &mut Peer, asked: &'static str, request: &Value) -> Value {
        peer.send(request);
        loop {
            let message = peer.next();
            let over = message.get("method").is_none();
            self.hear(over.then_some(asked), message.clone(), request);
            if over {
                return message;
            }
        }
    }

    fn call(&mut self, peer: &mut Peer, name: &str, arguments: Value) -> Value {
        self.ask(peer, "tools/call", &call(1, name, arguments))["result"].take()
    }

    fn hear(&mut self, asked: Option<&'static str>, message: Value, request: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let refused = message["result"]["isError"] == true;
        self.kinds.insert(match asked {
            _ if message.get("error").is_some() => message["error"]["code"].to_string(),
            None => text(&message["method"]),
            Some("tools/call") if refused => {
                let said = text(&message["result"]["content"][0]["text"]);
                said.split(':').next().unwrap_or_default().to_owned()
            }
            Some("tools/call") => text(&request["params"]["name"]),
            Some(method) => method.to_owned(),
        });
        self.said.push(Said { asked, message });
    }
}

/// What the tools that look say, of a log and notes as odd as they can be.
fn looking(record: &mut Record) {
    let app = App::new();
    let mut peer = Peer::of_tools(app.tools());
    record.ask(&mut peer, "server/discover", &request(1, "server/discover", json!({})));
    record.ask(&mut peer, "tools/list", &request(1, "tools/list", json!({})));
    record.call(&mut peer, "log_tail", json!({}));
    app.write(
        "app/logs/app.log",
        b"\xff\xfe\0 ERROR\r\n\"quoted\" \\ \xe2\x80\xa8\n".repeat(100_000),
    );
    record.call(&mut peer, "log_tail", json!({"lines": 200}));
    record.call(&mut peer, "log_tail", json!({"level": "DEBUG"}));
    let search = call(1, "log_search", json!({"text": "none"}));
    record.ask(&mut peer, "tools/call", &watched(search.clone(), json!("a token")));
    record.ask(&mut peer, "tools/call", &watched(search, json!(7)));
    record.call(&mut peer, "log_search", json!({"text": "quoted"}));
    record.call(&mut peer, "log_search", json!({"text": ""}));
    app.write("app/data/notes/odd.md", b"\xff\0\r\n".repeat(50_000));
    record.call(&mut peer, "note_read", json!({"name": "odd.md"}));
    record.call(&mut peer, "note_read", json!({"name": "none.md"}));
    record.call(&mut peer, "note_read", json!({"name": "../../logs/app.log"}));
    make_pipe(&app.note("pipe"));
    record.call(&mut peer, "note_read", json!({"name": "pipe"}));
    fs::remove_file(app.log()).expect("removed");
    make_pipe(&app.log());
    record.call(&mut peer, "log_tail", json!({}));
}

fn rotating(record: &mut Record) {
    let app = App::with_log("");
    let clock = StubClock::new();
    let mut peer = Peer::of_tools(NotesTools::new(app.site().with_clock(clock.clone())));
    record.call(&mut peer, "log_rotate_plan", json!({}));
    app.append("INFO one\n");
    record.call(&mut peer, "log_rotate_apply", json!({"plan_id": "0123456789abcdef"}));
    let plan = |record: &mut Record, peer: &mut Peer| {
        record.call(peer, "log_rotate_plan", json!({}))["structuredContent"]["plan_id"].take()
    };
    let apply = |record: &mut Record, peer: &mut Peer, id: &Value| {
        record.call(peer, "log_rotate_apply", json!({"plan_id": id}));
    };
    let stale = plan(record, &mut peer);
    apply(record, &mut peer, &json!("0123456789abcdef"));
    app.append("INFO two\n");
    apply(record, &mut peer, &stale);
    let id = plan(record, &mut peer);
    app.write("app/logs/app.log.1", "taken");
    apply(record, &mut peer, &id);
    let id = plan(record, &mut peer);
    apply(record, &mut peer, &id);
    apply(record, &mut peer, &id);
    app.append("INFO three\n");
    let expired = plan(record, &mut peer);
    clock.forward(notes_mcp::PLAN_LIVES);
    assert!(clock.now() > std::time::SystemTime::now());
    apply(record, &mut peer, &expired);
    for n in 3..=5 {
        app.write(&format!("app/logs/app.log.{n}"), "x");
    }
    record.call(&mut peer, "log_rotate_plan", json!({}));
    fs::remove_file(app.path("app/logs/app.log.5")).expect("removed");
    let good = app.read("app/logs/.rotate/plans.json");
    plan(record, &mut peer);
    let mut plans: Value =
        serde_json::from_slice(&app.read("app/logs/.rotate/plans.json")).expect("a record");
    let planned = plans["plans"].as_array().and_then(|plans| plans.last()).expect("a plan").clone();
    plans["plans"] = vec![planned; 1_000].into();
    app.write("app/logs/.rotate/plans.json", plans.to_string());
    record.call(&mut peer, "log_rotate_plan", json!({}));
    app.write("app/logs/.rotate/plans.json", good);
    let lock = fs::File::open(app.path("app/logs/.rotate/lock")).expect("the lock");
    lock.try_lock().expect("nobody holds it");
    record.call(&mut peer, "log_rotate_plan", json!({}));
    drop(lock);
    fs::remove_dir_all(app.path("app/logs/.rotate")).expect("removed");
    app.write("app/logs/.rotate", "no folder");
    record.call(&mut peer, "log_rotate_plan", json!({}));
}

/// A tool that fails inside, since none of the five does.
struct Fails;

impl Tools for Fails {
    fn identity(&self) -> Identity<'_> {
        Identity { name: "fails", version: "1", instructions: "" }
    }

    fn list(&self) -> Vec<Value> {
        Vec::new()
    }

    fn call(&self, _: &str, _: &Map<String, Value>, _: &Call) -> Option<Result<Value, String>> {
        panic!("as this test wants")
    }
}

fn faults(record: &mut Record) {
    let app = App::new();
    let mut peer = Peer::of_tools(app.tools());
    for line in [
        "{nope",
        "[]",
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
        r#"{"jsonrpc":"1.0","id":"text","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
    ] {
        peer.send_bytes(format!("{line}\n").as_bytes());
        let message = peer.next();
        record.hear(Some("tools/list"), message, &Value::Null);
    }
    record.call(&mut peer, "run_command", json!({}));
    record.call(&mut Peer::of_tools(Fails), "fails", json!({}));
}
