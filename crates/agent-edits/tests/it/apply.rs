use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::PathBuf,
    thread,
};

use agent_edits::{ChangeKind, Edits, Plan};
use agent_workspace::{Containment, Workspace};

use crate::fixture::{Fixture, after_five, five, left_in_state};

fn mode(path: PathBuf) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn five_files_change_together() {
    let fixture = Fixture::with_five();
    let before = fixture.tree();
    let applied = fixture.edits().apply(&five(&fixture.workspace)).unwrap();
    assert_eq!(fixture.tree(), after_five(&before));
    let changes: Vec<_> = applied
        .changes
        .iter()
        .map(|change| (fixture.workspace.show(&change.path), change.kind))
        .collect();
    assert_eq!(
        changes,
        [
            ("modified".to_owned(), ChangeKind::Modify),
            ("new/deep/created".to_owned(), ChangeKind::Create),
            ("hard-a".to_owned(), ChangeKind::Modify),
            ("link".to_owned(), ChangeKind::Modify),
            ("deleted".to_owned(), ChangeKind::Delete),
        ]
    );
    assert!(applied.recovered.is_empty() && !applied.leftover);
    assert_eq!(left_in_state(&fixture.state()).len(), 0);
}

#[test]
fn a_workspace_contained_by_the_library_changes_as_well() {
    let fixture = Fixture::with_five();
    let before = fixture.tree();
    let workspace =
        Workspace::builder().root(fixture.root()).containment(Containment::Library).open().unwrap();
    let edits = Edits::open(&workspace, fixture.state()).unwrap();
    edits.apply(&five(&workspace)).unwrap();
    assert_eq!(fixture.tree(), after_five(&before));
}

#[test]
fn any_bytes_become_any_bytes() {
    let contents: [&[u8]; 6] =
        [b"", b"\xEF\xBB\xBFx\r\n", b"no newline", b"a\r\nb\rc\n", b"caf\xE9", b"\0\x01\xFF"];
    for before in contents {
        for after in contents {
            let fixture = Fixture::new();
            fixture.put("file", before);
            let mut plan = fixture.plan();
            plan.modify(&fixture.path("file"), fixture.read("file"), after.to_vec()).unwrap();
            let applied = fixture.edits().apply(&plan).unwrap();
            assert_eq!(fixture.read("file").bytes, after);
            assert_eq!(applied.changes.len(), usize::from(before != after));
        }
    }
}

#[test]
fn mode_attributes_and_owner_are_those_of_the_file() {
    let fixture = Fixture::new();
    let path = fixture.put("tool", "before");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o2751)).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    let has_attributes = rustix::fs::setxattr(&path, "user.test", b"kept", flags).is_ok();
    let as_root = rustix::process::geteuid().is_root();
    if as_root {
        std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o2751)).unwrap();
    }
    let owner = |path: &PathBuf| {
        let found = fs::metadata(path).unwrap();
        (found.uid(), found.gid())
    };
    let before = owner(&path);
    fixture.edits().apply(&fixture.writes(&[("tool", "after")])).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"after");
    assert_eq!(mode(path.clone()), 0o2751);
    assert_eq!(owner(&path), before);
    if has_attributes {
        let mut value = [0_u8; 16];
        let length = rustix::fs::getxattr(&path, "user.test", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"kept");
    }
}

#[test]
fn a_rename_keeps_the_permission_bits() {
    let fixture = Fixture::new();
    let path = fixture.put("old", "same");
    fs::set_permissions(path, fs::Permissions::from_mode(0o711)).unwrap();
    let mut plan = fixture.plan();
    plan.rename(&fixture.path("old"), &fixture.path("to/new"), None).unwrap();
    fixture.edits().apply(&plan).unwrap();
    assert_eq!(mode(fixture.root().join("to/new")), 0o711);
    assert!(!fixture.root().join("old").exists());
}

#[test]
fn hard_links_stay_links_whichever_names_are_in_the_plan() {
    let fixture = Fixture::new();
    let a = fixture.put("a", "before");
    for name in ["b", "c"] {
        fs::hard_link(&a, fixture.root().join(name)).unwrap();
    }
    let inode = fs::metadata(&a).unwrap().ino();
    let mut plan = fixture.writes(&[("a", "after"), ("b", "after")]);
    plan.delete(&fixture.path("c")).unwrap();
    fixture.edits().apply(&plan).unwrap();
    for name in ["a", "b"] {
        let found = fs::metadata(fixture.root().join(name)).unwrap();
        assert_eq!((found.ino(), found.nlink()), (inode, 2));
        assert_eq!(fixture.read(name).bytes, b"after");
    }
    assert!(!fixture.root().join("c").exists());
}

#[test]
fn a_link_stays_and_its_target_is_written() {
    let fixture = Fixture::new();
    fixture.put("dir/target", "before");
    let at = |name: &str| fixture.root().join(name);
    symlink("dir/target", at("relative")).unwrap();
    symlink(at("dir"), at("folder")).unwrap();
    let edits = fixture.edits();
    edits.apply(&fixture.writes(&[("relative", "1"), ("folder/new", "2")])).unwrap();
    edits.apply(&fixture.writes(&[("folder/target", "3")])).unwrap();
    assert_eq!(fixture.read("dir/target").bytes, b"3");
    assert_eq!(fixture.read("dir/new").bytes, b"2");
    assert!(at("relative").is_symlink() && at("folder").is_symlink());
}

#[test]
fn several_roots_change_in_one_plan() {
    let outer = tempfile::tempdir().unwrap();
    let at = |name: &str| outer.path().join(name);
    for name in ["app", "lib"] {
        fs::create_dir(at(name)).unwrap();
    }
    let workspace = Workspace::builder().root(at("app")).root(at("lib")).open().unwrap();
    let mut plan = Plan::new(&workspace);
    for text in ["x", "lib:x"] {
        plan.write(&workspace.resolve(text).unwrap(), text.into()).unwrap();
    }
    Edits::open(&workspace, at("state")).unwrap().apply(&plan).unwrap();
    assert_eq!(fs::read(at("app/x")).unwrap(), b"x");
    assert_eq!(fs::read(at("lib/x")).unwrap(), b"lib:x");
}

#[test]
fn the_state_folder_is_private_and_outside() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.state()).unwrap();
    fs::set_permissions(fixture.state(), fs::Permissions::from_mode(0o755)).unwrap();
    fixture.edits();
    assert_eq!(mode(fixture.state()), 0o700);
    assert_eq!(mode(fixture.state().join("lock")), 0o600);
    symlink(fixture.root(), fixture.outer.path().join("back")).unwrap();
    for inside in [fixture.root().join("state"), fixture.outer.path().join("back/state")] {
        let error = Edits::open(&fixture.workspace, &inside).unwrap_err();
        assert_eq!(error.code(), "state_folder");
        fs::remove_dir_all(inside).ok();
    }
}

/// Each thread adds one to a number until its plan was not stale: no addition is lost.
#[test]
fn changes_of_one_workspace_take_turns() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 5;
    let fixture = Fixture::new();
    fixture.put("count", "0");
    fixture.put("copy", "0");
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let edits = fixture.edits();
                let mut left = ROUNDS;
                while left > 0 {
                    let now = String::from_utf8(fixture.read("count").bytes).unwrap();
                    let Ok(number) = now.parse::<usize>() else { continue };
                    let next = (number + 1).to_string();
                    let plan = fixture.writes(&[("count", &next), ("copy", &next)]);
                    let planned_on = plan.entries()[0].before() == Some(now.as_bytes());
                    if planned_on && edits.apply(&plan).is_ok() {
                        left -= 1;
                    }
                }
            });
        }
    });
    let total = (THREADS * ROUNDS).to_string();
    assert_eq!(fixture.read("count").bytes, total.as_bytes());
    assert_eq!(fixture.read("copy").bytes, total.as_bytes());
}

#[test]
fn without_a_state_folder_a_change_is_planned_and_not_made() {
    let fixture = Fixture::new();
    fixture.put("a", "one");
    let edits = Edits::without_state_folder(&fixture.workspace, "there is no place for a journal");
    let plan = fixture.writes(&[("a", "two")]);
    let error = edits.apply(&plan).unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        ("state_folder", "there is no place for a journal")
    );
    assert_eq!(fixture.read_raw("a"), b"one");
    assert!(edits.recovered().is_empty());
}
