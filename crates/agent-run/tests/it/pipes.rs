//! A reader that has enough ends the program quietly.

use std::{
    io::{Read, Write},
    process::Stdio,
};

use crate::home::Home;

/// What a shell shows for a program that SIGPIPE ended.
const NOBODY_READS: i32 = 141;

#[test]
fn output_that_nobody_reads_ends_it_quietly() {
    let home = Home::new(&[("a.txt", "one\n")]);
    let script: String =
        (0..3).map(|_| "{\"tool\": \"read\", \"args\": {\"path\": \"a.txt\"}}\n").collect();
    home.put("calls.jsonl", &script);
    let transcript = home.home.path().join("t.jsonl").to_string_lossy().into_owned();
    for args in [
        &["tools"][..],
        &["--json", "tools"],
        &["doctor"],
        &["--json", "doctor"],
        &["completions", "bash"],
        &["serve", "--schema"],
        &["call", "read", r#"{"path": "a.txt"}"#],
        &["--json", "call", "read", r#"{"path": "a.txt"}"#],
        &["--json", "--transcript", &transcript, "script", "calls.jsonl"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = home.command(args);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*said), (Some(NOBODY_READS), ""), "{args:?}");
    }
    let transcript = std::fs::read_to_string(transcript).expect("a transcript");
    let finished = transcript.lines().filter(|line| line.contains("\"finished\"")).count();
    assert_eq!(
        finished, 1,
        "no call is made for nobody, and the transcript is closed: {transcript}"
    );
}

#[test]
fn remarks_that_nobody_reads_stop_nothing() {
    let home = Home::new(&[("a.txt", "one\n")]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = home.command(&["call", "read", r#"{"path": "no such file"}"#]);
    let output = command.stderr(writer).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut command = home.command(&["call", "read", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(writer).spawn().expect("it starts");
    drop(command);
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(br#"{"path": "a.txt"}"#).expect("it reads");
    drop(input);
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(text, "1\tone\n");
}
