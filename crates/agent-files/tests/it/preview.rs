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
fn a_preview_of_what_stands_there_already_says_that_nothing_would_change() {
    let same = "*** Begin Patch\n*** Update File: a.txt\n-one\n+one\n*** End Patch";
    for (tool, args, nothing) in [
        ("write", json!({"path": "a.txt", "content": "one\n"}), true),
        ("write", json!({"path": "a.txt", "content": "one"}), false),
        ("write", json!({"path": "empty", "content": ""}), false),
        ("apply_patch", json!({ "patch": same }), true),
    ] {
        let checkout = Checkout::new(FILES);
        let preview = checkout.preview(tool, &args).unwrap();
        assert_eq!(preview.changes_nothing, nothing, "{tool} {args}");
        if nothing {
            assert_eq!(preview.title, format!("{tool}: nothing would change"));
            let cx = checkout.context().with_approved(preview.fingerprint);
            let output = checkout.runtime.block_on(checkout.tool(tool).call(args.clone(), &cx));
            let said = output.unwrap().joined_text();
            assert!(said.starts_with("nothing was changed: the text is already so"), "{said}");
            // Something else stands there by the time of the call.
            let preview = checkout.preview(tool, &args).unwrap();
            checkout.put("a.txt", "one\nmore\n");
            let cx = checkout.context().with_approved(preview.fingerprint);
            let error = checkout.runtime.block_on(checkout.tool(tool).call(args, &cx)).unwrap_err();
            assert_eq!(error.code, "approval_changed");
        }
    }
}
