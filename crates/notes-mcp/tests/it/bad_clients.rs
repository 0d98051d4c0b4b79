//! Clients that do what none should.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::mpsc::channel,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    peer::{Peer, call, request},
    program::{self, Killed},
    support::{App, IN_TIME},
};

#[test]
fn a_message_that_comes_in_halves_is_one_message() {
    let app = App::with_log("INFO x\n");
    let mut peer = Peer::of_tools(app.tools());
    let line = format!("{}\n", request(1, "server/discover", json!({})));
    for byte in line.as_bytes() {
        peer.send_bytes(&[*byte]);
    }
    assert_eq!(peer.next()["id"], 1);
    // Two in one go, and the half of a third, which never comes whole.
    peer.send_bytes(format!("{line}{line}{}", &line[..line.len() / 2]).as_bytes());
    assert_eq!((peer.next()["id"].clone(), peer.next()["id"].clone()), (json!(1), json!(1)));
    let end = peer.end();
    assert_eq!(end.lines.len(), 1);
    assert_eq!((&end.lines[0]["error"]["code"], end.lines[0].get("id")), (&json!(-32700), None));
}

#[test]
fn a_line_without_an_end_fills_no_memory_and_is_skipped() {
    let app = App::with_log("INFO x\n");
    let mut peer = program::start(app.root());
    peer.ask(&request(1, "server/discover", json!({})));
    let before = resident(peer.id());
    let block = vec![b'x'; 1 << 20];
    for _ in 0..200 {
        peer.send_bytes(&block);
    }
    peer.send_bytes(b"\n");
    assert_eq!(peer.next()["error"]["code"], -32600);
    let grown = resident(peer.id()).saturating_sub(before);
    assert!(grown < 8 << 20, "200 MB of one line took {grown} bytes");
    assert_eq!(peer.ask(&request(2, "server/discover", json!({})))["id"], 2);
}

/// Bytes of memory that a process has at most had (proc(5)).
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kib = peak.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
    kib * 1024
}

#[test]
fn what_is_no_utf_8_or_nests_without_end_is_a_fault_of_its_line() {
    let app = App::with_log("INFO x\n");
    let mut peer = Peer::of_tools(app.tools());
    let deep = "[".repeat(100_000);
    let bytes: [&[u8]; 4] =
        [b"\xff\xfe{}", b"{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\"}", b"\0\0", deep.as_bytes()];
    for bytes in bytes {
        peer.send_bytes(bytes);
        peer.send_bytes(b"\n");
        let message = peer.next();
        assert_eq!((&message["error"]["code"], message.get("id")), (&json!(-32700), None));
    }
    assert_eq!(peer.ask(&request(2, "server/discover", json!({})))["id"], 2);
}

/// Such as half of an emoji, which some writers of JSON let through: who asked is told, and does not wait.
#[test]
fn a_text_that_is_no_unicode_hides_no_id() {
    let app = App::with_log("INFO x\n");
    let mut peer = Peer::of_tools(app.tools());
    for text in [&b"\\ud800"[..], b"a\\udc00b", b"\xff", b"\xed\xa0\x80"] {
        let line = request(7, "tools/call", json!({"name": "log_search", "text": "here"}));
        let line = line.to_string().into_bytes();
        let at = line.windows(4).position(|four| four == b"here").expect("the text");
        peer.send_bytes(&[&line[..at], text, &line[at + 4..], b"\n"].concat());
        let message = peer.next();
        assert_eq!((&message["error"]["code"], &message["id"]), (&json!(-32700), &json!(7)));
    }
}

/// A program whose output is not read unless somebody does.
fn unread(app: &App) -> (Killed, ChildStdin, ChildStdout) {
    let mut child: Child =
        program::command(app.root()).stderr(Stdio::null()).spawn().expect("it starts");
    let input = child.stdin.take().expect("its input");
    let output = child.stdout.take().expect("its output");
    (Killed(child), input, output)
}

/// Waits for the end of a program.
fn ended(mut child: Killed) -> (Option<i32>, Duration) {
    let begun = Instant::now();
    let (send, end) = channel();
    thread::spawn(move || {
        let _ = send.send(child.0.wait());
    });
    let status = end.recv_timeout(IN_TIME).expect("an end").expect("a status");
    (status.code(), begun.elapsed())
}

#[test]
fn an_input_that_closes_in_the_middle_of_a_call_ends_the_server_after_its_answer() {
    let app = App::with_log("INFO x\n".repeat(700_000));
    let (child, mut input, output) = unread(&app);
    let search = call(1, "log_search", json!({"text": "none"}));
    input.write_all(format!("{search}\n").as_bytes()).expect("it reads");
    drop(input);
    let mut lines = BufReader::new(output).lines();
    let answer: Value =
        serde_json::from_str(&lines.next().expect("a line").expect("UTF-8")).expect("a message");
    assert_eq!(answer["result"]["structuredContent"]["complete"], true);
    assert!(lines.next().is_none());
    assert_eq!(ended(child).0, Some(0));
}

#[test]
fn a_client_that_reads_no_answers_stops_nothing_but_itself_and_gets_all_of_them_later() {
    let app = App::with_log(format!("INFO {}\n", "x".repeat(480)).repeat(300));
    let (child, mut input, output) = unread(&app);
    // Each answer is longer than a pipe takes, so that the first ones block; there are more than may wait.
    let calls = 300;
    let writer = thread::spawn(move || {
        for id in 0..calls {
            let line = format!("{}\n", call(id, "log_tail", json!({"lines": 200})));
            input.write_all(line.as_bytes()).expect("it reads in the end");
        }
    });
    let mut ids = Vec::new();
    for line in BufReader::new(output).lines() {
        let message: Value = serde_json::from_str(&line.expect("UTF-8")).expect("whole messages");
        ids.push(message["id"].as_u64().expect("an id"));
    }
    writer.join().expect("it was all read");
    ids.sort_unstable();
    assert_eq!(ids, (0..calls).collect::<Vec<u64>>());
    assert_eq!(ended(child).0, Some(0));
}

#[test]
fn a_full_output_does_not_keep_a_server_whose_input_is_over() {
    let app = App::with_log(format!("INFO {}\n", "x".repeat(480)).repeat(300));
    let (child, mut input, mut output) = unread(&app);
    let line = format!("{}\n", call(1, "log_tail", json!({"lines": 200})));
    input.write_all(line.as_bytes()).expect("it reads");
    // It has begun to answer, and nobody reads on.
    let mut first = [0];
    output.read_exact(&mut first).expect("a byte");
    drop(input);
    let (code, took) = ended(child);
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn a_client_that_is_gone_is_no_error() {
    let app = App::with_log("INFO x\n");
    let (child, mut input, output) = unread(&app);
    drop(output);
    let line = format!("{}\n", request(1, "server/discover", json!({})));
    // It may be gone before all of it is written.
    while input.write_all(line.as_bytes()).is_ok() {}
    assert_eq!(ended(child).0, Some(0));
}
