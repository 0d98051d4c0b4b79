//! A preview and the call that it is of.

use agent_tool_core::{ChangeKind, PreviewKind};
use serde_json::{Value, json};

use crate::checkout::Checkout;

const FILES: [(&str, &str); 3] = [("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")];

fn calls() -> [(&'static str, Value, PreviewKind, &'static str); 6] {
    let patch = |patch: &str| json!({ "patch": patch });
    [
        (
            "write",
            json!({"path": "new/d.txt", "content": "four\n"}),
            PreviewKind::Edit,
            "write: create `new/d.txt`",
        ),
        (
            "write",
            json!({"path": "a.txt", "content": "1\n"}),
            PreviewKind::Edit,
            "write: modify `a.txt`",
        ),
        (
            "edit",
            json!({"path": "a.txt", "old_string": "one", "new_string": "1"}),
            PreviewKind::Edit,
            "edit: modify `a.txt`",
        ),
        (
            "apply_patch",
            patch("*** Begin Patch\n*** Delete File: a.txt\n*** Delete File: b.txt\n*** End Patch"),
            PreviewKind::Delete,
            "apply_patch: delete `a.txt` and 1 more",
        ),
        (
            "apply_patch",
            patch("*** Begin Patch\n*** Update File: a.txt\n*** Move to: d.txt\n*** End Patch"),
            PreviewKind::Move,
            "apply_patch: rename `a.txt` to `d.txt`",
        ),
        (
            "apply_patch",
            patch(
                "*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** Update File: b.txt\n-two\n+2\n\
                 *** End Patch",
            ),
            PreviewKind::Edit,
            "apply_patch: modify `a.txt` and 1 more",
        ),
    ]
}

#[test]
fn a_preview_changes_nothing_and_the_call_does_what_it_showed() {
    for (tool, args, kind, title) in calls() {
        let checkout = Checkout::new(FILES);
        let preview = checkout.preview(tool, &args).unwrap();
        assert_eq!((preview.kind, preview.title.as_str()), (kind, title));
        for (path, text) in FILES {
            assert_eq!(checkout.bytes(path).unwrap(), text.as_bytes());
        }
        let cx = checkout.context().with_approved(preview.fingerprint);
        let output = checkout.runtime.block_on(checkout.tool(tool).call(args, &cx)).unwrap();
        assert_eq!(output.changes, preview.changes, "{title}");
        assert_eq!(checkout.watcher.changes(), preview.changes, "{title}");
        for change in &preview.changes {
            let after = checkout.bytes(&change.path);
            let after = after.map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(after.as_deref(), change.after.as_text(), "{title}: {}", change.path);
            assert_eq!(change.kind() == ChangeKind::Deleted, after.is_none());
        }
    }
}

#[test]
fn another_plan_than_the_approved_one_is_a_conflict() {
    for (tool, args, _, title) in calls().into_iter().skip(1) {
        let checkout = Checkout::new(FILES);
        let preview = checkout.preview(tool, &args).unwrap();
        checkout.put("a.txt", "one\nmore\n");
        let cx = checkout.context().with_approved(preview.fingerprint);
        let error = checkout.runtime.block_on(checkout.tool(tool).call(args, &cx)).unwrap_err();
        assert_eq!(error.code, "approval_changed", "{title}");
        assert_eq!(checkout.bytes("a.txt").unwrap(), b"one\nmore\n");
        assert_eq!(checkout.bytes("b.txt").unwrap(), b"two\n");
        assert_eq!(checkout.watcher.changes(), []);
    }
}

#[test]
fn what_the_call_refuses_the_preview_refuses_in_the_same_words() {
    let checkout = Checkout::new(FILES);
    let calls = [
        ("edit", json!({"path": "a.txt", "old_string": "nine", "new_string": "9"})),
        ("edit", json!({"path": "z.txt", "old_string": "nine", "new_string": "9"})),
        ("write", json!({"path": "../a.txt", "content": ""})),
        ("write", json!({"path": "a.txt"})),
        ("apply_patch", json!({"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-nine\n+9\n"})),
    ];
    for (tool, args) in calls {
        let shown = checkout.preview(tool, &args).unwrap_err();
        let called = checkout.call(tool, args).unwrap_err();
        assert_eq!(
            (shown.kind, &shown.code, &shown.message),
            (called.kind, &called.code, &called.message)
        );
    }
}

#[test]
fn what_would_change_nothing_asks_nobody() {
    let args = |content: &str| json!({"path": "a.txt", "content": content});
    let checkout = Checkout::new(FILES);
    for (args, nothing) in [
        (args("one\n"), true),
        (args("one"), false),
        (json!({"path": "empty", "content": ""}), false),
    ] {
        let preview = checkout.preview("write", &args).unwrap();
        assert_eq!(preview.changes_nothing, nothing, "{args}");
    }
    let preview = checkout.preview("write", &args("one\n")).unwrap();
    assert_eq!(preview.title, "write: nothing would change");
    let write = || {
        let cx = checkout.context().with_approved(preview.fingerprint.clone());
        checkout.runtime.block_on(checkout.tool("write").call(args("one\n"), &cx))
    };
    let said = write().unwrap().joined_text();
    assert_eq!(said, "nothing was changed: the text is already so");
    // Something else stands there by the time of the call.
    checkout.put("a.txt", "one\nmore\n");
    assert_eq!(write().unwrap_err().code, "approval_changed");

    // Of the others such a call is an error of its preview already.
    let same = "*** Begin Patch\n*** Update File: b.txt\n-two\n+two\n*** End Patch";
    for (tool, args) in [
        ("edit", json!({"path": "b.txt", "old_string": "two", "new_string": "two"})),
        ("apply_patch", json!({ "patch": same })),
    ] {
        assert_eq!(checkout.preview(tool, &args).unwrap_err().code, "no_change", "{tool}");
    }
}
