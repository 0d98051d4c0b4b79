//! The log and its reader.

use std::time::Duration;

use agent_testkit::lsp::{Entry, Kind, LOGGED_TEXT, Log, Script, Step, uri_of};
use serde_json::{Value, json};

use crate::client::{Client, PATIENCE};

pub(crate) fn everything_the_client_sent_is_in_the_log_in_order() {
    let mut client = Client::greet(&Script::new("listening"), &[], json!({"window": {}}));
    let change = json!({"changes": [{"uri": client.uri("a.toy"), "type": 1}]});
    client.notify("workspace/didChangeWatchedFiles", change.clone());
    client.open("a.toy", 1, "text");
    client.request("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    client.ended();
    client.log.refresh().expect("a log");
    let log = &client.log;
    assert_eq!(
        log.methods(),
        [
            "initialize",
            "initialized",
            "workspace/didChangeWatchedFiles",
            "textDocument/didOpen",
            "shutdown",
            "exit",
        ]
    );
    let initialize = &log.calls("initialize")[0];
    assert_eq!((initialize.kind, &initialize.id), (Kind::Request, &json!(1)));
    let root = uri_of(&client.root());
    assert_eq!(initialize.body["rootUri"], root);
    assert_eq!(initialize.body["workspaceFolders"][0]["uri"], root);
    assert_eq!(log.calls("workspace/didChangeWatchedFiles")[0].body, change);
    assert_eq!(log.calls("textDocument/didOpen")[0].kind, Kind::Notification);
    let sent: Vec<&Entry> = log.of(Kind::Sent).collect();
    assert_eq!((&sent[1].id, &sent[1].body), (&json!(2), &Value::Null));
    let last = log.entries().last().expect("an entry");
    assert_eq!((last.kind, &last.body), (Kind::Exit, &json!(0)));
    assert!(log.entries().iter().all(|entry| entry.pid == client.pid()));
    assert!(log.entries().is_sorted_by_key(|entry| entry.at_ms));
}

pub(crate) fn a_response_is_logged_under_its_request() {
    let steps = [Step::request("x/one", json!({})), Step::request("x/two", json!({}))];
    let mut client = Client::greet(&Script::new("asking").on("initialized", steps), &[], json!({}));
    let (one, two) = (client.wait_for_method("x/one"), client.wait_for_method("x/two"));
    let error = json!({"code": -32601, "message": "no"});
    client.send(&json!({"jsonrpc": "2.0", "id": two["id"], "error": error}));
    client.answer(&one, json!(["a"]));
    client.meanwhile();
    client.log.refresh().expect("a log");
    let answers = |method| -> Vec<(Kind, Value)> {
        client.log.answers(method).iter().map(|entry| (entry.kind, entry.body.clone())).collect()
    };
    assert_eq!(answers("x/one"), [(Kind::Response, json!(["a"]))]);
    assert_eq!(answers("x/two"), [(Kind::Refusal, error)]);
}

pub(crate) fn a_reader_waits_for_what_is_to_come_and_tells_what_came_instead() {
    let mut missing = Log::at("/no/such/folder/log");
    let error = missing.wait(Duration::ZERO, |log| log.entries().first().cloned());
    assert_eq!(error.expect_err("nothing").to_string(), "not in the log after 0ns; what came: ");
    let mut client = Client::greet(&Script::new("quiet"), &[], json!({}));
    let mut log = client.launch.log();
    client.notify("x/one", json!({"n": 1}));
    let one = log.wait(PATIENCE, |log| log.calls("x/one").first().map(|entry| entry.body.clone()));
    assert_eq!(one.expect("it came"), json!({"n": 1}));
    let two = log.wait(Duration::from_millis(20), |log| log.calls("x/two").first().map(|_| ()));
    assert_eq!(
        two.expect_err("it did not come").to_string(),
        "not in the log after 20ms; what came: initialize, initialized, x/one"
    );
}

pub(crate) fn long_texts_are_cut() {
    let mut client = Client::greet(&Script::new("terse"), &[], json!({}));
    let long = "é".repeat(LOGGED_TEXT);
    client.notify("x/long", json!({"texts": [long, "short"]}));
    let logged = client
        .log
        .wait(PATIENCE, |log| log.calls("x/long").first().map(|entry| entry.body.clone()))
        .expect("it came");
    let cut = format!("{}… ({} bytes)", "é".repeat(LOGGED_TEXT / 2), LOGGED_TEXT * 2);
    assert_eq!(logged, json!({"texts": [cut, "short"]}));
}

pub(crate) fn an_async_test_waits_without_blocking() {
    let mut client = Client::greet(&Script::new("quiet"), &[], json!({}));
    let mut log = client.launch.log();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let found = runtime.block_on(async {
        let seen = log.seen(PATIENCE, |log| log.calls("x/go").first().map(|entry| entry.kind));
        // On one thread the notification goes out only if the wait yields.
        let send = async { client.notify("x/go", json!({})) };
        tokio::join!(seen, send).0
    });
    assert_eq!(found.expect("it came"), Kind::Notification);
}
