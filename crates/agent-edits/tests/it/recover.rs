use std::{fs, io, path::Path};

use agent_edits::{Edits, Operation, RecoveryOutcome};

use crate::fixture::{AtNth, Fixture, left_in_state};

/// Applies a plan whose first rename of a file's own name goes through and after which everything fails, as a crash.
fn crash(fixture: &Fixture, files: &[(&str, &str)]) {
    let root = fixture.root();
    let renamed = std::sync::atomic::AtomicBool::new(false);
    let hook = AtNth::new(move |_, _, operation: Operation, path: &Path| {
        use std::sync::atomic::Ordering::SeqCst;
        if renamed.load(SeqCst) {
            return Err(io::Error::other("dead"));
        }
        let own_name = path.starts_with(&root) && operation == Operation::Rename;
        if own_name {
            renamed.store(true, SeqCst);
        }
        Ok(())
    });
    let edits = Edits::open_with_hook(&fixture.workspace, fixture.state(), hook.clone()).unwrap();
    let plan = fixture.writes(files);
    hook.arm(0);
    let error = edits.apply(&plan).unwrap_err();
    assert_eq!(error.code(), "outcome_unknown", "{error}");
}

#[test]
fn a_start_says_what_it_put_right() {
    let fixture = Fixture::new();
    fixture.put("a", "before");
    fixture.put("b", "before");
    crash(&fixture, &[("a", "after"), ("b", "after")]);
    assert_eq!(fixture.read("a").bytes, b"after");
    let edits = fixture.edits();
    let [recovery] = edits.recovered() else {
        panic!("{:?}", edits.recovered());
    };
    assert_eq!(recovery.outcome, RecoveryOutcome::Undone);
    assert_eq!(recovery.files, [fixture.root().join("a"), fixture.root().join("b")]);
    assert_eq!(fixture.read("a").bytes, b"before");
    assert!(fixture.edits().recovered().is_empty());
}

#[test]
fn an_apply_puts_right_what_another_process_left() {
    let fixture = Fixture::new();
    fixture.put("a", "before");
    let edits = fixture.edits();
    crash(&fixture, &[("a", "after"), ("b", "new")]);
    let applied = edits.apply(&fixture.writes(&[("c", "new")])).unwrap();
    assert_eq!(applied.recovered[0].outcome, RecoveryOutcome::Undone);
    assert_eq!(fixture.read("a").bytes, b"before");
    assert_eq!(fixture.read("c").bytes, b"new");
}

#[test]
fn what_someone_changed_after_the_crash_is_left_and_the_old_bytes_kept() {
    let fixture = Fixture::new();
    fixture.put("a", "before");
    fixture.put("b", "before");
    crash(&fixture, &[("a", "after"), ("b", "after")]);
    fixture.put("a", "by a person");
    let edits = fixture.edits();
    let kept = &edits.recovered()[0].kept;
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].path, fixture.root().join("a"));
    assert_eq!(fs::read(kept[0].copy.as_ref().unwrap()).unwrap(), b"before");
    assert_eq!(fixture.read("a").bytes, b"by a person");
    assert_eq!(fixture.read("b").bytes, b"before");
    assert_eq!(fixture.tree().len(), 2);
}

#[test]
fn another_folder_under_the_name_of_the_root_is_not_touched() {
    let fixture = Fixture::new();
    fixture.put("a", "before");
    crash(&fixture, &[("a", "after"), ("b", "new")]);
    let moved = fixture.outer.path().join("moved");
    fs::rename(fixture.root(), &moved).unwrap();
    fs::create_dir(fixture.root()).unwrap();
    fixture.put("a", "after");
    let other = agent_workspace::Workspace::open(fixture.root()).unwrap();
    let edits = Edits::open(&other, fixture.state()).unwrap();
    let outcome = &edits.recovered()[0].outcome;
    assert!(matches!(outcome, RecoveryOutcome::Left { .. }), "{outcome:?}");
    assert_eq!(fixture.read_raw("a"), b"after");
    let mut plan = agent_edits::Plan::new(&other);
    plan.write(&other.resolve("c").unwrap(), b"new".to_vec()).unwrap();
    assert_eq!(edits.apply(&plan).unwrap_err().code(), "unfinished_change");
    fs::remove_dir_all(fixture.root()).unwrap();
    fs::rename(&moved, fixture.root()).unwrap();
    fixture.edits();
    assert_eq!(fixture.read_raw("a"), b"before");
    assert_eq!(left_in_state(&fixture.state()).len(), 0);
}

#[test]
fn what_is_left_of_another_workspace_does_not_stop_this_one() {
    let fixture = Fixture::new();
    fixture.put("a", "before");
    crash(&fixture, &[("a", "after"), ("b", "new")]);
    fs::rename(fixture.root(), fixture.outer.path().join("moved")).unwrap();
    let elsewhere = fixture.outer.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let other = agent_workspace::Workspace::open(&elsewhere).unwrap();
    let edits = Edits::open(&other, fixture.state()).unwrap();
    let mut plan = agent_edits::Plan::new(&other);
    plan.write(&other.resolve("c").unwrap(), b"new".to_vec()).unwrap();
    let applied = edits.apply(&plan).unwrap();
    assert!(matches!(applied.recovered[0].outcome, RecoveryOutcome::Left { .. }));
    assert_eq!(fs::read(elsewhere.join("c")).unwrap(), b"new");
}

#[test]
fn a_journal_that_cannot_be_read_is_named_with_what_to_do() {
    let fixture = Fixture::new();
    fixture.put("a", "before");
    crash(&fixture, &[("a", "after"), ("b", "new")]);
    let folder = &left_in_state(&fixture.state())[0];
    let journal = fixture.state().join(folder);
    fs::write(journal.join("journal.json"), "{\"version\": 1,").unwrap();

    let edits = fixture.edits();
    let recovery = &edits.recovered()[0];
    assert_eq!(recovery.journal, journal);
    let error = edits.apply(&fixture.writes(&[("c", "new")])).unwrap_err();
    assert_eq!(error.code(), "unfinished_change");
    for said in [
        &format!("its journal `{}` cannot be read (EOF while parsing", journal.display()),
        "names that begin with `.agent-edits-`",
        "then move the journal away",
    ] {
        assert!(error.message().contains(said), "{said}: {error}");
    }
    assert!(fs::read(fixture.root().join("c")).is_err());

    fs::rename(&journal, fixture.outer.path().join("away")).unwrap();
    edits.apply(&fixture.writes(&[("c", "new")])).unwrap();
}

#[test]
fn what_a_start_did_is_said_in_words_with_the_files() {
    let fixture = Fixture::new();
    let files: Vec<_> = (0..7).map(|n| format!("f{n}")).collect();
    let writes: Vec<_> = files.iter().map(|file| (file.as_str(), "new")).collect();
    crash(&fixture, &writes);
    let said = fixture.edits().recovered()[0].to_string();
    let root = fixture.root().display().to_string();
    let named: Vec<_> = (0..5).map(|n| format!("`{root}/f{n}`")).collect();
    let named = named.join(", ");
    assert_eq!(
        said,
        format!(
            "a change of {named} and 2 more was cut off and is undone; no file has its new text"
        )
    );
}
