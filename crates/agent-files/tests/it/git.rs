//! Git as the oracle: what `git diff` makes, `apply_patch` applies as `git apply` does, to the byte
//! and to the executable bit.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use crate::checkout::Checkout;

/// Files by their names: the bytes, and whether they can be executed.
type Tree = BTreeMap<String, (Vec<u8>, bool)>;

fn tree<const N: usize>(files: [(&str, &str, bool); N]) -> Tree {
    files.map(|(name, text, executable)| (name.to_owned(), (text.into(), executable))).into()
}

fn git(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.current_dir(folder).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@b");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn put(folder: &Path, tree: &Tree) {
    for (name, (bytes, executable)) in tree {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let mode = if *executable { 0o755 } else { 0o644 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn take(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            let executable = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
            tree.insert(name, (fs::read(&path).unwrap(), executable));
        }
    }
    tree.retain(|name, _| !name.starts_with(".git/"));
    tree
}

/// What git says of the way from one tree to the other.
fn diff(before: &Tree, after: &Tree, context: usize) -> String {
    let repository = tempfile::tempdir().unwrap();
    let folder = repository.path();
    git(folder, &["init", "--quiet"]);
    put(folder, before);
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--allow-empty", "--message", "before"]);
    for name in before.keys() {
        fs::remove_file(folder.join(name)).unwrap();
    }
    put(folder, after);
    git(folder, &["add", "--all"]);
    let unified = format!("--unified={context}");
    let output = git(folder, &["diff", "--cached", "--find-renames", "--no-color", &unified]);
    String::from_utf8(output.stdout).unwrap()
}

fn by_git(before: &Tree, patch: &str) -> Tree {
    let folder = TempDir::new().unwrap();
    put(folder.path(), before);
    let file = TempDir::new().unwrap();
    let file = file.path().join("patch");
    fs::write(&file, patch).unwrap();
    git(folder.path(), &["apply", "--whitespace=nowarn", &file.to_string_lossy()]);
    take(folder.path())
}

fn by_the_tool(before: &Tree, patch: &str) -> Result<Tree, String> {
    let checkout = Checkout::new([("a", ""); 0]);
    put(&checkout.path(""), before);
    match checkout.call("apply_patch", json!({ "patch": patch })) {
        Ok(_) => Ok(take(&checkout.path(""))),
        Err(error) => Err(format!("{}: {}", error.code, error.message)),
    }
}

/// Whether git takes a patch at all.
fn git_refuses(before: &Tree, patch: &str) -> bool {
    let folder = TempDir::new().unwrap();
    put(folder.path(), before);
    let file = TempDir::new().unwrap();
    let file = file.path().join("patch");
    fs::write(&file, patch).unwrap();
    let output = Command::new("git").current_dir(folder.path()).arg("apply").arg(&file).output();
    !output.unwrap().status.success()
}

#[test]
fn a_diff_that_was_cut_off_is_refused_as_git_refuses_it() {
    let before = tree([("a.txt", "one\ntwo\nthree\nfour\n", false), ("b.txt", "b\n", false)]);
    let after = tree([("a.txt", "one\n2\nthree\nfour\n", false), ("b.txt", "B\n", false)]);
    let whole = diff(&before, &after, 3);
    let lines: Vec<&str> = whole.lines().collect();
    let mut refused = 0;
    for kept in 1..lines.len() {
        let cut = lines[..kept].join("\n") + "\n";
        if !git_refuses(&before, &cut) {
            continue;
        }
        refused += 1;
        let came = by_the_tool(&before, &cut);
        let error = came.expect_err(&cut);
        assert!(error.starts_with("invalid_patch: "), "{error}\n{cut}");
        let in_a_hunk = cut.rsplit("@@ ").next().is_some_and(|body| body.contains('\n'))
            && lines[kept - 1].starts_with([' ', '-', '+'])
            && !lines[kept - 1].starts_with("---")
            && !lines[kept - 1].starts_with("+++");
        if in_a_hunk {
            assert!(error.contains("cut off"), "{error}\n{cut}");
        }
    }
    assert!(refused > 5, "{refused}");
    assert!(git_refuses(&before, "--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n one\n-two\n"));
    let cut = "--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n one\n-two\n";
    assert_eq!(
        by_the_tool(&before, cut),
        Err("invalid_patch: line 5 of the patch: the last hunk has fewer lines than its header says, 3 or more are \
             missing, so the patch may be cut off; send all of it, or write `@@` without numbers"
            .to_owned())
    );
}

fn check(before: &Tree, after: &Tree, context: usize) {
    let patch = diff(before, after, context);
    let git = by_git(before, &patch);
    assert_eq!(&git, after, "git itself does not come there:\n{patch}");
    assert_eq!(by_the_tool(before, &patch).as_ref(), Ok(&git), "{patch}");
}

#[test]
fn what_git_diff_makes_is_applied_as_git_apply_does() {
    const LONG: &str =
        "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";
    let edited = LONG.replace("three", "3").replace("eleven", "11");
    let crlf = LONG.replace('\n', "\r\n");
    let mixed = LONG.replacen("two\n", "two\r\n", 1);
    let file = |text: &str| tree([("a.txt", text, false)]);
    for (name, before, after) in [
        ("text", file(LONG), file(&edited)),
        ("the first line", file(LONG), file(&LONG.replacen("one", "1", 1))),
        ("lines before the first", file(LONG), file(&format!("zero\n{LONG}"))),
        ("lines after the last", file(LONG), file(&format!("{LONG}thirteen\n"))),
        ("all lines go", file(LONG), file("")),
        ("an empty file gets lines", file(""), file(LONG)),
        ("an empty file gets CRLF lines", file(""), file(&crlf)),
        ("the last newline goes", file("a\nb\n"), file("a\nb")),
        ("the last newline comes", file("a\nb"), file("a\nb\n")),
        ("a line after one without a newline", file("a\nb"), file("a\nb\nc")),
        ("no newline stays", file("a\nb"), file("A\nb")),
        ("CRLF", file(&crlf), file(&edited.replace('\n', "\r\n"))),
        ("LF to CRLF", file(LONG), file(&crlf)),
        ("CRLF to LF", file(&crlf), file(LONG)),
        ("one line to CRLF", file(LONG), file(&mixed)),
        ("mixed line ends", file(&mixed), file(&mixed.replace("six", "6").replace("one", "1"))),
        ("a lone CR in a line", file("a\rb\nc\n"), file("a\rb\nd\n")),
        ("blanks at the end", file("a  \nb\n"), file("a\nb\t\n")),
        ("a form feed and an escape", file("a\u{c}\nb\n"), file("a\u{c}\n\u{1b}[1mb\n")),
        ("a byte-order mark", file("\u{feff}a\nb\n"), file("\u{feff}a\nc\n")),
        ("a byte-order mark goes", file("\u{feff}a\nb\n"), file("a\nb\n")),
        ("a byte-order mark comes", file("a\nb\n"), file("\u{feff}a\nb\n")),
        ("what looks like a header", file("-- a\n++ b\n@@ -1 +1 @@\n"), file("++ c\n-- d\n")),
        ("a new file", Tree::new(), file(LONG)),
        ("a new file without a newline", Tree::new(), file("a\nb")),
        ("a new empty file", Tree::new(), file("")),
        ("a new CRLF file", Tree::new(), file(&crlf)),
        ("a new file of mixed line ends", Tree::new(), file(&mixed)),
        ("a new file in new folders", Tree::new(), tree([("x/y/z.txt", "a\n", false)])),
        ("a new program", Tree::new(), tree([("run.sh", "true\n", true)])),
        ("a file goes", file(LONG), Tree::new()),
        ("an empty file goes", file(""), Tree::new()),
        ("a file becomes a program", file(LONG), tree([("a.txt", LONG, true)])),
        ("a program becomes a file", tree([("a.txt", LONG, true)]), file(LONG)),
        ("a mode and a text", file(LONG), tree([("a.txt", &edited, true)])),
        ("a move", file(LONG), tree([("b/c.txt", LONG, false)])),
        ("a move and a text", file(LONG), tree([("b.txt", &edited, false)])),
        ("a move, a mode and a text", file(LONG), tree([("b.txt", &edited, true)])),
        ("a program moves", tree([("a", LONG, true)]), tree([("b", LONG, true)])),
        (
            "names with blanks and umlauts",
            tree([("a b é.txt", LONG, false)]),
            tree([("c \"d\"\t.txt", LONG, false)]),
        ),
        (
            "several files",
            tree([("a", LONG, false), ("b", "b\n", false), ("c", &crlf, true)]),
            tree([("a", &edited, true), ("d", "d", false), ("c", &crlf.replace("two", "2"), true)]),
        ),
    ] {
        for context in [1, 3] {
            let run = || check(&before, &after, context);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
                .unwrap_or_else(|_| panic!("{name}, {context} lines of context"));
        }
    }
}

/// Few different lines, so that hunks fit in several places.
fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["", "a", "b", "  a", "-- x", "++ y", "é\t", "\\ No"]);
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
    (prop::collection::vec((line, end), 0..20), any::<bool>()).prop_map(|(lines, ends)| {
        let mut text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        if !ends {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        text
    })
}

fn files() -> impl Strategy<Value = Tree> {
    let name = prop::sample::select(vec!["a", "b", "dir/c"]);
    prop::collection::btree_map(
        name.prop_map(str::to_owned),
        (text().prop_map(Vec::from), any::<bool>()),
        0..4,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_diff_of_git_is_applied_as_git_applies_it(before in files(), after in files(), context in 1_usize..4) {
        prop_assume!(before != after);
        check(&before, &after, context);
    }
}
