//! What is typed in one burst, and where a card is that goes away: nothing of it is lost, and nothing answers another card.

use agent_testkit::model::{ModelServer, Rule};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    cards::{delegate, delegating, done, kill, lets, spawn, with_workers, write},
    chat::{talking, when},
    home::Home,
    tmux::Terminal,
};

/// These lines in one piece, each with its Enter.
fn burst(terminal: &Terminal, lines: &[&str]) {
    let keys = lines.iter().flat_map(|line| [*line, "Enter"]);
    terminal.tmux(&["send-keys"].into_iter().chain(keys).collect::<Vec<_>>());
}

/// A model that spawns two workers, which ask to write `one.txt` once `one` is let and `two.txt` once `two` is. It kills the first once
/// `kill` is let, and ends its turn once `end` is.
fn with_two_workers(gate: &TempDir) -> (Home, ModelServer) {
    let file = |name: &str| Some(gate.path().join(name));
    let two = json!({"brief": "make two", "label": "two", "tier": "fast"});
    with_workers(vec![
        when("make one", Rule { until_file: file("one"), ..write("one.txt") }),
        when("make two", Rule { until_file: file("two"), ..write("two.txt") }),
        when("delegate", spawn("one").and_call("vibe_spawn", two)),
        when("is running", Rule { until_file: file("kill"), ..kill() }),
        when("killed", Rule { until_file: file("end"), ..Rule::text("All is said.") }),
        done(),
    ])
}

#[test]
fn lines_of_one_burst_are_said_one_after_the_other() {
    let (home, server) = talking(&[], vec![done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.until_prompt();
    burst(&terminal, &["uno", "dos", "tres"]);
    terminal.shows_times("All is said.", 3);
    terminal.until_prompt();
    let said: Vec<_> = server.requests().iter().map(|request| request.last().to_owned()).collect();
    assert_eq!(said, ["uno", "dos", "tres"]);
}

// spec: ASK-03
#[test]
fn what_stands_behind_a_line_in_its_burst_answers_no_card() {
    let (home, server) = talking(&[], vec![when("change", write("one.txt")), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.until_prompt();
    burst(&terminal, &["change", "y"]);
    terminal.until_card();
    assert!(!home.checkout.path().join("one.txt").exists());
    // Nor does what stands behind an answer.
    burst(&terminal, &["n", "y"]);
    terminal.shows_times("All is said.", 2);
    terminal.until_prompt();
    assert!(!home.checkout.path().join("one.txt").exists());
    assert_eq!(server.requests().last().expect("a request").last(), "y");
}

#[test]
fn nothing_of_a_burst_is_said_unasked_after_an_interruption() {
    let gate = tempfile::tempdir().expect("a folder");
    let hangs = Rule { until_file: Some(gate.path().join("end")), ..Rule::text("late") };
    let (home, server) = talking(&[], vec![when("begin", hangs), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.until_prompt();
    burst(&terminal, &["begin", "dos", "tres"]);
    terminal.until("the request", |_| server.requests().len() == 1);
    terminal.presses("C-c");
    terminal.until("both lines", |screen| screen.trim_end().ends_with("\u{203a} dos\ntres"));
    assert_eq!(server.requests().len(), 1);
    lets(&gate, "end");
    terminal.presses("Enter");
    // The words of the first line are in the next request too.
    terminal.shows("late");
    let said = server.requests().last().expect("a request").last().to_owned();
    assert!(said.ends_with("dos\ntres"), "{said}");
}

#[test]
fn the_prompt_of_a_card_that_is_gone_is_the_conversations() {
    let gate = tempfile::tempdir().expect("a folder");
    let (home, server) = delegating(&gate, kill());
    let Some(terminal) = Terminal::open(&home) else { return };
    delegate(&terminal);
    lets(&gate, "worker");
    terminal.until_card();
    lets(&gate, "agent");
    terminal.shows("the card \"write: create `one.txt`\" is gone");
    terminal.until_prompt();
    terminal.types("go on");
    // That the worker was killed may be said before.
    terminal.until("the request", |_| {
        server.requests().last().is_some_and(|request| request.last() == "go on")
    });
    assert!(!home.checkout.path().join("one.txt").exists());
}

// spec: VIBE-06
#[test]
fn the_next_card_is_answered_where_the_one_before_it_went_away() {
    let gate = tempfile::tempdir().expect("a folder");
    let (home, _server) = with_two_workers(&gate);
    let Some(terminal) = Terminal::open(&home) else { return };
    delegate(&terminal);
    terminal.shows("[2] vibe_spawn: ");
    lets(&gate, "one");
    terminal.until_card();
    lets(&gate, "kill");
    terminal.shows("the card \"write: create `one.txt`\" is gone");
    lets(&gate, "two");
    terminal.shows("create `two.txt`");
    terminal.until_card();
    terminal.types("y");
    terminal.until_file(&home.checkout.path().join("two.txt"), |bytes| bytes == b"new");
    assert!(!home.checkout.path().join("one.txt").exists());
    lets(&gate, "end");
}

#[test]
fn at_a_workers_card_it_is_seen_what_the_worker_is_for() {
    let gate = tempfile::tempdir().expect("a folder");
    let (home, server) = delegating(&gate, Rule::text("All is said."));
    let Some(terminal) = Terminal::open(&home) else { return };
    delegate(&terminal);
    terminal.begins("and the");
    terminal.shows("and the");
    lets(&gate, "worker");
    let screen = terminal.shows("what you type is no answer to this card");
    let head = "asked by w1 (\"one\")\n│ its brief: \"make one\"\n";
    assert!(screen.contains(head), "{screen}");
    terminal.types("n");
    terminal.shows("\"and then\" answers nothing here and is said next");
    terminal.until_card();
    terminal.types("/workers");
    terminal.shows("the card above waits for an answer");
    terminal.shows("│ waits for an answer to its card: write path=one.txt");
    terminal.until_card();
    terminal.types("y");
    terminal.until_file(&home.checkout.path().join("one.txt"), |bytes| bytes == b"new");
    lets(&gate, "agent");
    let is_said = |_: &str| server.requests().iter().any(|request| request.last() == "and then");
    terminal.until("the line that was typed ahead", is_said);
    assert_eq!(terminal.screen().matches("is said next").count(), 1, "{}", terminal.screen());
}

#[test]
fn ctrl_d_while_the_model_works_says_what_it_does() {
    let gate = tempfile::tempdir().expect("a folder");
    let waits = Rule { until_file: Some(gate.path().join("end")), ..done() };
    let (home, _server) = talking(&[], vec![waits]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("begin");
    terminal.shows("the model thinks");
    terminal.presses("C-d");
    terminal.shows("Ctrl-D leaves at the prompt");
    lets(&gate, "end");
    terminal.shows("All is said.");
    terminal.until_prompt();
    terminal.presses("C-d");
    terminal.shows("status 0");
}

#[test]
fn a_card_is_shown_again_where_the_terminal_gets_another_width() {
    let (home, _server) = talking(&[], vec![when("change", write("one.txt")), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("change");
    terminal.until_card();
    terminal.tmux(&["resize-window", "-x", "40"]);
    terminal.shows_times("\u{250c} permission", 2);
    let screen = terminal.until_card();
    let card = screen.rsplit('\u{250c}').next().expect("a card");
    assert!(card.lines().all(|row| row.chars().count() <= 40), "{card}");
    terminal.types("n");
    terminal.shows("All is said.");
    assert!(!home.checkout.path().join("one.txt").exists());
}

// spec: ASK-03, VIBE-06
#[test]
fn a_line_that_was_begun_at_one_card_does_not_answer_the_next_one() {
    let gate = tempfile::tempdir().expect("a folder");
    let (home, _server) = with_two_workers(&gate);
    let Some(terminal) = Terminal::open(&home) else { return };
    delegate(&terminal);
    terminal.shows("[2] vibe_spawn: ");
    terminal.begins("/answer");
    terminal.shows("\u{203a} /answer");
    lets(&gate, "one");
    terminal.shows("what you type is no answer to this card");
    terminal.begins(" y");
    terminal.shows("\u{203a} /answer y");
    lets(&gate, "kill");
    terminal.shows("the card \"write: create `one.txt`\" is gone");
    lets(&gate, "two");
    terminal.shows_times("what you type is no answer to this card", 2);
    terminal.presses("Enter");
    terminal.shows("was begun before this card came up and answers nothing");
    terminal.until_card();
    for name in ["one.txt", "two.txt"] {
        assert!(!home.checkout.path().join(name).exists(), "{name}");
    }
    terminal.types("/answer y");
    terminal.until_file(&home.checkout.path().join("two.txt"), |bytes| bytes == b"new");
    assert!(!home.checkout.path().join("one.txt").exists());
    lets(&gate, "end");
}

// spec: ASK-03
#[test]
fn what_is_typed_as_the_next_card_comes_up_answers_neither() {
    let two = write("one.txt").and_call("write", json!({"path": "two.txt", "content": "new"}));
    let (home, server) = talking(&[], vec![when("change", two), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("change");
    terminal.until_card();
    terminal.types("y");
    terminal.types("y");
    terminal.shows_times("\u{250c} permission", 2);
    terminal.shows("answers nothing here and is said next");
    terminal.until_card();
    // Either card may be the first one.
    let written = || ["one.txt", "two.txt"].map(|name| home.checkout.path().join(name).exists());
    assert_eq!(written().iter().filter(|exists| **exists).count(), 1, "{}", terminal.screen());
    terminal.types("n");
    terminal.shows_times("All is said.", 2);
    assert_eq!(server.requests().last().expect("a request").last(), "y");
    assert_eq!(written().iter().filter(|exists| **exists).count(), 1, "{}", terminal.screen());
}

#[test]
fn what_stands_behind_a_wrong_answer_in_its_burst_is_said_next() {
    let (home, server) = talking(&[], vec![when("change", write("one.txt")), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("change");
    terminal.until_card();
    burst(&terminal, &["perhaps", "what", "y"]);
    terminal.shows("\"y\" answers nothing here and is said next");
    terminal.until_card();
    terminal.types("n");
    terminal.shows_times("All is said.", 3);
    assert!(!home.checkout.path().join("one.txt").exists());
    let said: Vec<_> = server.requests().iter().map(|request| request.last().to_owned()).collect();
    assert_eq!(said[2..], ["what", "y"]);
}

#[test]
fn nothing_is_lost_of_a_burst_with_ctrl_c_in_it() {
    let gate = tempfile::tempdir().expect("a folder");
    let hangs = Rule { until_file: Some(gate.path().join("end")), times: 0, ..Rule::text("late") };
    let (home, server) =
        talking(&[], vec![when("change", write("one.txt")), when("begin", hangs), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    // At a card.
    terminal.says("change");
    terminal.until_card();
    terminal.tmux(&["send-keys", "C-c", "y", "Enter", "hello", "Enter"]);
    terminal.until("both lines", |screen| screen.trim_end().ends_with("\u{203a} y\nhello"));
    assert!(!home.checkout.path().join("one.txt").exists());
    terminal.presses("C-c");
    terminal.shows("thrown away");
    // While the model works.
    terminal.says("begin");
    terminal.until("the request", |_| server.requests().len() == 2);
    terminal.tmux(&["send-keys", "drei", "Enter", "C-c"]);
    terminal.until("the line", |screen| screen.trim_end().ends_with("\u{203a} drei"));
    terminal.presses("C-c");
    terminal.shows_times("thrown away", 2);
    // At the prompt.
    terminal.until_prompt();
    terminal.tmux(&["send-keys", "begin", "Enter", "C-c", "dos", "Enter", "tres", "Enter"]);
    terminal.until("both lines", |screen| screen.trim_end().ends_with("\u{203a} dos\ntres"));
    assert!(!terminal.screen().contains("All is said."), "{}", terminal.screen());
}

// spec: ASK-03
#[test]
fn a_signal_from_outside_at_a_card_is_ctrl_c_there() {
    let (home, server) = talking(&[], vec![when("change", write("one.txt")), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("change");
    terminal.until_card();
    terminal.signals("-INT");
    terminal.shows("Ctrl-C once more within 5 s leaves");
    terminal.says("go on");
    terminal.shows("All is said.");
    let last = server.requests().pop().expect("a request");
    let told = serde_json::to_string(last.messages()).expect("JSON");
    assert!(told.contains("pressed Ctrl-C at the card"), "{told}");
    assert!(!told.contains("whether it acted is unknown"), "{told}");
}

#[test]
fn a_conversation_is_stopped_and_gone_on_with() {
    let (home, server) = talking(&[], vec![done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.until_prompt();
    terminal.begins("half a ");
    terminal.presses("C-z");
    terminal.shows("Stopped");
    terminal.types("fg");
    terminal.until("the line", |screen| screen.trim_end().ends_with("\u{203a} half a"));
    terminal.types("line");
    terminal.shows("All is said.");
    assert_eq!(server.requests().last().expect("a request").last(), "half a line");
    terminal.until_prompt();
    terminal.presses("C-d");
    terminal.until("the shell", |screen| screen.trim_end().ends_with("\n>"));
}

#[test]
fn what_is_pasted_is_one_text_at_the_prompt_and_while_the_model_works() {
    let gate = tempfile::tempdir().expect("a folder");
    let waits = Rule { until_file: Some(gate.path().join("end")), ..Rule::text("It is done.") };
    let (home, server) = talking(&[], vec![when("begin", waits), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.until_prompt();
    let paste = |text: &str| {
        terminal.tmux(&["set-buffer", text]);
        terminal.tmux(&["paste-buffer", "-p"]);
    };
    paste("begin\nwith two lines");
    terminal.presses("Enter");
    terminal.until("the request", |_| server.requests().len() == 1);
    paste("and\nthree\nmore");
    terminal.presses("Enter");
    terminal.shows("(comes next)");
    lets(&gate, "end");
    terminal.shows("All is said.");
    let said: Vec<_> = server.requests().iter().map(|request| request.last().to_owned()).collect();
    assert_eq!(said, ["begin\nwith two lines", "and\nthree\nmore"]);
}

#[test]
fn bytes_that_are_no_letters_end_nothing() {
    let (home, server) = talking(&[], vec![done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.until_prompt();
    // As a terminal does that is set to Latin-1.
    terminal.tmux(&["send-keys", "-H", "63", "61", "66", "e9", "21"]);
    terminal.shows("\u{203a} caf!");
    terminal.types(" да");
    terminal.shows("All is said.");
    assert_eq!(server.requests().last().expect("a request").last(), "caf! да");
}

/// Such as the shell of an editor: it sends whole lines, and no key by itself.
#[test]
fn a_terminal_without_keys_is_talked_to_in_lines_and_left_by_its_end() {
    let (home, server) = talking(&[], vec![when("change", write("one.txt")), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.types("export TERM=dumb");
    terminal.agent_run("chat");
    terminal.until_prompt();
    terminal.types("change");
    terminal.until_card();
    terminal.types("y");
    terminal.shows("All is said.");
    assert_eq!(home.file("one.txt"), "new");
    terminal.until_prompt();
    terminal.types("and then");
    terminal.shows_times("All is said.", 2);
    assert_eq!(server.requests().last().expect("a request").last(), "and then");
    terminal.until_prompt();
    terminal.presses("C-d");
    terminal.shows("status 0");
}
