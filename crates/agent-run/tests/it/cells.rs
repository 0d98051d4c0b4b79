//! A cell at the terminal: what it writes while it runs, and its images.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
};

use serde_json::json;

use crate::home::Home;

fn cell(code: &str) -> String {
    json!({"code": code, "description": "a cell of a test"}).to_string()
}

#[test]
fn an_image_is_saved_and_named() {
    let home = Home::new(&[]);
    let code = "display({'image/png': 'iVBORw0KGgo=', 'text/plain': 'p'}, raw=True)";
    let output = home.run(&["--approve", "all", "call", "eval", &cell(code)]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let path = text.lines().find_map(|line| line.strip_prefix("image: ")).expect(&text);
    assert_eq!(fs::read(path).expect("the image"), b"\x89PNG\r\n\x1a\n");
    assert!(path.starts_with(&home.state().display().to_string()), "{path}");
}

#[test]
fn what_a_cell_writes_is_there_while_it_runs_and_after_an_interrupt() {
    let home = Home::new(&[]);
    let code = "import time\nprint('step one')\nprint('half', end='', flush=True)\ntime.sleep(600)";
    let mut command = home.command(&["--approve", "all", "call", "eval", &cell(code)]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("step one") {
        line.clear();
        assert!(errors.read_line(&mut line).expect("a line") > 0, "it ended");
    }
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(told.expect("kill").success());
    let mut rest = String::new();
    errors.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    let lines: Vec<&str> = rest.lines().filter(|line| !line.contains("is at work")).collect();
    assert_eq!(lines[..2], ["half", "interrupted"], "{rest}");
}
