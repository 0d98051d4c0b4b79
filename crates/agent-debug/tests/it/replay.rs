//! What six real adapters wrote, read again.

use std::{collections::BTreeSet, fs, path::PathBuf};

use agent_debug::protocol::{
    Breakpoint, Capabilities, Event, ExceptionInfo, Frame, Incoming, Response, Scope, Thread,
    Variable,
};
use agent_process::frame::{Decoder, Frame as Framed, encode, parse_json};
use serde_json::{Value, json};

const RECORDINGS: [&str; 6] = [
    "debugpy-1.8",
    "delve-1.20",
    "lldb-dap-19-c",
    "lldb-dap-19-rust",
    "lldb-dap-22-c",
    "lldb-dap-22-rust",
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dap/recordings")
}

/// The bodies of a recording, framed and taken apart again in pieces that fit no message.
fn bodies(name: &str) -> Vec<Vec<u8>> {
    let text = fs::read(folder().join(format!("{name}.jsonl"))).unwrap();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let stream: Vec<u8> = lines.flat_map(encode).collect();
    let mut decoder = Decoder::default();
    let mut bodies = Vec::new();
    for piece in stream.chunks(777) {
        decoder.push(piece);
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Framed::Body(body) => bodies.push(body),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    assert_eq!(decoder.finish(), None, "{name}");
    bodies
}

fn messages() -> impl Iterator<Item = (&'static str, Value)> {
    RECORDINGS.into_iter().flat_map(|name| {
        bodies(name).into_iter().map(move |body| (name, parse_json(&body).unwrap()))
    })
}

pub(crate) fn no_message_of_a_real_adapter_is_lost() {
    let mut counts = [0, 0];
    let mut unknown = BTreeSet::new();
    for (name, raw) in messages() {
        let body = &raw["body"];
        match (raw["type"].as_str().unwrap(), Incoming::of(raw.clone())) {
            ("event", Incoming::Event(event)) => {
                counts[0] += 1;
                assert_eq!(event.name(), raw["event"], "{name}");
                whole_event(&event, body);
                if let Event::Other(name) = event {
                    unknown.insert(name);
                }
            }
            ("response", Incoming::Response(response)) => {
                counts[1] += 1;
                assert_eq!(json!(response.request_seq), raw["request_seq"], "{name}");
                assert_eq!(response.success, raw["success"], "{name}");
                assert_eq!(response.command, raw["command"], "{name}");
                assert_eq!(&response.body, body, "{name}");
                whole_response(&response);
            }
            (_, other) => panic!("{name}: {raw} became {other:?}"),
        }
    }
    assert_eq!(counts, [458, 298]);
    let expected = ["capabilities", "debugpySockets", "module", "thread"].map(str::to_owned);
    assert_eq!(unknown, BTreeSet::from(expected));
}

/// Every field that is used is there where the adapter wrote it.
fn whole_event(event: &Event, body: &Value) {
    match event {
        Event::Stopped(stop) => {
            assert_eq!(json!(stop.reason), body["reason"]);
            assert_eq!(json!(stop.thread), body["threadId"]);
            let hit = body.get("hitBreakpointIds").cloned().unwrap_or(json!([]));
            assert_eq!(json!(stop.breakpoints), hit);
        }
        Event::Exited { code } => assert_eq!(json!(code), body["exitCode"]),
        Event::Output(output) => {
            assert_eq!(json!(output.text), body["output"]);
            assert_eq!(json!(output.category), body["category"]);
        }
        Event::Breakpoint { breakpoint, .. } => {
            assert_eq!(json!(breakpoint.id), body["breakpoint"]["id"]);
        }
        Event::Process { id } => assert_eq!(json!(id), body["systemProcessId"]),
        _ => {}
    }
}

fn whole_response(response: &Response) {
    let body = &response.body;
    if !response.success {
        return;
    }
    let count = |name: &str| body[name].as_array().map_or(0, Vec::len);
    let (read, written) = match response.command.as_str() {
        "stackTrace" => (Frame::all(body).len(), count("stackFrames")),
        "scopes" => (Scope::all(body).len(), count("scopes")),
        "variables" => (Variable::all(body).len(), count("variables")),
        "threads" => (Thread::all(body).len(), count("threads")),
        "setBreakpoints" => (Breakpoint::all(body).len(), count("breakpoints")),
        "initialize" => {
            let read = Capabilities::of(body);
            assert!(read.configuration_done, "{body}");
            assert_eq!(body["supportsConditionalBreakpoints"], read.conditions);
            (read.filters.len(), count("exceptionBreakpointFilters"))
        }
        "evaluate" => {
            let read = Variable::evaluated(body);
            assert_eq!(json!(read.value), body["result"]);
            assert_eq!(json!(read.reference), body["variablesReference"]);
            return;
        }
        "exceptionInfo" => {
            let read = ExceptionInfo::of(body);
            assert!(read.id.is_some() || read.description.is_some(), "{body}");
            return;
        }
        _ => return,
    };
    assert_eq!(read, written, "{body}");
}

pub(crate) fn a_stop_of_a_real_adapter_says_why_and_where() {
    let mut seen = BTreeSet::new();
    for (name, raw) in messages() {
        if let Incoming::Event(Event::Stopped(stop)) = Incoming::of(raw) {
            assert!(stop.thread.is_some());
            seen.insert((name, stop.reason, stop.breakpoints.contains(&-1)));
        }
    }
    let seen: Vec<_> =
        seen.iter().map(|(name, reason, panic)| (*name, &**reason, *panic)).collect();
    let expected = [
        ("debugpy-1.8", "breakpoint", false),
        ("debugpy-1.8", "exception", false),
        ("debugpy-1.8", "step", false),
        ("delve-1.20", "breakpoint", false),
        ("delve-1.20", "exception", true),
        ("delve-1.20", "step", false),
        ("lldb-dap-19-c", "breakpoint", false),
        ("lldb-dap-19-c", "exception", false),
        ("lldb-dap-19-c", "step", false),
        ("lldb-dap-19-rust", "breakpoint", false),
        ("lldb-dap-19-rust", "step", false),
        ("lldb-dap-22-c", "breakpoint", false),
        ("lldb-dap-22-c", "exception", false),
        ("lldb-dap-22-c", "step", false),
        ("lldb-dap-22-rust", "breakpoint", false),
        ("lldb-dap-22-rust", "step", false),
    ];
    assert_eq!(seen, expected);
}

pub(crate) fn an_error_of_a_real_adapter_is_in_its_own_words() {
    for (name, raw) in messages() {
        let Incoming::Response(response) = Incoming::of(raw) else { continue };
        if !response.success {
            let error = response.error();
            assert!(!error.contains("does not say why"), "{name}: {response:?}");
        }
    }
    let failed = |body| {
        let raw = json!({"type": "response", "request_seq": 1, "command": "launch",
            "success": false, "message": "failed", "body": body});
        match Incoming::of(raw) {
            Incoming::Response(response) => response.error(),
            other => panic!("{other:?}"),
        }
    };
    let long = json!({"error": {"format": "no {what} in {where}", "variables": {"what": "main", "where": 3}}});
    assert_eq!(failed(long), "no main in 3");
    assert_eq!(failed(json!({"error": {"format": " "}})), "failed");
    assert_eq!(failed(json!(null)), "failed");
}

pub(crate) fn odd_messages_are_read_as_far_as_they_go() {
    let event = |raw| match Incoming::of(raw) {
        Incoming::Event(event) => event,
        other => panic!("{other:?}"),
    };
    assert_eq!(event(json!({"type": "event", "event": "terminated"})), Event::Terminated);
    assert_eq!(
        event(json!({"type": "event", "event": "exited", "body": {"exitCode": "3"}})),
        Event::Exited { code: Some(3) }
    );
    let Event::Stopped(stop) = event(json!({"type": "event", "event": "stopped", "body": {
        "reason": "signal", "threadId": 3_000_000_000_u64, "hitBreakpointIds": [-1, "x"]}}))
    else {
        panic!("no stop");
    };
    assert_eq!((&*stop.reason, stop.thread), ("signal", Some(3_000_000_000)));
    assert_eq!(stop.breakpoints, [-1]);
    let reverse = json!({"type": "request", "seq": 9, "command": "startDebugging"});
    let expected = Incoming::Request { seq: 9, command: "startDebugging".to_owned() };
    assert_eq!(Incoming::of(reverse), expected);
    for nothing in [json!(null), json!([]), json!({"type": "event"}), json!({"type": "response"})] {
        assert_eq!(Incoming::of(nothing), Incoming::Unknown);
    }
    let frames = json!({"stackFrames": [{"id": 0, "name": "f", "line": -1}, {"name": "no id"}]});
    let frames = Frame::all(&frames);
    assert_eq!(frames.len(), 1);
    assert_eq!((frames[0].id, frames[0].line), (0, None));
    let scopes = json!({"scopes": [{"name": "G", "variablesReference": 4_294_967_297_i64, "presentationHint": "globals"}]});
    assert_eq!(Scope::all(&scopes)[0].reference, 4_294_967_297);
}
