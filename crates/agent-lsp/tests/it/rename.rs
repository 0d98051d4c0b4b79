use agent_lsp::{
    language::Language,
    position::PositionEncoding::{self, Utf8, Utf16},
    rename::{self, Reference, Where},
};
use agent_tool_core::Stop;
use async_lsp::lsp_types::{Position, Range};
use serde_json::{Value, json};

use crate::{edits::edit, support::Checkout};

// spec: LSP-15
#[test]
fn a_new_name_is_an_identifier_of_its_language() {
    let table: [(&str, &str, &str, Option<&str>); 43] = [
        ("rust", "area", "surface", None),
        ("rust", "area", "_area", None),
        ("rust", "area", "面積", None),
        ("rust", "area", "r#type", None),
        ("rust", "area", "type", Some("it is a keyword of Rust; write `r#type`, or another")),
        ("rust", "area", "self", Some("it is a keyword of Rust; write another")),
        ("rust", "area", "r#self", Some("`self` cannot be written raw")),
        ("rust", "area", "r#", Some("is no identifier")),
        ("rust", "area", "not valid!", Some("because of ` `")),
        ("rust", "area", "a-b", Some("because of `-`")),
        ("rust", "area", "2d", Some("`2` at its start")),
        ("rust", "area", "", Some("it is empty")),
        ("rust", "area", "area", Some("it is its name already")),
        ("rust", "'a", "'b", None),
        ("rust", "area", "'b", Some("`'` makes it another kind of name")),
        ("rust", "area", "a😀", Some("because of `😀`")),
        ("python", "area", "match", None),
        ("python", "area", "class", Some("keyword of Python; write another")),
        ("python", "area", "None", Some("keyword")),
        ("python", "area", "a.b", Some("because of `.`")),
        ("typescript", "area", "$area", None),
        ("typescript", "area", "type", None),
        ("typescript", "area", "new", Some("keyword of JavaScript")),
        ("typescript", "#x", "#y", None),
        ("typescript", "#x", "y", None),
        ("typescript", "x", "#y", Some("`#` makes it another kind of name; write it without")),
        ("typescript", "#x", "#", Some("nothing after its mark")),
        ("kotlin", "area", "`val`", None),
        ("kotlin", "area", "`two words`", None),
        ("kotlin", "area", "val", Some("write ``val``, or another")),
        ("csharp", "area", "@class", None),
        ("ruby", "empty?", "blank?", None),
        ("ruby", "area", "a?b", Some("because of `?`")),
        ("ruby", "@area", "@surface", None),
        ("php", "$area", "$surface", None),
        ("php", "area", "CLASS", Some("keyword of PHP")),
        ("php", "area", "Area", None),
        ("css", "a-b", "c-d", None),
        ("go", "area", "func", Some("keyword of Go")),
        ("go", "area", "_", Some("keyword of Go")),
        ("dart", "area", "_$area", None),
        ("cobol", "area", "AREA2", None),
        ("cobol", "area", "a b", Some("no identifier of this language")),
    ];
    for (language, old, new, refused) in table {
        let checked = rename::check_name(Language::by_id(language), old, new);
        match refused {
            None => assert!(checked.is_ok(), "{language}: {new}: {checked:?}"),
            Some(part) => {
                let error = checked.unwrap_err();
                assert_eq!(error.code, "invalid_name");
                assert!(error.message.contains(part), "{language}: {}", error.message);
            }
        }
    }
}

fn ranges(
    language: &str,
    old: &str,
    text: &str,
    edits: Value,
    encoding: PositionEncoding,
) -> Result<(), String> {
    let checkout = Checkout::new(&[("f", text)]);
    let changes = checkout.read_edit(checkout.changes("f", edits), encoding).unwrap();
    rename::check_ranges(&changes.edits, Language::by_id(language), old).map_err(|error| {
        assert!(["position_encoding_mismatch", "other_symbol"].contains(&&*error.code));
        error.message
    })
}

// spec: LSP-15
// report: D34
#[test]
fn every_edit_covers_the_old_name() {
    let table = [
        ("the name", "rust", "area", "let area = 1;", json!([edit((0, 4), (0, 8), "x")]), true),
        ("beside it", "rust", "area", "let area = 1;", json!([edit((0, 3), (0, 7), "x")]), false),
        (
            "a part of a longer name",
            "rust",
            "area",
            "let areas = 1;",
            json!([edit((0, 4), (0, 8), "x")]),
            false,
        ),
        (
            "the end of a longer name",
            "rust",
            "area",
            "let subarea = 1;",
            json!([edit((0, 7), (0, 11), "x")]),
            false,
        ),
        (
            "an alias",
            "typescript",
            "area",
            "import { area } from 'a'",
            json!([edit((0, 9), (0, 13), "area as x")]),
            true,
        ),
        (
            "within quotes",
            "python",
            "area",
            "__all__ = ['area']",
            json!([edit((0, 11), (0, 17), "'x'")]),
            true,
        ),
        (
            "raw, with the mark",
            "rust",
            "type",
            "let r#type = 1;",
            json!([edit((0, 4), (0, 10), "x")]),
            true,
        ),
        (
            "raw, without the mark",
            "rust",
            "r#type",
            "let r#type = 1;",
            json!([edit((0, 6), (0, 10), "x")]),
            true,
        ),
        (
            "a private field",
            "typescript",
            "#x",
            "this.#x = x",
            json!([edit((0, 5), (0, 7), "#y")]),
            true,
        ),
        (
            "a private field without its mark",
            "typescript",
            "#x",
            "this.#x = x",
            json!([edit((0, 6), (0, 7), "y")]),
            true,
        ),
        (
            "a variable of PHP in another case",
            "php",
            "Area",
            "echo area(1);",
            json!([edit((0, 5), (0, 9), "x")]),
            true,
        ),
        (
            "a shorthand, before",
            "typescript",
            "area",
            "f({ area })",
            json!([edit((0, 4), (0, 4), "x: ")]),
            true,
        ),
        (
            "a shorthand, after",
            "typescript",
            "area",
            "f({ area })",
            json!([edit((0, 8), (0, 8), ": x")]),
            true,
        ),
        (
            "an insertion elsewhere",
            "typescript",
            "area",
            "f({ area })",
            json!([edit((0, 2), (0, 2), "x")]),
            false,
        ),
        (
            "an insertion in a longer name",
            "typescript",
            "area",
            "f({ areas })",
            json!([edit((0, 4), (0, 4), "x: ")]),
            false,
        ),
    ];
    for (name, language, old, text, edits, fits) in table {
        let checked = ranges(language, old, text, edits, Utf16);
        assert_eq!(checked.is_ok(), fits, "{name}: {checked:?}");
    }
}

// spec: LSP-15
#[test]
fn a_server_that_counts_otherwise_than_it_says_is_caught() {
    // jedi-language-server says UTF-16 and sends characters.
    let line = "s = '😀'; a = area(c)\n";
    let error =
        ranges("python", "area", line, json!([edit((0, 13), (0, 17), "surf")]), Utf16).unwrap_err();
    assert_eq!(
        error,
        "position encoding mismatch: the server's edit at f:1:13 covers ` are` and not `area`, so it counts positions \
         otherwise than it says, or has another text; nothing was written, so rename with another server or by hand"
    );
    assert!(ranges("python", "area", line, json!([edit((0, 14), (0, 18), "surf")]), Utf16).is_ok());
    assert!(ranges("python", "area", line, json!([edit((0, 16), (0, 20), "surf")]), Utf8).is_ok());
}

// spec: LSP-15
#[test]
fn an_edit_of_another_name_is_not_called_a_matter_of_positions() {
    let line = "import { describe as d } from './core';\n";
    let checkout = Checkout::new(&[("f", line)]);
    let edit = checkout.changes("f", json!([edit((0, 9), (0, 17), "dd")]));
    let changes = checkout.read_edit(edit, Utf16).unwrap();
    let typescript = Language::by_id("typescript");
    let error = rename::check_ranges(&changes.edits, typescript, "d").unwrap_err();
    assert_eq!(error.code, "other_symbol");
    assert!(
        error.message.starts_with(
            "the server's edit at f:1:10 covers `describe`, which is another name than `d`: it would rename another symbol"
        ),
        "{}",
        error.message
    );
}

// spec: LSP-15
#[test]
fn each_reference_is_counted_once_and_only_where_it_was_compared() {
    let checkout = Checkout::new(&[
        ("lib.ts", "export const describe = 1;\n"),
        ("use.ts", "import { describe as d } from './lib';\nd;\n"),
        ("node_modules/x/i.ts", "d\n"),
    ]);
    let reference = |file: &str, line: u32, start: u32, end: u32| Reference {
        path: checkout.path(file),
        range: Range::new(Position::new(line, start), Position::new(line, end)),
    };
    let listed = [
        reference("use.ts", 0, 21, 22),
        reference("use.ts", 1, 0, 1),
        reference("use.ts", 1, 0, 1),
        // The name of another begins with it.
        reference("use.ts", 0, 9, 17),
        reference("lib.ts", 0, 13, 21),
        reference("node_modules/x/i.ts", 0, 0, 1),
    ];
    let alias =
        checkout.changes("use.ts", json!([edit((0, 21), (0, 22), "x"), edit((1, 0), (1, 1), "x")]));
    let alias = checkout.read_edit(alias, Utf16).unwrap();
    let typescript = Language::by_id("typescript");
    let compared =
        rename::check_complete(&checkout.workspace, &alias, &listed, typescript, "d", Utf16);
    let compared = compared.unwrap();
    assert_eq!((compared.reached, compared.otherwise_named, compared.foreign), (2, 2, 1));
}

// spec: LSP-15
// report: D19
#[test]
fn a_rename_that_misses_a_reference_names_it() {
    let checkout = Checkout::new(&[
        ("lib.ts", "export const area = 1;\narea;\n"),
        ("use.ts", "import { area } from './lib';\n  area(2);\n"),
        ("node_modules/x/i.ts", "area\n"),
        ("many.ts", &"area;\n".repeat(30)),
        ("alias.ts", "import { area as size } from './lib';\nsize;\n"),
    ]);
    let typescript = Language::by_id("typescript");
    let reference = |file: &str, line: u32, start: u32| Reference {
        path: checkout.path(file),
        range: Range::new(Position::new(line, start), Position::new(line, start + 4)),
    };
    let all = [
        reference("lib.ts", 0, 13),
        reference("lib.ts", 1, 0),
        reference("use.ts", 0, 9),
        reference("use.ts", 1, 2),
        reference("node_modules/x/i.ts", 0, 0),
    ];
    let full = json!({"changes": {
        (checkout.uri("lib.ts")): [edit((0, 13), (0, 17), "x"), edit((1, 0), (1, 4), "x")],
        (checkout.uri("use.ts")): [edit((0, 9), (0, 13), "x"), edit((1, 2), (1, 6), "x")],
    }});
    let full = checkout.read_edit(full, Utf16).unwrap();
    assert!(
        rename::check_complete(&checkout.workspace, &full, &all, typescript, "area", Utf16).is_ok()
    );
    let part = checkout.changes("lib.ts", json!([edit((0, 13), (0, 17), "x")]));
    let part = checkout.read_edit(part, Utf16).unwrap();
    let error = rename::check_complete(&checkout.workspace, &part, &all, typescript, "area", Utf16)
        .unwrap_err();
    assert_eq!(error.code, "partial_rename");
    assert!(
        error.message.ends_with(
            "defined:\n  lib.ts:2:1: area;\n  use.ts:1:10: import { area } from './lib';\n  use.ts:2:3: area(2);"
        ),
        "{}",
        error.message
    );
    assert_eq!((&error.data["total"], &error.data["references"]), (&json!(3), &json!(4)));
    assert_eq!(
        error.data["missing"][2],
        json!({"file": "use.ts", "line": 2, "column": 3, "text": "area(2);"})
    );
    // By another name it is not what is renamed.
    let alias = [reference("alias.ts", 0, 17), reference("alias.ts", 1, 0)];
    assert!(
        rename::check_complete(&checkout.workspace, &full, &alias, typescript, "area", Utf16)
            .is_ok()
    );
    let many: Vec<_> = (0..30).map(|line| reference("many.ts", line, 0)).collect();
    let error =
        rename::check_complete(&checkout.workspace, &part, &many, typescript, "area", Utf16)
            .unwrap_err();
    assert!(error.message.contains("more"), "{}", error.message);
    assert!(error.data["missing"].as_array().unwrap().len() <= rename::MISSING_LIMIT);
}

// report: D20
#[test]
fn an_edit_without_edits_is_a_failure() {
    let checkout = Checkout::new(&[("f", "area")]);
    for empty in [
        json!({}),
        json!({"changes": {}}),
        json!({"documentChanges": []}),
        checkout.changes("f", json!([])),
    ] {
        let changes = checkout.read_edit(empty, Utf16).unwrap();
        assert_eq!(rename::check_not_empty(&changes, "area").unwrap_err().code, "empty_rename");
    }
    let changes = checkout
        .read_edit(checkout.changes("f", json!([edit((0, 0), (0, 4), "x")])), Utf16)
        .unwrap();
    assert!(rename::check_not_empty(&changes, "area").is_ok());
}

// spec: LSP-15
#[test]
fn what_is_left_of_the_old_name_is_told_with_its_total() {
    let checkout = Checkout::new(&[
        ("lib.py", "def area(): pass\n# area and area\n"),
        ("use.py", "area()\n"),
        ("docs/a.md", "the area\nareas\nsubarea\narea_of\n"),
        ("schema.sql", "SELECT area FROM t;\r\nSELECT 1;\r\n"),
        (".hidden", "area"),
        ("ignored.log", "area"),
        (".gitignore", "*.log\n"),
        ("bin", "area\0"),
        ("many.txt", &"area\n".repeat(30)),
    ]);
    let edit = json!({"changes": {
        (checkout.uri("lib.py")): [edit((0, 4), (0, 8), "surface")],
        (checkout.uri("use.py")): [edit((0, 0), (0, 4), "surface")],
    }});
    let changes = checkout.read_edit(edit, Utf16).unwrap();
    let stop = Stop::new();
    let left =
        rename::leftovers(&checkout.workspace, changes.plan(), "area", Where::Workspace, &stop)
            .unwrap();
    assert_eq!(
        left.text("area"),
        "`area` still stands as text in 33 lines of 4 files (comments, strings, other languages, other symbols of that name, or code that the server does not know):\n  docs/a.md:1: the \
         area\n  lib.py:2: # area and area\n  many.txt:1: area\n  many.txt:2: area\n  many.txt:3: area\n  many.txt:4: \
         area\n  many.txt:5: area\n  schema.sql:1: SELECT area FROM t;\n  and 25 more"
    );
    assert_eq!((left.total, left.files, left.skipped, left.places.len()), (33, 4, 0, 8));
    let own = rename::leftovers(&checkout.workspace, changes.plan(), "area", Where::Renamed, &stop);
    assert_eq!(
        own.unwrap().text("area"),
        "`area` still stands as text in 1 line of 1 file among those it was renamed in, the only ones looked at, since it is a function's own by the \
         server's symbols (comments, strings, other languages, other symbols of that name, or code that the server does not know):\n  lib.py:2: # area and area"
    );
    let none =
        rename::leftovers(&checkout.workspace, changes.plan(), "volume", Where::Workspace, &stop)
            .unwrap();
    assert_eq!(none.text("volume"), "");
    stop.set();
    let stopped =
        rename::leftovers(&checkout.workspace, changes.plan(), "area", Where::Workspace, &stop)
            .unwrap_err();
    assert_eq!(stopped.code, "stopped");
}

#[test]
fn a_file_that_a_rename_moves_is_looked_at_under_its_new_name() {
    let checkout = Checkout::new(&[("area.rs", "// area\n"), ("big", "")]);
    checkout.put("big", vec![b'x'; 5 * 1024 * 1024]);
    let edit = json!({"documentChanges": [
        {"kind": "rename", "oldUri": checkout.uri("area.rs"), "newUri": checkout.uri("surface.rs")},
    ]});
    let changes = checkout.read_edit(edit, Utf16).unwrap();
    let stop = Stop::new();
    let left =
        rename::leftovers(&checkout.workspace, changes.plan(), "area", Where::Workspace, &stop)
            .unwrap();
    assert_eq!(
        left.text("area"),
        "`area` still stands as text in 1 line of 1 file (comments, strings, other languages, other symbols of that name, or code that the server does not know):\n  surface.rs:1: // area\n1 \
         file too large or unreadable were not looked at for `area`"
    );
}
