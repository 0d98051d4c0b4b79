//! `lsp_rename`: from the definition, held against everything that makes it believable, all or none.

use std::{collections::BTreeMap, fs};

use agent_testkit::lsp::{
    EditVersions, Encoding, Form, FromUse, Rename, Says, Script, Step, Toy, changes,
    document_changes, document_edit, range, rename_file, text_edit,
};
use agent_tool_core::{Context, ToolError, ToolOutput};
use serde_json::{Value, json};

use crate::fixture::{Checkout, PULL, Setup, about, row};

const RENAME: &str = "textDocument/rename";
const REFERENCES: &str = "textDocument/references";
const WILL_RENAME: &str = "workspace/willRenameFiles";

/// A library, a file that uses it twice, and one that is never opened by a call.
const FILES: [(&str, &str); 3] =
    [("lib.toy", "def area\n"), ("a.toy", "area\n# the area\narea\n"), ("b.toy", "area\n")];

fn of_script(script: Script) -> Setup {
    FILES.iter().fold(Setup::new([row(script)]), |setup, (file, text)| setup.file(file, text))
}

/// A server that renames by these steps.
fn renaming(steps: impl IntoIterator<Item = Step>) -> Script {
    Script::toy("toy", Toy::push()).on(RENAME, steps)
}

async fn rename(
    checkout: &Checkout,
    file: &str,
    symbol: &str,
    new: &str,
) -> Result<ToolOutput, ToolError> {
    let args = json!({ "file": file, "line": 1, "symbol": symbol, "new_name": new });
    checkout.call("lsp_rename", args).await
}

/// The text of every file of the toy language.
fn texts(checkout: &Checkout) -> BTreeMap<String, String> {
    let names = fs::read_dir(checkout.root()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let toys = names.filter(|name| name.ends_with(".toy"));
    toys.map(|name| (name.clone(), fs::read_to_string(checkout.root().join(name)).unwrap()))
        .collect()
}

/// What a rename by these steps comes to: its code and message. Nothing may have been written.
async fn refused(script: Script) -> (String, String) {
    let checkout = of_script(script).make();
    let before = texts(&checkout);
    let error = rename(&checkout, "a.toy", "area", "surface").await.unwrap_err();
    assert_eq!(texts(&checkout), before, "{}", error.message);
    (error.code.into_owned(), error.message)
}

/// The files of a rename with the number of their edits.
fn files(output: &ToolOutput) -> Vec<(String, u64)> {
    let files = output.data["files"].as_array().unwrap().iter();
    files
        .map(|file| (file["file"].as_str().unwrap().to_owned(), file["edits"].as_u64().unwrap()))
        .collect()
}

fn left(output: &ToolOutput) -> Vec<String> {
    let places = output.data["leftovers"].as_array().unwrap().iter();
    places.map(|at| format!("{}:{}", at["file"].as_str().unwrap(), at["line"])).collect()
}

// spec: LSP-15
// report: D21, D22, D23
pub(crate) async fn a_rename_reaches_every_file_and_back_again() {
    for form in [Form::DocumentChanges, Form::Changes] {
        let toy = Toy::pull().watched().rename(Rename { form, ..Rename::default() });
        let checkout = Setup::new([row(Script::toy("toy", toy)).wait(PULL)])
            .file("lib.toy", "def area\n")
            .file("a.toy", "area\n# the area\narea\n")
            .file("b.toy", "area\n")
            .make();
        let before = texts(&checkout);
        // The first call of all: the server is told of the file before it is asked.
        let renamed = rename(&checkout, "a.toy", "area", "surface").await.unwrap();
        assert_eq!(about(&checkout.log(), &checkout.uri("a.toy"))[0], "didOpen", "{form:?}");
        let expected = [("a.toy", 2), ("b.toy", 1), ("lib.toy", 1)];
        assert_eq!(files(&renamed), expected.map(|(file, edits)| (file.to_owned(), edits)));
        assert_eq!(renamed.data["renamed"], 4);
        assert_eq!(left(&renamed), ["a.toy:2"], "the comment");
        let after = texts(&checkout);
        assert_eq!(after["a.toy"], "surface\n# the area\nsurface\n");
        assert_eq!((&*after["b.toy"], &*after["lib.toy"]), ("surface\n", "def surface\n"));
        // What is open is sent anew, the rest is told as changed: it answers from the new texts.
        let log = checkout.log();
        let of = |file: &str| about(&log, &checkout.uri(file));
        assert!(of("a.toy").contains(&"didChange".to_owned()), "{:?}", of("a.toy"));
        assert!(of("b.toy").contains(&"changed".to_owned()), "{:?}", of("b.toy"));
        let hover = checkout.hover("b.toy", 1, "surface").await;
        assert_eq!(hover, "```toy\ndef surface\n```", "{form:?}");
        // And a second rename touches no less than the first.
        let back = rename(&checkout, "b.toy", "surface", "area").await.unwrap();
        assert_eq!((back.data["renamed"].clone(), texts(&checkout)), (json!(4), before));
    }
}

// spec: LSP-15
// report: D33
pub(crate) async fn a_use_is_renamed_from_its_definition() {
    let from_use = Rename { from_use: FromUse::ThisFile, ..Rename::default() };
    let checkout = of_script(Script::toy("toy", Toy::push().rename(from_use))).make();
    let renamed = rename(&checkout, "a.toy", "area", "surface").await.unwrap();
    assert_eq!(renamed.data["renamed"], 4);
    let opening = "resolved `area` at a.toy:1:1, renamed from its definition at lib.toy:1:5\n";
    assert!(renamed.joined_text().starts_with(opening), "{}", renamed.joined_text());
    let asked = checkout.log().calls(RENAME)[0].body.clone();
    assert_eq!(asked["textDocument"]["uri"], checkout.uri("lib.toy"));
    assert_eq!(asked["position"], json!({ "line": 0, "character": 4 }));
}

// spec: LSP-15
// report: D33
pub(crate) async fn an_alias_is_renamed_where_it_stands() {
    // What it is an alias of begins with its name.
    let at = |file: &str, line, start, end| json!({ "uri": format!("${{root}}/{file}"), "range": range(line, start, end) });
    let uses =
        [at("a.toy", 0, 0, 2), at("a.toy", 1, 0, 2), at("a.toy", 1, 0, 2), at("b.toy", 0, 0, 4)];
    let edits = [text_edit(range(0, 0, 2), "size"), text_edit(range(1, 0, 2), "size")];
    let script = renaming([Step::reply(changes([("${root}/a.toy", edits.to_vec())]))])
        .on("textDocument/definition", [Step::reply(json!([at("lib.toy", 0, 4, 8)]))])
        .on(REFERENCES, [Step::reply(json!(uses))]);
    let checkout = of_script(script).file("a.toy", "ar\nar\n").make();
    let renamed = rename(&checkout, "a.toy", "ar", "size").await.unwrap();
    let asked = checkout.log().calls(RENAME)[0].body.clone();
    assert_eq!(asked["textDocument"]["uri"], checkout.uri("a.toy"));
    assert_eq!(texts(&checkout)["a.toy"], "size\nsize\n");
    let told = "renamed `ar` to `size`: 2 places in 1 file; all 2 references that the server lists by this name are among these; 1 reference \
                by another name, such as an alias, not renamed\n";
    assert!(renamed.joined_text().contains(told), "{}", renamed.joined_text());
}

// spec: LSP-15
pub(crate) async fn a_name_that_is_taken_is_told_before_and_after() {
    let checkout =
        of_script(Script::toy("toy", Toy::push())).file("lib.toy", "def area\ndef size\n").make();
    let args = json!({ "file": "lib.toy", "line": 1, "symbol": "area", "new_name": "size" });
    let told = "`size` exists already at lib.toy:2, in the same scope";
    let tool = checkout.tool("lsp_rename");
    let preview = tool.preview(&args, &Context::detached()).await.unwrap();
    assert!(preview.body.starts_with(told), "{}", preview.body);
    let renamed = checkout.call("lsp_rename", args).await.unwrap().joined_text();
    assert!(renamed.contains(&format!("\n{told}: both have this name now")), "{renamed}");
    let free = rename(&checkout, "lib.toy", "size#1", "depth").await.unwrap().joined_text();
    assert!(!free.contains("exists already"), "{free}");
}

// spec: LSP-15
// report: D27
pub(crate) async fn a_rename_is_exact_in_each_encoding() {
    let line = "\t\"🌍 世界\" área(é) \"🌍\" área";
    for encoding in [None, Some(Encoding::Utf8), Some(Encoding::Utf16), Some(Encoding::Utf32)] {
        let mut script = Script::toy("toy", Toy::push());
        script.encoding = encoding;
        let checkout = Setup::new([row(script)])
            .file("lib.toy", "def área\ndef é\n")
            .file("a.toy", &format!("{line}\r\n{line}\r\n"))
            .make();
        rename(&checkout, "a.toy", "área(", "面積").await.unwrap();
        let expected = line.replace("área", "面積");
        assert_eq!(
            texts(&checkout)["a.toy"],
            format!("{expected}\r\n{expected}\r\n"),
            "{encoding:?}"
        );
    }
    // One that counts otherwise than it says would cut words.
    let checkout = Setup::new([row(Script::toy("toy", Toy::push().code_points()))])
        .file("lib.toy", "def area\n")
        .file("a.toy", "area \"🌍\" area\n")
        .make();
    let before = texts(&checkout);
    let error = rename(&checkout, "lib.toy", "area", "surface").await.unwrap_err();
    assert_eq!(error.code, "position_encoding_mismatch", "{}", error.message);
    assert_eq!(texts(&checkout), before);
}

// spec: LSP-15
// report: D19
pub(crate) async fn a_rename_of_open_files_alone_is_refused_by_the_references() {
    let edit = changes([
        ("${root}/lib.toy", vec![text_edit(range(0, 4, 8), "surface")]),
        (
            "${root}/a.toy",
            vec![text_edit(range(0, 0, 4), "surface"), text_edit(range(2, 0, 4), "surface")],
        ),
    ]);
    let (code, message) = refused(renaming([Step::reply(edit)])).await;
    assert_eq!(code, "partial_rename");
    assert!(message.contains("its edit lacks 1 of 4 references"), "{message}");
    assert!(message.ends_with("\n  b.toy:1:1: area"), "{message}");
}

// spec: LSP-15, LSP-16
// report: D19
pub(crate) async fn what_neither_the_rename_nor_the_references_reach_is_told() {
    let edit = changes([("${root}/lib.toy", vec![text_edit(range(0, 4, 8), "surface")])]);
    let lib = json!([{ "uri": "${root}/lib.toy", "range": range(0, 4, 8) }]);
    let script = renaming([Step::reply(edit)]).on(REFERENCES, [Step::reply(lib)]);
    let checkout = of_script(script).make();
    let renamed = rename(&checkout, "lib.toy", "area", "surface").await.unwrap();
    assert_eq!(renamed.data["renamed"], 1);
    assert_eq!(left(&renamed), ["a.toy:1", "a.toy:2", "a.toy:3", "b.toy:1"]);
    let text = renamed.joined_text();
    let told = "`area` still stands as text in 4 lines of 2 files (comments, strings, other languages, other \
                symbols of that name, or code that the server does not know):\n  a.toy:1: area\n";
    assert!(text.contains(told), "{text}");
    // Without references nothing can be held against it, and that is said.
    let script =
        Script::toy("toy", Toy::push()).capabilities(json!({ "referencesProvider": null }));
    let renamed = rename(&of_script(script).make(), "lib.toy", "area", "surface").await.unwrap();
    assert!(
        renamed.joined_text().contains("lists no references, so whether that is all is not known"),
        "{}",
        renamed.joined_text()
    );
}

// spec: LSP-15, LSP-16
// report: D20
pub(crate) async fn an_edit_of_nothing_is_a_failure() {
    let nothing = [
        Value::Null,
        json!({}),
        json!({ "changes": {} }),
        json!({ "documentChanges": [] }),
        json!({ "changes": { "${root}/lib.toy": [] } }),
    ];
    for edit in nothing {
        let shown = edit.to_string();
        let (code, message) = refused(renaming([Step::Reply(edit)])).await;
        assert_eq!(code, "empty_rename", "{shown}");
        assert!(message.starts_with("the server renamed `area` in no file"), "{shown}: {message}");
    }
}

// spec: LSP-15
// report: D24
pub(crate) async fn an_edit_for_an_older_version_changes_nothing() {
    let older = Rename { versions: EditVersions::Older, ..Rename::default() };
    let checkout = of_script(Script::toy("toy", Toy::push().rename(older))).make();
    checkout.diagnostics("a.toy").await;
    checkout.put("a.toy", "area\n");
    checkout.diagnostics("a.toy").await;
    let before = texts(&checkout);
    let error = rename(&checkout, "a.toy", "area", "surface").await.unwrap_err();
    assert_eq!(error.code, "stale_rename");
    let why =
        "a.toy: the edit is for version 1 and the file is at 2; nothing was written, so ask again";
    assert_eq!((error.message.as_str(), texts(&checkout)), (why, before));
    // Without a version, or with the 0 that some send for none, the text alone decides.
    for versions in [EditVersions::Null, EditVersions::Zero] {
        let toy = Toy::push().rename(Rename { versions, ..Rename::default() });
        let checkout = of_script(Script::toy("toy", toy)).make();
        let renamed = rename(&checkout, "a.toy", "area", "surface").await.unwrap();
        assert_eq!(renamed.data["renamed"], 4, "{versions:?}");
    }
}

// spec: LSP-15
// report: D24
pub(crate) async fn a_file_that_changes_while_the_server_thinks_is_not_overwritten() {
    let script = renaming([Step::request("x/hold", json!({})), Step::Wait(400), Step::Default]);
    let toy = Rename { versions: EditVersions::Null, ..Rename::default() };
    let script = Script { toy: Some(Toy::push().rename(toy)), ..script };
    let checkout = of_script(script).make();
    let renaming = rename(&checkout, "a.toy", "area", "surface");
    let changing = async {
        checkout.until_sent(RENAME, 1).await;
        checkout.put("a.toy", "# shifted\narea\n# the area\narea\n");
    };
    let (renamed, ()) = tokio::join!(renaming, changing);
    let error = renamed.unwrap_err();
    assert_eq!(error.code, "stale_rename", "{}", error.message);
    let after = texts(&checkout);
    assert_eq!(after["a.toy"], "# shifted\narea\n# the area\narea\n");
    assert_eq!((&*after["lib.toy"], &*after["b.toy"]), ("def area\n", "area\n"));
}

/// An edit that moves the library's file and renames what is in it.
fn moving() -> Value {
    document_changes([
        document_edit("${root}/lib.toy", None, [text_edit(range(0, 4, 8), "surface")]),
        rename_file("${root}/lib.toy", "${root}/surface.toy"),
        document_edit(
            "${root}/a.toy",
            None,
            [text_edit(range(0, 0, 4), "surface"), text_edit(range(2, 0, 4), "surface")],
        ),
        document_edit("${root}/b.toy", None, [text_edit(range(0, 0, 4), "surface")]),
    ])
}

fn asks_before_a_move(script: Script) -> Script {
    let files = json!({ "fileOperations": { "willRename": { "filters": [] } } });
    script.capabilities(json!({ "workspace": files }))
}

// spec: LSP-15
// report: D25
pub(crate) async fn nothing_moves_where_the_server_fails_to_say_what_a_move_breaks() {
    for step in [Step::fail(-32603, "no such module"), Step::Exit(1)] {
        let shown = format!("{step:?}");
        let script = asks_before_a_move(renaming([Step::reply(moving())])).on(WILL_RENAME, [step]);
        let (code, message) = refused(script).await;
        assert!(["refused", "server_failed"].contains(&&*code), "{shown}: {code} {message}");
    }
    // What it says is made with the move.
    let imports = changes([("${root}/c.toy", vec![text_edit(range(0, 2, 6), "surface")])]);
    let script = asks_before_a_move(renaming([Step::reply(moving())]))
        .on(WILL_RENAME, [Step::reply(imports)]);
    let checkout = of_script(script).file("c.toy", "# area\n").make();
    let renamed = rename(&checkout, "a.toy", "area", "surface").await.unwrap();
    let asked = checkout.log().calls(WILL_RENAME)[0].body.clone();
    let ends_with = |uri: &Value, name: &str| uri.as_str().unwrap().ends_with(name);
    assert!(ends_with(&asked["files"][0]["oldUri"], "/lib.toy"), "{asked}");
    assert!(ends_with(&asked["files"][0]["newUri"], "/surface.toy"), "{asked}");
    let after = texts(&checkout);
    assert!(!after.contains_key("lib.toy"), "{after:?}");
    assert_eq!((&*after["surface.toy"], &*after["c.toy"]), ("def surface\n", "# surface\n"));
    let text = renamed.joined_text();
    assert!(text.contains("\n  moves lib.toy to surface.toy"), "{text}");
    // The server is told what became of each file.
    let log = checkout.log();
    assert!(about(&log, &checkout.uri("lib.toy")).contains(&"deleted".to_owned()));
    assert!(about(&log, &checkout.uri("surface.toy")).contains(&"created".to_owned()));
}

// spec: LSP-15
// report: D34
pub(crate) async fn an_edit_given_twice_is_made_once_and_one_beside_the_name_never() {
    let all = |of_a: Vec<Value>| {
        changes([
            ("${root}/lib.toy", vec![text_edit(range(0, 4, 8), "surface")]),
            ("${root}/a.toy", of_a),
            ("${root}/b.toy", vec![text_edit(range(0, 0, 4), "surface")]),
        ])
    };
    let edit = |line, start, end| text_edit(range(line, start, end), "surface");
    let twice = all(vec![edit(0, 0, 4), edit(2, 0, 4), edit(0, 0, 4), edit(2, 0, 4)]);
    let checkout = of_script(renaming([Step::reply(twice)])).make();
    let renamed = rename(&checkout, "a.toy", "area", "surface").await.unwrap();
    assert_eq!(renamed.data["renamed"], 4);
    assert_eq!(texts(&checkout)["a.toy"], "surface\n# the area\nsurface\n");

    let wrong = [
        ("overlapping_edits", vec![edit(0, 0, 4), edit(0, 2, 4), edit(2, 0, 4)]),
        ("position_encoding_mismatch", vec![edit(0, 0, 4), edit(1, 0, 4)]),
        ("position_encoding_mismatch", vec![edit(0, 0, 4), edit(2, 1, 3)]),
        ("out_of_range", vec![edit(0, 0, 4), edit(2, 9, 13)]),
    ];
    for (expected, of_a) in wrong {
        let (code, message) = refused(renaming([Step::reply(all(of_a))])).await;
        assert_eq!(code, expected, "{message}");
    }
}

// spec: LSP-15, LSP-16
// report: D17
pub(crate) async fn a_rename_waits_until_the_project_is_read() {
    let toy = Toy::push().indexing(500, [Says::Progress]);
    let checkout = FILES
        .iter()
        .fold(
            Setup::new([row(Script::toy("toy", toy)).ready("progress")]),
            |setup, (file, text)| setup.file(file, text),
        )
        .make();
    let renamed = rename(&checkout, "a.toy", "area", "surface").await.unwrap();
    assert_eq!(renamed.data["renamed"], 4);
    let toy = Toy::push().indexing(60_000, [Says::Progress]);
    let checkout = Setup::new([row(Script::toy("toy", toy)).ready("progress")])
        .file("a.toy", "def area\narea\n")
        .waits(|waits| waits.answer = std::time::Duration::from_millis(1_500))
        .make();
    let error = rename(&checkout, "a.toy", "area", "surface").await.unwrap_err();
    assert_eq!(error.code, "not_ready");
    assert_eq!(checkout.log().calls(RENAME).len(), 0);
}
