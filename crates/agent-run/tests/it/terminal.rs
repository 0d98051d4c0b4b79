//! The program at a real terminal, and where there is none.

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{home::Home, tmux::Terminal};

const WRITE: &str = r#"call write '{"path":"b.txt","content":"new"}'"#;

const SEARCH: &str = r#"{"pattern":"(?i)[a-z]+ [a-z]+ [a-z]+ zebra"}"#;

/// Names of one large file: a search of so many takes some seconds, one of so few at least one.
const MANY: usize = 4_000;
const FEW: usize = 3_000;

/// A checkout in which [`SEARCH`] takes long and finds nothing.
fn large_checkout(names: usize) -> Home {
    let text = "the quick brown fox jumps over the lazy dog\n".repeat(90_000);
    let home = Home::new(&[("0.txt", &text)]);
    let first = home.checkout.path().join("0.txt");
    for n in 1..names {
        fs::hard_link(&first, home.checkout.path().join(format!("{n}.txt"))).expect("a link");
    }
    home
}

fn transcript(home: &Home) -> Vec<Value> {
    let text = fs::read_to_string(home.home.path().join("t.jsonl")).expect("a transcript");
    text.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect()
}

// spec: TIER-07
#[test]
fn a_person_at_a_terminal_answers_a_card_with_a_word() {
    let home = Home::new(&[]);
    let Some(terminal) = Terminal::open(&home) else { return };
    let file = home.checkout.path().join("b.txt");

    terminal.agent_run(WRITE);
    let screen = terminal.shows("type a number, y, n, always or never");
    for words in
        ["write: create `b.txt`", "┌ permission, asked by", "1 allow once (y)", "3 reject (n)"]
    {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    terminal.types("perhaps");
    terminal.types("n");
    terminal.shows("refused_by_person:");
    terminal.shows("status 1");
    assert!(!file.exists());

    terminal.clears();
    terminal.agent_run(WRITE);
    terminal.shows("type a number");
    terminal.types("y");
    terminal.shows("created `b.txt`");
    terminal.shows("status 0");
    assert_eq!(home.file("b.txt"), "new");
}

#[test]
fn always_holds_for_the_run_and_one_tool() {
    let home = Home::new(&[]);
    let Some(terminal) = Terminal::open(&home) else { return };
    let calls = ["a", "b"].map(|name| {
        format!(r#"{{"tool": "write", "args": {{"path": "{name}.txt", "content": "x"}}}}"#)
    });
    let edit =
        r#"{"tool": "edit", "args": {"path": "a.txt", "old_string": "x", "new_string": "y"}}"#;
    home.put("calls.jsonl", &[calls.join("\n"), edit.to_owned()].join("\n"));
    terminal.agent_run("script calls.jsonl");
    terminal.shows("write: create `a.txt`");
    terminal.types("always");
    let screen = terminal.shows("edit: modify `a.txt`");
    assert!(screen.contains("created `b.txt`"), "the second write was not asked for:\n{screen}");
    terminal.types("n");
    terminal.shows("status 1");
    assert_eq!(home.file("a.txt"), "x");
}

#[test]
fn a_call_over_a_second_says_how_far_it_is_and_ctrl_c_ends_it_cleanly() {
    let home = large_checkout(MANY);
    let Some(terminal) = Terminal::open(&home) else { return };
    let modes = |terminal: &Terminal<'_>| {
        terminal.clears();
        terminal.types("stty -a; echo end");
        terminal.shows("\nend")
    };
    let before = modes(&terminal);
    terminal.clears();
    let transcript_at = home.home.path().join("t.jsonl");
    terminal
        .agent_run(&format!("--transcript '{}' call search '{SEARCH}'", transcript_at.display()));
    terminal.shows("searched files ");
    terminal.presses("C-c");
    let screen = terminal.shows("status 130");
    assert!(screen.contains("interrupted"), "{screen}");
    let record = transcript(&home);
    // What a search tells that is being ended may come behind its end.
    let types = record.iter().filter_map(|line| line["type"].as_str());
    let types: Vec<_> = types.filter(|kind| *kind != "event").collect();
    assert_eq!((types[0], types[types.len() - 1]), ("started", "cancelled"), "{types:?}");
    assert_eq!(modes(&terminal), before, "the terminal is as it was");
    let left = home.mark.left();
    let ours: Vec<_> = left.iter().filter(|command| command.contains("agent-run")).collect();
    assert_eq!(ours, [""; 0], "{left:?}");
}

#[test]
fn what_is_typed_while_a_call_runs_is_left_to_the_shell() {
    let home = large_checkout(FEW);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run(&format!("call search '{SEARCH}'"));
    terminal.shows("searched files ");
    terminal.types("echo $((40 + 2)) is the answer");
    terminal.shows("status 0");
    terminal.shows("42 is the answer");
}

// spec: TIER-07
#[test]
fn what_is_typed_before_a_card_is_up_is_no_answer_to_it() {
    let home = large_checkout(FEW);
    let Some(terminal) = Terminal::open(&home) else { return };
    let search = format!(r#"{{"tool": "search", "args": {SEARCH}}}"#);
    let write = r#"{"tool": "write", "args": {"path": "b.txt", "content": "new"}}"#;
    home.put("calls.jsonl", &format!("{search}\n{write}\n"));
    terminal.agent_run("script calls.jsonl");
    terminal.shows("searched files ");
    terminal.types("y");
    terminal.shows("type a number");
    terminal.types("n");
    terminal.shows("refused_by_person:");
    terminal.shows("status 1");
    assert!(!home.checkout.path().join("b.txt").exists());
}

#[test]
fn ctrl_c_at_a_card_refuses_nothing_and_writes_nothing() {
    let home = Home::new(&[]);
    let Some(terminal) = Terminal::open(&home) else { return };
    terminal.agent_run(WRITE);
    terminal.shows("type a number");
    terminal.presses("C-c");
    terminal.shows("status 130");
    assert!(!home.checkout.path().join("b.txt").exists());
}

#[test]
fn no_color_and_a_pipe_have_no_escapes_and_a_terminal_has() {
    let home = Home::new(&[("a.txt", "one\n")]);
    for args in [&["tools"][..], &["doctor"], &["call", "read", r#"{"path":"none"}"#]] {
        let output = home.run(args);
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{args:?}");
    }
    let Some(terminal) = Terminal::open(&home) else { return };
    // What a terminal is sent, byte for byte.
    let sent = home.home.path().join("sent");
    let pipe = format!("cat > '{}'", sent.display());
    terminal.tmux(&["pipe-pane", &pipe]);
    terminal.types("echo; echo begin");
    terminal.shows("\nbegin");
    terminal.agent_run("tools");
    terminal.shows("status 0");
    let strong = |text: &[u8]| text.windows(4).any(|bytes| bytes == b"\x1b[1m");
    terminal.until_file(&sent, |text| strong(text));
    terminal.clears();
    terminal.tmux(&["pipe-pane"]);
    let plain = home.home.path().join("plain");
    terminal.tmux(&["pipe-pane", &format!("cat > '{}'", plain.display())]);
    terminal.types("export NO_COLOR=1");
    terminal.agent_run("tools");
    terminal.shows("status 0");
    let done = |text: &[u8]| String::from_utf8_lossy(text).contains("status 0");
    let text = terminal.until_file(&plain, done);
    assert!(!strong(&text), "{}", String::from_utf8_lossy(&text));
}

#[test]
fn without_a_terminal_progress_is_on_standard_error_and_the_result_alone_on_standard_output() {
    let home = large_checkout(MANY);
    let output = home.run(&["--json", "call", "search", SEARCH]);
    let said = String::from_utf8_lossy(&output.stderr);
    let words: Vec<_> =
        said.lines().filter(|line| line.starts_with("search: searched files ")).collect();
    assert!(!words.is_empty(), "{said}");
    assert!(words.iter().all(|line| line.ends_with("/4000")), "{said}");
    let result: Value = serde_json::from_slice(&output.stdout).expect("one result");
    assert_eq!(result["data"]["searched"], 4_000);
}

#[test]
fn completions_are_printed_and_bash_takes_its_own() {
    let home = Home::new(&[]);
    for (shell, words) in [
        ("bash", "complete -F _agent__run"),
        ("zsh", "#compdef agent-run"),
        ("fish", "complete -c agent-run"),
    ] {
        let output = home.run(&["completions", shell]);
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.contains(words) && text.contains("script"), "{shell}: {text}");
        if shell == "bash" {
            let mut bash =
                Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().expect("bash");
            bash.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
            assert!(bash.wait().expect("it ends").success());
        }
    }
    assert_eq!(home.run(&["completions", "cmd"]).status.code(), Some(2));
}
