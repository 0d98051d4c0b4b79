//! A result over the budget, and the rest of it.

use std::fs;

use serde_json::Value;

use crate::home::Home;

fn text(result: &Value) -> &str {
    result["parts"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

#[test]
fn what_was_cut_of_a_result_is_read_by_the_name_that_the_result_gives() {
    let lines: String = (1..=200).map(|n| format!("needle number {n}\n")).collect();
    let home = Home::new(&[("a.txt", &lines)]);
    let search = r#"{"pattern": "needle", "max_results": 300}"#;
    let whole = home.json(&["--json", "call", "search", search]);
    let whole: Vec<&str> = text(&whole).lines().collect();

    home.put(".agent-run.toml", "result_characters = 1000\n");
    let script = home.home.path().join("calls.jsonl");
    let calls = [
        format!(r#"{{"tool": "search", "args": {search}}}"#),
        r#"{"tool": "read", "args": {"path": "artifact:result_1.txt", "offset": 100, "limit": 20}}"#
            .to_owned(),
        r#"{"tool": "read", "args": {"path": "artifact:../../journals/lock"}}"#.to_owned(),
    ];
    fs::write(&script, calls.join("\n")).expect("a file");
    let output = home.run(&["--json", "script", &script.to_string_lossy()]).stdout;
    let output = String::from_utf8(output).expect("UTF-8");
    let [cut, read, hostile] = output
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .collect::<Vec<_>>()
        .try_into()
        .expect("three results");
    let said = text(&cut);
    assert!(said.chars().count() <= 1_000, "{said}");
    assert!(
        said.contains("all that was kept is in artifact:result_1.txt, which `read` opens"),
        "{said}"
    );
    assert!(!said.contains(whole[104]), "the middle was cut");
    let shown: Vec<&str> = text(&read)
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(_, line)| line)
        .collect();
    assert_eq!(shown, &whole[99..119]);
    assert_eq!(hostile["error"]["code"], "invalid_artifact");
}

#[test]
fn no_root_takes_the_name_of_the_artifacts() {
    let home = Home::new(&[]);
    let output = home.run(&["--workspace", ".", "--workspace", "artifact=.", "tools"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no root can be named `artifact`"), "{said}");
}
