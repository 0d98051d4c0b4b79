use std::{fs, os::unix::fs::symlink};

use agent_edits::{ChangeKind, Edits};
use agent_lsp::{
    edits::{self, Changes, Documents, FileOperation, Sent},
    position::PositionEncoding,
    uri,
};
use agent_tool_core::ToolError;
use serde_json::{Value, json};

use crate::support::Checkout;

pub(crate) fn edit(start: (u32, u32), end: (u32, u32), text: &str) -> Value {
    let place = |(line, character)| json!({"line": line, "character": character});
    json!({"range": {"start": place(start), "end": place(end)}, "newText": text})
}

impl Checkout {
    pub(crate) fn uri(&self, name: &str) -> String {
        uri::of_path(&self.root().join(name)).to_string()
    }

    /// `changes` of one file.
    pub(crate) fn changes(&self, name: &str, edits: Value) -> Value {
        json!({"changes": {(self.uri(name)): edits}})
    }

    fn document(&self, name: &str, version: Option<i32>, edits: Value) -> Value {
        json!({"textDocument": {"uri": self.uri(name), "version": version}, "edits": edits})
    }

    pub(crate) fn read_edit(
        &self,
        edit: Value,
        encoding: PositionEncoding,
    ) -> Result<Changes, ToolError> {
        self.read_with(edit, encoding, &Documents::new())
    }

    fn read_with(
        &self,
        edit: Value,
        encoding: PositionEncoding,
        documents: &Documents,
    ) -> Result<Changes, ToolError> {
        edits::read(&self.workspace, &edit, encoding, documents)
    }

    /// Applies an edit and gives a file's text.
    fn applied(&self, edit: Value, encoding: PositionEncoding, file: &str) -> String {
        let changes = self.read_edit(edit, encoding).unwrap();
        self.apply(&changes);
        String::from_utf8_lossy(&fs::read(self.root().join(file)).unwrap()).into_owned()
    }

    pub(crate) fn apply(&self, changes: &Changes) {
        Edits::open(&self.workspace, self.outer.path().join("state"))
            .unwrap()
            .apply(changes.plan())
            .unwrap();
    }

    /// Every file with its text.
    fn tree(&self) -> Vec<(String, String)> {
        let options = agent_workspace::WalkOptions::new().include_hidden();
        let files = self.workspace.walk(&self.path("."), &options).unwrap().files;
        let text = |path| String::from_utf8(self.workspace.read(path).unwrap().bytes).unwrap();
        files.iter().map(|path| (self.workspace.show(path), text(path))).collect()
    }
}

fn code(result: Result<Changes, ToolError>) -> String {
    result.unwrap_err().code.into_owned()
}

const UTF16: PositionEncoding = PositionEncoding::Utf16;

// spec: LSP-15
#[test]
fn edits_are_made_in_the_encoding_and_with_the_line_ends_of_the_file() {
    let table = [
        // In each encoding, after an emoji and a letter of three bytes.
        ("😀日a\n", PositionEncoding::Utf8, edit((0, 7), (0, 8), "b"), "😀日b\n"),
        ("😀日a\n", PositionEncoding::Utf16, edit((0, 3), (0, 4), "b"), "😀日b\n"),
        ("😀日a\n", PositionEncoding::Utf32, edit((0, 2), (0, 3), "b"), "😀日b\n"),
        ("a\r\nb\r\n", UTF16, edit((1, 0), (1, 1), "x\ny"), "a\r\nx\r\ny\r\n"),
        ("a\rb\r", UTF16, edit((1, 0), (1, 1), "x\r\ny"), "a\rx\ry\r"),
        ("a\nb\n", UTF16, edit((1, 0), (1, 1), "x\r\ny"), "a\nx\ny\n"),
        // An end past the line is its end, before its line end.
        ("abc\r\nd", UTF16, edit((0, 1), (0, 99), "x"), "ax\r\nd"),
        // Past the text is its end, as servers write it.
        ("a\nb", UTF16, edit((0, 0), (2, 0), "x"), "x"),
        ("a\nb\n", UTF16, edit((0, 0), (99, 0), "x"), "x"),
        ("a\n", UTF16, edit((1, 0), (1, 0), "b\n"), "a\nb\n"),
        ("\u{feff}a = 1\r\n", UTF16, edit((0, 0), (0, 1), "b"), "\u{feff}b = 1\r\n"),
    ];
    for (before, encoding, edit, after) in table {
        let checkout = Checkout::new(&[("f", before)]);
        let edit = checkout.changes("f", json!([edit]));
        assert_eq!(checkout.applied(edit, encoding, "f"), after, "{before:?}");
    }
    let checkout = Checkout::new(&[]);
    checkout.put("f", b"caf\xE9 = 1\n");
    let edit = checkout.changes("f", json!([edit((0, 0), (0, 4), "th\u{e9}")]));
    checkout.apply(&checkout.read_edit(edit, UTF16).unwrap());
    assert_eq!(fs::read(checkout.root().join("f")).unwrap(), b"th\xE9 = 1\n");
}

// report: D34
#[test]
fn edits_of_one_file_are_one_set() {
    let table = [
        (
            "in any order",
            json!([edit((0, 4), (0, 5), "Y"), edit((0, 0), (0, 1), "X")]),
            Ok("Xb.cY."),
        ),
        ("touching", json!([edit((0, 0), (0, 1), "X"), edit((0, 1), (0, 2), "Y")]), Ok("XY.cd.")),
        (
            "an insertion at an edit",
            json!([edit((0, 0), (0, 1), "X"), edit((0, 1), (0, 1), "+")]),
            Ok("X+b.cd."),
        ),
        (
            "the same twice",
            json!([edit((0, 0), (0, 1), "X"), edit((0, 0), (0, 1), "X")]),
            Ok("Xb.cd."),
        ),
        (
            "overlapping",
            json!([edit((0, 0), (0, 2), "X"), edit((0, 1), (0, 3), "Y")]),
            Err("overlapping_edits"),
        ),
        (
            "one place twice",
            json!([edit((0, 0), (0, 1), "X"), edit((0, 0), (0, 1), "Y")]),
            Err("overlapping_edits"),
        ),
        ("backwards", json!([edit((0, 2), (0, 1), "X")]), Err("out_of_range")),
        ("from past the line", json!([edit((0, 7), (0, 9), "X")]), Err("out_of_range")),
        ("from past the text", json!([edit((5, 0), (5, 1), "X")]), Err("out_of_range")),
        ("nothing", json!([]), Ok("ab.cd.")),
    ];
    for (name, edits, expected) in table {
        let checkout = Checkout::new(&[("f", "ab.cd.")]);
        let read = checkout.read_edit(checkout.changes("f", edits), UTF16);
        match expected {
            Ok(after) => {
                let changes = read.unwrap();
                assert_eq!(changes.plan().entries()[0].after(), Some(after.as_bytes()), "{name}");
            }
            Err(expected) => assert_eq!(code(read), expected, "{name}"),
        }
    }
    let checkout = Checkout::new(&[("f", "😀")]);
    assert_eq!(
        code(checkout.read_edit(checkout.changes("f", json!([edit((0, 1), (0, 1), "x")])), UTF16)),
        "out_of_range"
    );
}

#[test]
fn one_file_under_two_uris_is_one_file() {
    let checkout = Checkout::new(&[("[a].ts", "ab")]);
    let raw = checkout.uri("[a].ts").replace("%5B", "[").replace("%5D", "]");
    let both = json!({"changes": {
        (checkout.uri("[a].ts")): [edit((0, 0), (0, 1), "x")],
        (raw): [edit((0, 0), (0, 1), "x"), edit((0, 1), (0, 2), "y")],
    }});
    let changes = checkout.read_edit(both, UTF16).unwrap();
    assert_eq!((changes.edits.len(), changes.count()), (1, 2));
    assert_eq!(checkout.tree().len(), 1);
    assert_eq!(
        serde_json::to_value(changes.files()).unwrap(),
        json!([{"file": "[a].ts", "edits": 2}])
    );
}

#[test]
fn document_changes_are_taken_before_changes_with_their_annotations() {
    let checkout = Checkout::new(&[("a", "old"), ("b", "old")]);
    let annotated =
        json!({"range": edit((0, 0), (0, 3), "")["range"], "newText": "new", "annotationId": "1"});
    let both = json!({
        "changes": {(checkout.uri("b")): [edit((0, 0), (0, 3), "wrong")]},
        "documentChanges": [checkout.document("a", None, json!([annotated]))],
        "changeAnnotations": {
            "1": {"label": "in a string", "needsConfirmation": true},
            "2": {"label": "no edit has it", "needsConfirmation": true},
        },
    });
    let changes = checkout.read_edit(both, UTF16).unwrap();
    let labels: Vec<_> = changes.annotations.iter().map(|annotation| &annotation.label).collect();
    assert_eq!(labels, ["in a string"]);
    checkout.apply(&changes);
    assert_eq!(
        checkout.tree(),
        [("a".to_owned(), "new".to_owned()), ("b".to_owned(), "old".to_owned())]
    );
}

// spec: LSP-15
// report: D24
#[test]
fn an_edit_for_another_version_or_text_is_refused() {
    let table = [
        ("the version sent", Some(3), "ab", None),
        ("no version", None, "ab", None),
        ("0, as jedi sends it", Some(0), "ab", None),
        ("an older version", Some(2), "ab", Some("edit is for version 2 and the file is at 3")),
        ("a version that never was", Some(9), "ab", Some("edit is for version 9")),
        ("another text", Some(3), "xy", Some("changed since the server was sent it")),
        ("another text without version", None, "xy", Some("changed since")),
        ("another text with 0", Some(0), "xy", Some("changed since")),
    ];
    for (name, version, sent, refused) in table {
        let checkout = Checkout::new(&[("f", "ab")]);
        let documents =
            Documents::from([(checkout.path("f"), Sent { version: 3, text: sent.to_owned() })]);
        let change = json!({"documentChanges": [checkout.document("f", version, json!([edit((0, 0), (0, 1), "x")]))]});
        let read = checkout.read_with(change, UTF16, &documents);
        match refused {
            None => assert_eq!(read.unwrap().count(), 1, "{name}"),
            Some(part) => {
                let error = read.unwrap_err();
                assert_eq!(error.code, "stale_rename", "{name}");
                assert!(error.message.contains(part), "{name}: {}", error.message);
            }
        }
    }
    // Every element counts, and a file that was moved before is still the one that was sent.
    let checkout = Checkout::new(&[("f", "ab")]);
    let documents = |text: &str| {
        Documents::from([(checkout.path("f"), Sent { version: 3, text: text.to_owned() })])
    };
    let of = |version| checkout.document("f", version, json!([edit((0, 0), (0, 1), "x")]));
    let twice = json!({"documentChanges": [of(Some(3)), of(Some(2))]});
    assert_eq!(code(checkout.read_with(twice, UTF16, &documents("ab"))), "stale_rename");
    let moved = json!({"documentChanges": [
        {"kind": "rename", "oldUri": checkout.uri("f"), "newUri": checkout.uri("g")},
        checkout.document("g", None, json!([edit((0, 0), (0, 1), "x")])),
    ]});
    assert_eq!(checkout.read_with(moved.clone(), UTF16, &documents("ab")).unwrap().count(), 1);
    assert_eq!(code(checkout.read_with(moved, UTF16, &documents("xy"))), "stale_rename");
    // What changes after the plan was made is held by the plan.
    let checkout = Checkout::new(&[("f", "ab")]);
    let changes = checkout
        .read_edit(checkout.changes("f", json!([edit((0, 0), (0, 1), "x")])), UTF16)
        .unwrap();
    checkout.put("f", "changed");
    let edits = Edits::open(&checkout.workspace, checkout.outer.path().join("state")).unwrap();
    assert_eq!(edits.apply(changes.plan()).unwrap_err().code(), "stale_edit");
}

// spec: LSP-15
#[test]
fn files_that_are_not_the_projects_are_not_changed() {
    let checkout = Checkout::new(&[
        ("node_modules/x/i.js", "ab"),
        ("web/node_modules/x/i.js", "ab"),
        (".venv/lib/python3.12/site-packages/p.py", "ab"),
        ("env/lib/dist-packages/p.py", "ab"),
        (".cargo/registry/src/x.rs", "ab"),
        ("go/pkg/mod/x.go", "ab"),
        (".git/hooks/pre-commit", "ab"),
        ("pkg/model/x.go", "ab"),
    ]);
    let outside = checkout.outer.path().join("out");
    fs::write(&outside, "ab").unwrap();
    symlink(&outside, checkout.root().join("link")).unwrap();
    symlink("node_modules/x/i.js", checkout.root().join("inner.js")).unwrap();
    let one = json!([edit((0, 0), (0, 1), "x")]);
    for file in [
        "node_modules/x/i.js",
        "web/node_modules/x/i.js",
        ".venv/lib/python3.12/site-packages/p.py",
        "env/lib/dist-packages/p.py",
        ".cargo/registry/src/x.rs",
        "go/pkg/mod/x.go",
        ".git/hooks/pre-commit",
        "inner.js",
    ] {
        assert_eq!(
            code(checkout.read_edit(checkout.changes(file, one.clone()), UTF16)),
            "library_file",
            "{file}"
        );
    }
    assert_eq!(
        code(checkout.read_edit(checkout.changes("../out", one.clone()), UTF16)),
        "outside_workspace"
    );
    assert_eq!(
        code(checkout.read_edit(checkout.changes("link", one.clone()), UTF16)),
        "outside_workspace"
    );
    let odd = json!({"changes": {"jdt://contents/A.class": one}});
    assert_eq!(code(checkout.read_edit(odd, UTF16)), "outside_workspace");
    assert!(checkout.read_edit(checkout.changes("pkg/model/x.go", one), UTF16).is_ok());
    assert_eq!(code(checkout.read_edit(checkout.changes("gone", json!([])), UTF16)), "not_found");
    let into = json!({"documentChanges": [{"kind": "create", "uri": checkout.uri("node_modules/new.js")}]});
    assert_eq!(code(checkout.read_edit(into, UTF16)), "library_file");
}

#[test]
fn a_link_is_edited_at_its_target_and_never_moved_or_removed() {
    let checkout = Checkout::new(&[("real/a", "ab")]);
    symlink("real/a", checkout.root().join("link")).unwrap();
    let one = json!([edit((0, 0), (0, 1), "x")]);
    let changes = checkout.read_edit(checkout.changes("link", one), UTF16).unwrap();
    assert_eq!(changes.edits[0].file, "real/a");
    checkout.apply(&changes);
    assert!(checkout.root().join("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read_to_string(checkout.root().join("real/a")).unwrap(), "xb");
    for operation in [
        json!({"kind": "rename", "oldUri": checkout.uri("link"), "newUri": checkout.uri("b")}),
        json!({"kind": "delete", "uri": checkout.uri("link")}),
    ] {
        assert_eq!(
            code(checkout.read_edit(json!({"documentChanges": [operation]}), UTF16)),
            "is_a_link"
        );
    }
}

/// The tree after operations, or the error's code.
fn operated(
    files: &[(&str, &str)],
    operations: impl Fn(&Checkout) -> Vec<Value>,
) -> Result<Vec<(String, String)>, String> {
    let checkout = Checkout::new(files);
    let edit = json!({"documentChanges": operations(&checkout)});
    let changes = checkout.read_edit(edit, UTF16).map_err(|error| error.code.into_owned())?;
    checkout.apply(&changes);
    Ok(checkout.tree())
}

fn tree(files: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
    Ok(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
}

fn fails(code: &str) -> Result<Vec<(String, String)>, String> {
    Err(code.to_owned())
}

// spec: LSP-15
#[test]
fn files_are_made_moved_and_removed_by_the_rules_of_the_protocol() {
    let two = [("a", "A"), ("b", "B")];
    let create: fn(&Checkout, &str, Value) -> Value =
        |at, name, options| json!({"kind": "create", "uri": at.uri(name), "options": options});
    let rename: fn(&Checkout, &str, &str, Value) -> Value = |at, from, to, options| json!({"kind": "rename", "oldUri": at.uri(from), "newUri": at.uri(to), "options": options});
    let delete: fn(&Checkout, &str, Value) -> Value =
        |at, name, options| json!({"kind": "delete", "uri": at.uri(name), "options": options});
    let check = |name: &str, operations: &dyn Fn(&Checkout) -> Vec<Value>, expected| {
        assert_eq!(operated(&two, operations), expected, "{name}");
    };
    let none = || json!(null);
    check(
        "create",
        &|at| vec![create(at, "d/c", none())],
        tree(&[("a", "A"), ("b", "B"), ("d/c", "")]),
    );
    check("create over a file", &|at| vec![create(at, "a", none())], fails("already_exists"));
    check(
        "create, ignore",
        &|at| vec![create(at, "a", json!({"ignoreIfExists": true}))],
        tree(&two),
    );
    check(
        "create, overwrite wins",
        &|at| vec![create(at, "a", json!({"ignoreIfExists": true, "overwrite": true}))],
        tree(&[("a", ""), ("b", "B")]),
    );
    check("rename", &|at| vec![rename(at, "a", "d/c", none())], tree(&[("b", "B"), ("d/c", "A")]));
    check("rename over a file", &|at| vec![rename(at, "a", "b", none())], fails("already_exists"));
    check(
        "rename, ignore",
        &|at| vec![rename(at, "a", "b", json!({"ignoreIfExists": true}))],
        tree(&two),
    );
    check(
        "rename, overwrite",
        &|at| vec![rename(at, "a", "b", json!({"overwrite": true}))],
        tree(&[("b", "A")]),
    );
    check("rename of nothing", &|at| vec![rename(at, "c", "d", none())], fails("not_found"));
    check("rename to itself", &|at| vec![rename(at, "a", "a", none())], tree(&two));
    check("delete", &|at| vec![delete(at, "a", none())], tree(&[("b", "B")]));
    check("delete of nothing", &|at| vec![delete(at, "c", none())], fails("not_found"));
    check(
        "delete, ignore",
        &|at| vec![delete(at, "c", json!({"ignoreIfNotExists": true}))],
        tree(&two),
    );
    check(
        "a swap",
        &|at| {
            vec![
                rename(at, "a", "t", none()),
                rename(at, "b", "a", none()),
                rename(at, "t", "b", none()),
            ]
        },
        tree(&[("a", "B"), ("b", "A")]),
    );
    check(
        "create and delete",
        &|at| vec![create(at, "c", none()), delete(at, "c", none())],
        tree(&two),
    );
    check(
        "delete and create anew",
        &|at| {
            vec![
                delete(at, "a", none()),
                create(at, "a", none()),
                at.document("a", None, json!([edit((0, 0), (0, 0), "new")])),
            ]
        },
        tree(&[("a", "new"), ("b", "B")]),
    );
}

#[test]
fn steps_are_made_in_their_order() {
    let files = [("foo.rs", "foo"), ("lib.rs", "mod foo;")];
    let checkout = Checkout::new(&files);
    // rust-analyzer edits a module under its old name, and others under its new one.
    let edit = json!({"documentChanges": [
        checkout.document("foo.rs", None, json!([edit((0, 0), (0, 3), "bar")])),
        {"kind": "rename", "oldUri": checkout.uri("foo.rs"), "newUri": checkout.uri("bar.rs")},
        checkout.document("bar.rs", None, json!([edit((0, 3), (0, 3), "!")])),
        checkout.document("lib.rs", None, json!([edit((0, 4), (0, 7), "bar")])),
    ]});
    let changes = checkout.read_edit(edit, UTF16).unwrap();
    let kinds: Vec<_> = changes.plan().entries().iter().map(agent_edits::Entry::kind).collect();
    assert_eq!(kinds, [ChangeKind::Create, ChangeKind::Delete, ChangeKind::Modify]);
    assert_eq!(
        changes.operations,
        [FileOperation::Rename { from: "foo.rs".to_owned(), to: "bar.rs".to_owned() }]
    );
    assert_eq!(
        serde_json::to_value(changes.files()).unwrap(),
        json!([{"file": "foo.rs", "edits": 2}, {"file": "lib.rs", "edits": 1}])
    );
    checkout.apply(&changes);
    assert_eq!(Ok(checkout.tree()), tree(&[("bar.rs", "bar!"), ("lib.rs", "mod bar;")]));
}

#[test]
fn a_folder_moves_and_goes_with_its_files() {
    let files = [("foo/mod.rs", "1"), ("foo/a/.hidden", "2"), ("foo/edited", "3"), ("other", "4")];
    let rename = |at: &Checkout| {
        vec![
            at.document("foo/edited", None, json!([edit((0, 1), (0, 1), "!")])),
            json!({"kind": "rename", "oldUri": at.uri("foo"), "newUri": at.uri("bar")}),
        ]
    };
    assert_eq!(
        operated(&files, rename),
        tree(&[("bar/a/.hidden", "2"), ("bar/edited", "3!"), ("bar/mod.rs", "1"), ("other", "4")])
    );
    let delete = |options: Value| {
        operated(&files, move |at| {
            vec![json!({"kind": "delete", "uri": at.uri("foo"), "options": options})]
        })
    };
    assert_eq!(delete(json!({"recursive": true})), tree(&[("other", "4")]));
    assert_eq!(delete(json!(null)), fails("folder_not_empty"));
    let onto = |at: &Checkout| {
        vec![json!({"kind": "rename", "oldUri": at.uri("other"), "newUri": at.uri("foo")})]
    };
    assert_eq!(operated(&files, onto), fails("already_exists"));

    let checkout = Checkout::new(&files);
    symlink("mod.rs", checkout.root().join("foo/link")).unwrap();
    let edit = json!({"documentChanges": [{"kind": "rename", "oldUri": checkout.uri("foo"), "newUri": checkout.uri("bar")}]});
    assert_eq!(code(checkout.read_edit(edit, UTF16)), "is_a_link");
}
