//! The n-th file operation fails, for every n of a change of five files.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use agent_edits::{Edits, ErrorKind, Operation};

use crate::fixture::{AtNth, FIVE, Fixture, Node, Tree, after_five, five, left_in_state};

const NOTHING: [PathBuf; 0] = [];

fn errno(errno: rustix::io::Errno) -> io::Error {
    io::Error::from(errno)
}

fn once(errno_at: rustix::io::Errno) -> impl Fn(usize) {
    move |nth| {
        let fixture = Fixture::with_five();
        let before = fixture.tree();
        let after = after_five(&before);
        let hook = AtNth::new(
            move |nth, number, _: Operation, _: &Path| {
                if number == nth { Err(errno(errno_at)) } else { Ok(()) }
            },
        );
        let edits =
            Edits::open_with_hook(&fixture.workspace, fixture.state(), hook.clone()).unwrap();
        let plan = five(&fixture.workspace);
        hook.arm(nth);
        match edits.apply(&plan) {
            Ok(applied) => {
                assert_eq!(fixture.tree(), after, "operation {nth}");
                assert_eq!(applied.changes.len(), 5);
                assert!(!applied.leftover, "operation {nth}");
            }
            Err(error) => {
                assert_eq!(fixture.tree(), before, "operation {nth}: {error}");
                let kinds = [ErrorKind::ApplyFailed, ErrorKind::StaleEdit];
                assert!(kinds.contains(&error.kind()), "operation {nth}: {error}");
            }
        }
        assert_eq!(left_in_state(&fixture.state()), NOTHING, "operation {nth}");
    }
}

/// How many operations the change makes when nothing fails.
fn operations() -> usize {
    let fixture = Fixture::with_five();
    let hook = AtNth::new(|_, _, _: Operation, _: &Path| Ok(()));
    let edits = Edits::open_with_hook(&fixture.workspace, fixture.state(), hook.clone()).unwrap();
    let before = fixture.tree();
    let plan = five(&fixture.workspace);
    hook.arm(0);
    edits.apply(&plan).unwrap();
    assert_eq!(fixture.tree(), after_five(&before));
    let count = hook.count();
    assert!(count > 50, "{count} operations are too few to be all");
    count
}

// spec: AST-09
#[test]
fn a_failure_at_any_operation_leaves_all_new_or_all_as_before() {
    let operations = operations();
    for error in [rustix::io::Errno::NOSPC, rustix::io::Errno::ACCESS, rustix::io::Errno::IO] {
        (0..operations).for_each(once(error));
    }
}

/// From the n-th operation on all fail, the rollback's too; then the next start meets the same from its m-th on.
// spec: AST-09
#[test]
fn a_lasting_failure_is_put_right_by_a_later_start() {
    for nth in 0..operations() {
        for again in [0, 1, 2, 3, 5, 8, 13, 21, 34] {
            let fixture = Fixture::with_five();
            let before = fixture.tree();
            let after = after_five(&before);
            let hook =
                AtNth::new(
                    |nth, number, _: Operation, _: &Path| {
                        if number >= nth { Err(errno(rustix::io::Errno::IO)) } else { Ok(()) }
                    },
                );
            let edits =
                Edits::open_with_hook(&fixture.workspace, fixture.state(), hook.clone()).unwrap();
            let plan = five(&fixture.workspace);
            hook.arm(nth);
            let applied = edits.apply(&plan).is_ok();
            hook.arm(again);
            let _ = Edits::open_with_hook(&fixture.workspace, fixture.state(), hook.clone());
            let edits = fixture.edits();
            let expected = if applied { &after } else { &before };
            assert_eq!(&fixture.tree(), expected, "operation {nth}, then {again}");
            assert_eq!(left_in_state(&fixture.state()), NOTHING);
            if !applied {
                edits.apply(&five(&fixture.workspace)).unwrap();
                assert_eq!(fixture.tree(), after);
            }
        }
    }
}

/// A file of the change goes away before the n-th operation, or a link to a file outside takes its place.
fn disturbed(nth: usize, name: &'static str, by_link: Option<&'static str>) {
    let fixture = Fixture::with_five();
    let secret = fixture.outer.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let before = fixture.tree();
    let after = after_five(&before);
    let victim = fixture.root().join(name);
    let hook = AtNth::new(move |nth, number, _: Operation, _: &Path| {
        if number == nth {
            let gone = fs::remove_file(&victim).is_ok();
            if let Some(target) = by_link
                && gone
            {
                symlink(target, &victim).unwrap();
            }
        }
        Ok(())
    });
    let edits = Edits::open_with_hook(&fixture.workspace, fixture.state(), hook.clone()).unwrap();
    let plan = five(&fixture.workspace);
    hook.arm(nth);
    let result = edits.apply(&plan);
    assert!(hook.fired(), "operation {nth} never came");
    let context = format!("{name} at operation {nth}: {result:?}");
    let without = |tree: &Tree| {
        let mut tree = tree.clone();
        tree.remove(Path::new(name));
        if name == "hard-a" {
            // The other name is the first of its inode when this one is gone.
            let other = tree.get_mut(Path::new("dir/hard-b"));
            if let Some(Node::File { same_as, .. }) = other {
                *same_as = "dir/hard-b".into();
            }
        }
        tree
    };
    let expected = if result.is_ok() { &after } else { &before };
    assert_eq!(without(&fixture.tree()), without(expected), "{context}");
    assert_eq!(fs::read(&secret).unwrap(), b"secret", "{context}");
    let kept: Vec<_> = left_in_state(&fixture.state())
        .into_iter()
        .filter(|name| !name.starts_with("kept"))
        .collect();
    assert_eq!(kept, NOTHING, "{context}");
}

// spec: AST-09
#[test]
fn a_file_that_goes_away_at_any_operation_changes_no_other() {
    for nth in 0..operations() {
        for name in FIVE {
            disturbed(nth, name, None);
        }
    }
}

// spec: AST-09
#[test]
fn a_file_replaced_by_a_link_at_any_operation_changes_no_other() {
    for nth in 0..operations() {
        for name in FIVE {
            disturbed(nth, name, Some("../secret"));
        }
    }
}
