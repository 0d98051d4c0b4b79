//! What the toy answers.

use agent_testkit::lsp::{Says, Script, Toy, uri_of};
use serde_json::{Value, json};

use crate::client::Client;

const LIB: &str = "# The area of a shape.\n# In square metres.\ndef area w h\ndef w\ndef h\n";
const MAIN: &str = "x = area(w)\n# area is not used here\narea \"area\" 2area _area\n";

fn toy(toy: Toy, files: &[(&str, &str)]) -> Client {
    Client::greet(&Script::toy("toy-ls", toy), files, json!({}))
}

fn project() -> Client {
    toy(Toy::push(), &[("lib.toy", LIB), ("main.toy", MAIN), ("notes.txt", "area")])
}

fn ask(client: &mut Client, action: &str, name: &str, line: u32, character: u32) -> Value {
    let params = client.at(name, line, character);
    client.request(&format!("textDocument/{action}"), params)
}

fn places(client: &mut Client, action: &str, name: &str, line: u32, character: u32) -> Vec<String> {
    let response = ask(client, action, name, line, character);
    client.places(&response)
}

fn messages(publish: &Value) -> Vec<Value> {
    let diagnostics = publish["diagnostics"].as_array().expect("diagnostics");
    diagnostics.iter().map(|diagnostic| diagnostic["message"].clone()).collect()
}

/// What is wrong with `MAIN` beside `LIB`.
fn undefined() -> Vec<Value> {
    vec![json!("undefined name x"), json!("undefined name _area")]
}

pub(crate) fn hover_shows_the_definition_and_its_comment() {
    let mut client = project();
    let hover = ask(&mut client, "hover", "main.toy", 0, 5);
    assert_eq!(
        hover["result"]["contents"],
        json!({
            "kind": "markdown",
            "value": "```toy\ndef area w h\n```\n\nThe area of a shape.\n\nIn square metres.",
        })
    );
    assert_eq!(ask(&mut client, "hover", "main.toy", 0, 2)["result"], Value::Null);
    assert_eq!(ask(&mut client, "hover", "gone.toy", 0, 2)["result"], Value::Null);
}

pub(crate) fn definitions_are_found_in_files_that_are_not_open() {
    let mut client = project();
    assert_eq!(places(&mut client, "definition", "main.toy", 0, 4), ["lib.toy:2:4-8"]);
    assert_eq!(places(&mut client, "definition", "main.toy", 0, 8), ["lib.toy:2:4-8"]);
    assert_eq!(places(&mut client, "definition", "main.toy", 0, 9), ["lib.toy:3:4-5"]);
    client.open("lib.toy", 1, "\n\ndef w\ndef area");
    assert_eq!(places(&mut client, "definition", "main.toy", 0, 4), ["lib.toy:3:4-8"]);
    client.close("lib.toy");
    assert_eq!(places(&mut client, "definition", "main.toy", 0, 4), ["lib.toy:2:4-8"]);
}

pub(crate) fn types_and_implementations_are_found() {
    let text = "def shape\ndef square is shape\ndef circle is shape r\ndef r\nsquare\n";
    let mut client = toy(Toy::push(), &[("a.toy", text)]);
    assert_eq!(places(&mut client, "typeDefinition", "a.toy", 4, 0), ["a.toy:0:4-9"]);
    assert_eq!(
        places(&mut client, "implementation", "a.toy", 0, 4),
        ["a.toy:1:4-10", "a.toy:2:4-10"]
    );
    assert_eq!(places(&mut client, "typeDefinition", "a.toy", 0, 4), Vec::<String>::new());
    let references = places(&mut client, "references", "a.toy", 0, 4);
    assert_eq!(references, ["a.toy:0:4-9", "a.toy:1:14-19", "a.toy:2:14-19"]);
}

pub(crate) fn references_are_all_uses_with_or_without_the_definition() {
    let mut client = project();
    let all = places(&mut client, "references", "main.toy", 0, 4);
    assert_eq!(all, ["lib.toy:2:4-8", "main.toy:0:4-8", "main.toy:2:0-4"]);
    let mut params = client.at("lib.toy", 2, 4);
    params["context"] = json!({"includeDeclaration": false});
    let response = client.request("textDocument/references", params);
    assert_eq!(client.places(&response), all[1..]);
}

pub(crate) fn symbols_are_listed_for_a_document_and_for_the_workspace() {
    let mut client = project();
    let params = json!({"textDocument": {"uri": client.uri("lib.toy")}});
    let symbols = client.request("textDocument/documentSymbol", params)["result"].clone();
    assert_eq!(
        symbols[0],
        json!({
            "name": "area", "kind": 12,
            "range": {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 12}},
            "selectionRange": {
                "start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 8},
            },
        })
    );
    assert_eq!(symbols.as_array().map(Vec::len), Some(3));
    let found = client.request("workspace/symbol", json!({"query": "ARE"}))["result"].clone();
    let range = &symbols[0]["selectionRange"];
    let location = json!({"uri": client.uri("lib.toy"), "range": range});
    assert_eq!(found, json!([{"name": "area", "kind": 12, "location": location}]));
}

pub(crate) fn an_undefined_name_has_a_quick_fix() {
    let mut client = toy(Toy::push(), &[("a.toy", "x\ndef y\ny")]);
    let actions = |client: &mut Client, line: u32| {
        let at = json!({"line": line, "character": 0});
        let document = json!({"uri": client.uri("a.toy")});
        let params = json!({
            "textDocument": document, "range": {"start": at, "end": at},
            "context": {"diagnostics": []},
        });
        client.request("textDocument/codeAction", params)["result"].clone()
    };
    let end = json!({"line": 2, "character": 1});
    let edit = json!({"range": {"start": end, "end": end}, "newText": "\ndef x"});
    let uri = client.uri("a.toy");
    assert_eq!(
        actions(&mut client, 0),
        json!([{
            "title": "define `x`", "kind": "quickfix", "edit": {"changes": {uri: [edit]}},
        }])
    );
    assert_eq!(actions(&mut client, 2), json!([]));
}

pub(crate) fn comments_texts_and_numbers_are_no_words() {
    let mut client = project();
    for (line, character) in [(1, 3), (2, 7), (2, 13)] {
        let found = places(&mut client, "definition", "main.toy", line, character);
        assert_eq!(found, Vec::<String>::new(), "{line}:{character}");
    }
    client.open("main.toy", 1, MAIN);
    assert_eq!(messages(&client.publish("main.toy")), undefined());
}

pub(crate) fn members_are_told_apart_by_their_owners() {
    let text = "def a\ndef b\ndef a.name\ndef b.name\na.name = b.name\n";
    let mut client = toy(Toy::push(), &[("a.toy", text)]);
    assert_eq!(places(&mut client, "definition", "a.toy", 4, 2), ["a.toy:2:6-10"]);
    assert_eq!(places(&mut client, "definition", "a.toy", 4, 11), ["a.toy:3:6-10"]);
    assert_eq!(
        places(&mut client, "references", "a.toy", 0, 4),
        ["a.toy:0:4-5", "a.toy:2:4-5", "a.toy:4:0-1"]
    );
}

pub(crate) fn while_it_indexes_only_open_files_are_known() {
    let script = Script::toy("slow-ls", Toy::push().indexing(1_000, [Says::Progress]));
    let files = [("lib.toy", LIB), ("main.toy", MAIN)];
    let window = json!({"window": {"workDoneProgress": true}});
    let mut client = Client::greet(&script, &files, window);
    client.open("main.toy", 1, MAIN);
    assert_eq!(
        places(&mut client, "references", "main.toy", 0, 4),
        ["main.toy:0:4-8", "main.toy:2:0-4"]
    );
    assert_eq!(places(&mut client, "definition", "main.toy", 0, 4), Vec::<String>::new());
    let create = client.wait_for_method("window/workDoneProgress/create");
    assert_eq!(create["params"]["token"], "toy/indexing");
    client.answer(&create, Value::Null);
    let title = client.wait_for_method("$/progress")["params"]["value"]["title"].clone();
    assert_eq!(title, "indexing");
    let end = client.wait_for_method("$/progress");
    assert_eq!(end["params"]["value"]["kind"], "end");
    assert_eq!(client.passed, Vec::<Value>::new(), "it published before it knew");
    let published = client.publish("main.toy");
    assert_eq!((&published["version"], messages(&published)), (&json!(1), undefined()));
    assert_eq!(places(&mut client, "references", "main.toy", 0, 4).len(), 3);
    assert_eq!(places(&mut client, "definition", "main.toy", 0, 4), ["lib.toy:2:4-8"]);
}

pub(crate) fn it_says_that_it_indexes_in_three_ways() {
    let says = [Says::Progress, Says::ServerStatus, Says::AnalyzerStatus];
    let script = Script::toy("slow-ls", Toy::pull().indexing(20, says));
    let mut deaf = Client::greet(&script, &[], json!({}));
    for analyzing in [true, false] {
        let status = deaf.next().expect("a status");
        assert_eq!(status["method"], "$/analyzerStatus");
        assert_eq!(status["params"]["isAnalyzing"], analyzing);
    }
    let listens = json!({"experimental": {"serverStatusNotification": true}});
    let mut client = Client::greet(&script, &[], listens);
    for quiescent in [false, true] {
        let status = client.wait_for_method("experimental/serverStatus");
        assert_eq!(status["params"], json!({"health": "ok", "quiescent": quiescent}));
    }
    let methods: Vec<&Value> = client.passed.iter().map(|message| &message["method"]).collect();
    assert_eq!(methods, ["$/analyzerStatus"]);
}

pub(crate) fn a_watched_disk_is_known_as_far_as_it_is_told() {
    let takes = json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}}});
    let script = Script::toy("watching-ls", Toy::push().watched());
    let mut client = Client::greet(&script, &[("main.toy", "area")], takes);
    let register = client.wait_for_method("client/registerCapability");
    assert_eq!(
        register["params"]["registrations"][0]["registerOptions"],
        json!({"watchers": [{"globPattern": "**/*.toy"}]})
    );
    client.open("main.toy", 1, "area");
    let count = |publish: &Value| publish["diagnostics"].as_array().map(Vec::len);
    assert_eq!(count(&client.publish("main.toy")), Some(1));
    client.write_file("lib.toy", "def area");
    client.change("main.toy", 2, "area ");
    assert_eq!(count(&client.publish("main.toy")), Some(1), "nobody told it");
    let uri = client.uri("lib.toy");
    let changed = |kind| json!({"changes": [{"uri": uri, "type": kind}]});
    client.notify("workspace/didChangeWatchedFiles", changed(1));
    assert_eq!(count(&client.publish("main.toy")), Some(0));
    std::fs::remove_file(client.root().join("lib.toy")).expect("a file");
    client.notify("workspace/didChangeWatchedFiles", changed(3));
    assert_eq!(count(&client.publish("main.toy")), Some(1));
}

pub(crate) fn incremental_changes_are_applied() {
    let mut client = project();
    client.open("a.toy", 1, "def a\n🦀 bb\nlast");
    let range = json!({
        "start": {"line": 1, "character": 3}, "end": {"line": 2, "character": 4},
    });
    let params = json!({
        "textDocument": {"uri": client.uri("a.toy"), "version": 2},
        "contentChanges": [
            {"range": range, "text": "def"},
            {"range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}},
             "text": ""},
            {"range": {"start": {"line": 9, "character": 0}, "end": {"line": 9, "character": 0}},
             "text": " new"},
        ],
    });
    client.notify("textDocument/didChange", params);
    let params = json!({"textDocument": {"uri": client.uri("a.toy")}});
    let symbols = client.request("textDocument/documentSymbol", params);
    let names: Vec<&Value> =
        symbols["result"].as_array().expect("symbols").iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["a", "new"]);
}

pub(crate) fn the_root_is_found_in_each_of_its_fields() {
    let script = Script::toy("toy-ls", Toy::push());
    for field in ["workspaceFolders", "rootUri", "rootPath"] {
        let mut client = Client::start(&script, &[("a.toy", "def a")]);
        let uri = uri_of(&client.root());
        let value = match field {
            "workspaceFolders" => json!([{"uri": uri, "name": "root"}]),
            "rootUri" => json!(uri),
            _ => json!(client.root()),
        };
        client.request("initialize", json!({"capabilities": {}, field: value}));
        let found = client.request("workspace/symbol", json!({"query": ""}));
        assert_eq!(found["result"][0]["location"]["uri"], client.uri("a.toy"), "{field}");
    }
}

pub(crate) fn other_extensions_can_be_its_own() {
    let files = [("a.py", "def a"), ("b.pyi", "a"), ("c.toy", "a")];
    let mut client = toy(Toy::push().extensions(["py", "pyi"]), &files);
    let found = places(&mut client, "references", "a.py", 0, 4);
    assert_eq!(found, ["a.py:0:4-5", "b.pyi:0:0-1"]);
}
