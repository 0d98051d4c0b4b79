//! What needs the state folder, what does not, and what old runs leave in it.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::{home::Home, peer::Peer};

const READ: &str = r#"{"path": "a.py"}"#;

/// A home whose state folder cannot be one: a file stands in its place, which stops root too.
fn without_state() -> Home {
    let home = Home::new(&[("a.py", "f(1)\n")]);
    fs::write(home.state(), "a file").expect("a file");
    home
}

#[test]
fn without_a_state_folder_what_only_reads_works_and_what_changes_says_what_to_do() {
    let home = without_state();
    for args in [
        &["tools"][..],
        &["call", "read", READ],
        &["call", "search", r#"{"pattern": "f"}"#],
        &["call", "ast_grep", r#"{"pattern": "f($A)"}"#],
    ] {
        let output = home.run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
        assert!(!said.contains("state folder"), "what needs none says nothing of it: {said}");
    }
    let write = [
        ("write", r#"{"path": "a.py", "content": "g"}"#),
        ("edit", r#"{"path": "a.py", "old_string": "f", "new_string": "g"}"#),
        ("apply_patch", r#"{"patch": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-f(1)\n+g(1)\n"}"#),
    ];
    for (tool, args) in write {
        let result = home.json(&["--json", "--approve", "all", "call", tool, args]);
        assert_eq!(result["error"]["code"], "state_folder", "{result}");
        let said = result["error"]["message"].as_str().unwrap_or_default();
        assert!(said.contains("cannot create the state folder"), "{said}");
        assert!(said.contains("name a folder that you can write by XDG_STATE_HOME"), "{said}");
    }
    assert_eq!(home.file("a.py"), "f(1)\n");

    let output = home.run(&["--json", "doctor"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &report["usable"]), (Some(1), &json!(false)));
    assert_eq!(report["groups"].as_array().map(Vec::len), Some(9), "the rest is said too");
    assert_eq!(report["problems"].as_array().map(Vec::len), Some(1), "{report}");
    assert!(report["problems"][0].to_string().contains("XDG_STATE_HOME"), "{report}");
}

#[test]
fn a_result_that_cannot_be_kept_is_cut_without_a_name() {
    let home = without_state();
    let lines: String = (1..=200).map(|n| format!("needle number {n}\n")).collect();
    home.put("a.txt", &lines);
    home.put(".agent-run.toml", "result_characters = 1000\n");
    let cut =
        home.json(&["--json", "call", "search", r#"{"pattern": "needle", "max_results": 300}"#]);
    assert_eq!(cut["ok"], true);
    assert!(!cut["parts"].to_string().contains("artifact:"), "{cut}");
}

#[test]
fn a_host_is_told_that_there_is_no_state_folder() {
    let home = without_state();
    let mut peer = Peer::start(&home, &[]);
    peer.initialize(&home, json!({}));
    let said = peer.heard("log")["params"]["message"].to_string();
    assert!(said.contains("XDG_STATE_HOME"), "{said}");
    let read = peer.call("read_1", "read", json!({"path": "a.py"}));
    assert_eq!(read["ok"], true);
    peer.end();
}

/// A run's folder of artifacts with one in it, begun so long ago.
fn kept(home: &Home, ago: Duration, process: u32) -> PathBuf {
    let began = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time") - ago;
    let folder =
        home.state().join(format!("agent-run/artifacts/run-{}-{process}", began.as_millis()));
    fs::create_dir_all(&folder).expect("folders");
    fs::write(folder.join("result_1.txt"), "text").expect("a file");
    folder
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn what_runs_kept_goes_after_a_week_and_never_that_of_a_live_one() {
    let home = Home::new(&[]);
    let (old, fresh) = (kept(&home, 8 * DAY, 1), kept(&home, 6 * DAY, 2));
    let live = kept(&home, 30 * DAY, 3);
    let lock = fs::File::create(live.join(".live")).expect("a file");
    lock.lock().expect("a lock");
    let other = home.state().join("agent-run/artifacts/mine");
    fs::create_dir_all(&other).expect("a folder");
    assert!(home.run(&["tools"]).status.success());
    assert_eq!(
        [&old, &fresh, &live, &other].map(|folder| folder.exists()),
        [false, true, true, true]
    );
    drop(lock);
    assert!(home.run(&["tools"]).status.success());
    assert!(!live.exists(), "its run is over");
}

#[test]
fn of_many_runs_the_newest_fifty_stay() {
    let home = Home::new(&[]);
    let folders: Vec<PathBuf> =
        (0..60).map(|age| kept(&home, DAY + Duration::from_secs(age), 1)).collect();
    assert!(home.run(&["tools"]).status.success());
    let left: Vec<bool> = folders.iter().map(|folder| folder.exists()).collect();
    assert_eq!(left, [[true; 50].as_slice(), &[false; 10]].concat());
}

#[test]
fn a_run_that_keeps_a_result_is_known_to_live() {
    let lines: String = (1..=200).map(|n| format!("needle number {n}\n")).collect();
    let home = Home::new(&[("a.txt", &lines), (".agent-run.toml", "result_characters = 1000\n")]);
    let mut peer = Peer::start(&home, &[]);
    peer.initialize(&home, json!({}));
    let args = json!({"pattern": "needle", "max_results": 300});
    let cut = peer.call("search_1", "search", args);
    assert!(cut["parts"].to_string().contains("artifact:result_1.txt"), "{cut}");
    let artifacts = fs::read_dir(home.state().join("agent-run/artifacts")).expect("a folder");
    let folder = artifacts.map(|entry| entry.expect("an entry").path()).next().expect("a run");
    let lock = fs::File::open(folder.join(".live")).expect("a lock");
    assert!(lock.try_lock().is_err(), "the run holds it");
    peer.end();
    assert!(lock.try_lock().is_ok(), "a run that is over holds nothing");
}
