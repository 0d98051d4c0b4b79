//! Rules and steps.

use agent_testkit::lsp::{
    Encoding, Kind, Log, Nth, Partial, Rule, Script, Step, Then, Toy, Version, annotated, changes,
    create_file, delete_file, diagnostic, document_changes, document_edit, needing_confirmation,
    range, rename_file, text_edit, with_options,
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

pub(crate) fn a_script_is_the_same_as_json_and_as_a_builder() {
    let json = json!({
        "name": "slow-ls",
        "encoding": "utf-8",
        "capabilities": {"codeActionProvider": null},
        "toy": {"settle_ms": 150, "versions": "absent", "partial": {"first": 1, "ms": 30}},
        "rules": [
            {
                "on": "textDocument/references", "nth": {"until": 2},
                "steps": [{"fail": {"code": -32801, "message": "content modified"}}],
            },
            {
                "on": "textDocument/hover", "with": {"/position/line": 3},
                "steps": [
                    {"wait": 400},
                    {"request": {
                        "method": "workspace/configuration", "params": {"items": [{}]},
                        "then": "await",
                    }},
                    {"reply": {"contents": "${answer/result/0}"}},
                ],
            },
            {"on": "initialized", "process": {"only": 2}, "steps": ["default", "abort"]},
            {"on": "exit", "steps": ["silence", {"stop_reading": null}]},
        ],
    });
    let toy = Toy { partial: Some(Partial { first: 1, ms: 30 }), ..Toy::push() };
    let built = Script::toy("slow-ls", toy.settling(150).unversioned())
        .encoding(Encoding::Utf8)
        .capabilities(json!({"codeActionProvider": null}))
        .rule(
            Rule::on("textDocument/references").nth(Nth::Until(2)).then([Step::content_modified()]),
        )
        .rule(Rule::on("textDocument/hover").with("/position/line", 3).then([
            Step::Wait(400),
            Step::ask("workspace/configuration", json!({"items": [{}]})),
            Step::reply(json!({"contents": "${answer/result/0}"})),
        ]))
        .rule(Rule::on("initialized").process(Nth::Only(2)).then([Step::Default, Step::Abort]))
        .on("exit", [Step::Silence, Step::StopReading(None)]);
    assert_eq!(serde_json::from_value::<Script>(json).expect("a script"), built);
    let text = serde_json::to_string(&built).expect("JSON");
    assert_eq!(serde_json::from_str::<Script>(&text).expect("a script"), built);
}

pub(crate) fn a_rule_takes_the_nth_message_and_leaves_the_others_to_the_next_rule() {
    let mut client = scripted([
        Rule::on(HOVER).nth(Nth::Only(2)).then([Step::reply("second")]),
        Rule::on(HOVER).nth(Nth::From(4)).then([Step::reply("late")]),
        Rule::on(HOVER).then([Step::reply("other")]),
    ]);
    let answers: Vec<Value> =
        (0..5).map(|_| client.request(HOVER, json!({}))["result"].clone()).collect();
    assert_eq!(answers, ["other", "second", "other", "late", "late"]);
}

pub(crate) fn a_rule_can_ask_what_stands_in_the_params() {
    let mut client = scripted([
        Rule::on(HOVER).with("/position/line", 3).then([Step::reply("three")]),
        Rule::on(HOVER).then([Step::reply("any")]),
    ]);
    assert_eq!(client.request(HOVER, json!({"position": {"line": 3}}))["result"], "three");
    assert_eq!(client.request(HOVER, json!({"position": {"line": 4}}))["result"], "any");
}

pub(crate) fn a_rule_can_ask_for_the_process_that_is_started() {
    let script = Script::new("crashing")
        .rule(Rule::on("initialize").process(Nth::Until(2)).then([Step::Exit(7)]));
    let mut client = Client::start(&script, &[]);
    for _ in 0..2 {
        client.ask("initialize", json!({}));
        assert_eq!(client.ended().code(), Some(7));
        client = client.again();
    }
    assert_eq!(client.initialize(json!({}))["serverInfo"]["name"], "crashing");
    let log = Log::read(&client.launch.log).expect("a log");
    assert_eq!(log.started().len(), 3);
    assert_eq!(log.started()[2], client.pid());
}

pub(crate) fn the_first_rule_that_fits_takes_a_message() {
    let mut client = scripted([
        Rule::on(HOVER).then([Step::reply(1)]),
        Rule::on(HOVER).then([Step::reply(2)]),
        Rule::on("*").nth(Nth::From(5)).then([Step::reply("any")]),
    ]);
    assert_eq!(client.request(HOVER, json!({}))["result"], 1);
    assert_eq!(client.request("x/y", json!({}))["error"]["code"], -32601);
    assert_eq!(client.request("x/y", json!({}))["result"], "any");
}

pub(crate) fn a_server_without_rules_starts_refuses_and_stops() {
    let mut client = Client::start(&Script::new("plain"), &[]);
    let greeting = client.initialize(json!({}));
    assert_eq!(
        greeting,
        json!({
            "capabilities": {"textDocumentSync": 1},
            "serverInfo": {"name": "plain", "version": "1.0.0"},
        })
    );
    let refusal = client.request(HOVER, json!({}));
    assert_eq!(
        refusal["error"],
        json!({"code": -32601, "message": "no method textDocument/hover"})
    );
    client.notify("x/unknown", json!({}));
    assert_eq!(client.request("shutdown", Value::Null)["result"], Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.ended().code(), Some(0));
}

pub(crate) fn capabilities_are_patched() {
    let script = Script::toy("patched", Toy::pull())
        .capabilities(json!({"hoverProvider": null, "renameProvider": {"workDone": true}}));
    let mut client = Client::start(&script, &[]);
    let prepare = json!({"textDocument": {"rename": {"prepareSupport": true}}});
    let capabilities = client.initialize(prepare)["capabilities"].clone();
    assert_eq!(capabilities.get("hoverProvider"), None);
    assert_eq!(capabilities["definitionProvider"], true);
    assert_eq!(capabilities["diagnosticProvider"]["identifier"], "toy");
    assert_eq!(capabilities["renameProvider"], json!({"prepareProvider": true, "workDone": true}));
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

pub(crate) fn an_error_has_its_code_message_and_data() {
    let data = Some(json!({"retry": true}));
    let fail = Step::Fail { code: -32802, message: "cancelled by server".to_owned(), data };
    let mut client = scripted([Rule::on(HOVER).then([fail])]);
    assert_eq!(
        client.request(HOVER, json!({}))["error"],
        json!({"code": -32802, "message": "cancelled by server", "data": {"retry": true}})
    );
}

pub(crate) fn content_is_modified_so_often_and_then_there_is_a_result() {
    let mut client = scripted([
        Rule::on(HOVER).nth(Nth::Until(2)).then([Step::content_modified()]),
        Rule::on(HOVER).then([Step::reply("there")]),
    ]);
    let answers: Vec<Value> = (0..3).map(|_| client.request(HOVER, json!({}))).collect();
    assert_eq!(answers[0]["error"]["code"], -32801);
    assert_eq!(answers[1]["error"]["code"], -32801);
    assert_eq!(answers[2]["result"], "there");
}

pub(crate) fn placeholders_speak_of_the_message() {
    let mut client = scripted([Rule::on(HOVER).then([Step::reply(json!({
        "line": "${/position/line}", "text": "at ${/position/line} of ${uri}", "root": "${root}",
        "version": "${version}", "id": "${id}", "id_text": "${id_text}", "method": "${method}",
        "snippet": "${1:name}", "missing": "${/no/such}",
    }))])]);
    client.open("a.toy", 7, "");
    let params = client.at("a.toy", 3, 0);
    let response = client.request(HOVER, params);
    let uri = client.uri("a.toy");
    assert_eq!(
        response["result"],
        json!({
            "line": 3, "text": format!("at 3 of {uri}"), "root": uri.trim_end_matches("/a.toy"),
            "version": 7, "id": 2, "id_text": "2", "method": HOVER,
            "snippet": "${1:name}", "missing": null,
        })
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

pub(crate) fn edits_have_every_form_of_the_protocol() {
    let edit = text_edit(range(2, 4, 8), "new");
    assert_eq!(
        changes([("file:///a", vec![edit.clone()])]),
        json!({"changes": {"file:///a": [{
            "range": {"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 8}},
            "newText": "new",
        }]}})
    );
    let document = document_edit("file:///a", Some(3), [annotated(edit.clone(), "risky")]);
    let options = json!({"overwrite": true});
    let whole = document_changes([
        document.clone(),
        create_file("file:///b"),
        with_options(rename_file("file:///a", "file:///c"), options),
        delete_file("file:///d"),
    ]);
    assert_eq!(
        needing_confirmation(whole, "risky", "Risky"),
        json!({
            "documentChanges": [
                {
                    "textDocument": {"uri": "file:///a", "version": 3},
                    "edits": [{
                        "range": edit["range"], "newText": "new", "annotationId": "risky",
                    }],
                },
                {"kind": "create", "uri": "file:///b"},
                {
                    "kind": "rename", "oldUri": "file:///a", "newUri": "file:///c",
                    "options": {"overwrite": true},
                },
                {"kind": "delete", "uri": "file:///d"},
            ],
            "changeAnnotations": {"risky": {"label": "Risky", "needsConfirmation": true}},
        })
    );
}
