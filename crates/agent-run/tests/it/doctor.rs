//! `doctor` says what is there, what is missing, and what to do about it.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
};

use serde_json::{Value, json};

use crate::home::Home;

fn problems(report: &Value) -> Vec<&str> {
    report["problems"].as_array().expect("a list").iter().filter_map(Value::as_str).collect()
}

fn layer<'a>(report: &'a Value, name: &str) -> &'a Value {
    let layers = report["configuration"].as_array().expect("a list");
    layers.iter().find(|layer| layer["name"] == name).unwrap_or_else(|| panic!("{name}: {report}"))
}

#[test]
fn a_checkout_that_can_be_worked_in_is_usable_and_all_is_said() {
    let home = Home::new(&[(".agent-run.toml", "exclude = [\"vendor\"]\n")]);
    let mut command = home.command(&["--json", "--surface", "full", "doctor"]);
    let output = command.env("AGENT_RUN_APPROVE", "none").output().expect("it starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &report["usable"]), (Some(0), &json!(true)), "{report}");
    let groups: Vec<_> = report["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .map(|group| (&group["name"], &group["tools"]))
        .collect();
    assert_eq!(
        groups,
        [
            (&json!("files"), &json!(["read", "write", "edit", "apply_patch", "search"])),
            (&json!("structure"), &json!(["ast_grep", "ast_edit", "resolve"])),
            (&json!("servers"), &json!(["lsp", "lsp_rename"])),
            (&json!("debuggers"), &json!(["debug"])),
            (&json!("interpreters"), &json!(["eval"])),
            (&json!("shell"), &json!(["shell"])),
            (&json!("mcp"), &json!([])),
            (&json!("model"), &json!([])),
            (&json!("workers"), &json!([])),
        ]
    );
    let structure = &report["groups"][1];
    let has = structure["has"].as_array().expect("languages");
    assert!(has.contains(&json!("dart")));
    let full = has.contains(&json!("zig"));
    assert_eq!(structure["missing"].as_array().map(Vec::len), Some(usize::from(!full)));
    if !full {
        let how = structure["missing"][0]["how"].to_string();
        assert!(how.contains("--features all-langs"), "{how}");
    }
    assert_eq!(report["terminal"]["present"], false);
    assert_eq!(report["state"], json!({"path": home.state().join("agent-run"), "writable": true}));
    let root = fs::canonicalize(home.checkout.path()).expect("a folder");
    assert_eq!(layer(&report, "checkout")["path"], json!(root.join(".agent-run.toml")));
    assert_eq!(layer(&report, "checkout")["sets"], json!(["exclude"]));
    assert_eq!(layer(&report, "person")["sets"], Value::Null, "there is no file");
    assert_eq!(layer(&report, "environment")["sets"], json!(["AGENT_RUN_APPROVE"]));
    assert_eq!(layer(&report, "flags")["sets"], json!(["--surface"]));
}

#[test]
fn the_same_is_said_in_words() {
    let home = Home::new(&[]);
    let output = home.run(&["--surface", "plan", "doctor"]);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{said}");
    for words in [
        "files          read, search\n",
        "structure      ast_grep\n",
        "               needs nothing that is not built in\n",
        "               built in: bash, c, ",
        "servers        lsp\n",
        "shell          none on this surface\n",
        "               commands run: on this machine, as the person who started it\n",
        "programs       none is needed but those above\n",
        "terminal       none; nobody is asked",
        "trust          not trusted: nobody said",
        "surface        plan\n",
        ".agent-run.toml: no file\n",
        "usable (agent-run ",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
}

#[test]
fn where_commands_run_is_said() {
    let home = Home::new(&[]);
    let report = home.json(&["--json", "--sandbox", "env A=b", "doctor"]);
    let groups = report["groups"].as_array().expect("groups");
    let shell = groups.iter().find(|group| group["name"] == "shell").expect("a group");
    assert_eq!(shell["has"], json!(["in the sandbox env"]));
}

/// A list of what was tried stands below its name as everything else of it does.
#[test]
fn what_has_lines_of_its_own_is_set_in_whole() {
    let home = Home::new(&[]);
    let folder = home.home.path().join("bin");
    fs::create_dir(&folder).expect("a folder");
    for name in ["python3", "python"] {
        let program = folder.join(name);
        fs::write(&program, "#!/bin/sh\nexit 1\n").expect("a program");
        fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("a mode");
    }
    let mut command = home.command(&["doctor"]);
    let output = command.env("PATH", &folder).output().expect("it starts");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    let bare: Vec<&str> = said.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(bare, [""; 0], "{said}");
    assert!(said.contains("\n               - "), "{said}");
}

#[test]
fn what_is_in_the_way_is_a_problem_with_what_to_do() {
    let home = Home::new(&[]);
    let doctor = |home: &Home| {
        let output = home.run(&["--json", "doctor"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), report)
    };

    home.configure("surface = \"half\"\n");
    let (code, report) = doctor(&home);
    assert_eq!(code, Some(1));
    assert!(problems(&report)[0].contains("config.toml"), "{report}");
    let said = String::from_utf8(home.run(&["doctor"]).stdout).expect("UTF-8");
    let trust = "trust          not trusted: the configuration could not be read\n";
    assert!(said.contains(trust), "{said}");
    home.configure("");
    assert_eq!(doctor(&home).0, Some(0));

    fs::remove_dir_all(home.state()).expect("the state");
    fs::write(home.state(), "a file").expect("a file");
    let (code, report) = doctor(&home);
    assert_eq!((code, &report["usable"]), (Some(1), &json!(false)));
    assert!(problems(&report)[0].contains("cannot create the state folder"), "{report}");
}

#[test]
fn a_journal_that_blocks_is_said_with_its_path_and_what_to_do() {
    let home = Home::new(&[]);
    assert_eq!(home.run(&["doctor"]).status.code(), Some(0));
    let journal: PathBuf = home.state().join("agent-run/journals/abc");
    fs::create_dir_all(&journal).expect("folders");
    fs::write(journal.join("journal.json"), "half").expect("a file");

    let output = home.run(&["--json", "doctor"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(1));
    let found = &report["interrupted_changes"][0];
    assert_eq!((&found["journal"], &found["blocks"]), (&json!(journal), &json!(true)));
    let said = problems(&report)[0];
    assert!(said.contains("cannot be read") && said.contains("move the journal away"), "{said}");

    let write = home.run(&["--approve", "all", "call", "write", r#"{"path":"a","content":"b"}"#]);
    let said = String::from_utf8_lossy(&write.stderr);
    assert!(
        said.contains(&format!(
            "of an earlier run: a change was cut off, and its journal `{}`",
            journal.display()
        )),
        "{said}"
    );
    assert!(said.contains("unfinished_change:"), "{said}");
}

/// Names and variables are said, keys never.
// spec: TRUST-04
#[test]
fn models_and_workers_are_listed_with_the_variables_of_their_keys() {
    let home = Home::new(&[]);
    home.configure(
        "[model]\nname = \"m1\"\nkey = \"MY_MODEL_KEY\"\n\n[worker.fast]\ncommand = \"sh -c true\"\n\n\
         [worker.good]\nprovider = \"openai\"\nname = \"m2\"\nkey = \"MY_UNSET_KEY\"\n",
    );
    let group = |args: &[&str], name: &str| {
        let mut command = home.command(args);
        command.env("MY_MODEL_KEY", "sk-hidden-0123456789").env_remove("MY_UNSET_KEY");
        let output = command.output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!text.contains("sk-hidden"), "{text}");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let groups = report["groups"].as_array().expect("groups");
        let found = groups.iter().find(|group| group["name"] == name).expect("a group");
        (found["has"].clone(), found["missing"].clone())
    };
    let doctor = ["--json", "doctor"];
    assert_eq!(
        group(&doctor, "model"),
        (json!(["anthropic m1, its key in MY_MODEL_KEY"]), json!([]))
    );
    let missing =
        json!([{"what": ["the key of good: openai m2"], "how": "MY_UNSET_KEY is not set"}]);
    assert_eq!(group(&doctor, "workers"), (json!(["fast: command sh -c true"]), missing));
    let flag = ["--json", "--worker", "good=no-such-agent-here {brief}", "doctor"];
    let how = group(&flag, "workers").1[0]["how"].to_string();
    assert!(how.contains("no-such-agent-here was not found"), "{how}");
    let nothing = Home::new(&[]).json(&doctor);
    let groups = nothing["groups"].as_array().expect("groups");
    let whats: Vec<_> =
        groups[6..].iter().flat_map(|group| group["missing"].as_array().expect("a list")).collect();
    let whats: Vec<_> = whats.iter().map(|missing| &missing["what"][0]).collect();
    assert_eq!(whats, ["a model", "fast", "good"]);
}
