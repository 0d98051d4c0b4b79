//! The tools over real folders: what a model is told, and what is written when.

mod example;

use std::{fs, os::unix::fs::MetadataExt, sync::Arc};

use agent_astgrep::{MAX_STAGED, Structure, Trees};
use agent_edits::Edits;
use agent_grammars::Grammars;
use agent_tool_core::{Context, Stop, Tool, ToolError, ToolOutput};
use agent_workspace::Workspace;
use serde_json::{Value, json};

struct Checkout {
    folder: tempfile::TempDir,
    _state: tempfile::TempDir,
    trees: Trees,
    tools: Vec<Arc<dyn Tool>>,
    runtime: tokio::runtime::Runtime,
}

impl Checkout {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        let state = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::open(folder.path()).expect("a workspace");
        let edits = Edits::open(&workspace, state.path().join("journals")).expect("a journal");
        let trees = Trees::default();
        let structure = Structure::new(workspace, edits, Arc::new(Grammars::bundled()));
        let tools = structure.with_trees(trees.clone()).tools();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime");
        Self { folder, _state: state, trees, tools, runtime }
    }

    fn call(&self, name: &str, args: Value) -> Result<ToolOutput, ToolError> {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name).expect("a tool");
        self.runtime.block_on(tool.call(args, &Context::detached()))
    }

    fn data(&self, name: &str, args: Value) -> Value {
        self.call(name, args).expect("an output").data
    }

    fn error(&self, name: &str, args: Value) -> ToolError {
        self.call(name, args).expect_err("an error")
    }

    fn resolve(&self, id: &str, action: &str) -> Result<ToolOutput, ToolError> {
        self.call("resolve", json!({"edit_id": id, "action": action}))
    }

    fn file(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).expect("a file")
    }

    /// Content and inode of every file: what "nothing was written" means.
    fn state(&self) -> Vec<(String, u64, i64)> {
        let mut state: Vec<_> = fs::read_dir(self.folder.path())
            .expect("a folder")
            .map(|entry| {
                let path = entry.expect("an entry").path();
                let found = fs::metadata(&path).expect("metadata");
                let text = if found.is_file() {
                    fs::read_to_string(&path).expect("a file")
                } else {
                    String::new()
                };
                (text, found.ino(), found.mtime_nsec())
            })
            .collect();
        state.sort();
        state
    }
}

const CALLS: [(&str, &str); 4] = [
    ("a.py", "f(1)\nf(2)\n"),
    ("b.py", "x = f(3)  # f(9)\n"),
    ("c.py", "g(f(4))\n"),
    ("d.py", "'f(5)'\n"),
];

// spec: AST-03
#[test]
fn fifty_matches_are_shown_by_default_and_more_are_said_to_exist() {
    let many = "f(1)\n".repeat(60);
    let checkout = Checkout::new(&[("a.py", &many)]);
    let data = checkout.data("ast_grep", json!({"pattern": "f($A)"}));
    assert_eq!(
        (data["shown"].as_u64(), data["more"].as_bool(), data["total"].as_u64()),
        (Some(50), Some(true), None)
    );
    let data = checkout.data("ast_grep", json!({"pattern": "f($A)", "max_results": 60}));
    assert_eq!(
        (data["shown"].as_u64(), data["more"].as_bool(), data["total"].as_u64()),
        (Some(60), Some(false), Some(60))
    );
    assert_eq!(
        checkout.error("ast_grep", json!({"pattern": "f($A)", "max_results": 0})).code,
        "invalid_args"
    );
}

// spec: AST-03
#[test]
fn the_language_is_inferred_where_all_agree_and_otherwise_listed_with_counts() {
    let checkout = Checkout::new(&[
        ("p/a.py", "f(1)\n"),
        ("p/notes.txt", "f(2)\n"),
        ("r/a.rs", "fn a() { f(1); }\n"),
        ("r/b.rs", ""),
    ]);
    assert_eq!(
        checkout.data("ast_grep", json!({"pattern": "f($A)", "path": "p"}))["language"],
        "python"
    );
    assert_eq!(
        checkout.data("ast_grep", json!({"pattern": "f($A)", "path": "r/a.rs"}))["language"],
        "rust"
    );
    let several = checkout.error("ast_grep", json!({"pattern": "f($A)"}));
    assert_eq!(several.code, "ambiguous_language");
    assert_eq!(several.data["languages"], json!({"python": 1, "rust": 2}));
    let unknown = checkout.error("ast_grep", json!({"pattern": "f($A)", "language": "klingon"}));
    assert_eq!(unknown.code, "unknown_language");
    assert!(
        unknown.message.contains("python") && unknown.message.contains("rust"),
        "{}",
        unknown.message
    );
    assert_eq!(
        checkout.error("ast_grep", json!({"pattern": "f($A)", "path": "p/notes.txt"})).code,
        "no_language"
    );
    assert_eq!(
        checkout.error("ast_grep", json!({"pattern": "f($A)", "path": "../x"})).code,
        "outside_workspace"
    );
}

// spec: AST-01, AST-04
#[test]
fn matches_come_by_path_and_position_with_lines_columns_and_captures() {
    let checkout = Checkout::new(&[("b.py", "é = f(1, 2)\n"), ("a.py", "\u{feff}f(\n  0)\n")]);
    let data = checkout.data("ast_grep", json!({"pattern": "f($$$REST)"}));
    let places: Vec<_> = data["matches"]
        .as_array()
        .expect("matches")
        .iter()
        .map(|m| {
            (
                m["file"].as_str().expect("a file"),
                m["line"].as_u64(),
                m["column"].as_u64(),
                m["end_line"].as_u64(),
                m["end_column"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            ("a.py", Some(1), Some(1), Some(2), Some(5)),
            ("b.py", Some(1), Some(5), Some(1), Some(12))
        ]
    );
    assert_eq!(data["matches"][1]["captures"], json!({"REST": ["1", "2"]}));
    assert_eq!(data["matches"][1]["text"], "f(1, 2)");
}

// spec: AST-06
#[test]
fn a_pattern_that_nothing_accepts_is_an_error_that_names_the_contexts() {
    let checkout = Checkout::new(&CALLS);
    let error = checkout.error("ast_grep", json!({"pattern": "f($A"}));
    assert_eq!(error.code, "unparsable_pattern");
    assert!(
        error.data["contexts"].as_array().is_some_and(|contexts| contexts.len() > 1),
        "{}",
        error.data
    );
    assert_eq!(checkout.error("ast_grep", json!({"pattern": "$A"})).code, "invalid_pattern");
}

#[test]
fn nothing_found_says_what_was_done() {
    let checkout = Checkout::new(&[
        ("a.py", "f(1)\n"),
        ("b.py", "h(1)\n"),
        ("bad.py", "f(1))))\n"),
        ("bin.py", "f(\0)"),
    ]);
    fs::write(checkout.folder.path().join("latin.py"), b"f('\xe9')\n").expect("a file");
    let output = checkout.call("ast_grep", json!({"pattern": "f($A, $B)"})).expect("an output");
    assert_eq!(
        (
            output.data["searched"].as_u64(),
            output.data["parsed"].as_u64(),
            output.data["syntax_errors"].as_u64()
        ),
        (Some(3), Some(0), Some(0))
    );
    let text = output.joined_text();
    assert!(
        text.starts_with(
            "no match; python as statement, 3 files searched, 0 of them with all words"
        ),
        "{text}"
    );
    let output = checkout.call("ast_grep", json!({"pattern": "f($A).x"})).expect("an output");
    assert!(output.joined_text().starts_with("no match"));
    let output = checkout.call("ast_grep", json!({"pattern": "f()"})).expect("an output");
    assert_eq!(output.data["syntax_errors"], 1);
    let mut skipped: Vec<_> = output.data["skipped"]
        .as_array()
        .expect("a list")
        .iter()
        .map(ToString::to_string)
        .collect();
    skipped.sort();
    assert_eq!(
        skipped,
        [r#"{"file":"bin.py","reason":"binary"}"#, r#"{"file":"latin.py","reason":"not_utf8"}"#]
    );
}

// spec: AST-08
#[test]
fn a_proposal_opens_and_ends_as_the_contract_says_and_writes_nothing() {
    let checkout = Checkout::new(&CALLS);
    let before = checkout.state();
    let output =
        checkout.call("ast_edit", json!({"pattern": "f($A)", "rewrite": "h($A)"})).expect("staged");
    let text = output.joined_text();
    assert!(text.starts_with("(proposed) 4 replacements in 3 files\n"), "{text}");
    assert!(text.ends_with("call resolve with edit_id \"edit_1\""), "{text}");
    assert!(text.contains("-x = f(3)  # f(9)\n+x = h(3)  # f(9)\n"), "{text}");
    let files = json!([{"file": "a.py", "replacements": 2}, {"file": "b.py", "replacements": 1}, {"file": "c.py", "replacements": 1}]);
    assert_eq!(
        (&output.data["edit_id"], &output.data["replacements"], &output.data["files"]),
        (&json!("edit_1"), &json!(4), &files)
    );
    assert_eq!(checkout.state(), before);
    let one =
        checkout.call("ast_edit", json!({"pattern": "g($A)", "rewrite": "k($A)"})).expect("staged");
    assert!(one.joined_text().starts_with("(proposed) 1 replacement in 1 file\n"));
    assert_eq!(one.data["edit_id"], "edit_2");
    let none = checkout
        .call("ast_edit", json!({"pattern": "nowhere($A)", "rewrite": "k($A)"}))
        .expect("a word about it");
    assert_eq!(none.data["edit_id"], Value::Null);
    assert_eq!(
        checkout.error("ast_edit", json!({"pattern": "f($A)", "rewrite": "h($B)"})).code,
        "unknown_variable"
    );
}

// spec: AST-09, AST-10
#[test]
fn accept_writes_all_and_a_second_accept_changes_nothing() {
    let checkout = Checkout::new(&CALLS);
    checkout.data("ast_edit", json!({"pattern": "f($A)", "rewrite": "h($A)"}));
    let applied = checkout.resolve("edit_1", "accept").expect("applied");
    assert_eq!(
        applied.data,
        json!({"edit_id": "edit_1", "status": "applied", "files": ["a.py", "b.py", "c.py"]})
    );
    assert_eq!(applied.changes.len(), 3);
    assert_eq!(
        (checkout.file("a.py"), checkout.file("c.py"), checkout.file("d.py")),
        ("h(1)\nh(2)\n".into(), "g(h(4))\n".into(), "'f(5)'\n".into())
    );
    let before = checkout.state();
    let again = checkout.resolve("edit_1", "accept").expect("known");
    assert_eq!(again.data["status"], "already_applied");
    assert!(again.changes.is_empty());
    assert_eq!(checkout.resolve("edit_1", "discard").expect_err("applied").code, "already_applied");
    assert_eq!(checkout.state(), before);
}

// spec: AST-09, AST-10
#[test]
fn one_file_that_changed_rejects_the_whole_edit() {
    let checkout = Checkout::new(&CALLS);
    checkout.data("ast_edit", json!({"pattern": "f($A)", "rewrite": "h($A)"}));
    fs::write(checkout.folder.path().join("c.py"), "g(f(44))\n").expect("a file");
    let before = checkout.state();
    let error = checkout.resolve("edit_1", "accept").expect_err("stale");
    assert_eq!(error.code, "stale_edit");
    assert!(error.message.contains("c.py"), "{}", error.message);
    assert_eq!(checkout.state(), before);
    assert_eq!(checkout.resolve("edit_1", "accept").expect_err("rejected").code, "rejected_edit");
}

// spec: AST-10
#[test]
fn an_edit_that_is_discarded_expired_or_unknown_is_an_error_that_says_which() {
    let checkout = Checkout::new(&CALLS);
    let stage = || checkout.data("ast_edit", json!({"pattern": "f($A)", "rewrite": "h($A)"}));
    stage();
    assert_eq!(
        checkout.resolve("edit_1", "discard").expect("discarded").data["status"],
        "discarded"
    );
    assert_eq!(checkout.resolve("edit_1", "accept").expect_err("gone").code, "discarded_edit");
    assert_eq!(checkout.resolve("edit_1", "discard").expect_err("gone").code, "discarded_edit");
    (0..=MAX_STAGED).for_each(|_| drop(stage()));
    assert_eq!(checkout.resolve("edit_2", "accept").expect_err("gone").code, "expired_edit");
    for id in ["edit_99", "edit_0", "nonsense", ""] {
        assert_eq!(
            checkout.resolve(id, "accept").expect_err("unknown").code,
            "unknown_edit",
            "{id}"
        );
    }
    assert_eq!(checkout.file("a.py"), "f(1)\nf(2)\n");
}

#[test]
fn of_two_edits_of_one_file_the_second_is_stale() {
    let checkout = Checkout::new(&CALLS);
    checkout.data("ast_edit", json!({"pattern": "f($A)", "rewrite": "h($A)", "path": "c.py"}));
    checkout.data("ast_edit", json!({"pattern": "g($A)", "rewrite": "k($A)", "path": "c.py"}));
    assert!(checkout.resolve("edit_1", "accept").is_ok());
    assert_eq!(checkout.resolve("edit_2", "accept").expect_err("stale").code, "stale_edit");
    assert_eq!(checkout.file("c.py"), "g(h(4))\n");
}

#[test]
fn an_approval_of_another_plan_is_a_conflict_and_the_edit_stays() {
    let checkout = Checkout::new(&CALLS);
    checkout.data("ast_edit", json!({"pattern": "f($A)", "rewrite": "h($A)"}));
    let resolve = checkout.tools.iter().find(|tool| tool.spec().name == "resolve").expect("a tool");
    let args = json!({"edit_id": "edit_1", "action": "accept"});
    let preview =
        checkout.runtime.block_on(resolve.preview(&args, &Context::detached())).expect("a preview");
    assert_eq!(preview.changes.len(), 3);
    let other = Context::detached().with_approved(Some("another".into()));
    let error =
        checkout.runtime.block_on(resolve.call(args.clone(), &other)).expect_err("another plan");
    assert_eq!(error.code, "approval_changed");
    let approved = Context::detached().with_approved(preview.fingerprint);
    assert!(!preview.changes_nothing);
    assert!(checkout.runtime.block_on(resolve.call(args.clone(), &approved)).is_ok());
    // Nobody need be asked about it again.
    let again = checkout.runtime.block_on(resolve.preview(&args, &Context::detached()));
    assert!(again.expect("a preview").changes_nothing);
}

#[test]
fn a_kept_tree_is_used_for_the_file_that_it_was_parsed_from_alone() {
    let checkout = Checkout::new(&CALLS);
    let search = || checkout.data("ast_grep", json!({"pattern": "f($A)"}))["shown"].as_u64();
    assert_eq!(search(), Some(4));
    assert_eq!(checkout.trees.kept().0, 4);
    assert_eq!(search(), Some(4));
    fs::write(checkout.folder.path().join("a.py"), "f(1)\nf(2)\nf(3)\n").expect("a file");
    assert_eq!(search(), Some(5));
}

#[test]
fn every_spec_is_portable() {
    for tool in &Checkout::new(&[]).tools {
        assert_eq!(agent_testkit::spec_faults(tool.spec()), Vec::<String>::new());
    }
}

// spec: AST-06
#[test]
fn finding_nothing_says_the_likely_cause_and_where_it_shows() {
    let checkout = Checkout::new(&[
        ("a.py", "x = 1\n"),
        ("b.py", "\nasync def f(a):\n    pass\n"),
        ("c.py", "s = '\0'\n"),
    ]);
    let output =
        checkout.call("ast_grep", json!({"pattern": "def f($A):\n    $$$B"})).expect("an output");
    assert_eq!(
        output.data["hint"],
        json!({"file": "b.py", "line": 2, "message": output.data["hint"]["message"]})
    );
    assert!(output.joined_text().contains("Likely cause, at b.py:2: "), "{}", output.joined_text());
    assert!(output.joined_text().contains("`async`"), "{}", output.joined_text());
    assert!(output.joined_text().contains("1 skipped (1 binary)"), "{}", output.joined_text());
}

#[test]
fn all_skipped_files_are_counted_by_reason_and_the_first_are_named() {
    let names: Vec<_> = (0..60).map(|number| format!("{number}.py")).collect();
    let mut files: Vec<_> = names.iter().map(|name| (name.as_str(), "f(1)\n\0")).collect();
    files.push(("z.py", "f(1)\n"));
    let output =
        Checkout::new(&files).call("ast_grep", json!({"pattern": "f($A)"})).expect("an output");
    assert_eq!(output.data["skipped"].as_array().map(Vec::len), Some(50));
    assert_eq!(output.data["skipped_total"], 60);
    assert!(output.joined_text().contains("60 skipped (60 binary)"), "{}", output.joined_text());
}

// spec: AST-10
#[test]
fn an_edit_uses_the_trees_of_a_search_and_sees_a_file_that_changed_since() {
    let checkout = Checkout::new(&CALLS);
    checkout.data("ast_grep", json!({"pattern": "f($A)"}));
    let kept = checkout.trees.kept();
    assert_eq!(kept.0, 4);
    fs::write(checkout.folder.path().join("a.py"), "f(7)\n").expect("a file");
    let data = checkout.data("ast_edit", json!({"pattern": "f($A)", "rewrite": "h($A)"}));
    assert_eq!(data["replacements"], 3);
    assert!(data["diff"].as_str().expect("a diff").contains("+h(7)\n"), "{}", data["diff"]);
    assert_eq!(checkout.trees.kept().0, 4);
}

// spec: AST-03
#[test]
fn the_whole_workspace_is_every_root_of_it() {
    let folders = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
    fs::write(folders[0].path().join("a.txt"), "").expect("a file");
    fs::write(folders[1].path().join("b.py"), "f(1)\n").expect("a file");
    let roots = Workspace::builder().named_root("a", folders[0].path());
    let workspace = roots.named_root("b", folders[1].path()).open().expect("a workspace");
    let edits = Edits::open(&workspace, folders[2].path().join("journals")).expect("a journal");
    let structure = Structure::new(workspace, edits, Arc::new(Grammars::bundled()));
    let args = serde_json::from_value(json!({"pattern": "f($A)"})).expect("arguments");
    let outcome = structure.grep(&args, &Stop::new()).expect("an outcome");
    assert_eq!((outcome.shown, outcome.matches[0].file.as_str()), (1, "b:b.py"));
}

// spec: AST-03
#[test]
fn a_name_that_is_no_text_hides_no_other_file() {
    use std::os::unix::ffi::OsStrExt;
    let checkout = Checkout::new(&[("zz.py", "f(1)\n")]);
    let odd = std::ffi::OsStr::from_bytes(b"bad\xff.py");
    fs::write(checkout.folder.path().join(odd), "f(2)\n").expect("a file");
    assert_eq!(checkout.data("ast_grep", json!({"pattern": "f($A)"}))["shown"], 2);
}

// spec: AST-06
#[test]
fn what_was_searched_is_counted_without_what_was_skipped() {
    let checkout = Checkout::new(&[("a.py", "f(1)\n\0"), ("b.py", "g(1)\n"), ("c.rs", "")]);
    let output = checkout
        .call("ast_grep", json!({"pattern": "f($A)", "language": "python"}))
        .expect("an output");
    assert_eq!(output.data["searched"], 1);
    let text = output.joined_text();
    assert!(text.contains("1 file searched, 0 of them with all words"), "{text}");
    assert!(text.contains("No file that was read holds all the words"), "{text}");
    let text = checkout
        .call("ast_grep", json!({"pattern": "f($A);", "language": "c"}))
        .expect("an output")
        .joined_text();
    let expected = "no match; c as statement, 0 files searched. No c file is there; there are files of \
                    python (2), rust (1). Hidden and ignored files are left out unless `path` names \
                    one or its folder.";
    assert_eq!(text, expected);
}

// spec: AST-08
#[test]
fn a_rewrite_that_changes_nothing_stages_nothing() {
    let checkout = Checkout::new(&CALLS);
    let output = checkout
        .call("ast_edit", json!({"pattern": "f($A)", "rewrite": "f($A)"}))
        .expect("an output");
    assert_eq!(output.data["edit_id"], Value::Null);
    let text = output.joined_text();
    assert!(
        text.contains("4 matches, in files that stay as they are, read as the rewrite"),
        "{text}"
    );
}

// spec: AST-08
#[test]
fn matches_nested_deeper_than_any_stack_are_left_and_listed() {
    let deep = format!("{}1{};\n", "f(".repeat(4_000), ")".repeat(4_000));
    let checkout = Checkout::new(&[("p.js", deep.as_str())]);
    let data = checkout.data("ast_edit", json!({"pattern": "f($X)", "rewrite": "g($X)"}));
    assert_eq!(data["replacements"], agent_astgrep::MAX_NESTED);
    let left = data["left"].as_array().expect("a list");
    assert_eq!(left.len(), 4_000 - agent_astgrep::MAX_NESTED);
    assert_eq!(left[0], "p.js:1 (it is nested too deep in other matches)");
}
