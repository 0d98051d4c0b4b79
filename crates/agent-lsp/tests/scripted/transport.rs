//! What comes over the pipes, however odd, and what goes out.

use std::time::Duration;

use agent_testkit::lsp::{
    Flaw, Holds, Kind, Nth, Rule, Script, Step, Toy, Version, diagnostic, range,
};
use agent_tool_core::ErrorKind;
use serde_json::{Value, json};

use crate::fixture::{PATIENCE, Setup, row};

const HOVER: &str = "textDocument/hover";

/// A server with one rule for `hover`.
fn on_hover(steps: impl IntoIterator<Item = Step>) -> Setup {
    let script = Script::toy("toy", Toy::push()).on(HOVER, steps);
    Setup::new([row(script)]).file("a.toy", "def area\narea\n")
}

fn reply(contents: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": "${id}", "result": { "contents": contents } })
}

pub(crate) async fn a_message_with_a_flaw_is_read() {
    let flaws = [
        Flaw::Noise,
        Flaw::BareLineFeed,
        Flaw::NoSpace,
        Flaw::ContentType,
        Flaw::LowerCase,
        Flaw::NoJsonrpc,
    ];
    for flaw in flaws {
        let message = Some(reply("read"));
        let checkout = on_hover([Step::Flawed { flaw, message }]).make();
        assert_eq!(checkout.hover("a.toy", 2, "area").await, "read", "{flaw:?}");
        assert_eq!(checkout.log().started().len(), 1, "{flaw:?}");
    }
}

pub(crate) async fn what_is_no_message_costs_no_call() {
    let odd = [
        Step::flawed(Flaw::BrokenJson),
        Step::flawed(Flaw::NoObject),
        Step::flawed(Flaw::NullId),
        Step::Send(json!({ "jsonrpc": "2.0", "id": 4_711, "result": "nobody asked" })),
        Step::Send(json!({ "jsonrpc": "2.0", "method": 5 })),
        Step::notify("x/unknown", json!({ "a": 1 })),
        Step::notify("textDocument/publishDiagnostics", json!({ "uri": "a.toy" })),
    ];
    for step in odd {
        let shown = format!("{step:?}");
        let checkout = on_hover([step, Step::Default]).make();
        for _ in 0..2 {
            let hover = checkout.hover("a.toy", 2, "area").await;
            assert_eq!(hover, "```toy\ndef area\n```", "{shown}");
        }
        assert_eq!(checkout.log().started().len(), 1, "{shown}");
    }
}

pub(crate) async fn diagnostics_of_odd_shapes_are_read() {
    let mut backwards = range(0, 0, 3);
    backwards["start"]["character"] = json!(-1);
    let mut markup = diagnostic(range(1, 0, 4), 1, 7, "");
    markup["message"] = json!({ "kind": "markdown", "value": "in *markup*" });
    let severe = diagnostic(range(0, 0, 3), 9, "E", "of a severity that there is not");
    let bare = json!({ "range": range(0, 4, 8), "message": "without severity and code" });
    let list = [diagnostic(backwards, 1, "E", "at column -1"), markup, severe, bare];
    let script = Script::new("toy").on(
        "textDocument/didOpen",
        [Step::publish([]).uri("a.toy").version(Version::Absent), Step::publish(list)],
    );
    let checkout = Setup::new([row(script)]).file("a.toy", "def area\narea\n").make();
    let (state, _, messages) = checkout.diagnostics("a.toy").await;
    assert_eq!(state, "dirty");
    assert_eq!(messages, ["at column -1", "without severity and code", "in *markup*"]);
    let why = checkout.status("toy").await["why"].clone();
    assert_eq!(why, "1 of its messages made no sense, the last: diagnostics for no file");
}

// The deadlock of research: a client that writes before it reads, and a server that does so too.
// report: D15
pub(crate) async fn a_server_that_writes_before_it_reads_is_drained() {
    let flood = Step::Flood { publishes: 300, bytes: 1_000 };
    let script =
        Script::toy("toy", Toy::without_diagnostics()).on("textDocument/didChange", [flood]);
    let mut setup = Setup::new([row(script)]).file("a.toy", "def area\narea\n");
    let names: Vec<_> = (0..40).map(|number| format!("f{number}.toy")).collect();
    for name in &names {
        setup = setup.file(name, "def f\n");
    }
    let checkout = setup.make();
    for name in &names {
        checkout.call("lsp", json!({ "action": "symbols", "file": name })).await.unwrap();
    }
    let long = format!("# {}\n", "y".repeat(24_000));
    names.iter().for_each(|name| checkout.put(name, &long));
    assert_eq!(checkout.hover("a.toy", 2, "area").await, "```toy\ndef area\n```");
    assert_eq!(checkout.log().calls("textDocument/didChange").len(), 40);
}

// spec: LSP-16
// report: D15
pub(crate) async fn a_server_that_reads_nothing_costs_a_call_its_time_and_no_more() {
    let script = Script::toy("toy", Toy::push())
        .rule(Rule::on("textDocument/didOpen").nth(Nth::Only(2)).then([Step::StopReading(None)]));
    let checkout = Setup::new([row(script)])
        .file("a.toy", "def area\narea\n")
        .file("b.toy", "def b\n")
        .waits(|waits| waits.answer = Duration::from_secs(2))
        .make();
    checkout.hover("a.toy", 2, "area").await;
    let symbols = json!({ "action": "symbols", "file": "b.toy" });
    checkout.call("lsp", symbols).await.unwrap_err();
    checkout.put("a.toy", &format!("def area\narea\n# {}\n", "y".repeat(2_000_000)));
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Timeout, "timed_out"));
    assert!(error.message.contains("has not read "), "{}", error.message);
    assert!(error.message.contains("ask again, or reload it"), "{}", error.message);
}

// spec: LSP-16
// report: D15
pub(crate) async fn a_server_that_has_long_read_nothing_is_asked_nothing_and_said_to_be_stuck() {
    // Longer than it takes until a server is stuck, so that the first call is late as any other.
    const WAIT: Duration = Duration::from_secs(2);
    let script = Script::toy("toy", Toy::push()).rule(
        Rule::on("textDocument/didOpen")
            .process(Nth::Only(1))
            .nth(Nth::Only(2))
            .then([Step::StopReading(None)]),
    );
    let checkout = Setup::new([row(script)])
        .file("a.toy", "def area\narea\n")
        .file("b.toy", "def b\n")
        .waits(|waits| (waits.answer, waits.stuck) = (WAIT, WAIT / 2))
        .make();
    checkout.hover("a.toy", 2, "area").await;
    let symbols = json!({ "action": "symbols", "file": "b.toy" });
    checkout.call("lsp", symbols.clone()).await.unwrap_err();
    assert_eq!(checkout.status("toy").await["state"], "ready");
    checkout.put("a.toy", &format!("def area\narea\n# {}\n", "y".repeat(2_000_000)));
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "timed_out", "{}", error.message);

    let status = checkout.status("toy").await;
    assert_eq!(status["state"], "unhealthy", "{status:#}");
    let asked = std::time::Instant::now();
    for error in [
        checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err().to_string(),
        checkout.call("lsp", symbols).await.unwrap_err().to_string(),
        checkout.diagnostics("b.toy").await.1,
        status["why"].as_str().unwrap().to_owned(),
    ] {
        assert!(error.contains("is asked nothing until it does; `lsp reload`"), "{error}");
    }
    assert!(asked.elapsed() < WAIT, "a call waited for it");
    checkout.call("lsp", json!({ "action": "reload" })).await.unwrap();
    assert_eq!(checkout.hover("a.toy", 2, "area").await, "```toy\ndef area\n```");
}

// spec: LSP-16
// report: D15
pub(crate) async fn a_server_too_far_behind_is_ended_and_that_is_said() {
    // Each file is as large as one may be; together they are more than is kept for a server.
    const FILES: usize = 20;
    const BYTES: usize = 4_000_000;
    let script = Script::toy("toy", Toy::without_diagnostics())
        .rule(Rule::on(HOVER).process(Nth::Only(1)).then([Step::StopReading(None)]));
    let mut setup = Setup::new([row(script)])
        .file("a.toy", "def area\narea\n")
        .waits(|waits| waits.restart = Duration::from_millis(50));
    let names: Vec<_> = (0..FILES).map(|at| format!("f{at}.toy")).collect();
    for name in &names {
        setup = setup.file(name, "def f\n");
    }
    let checkout = setup.make();
    for name in &names {
        checkout.call("lsp", json!({ "action": "symbols", "file": name })).await.unwrap();
    }
    let long = format!("# {}\n", "y".repeat(BYTES));
    let asks = checkout.try_ask("hover", "a.toy", 2, "area");
    let writes = async {
        checkout.until_sent(HOVER, 1).await;
        names.iter().for_each(|name| checkout.put(name, &long));
        checkout.try_ask("hover", "a.toy", 2, "area").await
    };
    let (first, second) = tokio::join!(asks, writes);
    for error in [first.unwrap_err(), second.unwrap_err()] {
        assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Failed, "server_failed"));
        let start = "toy: the server reads nothing, so it was ended: ";
        let rest = error.message.strip_prefix(start).unwrap_or_else(|| panic!("{error}"));
        let bytes: usize = rest.split(' ').next().unwrap().parse().unwrap();
        assert!(bytes <= agent_process::frame::MAX_QUEUED_BYTES, "{bytes}");
        assert!(bytes > agent_process::frame::MAX_QUEUED_BYTES - 2 * BYTES, "{bytes}");
    }
    let status = checkout.until_state("toy", "crashed").await;
    let why = status["why"].as_str().unwrap();
    assert!(why.starts_with("it was ended: the server reads nothing"), "{why}");
    // The next one has what the disk has.
    names.iter().for_each(|name| checkout.put(name, "def f\n"));
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(checkout.hover("a.toy", 2, "area").await, "```toy\ndef area\n```");
}

pub(crate) async fn a_dropped_call_is_cancelled_and_its_late_answer_harms_nothing() {
    let late = json!({ "jsonrpc": "2.0", "id": "${/id}", "result": { "contents": "late" } });
    let script = Script::toy("toy", Toy::push())
        .rule(Rule::on(HOVER).nth(Nth::Only(1)).then([Step::Silence]))
        .on("$/cancelRequest", [Step::Send(late.clone()), Step::Send(late)]);
    let checkout = Setup::new([row(script)]).file("a.toy", "def area\narea\n").make();
    let log = tokio::select! {
        _ = checkout.ask("hover", "a.toy", 2, "area") => panic!("it was not answered"),
        log = checkout.until_sent(HOVER, 1) => log,
    };
    let id = log.calls(HOVER)[0].id.clone();
    let log = checkout.until_sent("$/cancelRequest", 1).await;
    assert_eq!(log.calls("$/cancelRequest")[0].body, json!({ "id": id }));
    for _ in 0..2 {
        assert_eq!(checkout.hover("a.toy", 2, "area").await, "```toy\ndef area\n```");
    }
    assert_eq!(checkout.log().calls("$/cancelRequest").len(), 1);
}

pub(crate) async fn a_call_that_ran_out_of_time_is_cancelled() {
    let checkout =
        on_hover([Step::Silence]).waits(|waits| waits.answer = Duration::from_secs(2)).make();
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "timed_out");
    assert_eq!(error.message, "toy: the server did not answer in time; ask again, or reload it");
    let log = checkout.until_sent("$/cancelRequest", 1).await;
    assert_eq!(log.calls("$/cancelRequest")[0].body["id"], log.calls(HOVER)[0].id);
}

pub(crate) async fn a_request_of_the_server_is_answered_whatever_its_id_is() {
    let ids = [
        json!("${id}"),
        json!("ts1"),
        json!(""),
        json!(-1),
        json!(2_147_483_648_u64),
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
    ];
    for id in ids {
        let ask =
            Step::ask("workspace/configuration", json!({ "items": [{ "section": "toy.a" }] }));
        let checkout = Setup::new([row(Script::toy("toy", Toy::push()).on(
            HOVER,
            [ask.id(id.clone()), Step::reply(json!({ "contents": "${answer/result/0}" }))],
        ))
        .key("settings", r#"{ toy = { a = "set" } }"#)])
        .file("a.toy", "def area\narea\n")
        .make();
        assert_eq!(checkout.hover("a.toy", 2, "area").await, "set", "{id}");
    }
}

// report: D10
pub(crate) async fn every_request_of_the_server_is_answered() {
    let sections = json!({ "items": [
        { "section": "toy.lint" }, { "section": "nothing" }, {}, { "section": "toy.lint.deep" },
    ] });
    let edit = json!({ "edit": { "changes": {} } });
    let message = json!({ "type": 1, "message": "?", "actions": [{ "title": "yes" }] });
    let asked = [
        ("workspace/configuration", sections),
        ("client/registerCapability", json!({ "registrations": [{ "id": "x", "method": "x/y" }] })),
        (
            "client/unregisterCapability",
            json!({ "unregisterations": [{ "id": "x", "method": "x/y" }] }),
        ),
        ("window/workDoneProgress/create", json!({ "token": 1 })),
        ("window/showMessageRequest", message),
        ("window/showDocument", json!({ "uri": "file:///x" })),
        ("workspace/workspaceFolders", Value::Null),
        ("workspace/diagnostic/refresh", Value::Null),
        ("workspace/semanticTokens/refresh", Value::Null),
        ("workspace/inlayHint/refresh", Value::Null),
        ("workspace/codeLens/refresh", Value::Null),
        ("workspace/applyEdit", edit),
        ("x/unknown", json!({})),
    ];
    let steps = asked.iter().map(|(method, params)| Step::ask(method, params.clone()));
    let script = Script::toy("toy", Toy::push()).on(HOVER, steps.chain([Step::Default]));
    let checkout =
        Setup::new([row(script).key("settings", "{ toy = { lint = { deep = true } } }")])
            .file("a.toy", "def area\narea\n")
            .make();
    assert_eq!(checkout.hover("a.toy", 2, "area").await, "```toy\ndef area\n```");
    let log = checkout.log();
    let answer = |method: &str| {
        let answers = log.answers(method);
        assert_eq!(answers.len(), 1, "{method}");
        (answers[0].kind, answers[0].body.clone())
    };
    let lint = json!({ "deep": true });
    let configured = json!([lint, null, { "toy": { "lint": lint } }, true]);
    assert_eq!(answer("workspace/configuration"), (Kind::Response, configured));
    for method in [
        "client/registerCapability",
        "client/unregisterCapability",
        "window/workDoneProgress/create",
        "window/showMessageRequest",
        "workspace/diagnostic/refresh",
        "workspace/semanticTokens/refresh",
        "workspace/inlayHint/refresh",
        "workspace/codeLens/refresh",
    ] {
        assert_eq!(answer(method), (Kind::Response, Value::Null), "{method}");
    }
    let folders = json!([{ "uri": checkout.uri(""), "name": "checkout" }]);
    assert_eq!(answer("workspace/workspaceFolders").0, Kind::Response);
    let told = answer("workspace/workspaceFolders").1;
    assert_eq!(
        told[0]["uri"].as_str().unwrap().trim_end_matches('/'),
        folders[0]["uri"].as_str().unwrap().trim_end_matches('/')
    );
    assert_eq!(answer("window/showDocument").1, json!({ "success": false }));
    assert_eq!(answer("workspace/applyEdit").1["applied"], false);
    let (kind, refusal) = answer("x/unknown");
    assert_eq!((kind, &refusal["code"]), (Kind::Refusal, &json!(-32601)));
}

pub(crate) async fn an_answer_with_its_id_as_a_text_is_taken() {
    let reply =
        json!({ "jsonrpc": "2.0", "id": "${id_text}", "result": { "contents": "as a text" } });
    let checkout = on_hover([Step::Send(reply)]).make();
    assert_eq!(checkout.hover("a.toy", 2, "area").await, "as a text");
}

pub(crate) async fn a_message_over_the_cap_is_passed_over() {
    let checkout = on_hover([Step::flawed(Flaw::Huge(65 << 20)), Step::Default]).make();
    assert_eq!(checkout.hover("a.toy", 2, "area").await, "```toy\ndef area\n```");
    let why = checkout.status("toy").await["why"].as_str().unwrap().to_owned();
    let told = "1 of its messages made no sense, the last: a message of 681";
    assert!(why.starts_with(told), "{why}");
}

// spec: LSP-16
pub(crate) async fn an_answer_over_the_cap_fails_its_call_at_once() {
    let reply = json!({ "jsonrpc": "2.0", "id": "${id}", "params": {}, "result": null });
    let huge = Step::Flawed { flaw: Flaw::Huge(65 << 20), message: Some(reply) };
    let checkout = on_hover([huge]).make();
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "refused");
    assert!(error.message.contains("over the cap"), "{}", error.message);
}

// spec: LSP-16
pub(crate) async fn a_crash_in_the_middle_of_an_answer_is_told_with_its_exit_and_last_words() {
    let half = Step::Flawed { flaw: Flaw::Half, message: Some(reply("0123456789")) };
    let checkout =
        on_hover([Step::Stderr("the heap is broken".to_owned()), half, Step::Exit(9)]).make();
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Failed, "server_failed"));
    assert_eq!(
        error.message,
        "toy ended before it answered: exited with code 9; its last words: \"the heap is broken\""
    );
}

// spec: LSP-16
pub(crate) async fn a_server_whose_output_is_held_open_is_gone_with_its_process() {
    let ms = u64::try_from(PATIENCE.as_millis()).unwrap() * 2;
    let checkout = on_hover([Step::Spawn { ms, holds: Holds::Output }, Step::Exit(4)]).make();
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "server_failed");
    assert!(error.message.contains("exited with code 4"), "{}", error.message);
}
