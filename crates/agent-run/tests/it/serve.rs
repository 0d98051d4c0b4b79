//! One run over standard input and output: every message, and every wrong one.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    home::Home,
    peer::Peer,
    schema::{Checker, SCHEMA},
};

/// The longest message, in bytes without its newline.
const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

fn host_tool(name: &str, tier: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    json!({"name": name, "tier": tier, "description": "A tool of the host.", "input_schema": schema})
}

fn respond(peer: &mut Peer, request: &Value, result: Value) {
    peer.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
}

#[test]
fn the_schema_is_printed_as_it_is_kept() {
    let printed = Home::new(&[]).run(&["serve", "--schema"]).stdout;
    assert_eq!(String::from_utf8(printed).expect("UTF-8"), SCHEMA);
}

#[test]
fn every_message_of_a_session_is_as_the_schema_says_and_every_kind_is_seen() {
    let home = Home::new(&[("a.py", "f(1)\n"), (".agent-run.toml", "approve = \"all\"\n")]);
    let mut peer = Peer::start(&home, &[]);
    assert_eq!(peer.refused("run/tools", json!({})), 1, "not_initialized");
    assert_eq!(peer.refused("initialize", json!({"versions": [9], "roots": ["."]})), 2);
    let tools = json!([host_tool("look", "read"), host_tool("change", "write")]);
    let opened = peer.initialize(&home, json!({
        "approve": "ask", "tools": tools, "vibe": true, "capabilities": {"cards": true, "workers": true},
    }));
    assert_eq!(
        opened["capabilities"],
        json!({"tools": 21, "trust": false, "surface": "full", "ceiling": "exec"})
    );
    let log = peer.heard("log");
    assert_eq!(log["params"]["level"], "warn", "what a checkout may not say is said: {log}");

    let view =
        peer.request("view/open", json!({"surface": "plan", "without": ["look", "ask_user"]}));
    let view = view["view"].as_str().expect("a name").to_owned();
    let listed = peer.request("run/tools", json!({"view": view}));
    let names: Vec<_> =
        listed["tools"].as_array().expect("tools").iter().map(|tool| &tool["name"]).collect();
    let looks = names.iter().filter_map(|name| name.as_str());
    let looks: Vec<_> = looks.filter(|name| !name.starts_with("vibe_")).collect();
    assert_eq!(looks, ["read", "search", "ast_grep", "lsp"]);
    peer.request("view/set", json!({"view": view, "surface": "full"}));
    assert_eq!(peer.heard("tools/changed")["params"]["view"], view);
    peer.request("view/close", json!({"view": view}));

    let write = json!({"path": "b.txt", "content": "new\n"});
    let preview = peer.request("run/preview", json!({"name": "write", "args": write}));
    assert_eq!(preview["preview"]["title"], "write: create `b.txt`");
    let refused = peer.request("run/preview", json!({"name": "write", "args": {}}));
    assert_eq!(refused["error"]["code"], "invalid_args");

    // A card that is answered, and the event of the change that follows.
    let call = peer.ask("run/call", json!({"call_id": "w1", "name": "write", "args": write}));
    let card = peer.heard("card/present");
    assert_eq!(peer.request("run/status", json!({}))["cards"], json!(["permission_w1"]));
    respond(&mut peer, &card, json!({"reply": {"type": "chosen", "options": ["allow_once"]}}));
    assert_eq!(peer.answer(call)["result"]["ok"], true);
    let event = peer.heard("call/event");
    assert_eq!(event["params"]["event"]["change"]["after"], json!({"is": "text", "text": "new\n"}));

    // A card that is withdrawn, since its call was cancelled.
    let preview = peer.request("run/preview", json!({"name": "write", "args": write}));
    assert_eq!(preview["preview"]["changes_nothing"], true);
    let write = json!({"path": "b.txt", "content": "newer\n"});
    let call = peer.ask("run/call", json!({"call_id": "w2", "name": "write", "args": write}));
    peer.heard("card/present");
    peer.notify("$/cancel", json!({"call_id": "w2"}));
    let cancelled = &peer.answer(call)["result"]["error"];
    assert_eq!(cancelled["code"], "cancelled");
    let said = "the host cancelled this call of write before it began, so nothing was done";
    assert_eq!(cancelled["message"], said);
    assert_eq!(peer.heard("card/withdrawn")["params"]["id"], "permission_w2");

    // Tools of the host: one that answers, one that fails, one that is cancelled.
    let call = peer.ask("run/call", json!({"call_id": "l1", "name": "look", "args": {}}));
    let asked = peer.heard("host/call");
    respond(&mut peer, &asked, json!({"ok": true, "parts": [{"type": "text", "text": "seen"}]}));
    assert_eq!(peer.answer(call)["result"]["parts"], json!([{"type": "text", "text": "seen"}]));
    let call = peer.ask("run/call", json!({"call_id": "l2", "name": "look", "args": {}}));
    let asked = peer.heard("host/call");
    let error = json!({"code": -32603, "message": "broken"});
    peer.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
    assert_eq!(peer.answer(call)["result"]["error"]["code"], "outcome_unknown");
    let call = peer.ask("run/call", json!({"call_id": "l3", "name": "look", "args": {}}));
    peer.heard("host/call");
    assert_eq!(peer.refused("run/call", json!({"call_id": "l3", "name": "look"})), INVALID_REQUEST);
    peer.notify("$/cancel", json!({"call_id": "l3"}));
    assert_eq!(peer.heard("$/cancel")["params"]["call_id"], "l3");
    assert_eq!(peer.answer(call)["result"]["error"]["kind"], "cancelled");

    // A worker of the host.
    peer.call("v1", "vibe_spawn", json!({"brief": "look", "label": "looker"}));
    let asked = peer.heard("worker/run");
    assert_eq!(peer.request("run/status", json!({}))["workers"][0]["worker_id"], "w1");
    respond(&mut peer, &asked, json!({"ok": true, "parts": [{"type": "text", "text": "seen"}]}));
    let waited = peer.call("v2", "vibe_wait", json!({"worker_id": "w1"}));
    assert_eq!(waited["data"]["result"], "seen");

    peer.notify("files/changed", json!({"paths": ["a.py"]}));
    peer.notify("no/such/notification", json!({}));
    assert_eq!(peer.refused("server/discover", json!({})), METHOD_NOT_FOUND);
    assert_eq!(
        peer.refused("initialize", json!({"versions": [1], "roots": ["."]})),
        INVALID_REQUEST
    );
    peer.request("run/shutdown", json!({}));

    let (status, _, record) = peer.end();
    assert!(status.success(), "{status}");
    let mut checker = Checker::new();
    let seen = checker.check(&record);
    let unseen: Vec<_> = checker.all().difference(&seen).cloned().collect();
    assert_eq!(unseen, [""; 0]);
}

#[test]
fn nonsense_gets_an_honest_error_and_the_run_goes_on() {
    let home = Home::new(&[]);
    let mut peer = Peer::start(&home, &[]);
    for (bytes, code) in [
        (&b"{\"jsonrpc\": \n"[..], PARSE_ERROR),
        (b"\xff\xfe\n", PARSE_ERROR),
        (b"42\n", INVALID_REQUEST),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run/status\"}]\n", INVALID_REQUEST),
        (b"{\"id\":null,\"method\":\"run/status\"}\n", INVALID_REQUEST),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":7}\n", INVALID_REQUEST),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"run/status\"}\n", INVALID_REQUEST),
        (b"{\"jsonrpc\":\"2.0\"}\n", INVALID_REQUEST),
    ] {
        assert_eq!(peer.code_of(bytes), code, "{}", String::from_utf8_lossy(bytes));
    }
    let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(peer.code_of(deep.as_bytes()), PARSE_ERROR);
    let mut huge = vec![b'x'; MESSAGE_LIMIT + 1];
    huge.push(b'\n');
    assert_eq!(peer.code_of(&huge), PARSE_ERROR);

    peer.raw(b"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n");
    let log = peer.heard("log");
    assert_eq!(log["params"]["message"], "an answer with the id 99 was ignored: no request has it");
    peer.raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"files/changed\",\"params\":{\"paths\":7}}\n");
    let log = peer.heard("log")["params"]["message"].to_string();
    assert!(log.contains("files/changed was ignored"), "{log}");

    for wrong in [
        json!({}),
        json!([1]),
        json!({"versions": "1", "roots": ["."]}),
        json!({"versions": [1], "roots": ["/nowhere"]}),
    ] {
        peer.raw(
            format!(
                "{}\n",
                json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": wrong})
            )
            .as_bytes(),
        );
        let answer = peer.wait(|message| message["id"] == "i");
        assert_eq!(answer["error"]["code"], INVALID_PARAMS, "{wrong}: {answer}");
    }
    peer.initialize(&home, json!({}));
    assert_eq!(peer.call("r1", "read", json!({"path": "nothing"}))["error"]["code"], "not_found");
    assert_eq!(peer.refused("run/tools", json!({"view": "view_9"})), INVALID_PARAMS);

    // Half a line, and nobody there any more.
    peer.raw(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"meth");
    let (status, last, record) = peer.end();
    assert!(status.success(), "{status}");
    assert_eq!(last.len(), 1, "{last:?}");
    assert_eq!(last[0]["error"]["code"], PARSE_ERROR);
    let ours: Vec<_> =
        record.into_iter().filter(|said| said.side == crate::peer::Side::Run).collect();
    assert!(ours.len() > 10);
    for said in &ours {
        let message: Value = serde_json::from_str(&said.line).expect("a message");
        assert!(
            message["error"].is_null()
                || message["error"]["message"].as_str().is_some_and(|said| !said.is_empty())
        );
    }
}

#[test]
fn a_request_behind_a_shutdown_is_told_that_the_run_is_closing() {
    let home = Home::new(&[]);
    let mut peer = Peer::start(&home, &[]);
    peer.initialize(&home, json!({"tools": [host_tool("look", "read")]}));
    let call = peer.ask("run/call", json!({"call_id": "l1", "name": "look", "args": {}}));
    peer.heard("host/call");
    let both = [
        json!({"jsonrpc": "2.0", "id": "end", "method": "run/shutdown"}),
        json!({"jsonrpc": "2.0", "id": "late", "method": "run/status"}),
    ];
    peer.raw(format!("{}\n{}\n", both[0], both[1]).as_bytes());
    assert_eq!(peer.wait(|message| message["id"] == "late")["error"]["code"], 3);
    assert_eq!(peer.answer(call)["result"]["error"]["code"], "cancelled");
    assert_eq!(peer.wait(|message| message["id"] == "end")["result"], json!({}));
    assert!(peer.end().0.success());
}

#[test]
fn a_file_that_the_host_changed_is_seen_with_its_notification_and_without() {
    let home = Home::new(&[("a.py", "f(1)\n"), ("b.py", "f(2)\n")]);
    let mut peer = Peer::start(&home, &[]);
    peer.initialize(&home, json!({}));
    let search = json!({"pattern": "f($A)", "language": "python"});
    let found = |result: &Value| result["data"]["total"].clone();
    assert_eq!(
        found(&peer.call("s1", "ast_grep", search.clone())),
        2,
        "trees are kept from here on"
    );
    let edit = json!({"pattern": "f($A)", "rewrite": "g($A)", "path": "a.py"});
    assert_eq!(peer.call("e1", "ast_edit", edit)["data"]["edit_id"], "edit_1");

    home.put("a.py", "h(1)\n");
    peer.notify("files/changed", json!({"paths": ["a.py"]}));
    assert_eq!(found(&peer.call("s2", "ast_grep", search.clone())), 1);
    let accept = json!({"edit_id": "edit_1", "action": "accept"});
    assert_eq!(peer.call("r1", "resolve", accept)["error"]["code"], "stale_edit");

    home.put("b.py", "h(2)\n");
    assert_eq!(found(&peer.call("s3", "ast_grep", search)), 0);
    assert!(peer.end().0.success());
}

#[test]
fn a_signal_ends_a_served_run_with_its_transcript_closed() {
    let home = Home::new(&[]);
    let transcript = home.home.path().join("t.jsonl");
    let mut peer = Peer::start(&home, &["--transcript", &transcript.to_string_lossy()]);
    peer.initialize(&home, json!({"tools": [host_tool("look", "read")]}));
    peer.ask("run/call", json!({"call_id": "l1", "name": "look", "args": {}}));
    peer.heard("host/call");
    let killed = Command::new("kill").arg("-TERM").arg(peer.id().to_string()).status();
    assert!(killed.expect("it starts").success());
    peer.heard("$/cancel");
    assert_eq!(peer.end().0.code(), Some(143));
    let text = fs::read_to_string(transcript).expect("a transcript");
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["type"], &last["call_id"]), (&json!("cancelled"), &json!("l1")));
}

#[test]
fn a_host_is_told_of_a_change_that_an_earlier_run_left() {
    let home = Home::new(&[("a.txt", "text\n")]);
    let journal = home.state().join("agent-run/journals/abc");
    fs::create_dir_all(&journal).expect("folders");
    fs::write(journal.join("journal.json"), "half").expect("a file");
    let mut peer = Peer::start(&home, &[]);
    peer.initialize(&home, json!({}));
    let said = peer.heard("log")["params"]["message"].as_str().expect("words").to_owned();
    assert!(said.contains(&*journal.to_string_lossy()), "{said}");
    let edit = json!({"path": "a.txt", "old_string": "text", "new_string": "other"});
    assert_eq!(peer.call("e1", "edit", edit)["error"]["code"], "unfinished_change");
    assert!(peer.end().0.success());
}
