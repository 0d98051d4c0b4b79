//! Bytes that are wrong, and servers that do not read.

use std::{
    io::{Read, Write},
    process::Stdio,
    time::Duration,
};

use agent_testkit::lsp::{Flaw, Kind, Log, Raw, Rule, START, Script, Step};
use serde_json::{Value, json};

use crate::client::{Client, PATIENCE};

fn scripted(method: &str, steps: impl IntoIterator<Item = Step>) -> Client {
    Client::greet(&Script::new("flawed").on(method, steps), &[], json!({}))
}

pub(crate) fn each_flaw_is_in_the_bytes() {
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": 5});
    let body = message.to_string();
    let length = body.len();
    let bare = json!({"id": 1, "result": 5}).to_string();
    let null = json!({
        "jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "parse error"},
    })
    .to_string();
    let framed = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let kind = "Content-Type: application/vscode-jsonrpc; charset=utf-8";
    let cases = [
        (Flaw::Noise, format!("starting up, please wait ...\n{}", framed(&body))),
        (Flaw::BareLineFeed, format!("Content-Length: {length}\n\n{body}")),
        (Flaw::NoSpace, format!("Content-Length:{length}\r\n\r\n{body}")),
        (Flaw::ContentType, format!("Content-Length: {length}\r\n{kind}\r\n\r\n{body}")),
        (Flaw::LowerCase, format!("content-length: {length}\r\n\r\n{body}")),
        (Flaw::BrokenJson, framed("{oops")),
        (Flaw::NoObject, framed("42")),
        (Flaw::NoJsonrpc, framed(&bare)),
        (Flaw::NullId, framed(&null)),
    ];
    for (flaw, bytes) in cases {
        let message = Some(message.clone());
        let mut client = scripted("x/go", [Step::Flawed { flaw, message }, Step::Exit(0)]);
        client.notify("x/go", json!({}));
        assert_eq!(String::from_utf8_lossy(&client.rest()), bytes, "{flaw:?}");
    }
}

pub(crate) fn a_huge_body_is_whole() {
    let mut client = scripted("x/go", [Step::flawed(Flaw::Huge(5_000_000))]);
    client.notify("x/go", json!({}));
    let message = client.wait_for_method("window/logMessage");
    assert_eq!(message["params"]["padding"].as_str().map(str::len), Some(5_000_000));
    assert_eq!(client.request("x/after", json!({}))["error"]["code"], -32601);
}

pub(crate) fn half_a_message_is_followed_by_the_end() {
    let reply = json!({"jsonrpc": "2.0", "id": "${id}", "result": "0123456789"});
    let half = Step::Flawed { flaw: Flaw::Half, message: Some(reply) };
    let mut client = scripted("x/go", [half, Step::Exit(9)]);
    client.ask("x/go", json!({}));
    let whole = json!({"jsonrpc": "2.0", "id": 2, "result": "0123456789"}).to_string();
    let half = &whole[..whole.len() - whole.len() / 2];
    let expected = format!("Content-Length: {}\r\n\r\n{half}", whole.len());
    assert_eq!(String::from_utf8_lossy(&client.rest()), expected);
    assert_eq!(client.ended().code(), Some(9));
}

pub(crate) fn noise_comes_before_anything_was_asked() {
    let noise = "Loading ...\r\n";
    let script = Script::new("noisy").on(START, [Step::write(noise)]);
    let mut client = Client::start(&script, &[]);
    assert_eq!(client.take(noise.len()), noise.as_bytes());
    assert_eq!(client.initialize(json!({}))["serverInfo"]["name"], "noisy");
}

pub(crate) fn bytes_that_are_no_text_are_written() {
    let steps =
        [Step::Write(Raw::Bytes(vec![0, 159, 255])), Step::write("id ${id}"), Step::Exit(0)];
    let mut client = scripted("x/go", steps);
    client.ask("x/go", json!({}));
    assert_eq!(client.rest(), [&[0, 159, 255], "id 2".as_bytes()].concat());
}

pub(crate) fn a_flood_is_written_while_nothing_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let flood = Step::Flood { publishes: 3_000, bytes: 1_000 };
    let script = Script::new("flooding").on("x/go", [flood]);
    let launch = script.install(folder.path()).expect("a script");
    let piped = Stdio::piped;
    let mut server = launch.command().stdin(piped()).stdout(piped()).spawn().expect("a process");
    let mut input = server.stdin.take().expect("its input");
    for method in ["x/go", "x/after"] {
        let body = json!({"jsonrpc": "2.0", "method": method}).to_string();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it is taken");
    }
    let mut log = launch.log();
    let is_in = |log: &Log, method| log.calls(method).first().map(|_| ());
    log.wait(PATIENCE, |log| is_in(log, "x/go")).expect("it came");
    let time = Duration::from_millis(100);
    log.wait(time, |log| is_in(log, "x/after")).expect_err("nobody reads what it writes");
    drop(input);
    let mut output = Vec::new();
    server.stdout.take().expect("its output").read_to_end(&mut output).expect("all of it");
    server.wait().expect("its end");
    log.wait(PATIENCE, |log| is_in(log, "x/after")).expect("it read on");
    let whole = String::from_utf8(output).expect("text");
    let frames: Vec<&str> = whole.split("Content-Length: ").skip(1).collect();
    assert_eq!(frames.len(), 3_000);
    assert!(frames.iter().all(|frame| frame.contains(&"y".repeat(1_000))));
    let told: Vec<&Value> = log.of(Kind::Sent).map(|entry| &entry.body).collect();
    assert_eq!(told, [&json!({"flood": 3_000})], "a flood is told once");
}

pub(crate) fn a_server_stops_reading_for_a_time() {
    let mut client =
        scripted("x/go", [Step::StopReading(Some(300)), Step::notify("x/still", json!({}))]);
    client.notify("x/go", json!({}));
    client.wait_for_method("x/still");
    client.request("x/after", json!({}));
    let entries = client.log.wait(PATIENCE, |log| {
        Some((log.calls("x/go").first()?.at_ms, log.calls("x/after").first()?.at_ms))
    });
    let (stopped, went_on) = entries.expect("both");
    assert!(went_on - stopped >= 299, "{} ms", went_on - stopped);
}

pub(crate) fn a_server_stops_reading_for_ever() {
    let rules = [Rule::on("x/go").then([
        Step::StopReading(None),
        Step::Wait(200),
        Step::notify("x/still", json!({})),
    ])];
    let script = rules.into_iter().fold(Script::new("deaf"), Script::rule);
    let mut client = Client::greet(&script, &[], json!({}));
    client.notify("x/go", json!({}));
    client.notify("x/unheard", json!({}));
    client.close_input();
    client.wait_for_method("x/still");
    assert!(client.runs());
    client.log.refresh().expect("a log");
    assert_eq!(client.log.methods().last(), Some(&"x/go"));
}
