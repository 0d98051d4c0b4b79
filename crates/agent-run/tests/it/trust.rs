//! Whose code may run: asked once at a terminal, remembered for one content of the configuration.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::{home::Home, peer::Peer, tmux::Terminal};

const READ: &str = r#"call read '{"path":"a.txt"}'"#;
const CARD: &str = "Trust this checkout?";

fn checkout() -> Home {
    Home::new(&[
        (".agent-run.toml", "exclude = [\"one\"]\napprove = \"all\"\n"),
        ("a.txt", "text\n"),
    ])
}

fn trust(home: &Home) -> (bool, String) {
    let report = home.json(&["--json", "doctor"]);
    let said = report["trust_said_by"].as_str().expect("words").to_owned();
    (report["trusted"].as_bool().expect("a word"), said)
}

// spec: TRUST-01
#[test]
fn a_card_at_the_terminal_is_remembered_until_the_configuration_changes() {
    let home = checkout();
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run(READ);
    let screen = terminal.shows(CARD);
    let root = fs::canonicalize(home.checkout.path()).expect("a folder");
    for words in
        [&*root.to_string_lossy(), "exclude = [\"one\"]", "1 trust it", "3 do not trust it"]
    {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    // A question is not answered by the words of a permission.
    terminal.types("y");
    terminal.types("1");
    terminal.shows("status 0");
    assert_eq!(trust(&home), (true, "you said so on a card".to_owned()));
    let folder = home.state().join("agent-run/trust");
    let entries: Vec<_> = fs::read_dir(&folder).expect("a folder").flatten().collect();
    assert_eq!(entries.len(), 1);
    let mode = entries[0].metadata().expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    terminal.clears();
    terminal.agent_run(READ);
    let screen = terminal.shows("status 0");
    assert!(!screen.contains(CARD), "asked again:\n{screen}");

    // Trusted or not, it only narrows.
    let refused = home.json(&["--json", "call", "write", r#"{"path":"b","content":"c"}"#]);
    assert_eq!(refused["error"]["code"], "no_approver");

    home.put(".agent-run.toml", "exclude = [\"two\"]\n");
    let (trusted, said) = trust(&home);
    assert!(!trusted && said.contains("changed since you were asked"), "{said}");
    terminal.clears();
    terminal.agent_run(READ);
    terminal.shows("which changed since you were asked");
    terminal.types("3");
    terminal.shows("status 0");
    let (trusted, said) = trust(&home);
    assert!(!trusted && said.contains("you said on a card that it is not"), "{said}");

    // The answer was for this checkout: a copy of it is another one.
    let copy = Home::new(&[(".agent-run.toml", "exclude = [\"two\"]\n")]);
    let mut doctor = copy.command(&["--json", "doctor"]);
    let output = doctor.env("XDG_STATE_HOME", home.state()).output().expect("it starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report["trust_said_by"].to_string().contains("nobody said"), "{report}");
}

// spec: TRUST-01
#[test]
fn not_now_leaves_it_untrusted_and_asks_again() {
    let home = checkout();
    let Some(terminal) = Terminal::open(&home) else { return };
    for answer in ["2", "s", "n"] {
        terminal.agent_run(READ);
        let screen = terminal.shows(CARD);
        assert!(screen.contains("┌ agent-run itself asks you\n"), "{screen}");
        terminal.types(answer);
        terminal.shows("status 0");
        assert!(terminal.screen().contains("this checkout is not trusted: nobody said"));
        assert!(!trust(&home).0);
        terminal.clears();
    }
}

// spec: TRUST-01
#[test]
fn with_nobody_to_ask_it_stays_untrusted_and_says_so() {
    let home = checkout();
    let output = home.run(&["call", "read", r#"{"path":"a.txt"}"#]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success());
    assert!(said.contains("this checkout is not trusted: nobody said that"), "{said}");
    assert!(said.contains("--trust, AGENT_RUN_TRUST=1"), "what would change it is said: {said}");
    assert!(!home.state().join("agent-run/trust").exists());

    let plain = Home::new(&[("a.txt", "text\n")]);
    let output = plain.run(&["call", "read", r#"{"path":"a.txt"}"#]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "nothing there asks to be trusted");
}

// spec: TRUST-01
#[test]
fn an_entry_for_another_checkout_or_of_no_sense_trusts_nothing() {
    let home = checkout();
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run(READ);
    terminal.shows(CARD);
    terminal.types("y");
    terminal.shows("status 0");
    let folder = home.state().join("agent-run/trust");
    let entry = fs::read_dir(folder).expect("a folder").flatten().next().expect("an entry").path();
    let kept = fs::read_to_string(&entry).expect("a file");
    for changed in [kept.replace("file:///", "file:///other/"), "{".to_owned(), String::new()] {
        fs::write(&entry, changed).expect("a file");
        assert!(!trust(&home).0);
    }
    fs::write(&entry, kept).expect("a file");
    assert!(trust(&home).0);
}

// spec: TRUST-01
#[test]
fn a_host_that_says_no_is_not_overruled_by_the_environment() {
    let home = checkout();
    let trusted = |more: Value, environment: &str| {
        let mut peer = Peer::start_with(&home, &[], &[("AGENT_RUN_TRUST", environment)]);
        let opened = peer.initialize(&home, more);
        assert!(peer.end().0.success());
        opened["capabilities"]["trust"].clone()
    };
    assert_eq!(trusted(json!({}), "0"), false);
    assert_eq!(trusted(json!({"trust": true}), "0"), true);
    assert_eq!(trusted(json!({}), "1"), true);
    assert_eq!(trusted(json!({"trust": false}), "1"), false);
}
