use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use agent_edits::{ChangeKind, Executable, tool_error};
use agent_tool_core::{ErrorKind, FileChange};

use crate::fixture::Fixture;

fn code<T: std::fmt::Debug>(result: agent_edits::Result<T>) -> &'static str {
    result.unwrap_err().code()
}

#[test]
fn a_plan_shows_what_it_would_do_and_does_nothing() {
    let fixture = Fixture::new();
    fixture.put("a", "one");
    fixture.put("b", "two");
    let before = fixture.tree();
    let mut plan = fixture.plan();
    plan.write(&fixture.path("a"), b"ONE".to_vec()).unwrap();
    plan.write(&fixture.path("new/c"), b"three".to_vec()).unwrap();
    plan.rename(&fixture.path("b"), &fixture.path("d"), None).unwrap();
    let shown: Vec<_> = plan
        .entries()
        .iter()
        .map(|entry| {
            let path = fixture.workspace.show(entry.path());
            (path, entry.kind(), entry.before(), entry.after())
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("a".to_owned(), ChangeKind::Modify, Some(&b"one"[..]), Some(&b"ONE"[..])),
            ("new/c".to_owned(), ChangeKind::Create, None, Some(b"three")),
            ("d".to_owned(), ChangeKind::Create, None, Some(b"two")),
            ("b".to_owned(), ChangeKind::Delete, Some(b"two"), None),
        ]
    );
    assert!(!plan.is_empty());
    assert_eq!(fixture.tree(), before);
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let fixture = Fixture::new();
    let a = fixture.put("a", "a");
    fs::hard_link(a, fixture.root().join("a2")).unwrap();
    fixture.put("dir/x", "x");
    symlink("a", fixture.root().join("link")).unwrap();
    symlink("/etc/passwd", fixture.root().join("out")).unwrap();
    symlink("nothing", fixture.root().join("dangling")).unwrap();
    let path = |text| fixture.path(text);
    let bytes = || b"new".to_vec();
    let mut plan = fixture.plan();
    plan.write(&path("a"), bytes()).unwrap();
    assert_eq!(code(plan.write(&path("a"), bytes())), "duplicate_path");
    assert_eq!(code(plan.write(&path("link"), bytes())), "duplicate_path");
    assert_eq!(code(plan.write(&path("a2"), b"other".to_vec())), "duplicate_path");
    assert_eq!(code(plan.create(&path("dir/x"), bytes())), "already_exists");
    assert_eq!(code(plan.create(&path("dir"), bytes())), "already_exists");
    assert_eq!(code(plan.write(&path("dir"), bytes())), "is_a_directory");
    assert_eq!(code(plan.write(&path("out"), bytes())), "outside_workspace");
    assert_eq!(code(plan.write(&path("dangling"), bytes())), "not_found");
    assert_eq!(code(plan.delete(&path("link"))), "is_a_link");
    assert_eq!(code(plan.delete(&path("none"))), "not_found");
    assert_eq!(code(plan.rename(&path("dir/x"), &path("a2"), None)), "already_exists");
    assert_eq!(plan.entries().len(), 1);
    plan.write(&path("a2"), bytes()).unwrap();
}

#[test]
fn a_rename_onto_its_own_name_leaves_the_plan_as_it_was() {
    let fixture = Fixture::new();
    fixture.put("a", "a");
    let mut plan = fixture.plan();
    plan.delete(&fixture.path("a")).unwrap();
    let renamed = plan.rename(&fixture.path("a"), &fixture.path("b"), None);
    assert_eq!(code(renamed), "duplicate_path");
    assert_eq!(plan.entries().len(), 1);
    plan.create(&fixture.path("b"), Vec::new()).unwrap();
}

#[test]
fn a_fingerprint_is_of_the_content_and_not_of_the_order() {
    let fixture = Fixture::new();
    fixture.put("a", "a");
    fs::set_permissions(fixture.root().join("a"), fs::Permissions::from_mode(0o640)).unwrap();
    let of = |files: &[(&str, &str)]| fixture.writes(files).fingerprint();
    let first = of(&[("a", "1"), ("b", "2")]);
    assert_eq!(first.len(), 64);
    assert_eq!(first, of(&[("b", "2"), ("a", "1")]));
    assert_ne!(first, of(&[("a", "1"), ("b", "3")]));
    assert_ne!(first, of(&[("a", "1"), ("c", "2")]));
    assert_ne!(of(&[("b", "12")]), of(&[("b", "1")]));
    fixture.put("a", "changed");
    assert_ne!(first, of(&[("a", "1"), ("b", "2")]));
}

#[test]
fn a_file_becomes_executable_by_whoever_may_read_it_and_its_bytes_stay() {
    let fixture = Fixture::new();
    let mode =
        |name: &str| fs::metadata(fixture.root().join(name)).unwrap().permissions().mode() & 0o7777;
    for (before, executable, after) in [
        (0o644, Executable::Yes, 0o755),
        (0o640, Executable::Yes, 0o750),
        (0o600, Executable::Yes, 0o700),
        (0o755, Executable::No, 0o644),
        (0o711, Executable::No, 0o600),
    ] {
        let path = fixture.put("a", "text");
        fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
        let mut plan = fixture.plan();
        plan.executable(&fixture.path("a"), executable).unwrap();
        assert_eq!(plan.entries()[0].kind(), ChangeKind::Modify);
        fixture.edits().apply(&plan).unwrap();
        assert_eq!((mode("a"), fixture.read("a").bytes), (after, b"text".to_vec()), "{before:o}");

        let mut again = fixture.plan();
        again.executable(&fixture.path("a"), executable).unwrap();
        assert!(again.is_empty(), "{before:o} is as wanted already");
    }
    let mut moved = fixture.plan();
    moved.rename(&fixture.path("a"), &fixture.path("b"), None).unwrap();
    let before = moved.fingerprint();
    moved.executable(&fixture.path("b"), Executable::Yes).unwrap();
    assert_ne!(moved.fingerprint(), before, "an approval is for the mode too");
    assert_eq!(
        moved.executable(&fixture.path("a"), Executable::Yes).unwrap_err().code(),
        "duplicate_path"
    );
    fixture.edits().apply(&moved).unwrap();
    assert_eq!(mode("b"), 0o700);
}

#[test]
fn two_names_of_one_file_cannot_get_two_modes() {
    let fixture = Fixture::new();
    let path = fixture.put("a", "text");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::hard_link(path, fixture.root().join("b")).unwrap();
    let mut plan = fixture.plan();
    plan.executable(&fixture.path("a"), Executable::Yes).unwrap();
    let error = plan.executable(&fixture.path("b"), Executable::No).unwrap_err();
    assert_eq!(error.code(), "duplicate_path");
    plan.executable(&fixture.path("b"), Executable::Yes).unwrap();
    fixture.edits().apply(&plan).unwrap();
    assert_eq!(fixture.read("a").bytes, b"text");
    assert_eq!(fixture.read("b").identity.mode & 0o777, 0o755);
}

#[test]
fn nothing_in_a_git_folder_is_planned_by_any_name() {
    let fixture = Fixture::new();
    fixture.put(".git/hooks/pre-commit", "old");
    fixture.put("sub/.git", "gitdir: ../.git/modules/sub\n");
    fixture.put("a", "a");
    fixture.put(".gitignore", "a");
    symlink(".git/hooks", fixture.root().join("hooks")).unwrap();
    symlink("a", fixture.root().join("sub/.Git")).unwrap();
    let before = fixture.tree();
    let path = |text| fixture.path(text);
    let bytes = || b"new".to_vec();
    let names = [
        ".git/hooks/pre-commit",
        ".git/hooks/post-merge",
        ".git/new/deep",
        ".GIT/config",
        ".g\u{200c}it/config",
        "git~1/config",
        "hooks/pre-commit",
        "hooks/post-merge",
        "sub/.git",
        "sub/.Git",
        "new/.git/config",
    ];
    for name in names {
        let mut plan = fixture.plan();
        assert_eq!(code(plan.write(&path(name), bytes())), "protected_path", "{name}");
        assert_eq!(code(plan.create(&path(name), bytes())), "protected_path", "{name}");
        assert_eq!(code(plan.modify(&path(name), fixture.read("a"), bytes())), "protected_path");
        assert_eq!(code(plan.delete(&path(name))), "protected_path", "{name}");
        assert_eq!(code(plan.rename(&path(name), &path("b"), None)), "protected_path", "{name}");
        assert_eq!(code(plan.rename(&path("a"), &path(name), None)), "protected_path", "{name}");
        assert_eq!(code(plan.executable(&path(name), Executable::Yes)), "protected_path", "{name}");
        assert!(plan.entries().is_empty(), "{name}");
    }
    assert_eq!(fixture.tree(), before);
    let said = fixture.plan().write(&path(".git/config"), bytes()).unwrap_err().to_string();
    assert_eq!(
        said,
        "`.git/config` belongs to git, which runs what its hooks and its configuration name, so it is not changed \
         here; change it with git's own commands, or ask the person to"
    );
    let mut plan = fixture.plan();
    for name in [".gitignore", ".github/workflows/a.yml", "a.git/b", "git/c"] {
        plan.write(&path(name), bytes()).unwrap();
    }
    assert_eq!(fixture.read(".git/hooks/pre-commit").bytes, b"old", "reading stays allowed");
}

#[test]
fn a_plan_says_which_files_change() {
    let fixture = Fixture::new();
    fixture.put("a", "one");
    fixture.put("b", "two");
    fixture.put("held", "as it is");
    let mut plan = fixture.plan();
    plan.write(&fixture.path("a"), b"ONE".to_vec()).unwrap();
    plan.rename(&fixture.path("b"), &fixture.path("d"), None).unwrap();
    plan.write(&fixture.path("held"), b"as it is".to_vec()).unwrap();
    let changes = plan.changes();
    let said: Vec<_> = changes
        .iter()
        .map(|FileChange { path, before, after, .. }| {
            (path.as_str(), before.as_text(), after.as_text())
        })
        .collect();
    let expected =
        [("a", Some("one"), Some("ONE")), ("d", None, Some("two")), ("b", Some("two"), None)];
    assert_eq!(said, expected, "what is held and stays is no change");
}

#[test]
fn an_error_keeps_its_code_and_has_one_kind_whichever_way_it_came() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.root().join("folder")).unwrap();
    for (path, kind, code) in [
        ("missing", ErrorKind::NotFound, "not_found"),
        ("../out", ErrorKind::Denied, "outside_workspace"),
        ("folder", ErrorKind::InvalidArgs, "is_a_directory"),
    ] {
        let read = fixture.workspace.resolve(path).and_then(|path| fixture.workspace.read(&path));
        let direct = tool_error::of_workspace(read.unwrap_err());
        assert_eq!((direct.kind, direct.code.as_ref()), (kind, code));
        let read = fixture.workspace.resolve(path).and_then(|path| fixture.workspace.read(&path));
        let planned = tool_error::of_edits(agent_edits::Error::from(read.unwrap_err()));
        assert_eq!((planned.kind, planned.code.as_ref()), (kind, code));
        assert_eq!(planned.message, direct.message);
    }
    let git = fixture.plan().write(&fixture.path(".git/config"), Vec::new()).unwrap_err();
    let git = tool_error::of_edits(git);
    assert_eq!((git.kind, git.code.as_ref()), (ErrorKind::Denied, "protected_path"));
}
