//! The file tools over real folders.

use std::{fs, os::unix::fs::symlink, sync::Arc};

use agent_edits::Edits;
use agent_files::Files;
use agent_tool_core::{ChangeKind, Context, ErrorKind, Part, Tool, ToolError, ToolOutput};
use agent_workspace::Workspace;
use proptest::prelude::*;
use serde_json::{Value, json};
use similar::TextDiff;

struct Checkout {
    folder: tempfile::TempDir,
    _state: tempfile::TempDir,
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
        let tools = Files::new(workspace, edits).tools();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime");
        Self { folder, _state: state, tools, runtime }
    }

    fn call(&self, name: &str, args: Value) -> Result<ToolOutput, ToolError> {
        let tool = self.tools.iter().find(|tool| tool.spec().name == name).expect("a tool");
        self.runtime.block_on(tool.call(args, &Context::detached()))
    }

    fn text(&self, name: &str, args: Value) -> String {
        self.call(name, args).expect("an output").joined_text()
    }

    fn error(&self, name: &str, args: Value) -> ToolError {
        self.call(name, args).expect_err("an error")
    }

    fn file(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.folder.path().join(path)).expect("a file")).expect("UTF-8")
    }
}

#[test]
fn every_spec_is_portable() {
    let checkout = Checkout::new(&[]);
    let specs: Vec<_> = checkout.tools.iter().map(|tool| tool.spec().clone()).collect();
    for spec in &specs {
        assert_eq!(agent_testkit::spec_faults(spec), Vec::<String>::new(), "{}", spec.name);
    }
    assert!(agent_testkit::tokens(&specs) < 1_700, "{}", agent_testkit::tokens(&specs));
}

#[test]
fn read_numbers_lines_and_says_what_was_cut() {
    let lines: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    let checkout = Checkout::new(&[("a.txt", &lines), ("empty.txt", ""), ("data.bin", "a\0b")]);
    let text = checkout.text("read", json!({"path": "a.txt", "offset": 3, "limit": 2}));
    assert!(
        text.contains("line 3") && text.contains("line 4") && !text.contains("line 5"),
        "{text}"
    );
    assert!(text.contains("30"), "the total is said: {text}");
    assert!(text.contains("offset 5"), "how to go on is said: {text}");
    let past = checkout.error("read", json!({"path": "a.txt", "offset": 99}));
    assert!(past.message.contains("30"), "{}", past.message);
    assert!(checkout.text("read", json!({"path": "empty.txt"})).contains("empty"));
    assert_eq!(checkout.error("read", json!({"path": "data.bin"})).code, "binary_file");
    let absent = checkout.error("read", json!({"path": "a.tx"}));
    assert_eq!(absent.code, "not_found");
    assert!(absent.message.contains("a.txt"), "{}", absent.message);
    assert_eq!(checkout.error("read", json!({"path": "."})).code, "is_a_directory");
}

#[test]
fn a_picture_comes_as_a_picture() {
    let checkout = Checkout::new(&[]);
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    fs::write(checkout.folder.path().join("a.png"), png).expect("a file");
    let output = checkout.call("read", json!({"path": "a.png"})).expect("a picture");
    assert!(
        output
            .parts
            .iter()
            .any(|part| matches!(part, Part::Image { mime, .. } if mime == "image/png"))
    );
}

#[test]
fn write_creates_and_replaces_and_tells_both_sides() {
    let checkout = Checkout::new(&[("old.txt", "before\n")]);
    let created =
        checkout.call("write", json!({"path": "new/a.txt", "content": "x\n"})).expect("written");
    assert_eq!(checkout.file("new/a.txt"), "x\n");
    assert_eq!(created.changes[0].kind(), ChangeKind::Created);
    let replaced =
        checkout.call("write", json!({"path": "old.txt", "content": "after\n"})).expect("written");
    assert_eq!(replaced.changes[0].before.as_text(), Some("before\n"));
    assert_eq!(replaced.changes[0].after.as_text(), Some("after\n"));
}

#[test]
fn edit_is_exact_and_unique_unless_all_are_meant() {
    let checkout = Checkout::new(&[("a.txt", "one\ntwo\none\n"), ("crlf.txt", "a\r\nb\r\nc\r\n")]);
    let several =
        checkout.error("edit", json!({"path": "a.txt", "old_string": "one", "new_string": "1"}));
    assert!(several.message.contains('1') && several.message.contains('3'), "{}", several.message);
    assert_eq!(checkout.file("a.txt"), "one\ntwo\none\n");
    let none =
        checkout.error("edit", json!({"path": "a.txt", "old_string": " two", "new_string": "2"}));
    assert!(none.message.contains("line 2") || none.message.contains("two"), "{}", none.message);
    checkout.text(
        "edit",
        json!({"path": "a.txt", "old_string": "one", "new_string": "1", "replace_all": true}),
    );
    assert_eq!(checkout.file("a.txt"), "1\ntwo\n1\n");
    checkout.text("edit", json!({"path": "crlf.txt", "old_string": "a\nb", "new_string": "x\ny"}));
    assert_eq!(checkout.file("crlf.txt"), "x\r\ny\r\nc\r\n");
    let same = json!({"path": "a.txt", "old_string": "two", "new_string": "two"});
    assert_eq!(checkout.error("edit", same).kind, ErrorKind::InvalidArgs);
}

#[test]
fn a_patch_changes_all_files_or_none() {
    let files = [("a.txt", "one\ntwo\nthree\n"), ("b.txt", "x\n"), ("gone.txt", "bye\n")];
    let checkout = Checkout::new(&files);
    let good = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n three\n*** Add File: c.txt\n+new\n\
                *** Delete File: gone.txt\n*** End Patch\n";
    let bad =
        good.replace("*** End Patch", "*** Update File: b.txt\n@@\n-not there\n+y\n*** End Patch");
    let refused = checkout.error("apply_patch", json!({"patch": bad}));
    assert!(refused.message.contains("b.txt"), "{}", refused.message);
    assert_eq!(checkout.file("a.txt"), "one\ntwo\nthree\n");
    assert!(checkout.folder.path().join("gone.txt").exists());
    let output = checkout.call("apply_patch", json!({"patch": good})).expect("applied");
    assert_eq!(output.changes.len(), 3);
    assert_eq!(checkout.file("a.txt"), "one\n2\nthree\n");
    assert_eq!(checkout.file("c.txt"), "new\n");
    assert!(!checkout.folder.path().join("gone.txt").exists());
}

#[test]
fn search_says_what_it_saw() {
    let checkout = Checkout::new(&[
        ("src/a.rs", "fn main() {}\nlet x = 1;\n"),
        ("src/b.py", "x = 1\n"),
        (".gitignore", "ignored\n"),
        ("ignored/c.rs", "fn main() {}\n"),
    ]);
    let found = checkout.text("search", json!({"pattern": "fn main"}));
    assert!(found.contains("src/a.rs") && !found.contains("ignored"), "{found}");
    let none = checkout.text("search", json!({"pattern": "nowhere"}));
    assert!(none.contains('2'), "how many files were searched: {none}");
    assert_eq!(checkout.error("search", json!({"pattern": "(" })).kind, ErrorKind::InvalidArgs);
}

#[test]
fn no_tool_leaves_the_workspace() {
    let checkout = Checkout::new(&[("a.txt", "a\n")]);
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("secret"), "s").expect("a file");
    symlink(outside.path(), checkout.folder.path().join("out")).expect("a link");
    for path in ["../secret", "/etc/passwd", "out/secret"] {
        assert_eq!(
            checkout.error("read", json!({"path": path})).code,
            "outside_workspace",
            "{path}"
        );
        let write = json!({"path": path, "content": "x"});
        assert_eq!(checkout.error("write", write).code, "outside_workspace", "{path}");
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n");
        assert_eq!(
            checkout.error("apply_patch", json!({"patch": patch})).code,
            "outside_workspace",
            "{path}"
        );
    }
    assert_eq!(fs::read_to_string(outside.path().join("secret")).expect("a file"), "s");
    assert_eq!(checkout.error("read", json!({"path": "a\0b"})).kind, ErrorKind::InvalidArgs);
}

#[test]
fn a_preview_shows_the_plan_that_the_call_applies_and_another_plan_is_a_conflict() {
    let checkout = Checkout::new(&[("a.txt", "one\n")]);
    let tool = checkout.tools.iter().find(|tool| tool.spec().name == "edit").expect("a tool");
    let args = json!({"path": "a.txt", "old_string": "one", "new_string": "two"});
    let preview =
        checkout.runtime.block_on(tool.preview(&args, &Context::detached())).expect("a preview");
    assert_eq!(preview.changes[0].after.as_text(), Some("two\n"));
    assert_eq!(checkout.file("a.txt"), "one\n");
    let approved = Context::detached().with_approved(preview.fingerprint);
    fs::write(checkout.folder.path().join("a.txt"), "one\nmore\n").expect("a file");
    let error = checkout.runtime.block_on(tool.call(args, &approved)).expect_err("another plan");
    assert_eq!(error.code, "approval_changed");
    assert_eq!(checkout.file("a.txt"), "one\nmore\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_diff_applied_gives_the_other_text(
        before in proptest::collection::vec("[a-c]{0,3}", 0..12),
        after in proptest::collection::vec("[a-c]{0,3}", 0..12),
    ) {
        let number = |lines: &[String], mark: &str| -> String {
            // Lines that differ from each other leave one place for each hunk.
            lines.iter().enumerate().map(|(at, line)| format!("{at} {line}{}\n", if line.is_empty() { mark } else { "" })).collect()
        };
        let (before, after) = (number(&before, "x"), number(&after, "y"));
        prop_assume!(before != after && !before.is_empty() && !after.is_empty());
        let checkout = Checkout::new(&[("a.txt", &before)]);
        let diff = TextDiff::from_lines(&before, &after);
        let patch = diff.unified_diff().header("a/a.txt", "b/a.txt").to_string();
        checkout.text("apply_patch", json!({"patch": patch}));
        prop_assert_eq!(checkout.file("a.txt"), after);
    }
}
