//! Rename in the toy.

use agent_testkit::lsp::{
    EditVersions, Form, FromUse, Rename, Script, Toy, changes, document_changes, document_edit,
    range, text_edit,
};
use serde_json::{Value, json};

use crate::client::Client;

const FILES: [(&str, &str); 2] = [("lib.toy", "def area\narea"), ("main.toy", "x area # area")];

fn toy(rename: Rename) -> Client {
    let script = Script::toy("toy-ls", Toy::push().rename(rename));
    let mut client = Client::greet(&script, &FILES, json!({}));
    client.open("main.toy", 6, FILES[1].1);
    client
}

fn rename(client: &mut Client, name: &str, line: u32, character: u32, new: &str) -> Value {
    let mut params = client.at(name, line, character);
    params["newName"] = new.into();
    client.request("textDocument/rename", params)["result"].clone()
}

fn lib_edits() -> Vec<Value> {
    vec![text_edit(range(0, 4, 8), "size"), text_edit(range(1, 0, 4), "size")]
}

fn main_edits() -> Vec<Value> {
    vec![text_edit(range(0, 2, 6), "size")]
}

pub(crate) fn a_rename_covers_every_file() {
    let mut client = toy(Rename::default());
    let expected = document_changes([
        document_edit(&client.uri("lib.toy"), None, lib_edits()),
        document_edit(&client.uri("main.toy"), Some(6), main_edits()),
    ]);
    assert_eq!(rename(&mut client, "main.toy", 0, 3, "size"), expected);
    assert_eq!(rename(&mut client, "lib.toy", 0, 4, "size"), expected);
}

pub(crate) fn a_rename_has_the_form_and_versions_of_the_script() {
    let mut client = toy(Rename { form: Form::Changes, ..Rename::default() });
    let (lib, main) = (client.uri("lib.toy"), client.uri("main.toy"));
    assert_eq!(
        rename(&mut client, "lib.toy", 0, 4, "size"),
        changes([(lib.as_str(), lib_edits()), (main.as_str(), main_edits())])
    );
    let cases = [
        (EditVersions::Null, [Value::Null, Value::Null]),
        (EditVersions::Zero, [json!(0), json!(0)]),
        (EditVersions::Older, [Value::Null, json!(5)]),
    ];
    for (versions, expected) in cases {
        let mut client = toy(Rename { versions, ..Rename::default() });
        let edit = rename(&mut client, "lib.toy", 0, 4, "size");
        let version = |at: usize| edit["documentChanges"][at]["textDocument"]["version"].clone();
        assert_eq!([version(0), version(1)], expected, "{versions:?}");
    }
}

pub(crate) fn a_rename_at_a_use_can_be_an_alias() {
    let mut client = toy(Rename { from_use: FromUse::ThisFile, ..Rename::default() });
    let main = document_edit(&client.uri("main.toy"), Some(6), main_edits());
    let lib = document_edit(&client.uri("lib.toy"), None, lib_edits());
    assert_eq!(rename(&mut client, "main.toy", 0, 3, "size"), document_changes([main.clone()]));
    assert_eq!(rename(&mut client, "lib.toy", 0, 4, "size"), document_changes([lib, main]));
}

pub(crate) fn prepare_rename_refuses_what_is_no_word() {
    let mut client = toy(Rename::default());
    let mut prepare = |line, character| {
        let params = client.at("main.toy", line, character);
        client.request("textDocument/prepareRename", params)["result"].clone()
    };
    assert_eq!(prepare(0, 4), json!({"range": range(0, 2, 6), "placeholder": "area"}));
    assert_eq!(prepare(0, 10), Value::Null, "a comment");
    assert_eq!(rename(&mut client, "main.toy", 0, 10, "size"), Value::Null);
}

pub(crate) fn any_new_name_will_do() {
    let mut client = toy(Rename::default());
    let edit = rename(&mut client, "main.toy", 0, 0, "not valid!");
    assert_eq!(edit["documentChanges"][0]["edits"][0]["newText"], "not valid!");
}
