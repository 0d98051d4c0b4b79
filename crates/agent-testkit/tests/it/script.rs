//! Scripts and their rules.

use agent_testkit::lsp::{
    Encoding, Log, Nth, Partial, Rule, Script, Step, Toy, annotated, changes, create_file,
    delete_file, document_changes, document_edit, needing_confirmation, range, rename_file,
    text_edit, with_options,
};
use serde_json::{Value, json};

use crate::client::Client;

const HOVER: &str = "textDocument/hover";

fn scripted(rules: impl IntoIterator<Item = Rule>) -> Client {
    let script = rules.into_iter().fold(Script::new("scripted"), Script::rule);
    Client::greet(&script, &[], json!({}))
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
