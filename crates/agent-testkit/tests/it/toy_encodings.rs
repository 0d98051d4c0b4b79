//! Columns and URIs.

use agent_testkit::lsp::{Encoding, Script, Spelling, Toy, path_of, uri_of};
use serde_json::{Value, json};

use crate::client::Client;

/// A crab is 4, 2 and 1 units; a CJK character 3, 1 and 1; `é` 2, 1 and 1.
const LINE: &str = "🦀 漢字 é\tarea\ndef area\ndef 漢字\ndef é\n";

fn offers(encodings: &[&str]) -> Value {
    json!({"general": {"positionEncodings": encodings}})
}

fn start(script: &Script, offered: Value) -> (Client, Value) {
    let mut client = Client::start(script, &[("a.toy", LINE)]);
    let greeting = client.initialize(offered);
    client.notify("initialized", json!({}));
    (client, greeting["capabilities"]["positionEncoding"].clone())
}

fn references(client: &mut Client, line: u32, character: u32) -> Vec<String> {
    let params = client.at("a.toy", line, character);
    let response = client.request("textDocument/references", params);
    client.places(&response)
}

pub(crate) fn columns_count_in_each_encoding() {
    let cases = [
        (Encoding::Utf8, [(5, 11), (12, 14), (15, 19)], 6, 2),
        (Encoding::Utf16, [(3, 5), (6, 7), (8, 12)], 2, 1),
        (Encoding::Utf32, [(2, 4), (5, 6), (7, 11)], 2, 1),
    ];
    for (encoding, columns, kanji, accent) in cases {
        let script = Script::toy("toy-ls", Toy::push()).encoding(encoding);
        let (mut client, chosen) = start(&script, offers(&["utf-8", "utf-16", "utf-32"]));
        assert_eq!(chosen, encoding.name());
        let definitions = [(2, kanji), (3, accent), (1, 4)];
        for ((start, end), (line, width)) in columns.into_iter().zip(definitions) {
            let expected =
                [format!("a.toy:0:{start}-{end}"), format!("a.toy:{line}:4-{}", 4 + width)];
            assert_eq!(references(&mut client, 0, start), expected, "{encoding:?}");
            assert_eq!(references(&mut client, 0, end), expected, "{encoding:?}");
        }
        client.open("b.toy", 1, "🦀 x");
        let published = client.publish("b.toy")["diagnostics"][0]["range"]["start"].clone();
        let column = columns[0].0;
        assert_eq!(published, json!({"line": 0, "character": column}));
    }
}

pub(crate) fn an_encoding_that_was_not_offered_is_not_chosen() {
    let script = Script::toy("toy-ls", Toy::push()).encoding(Encoding::Utf8);
    for offered in [json!({}), offers(&["utf-16"])] {
        let (mut client, chosen) = start(&script, offered);
        assert_eq!(chosen, Value::Null);
        assert_eq!(references(&mut client, 0, 8), ["a.toy:0:8-12", "a.toy:1:4-8"]);
    }
    let silent = Script::toy("toy-ls", Toy::push());
    let (mut client, chosen) = start(&silent, offers(&["utf-8", "utf-16"]));
    assert_eq!(chosen, Value::Null);
    assert_eq!(references(&mut client, 0, 8), ["a.toy:0:8-12", "a.toy:1:4-8"]);
}

pub(crate) fn a_server_can_lie_about_its_columns() {
    let script = Script::toy("toy-ls", Toy::push().code_points()).encoding(Encoding::Utf8);
    let (mut client, chosen) = start(&script, offers(&["utf-8"]));
    assert_eq!(chosen, "utf-8");
    assert_eq!(references(&mut client, 1, 4), ["a.toy:0:7-11", "a.toy:1:4-8"]);
}

pub(crate) fn uris_are_spelled_as_the_script_says() {
    let name = "sp ace#h%41[é]+&x.toy";
    let cases = [
        (Spelling::Client, "sp%20ace%23h%2541%5B%C3%A9%5D%2B%26x.toy"),
        (Spelling::Lenient, "sp%20ace%23h%2541[%C3%A9]+&x.toy"),
        (Spelling::Raw, name),
    ];
    for (spelling, spelled) in cases {
        let script = Script::toy("toy-ls", Toy::push().spelling(spelling));
        let mut client = Client::greet(&script, &[(name, "def a"), ("b.toy", "a")], json!({}));
        let params = client.at("b.toy", 0, 0);
        let found = client.request("textDocument/definition", params);
        assert_eq!(client.places(&found), [format!("{spelled}:0:4-5")]);
    }
    let path = std::path::Path::new("/r/sp ace#h%41[é]+&x");
    for spelling in [Spelling::Client, Spelling::Lenient] {
        let script = Script::toy("toy-ls", Toy::push().spelling(spelling));
        let mut client = Client::greet(&script, &[], json!({}));
        client.open(name, 1, "x");
        let publish = client.wait_for_method("textDocument/publishDiagnostics");
        let uri = publish["params"]["uri"].as_str().expect("a URI").to_owned();
        assert_eq!(path_of(&uri), client.root().join(name));
        assert_eq!(uri == client.uri(name), spelling == Spelling::Client);
    }
    assert_eq!(path_of(&uri_of(path)), path);
}

pub(crate) fn windows_line_ends_are_no_part_of_a_line() {
    let script = Script::toy("toy-ls", Toy::push());
    let mut client = Client::greet(&script, &[("a.toy", "def a\r\na\r\n")], json!({}));
    let params = json!({"textDocument": {"uri": client.uri("a.toy")}});
    let symbols = client.request("textDocument/documentSymbol", params);
    assert_eq!(symbols["result"][0]["range"]["end"], json!({"line": 0, "character": 5}));
    assert_eq!(references(&mut client, 1, 99), ["a.toy:0:4-5", "a.toy:1:0-1"]);
}
