//! How the toy's diagnostics reach the client.

use std::time::Duration;

use agent_testkit::lsp::{Others, Says, Script, Toy, diagnostic, range};
use serde_json::{Value, json};

use crate::client::Client;

fn toy(toy: Toy, files: &[(&str, &str)]) -> Client {
    let window = json!({"window": {"workDoneProgress": true}});
    Client::greet(&Script::toy("toy-ls", toy), files, window)
}

fn found(line: u32, start: u32, name: &str) -> Value {
    let end = start + name.len() as u32;
    let message = format!("undefined name {name}");
    sourced(diagnostic(range(line, start, end), 1, "E1", &message))
}

fn sourced(mut diagnostic: Value) -> Value {
    diagnostic["source"] = "toy".into();
    diagnostic
}

fn pull(client: &mut Client, name: &str, previous: &Value) -> Value {
    let params = json!({"textDocument": {"uri": client.uri(name)}, "previousResultId": previous});
    client.request("textDocument/diagnostic", params)["result"].clone()
}

pub(crate) fn pushed_diagnostics_follow_each_change_with_its_version() {
    let mut client = toy(Toy::push(), &[("lib.toy", "def area")]);
    client.open("a.toy", 1, "area x\n  warn too wide \n");
    let first = client.publish("a.toy");
    assert_eq!(first["version"], 1);
    let warning = sourced(diagnostic(range(1, 2, 15), 2, "W1", "too wide"));
    assert_eq!(first["diagnostics"], json!([found(0, 5, "x"), warning]));
    client.change("a.toy", 2, "x x\n");
    let second = client.publish("a.toy");
    assert_eq!(second["version"], 2);
    assert_eq!(second["diagnostics"], json!([found(0, 0, "x"), found(0, 2, "x")]));
    client.change("a.toy", 3, "area");
    assert_eq!(client.publish("a.toy")["diagnostics"], json!([]));
    client.change("a.toy", 4, "area area");
    assert_eq!(client.publish("a.toy")["version"], 4, "an unchanged list is published again");
}

pub(crate) fn other_open_files_are_published_when_they_change() {
    let mut client = toy(Toy::push(), &[("closed.toy", "area")]);
    client.open("lib.toy", 1, "def area");
    client.open("main.toy", 1, "area");
    assert_eq!(client.publish("main.toy")["diagnostics"], json!([]));
    client.change("lib.toy", 2, "def size");
    let broken = client.publish("main.toy");
    assert_eq!(broken["diagnostics"], json!([found(0, 0, "area")]));
    assert_eq!(broken["version"], 1);
    client.change("lib.toy", 3, "def size ");
    let came = client.meanwhile();
    let uris: Vec<&Value> = came.iter().map(|message| &message["params"]["uri"]).collect();
    let lib = client.uri("lib.toy");
    assert_eq!(uris, [lib.as_str(); 3], "main.toy had not changed and closed.toy is closed");
}

pub(crate) fn every_file_of_the_root_can_be_published() {
    let files = [("closed.toy", "area"), ("clean.toy", "def x")];
    let mut client = toy(Toy::push().others(Others::All), &files);
    client.open("main.toy", 1, "area");
    let closed = client.publish("closed.toy");
    assert_eq!(closed["diagnostics"], json!([found(0, 0, "area")]));
    assert_eq!(closed.get("version"), None);
    let came = client.meanwhile();
    assert_eq!(came.len(), 1, "nothing is said of clean.toy: {came:?}");
    let mut alone = toy(Toy::push().others(Others::Nothing), &files);
    alone.open("lib.toy", 1, "def area");
    alone.open("main.toy", 1, "area");
    alone.change("lib.toy", 2, "");
    assert_eq!(alone.meanwhile().len(), 3);
}

pub(crate) fn unversioned_quiet_publishes_settle() {
    let mut client = toy(Toy::push().unversioned().settling(300).without_repeats(), &[]);
    client.open("a.toy", 1, "x");
    let first = client.publish("a.toy");
    assert_eq!(first.get("version"), None);
    assert_eq!(first["diagnostics"], json!([found(0, 0, "x")]));
    client.change("a.toy", 2, "y");
    client.change("a.toy", 3, "z");
    assert_eq!(client.publish("a.toy")["diagnostics"], json!([found(0, 0, "z")]));
    client.change("a.toy", 4, "z ");
    assert!(client.is_open_for(Duration::from_millis(600)), "an unchanged list is not published");
    client.change("a.toy", 5, "y");
    assert_eq!(client.publish("a.toy")["diagnostics"], json!([found(0, 0, "y")]));
}

pub(crate) fn a_partial_push_comes_before_the_whole() {
    let mut client = toy(Toy::push().partly(1, 30), &[]);
    client.open("a.toy", 1, "x y z");
    assert_eq!(client.publish("a.toy")["diagnostics"], json!([found(0, 0, "x")]));
    let whole = client.publish("a.toy")["diagnostics"].clone();
    assert_eq!(whole, json!([found(0, 0, "x"), found(0, 2, "y"), found(0, 4, "z")]));
}

pub(crate) fn a_close_is_followed_by_an_empty_publish() {
    let mut client = toy(Toy::push(), &[("a.toy", "x")]);
    client.open("a.toy", 1, "x");
    assert_eq!(client.publish("a.toy")["diagnostics"], json!([found(0, 0, "x")]));
    client.close("a.toy");
    let closed = client.publish("a.toy");
    assert_eq!(closed, json!({"uri": client.uri("a.toy"), "diagnostics": []}));
}

pub(crate) fn pulled_diagnostics_are_reported_in_full_or_as_unchanged() {
    let mut client = toy(Toy::pull(), &[("b.toy", "y")]);
    client.open("a.toy", 1, "x");
    let first = pull(&mut client, "a.toy", &Value::Null);
    assert_eq!((&first["kind"], &first["items"]), (&json!("full"), &json!([found(0, 0, "x")])));
    let id = first["resultId"].clone();
    assert_eq!(pull(&mut client, "a.toy", &id), json!({"kind": "unchanged", "resultId": id}));
    client.change("a.toy", 2, "def x");
    assert_eq!(pull(&mut client, "a.toy", &id)["items"], json!([]));
    let all = client.request("workspace/diagnostic", json!({"previousResultIds": []}));
    let items = all["result"]["items"].as_array().expect("reports").clone();
    let shown: Vec<_> =
        items.iter().map(|item| (&item["uri"], &item["version"], &item["items"])).collect();
    let (a, b) = (json!(client.uri("a.toy")), json!(client.uri("b.toy")));
    let found = json!([found(0, 0, "y")]);
    assert_eq!(shown, [(&a, &json!(2), &json!([])), (&b, &Value::Null, &found)]);
    assert_eq!(client.passed, Vec::<Value>::new(), "nothing was pushed");
}

pub(crate) fn a_pull_finds_nothing_while_it_indexes() {
    let status = json!({"experimental": {"serverStatusNotification": true}});
    let pulling = Toy::pull().indexing(500, [Says::ServerStatus]);
    let mut client = Client::greet(&Script::toy("toy-ls", pulling), &[], status);
    client.open("a.toy", 1, "x");
    assert_eq!(pull(&mut client, "a.toy", &Value::Null)["items"], json!([]));
    client.wait_for(|message| message["params"]["quiescent"] == true);
    assert_eq!(pull(&mut client, "a.toy", &Value::Null)["items"], json!([found(0, 0, "x")]));
}

pub(crate) fn a_late_pull_is_registered_or_pushed() {
    let takes = json!({"textDocument": {"diagnostic": {"dynamicRegistration": true}}});
    let script = Script::toy("late-ls", Toy::late_pull(30));
    let mut client = Client::start(&script, &[]);
    let capabilities = client.initialize(takes)["capabilities"].clone();
    assert_eq!(capabilities.get("diagnosticProvider"), None);
    client.notify("initialized", json!({}));
    client.open("a.toy", 1, "x");
    let register = client.wait_for_method("client/registerCapability");
    let registration = &register["params"]["registrations"][0];
    assert_eq!(registration["method"], "textDocument/diagnostic");
    assert_eq!(pull(&mut client, "a.toy", &Value::Null)["items"], json!([found(0, 0, "x")]));
    assert_eq!(client.passed, Vec::<Value>::new());

    let mut plain = Client::greet(&script, &[], json!({}));
    plain.open("a.toy", 1, "x");
    assert_eq!(plain.publish("a.toy")["diagnostics"], json!([found(0, 0, "x")]));
}

pub(crate) fn a_check_on_save_reads_the_disk_within_a_progress() {
    let token = "rust-analyzer/flycheck/0";
    let mut client = toy(Toy::checks_on_save(20, token), &[("a.toy", "x"), ("b.toy", "def b")]);
    let checked = |client: &mut Client| -> Vec<Value> {
        let create = client.wait_for_method("window/workDoneProgress/create");
        assert_eq!(create["params"]["token"], token);
        client.answer(&create, Value::Null);
        client.wait_for(|message| message["params"]["value"]["kind"] == "end");
        let came = std::mem::take(&mut client.passed);
        assert_eq!(came[0]["params"]["value"]["kind"], "begin");
        came[1..].iter().map(|message| message["params"].clone()).collect()
    };
    let uri = client.uri("a.toy");
    let first = json!({"uri": uri, "diagnostics": [found(0, 0, "x")]});
    assert_eq!(checked(&mut client), [first], "the project is checked when it is loaded");
    client.open("a.toy", 1, "x");
    client.change("a.toy", 2, "b");
    assert_eq!(client.meanwhile(), Vec::<Value>::new(), "a change alone checks nothing");
    client.save("a.toy");
    let stale = json!({"uri": uri, "version": 2, "diagnostics": [found(0, 0, "x")]});
    assert_eq!(checked(&mut client), [stale], "the disk has the old text");
    client.write_file("a.toy", "b");
    client.save("a.toy");
    assert_eq!(checked(&mut client), [json!({"uri": uri, "version": 2, "diagnostics": []})]);
}
