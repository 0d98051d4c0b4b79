//! What a person meets in a conversation: calls that are cut off, what they type meanwhile, what they come back to.

use std::{fs, time::Duration};

use agent_testkit::model::{Break, How, Rule, When};
use serde_json::json;

use crate::{
    chat::{talking, when},
    tmux::Terminal,
};

/// A command that is at work until there is a file `go`.
const UNTIL_GO: &str = "echo begun; until [ -e go ]; do sleep 0.05; done; echo over";

fn done() -> Rule {
    Rule { times: 0, ..Rule::text("All is said.") }
}

#[test]
fn a_call_that_is_cut_off_says_so_and_opens_with_what_it_had_written() {
    let (home, _server) = talking(
        &[],
        vec![
            when(
                "work",
                Rule::call("shell", json!({"command": "echo first\necho begun; sleep 611"})),
            ),
            done(),
        ],
    );
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("--approve all chat");
    terminal.says("work");
    let screen = terminal.shows("[1] shell is at work, ");
    assert!(screen.contains("s  begun"), "{screen}");
    // No card showed it.
    assert!(screen.contains("    │ echo first\n"), "{screen}");
    terminal.presses("C-c");
    let screen = terminal.shows("Ctrl-C once more within 5 s leaves");
    assert!(screen.contains("[1] shell: cut off after "), "{screen}");
    assert!(screen.contains("\n    first\n    begun\ncancelled\n"), "{screen}");
    assert!(!screen.contains("at work"), "{screen}");
    terminal.clears_screen();
    terminal.says("/open 1");
    let screen = terminal.shows("what it had written:)");
    assert!(
        screen.contains("    echo begun; sleep 611\n") && screen.contains("    begun\n"),
        "{screen}"
    );
    terminal.says("go on");
    terminal.shows("All is said.");
    terminal.until_prompt();
    // A line in between: this press is the first one again.
    terminal.presses("C-c");
    terminal.shows("Ctrl-C once more within 5 s leaves");
    terminal.until_prompt();
    terminal.presses("C-c");
    terminal.shows("status 0");
}

// spec: TIER-07
#[test]
fn what_is_typed_during_a_turn_answers_no_card_and_is_said_next() {
    let gate = tempfile::tempdir().expect("a folder");
    let (home, server) = talking(
        &[],
        vec![
            when("work", Rule::call("shell", json!({"command": UNTIL_GO}))),
            when(
                "over",
                Rule {
                    until_file: Some(gate.path().join("on")),
                    ..Rule::call("write", json!({"path": "b.txt", "content": "new"}))
                },
            ),
            done(),
        ],
    );
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("work");
    terminal.until_card();
    terminal.types("y");
    terminal.shows("shell is at work");
    terminal.types("y");
    terminal.shows("\u{203a} y (comes next)");
    terminal.begins("half of it");
    terminal.shows("\u{203a} half of it");
    home.put("go", "");
    terminal.shows("the model thinks, ");
    fs::write(gate.path().join("on"), "").expect("a file");
    terminal.shows("write: create `b.txt`");
    terminal.shows("what you type is no answer to this card");
    assert!(!home.checkout.path().join("b.txt").exists());
    terminal.types("/answer n");
    let screen = terminal.shows_times("All is said.", 2);
    assert!(screen.contains("answered: \"write: create `b.txt`\" — \"reject\""), "{screen}");
    assert!(screen.contains("\u{203a} y\n"), "{screen}");
    assert!(!home.checkout.path().join("b.txt").exists());
    assert_eq!(server.requests().last().expect("a request").last().trim(), "y");
    terminal.shows("\u{203a} half of it");
    terminal.types(" and the rest");
    terminal.shows_times("All is said.", 3);
    let last = server.requests().pop().expect("a request");
    assert_eq!(last.last().trim(), "half of it and the rest");
}

/// A card comes up within a line, and the rest of that line is no answer to it.
#[test]
fn the_rest_of_a_line_answers_no_card() {
    let gate = tempfile::tempdir().expect("a folder");
    let behind = |name: &str, rule: Rule| Rule { until_file: Some(gate.path().join(name)), ..rule };
    let open = |name: &str| fs::write(gate.path().join(name), "").expect("a file");
    let question = json!({"question": "Delete the old backups?", "options": ["yes", "no"], "allow_free_text": true});
    let (home, server) = talking(
        &[],
        vec![
            when(
                "work",
                behind("permission", Rule::call("shell", json!({"command": "touch ran"}))),
            ),
            when("tidy", behind("question", Rule::call("ask_user", question))),
            done(),
        ],
    );
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("work");
    terminal.shows("the model thinks, ");
    terminal.begins("is it ok");
    terminal.shows("\u{203a} is it ok");
    open("permission");
    terminal.shows("what you type is no answer to this card");
    terminal.types(" y");
    terminal.shows("\u{203a} is it ok y (comes next)");
    // Once nothing is begun it asks, and what is typed there is an answer.
    terminal.until_card();
    assert!(!home.checkout.path().join("ran").exists());
    terminal.types("n");
    terminal.shows_times("All is said.", 2);
    assert!(!home.checkout.path().join("ran").exists());

    terminal.says("tidy");
    terminal.shows("the model thinks, ");
    terminal.begins("please keep ");
    terminal.shows("\u{203a} please keep");
    open("question");
    terminal.shows_times("what you type is no answer to this card", 2);
    terminal.types("my files");
    terminal.until_card();
    terminal.types("2");
    terminal.shows_times("All is said.", 4);
    let told: Vec<String> = server.requests().iter().map(|asked| asked.last()).collect();
    assert!(told.iter().any(|last| last.trim() == "is it ok y"), "{told:?}");
    assert!(told.iter().any(|last| last.trim() == "please keep my files"), "{told:?}");
    assert!(told.iter().any(|last| last.contains("The person chose:")), "{told:?}");
}

/// A person types on while a card comes up between two keys, without a pause that would say that the line is over.
#[test]
fn a_line_that_is_typed_across_a_card_key_by_key_does_not_answer_it() {
    let question = json!({"question": "Delete the old backups?", "options": ["yes", "no"], "allow_free_text": true});
    for pause in [80, 200].map(Duration::from_millis) {
        let gate = tempfile::tempdir().expect("a folder");
        let behind =
            |name: &str, rule: Rule| Rule { until_file: Some(gate.path().join(name)), ..rule };
        let shell = Rule::call("shell", json!({"command": "touch ran"}));
        let (home, server) = talking(
            &[],
            vec![
                when("work", behind("permission", shell)),
                when("tidy", behind("question", Rule::call("ask_user", question.clone()))),
                done(),
            ],
        );
        let Some(terminal) = Terminal::open(&home) else { return };
        let open = |name: &str| fs::write(gate.path().join(name), "").expect("a file");
        terminal.agent_run("chat");
        terminal.says("work");
        terminal.shows("the model thinks, ");
        terminal.types_slowly("is it ok y", pause, (5, || open("permission")));
        terminal.shows("\u{203a} is it ok y (comes next)");
        terminal.until_card();
        assert!(!home.checkout.path().join("ran").exists(), "{}", terminal.screen());
        terminal.types("n");
        terminal.shows_times("All is said.", 2);
        assert!(!home.checkout.path().join("ran").exists());

        terminal.says("tidy");
        terminal.shows("the model thinks, ");
        terminal.types_slowly("please keep 1", pause, (7, || open("question")));
        terminal.shows("\u{203a} please keep 1 (comes next)");
        terminal.until_card();
        terminal.types("2");
        terminal.shows_times("All is said.", 4);
        let told: Vec<String> = server.requests().iter().map(|asked| asked.last()).collect();
        for words in ["is it ok y", "please keep 1"] {
            assert!(told.iter().any(|last| last.trim() == words), "{words}: {told:?}");
        }
        let answers = told.iter().filter(|last| last.contains("The person "));
        let answers: Vec<_> = answers.collect();
        assert!(!answers.is_empty(), "{told:?}");
        let no = |last: &&&String| last.contains("2. no") && !last.contains("wrote");
        assert!(answers.iter().all(|last| no(&last)), "{answers:?}");
    }
}

#[test]
fn a_command_at_a_card_is_no_answer() {
    let question =
        json!({"question": "Which?", "options": ["red", "blue"], "allow_free_text": true});
    let (home, server) = talking(
        &[("a.txt", "apple\n")],
        vec![
            when("work", Rule::call("read", json!({"path": "a.txt"}))),
            when("apple", Rule::call("ask_user", question)),
            done(),
        ],
    );
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    let cases = [(1, "/answer 2", "blue"), (2, "//etc/hosts", "/etc/hosts")];
    for (times, answer, told) in cases {
        terminal.says("work");
        terminal.until_card();
        terminal.types("/open 1");
        terminal.shows_times("the card above waits for an answer", times);
        terminal.until_card();
        terminal.types("/open");
        terminal.shows_times("┌ question, asked by the agent", 2 * times);
        terminal.until_card();
        terminal.types("/plan");
        terminal.shows_times("that is a command and no answer", times);
        terminal.until_card();
        terminal.types(answer);
        terminal.shows_times("All is said.", times);
        let last = server.requests().last().expect("a request").last();
        assert!(last.contains(told) && !last.contains("answer 2"), "{last}");
    }
}

#[test]
fn a_call_whose_card_was_interrupted_is_said_not_to_have_run() {
    let (home, server) = talking(
        &[],
        vec![when("work", Rule::call("shell", json!({"command": "touch ran"}))), done()],
    );
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("work");
    terminal.until_card();
    terminal.presses("C-c");
    let screen = terminal.shows("Ctrl-C once more within 5 s leaves");
    assert!(!screen.contains("cut off"), "{screen}");
    terminal.says("go on");
    terminal.shows("All is said.");
    let last = server.requests().pop().expect("a request");
    let told = serde_json::to_string(last.messages()).expect("JSON");
    assert!(
        told.contains("pressed Ctrl-C at the card") && told.contains("nothing was done"),
        "{told}"
    );
    assert!(!told.contains("whether it acted is unknown"), "{told}");
    assert!(!home.checkout.path().join("ran").exists());
}

#[test]
fn after_an_interruption_nothing_is_said_unasked() {
    let (home, server) =
        talking(&[], vec![when("work", Rule::call("shell", json!({"command": UNTIL_GO}))), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("--approve all chat");
    terminal.says("work");
    terminal.shows("shell is at work");
    terminal.types("and then more");
    terminal.shows("(comes next)");
    terminal.presses("C-c");
    terminal.shows("cancelled");
    terminal.shows("leaves\n\u{203a} and then more");
    assert_eq!(server.requests().len(), 1);
    terminal.types("");
    terminal.shows("All is said.");
    assert!(server.requests().last().expect("a request").last().ends_with("\nand then more"));
}

#[test]
fn what_came_back_after_an_interruption_is_thrown_away_by_one_key() {
    let (home, server) =
        talking(&[], vec![when("work", Rule::call("shell", json!({"command": UNTIL_GO}))), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("--approve all chat");
    terminal.says("work");
    terminal.shows("shell is at work");
    terminal.types("queued line one");
    terminal.shows("one (comes next)");
    terminal.types("queued line two");
    terminal.shows("two (comes next)");
    terminal.presses("C-c");
    terminal.shows("what you had typed stands in the prompt: Ctrl-C throws it away");
    terminal.until("the lines", |screen| screen.trim_end().ends_with("queued line two"));
    terminal.presses("C-c");
    terminal.shows("thrown away; Ctrl-C once more within 5 s leaves");
    terminal.until_prompt();
    terminal.types("something else");
    terminal.shows("All is said.");
    let last = server.requests().last().expect("a request").last();
    assert!(last.ends_with("\nsomething else") && !last.contains("queued"), "{last}");
}

#[test]
fn what_only_looks_is_done_while_the_model_works() {
    let (home, _server) = talking(
        &[],
        vec![
            when("work", Rule::call("shell", json!({"command": UNTIL_GO}))),
            when("quiet", Rule::default()),
            done(),
        ],
    );
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("--approve all chat");
    terminal.says("work");
    terminal.shows("shell is at work");
    for (command, shown) in [
        ("/open", "(it is at work; what it wrote so far:)\n    begun\n"),
        ("/workers", "there are no workers"),
        ("/cost", "this turn is counted when it ends"),
        ("/help", "say something that begins with /"),
        ("/tools", "asks you a question"),
        ("/plan", "\u{203a} /plan (comes next)"),
    ] {
        terminal.types(command);
        terminal.shows(shown);
    }
    let screen = terminal.screen();
    assert!(!screen.contains("All is said.") && !screen.contains("(plan)"), "{screen}");
    home.put("go", "");
    terminal.shows("All is said.");
    terminal.shows("tools now (plan)");
    terminal.says("be quiet");
    terminal.shows("the model answered nothing");
}

#[test]
fn what_a_cut_call_had_written_is_there_after_a_resumption() {
    let long = format!("echo begun; : {}; sleep 614", "word ".repeat(30));
    let (home, server) =
        talking(&[], vec![when("work", Rule::call("shell", json!({"command": long}))), done()]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("--approve all chat");
    terminal.says("work");
    terminal.shows("s  begun");
    terminal.presses("C-c");
    terminal.shows("[1] shell: cut off after");
    terminal.until_prompt();
    terminal.presses("C-d");
    terminal.shows("status 0");
    terminal.clears();
    terminal.agent_run("chat --continue");
    terminal.says("/open 1");
    let screen = terminal.shows("what it had written until then:\n    begun\n");
    // Its command is whole.
    let whole = screen.replace("\n    ", " ");
    assert!(
        whole.contains("word word; sleep 614") || whole.contains("word ; sleep 614"),
        "{screen}"
    );
    terminal.says("go on");
    terminal.shows("All is said.");
    let last = server.requests().pop().expect("a request");
    let told = serde_json::to_string(last.messages()).expect("JSON");
    assert!(told.contains("whether it acted is unknown") && told.contains("until then:"), "{told}");
}

#[test]
fn after_a_kill_it_is_said_what_was_cut_off() {
    let (home, _server) = talking(
        &[("a.txt", "one\n")],
        vec![
            when("work", Rule::call("read", json!({"path": "a.txt"}))),
            when(
                "one",
                Rule {
                    text: vec!["Now I look further.".to_owned()],
                    ..Rule::call("shell", json!({"command": "echo begun; sleep 612"}))
                },
            ),
            done(),
        ],
    );
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("--approve all chat");
    terminal.says("work on it");
    terminal.shows("[2] shell is at work");
    terminal.signals("-9");
    terminal.shows("status 137");
    terminal.presses("C-c");
    terminal.types("stty sane; clear");
    terminal.agent_run("chat --continue");
    let screen = terminal.shows("cut off when the program ended; whether it acted is not known");
    assert!(screen.contains("going on after 4 messages and 2 calls"), "{screen}");
    assert!(screen.contains("\u{203a} work on it\n"), "{screen}");
    // As it came: the text of an answer, then its calls.
    let rows = "  Now I look further.\n[2] shell echo begun; sleep 612: cut off";
    assert!(screen.contains(rows), "{screen}");
    terminal.says("/open 1");
    terminal.shows("1   one");
    terminal.says("/open 2");
    terminal.shows("its output was not kept");
    terminal.says("go on");
    terminal.shows("All is said.");
}

#[test]
fn what_comes_again_is_shown_once() {
    let broken = Rule {
        text: ["Hello ", "wide ", "world", " and"].map(str::to_owned).to_vec(),
        breaks: Some(Break { after: 4, how: How::Cut }),
        ..Rule::default()
    };
    let read = json!({"path": "a.txt"});
    let (home, _server) = talking(
        &[("a.txt", "apple\n")],
        vec![
            when(
                "twice",
                Rule::call("read", read.clone()).and_call("search", json!({"pattern": "pear"})),
            ),
            Rule {
                when: When { last: Some("apple".to_owned()), ..When::default() },
                ..Rule::call("read", read)
            },
            broken,
            Rule::text("Hello wide world and all."),
            done(),
        ],
    );
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("greet");
    let screen = terminal.shows("all.");
    assert!(screen.contains("asked again in"), "{screen}");
    assert_eq!(screen.matches("Hello").count(), 1, "{screen}");
    terminal.says("twice");
    let screen = terminal.shows("All is said.");
    // Each result is under its own number, and one that came before is named.
    for row in [
        "[1] read: 1 line, ",
        "[2] search: no match, ",
        "[3] read: 1 line, the same again as [1], ",
    ] {
        assert!(screen.contains(row), "{row}\n{screen}");
    }
    assert_eq!(screen.matches("1   apple").count(), 1, "{screen}");
}

#[test]
fn what_a_model_writes_is_shown_as_what_it_means_and_tools_are_sentences() {
    let text = "# Plan\n\nThis is **bold** and `code`.\n\n- one\n\n```sh\nls -la\n```\n";
    let (home, _server) = talking(
        &[],
        vec![
            when("say", Rule::text(text)),
            when(
                "debug",
                Rule::call(
                    "debug",
                    json!({"op": "launch", "program": "main.py", "args": ["--all"]}),
                ),
            ),
            done(),
        ],
    );
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("chat");
    terminal.says("say it");
    let screen = terminal.shows("ls -la");
    let shown = "  Plan\n\n  This is bold and code.\n\n  • one\n\n  ── sh\n  ls -la\n";
    assert!(screen.contains(shown), "{screen}");
    terminal.says("/tools");
    let screen = terminal.shows("asks you a question");
    assert!(screen.contains("read         read  reads a file\n"), "{screen}");
    // What nobody trusts is refused before anybody is asked, and it is said what would change that.
    terminal.says("debug it");
    let screen = terminal.shows("All is said.");
    assert!(screen.contains("not_trusted") && screen.contains("--trust"), "{screen}");
    assert!(!screen.contains("answer>"), "{screen}");
    terminal.says("/trust");
    terminal.shows("go on with `agent-run --trust chat --continue`");
}

/// A search, a rewrite that is approved, a question, two workers, an interruption and a resumption in one conversation.
// spec: AST-08, AST-09, ASK-01, VIBE-01, VIBE-02, VIBE-05
#[test]
fn a_whole_run_from_a_search_to_its_resumption() {
    let question = json!({"question": "Keep the old name as an alias?", "options": ["Yes", "No"]});
    let rewrite = json!({"pattern": "old($A)", "rewrite": "new($A)", "language": "python"});
    let spawn =
        |label: &str| json!({"brief": format!("review {label}"), "label": label, "tier": "fast"});
    let (home, server) = talking(
        &[("a.py", "x = old(1)\ny = old(2)\n")],
        vec![
            when("rename it", Rule::call("search", json!({"pattern": "old"}))),
            when("matching lines", Rule::call("ast_edit", rewrite)),
            when(
                "(proposed)",
                Rule::call("resolve", json!({"edit_id": "edit_1", "action": "accept"})),
            ),
            when("applied edit_1", Rule::call("ask_user", question)),
            when(
                "Only for a year",
                Rule::call("vibe_spawn", spawn("a.py")).and_call("vibe_spawn", spawn("the names")),
            ),
            when("review a.py", Rule::text("a.py is well.")),
            when("review the names", Rule::text("The names are well.")),
            // The workers run now, which is told to nobody else.
            Rule::call("vibe_wait", json!({"worker_id": "w1"}))
                .and_call("vibe_wait", json!({"worker_id": "w2"})),
            when("are well.", Rule::call("shell", json!({"command": "echo checking; sleep 613"}))),
            done(),
        ],
    );
    let model =
        format!("provider = \"compatible\"\nname = \"scripted\"\nurl = \"{}/v1\"\n", server.url());
    home.configure(&format!("[model]\n{model}\n[worker.fast]\n{model}"));
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run("--vibe chat");
    terminal.says("rename it");
    let screen = terminal.until_card();
    assert!(screen.contains("    a.py (2)\n        1 x = old(1)\n"), "{screen}");
    for row in ["┌ permission, asked by the agent\n", "│ -x = old(1)\n", "│ +x = new(1)\n"] {
        assert!(screen.contains(row), "{row}\n{screen}");
    }
    assert_eq!(home.file("a.py"), "x = old(1)\ny = old(2)\n");
    terminal.types("y");
    terminal.shows("Keep the old name as an alias?");
    assert_eq!(home.file("a.py"), "x = new(1)\ny = new(2)\n");
    terminal.until_card();
    terminal.types("Only for a year");
    terminal.shows("shell: echo checking");
    let screen = terminal.until_card();
    for words in
        ["w1 a.py (fast): done after", "w2 \"the names\" (fast): done after", "a.py is well."]
    {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    terminal.types("y");
    terminal.shows("shell is at work");
    terminal.presses("C-c");
    terminal.shows("shell: cut off after");
    terminal.until_prompt();
    terminal.presses("C-d");
    terminal.shows("status 0");

    terminal.clears();
    terminal.agent_run("--vibe chat --continue");
    terminal.shows("going on after");
    terminal.shows("\u{203a} rename it\n");
    terminal.says("go on");
    terminal.shows("All is said.");
    let last = server.requests().pop().expect("a request");
    let said = serde_json::to_string(last.messages()).expect("JSON");
    for words in
        ["rename it", "Only for a year", "The names are well.", "whether it acted is unknown"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let kept = home.state().join("agent-run/conversations");
    let folder =
        fs::read_dir(kept).expect("a folder").flatten().next().expect("a checkout's").path();
    assert_eq!(fs::read_dir(folder).expect("a folder").count(), 1, "one conversation");
}
