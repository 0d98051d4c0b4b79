//! Questions: what a symbol comes to on the wire, and how far an answer is believed.

use std::{fs, time::Duration};

use agent_testkit::lsp::{
    Encoding, Kind, Log, Nth, Rule, Says, Script, Step, Toy, location, range, uri_of,
};
use agent_tool_core::ErrorKind;
use serde_json::{Value, json};

use crate::fixture::{PULL, Setup, about, row, toy};

const HOVER: &str = "textDocument/hover";
const DEFINITION: &str = "textDocument/definition";
const REFERENCES: &str = "textDocument/references";

/// The places of an answer, as `file:line:column: text`.
fn places(answer: &Value) -> Vec<String> {
    let list = answer["locations"].as_array().unwrap();
    let place = |at: &Value| {
        let text = |key: &str| at[key].as_str().unwrap();
        format!("{}:{}:{}: {}", text("file"), at["line"], at["column"], text("text"))
    };
    list.iter().map(place).collect()
}

fn of_script(script: Script) -> Setup {
    Setup::new([row(script)]).file("a.toy", "def area\narea\n")
}

// spec: LSP-02, LSP-06
// report: D27
pub(crate) async fn columns_are_those_of_the_encoding_that_was_agreed_on() {
    let line = "\t\t\"🌍 世界\" area(café)";
    let text = format!("def café\n{line}\n");
    for encoding in [None, Some(Encoding::Utf8), Some(Encoding::Utf16), Some(Encoding::Utf32)] {
        let mut script = Script::toy("toy", Toy::push());
        script.encoding = encoding;
        let checkout = Setup::new([row(script)])
            .file("a.toy", &text)
            .file("lib.toy", "世界 def\ndef area w h\n")
            .make();
        let answer = checkout.ask("definition", "a.toy", 2, "area").await;
        assert_eq!(places(&answer), ["lib.toy:2:5: def area w h"], "{encoding:?}");
        let resolved = json!({
            "file": "a.toy", "line": 2, "column": 10, "occurrence": 1, "of": 1,
        });
        assert_eq!(answer["resolved"], resolved, "{encoding:?}");
        let answer = checkout.ask("references", "a.toy", 2, "café").await;
        let expected = ["a.toy:1:5: def café", "a.toy:2:15: \"🌍 世界\" area(café)"];
        assert_eq!(places(&answer), expected, "{encoding:?}");
        let status = checkout.status("toy").await;
        let named = encoding.map_or("utf-16", |encoding| match encoding {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
            Encoding::Utf32 => "utf-32",
        });
        assert_eq!(status["encoding"], named);
        let at = checkout.log().calls(DEFINITION)[0].body["position"].clone();
        let column = match named {
            "utf-8" => 2 + 1 + 4 + 1 + 6 + 1 + 1,
            "utf-16" => 2 + 1 + 2 + 1 + 2 + 1 + 1,
            _ => 2 + 1 + 1 + 1 + 2 + 1 + 1,
        };
        assert_eq!(at, json!({ "line": 1, "character": column }), "{encoding:?}");
    }
}

// spec: LSP-03
pub(crate) async fn occurrences_that_mean_the_same_are_no_ambiguity() {
    let checkout = Setup::new([toy(Toy::push())])
        .file("a.toy", "def area\narea(area)\ndef a.name\ndef b.name\na.name = b.name\n")
        .make();
    let same = checkout.ask("hover", "a.toy", 2, "area").await;
    assert_eq!(same["resolved"]["of"], 2);
    assert_eq!(same["contents"], "```toy\ndef area\n```");
    let error = checkout.try_ask("hover", "a.toy", 5, "name").await.unwrap_err();
    assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::InvalidArgs, "ambiguous_symbol"));
    assert!(error.message.contains("name#2"), "{}", error.message);
    let second = checkout.try_ask("hover", "a.toy", 5, "name#2").await.unwrap();
    assert_eq!(second.data["contents"], "```toy\ndef b.name\n```");
    let text = second.joined_text();
    assert!(text.starts_with("resolved `name#2` at a.toy:5:12 (2 of 2)\n"), "{text}");
}

// spec: LSP-03, LSP-16
pub(crate) async fn a_server_that_cannot_say_which_is_meant_makes_no_ambiguity() {
    let cases = [
        (Step::Exit(1), "server_failed"),
        (Step::Silence, "timed_out"),
        // It has no opinion: then it is ambiguous.
        (Step::fail(-32603, "not here"), "ambiguous_symbol"),
    ];
    for (step, code) in cases {
        let script = Script::toy("toy", Toy::push()).on(DEFINITION, [step]);
        let checkout = Setup::new([row(script)])
            .file("a.toy", "def area\narea(area)\n")
            .waits(|waits| waits.answer = Duration::from_millis(1_500))
            .make();
        let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
        assert_eq!(error.code, code, "{}", error.message);
    }
}

// spec: LSP-02, LSP-03
pub(crate) async fn a_call_with_wrong_arguments_says_which() {
    let checkout = Setup::new([toy(Toy::push())]).file("a.toy", "def area\nareas\n").make();
    let cases = [
        (json!({ "action": "hover", "file": "a.toy", "line": 1 }), "symbol_required"),
        (json!({ "action": "hover", "file": "a.toy", "line": 1, "symbol": "" }), "symbol_required"),
        (
            json!({ "action": "hover", "file": "a.toy", "line": 2, "symbol": "area" }),
            "symbol_not_found",
        ),
        (
            json!({ "action": "hover", "file": "a.toy", "line": 9, "symbol": "area" }),
            "line_out_of_range",
        ),
        (
            json!({ "action": "hover", "file": "a.toy", "line": 0, "symbol": "area" }),
            "line_out_of_range",
        ),
        (json!({ "action": "hover", "file": "no.toy", "line": 1, "symbol": "area" }), "not_found"),
        (
            json!({ "action": "hover", "file": "../a.toy", "line": 1, "symbol": "a" }),
            "outside_workspace",
        ),
        (json!({ "action": "hover", "line": 1, "symbol": "area" }), "invalid_args"),
        (json!({ "action": "hover", "file": "a.toy", "symbol": "area" }), "invalid_args"),
        (
            json!({ "action": "hover", "file": "a.toy", "line": 1, "symbol": "area", "query": "x" }),
            "invalid_args",
        ),
        (json!({ "action": "diagnostics" }), "invalid_args"),
        (json!({ "action": "diagnostics", "file": "a.toy", "line": 1 }), "invalid_args"),
        (json!({ "action": "symbols" }), "invalid_args"),
        (json!({ "action": "symbols", "file": "a.toy", "query": "x" }), "invalid_args"),
        (json!({ "action": "status", "file": "a.toy" }), "invalid_args"),
        (json!({ "action": "reload", "symbol": "x" }), "invalid_args"),
        (json!({ "action": "rename" }), "invalid_args"),
        (json!({ "file": "a.toy" }), "invalid_args"),
        (json!({ "action": "status", "column": 4 }), "invalid_args"),
    ];
    for (args, code) in cases {
        let error = checkout.call("lsp", args.clone()).await.unwrap_err();
        assert_eq!(error.code, code, "{args}: {}", error.message);
    }
    let partly = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert!(partly.message.contains("areas"), "{}", partly.message);
    let asked = json!({ "action": "symbols", "file": "a.toy", "query": null, "line": null });
    assert_eq!(checkout.call("lsp", asked).await.unwrap().data["total"], 1);
}

// spec: LSP-06, LSP-08
pub(crate) async fn each_question_about_a_place_has_its_own_answer() {
    let checkout = Setup::new([toy(Toy::push())])
        .file("lib.toy", "# what has an area\ndef shape\ndef square is shape\n")
        .file("a.toy", "def one is shape\none = square\nshape\n")
        .make();
    let of = |answer: &Value| places(answer);
    let answer = checkout.ask("definition", "a.toy", 2, "square").await;
    assert_eq!(of(&answer), ["lib.toy:3:5: def square is shape"]);
    let answer = checkout.ask("type_definition", "a.toy", 2, "square").await;
    assert_eq!(of(&answer), ["lib.toy:2:5: def shape"]);
    let answer = checkout.ask("implementation", "a.toy", 3, "shape").await;
    assert_eq!(of(&answer), ["a.toy:1:5: def one is shape", "lib.toy:3:5: def square is shape"]);
    assert_eq!(answer["evidence"], "confirmed");
    assert_eq!(
        checkout.hover("a.toy", 3, "shape").await,
        "```toy\ndef shape\n```\n\nwhat has an area"
    );
    let text = checkout.try_ask("definition", "a.toy", 2, "square").await.unwrap().joined_text();
    assert_eq!(
        text,
        "resolved `square` at a.toy:2:7\n1 definition:\nlib.toy\n  3:5: def square is shape"
    );
    let none = checkout.try_ask("implementation", "a.toy", 2, "one").await.unwrap();
    assert_eq!(
        none.joined_text(),
        "resolved `one` at a.toy:2:1\nno implementation: the server names none"
    );
}

// spec: LSP-10
pub(crate) async fn code_actions_are_listed_and_nothing_is_applied() {
    let checkout = Setup::new([toy(Toy::push())]).file("a.toy", "missing\n").make();
    checkout.diagnostics("a.toy").await;
    let answer = checkout.try_ask("code_actions", "a.toy", 1, "missing").await.unwrap();
    assert_eq!(
        answer.joined_text(),
        "resolved `missing` at a.toy:1:1\n1 code action\n- define `missing` (quickfix)\n\
         they are listed, not applied: make the change with edit"
    );
    let log = checkout.log();
    let asked = &log.calls("textDocument/codeAction")[0].body;
    assert_eq!(asked["context"]["diagnostics"][0]["code"], "E1");
    assert_eq!(asked["range"], range(0, 0, 7));
    assert!(log.methods().iter().all(|method| *method != "workspace/executeCommand"));
}

// spec: LSP-07, LSP-16
pub(crate) async fn references_are_cut_at_fifty_with_the_total() {
    let uses = "area\n".repeat(72);
    let checkout =
        Setup::new([toy(Toy::push())]).file("a.toy", &format!("def area\n{uses}")).make();
    let output = checkout.try_ask("references", "a.toy", 2, "area").await.unwrap();
    assert_eq!(places(&output.data).len(), 50);
    assert_eq!((&output.data["total"], &output.data["more"]), (&json!(73), &json!(23)));
    assert!(output.joined_text().contains("\n73 references, the first 50 of them:\n"));
}

// spec: LSP-09
pub(crate) async fn symbols_are_cut_at_their_limits_with_the_total() {
    let many = |count: usize| (0..count).map(|at| format!("def name{at}\n")).collect::<String>();
    let checkout = Setup::new([toy(Toy::push())]).file("a.toy", &many(230)).make();
    let args = json!({ "action": "symbols", "file": "a.toy" });
    let answer = checkout.call("lsp", args).await.unwrap().data;
    assert_eq!(answer["symbols"].as_array().unwrap().len(), 200);
    assert_eq!((&answer["total"], &answer["more"]), (&json!(230), &json!(30)));
    let first = json!({
        "name": "name0", "kind": "function", "container": "", "file": "a.toy", "line": 1, "column": 5,
    });
    assert_eq!(answer["symbols"][0], first);
    let args = json!({ "action": "symbols", "query": "name" });
    let answer = checkout.call("lsp", args).await.unwrap().data;
    assert_eq!(answer["symbols"].as_array().unwrap().len(), 100);
    assert_eq!((&answer["total"], &answer["more"]), (&json!(230), &json!(130)));
}

// spec: LSP-09
pub(crate) async fn a_search_of_the_workspace_starts_the_server_that_its_files_have() {
    let checkout =
        Setup::new([toy(Toy::push())]).file("sub/a.toy", "def area\ndef my_area\n").make();
    let answer =
        checkout.call("lsp", json!({ "action": "symbols", "query": "area" })).await.unwrap();
    assert_eq!(
        answer.joined_text(),
        "2 symbols:\nsub/a.toy\n  1: function area\n  2: function my_area"
    );
}

// spec: LSP-06, LSP-07
pub(crate) async fn places_outside_of_the_workspace_come_after_those_inside() {
    let outside = tempfile::tempdir().unwrap();
    let library = outside.path().join("std.toy");
    std::fs::write(&library, "def print\n  def area of the standard\n").unwrap();
    let places_of = [
        location(&uri_of(&library), range(1, 6, 10)),
        location("jdt://contents/x.class", range(7, 2, 4)),
        location("${root}/z.toy", range(0, 4, 8)),
        location("${uri}", range(1, 0, 4)),
        location("${uri}", range(1, 0, 4)),
    ];
    let script = Script::toy("toy", Toy::push()).on(DEFINITION, [Step::reply(json!(places_of))]);
    let checkout = of_script(script).file("z.toy", "def area\n").make();
    let answer = checkout.ask("definition", "a.toy", 2, "area").await;
    let library = std::fs::canonicalize(&library).unwrap();
    assert_eq!(
        places(&answer),
        [
            "a.toy:2:1: area".to_owned(),
            "z.toy:1:5: def area".to_owned(),
            format!("{}:2:7: def area of the standard", library.display()),
            "jdt://contents/x.class:8:3: ".to_owned(),
        ]
    );
    assert_eq!(answer["total"], 4);
}

// spec: LSP-16
pub(crate) async fn what_is_empty_while_the_server_reads_the_project_is_asked_again() {
    for says in [Says::Progress, Says::ServerStatus, Says::AnalyzerStatus] {
        let ready = match says {
            Says::Progress => "progress",
            Says::ServerStatus => "server_status",
            Says::AnalyzerStatus => "analyzer_status",
        };
        let script = Script::toy("toy", Toy::push().indexing(500, [says]));
        let checkout = Setup::new([row(script).ready(ready)])
            .file("a.toy", "area\n")
            .file("lib.toy", "def area\n")
            .make();
        let answer = checkout.ask("definition", "a.toy", 1, "area").await;
        assert_eq!(places(&answer), ["lib.toy:1:5: def area"], "{says:?}");
        assert_eq!(answer["evidence"], "confirmed", "{says:?}");
        assert_eq!(checkout.status("toy").await["state"], "ready", "{says:?}");
    }
}

// spec: LSP-07, LSP-16
// report: D17
pub(crate) async fn references_wait_until_the_project_is_read() {
    let toy = Toy::push().indexing(400, [Says::Progress]);
    let checkout = Setup::new([row(Script::toy("toy", toy)).ready("progress")])
        .file("a.toy", "def area\narea\n")
        .file("b.toy", "area\narea\n")
        .make();
    let answer = checkout.ask("references", "a.toy", 2, "area").await;
    assert_eq!((&answer["total"], &answer["evidence"]), (&json!(4), &json!("confirmed")));
    assert_eq!(checkout.log().calls(REFERENCES).len(), 1);
}

// spec: LSP-07, LSP-16
// report: D17
pub(crate) async fn references_wait_until_it_is_logged_that_the_files_are_known() {
    let log = |message: &str| Step::Notify {
        method: "window/logMessage".to_owned(),
        params: json!({ "type": 3, "message": message }),
    };
    // As basedpyright does it: nothing else tells.
    let script = Script::toy("toy", Toy::push().indexing(700, []))
        .on("initialized", [log("starting"), Step::Wait(900), log("Found 2 source files")]);
    let row = row(script).ready("progress").key("logs_when_ready", r#""source file""#);
    let checkout =
        Setup::new([row]).file("a.toy", "def area\narea\n").file("b.toy", "area\narea\n").make();
    let answer = checkout.ask("references", "a.toy", 2, "area").await;
    assert_eq!((&answer["total"], &answer["evidence"]), (&json!(4), &json!("confirmed")));
}

// spec: LSP-11, LSP-16
pub(crate) async fn a_server_that_reads_for_longer_than_a_call_waits_is_not_ready() {
    let toy = Toy::push().indexing(60_000, [Says::Progress]);
    let checkout = Setup::new([row(Script::toy("toy", toy)).ready("progress")])
        .file("a.toy", "area\nlocal\ndef local\n")
        .file("lib.toy", "def area\n")
        .waits(|waits| waits.answer = Duration::from_millis(2_500))
        .make();
    let hover = checkout.ask("hover", "a.toy", 2, "local").await;
    assert_eq!(hover["evidence"], "still_indexing", "what is known is told");
    let status = checkout.until_state("toy", "indexing").await;
    assert_eq!(status["why"], "indexing (0 %)");
    for (action, symbol, line) in [("definition", "area", 1), ("references", "local", 2)] {
        let error = checkout.try_ask(action, "a.toy", line, symbol).await.unwrap_err();
        assert_eq!(
            (error.kind, error.code.as_ref()),
            (ErrorKind::Timeout, "not_ready"),
            "{action}"
        );
        assert_eq!(
            error.message,
            "toy did not answer in time; it is at work: indexing (0 %); ask again later"
        );
    }
    let (state, why, found) = checkout.diagnostics("a.toy").await;
    assert_eq!((state.as_str(), found.len()), ("unknown", 0));
    assert_eq!(why, "toy: not ready: indexing (0 %)");
}

// spec: LSP-11, LSP-16
pub(crate) async fn a_server_that_cannot_read_the_project_answers_partially() {
    let status = Step::ServerStatus {
        health: "error".to_owned(),
        quiescent: true,
        message: Some("the manifest is broken".to_owned()),
    };
    let script = Script::toy("toy", Toy::push()).on("initialized", [status]);
    let checkout =
        Setup::new([row(script).ready("server_status")]).file("a.toy", "def area\narea\n").make();
    checkout.call("lsp", json!({ "action": "symbols", "file": "a.toy" })).await.unwrap();
    checkout.until_state("toy", "unhealthy").await;
    let answer = checkout.try_ask("definition", "a.toy", 2, "area").await.unwrap();
    assert_eq!(answer.data["evidence"], "partial");
    assert!(answer.joined_text().ends_with(
        "the server does not know the whole project, so there may be more: search for the name too"
    ));
    let (state, why, _) = checkout.diagnostics("a.toy").await;
    assert_eq!(
        (state.as_str(), why.as_str()),
        ("unknown", "toy: not ready: the manifest is broken")
    );
    let status = checkout.status("toy").await;
    assert_eq!(
        (&status["state"], &status["why"]),
        (&json!("unhealthy"), &json!("the manifest is broken"))
    );
}

// spec: LSP-09, LSP-16
pub(crate) async fn a_search_over_several_servers_says_which_evidence_it_has() {
    let symbols = "workspace/symbol";
    let cases = [
        ("timed_out", vec![Step::Silence]),
        ("crashed", vec![Step::Exit(1)]),
        ("partial", vec![Step::fail(-32603, "out of cheese")]),
    ];
    for (evidence, steps) in cases {
        let other = Script::toy("other", Toy::push().extensions(["oth"])).on(symbols, steps);
        let checkout = Setup::new([
            row(Script::toy("toy", Toy::push())),
            row(other).key("languages", r#"{ other = ["*.oth"] }"#),
        ])
        .file("a.toy", "def area\n")
        .file("b.oth", "def area\n")
        .waits(|waits| waits.answer = Duration::from_millis(2_500))
        .make();
        checkout.call("lsp", json!({ "action": "symbols", "file": "a.toy" })).await.unwrap();
        checkout.call("lsp", json!({ "action": "symbols", "file": "b.oth" })).await.unwrap();
        let answer =
            checkout.call("lsp", json!({ "action": "symbols", "query": "area" })).await.unwrap();
        assert_eq!(answer.data["evidence"], evidence);
        assert_eq!(answer.data["symbols"][0]["file"], "a.toy");
        assert!(answer.joined_text().contains("there may be more"), "{}", answer.joined_text());
    }
}

// spec: LSP-16
pub(crate) async fn an_answer_that_is_out_of_date_is_asked_for_again() {
    for (times, code) in [(1, -32801), (3, -32801), (2, -32802), (2, -32800)] {
        let refused = Step::fail(code, "try again");
        let script = Script::toy("toy", Toy::push())
            .rule(Rule::on(HOVER).nth(Nth::Until(times)).then([refused]));
        let checkout = of_script(script).make();
        assert_eq!(checkout.hover("a.toy", 2, "area").await, "```toy\ndef area\n```");
        assert_eq!(checkout.log().calls(HOVER).len(), 1 + times as usize);
    }
    let script = Script::toy("toy", Toy::push()).on(HOVER, [Step::content_modified()]);
    let checkout = of_script(script).make();
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "not_ready");
    assert_eq!(
        error.message,
        "toy says that its answer is out of date: content modified (-32801); ask again"
    );
    assert_eq!(checkout.log().calls(HOVER).len(), 4);
}

// spec: LSP-07, LSP-08, LSP-09, LSP-16
// report: D18
pub(crate) async fn what_is_empty_because_the_inner_server_is_dead_is_no_answer() {
    let command = "workspace/executeCommand";
    let carries = json!({ "commands": ["typescript.tsserverRequest"] });
    // A dead tsserver is answered for without a body.
    let alive = Rule::on(command).nth(Nth::Until(1)).then([Step::reply(json!({ "body": {} }))]);
    let questions = [
        (
            REFERENCES,
            json!([]),
            json!({ "action": "references", "file": "a.toy", "line": 2, "symbol": "area" }),
        ),
        (
            DEFINITION,
            json!([]),
            json!({ "action": "definition", "file": "a.toy", "line": 2, "symbol": "area" }),
        ),
        (
            HOVER,
            Value::Null,
            json!({ "action": "hover", "file": "a.toy", "line": 2, "symbol": "area" }),
        ),
        ("textDocument/documentSymbol", json!([]), json!({ "action": "symbols", "file": "a.toy" })),
        ("workspace/symbol", json!([]), json!({ "action": "symbols", "query": "area" })),
    ];
    for (method, empty, args) in questions {
        let script = Script::toy("toy", Toy::push())
            .capabilities(json!({ "executeCommandProvider": carries }))
            .rule(alive.clone())
            .on(command, [Step::reply(json!({ "success": false }))])
            .rule(Rule::on(method).process(Nth::Only(1)).then([Step::Reply(empty)]));
        let checkout = Setup::new([row(script)
            .ready("tsserver")
            .wait(r#"{ class = "tsserver_sync", settle_ms = 0 }"#)])
        .file("a.toy", "def area\narea\n")
        .waits(|waits| waits.restart = Duration::from_millis(50))
        .make();
        // Its project is loaded, and then it dies.
        checkout.diagnostics("a.toy").await;
        let error = checkout.call("lsp", args.clone()).await.unwrap_err();
        assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Failed, "server_failed"));
        let said = "toy: its tsserver ended, so it was ended too; ask again";
        assert_eq!(error.message, said, "{args}");
        // It lives on for a moment, and is asked nothing.
        let error = checkout.call("lsp", args.clone()).await.unwrap_err();
        assert_eq!(error.message, said, "{args}");
        assert_eq!(checkout.log().calls(method).len(), 1, "{args}");
        // Another one is started in its place.
        checkout.until_state("toy", "crashed").await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        checkout.diagnostics("a.toy").await;
        assert_eq!(checkout.log().started().len(), 2, "{args}");
    }
}

// spec: LSP-07, LSP-16
// report: D18
pub(crate) async fn what_is_empty_is_no_answer_where_the_inner_server_cannot_be_asked() {
    let command = "workspace/executeCommand";
    let carries = json!({ "commands": ["typescript.tsserverRequest"] });
    let own = "<semantic> TypeScript Server Error (5.9.2)\nNo Project.";
    for (refusal, lives) in [("write EPIPE", false), (own, true)] {
        let script = Script::toy("toy", Toy::push())
            .capabilities(json!({ "executeCommandProvider": carries.clone() }))
            .on(command, [Step::fail(1, refusal)])
            .on(REFERENCES, [Step::reply(json!([]))]);
        let checkout = Setup::new([row(script)
            .ready("tsserver")
            .wait(r#"{ class = "tsserver_sync", settle_ms = 0 }"#)])
        .file("a.toy", "def area\narea\n")
        .make();
        let args = json!({ "action": "references", "file": "a.toy", "line": 2, "symbol": "area" });
        match checkout.call("lsp", args).await {
            Ok(found) => assert!(lives && found.data["total"] == 0, "{}", found.joined_text()),
            Err(error) => assert!(!lives && error.message.contains(refusal), "{error}"),
        }
    }
}

pub(crate) async fn what_a_server_cannot_do_is_said() {
    let by_capability =
        Script::toy("toy", Toy::push()).capabilities(json!({ "hoverProvider": null }));
    let by_error =
        Script::toy("toy", Toy::push()).on(HOVER, [Step::fail(-32601, "no such method")]);
    for script in [by_capability, by_error] {
        let checkout = of_script(script).make();
        let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
        assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Unavailable, "unsupported"));
        assert!(error.message.contains("ask something else of it"), "{}", error.message);
    }
    let refusing = Script::toy("toy", Toy::push()).on(HOVER, [Step::fail(0, "no views")]);
    let error = of_script(refusing).make().try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(
        (error.code.as_ref(), error.message.as_str()),
        ("refused", "toy: the server answered: no views (0)")
    );
}

pub(crate) async fn what_a_server_registers_a_little_later_is_asked_for() {
    let register =
        Step::Register { id: "h".to_owned(), method: HOVER.to_owned(), options: Value::Null };
    let script = Script::toy("toy", Toy::push())
        .capabilities(json!({ "hoverProvider": null }))
        .on("initialized", [Step::Wait(150), register]);
    let checkout = of_script(script).make();
    assert_eq!(checkout.hover("a.toy", 2, "area").await, "```toy\ndef area\n```");
}

// report: D4
pub(crate) async fn a_file_that_was_changed_behind_our_back_is_sent_first() {
    let checkout = of_script(Script::toy("toy", Toy::push())).file("b.toy", "def b\n").make();
    checkout.hover("a.toy", 2, "area").await;
    checkout.call("lsp", json!({ "action": "symbols", "file": "b.toy" })).await.unwrap();
    checkout.put("a.toy", "# shifted\n\ndef area\narea\n");
    checkout.put("b.toy", "def b\ndef c\n");
    assert_eq!(checkout.hover("a.toy", 4, "area").await, "```toy\ndef area\n```");
    let log = checkout.log();
    let about_a = about(&log, &checkout.uri("a.toy"));
    assert_eq!(about_a, ["didOpen", "hover", "changed", "didChange", "didSave", "hover"]);
    let about_b = about(&log, &checkout.uri("b.toy"));
    assert_eq!(about_b, ["didOpen", "documentSymbol", "changed", "didChange", "didSave"]);
    let change = &log.calls("textDocument/didChange")[0].body;
    assert_eq!(change["textDocument"]["version"], 2);
    // What is the same is not sent again.
    checkout.hover("a.toy", 4, "area").await;
    assert_eq!(checkout.log().calls("textDocument/didChange").len(), 2);
}

// spec: LSP-16
// report: D29
pub(crate) async fn a_file_that_is_gone_is_closed_and_told_as_deleted() {
    let checkout = of_script(Script::toy("toy", Toy::push().watched()))
        .file("lib.toy", "def shape\n")
        .file("b.toy", "shape\n")
        .make();
    checkout.hover("a.toy", 2, "area").await;
    checkout.call("lsp", json!({ "action": "symbols", "file": "lib.toy" })).await.unwrap();
    assert_eq!(checkout.diagnostics("b.toy").await.0, "clean");
    checkout.remove("lib.toy");
    let (state, _, found) = checkout.diagnostics("b.toy").await;
    assert_eq!((state.as_str(), found), ("dirty", vec!["undefined name shape".to_owned()]));
    let about_lib = about(&checkout.log(), &checkout.uri("lib.toy"));
    assert_eq!(about_lib, ["didOpen", "documentSymbol", "didClose", "deleted"]);
    let gone = checkout.call("lsp", json!({ "action": "symbols", "file": "lib.toy" })).await;
    assert_eq!(gone.unwrap_err().code, "not_found");
}

// spec: LSP-16
pub(crate) async fn what_changes_in_a_cache_is_not_told() {
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n# made by a build\n";
    let checkout = Setup::new([row(Script::toy("toy", Toy::pull().watched())).wait(PULL)])
        .file("a.toy", "def area\n")
        .file("out/CACHEDIR.TAG", tag)
        .file("out/made.toy", "def one\n")
        .file("named/CACHEDIR.TAG", "no signature\n")
        .file("named/own.toy", "def two\n")
        .make();
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    for file in ["out/made.toy", "named/own.toy"] {
        checkout.put(file, "def other\n");
    }
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    let log = checkout.log();
    assert_eq!(about(&log, &checkout.uri("out/made.toy")), Vec::<String>::new());
    assert_eq!(about(&log, &checkout.uri("named/own.toy")), ["changed"]);
}

// spec: LSP-16
pub(crate) async fn a_file_that_a_shell_made_is_told_as_created() {
    let script = Script::toy("toy", Toy::pull().watched());
    let checkout = Setup::new([row(script).wait(PULL)]).file("a.toy", "shape\n").make();
    let (state, _, found) = checkout.diagnostics("a.toy").await;
    assert_eq!((state.as_str(), found), ("dirty", vec!["undefined name shape".to_owned()]));
    checkout.put("lib.toy", "def shape\n");
    checkout.put("notes.txt", "nothing for a server\n");
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    checkout.remove("lib.toy");
    assert_eq!(checkout.diagnostics("a.toy").await.0, "dirty");
    let log = checkout.log();
    assert_eq!(about(&log, &checkout.uri("lib.toy")), ["created", "deleted"]);
    assert_eq!(about(&log, &checkout.uri("notes.txt")), Vec::<String>::new());
}

// spec: LSP-16
pub(crate) async fn a_file_that_is_replaced_is_told_as_changed() {
    let checkout = Setup::new([row(Script::toy("toy", Toy::pull())).wait(PULL)])
        .file("a.toy", "def area\n")
        .file("lib.toy", "def one\n")
        .make();
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    // As an editor does it: a new file takes the name.
    checkout.put("new.tmp", "def two\n");
    std::fs::rename(checkout.root().join("new.tmp"), checkout.root().join("lib.toy")).unwrap();
    checkout.diagnostics("a.toy").await;
    // As git does it: the file goes, and another one comes.
    checkout.remove("lib.toy");
    checkout.put("lib.toy", "def three\n");
    checkout.diagnostics("a.toy").await;
    // What came and went meanwhile was never there.
    checkout.put("short.toy", "def four\n");
    checkout.remove("short.toy");
    checkout.diagnostics("a.toy").await;
    let log = checkout.log();
    assert_eq!(about(&log, &checkout.uri("lib.toy")), ["changed", "changed"]);
    assert_eq!(about(&log, &checkout.uri("short.toy")), Vec::<String>::new());
}

// spec: LSP-16
pub(crate) async fn a_server_is_told_of_the_files_that_it_registered_for() {
    let options = json!({ "watchers": [
        { "globPattern": "**/*.json" }, { "globPattern": "**/once.txt", "kind": 1 },
    ] });
    let register = Step::Register {
        id: "files".to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        options,
    };
    let script = Script::toy("toy", Toy::pull()).on("initialized", [register, Step::Default]);
    let checkout = Setup::new([row(script).wait(PULL)])
        .file("a.toy", "def area\n")
        .file("sub/base.json", "{}")
        .make();
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    checkout.until_sent("textDocument/diagnostic", 1).await;
    for file in ["sub/base.json", "new.json", "once.txt", "notes.txt"] {
        checkout.put(file, "{ }");
    }
    checkout.diagnostics("a.toy").await;
    checkout.put("once.txt", "{  }");
    checkout.diagnostics("a.toy").await;
    let log = checkout.log();
    let told = |file: &str| about(&log, &checkout.uri(file));
    assert_eq!(told("sub/base.json"), ["changed"]);
    assert_eq!(told("new.json"), ["created"]);
    assert_eq!(told("once.txt"), ["created"]);
    assert_eq!(told("notes.txt"), Vec::<String>::new());
}

// spec: LSP-16
pub(crate) async fn what_changed_before_a_server_registered_for_it_is_told_all_the_same() {
    let register = |id: &str, pattern: &str| Step::Register {
        id: id.to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        options: json!({ "watchers": [{ "globPattern": pattern }] }),
    };
    let on = |nth: u32, step: Step| {
        let rule = Rule::on("textDocument/diagnostic").nth(Nth::Only(nth));
        rule.then([Step::Default, Step::Wait(100), step])
    };
    let script = Script::toy("toy", Toy::pull())
        .rule(on(1, register("json", "**/*.json")))
        .rule(on(2, register("text", "**/*.txt")));
    let checkout = Setup::new([row(script).wait(PULL)])
        .file("a.toy", "def area\n")
        .file("base.json", "{}")
        .file("notes.txt", "")
        .make();
    let told = |log: &Log, file: &str| about(log, &checkout.uri(file)).len();
    let registered = |times: usize| {
        move |log: &Log| {
            let answers = log.of(Kind::Response);
            answers.filter(|entry| entry.method == "client/registerCapability").count() >= times
        }
    };
    checkout.diagnostics("a.toy").await;
    // The server has read it by now, and registers for it a little later.
    checkout.put("base.json", "{ }");
    checkout.diagnostics("a.toy").await;
    checkout.until(registered(1)).await;
    checkout.put("notes.txt", "more");
    checkout.diagnostics("a.toy").await;
    checkout.until(registered(2)).await;
    checkout.diagnostics("a.toy").await;
    checkout.until(|log| told(log, "base.json") > 0 && told(log, "notes.txt") > 0).await;
}

pub(crate) async fn documents_that_were_not_asked_for_longest_are_closed() {
    let mut setup = of_script(Script::toy("toy", Toy::push()));
    let names: Vec<_> = (0..110).map(|at| format!("f{at}.toy")).collect();
    for name in &names {
        setup = setup.file(name, "def f\n");
    }
    let checkout = setup.make();
    checkout.hover("a.toy", 2, "area").await;
    for (at, name) in names.iter().enumerate() {
        checkout.call("lsp", json!({ "action": "symbols", "file": name })).await.unwrap();
        if at % 50 == 0 {
            checkout.hover("a.toy", 2, "area").await;
        }
    }
    assert_eq!(checkout.status("toy").await["documents"], 100);
    let log = checkout.log();
    let closed: Vec<_> = log
        .calls("textDocument/didClose")
        .into_iter()
        .map(|entry| entry.body["textDocument"]["uri"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<_> = names[..11].iter().map(|name| checkout.uri(name)).collect();
    assert_eq!(closed, expected);
}

/// clangd without a `compile_commands.json` knows the files that are open, and says nothing of it.
// spec: LSP-07, LSP-15, LSP-16
pub(crate) async fn a_server_that_knows_open_files_alone_is_shown_those_with_the_name() {
    let setup = |files: usize| {
        let row = row(Script::toy("toy", Toy::pull().indexing(600_000, []))).wait(PULL);
        let mut setup = Setup::new([row.key("knows_by", r#"["index.toys", "build/index.toys"]"#)])
            .file("a.toy", "def area\narea\n")
            .file("below/other.toy", "areas\n");
        for number in 0..files {
            setup = setup.file(&format!("below/{number:03}.toy"), "area\n");
        }
        setup
    };
    let few = setup(3).make();
    let answer = few.try_ask("references", "a.toy", 1, "area").await.unwrap();
    assert_eq!((&answer.data["total"], &answer.data["evidence"]), (&json!(5), &json!("confirmed")));
    let rename = json!({ "file": "a.toy", "line": 1, "symbol": "area", "new_name": "size" });
    few.call("lsp_rename", rename.clone()).await.unwrap();
    assert_eq!(fs::read_to_string(few.root().join("below/002.toy")).unwrap(), "size\n");

    let many = setup(60).make();
    let answer = many.try_ask("references", "a.toy", 1, "area").await.unwrap();
    assert_eq!(answer.data["evidence"], "partial");
    assert!(answer.joined_text().ends_with("search for the name too"), "{}", answer.joined_text());

    let beyond = setup(160).make();
    let error = beyond.call("lsp_rename", rename.clone()).await.unwrap_err();
    assert_eq!(error.code, "not_ready");
    assert!(error.message.contains("index.toys or build/index.toys"), "{}", error.message);
    assert_eq!(fs::read_to_string(beyond.root().join("a.toy")).unwrap(), "def area\narea\n");

    // With the file it is taken at its word.
    let known = setup(160).file("build/index.toys", "").make();
    let answer = known.try_ask("references", "a.toy", 1, "area").await.unwrap();
    assert_eq!((&answer.data["total"], &answer.data["evidence"]), (&json!(2), &json!("confirmed")));
}

// spec: LSP-09, LSP-16
pub(crate) async fn a_server_that_searches_no_workspace_is_not_taken_for_one_that_finds_nothing() {
    let other =
        Script::toy("other", Toy::push()).capabilities(json!({ "workspaceSymbolProvider": null }));
    let other = row(other).key("languages", r#"{ other = ["*.other"] }"#);
    let search = json!({ "action": "symbols", "query": "area" });
    let alone = Setup::new([other]).file("b.other", "b\n").make();
    alone.call("lsp", json!({ "action": "diagnostics", "file": "b.other" })).await.unwrap();
    let error = alone.call("lsp", search.clone()).await.unwrap_err();
    assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Unavailable, "unsupported"));

    let other =
        Script::toy("other", Toy::push()).capabilities(json!({ "workspaceSymbolProvider": null }));
    let other = row(other).key("languages", r#"{ other = ["*.other"] }"#);
    let both = Setup::new([other, toy(Toy::push())])
        .file("b.other", "b\n")
        .file("a.toy", "def area\n")
        .make();
    both.call("lsp", json!({ "action": "diagnostics", "file": "b.other" })).await.unwrap();
    let found = both.call("lsp", search).await.unwrap();
    assert_eq!(found.joined_text(), "1 symbol:\na.toy\n  1: function area");
}
