//! Programs that are debugged in a conversation have no part in its terminal.

use std::{fs, path::Path, process::Command};

use agent_testkit::model::{ModelServer, Rule};
use serde_json::json;

use crate::{
    chat::{talking, when},
    home::{Home, fixtures},
    tmux::Terminal,
};

/// Reads what it can get hold of, and says what that was.
const PYTHON: &str = r#"import sys

try:
    tty = open("/dev/tty", "r+")
    tty.write("\r\nthis is from the debugged program\r\n")
    said = "stole " + tty.readline()
except OSError as error:
    said = "no terminal: " + error.strerror
open("said", "w").write(said + "\n" + repr(sys.stdin.readline()) + "\n")
here = 1
"#;

/// Makes itself the foreground of the terminal, and reads from it.
const C: &str = r#"#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    FILE *said = fopen("said", "w");
    signal(SIGTTOU, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    int tty = open("/dev/tty", O_RDWR);
    if (tty < 0) {
        fprintf(said, "no terminal\n");
    } else {
        char stolen[64];
        dprintf(tty, "\r\nthis is from the debugged program\r\n");
        int taken = tcsetpgrp(tty, getpgrp());
        long count = read(tty, stolen, sizeof stolen);
        fprintf(said, "taken %d, stole %ld\n", taken, count);
    }
    fclose(said);
    return 0;
}
"#;

/// Whether there is such a program, with a word about it where it is not.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn is_there(program: &str, args: &[&str]) -> bool {
    let there = Command::new(program).args(args).output().is_ok_and(|it| it.status.success());
    if !there {
        assert!(
            std::env::var_os("AGENT_TESTS_LIVE").is_none(),
            "run `cargo xtask setup` first: {program} does not run"
        );
        eprintln!("skipped: {program} does not run; `cargo xtask setup` installs it");
    }
    there
}

/// Has a model debug a program to its end, types meanwhile, and gives what the program said.
fn debugged(home: &Home, terminal: &Terminal<'_>, answers: &Path) -> String {
    let tools = fixtures().join("../.tools/debugpy/bin");
    terminal.types(&format!("PATH='{}':\"$PATH\"; export PATH", tools.display()));
    terminal.agent_run("--trust --approve all chat");
    terminal.says("debug it");
    let screen = terminal.shows("[1] debug: ");
    assert!(!screen.contains("Stopped"), "{screen}");
    terminal.shows("the model thinks, ");
    terminal.types("this is for the model");
    terminal.shows("\u{203a} this is for the model (comes next)");
    fs::write(answers, "").expect("a file");
    terminal.shows_times("All is said.", 2);
    terminal.until_prompt();
    let said =
        terminal.until_file(&home.checkout.path().join("said"), |said| said.ends_with(b"\n"));
    let screen = terminal.screen();
    assert!(!screen.contains("this is from the debugged program"), "{screen}");
    // Its group has the terminal still, so that the next line is its own.
    terminal.says("/help");
    terminal.shows("say something that begins with /");
    terminal.until_prompt();
    terminal.presses("C-d");
    terminal.shows("status 0");
    String::from_utf8_lossy(&said).into_owned()
}

/// A model that launches a program, waits for its end, and answers once there is this file.
fn launching(program: &str, files: &[(&str, &str)], answers: &Path) -> (Home, ModelServer) {
    let launch = Rule::call("debug", json!({"op": "launch", "program": program}));
    let until_file = Some(answers.to_owned());
    let done = Rule { times: 0, until_file, ..Rule::text("All is said.") };
    talking(files, vec![when("debug it", launch), done])
}

#[test]
fn a_python_program_under_the_debugger_takes_nothing_of_the_terminal() {
    let python = fixtures().join("../.tools/debugpy/bin/python");
    if !is_there(&python.display().to_string(), &["-m", "debugpy", "--version"]) {
        return;
    }
    let gate = tempfile::tempdir().expect("a folder");
    let answers = gate.path().join("answers");
    let files = [("main.py", PYTHON), ("requirements.txt", "")];
    let (home, server) = launching("main.py", &files, &answers);
    let Some(terminal) = Terminal::open(&home) else { return };
    assert_eq!(
        debugged(&home, &terminal, &answers),
        "no terminal: No such device or address\n''\n"
    );
    let last = server.requests().pop().expect("a request").last();
    assert_eq!(last.trim(), "this is for the model");
}

#[test]
fn a_c_program_under_the_debugger_cannot_take_the_terminal_s_foreground() {
    if !is_there("lldb-dap-19", &["--version"]) || !is_there("gcc", &["--version"]) {
        return;
    }
    let gate = tempfile::tempdir().expect("a folder");
    let answers = gate.path().join("answers");
    let (home, server) = launching("sample", &[("main.c", C), ("CMakeLists.txt", "")], &answers);
    let mut build = Command::new("gcc");
    build.args(["-g", "-O0", "main.c", "-o", "sample"]).current_dir(home.checkout.path());
    assert!(build.status().expect("it starts").success());
    let Some(terminal) = Terminal::open(&home) else { return };
    assert_eq!(debugged(&home, &terminal, &answers), "no terminal\n");
    let last = server.requests().pop().expect("a request").last();
    assert_eq!(last.trim(), "this is for the model");
}
