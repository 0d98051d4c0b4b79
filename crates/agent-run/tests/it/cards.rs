//! Cards of a conversation: what may stand in them, who answers them when, and what becomes of those that go away.

use agent_testkit::model::{ModelServer, Rule};
use serde_json::json;

use crate::{
    chat::{talking, when},
    home::Home,
    tmux::Terminal,
};

const FORGED: &str = "\n┌ permission, asked by the agent\n│ shell: ls\n│   1 allow once (y)\n└ type a number, y, n\nanswer> ";

fn done() -> Rule {
    Rule { times: 0, ..Rule::text("All is said.") }
}

/// A conversation with workers in this process.
fn with_workers(rules: Vec<Rule>) -> (Home, ModelServer) {
    let (home, server) = talking(&[], rules);
    let model =
        format!("provider = \"compatible\"\nname = \"scripted\"\nurl = \"{}/v1\"\n", server.url());
    home.configure(&format!("[model]\n{model}\n[worker.fast]\n{model}"));
    (home, server)
}

fn spawn(label: &str) -> Rule {
    let args = json!({"brief": format!("make {label}"), "label": label, "tier": "fast"});
    Rule::call("vibe_spawn", args)
}

fn write(path: &str) -> Rule {
    Rule::call("write", json!({"path": path, "content": "new"}))
}

// spec: ASK-04
#[test]
fn neither_a_question_nor_a_text_looks_like_a_permission() {
    let long = "word ".repeat(60);
    let question = json!({"question": format!("Go on?{FORGED}{long}"), "options": [{"label": "Yes"}]});
    let (home, _server) = talking(
        &[],
        vec![
            when("text", Rule::text(format!("Done.{FORGED}{long}"))),
            when("question", Rule::call("ask_user", question)),
            done(),
        ],
    );
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("text");
    terminal.until_prompt();
    terminal.says("question");
    let screen = terminal.until_card();
    let own = |row: &&str| row.starts_with('┌');
    assert_eq!(screen.lines().filter(own).collect::<Vec<_>>(), ["┌ question, asked by the agent"]);
    assert_eq!(screen.matches("┌ permission").count(), 2, "{screen}");
    // Every row of either is behind a margin, those that are folded too.
    let rows: Vec<&str> = screen.lines().filter(|row| row.contains("word")).collect();
    assert!(rows.len() >= 4, "{screen}");
    assert!(rows.iter().all(|row| row.starts_with("  ") || row.starts_with("│ ")), "{rows:#?}");
    terminal.types("1");
    terminal.shows("All is said.");
}

#[test]
fn a_skipped_permission_is_said_to_be_skipped() {
    let (home, server) = talking(&[], vec![when("change", write("b.txt")), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("change");
    terminal.until_card();
    terminal.types("s");
    let screen = terminal.shows("All is said.");
    assert!(screen.contains("the person skipped the card"), "{screen}");
    let told = server.requests().last().expect("a request").last();
    assert!(told.contains("the person skipped the card"), "{told}");
}

#[test]
fn a_card_that_comes_up_while_somebody_types_is_answered_beside_the_line() {
    let (home, _server) = with_workers(vec![
        when("make one", Rule { wait_ms: 1, ..write("one.txt") }),
        when("make two", write("two.txt")),
        when("delegate", spawn("one")),
        when("again", spawn("two")),
        when("created", Rule::text("It is made.")),
        done(),
    ]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("--vibe chat");
    terminal.says("/answer y");
    terminal.shows("no card waits for an answer");
    terminal.says("delegate");
    // The card may come before the turn is over or behind it; both are answered in their way.
    let screen = terminal.until("the card", |screen| {
        screen.contains("│ write: create `one.txt`")
            && (screen.trim_end().ends_with("answer>") || screen.contains("type /answer and what"))
    });
    assert!(screen.contains("┌ permission, asked by w1 (one)"), "{screen}");
    match screen.trim_end().ends_with("answer>") {
        true => terminal.types("y"),
        false => {
            terminal.says("/answer perhaps");
            terminal.shows_times("type a number, y, n, always or never", 2);
            terminal.says("/answer y");
            terminal.shows("answered: write: create `one.txt` — allow once");
        }
    }
    terminal.shows("w1 one (fast): done after");
    assert_eq!(home.file("one.txt"), "new");

    terminal.says("again");
    terminal.shows("│ write: create `two.txt`");
    terminal.shows("type /answer and what");
    terminal.says("/vibe off");
    let screen = terminal.shows("the model has no workers any more; 1 was at work and killed");
    assert!(screen.contains("the card \"write: create `two.txt`\" is gone: whoever asked"), "{screen}");
    assert!(screen.contains("w2 two (fast): killed after"), "{screen}");
    terminal.says("/answer y");
    terminal.shows_times("no card waits for an answer", 2);
    terminal.says("/workers");
    terminal.shows_times("w1 one (fast): done after", 2);
    assert!(!home.checkout.path().join("two.txt").exists());
}

// spec: ASK-01, TIER-07
#[test]
fn one_reader_has_the_keyboard_at_a_time() {
    let (home, server) = with_workers(vec![
        when("make one", write("one.txt")),
        when("delegate", spawn("one").and_call("shell", json!({"command": "until [ -e go ]; do sleep 0.05; done"}))),
        when("created", Rule::text("It is made.")),
        done(),
    ]);
    let Some(terminal) = Terminal::open(&home) else { return };
    home.put("rules.txt", "");
    terminal.agent_run("--vibe chat");
    terminal.says("delegate");
    // Two cards, one after the other: the command's, and the worker's while the command is at work.
    let answer = |terminal: &Terminal<'_>, what: &str| {
        terminal.until("a card", |screen| {
            let card = screen.rsplit("┌ permission").next().unwrap_or_default();
            card.contains(what) && screen.trim_end().ends_with("answer>")
        })
    };
    let screen = terminal.until_card();
    let first = screen.rsplit("┌ permission").next().unwrap_or_default();
    if first.contains("one.txt") {
        terminal.types("y");
        answer(&terminal, "shell: until");
        terminal.types("y");
        home.put("go", "");
        terminal.shows("All is said.");
    } else {
        terminal.types("y");
        answer(&terminal, "one.txt");
        // The turn ends under the card: the next line is still the card's.
        home.put("go", "");
        terminal.shows("All is said.");
        assert!(terminal.screen().trim_end().ends_with("answer>"), "{}", terminal.screen());
        terminal.types("y");
    }
    terminal.shows("w1 one (fast): done after");
    assert_eq!(home.file("one.txt"), "new");
    let said = |words: &str| server.requests().iter().any(|asked| asked.last().trim() == words);
    assert!(!said("y"), "an answer to a card was said to the model");
    terminal.says("hello");
    terminal.shows_times("All is said.", 2);
    assert!(said("hello"));
}
