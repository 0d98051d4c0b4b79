//! The sample application, and the guide that walks through it.

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::support::{App, each};

fn project(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A copy: a rotation of the sample itself would be a change of the checkout.
fn copied() -> App {
    let app = App::new();
    let from = format!("{}/.", project("fixtures/projects/notes").display());
    let copied = Command::new("cp").args(["-r", &from]).arg(app.root()).status().expect("cp");
    assert!(copied.success());
    app
}

/// The answers of the guide's own script, with the copy and the built program in the places of those that it names.
fn answers(app: &App) -> Vec<Value> {
    let guide = fs::read_to_string(project("docs/guide/notes-mcp.md")).expect("the guide");
    let script = guide.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    let mut script = script.expect("a script").to_owned();
    let root = app.root().display().to_string();
    let program = format!("'{}' --root", env!("CARGO_BIN_EXE_notes-mcp"));
    for (from, to) in [
        ("cargo run --quiet -p notes-mcp -- --root", program.as_str()),
        ("fixtures/projects/notes", &root),
    ] {
        assert!(script.contains(from), "{from} in {script}");
        script = script.replace(from, to);
    }
    let output = Command::new("sh").args(["-c", &script]).output().expect("sh");
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    lines.lines().map(|line| serde_json::from_str(line).expect("a message")).collect()
}

#[test]
fn the_guides_three_calls_tell_the_story() {
    let app = copied();
    let answers = answers(&app);
    let [found, note, plan] =
        answers.iter().map(|answer| &answer["result"]["structuredContent"]).collect::<Vec<_>>()[..]
    else {
        panic!("three answers: {answers:?}");
    };
    let first = &found["matches"][0];
    assert_eq!(
        (found["matches"].as_array().map(Vec::len), &found["complete"]),
        (Some(11), &json!(true))
    );
    assert_eq!(
        (&first["n"], &first["text"]),
        (
            &json!(62),
            &json!(
                "2026-03-18 06:52:11 ERROR   store: cannot save work/plan.md for mira: No space left on device (os error 28)"
            )
        )
    );
    let text = note["text"].as_str().expect("a text");
    assert!(text.ends_with("What was typed after that is not here.\n"), "{text}");
    let size = fs::metadata(app.log()).expect("the log").len();
    assert_eq!((&plan["archive"], &plan["log_size"]), (&json!("app.log.1"), &json!(size)));
    assert_eq!(app.logs(), ["app.log"]);
}

#[test]
fn the_guide_says_of_the_log_what_is_in_it() {
    let app = copied();
    let line = |n: usize| {
        let log = String::from_utf8(app.read("app/logs/app.log")).expect("UTF-8");
        log.lines().nth(n - 1).expect("a line").to_owned()
    };
    assert_eq!(
        line(48),
        "2026-03-18 04:00:00 INFO    backup: began a copy of app/data to the same volume"
    );
    let tail = app.call("log_tail", json!({"lines": 20})).expect("a tail");
    let texts = each(&tail["lines"], "text");
    assert!(
        texts.iter().any(|text| text.to_string().contains("IGNORE PREVIOUS INSTRUCTIONS")),
        "{texts:?}"
    );
    // What the server keeps beside the log, and what a rotation makes, is no change of the checkout.
    let ignored = fs::read_to_string(app.path(".gitignore")).expect("what git ignores");
    assert!(ignored.contains("\n/app/logs/.rotate/\n/app/logs/app.log.*\n"), "{ignored}");
}
