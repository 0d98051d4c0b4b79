//! Steps, each as a client sees it.

use std::time::Duration;

use agent_testkit::lsp::{
    Kind, Rule, Script, Step, Then, Version, changes, diagnostic, range, text_edit,
};
use serde_json::{Value, json};

use crate::client::{Client, PATIENCE};

const HOVER: &str = "textDocument/hover";

fn scripted(rules: impl IntoIterator<Item = Rule>) -> Client {
    let script = rules.into_iter().fold(Script::new("scripted"), Script::rule);
    Client::greet(&script, &[], json!({}))
}

fn error(number: u32) -> Value {
    diagnostic(range(number, 0, 3), 1, "E", &format!("error {number}"))
}

pub(crate) fn a_wait_holds_up_its_own_steps_alone() {
    let mut client = scripted([
        Rule::on(HOVER).then([Step::Wait(1_000), Step::reply("slow")]),
        Rule::on("x/quick").then([Step::reply("quick")]),
    ]);
    let slow = client.ask(HOVER, json!({}));
    assert_eq!(client.request("x/quick", json!({}))["result"], "quick");
    assert_eq!(client.passed, Vec::<Value>::new(), "the slow one came first");
    assert_eq!(client.response(slow)["result"], "slow");
    let sent = client.log.wait(PATIENCE, |log| {
        log.of(Kind::Sent).find(|entry| entry.body == "slow").map(|entry| entry.at_ms)
    });
    let took = sent.expect("it was sent") - client.log.calls(HOVER)[0].at_ms;
    assert!(took >= 999, "{took} ms");
}

pub(crate) fn a_request_without_a_reply_stays_unanswered_until_it_is_cancelled() {
    let mut client = scripted([Rule::on(HOVER).then([Step::Silence])]);
    let id = client.ask(HOVER, json!({}));
    assert_eq!(client.meanwhile(), Vec::<Value>::new());
    client.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    let cancelled = client.log.wait(PATIENCE, |log| {
        log.calls("$/cancelRequest").first().map(|entry| entry.body["id"].clone())
    });
    let hovered = client.log.calls(HOVER)[0].id.clone();
    assert_eq!(cancelled.expect("a cancel"), hovered);
}

pub(crate) fn a_cancelled_request_is_answered_once() {
    let mut client =
        scripted([Rule::on(HOVER).then([Step::ask("x/hold", json!({})), Step::reply("late")])]);
    let id = client.ask(HOVER, json!({}));
    let hold = client.wait_for_method("x/hold");
    client.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    client.answer(&hold, Value::Null);
    assert!(client.is_open_for(Duration::from_millis(100)), "it was answered twice");
    client.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(client.meanwhile(), Vec::<Value>::new());
}

pub(crate) fn an_error_has_its_code_message_and_data() {
    let data = Some(json!({"retry": true}));
    let fail = Step::Fail { code: -32802, message: "cancelled by server".to_owned(), data };
    let mut client = scripted([Rule::on(HOVER).then([fail])]);
    assert_eq!(
        client.request(HOVER, json!({}))["error"],
        json!({"code": -32802, "message": "cancelled by server", "data": {"retry": true}})
    );
}

pub(crate) fn published_versions_are_those_that_the_script_says() {
    let versions =
        [Version::Synced, Version::Older, Version::Absent, Version::Given(40), Version::Message];
    let steps = versions.map(|version| Step::publish([error(0)]).version(version));
    let other = Step::publish([]).uri("${root}/other.toy");
    let mut client =
        scripted([Rule::on("textDocument/didChange").then(steps.into_iter().chain([other]))]);
    client.open("a.toy", 1, "");
    client.change("a.toy", 5, "x");
    let came: Vec<Value> = (0..5).map(|_| client.publish("a.toy")).collect();
    let came: Vec<&Value> = came.iter().map(|publish| &publish["version"]).collect();
    assert_eq!(came, [&json!(5), &json!(4), &Value::Null, &json!(40), &json!(5)]);
    assert_eq!(client.publish("other.toy").get("version"), None);
}

pub(crate) fn a_partial_publish_is_followed_by_the_whole() {
    let mut client = scripted([Rule::on("textDocument/didOpen").then([
        Step::publish([error(0)]),
        Step::Wait(50),
        Step::publish([error(0), error(1), error(2)]),
    ])]);
    client.open("a.toy", 1, "");
    assert_eq!(client.publish("a.toy")["diagnostics"], json!([error(0)]));
    assert_eq!(client.publish("a.toy")["diagnostics"], json!([error(0), error(1), error(2)]));
}

pub(crate) fn a_settled_publish_is_left_out_when_the_document_moved_on() {
    let mut client = scripted([
        Rule::on("textDocument/didChange").then([Step::Settle(500), Step::publish([error(0)])])
    ]);
    client.open("a.toy", 1, "");
    for version in 2..6 {
        client.change("a.toy", version, "x");
    }
    assert_eq!(client.publish("a.toy")["version"], 5);
    assert_eq!(client.meanwhile(), Vec::<Value>::new());
}

pub(crate) fn progress_has_a_token_that_the_client_grants() {
    let mut client = scripted([Rule::on("x/index").then([
        Step::create_progress("t"),
        Step::begin("t", "indexing"),
        Step::report("t", "1/2", 50),
        Step::end("t"),
    ])]);
    client.notify("x/index", json!({}));
    let create = client.wait_for_method("window/workDoneProgress/create");
    assert_eq!(create["params"], json!({"token": "t"}));
    assert_eq!(client.meanwhile(), Vec::<Value>::new(), "it did not wait");
    client.answer(&create, Value::Null);
    let values: Vec<Value> =
        (0..3).map(|_| client.wait_for_method("$/progress")["params"]["value"].clone()).collect();
    assert_eq!(
        values,
        [
            json!({"kind": "begin", "title": "indexing", "percentage": 0}),
            json!({"kind": "report", "message": "1/2", "percentage": 50}),
            json!({"kind": "end"}),
        ]
    );
}

pub(crate) fn capabilities_are_registered_late_and_taken_back() {
    let method = || "textDocument/diagnostic".to_owned();
    let mut client = scripted([Rule::on("initialized").then([
        Step::Wait(50),
        Step::Register {
            id: "d".to_owned(),
            method: method(),
            options: json!({"identifier": "x"}),
        },
        Step::Unregister { id: "d".to_owned(), method: method() },
    ])]);
    let register = client.wait_for_method("client/registerCapability");
    assert_eq!(
        register["params"],
        json!({"registrations": [
            {"id": "d", "method": method(), "registerOptions": {"identifier": "x"}},
        ]})
    );
    let unregister = client.wait_for_method("client/unregisterCapability");
    assert_eq!(
        unregister["params"],
        json!({"unregisterations": [{"id": "d", "method": method()}]})
    );
}

pub(crate) fn status_notifications_have_the_shapes_of_rust_analyzer_and_dart() {
    let status = Step::ServerStatus {
        health: "error".to_owned(),
        quiescent: true,
        message: Some("broken manifest".to_owned()),
    };
    let steps = [status, Step::AnalyzerStatus { analyzing: true }, Step::Stderr("busy".to_owned())];
    let mut client = scripted([Rule::on("initialized").then(steps)]);
    assert_eq!(
        client.wait_for_method("experimental/serverStatus")["params"],
        json!({"health": "error", "quiescent": true, "message": "broken manifest"})
    );
    assert_eq!(client.wait_for_method("$/analyzerStatus")["params"], json!({"isAnalyzing": true}));
    client.close_input();
    assert_eq!(client.stderr(), "busy\n");
}

pub(crate) fn a_request_to_the_client_waits_for_its_answer() {
    let items = json!({"items": [{"section": "a"}, {"section": "b"}]});
    let mut client = scripted([Rule::on(HOVER).then([
        Step::ask("workspace/configuration", items.clone()),
        Step::reply(json!({"contents": "${answer/result/1}"})),
    ])]);
    let hover = client.ask(HOVER, json!({}));
    let request = client.wait_for_method("workspace/configuration");
    assert_eq!(request["params"], items);
    assert_eq!(client.meanwhile(), Vec::<Value>::new());
    client.answer(&request, json!(["first", "second"]));
    assert_eq!(client.response(hover)["result"]["contents"], "second");
}

pub(crate) fn a_request_may_have_a_text_as_id_or_the_id_of_the_clients_own() {
    let ask = |id: Value| {
        let then = Then::Await;
        Step::Request { method: "x/ask".to_owned(), params: json!({}), id: Some(id), then }
    };
    let mut client = scripted([Rule::on(HOVER).then([
        ask(json!("ts1")),
        ask(json!("${id}")),
        Step::request("x/ask", json!({})).id("go"),
        Step::reply("${answer/result}"),
    ])]);
    let hover = client.ask(HOVER, json!({}));
    let first = client.wait_for_method("x/ask");
    assert_eq!(first["id"], "ts1");
    client.answer(&first, json!(1));
    let second = client.wait_for_method("x/ask");
    assert_eq!(second["id"], hover);
    client.answer(&second, json!(2));
    assert_eq!(client.wait_for_method("x/ask")["id"], "go");
    assert_eq!(client.response(hover)["result"], 2);
}

pub(crate) fn an_edit_may_be_applied_in_the_middle_of_a_hover() {
    let edit = changes([("${uri}", vec![text_edit(range(0, 0, 0), "x")])]);
    let mut client = scripted([Rule::on(HOVER).then([
        Step::ask("workspace/applyEdit", json!({"edit": edit})),
        Step::reply(json!({"contents": "${answer/result/applied}"})),
    ])]);
    let params = client.at("a.toy", 0, 0);
    let hover = client.ask(HOVER, params);
    let request = client.wait_for_method("workspace/applyEdit");
    let uri = client.uri("a.toy");
    let expected = changes([(uri.as_str(), vec![text_edit(range(0, 0, 0), "x")])]);
    assert_eq!(request["params"]["edit"], expected);
    client.answer(&request, json!({"applied": false}));
    assert_eq!(client.response(hover)["result"]["contents"], false);
}

pub(crate) fn a_reply_may_have_the_id_as_a_text() {
    let reply = json!({"jsonrpc": "2.0", "id": "${id_text}", "result": 1});
    let mut client = scripted([Rule::on(HOVER).then([Step::Send(reply)])]);
    let id = client.ask(HOVER, json!({}));
    let answer = client.wait_for(|message| message["result"] == 1);
    assert_eq!(answer["id"], id.to_string());
}
