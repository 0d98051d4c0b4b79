//! Conversations that are kept, listed and gone on with.

use std::fs;

use agent_testkit::model::Rule;
use serde_json::{Value, json};

use crate::{
    chat::{once, talking},
    home::Home,
    tmux::Terminal,
};

#[test]
fn of_two_that_go_on_with_a_conversation_neither_loses_what_is_said() {
    let (home, _server) = talking(&[], vec![Rule { times: 0, ..Rule::text("Noted.") }]);
    assert_eq!(once(&home, &["-p", "first one"]).0, Some(0));
    let Some(terminal) = Terminal::open(&home) else { return };
    let listed = home.json(&["--json", "chat", "--conversations"]);
    let id = listed["conversations"][0]["id"].as_str().expect("an id").to_owned();
    terminal.agent_run(&format!("chat --continue={id}"));
    terminal.says("from here");
    terminal.shows_times("Noted.", 2);
    let (code, _, said) = once(&home, &["--continue", "-p", "from there"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("another agent-run has this conversation open"), "{said}");
    terminal.says("from here again");
    terminal.shows_times("Noted.", 3);
    let folder = fs::read_dir(home.state().join("agent-run/conversations")).expect("a folder");
    let folder = folder.flatten().next().expect("a checkout's").path();
    let mut files: Vec<_> = fs::read_dir(folder).expect("a folder").flatten().collect();
    files.sort_by_key(fs::DirEntry::path);
    let texts: Vec<String> =
        files.iter().map(|file| fs::read_to_string(file.path()).expect("text")).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    for (text, words) in [
        (&texts[0], ["first one", "from here", "from here again"]),
        (&texts[1], ["first one", "from here", "from there"]),
    ] {
        assert!(words.iter().all(|words| text.contains(words)), "{text}");
    }
}

#[test]
fn a_conversation_is_kept_for_its_owner_and_survives_a_line_that_broke_off() {
    let (home, server) = talking(&[], vec![Rule { times: 0, ..Rule::text("Noted.") }]);
    let (code, ..) = once(&home, &["-p", "remember the blue door"]);
    assert_eq!(code, Some(0));
    let folder = fs::read_dir(home.state().join("agent-run/conversations")).expect("a folder");
    let folder = folder.flatten().next().expect("a checkout's").path();
    let file = fs::read_dir(&folder).expect("a folder").flatten().next().expect("one").path();
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let mut text = fs::read_to_string(&file).expect("text");
    text.push_str("{\"role\":\"user\",\"par");
    fs::write(&file, text).expect("a file");
    for question in ["which door?", "and again?"] {
        let (code, _, said) = once(&home, &["--continue", "-p", question]);
        assert_eq!(code, Some(0), "{said}");
    }
    let last = server.requests().pop().expect("a request");
    let said = serde_json::to_string(last.messages()).expect("JSON");
    for words in ["blue door", "which door?", "and again?"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let other = Home::new(&[]);
    other.configure(
        "[model]\nprovider = \"compatible\"\nname = \"x\"\nurl = \"http://127.0.0.1:9/v1\"\n",
    );
    let (code, _, said) = once(&other, &["--continue", "-p", "hello"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("no conversation of this working directory"), "{said}");
}

/// What a list says of each conversation: how it began, and what was said in it first.
fn listed(home: &Home) -> Vec<(String, String)> {
    let listed = home.json(&["--json", "chat", "--conversations"]);
    let listed = listed["conversations"].as_array().expect("a list").clone();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    listed.iter().map(|one| (text(&one["began"]), text(&one["first"]))).collect()
}

#[test]
fn a_terminal_goes_on_with_its_own_conversation_and_a_prompt_with_the_last() {
    let (home, server) = talking(&[], vec![Rule { times: 0, ..Rule::text("Noted.") }]);
    let (code, out, said) = once(&home, &["--conversations"]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains("there is no conversation"), "{said}");
    assert_eq!(once(&home, &["-p", "from a script"]).0, Some(0));
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat --continue");
    terminal.shows("no conversation of this working directory began at a terminal");
    terminal.shows("status 2");
    terminal.agent_run("chat");
    terminal.says("from a person");
    terminal.shows("Noted.");
    terminal.until_prompt();
    terminal.presses("C-d");
    terminal.shows("status 0");
    assert_eq!(once(&home, &["-p", "from cron"]).0, Some(0));
    let pair = |began: &str, first: &str| (began.to_owned(), first.to_owned());
    assert_eq!(
        listed(&home),
        [
            pair("prompt", "from cron"),
            pair("terminal", "from a person"),
            pair("prompt", "from a script"),
        ]
    );

    terminal.clears();
    terminal.agent_run("chat --continue");
    terminal.shows("going on after 2 messages; begun just now at a terminal");
    let screen = terminal.shows("\u{203a} from a person");
    assert!(!screen.contains("from cron"), "{screen}");
    terminal.until_prompt();
    terminal.presses("C-d");
    terminal.shows_times("status 0", 1);

    let (code, _, said) = once(&home, &["--continue", "-p", "go on"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("going on after 2 messages; begun just now"), "{said}");
    let (code, _, said) = once(&home, &["--continue=17", "-p", "go on"]);
    assert_eq!(code, Some(2), "several begin so");
    assert!(said.contains("more than one conversation"), "{said}");
    let (_, _, said) = once(&home, &["--continue=x", "-p", "go on"]);
    assert!(said.contains("no conversation of this working directory has an id"), "{said}");
    let all = home.json(&["--json", "chat", "--conversations"]);
    let oldest = all["conversations"][2]["id"].as_str().expect("an id").to_owned();
    let (code, _, said) = once(&home, &[&format!("--continue={oldest}"), "-p", "the oldest"]);
    assert_eq!(code, Some(0), "{said}");
    let last = server.requests().pop().expect("a request");
    let said = last.body.to_string();
    assert!(said.contains("from a script") && said.contains("the oldest"), "{said}");
    assert!(!said.contains("from a person"), "{said}");
    assert_eq!(listed(&home)[0].1, "from a script", "it is the last one now");
}

#[test]
fn a_call_that_was_cut_off_is_told_of_once() {
    let (home, _server) = talking(&[], vec![Rule { times: 0, ..Rule::text("Noted.") }]);
    assert_eq!(once(&home, &["-p", "makes the folder"]).0, Some(0));
    let folder = fs::read_dir(home.state().join("agent-run/conversations")).expect("a folder");
    let folder = folder.flatten().next().expect("a checkout's").path();
    let call = |id: &str| json!({"id": id, "name": "shell", "args": {"command": format!("sleep {id}")}, "tier": "exec"});
    let result = |id: &str, outcome: &str| {
        let parts = json!([{"type": "text", "text": format!("it was {outcome}")}]);
        json!({"call_id": id, "name": "shell", "outcome": outcome, "parts": parts})
    };
    // Two that the person cut off, of which one was not made, and one that the program's end cut off.
    let lines = [
        json!({"role": "user", "parts": [{"type": "text", "text": "work"}]}),
        json!({"role": "assistant", "calls": [call("1"), call("2")]}),
        json!({"role": "tool", "results": [result("1", "interrupted"), result("2", "not_started")]}),
        json!({"role": "user", "parts": [{"type": "text", "text": "again"}]}),
        json!({"role": "assistant", "calls": [call("3")]}),
    ];
    let lines = lines.map(|line| format!("{line}\n")).concat();
    fs::write(folder.join("run-1700000000000-1.jsonl"), lines).expect("a file");
    let Some(terminal) = Terminal::open(&home) else { return };
    for (cut_off, messages) in [(1, 5), (0, 6)] {
        terminal.clears();
        terminal.agent_run("chat --continue=1700000000000-1");
        terminal.shows(&format!("going on after {messages} messages"));
        terminal.until_prompt();
        let screen = terminal.screen();
        let told = screen.matches("cut off when the program ended").count();
        assert_eq!(told, cut_off, "{screen}");
        assert_eq!(screen.matches("[3] shell sleep 3: cut off").count(), cut_off, "{screen}");
        terminal.presses("C-d");
        terminal.shows("status 0");
    }
}

#[test]
fn the_list_says_how_many_conversations_there_are() {
    let (home, _server) = talking(&[], vec![Rule { times: 0, ..Rule::text("Hello.") }]);
    once(&home, &["-p", "hello"]);
    let kept = home.state().join("agent-run/conversations");
    let folder =
        fs::read_dir(kept).expect("a folder").flatten().next().expect("a checkout's").path();
    let first = fs::read_dir(&folder).expect("a folder").flatten().next().expect("a file").path();
    for number in 0..51 {
        let name = format!("run-{}-0.prompt.jsonl", 1_000_000 + number);
        fs::copy(&first, folder.join(name)).expect("a copy");
    }
    let (_, out, said) = once(&home, &["--conversations"]);
    assert_eq!(out.lines().count(), 50, "{out}");
    assert!(said.contains("50 of 52 conversations") && said.contains("--all"), "{said}");
    let list = |args: &[&str]| home.json(&[&["--json", "chat", "--conversations"], args].concat());
    let listed = list(&[]);
    assert_eq!((&listed["shown"], &listed["there_are"]), (&json!(50), &json!(52)));
    let listed = list(&["--all"]);
    assert_eq!((&listed["shown"], &listed["there_are"]), (&json!(52), &json!(52)));
}
