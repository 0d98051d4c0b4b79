use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use agent_edits::{Deviation, DeviationKind};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::fixture::{Fixture, left_in_state};

fn kinds(deviations: &[Deviation]) -> Vec<(&str, DeviationKind)> {
    let kind = |deviation: &'_ Deviation| deviation.kind;
    deviations.iter().map(|deviation| (deviation.shown.as_str(), kind(deviation))).collect()
}

// spec: AST-09
#[test]
fn every_file_that_deviates_is_named_and_none_is_changed() {
    let fixture = Fixture::new();
    let names = ["changed", "deleted", "fine", "folder", "grown", "link", "special", "dir/gone"];
    for name in names {
        fixture.put(name, "before");
    }
    fixture.put("aim-1", "before");
    fixture.put("aim-2", "before");
    let at = |name: &str| fixture.root().join(name);
    symlink("aim-1", at("retargeted")).unwrap();
    let mut plan = fixture.writes(&names.map(|name| (name, "after")));
    plan.write(&fixture.path("retargeted"), b"after".to_vec()).unwrap();
    plan.create(&fixture.path("appeared"), b"after".to_vec()).unwrap();
    fs::write(at("changed"), "BEFORE").unwrap();
    fs::remove_file(at("deleted")).unwrap();
    fs::remove_file(at("folder")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("grown"), "before and more").unwrap();
    fs::rename(at("link"), at("moved")).unwrap();
    symlink("moved", at("link")).unwrap();
    fs::remove_file(at("special")).unwrap();
    mknodat(CWD, at("special"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    fs::remove_dir_all(at("dir")).unwrap();
    fs::remove_file(at("retargeted")).unwrap();
    symlink("aim-2", at("retargeted")).unwrap();
    fs::write(at("appeared"), "mine").unwrap();
    let error = {
        let error = fixture.edits().apply(&plan).unwrap_err();
        assert_eq!(error.code(), "stale_edit");
        error
    };
    assert_eq!(
        kinds(error.deviations()),
        [
            ("changed", DeviationKind::Changed),
            ("deleted", DeviationKind::Deleted),
            ("folder", DeviationKind::BecameFolder),
            ("grown", DeviationKind::Changed),
            ("link", DeviationKind::LeadsElsewhere),
            ("special", DeviationKind::BecameSpecial),
            ("dir/gone", DeviationKind::Deleted),
            ("retargeted", DeviationKind::LeadsElsewhere),
            ("appeared", DeviationKind::Appeared),
        ]
    );
    assert_eq!(fixture.read("fine").bytes, b"before");
    assert_eq!(fixture.read("moved").bytes, b"before");
    assert!(error.to_string().contains("`grown` (changed)"), "{error}");
    assert_eq!(left_in_state(&fixture.state()).len(), 0);
}

// spec: AST-09
#[test]
fn a_file_that_was_touched_or_saved_anew_with_equal_bytes_is_fine() {
    let fixture = Fixture::new();
    fixture.put("a", "before");
    fixture.put("b", "before");
    let plan = fixture.writes(&[("a", "after"), ("b", "after")]);
    let at = |name: &str| fixture.root().join(name);
    fs::write(at("a"), "before").unwrap();
    fs::write(at("b.tmp"), "before").unwrap();
    fs::rename(at("b.tmp"), at("b")).unwrap();
    fixture.edits().apply(&plan).unwrap();
    assert_eq!(fixture.read("a").bytes, b"after");
    assert_eq!(fixture.read("b").bytes, b"after");
}

#[test]
fn the_owners_write_bit_decides_for_root_too() {
    let fixture = Fixture::new();
    for (name, mode) in [("a", 0o444), ("b", 0o466), ("c", 0o200 | 0o444), ("d", 0o555)] {
        let path = fixture.put(name, "before");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let before = fixture.tree();
    let mut plan = fixture.writes(&[("a", "after"), ("b", "after"), ("c", "after")]);
    plan.delete(&fixture.path("d")).unwrap();
    let error = fixture.edits().apply(&plan).unwrap_err();
    assert_eq!(error.code(), "read_only");
    let names: Vec<_> = kinds(error.deviations()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "d"]);
    assert_eq!(fixture.tree(), before);
}

#[test]
fn a_plan_of_another_workspace_is_refused() {
    let (one, two) = (Fixture::new(), Fixture::new());
    let error = one.edits().apply(&two.writes(&[("a", "x")])).unwrap_err();
    assert_eq!(error.code(), "other_workspace");
}

// spec: AST-10
#[test]
fn the_second_of_two_plans_for_one_file_is_stale() {
    let fixture = Fixture::new();
    fixture.put("a", "before");
    let first = fixture.writes(&[("a", "first")]);
    let second = fixture.writes(&[("a", "second"), ("b", "new")]);
    let edits = fixture.edits();
    edits.apply(&first).unwrap();
    assert_eq!(edits.apply(&second).unwrap_err().code(), "stale_edit");
    assert_eq!(edits.apply(&first).unwrap_err().code(), "stale_edit");
    assert_eq!(fixture.read("a").bytes, b"first");
    assert!(!fixture.root().join("b").exists());
}
