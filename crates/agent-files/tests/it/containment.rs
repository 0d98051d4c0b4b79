//! Nothing outside is read or written, and links inside are followed.

use std::os::unix::fs::{PermissionsExt, symlink};

use agent_files::SearchArgs;
use agent_tool_core::Stop;
use serde_json::{Value, json};

use crate::checkout::Checkout;

/// Every tool with this path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let patch = |patch: String| json!({ "patch": patch });
    vec![
        ("read", json!({"path": path})),
        ("write", json!({"path": path, "content": "x"})),
        ("edit", json!({"path": path, "old_string": "s", "new_string": "x"})),
        ("search", json!({"pattern": "s", "path": path})),
        ("apply_patch", patch(format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"))),
        ("apply_patch", patch(format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch"))),
        (
            "apply_patch",
            patch(format!("*** Begin Patch\n*** Update File: {path}\n-s\n+x\n*** End Patch")),
        ),
        (
            "apply_patch",
            patch(format!(
                "*** Begin Patch\n*** Update File: in.txt\n*** Move to: {path}\n*** End Patch"
            )),
        ),
        ("apply_patch", patch(format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"))),
        ("apply_patch", patch(format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-s\n+x\n"))),
    ]
}

#[test]
fn no_tool_leaves_the_workspace() {
    let outside = Checkout::new([("secret", "s\n"), ("folder/x", "s\n")]);
    let checkout = Checkout::new([("in.txt", "s\n")]);
    symlink(outside.path(""), checkout.path("out")).unwrap();
    symlink(outside.path("secret"), checkout.path("link")).unwrap();
    let absolute = outside.path("secret").display().to_string();
    for path in ["../secret", "a/../../secret", &absolute, "out/secret", "out/new", "link"] {
        for (tool, args) in calls(path) {
            // A link by itself is neither deleted nor renamed, wherever it leads.
            let code = checkout.refused(tool, args.clone());
            let is_refused = code == "outside_workspace" || code == "is_a_link";
            assert!(is_refused, "{tool} {args}: {code}");
        }
    }
    assert_eq!(outside.bytes("secret").unwrap(), b"s\n");
    assert_eq!(outside.bytes("new"), None);
    assert_eq!(checkout.bytes("in.txt").unwrap(), b"s\n");
    let found = checkout.call("search", json!({"pattern": "s"})).unwrap();
    assert_eq!(
        found.joined_text(),
        "in.txt\n1:s\n\n(1 matching line in 1 file, 1 file searched; skipped 2 link (link, out))"
    );
}

#[test]
fn what_belongs_to_git_is_read_and_never_changed() {
    let checkout =
        Checkout::new([(".git/hooks/x", "s\n"), (".git/config", "s\n"), ("in.txt", "s\n")]);
    symlink(".git/hooks", checkout.path("hooks")).unwrap();
    for path in [".git/config", ".git/hooks/x", ".git/new", "hooks/x", "a/../.git/config"] {
        for (tool, args) in calls(path) {
            if tool == "read" || tool == "search" {
                continue;
            }
            let code = checkout.refused(tool, args.clone());
            // What is not there cannot be changed, wherever it is not.
            let is_refused =
                code == "protected_path" || (path == ".git/new" && code == "not_found");
            assert!(is_refused, "{tool} {args}: {code}");
        }
    }
    let mode = "diff --git a/.git/hooks/x b/.git/hooks/x\nold mode 100644\nnew mode 100755\n";
    assert_eq!(checkout.refused("apply_patch", json!({ "patch": mode })), "protected_path");
    for file in [".git/hooks/x", ".git/config", "in.txt"] {
        assert_eq!(checkout.bytes(file).unwrap(), b"s\n", "{file}");
    }
    assert_eq!(checkout.bytes(".git/new"), None);
    let read = checkout.call("read", json!({"path": ".git/config"})).unwrap();
    assert_eq!(read.joined_text(), "1\ts");
}

#[test]
fn a_path_with_a_nul_byte_is_refused() {
    let checkout = Checkout::new([("in.txt", "s\n")]);
    for (tool, args) in calls("in\0.txt") {
        assert_eq!(checkout.refused(tool, args), "invalid_path", "{tool}");
    }
}

#[test]
fn a_link_inside_is_followed_and_stays() {
    let checkout = Checkout::new([("real/a.txt", "one\n")]);
    symlink("real/a.txt", checkout.path("link.txt")).unwrap();
    symlink("real", checkout.path("folder")).unwrap();
    let read = checkout.call("read", json!({"path": "link.txt"})).unwrap();
    assert_eq!(read.joined_text(), "1\tone");
    let edit = json!({"path": "folder/a.txt", "old_string": "one", "new_string": "two"});
    checkout.call("edit", edit).unwrap();
    let write = json!({"path": "link.txt", "content": "three\n"});
    let output = checkout.call("write", write).unwrap();
    assert_eq!(output.changes[0].before.as_text(), Some("two\n"));
    assert_eq!(checkout.bytes("real/a.txt").unwrap(), b"three\n");
    assert!(checkout.path("link.txt").is_symlink());
}

#[test]
fn a_file_without_the_write_bit_and_its_mode_stay() {
    let checkout = Checkout::new([("run.sh", "one\n"), ("sealed", "one\n")]);
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(checkout.path(path), PermissionsExt::from_mode(mode)).unwrap();
    };
    mode("run.sh", 0o755);
    mode("sealed", 0o444);
    let edit = |path: &str| json!({"path": path, "old_string": "one", "new_string": "two"});
    assert_eq!(checkout.refused("edit", edit("sealed")), "read_only");
    checkout.call("edit", edit("run.sh")).unwrap();
    let patch =
        "*** Begin Patch\n*** Update File: run.sh\n*** Move to: go.sh\n-two\n+three\n*** End Patch";
    checkout.call("apply_patch", json!({ "patch": patch })).unwrap();
    let found = std::fs::metadata(checkout.path("go.sh")).unwrap().permissions().mode();
    assert_eq!((checkout.bytes("go.sh").unwrap(), found & 0o777), (b"three\n".to_vec(), 0o755));
    assert_eq!(checkout.bytes("sealed").unwrap(), b"one\n");
}

#[test]
fn what_the_host_excludes_is_searched_only_where_it_is_named() {
    let checkout = Checkout::new([("a.txt", "one\n"), ("gen/b.txt", "one\n")]);
    let files = checkout.files.clone().without_files(vec!["gen".to_owned()]);
    let found = |args: &SearchArgs| files.search(args, &Stop::new()).unwrap().files;
    assert_eq!(found(&SearchArgs::default()), ["a.txt"]);
    assert_eq!(found(&SearchArgs::glob("*.txt")), ["a.txt"]);
    let named = files.search(&SearchArgs::pattern("one").within("gen/b.txt"), &Stop::new());
    assert_eq!(named.unwrap().matches[0].file, "gen/b.txt");
}

#[test]
fn a_search_without_a_path_is_of_every_root() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    std::fs::write(folders[0].path().join("a.txt"), "one\n").unwrap();
    std::fs::write(folders[1].path().join("b.txt"), "one\n").unwrap();
    let roots = agent_workspace::Workspace::builder().named_root("a", folders[0].path());
    let workspace = roots.named_root("b", folders[1].path()).open().unwrap();
    let edits = agent_edits::Edits::open(&workspace, folders[2].path().join("journals")).unwrap();
    let files = agent_files::Files::new(workspace, edits);
    let found = files.search(&SearchArgs::pattern("one"), &Stop::new()).unwrap();
    let found: Vec<_> = found.matches.iter().map(|found| found.file.as_str()).collect();
    assert_eq!(found, ["a:a.txt", "b:b.txt"]);
}
