//! What a person is told of a conversation: which one it is, what it used, what became of what was cut off.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use agent_testkit::model::{Rule, Usage};
use serde_json::{Value, json};

use crate::{
    cards::{done, write},
    chat::{once, talking, when},
    tmux::Terminal,
};

// spec: VIBE-05
#[test]
fn what_a_signal_ends_says_what_was_refused_and_which_workers_it_killed() {
    let never = tempfile::tempdir().expect("a folder").path().join("never");
    let hangs = || Rule { until_file: Some(never.clone()), ..Rule::text("late") };
    let spawn = json!({"brief": "count the pears", "label": "pears", "tier": "fast"});
    let (home, server) = talking(
        &[],
        vec![
            when("count the pears", hangs()),
            when(
                "begin",
                Rule::call("write", json!({"path": "b.txt", "content": "new"}))
                    .and_call("vibe_spawn", spawn),
            ),
            Rule { times: 0, ..hangs() },
        ],
    );
    let model =
        format!("provider = \"compatible\"\nname = \"scripted\"\nurl = \"{}/v1\"\n", server.url());
    home.configure(&format!("[model]\n{model}\n[worker.fast]\n{model}"));
    let mut command = home.command(&["--vibe", "chat", "-p", "begin", "--output", "json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    // The agent's second request and the worker's.
    while server.requests().len() < 3 {
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    let kill = Command::new("kill").args(["-TERM", &id]).status();
    assert!(kill.expect("it runs").success());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(143));
    let object: Value = serde_json::from_slice(&ended.stdout).expect("one object");
    assert_eq!((&object["end"], &object["ok"]), (&json!("cancelled"), &json!(false)));
    let refused = &object["refused"];
    assert_eq!(refused.as_array().map(Vec::len), Some(1), "{refused}");
    assert_eq!(
        (&refused[0]["tool"], &refused[0]["code"]),
        (&json!("write"), &json!("no_approver"))
    );
    let worker = json!({"id": "w1", "label": "pears", "status": "killed", "killed_at_end": true});
    assert_eq!(object["workers"], json!([worker]));
}

#[test]
fn a_copy_of_a_conversation_is_listed_as_one() {
    let (home, _server) = talking(&[], vec![Rule { times: 0, ..Rule::text("Noted.") }]);
    assert_eq!(once(&home, &["-p", "first one"]).0, Some(0));
    let list = || -> Vec<(String, Option<String>)> {
        let listed = home.json(&["--json", "chat", "--conversations"]);
        let all = listed["conversations"].as_array().expect("a list").iter();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        all.map(|one| (text(&one["id"]).expect("an id"), text(&one["copy_of"]))).collect()
    };
    let first = list()[0].0.clone();
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run(&format!("chat --continue={first}"));
    terminal.shows("going on after 2 messages");
    assert_eq!(once(&home, &["--continue", "-p", "from there"]).0, Some(0));
    let listed = list();
    let copy = listed.iter().find(|(id, _)| *id != first).expect("a copy").clone();
    assert_eq!(copy.1.as_ref(), Some(&first));
    assert!(listed.contains(&(first.clone(), None)), "{listed:?}");
    // After it was gone on with it is the same copy.
    assert_eq!(once(&home, &[&format!("--continue={}", copy.0), "-p", "and on"]).0, Some(0));
    assert!(list().contains(&copy), "{:?}", list());
    let (_, out, _) = once(&home, &["--conversations"]);
    assert!(out.contains(&format!(", 6 messages, a copy of {first}: first one\n")), "{out}");
    assert!(out.contains(", 2 messages: first one\n"), "{out}");
}

#[test]
fn the_cost_counts_requests_that_were_cut_off() {
    let counted = Rule {
        usage: Some(Usage { input: 10, output: 2, cached: None }),
        times: 0,
        ..Rule::text("All is said.")
    };
    let slow = Rule { pace_ms: 50, text: vec!["word ".to_owned(); 400], ..Rule::default() };
    let (home, _server) = talking(&[], vec![when("slow", slow), counted]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("once");
    terminal.shows("All is said.");
    terminal.says("/cost");
    terminal.shows("scripted: 1 answer, 10 tokens read, 2 written");
    terminal.says("slow");
    terminal.shows("word word");
    terminal.presses("C-c");
    terminal.shows("cancelled");
    terminal.says("/cost");
    terminal.shows("scripted: 2 answers, at least 10 tokens read, at least 2 written");
}

#[test]
fn a_loop_of_the_model_is_said_once() {
    let search = || Rule { times: 0, ..Rule::call("search", json!({"pattern": "pear"})) };
    let (home, _server) = talking(&[("a.txt", "apple\n")], vec![search()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("look");
    let screen = terminal.shows("stopped: search was called 8 times");
    assert_eq!(screen.matches("with the same result; the model is told").count(), 1, "{screen}");
    assert!(screen.contains("search came 3 times"), "{screen}");
}

/// The clock of a call counts its tool's work, and not how long somebody thought about its card.
#[test]
fn the_time_at_a_card_is_not_the_calls() {
    let (home, _server) = talking(&[], vec![when("change", write("one.txt")), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("change");
    // A card takes no key before that.
    terminal.until_card();
    thread::sleep(Duration::from_millis(1_100));
    let answered = Instant::now();
    terminal.types("y");
    let screen = terminal.shows("All is said.");
    let since = answered.elapsed().as_secs_f64();
    let end = screen.lines().find(|line| line.starts_with("[1] write: ")).expect("an end");
    let took = end.rsplit_once(", ").and_then(|(_, took)| took.strip_suffix(" s"));
    let took: f64 = took.and_then(|took| took.parse().ok()).expect(end);
    assert!(took <= since + 0.1, "{end} of {since} s");
}
