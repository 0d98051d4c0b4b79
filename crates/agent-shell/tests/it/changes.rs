//! What a command changed.

use std::fs;

use agent_shell::{MAX_CHANGES, ShellArgs};
use agent_tool_core::{ChangeKind, Content};

use crate::support::Checkout;

#[tokio::test]
async fn created_changed_and_deleted_files_are_told() {
    let checkout =
        Checkout::new().with("keep.txt", "k").with("old.txt", "old").with("sub/gone.txt", "g");
    let command =
        "echo new > made.txt; echo longer >> old.txt; rm sub/gone.txt; touch -r keep.txt keep.txt";
    let report = checkout.run(ShellArgs::new(command)).await;
    let told: Vec<_> =
        report.changes.iter().map(|change| (change.path.as_str(), change.kind())).collect();
    let expected = [
        ("made.txt", ChangeKind::Created),
        ("old.txt", ChangeKind::Modified),
        ("sub/gone.txt", ChangeKind::Deleted),
    ];
    assert_eq!((told.as_slice(), report.files_changed), (expected.as_slice(), Some(3)));
    assert_eq!(report.changes[0].after, Content::Text { text: "new\n".to_owned() });
    assert_eq!(report.changes[1].before, Content::Omitted { bytes: 3 });
    assert_eq!(report.changes[1].after, Content::Text { text: "oldlonger\n".to_owned() });
    assert_eq!(checkout.told().1, ["made.txt", "old.txt", "sub/gone.txt"]);
    let text = report.text();
    assert!(text.ends_with("3 files changed: +made.txt, old.txt, -sub/gone.txt"), "{text}");
}

#[tokio::test]
async fn ignored_and_hidden_files_are_not() {
    let checkout = Checkout::new().with(".gitignore", "target/\n");
    let report =
        checkout.run(ShellArgs::new("mkdir target; echo x > target/a; echo y > .hidden")).await;
    assert_eq!((report.changes.len(), report.files_changed), (0, Some(0)));
    assert!(!report.text().contains("changed"), "{}", report.text());
}

#[tokio::test]
async fn links_and_fifos_that_it_made_are_counted_apart() {
    let checkout = Checkout::new().with("a.txt", "a");
    let report = checkout.run(ShellArgs::new("ln -s a.txt link; mkfifo pipe")).await;
    assert_eq!((report.files_changed, report.others_made), (Some(0), Some(2)));
    let said = "\n2 entries that are no files made: links, fifos or the like";
    assert!(report.text().ends_with(said), "{}", report.text());
    let report = checkout.run(ShellArgs::new("rm pipe; cat link")).await;
    assert_eq!(report.others_made, Some(0));
    assert!(!report.text().contains("entries"), "{}", report.text());
}

#[tokio::test]
async fn many_changes_are_counted_and_the_first_carried() {
    let checkout = Checkout::new();
    let report = checkout.run(ShellArgs::new("for i in $(seq 100 159); do echo > f$i; done")).await;
    assert_eq!((report.changes.len(), report.files_changed), (MAX_CHANGES, Some(60)));
    assert!(report.text().ends_with("+f119 and 40 more"), "{}", report.text());
}

#[tokio::test]
async fn too_many_files_are_said_and_not_compared() {
    let checkout = Checkout::new();
    for number in 0..=agent_shell::MAX_FILES_COMPARED {
        fs::write(checkout.path().join(number.to_string()), "").unwrap();
    }
    let report = checkout.run(ShellArgs::new("echo x > made.txt")).await;
    assert_eq!((report.changes.len(), report.files_changed), (0, None));
    assert!(report.text().contains("which files it changed is not known"), "{}", report.text());
}

#[tokio::test]
async fn a_command_runs_in_the_folder_that_it_names() {
    let checkout = Checkout::new().with("sub/a.txt", "");
    let report = checkout.run(ShellArgs::new("pwd -P; cd /; echo x > /dev/null").cwd("sub")).await;
    let expected = checkout.path().canonicalize().unwrap().join("sub");
    assert_eq!(report.output.trim(), expected.to_string_lossy());
}
