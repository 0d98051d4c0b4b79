//! A file's diagnostics: when they are those of its text, and when that is not known.

use std::time::Duration;

use agent_testkit::lsp::{Nth, Rule, Script, Step, Toy, Version, diagnostic, range};
use agent_tool_core::{ToolError, ToolOutput};
use serde_json::{Value, json};

use crate::fixture::{CHECK, Checkout, ON_SAVE, PULL, Setup, UNVERSIONED, VERSIONED, row};

const OPEN: &str = "textDocument/didOpen";
const CHANGE: &str = "textDocument/didChange";
const SAVE: &str = "textDocument/didSave";

fn error(line: u32, message: &str) -> Value {
    diagnostic(range(line, 0, 1), 1, "E", message)
}

fn undefined(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("undefined name {name}")).collect()
}

/// What the diagnostics of `a.toy` are said to be, and what they rest on.
async fn of_a(checkout: &Checkout) -> (String, Vec<String>) {
    let (state, _, found) = checkout.diagnostics("a.toy").await;
    (state, found)
}

// spec: LSP-04
// report: D1, D2, D11
pub(crate) async fn every_way_of_telling_gives_errors_and_warnings_and_clean() {
    let check = || Toy::checks_on_save(100, CHECK);
    let ways = [
        ("pull", Toy::pull(), PULL, "the server was asked"),
        ("late pull", Toy::late_pull(200), PULL, "the server was asked"),
        ("versioned", Toy::push(), VERSIONED, "it published for this version"),
        ("slow", Toy::push().settling(400), VERSIONED, "it published for this version"),
        (
            "unversioned",
            Toy::push().unversioned().settling(60),
            UNVERSIONED,
            "it published since, and then was quiet",
        ),
        ("check", check(), ON_SAVE, "the check after the save ended"),
    ];
    for (name, toy, wait, how) in ways {
        let checkout = Setup::new([row(Script::toy("toy", toy)).wait(wait)])
            .file("a.toy", "def area\nwarn old\nareas\n")
            .make();
        let (state, why, found) = checkout.diagnostics("a.toy").await;
        assert_eq!(found, ["undefined name areas", "old"], "{name}");
        assert_eq!(
            (state.as_str(), why.as_str()),
            ("dirty", format!("toy: {how}").as_str()),
            "{name}"
        );
        checkout.put("a.toy", "def area\narea\n");
        let (state, why, found) = checkout.diagnostics("a.toy").await;
        assert_eq!((state.as_str(), found.len()), ("clean", 0), "{name}: {why}");
        checkout.put("a.toy", "areas\narea\n");
        assert_eq!(
            of_a(&checkout).await,
            ("dirty".to_owned(), undefined(&["areas", "area"])),
            "{name}"
        );
        // Asked again without a change it is the same, and nothing is sent.
        let sent = checkout.log().calls(CHANGE).len();
        assert_eq!(
            of_a(&checkout).await,
            ("dirty".to_owned(), undefined(&["areas", "area"])),
            "{name}"
        );
        assert_eq!(checkout.log().calls(CHANGE).len(), sent, "{name}");
    }
}

// spec: LSP-16
pub(crate) async fn lists_of_a_check_that_came_out_of_order_are_not_taken_for_it() {
    // As rust-analyzer does it: the list is emptied and then filled, and two threads send the two.
    let check = |token: &str, published: [&[Value]; 2]| {
        let [first, second] = published.map(|list| Step::publish(list.iter().cloned()));
        [Step::begin(token, "check"), first, second, Step::end(token)]
    };
    let found: &[Value] = &[error(0, "found")];
    let mended = Script::toy("toy", Toy::without_diagnostics())
        .rule(Rule::on(SAVE).nth(Nth::Only(1)).then(check("toy/check/1", [found, &[]])))
        .on(SAVE, check("toy/check/2", [&[], found]));
    let never =
        Script::toy("toy", Toy::without_diagnostics()).on(SAVE, check("toy/check/1", [found, &[]]));
    let ways = [
        (mended, 2, ("dirty", "toy: the check after the save ended")),
        (never, 3, ("unknown", "toy: the server published its lists out of order")),
    ];
    for (script, saves, expected) in ways {
        let checkout = Setup::new([row(script).wait(ON_SAVE)]).file("a.toy", "a\n").make();
        let (state, why, _) = checkout.diagnostics("a.toy").await;
        assert_eq!((state.as_str(), why.as_str()), expected);
        assert_eq!(checkout.log().calls(SAVE).len(), saves);
    }
}

// spec: LSP-16
pub(crate) async fn a_server_that_registers_late_is_asked_all_the_same() {
    let register = Step::Register {
        id: "d".to_owned(),
        method: "textDocument/diagnostic".to_owned(),
        options: json!({ "interFileDependencies": true, "workspaceDiagnostics": false }),
    };
    // Later than any server that is not held up by its machine.
    let script = Script::toy("toy", Toy::pull())
        .capabilities(json!({ "diagnosticProvider": null }))
        .on("initialized", [Step::Wait(2_500), register]);
    let checkout = Setup::new([row(script).wait(PULL)]).file("a.toy", "areas\n").make();
    let (state, why, _) = checkout.diagnostics("a.toy").await;
    assert_eq!((state.as_str(), why.as_str()), ("dirty", "toy: the server was asked"));
}

// spec: LSP-16
pub(crate) async fn what_a_server_takes_back_is_waited_for() {
    let wait =
        r#"{ class = "push_versioned", settle_ms = 50, beside_ms = 800, provisional = "placing" }"#;
    let mut provisional = error(0, "in no package");
    provisional["source"] = json!("placing");
    let first = |list: &[Value]| Step::publish(list.iter().cloned()).version(Version::Message);
    let mended = [first(&[provisional.clone()]), Step::Wait(300), first(&[])];
    let never = [first(&[provisional.clone()])];
    for (steps, state) in [(mended.to_vec(), "clean"), (never.to_vec(), "dirty")] {
        let script = Script::toy("toy", Toy::without_diagnostics()).on(OPEN, steps);
        let checkout = Setup::new([row(script).wait(wait)]).file("a.toy", "a\n").make();
        assert_eq!(checkout.diagnostics("a.toy").await.0, state);
    }
}

/// clangd publishes twice for a text when the headers changed with it, and is idle for a moment between.
// spec: LSP-13, LSP-16
pub(crate) async fn what_is_found_with_old_headers_is_not_taken_as_final() {
    let status = |state: &str| {
        Step::notify("textDocument/clangd.fileStatus", json!({ "uri": "${uri}", "state": state }))
    };
    let publish = |list: &[Value]| Step::publish(list.iter().cloned()).version(Version::Message);
    let stale = publish(&[error(0, "undeclared function")]);
    let twice = [
        status("parsing includes, parsing main file"),
        stale.clone(),
        status("parsing includes"),
        status("idle"),
        Step::Wait(200),
        publish(&[]),
        status("idle"),
    ];
    let once = [status("parsing includes"), stale.clone(), status("idle")];
    // It was at work after it published, and nothing came of it.
    let quiet = [stale, status("parsing includes"), Step::Wait(50), status("idle")];
    for (steps, state) in
        [(twice.to_vec(), "clean"), (once.to_vec(), "dirty"), (quiet.to_vec(), "dirty")]
    {
        let script = Script::toy("toy", Toy::without_diagnostics()).on(OPEN, steps);
        let checkout = Setup::new([row(script).wait(VERSIONED)]).file("a.toy", "a\n").make();
        assert_eq!(checkout.diagnostics("a.toy").await.0, state);
    }
}

// spec: LSP-04
// report: D3
pub(crate) async fn a_first_incomplete_publish_is_not_taken_as_final() {
    let text = "one\ntwo\nthree\n";
    let ways = [
        (Toy::push().partly(1, 60), r#"{ class = "push_versioned", settle_ms = 150 }"#),
        (Toy::push().unversioned().partly(1, 60), UNVERSIONED),
        (Toy::checks_on_save(50, CHECK).partly(1, 60), ON_SAVE),
        // What the compiler has not found yet when it begins is empty.
        (Toy::checks_on_save(50, CHECK).partly(0, 100), ON_SAVE),
    ];
    for (toy, wait) in ways {
        let checkout = Setup::new([row(Script::toy("toy", toy.clone())).wait(wait)])
            .file("a.toy", text)
            .make();
        let found = of_a(&checkout).await;
        assert_eq!(found, ("dirty".to_owned(), undefined(&["one", "two", "three"])), "{toy:?}");
    }
}

// spec: LSP-04, LSP-16
// report: D12
pub(crate) async fn silence_is_unknown_and_never_clean() {
    let ways = [
        (PULL, "the server has published nothing for this text"),
        (VERSIONED, "the server has published nothing for this text"),
        (UNVERSIONED, "the server has published nothing for this text"),
        (ON_SAVE, "the check after the save has not begun"),
    ];
    for (wait, why) in ways {
        let checkout = Setup::new([row(Script::toy("toy", Toy::without_diagnostics())).wait(wait)])
            .file("a.toy", "areas\n")
            .waits(|waits| waits.answer = Duration::from_millis(1_900))
            .make();
        let args = json!({ "action": "diagnostics", "file": "a.toy" });
        let output = checkout.call("lsp", args).await.unwrap();
        assert_eq!(output.data["state"], "unknown", "{wait}");
        assert_eq!(
            output.joined_text(),
            format!("unknown: nothing was found, and that is not confirmed (toy: {why})")
        );
    }
}

// spec: LSP-16
pub(crate) async fn a_list_that_did_not_change_and_is_not_published_again_is_not_confirmed() {
    let toy = Toy::push().unversioned().without_repeats();
    let checkout = Setup::new([row(Script::toy("toy", toy)).wait(UNVERSIONED)])
        .file("a.toy", "def area\n")
        .make();
    assert_eq!(of_a(&checkout).await.0, "clean");
    checkout.put("a.toy", "def areas\n");
    assert_eq!(of_a(&checkout).await.0, "unknown", "a server that is at work is as silent");
    checkout.put("a.toy", "area\n");
    assert_eq!(of_a(&checkout).await, ("dirty".to_owned(), undefined(&["area"])));
}

// spec: LSP-16
// report: D32
pub(crate) async fn what_was_published_for_the_text_before_is_not_taken_for_this_one() {
    // A publish for the text before that comes late, with and without its version.
    for version in [Version::Older, Version::Given(1)] {
        let stale = Step::publish([]).version(version);
        let rule = Rule::on(CHANGE).then([
            stale.clone(),
            Step::Wait(300),
            Step::Default,
            Step::Wait(20),
            stale,
        ]);
        let checkout = Setup::new([row(Script::toy("toy", Toy::push()).rule(rule))])
            .file("a.toy", "def area\n")
            .make();
        assert_eq!(of_a(&checkout).await.0, "clean");
        checkout.put("a.toy", "areas\n");
        assert_eq!(of_a(&checkout).await, ("dirty".to_owned(), undefined(&["areas"])));
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(of_a(&checkout).await, ("dirty".to_owned(), undefined(&["areas"])));
    }
}

// spec: LSP-16
// report: D32
pub(crate) async fn an_answer_that_came_late_for_a_write_is_not_read_from_before_it() {
    // The write's budget ends before the server publishes; a question right after it must wait too.
    let rule = Rule::on(CHANGE).then([Step::Wait(500), Step::Default]);
    let toy = Toy::push().unversioned();
    let checkout = Setup::new([row(Script::toy("toy", toy).rule(rule)).wait(UNVERSIONED)])
        .file("a.toy", "def area\n")
        .waits(|waits| waits.write = Duration::from_millis(150))
        .make();
    assert_eq!(of_a(&checkout).await.0, "clean");
    let written = checkout.write("a.toy", "areas\n").await;
    assert_eq!(written.data["diagnostics"]["state"], "unknown");
    assert_eq!(of_a(&checkout).await, ("dirty".to_owned(), undefined(&["areas"])));
}

// spec: LSP-16
pub(crate) async fn the_empty_list_after_a_close_is_not_clean() {
    let reopened = Rule::on(OPEN).nth(Nth::From(2)).then([Step::Silence]);
    let script = Script::toy("toy", Toy::push()).rule(reopened.with("/textDocument/uri", ""));
    let checkout =
        Setup::new([row(script)]).file("a.toy", "areas\n").file("b.toy", "def b\n").make();
    assert_eq!(of_a(&checkout).await.0, "dirty");
    // The file goes and comes again: it is closed, for which the server publishes an empty list.
    checkout.remove("a.toy");
    checkout.diagnostics("b.toy").await;
    checkout.until_sent("textDocument/didClose", 1).await;
    checkout.put("a.toy", "areas\n");
    assert_eq!(of_a(&checkout).await, ("dirty".to_owned(), undefined(&["areas"])));
}

// spec: LSP-04, LSP-16
pub(crate) async fn a_crash_while_diagnostics_are_waited_for_is_unknown_with_its_reason() {
    let crash = [Step::Stderr("out of memory".to_owned()), Step::Exit(137)];
    for wait in [PULL, VERSIONED, UNVERSIONED, ON_SAVE] {
        let on = if wait == ON_SAVE { "textDocument/didSave" } else { OPEN };
        let script = Script::toy("toy", Toy::without_diagnostics()).on(on, crash.clone());
        let checkout = Setup::new([row(script).wait(wait)]).file("a.toy", "area\n").make();
        let (state, why, _) = checkout.diagnostics("a.toy").await;
        assert_eq!(state, "unknown", "{wait}");
        let expected =
            "toy: the server ended: exited with code 137; its last words: \"out of memory\"";
        assert_eq!(why, expected, "{wait}");
    }
}

// spec: LSP-04
pub(crate) async fn a_server_and_a_linter_are_merged() {
    let linter = Script::new("lint").on(
        "textDocument/didOpen",
        [Step::publish([
            diagnostic(range(0, 0, 1), 2, "L1", "too short"),
            diagnostic(range(0, 0, 5), 1, "E1", "undefined name areas"),
        ])],
    );
    let checkout =
        Setup::new([row(Script::toy("toy", Toy::pull())).wait(PULL), row(linter).linter()])
            .file("a.toy", "areas\n")
            .make();
    let (state, why, found) = checkout.diagnostics("a.toy").await;
    assert_eq!(state, "dirty");
    assert_eq!(found, ["undefined name areas", "too short"]);
    assert_eq!(why, "toy: the server was asked; lint: it published for this version");
    // A linter answers no question about a place.
    assert_eq!(checkout.hover("a.toy", 1, "areas").await, "");
    assert_eq!(checkout.log_of("lint").calls("textDocument/hover").len(), 0);
}

// spec: LSP-04, LSP-16
pub(crate) async fn one_server_of_two_that_says_nothing_leaves_it_unknown() {
    let checkout = Setup::new([
        row(Script::toy("toy", Toy::pull())).wait(PULL),
        row(Script::new("lint")).linter(),
    ])
    .file("a.toy", "def area\n")
    .waits(|waits| waits.answer = Duration::from_secs(2))
    .make();
    let (state, why, _) = checkout.diagnostics("a.toy").await;
    assert_eq!(state, "unknown");
    assert_eq!(
        why,
        "toy: the server was asked; lint: the server has published nothing for this text"
    );
}

// spec: LSP-16
pub(crate) async fn an_untrusted_checkout_is_not_compiled_and_that_is_said() {
    let toy = Toy::checks_on_save(10, CHECK);
    let checkout = Setup::new([row(Script::toy("toy", toy)).wait(ON_SAVE)])
        .file("a.toy", "def area\n")
        .untrusted()
        .make();
    let (state, why, _) = checkout.diagnostics("a.toy").await;
    assert_eq!(state, "unknown");
    assert!(why.contains("this checkout is not trusted"), "{why}");
    assert_eq!(checkout.log().calls("textDocument/didSave").len(), 0);
    let error =
        checkout.call("lsp", json!({ "action": "diagnostics", "file": "*" })).await.unwrap_err();
    assert_eq!(error.code, "untrusted");
}

/// What `diagnostics "*"` comes to.
async fn check(checkout: &Checkout) -> Result<ToolOutput, ToolError> {
    checkout.call("lsp", json!({ "action": "diagnostics", "file": "*" })).await
}

// spec: LSP-05, LSP-16
pub(crate) async fn the_projects_own_check_is_run_and_read() {
    let checkout = Setup::new([])
        .file("pyproject.toml", "")
        .file("a.py", "area\n")
        .waits(|waits| waits.check = Duration::from_millis(800))
        .make();
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 4 } });
    let found = json!({
        "file": checkout.root().join("a.py"), "severity": "error", "message": "not defined",
        "range": range, "rule": "undefined",
    });
    checkout.put("report.json", &json!({ "generalDiagnostics": [found] }).to_string());
    let version = "[ \"$1\" = --version ] && echo 1.0 && exit 0";
    let program =
        |what: &str| checkout.put_program(".venv/bin/basedpyright", &format!("{version}\n{what}"));
    program("cat report.json; exit 1");
    let output = check(&checkout).await.unwrap();
    assert_eq!(output.data["state"], "dirty");
    assert!(
        output.joined_text().ends_with("\na.py:1:1: error [undefined]: not defined"),
        "{}",
        output.joined_text()
    );
    // One that does not end in time has not found that there is nothing.
    program("sleep 30");
    let output = check(&checkout).await.unwrap();
    assert_eq!(output.data["state"], "unknown");
    let why = output.data["why"].as_str().unwrap();
    assert!(why.contains("`basedpyright` was stopped after"), "{why}");
    // One that says nothing it should say has not either.
    program("echo nonsense; exit 0");
    assert_eq!(check(&checkout).await.unwrap().data["state"], "unknown");
}

// spec: LSP-05
pub(crate) async fn a_project_without_a_check_says_what_it_has_no_marker_of() {
    let checkout = Setup::new([]).file("a.txt", "").make();
    let error = check(&checkout).await.unwrap_err();
    assert_eq!(error.code, "no_check");
    assert!(error.message.contains("Cargo.toml, tsconfig.json"), "{}", error.message);
}

pub(crate) async fn ten_thousand_publishes_cost_no_answer() {
    let flood = Step::Flood { publishes: 10_000, bytes: 1_000 };
    let script = Script::toy("toy", Toy::pull()).on(OPEN, [flood]);
    let checkout = Setup::new([row(script).wait(PULL)]).file("a.toy", "area\ndef area\n").make();
    assert_eq!(of_a(&checkout).await.0, "clean");
    assert_eq!(checkout.hover("a.toy", 1, "area").await, "```toy\ndef area\n```");
    assert_eq!(checkout.status("toy").await["why"], Value::Null);
}

pub(crate) async fn publishes_for_more_files_than_are_kept_are_counted() {
    let many: Vec<_> = (0..4_100)
        .map(|at| {
            let uri = format!("${{root}}/f{at}.toy");
            Step::Publish {
                uri: Some(uri),
                version: Version::Absent,
                diagnostics: vec![error(0, "x")],
            }
        })
        .collect();
    let script = Script::toy("toy", Toy::pull()).on(OPEN, many);
    let checkout = Setup::new([row(script).wait(PULL)]).file("a.toy", "area\ndef area\n").make();
    assert_eq!(of_a(&checkout).await.0, "clean");
    assert_eq!(
        checkout.status("toy").await["why"],
        "100 publishes of it were for more files than are kept"
    );
}
