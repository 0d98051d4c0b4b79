//! Which processes there are, when they start, and that none stays.

use std::time::{Duration, Instant};

use agent_testkit::lsp::{Holds, Kind, Nth, Rule, START, Script, Step, Toy, alive};
use agent_tool_core::ErrorKind;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::fixture::{
    Checkout, MARKER, PATIENCE, PULL, Setup, about, gone, processes, row, state_of, toy, woven,
};

const HOVER: &str = "textDocument/hover";

/// No longer than this after the end of a run may anything of it still run.
const END: Duration = Duration::from_secs(3);

fn of_script(script: Script) -> Setup {
    Setup::new([row(script)]).file("a.toy", "def area\narea\n")
}

async fn hover(checkout: &Checkout) -> String {
    checkout.hover("a.toy", 2, "area").await
}

// report: D13
pub(crate) async fn twenty_first_calls_start_one_process() {
    let script = Script::toy("toy", Toy::push()).on("initialize", [Step::Wait(200), Step::Default]);
    let checkout = of_script(script).make();
    let answers = join_all((0..20).map(|_| hover(&checkout))).await;
    assert_eq!(answers, vec!["```toy\ndef area\n```"; 20]);
    let log = checkout.log();
    assert_eq!(log.started().len(), 1);
    assert_eq!(log.of(Kind::Version).count(), 1);
    assert_eq!(log.calls("textDocument/didOpen").len(), 1);
}

// report: D7
pub(crate) async fn the_root_is_told_in_all_three_ways() {
    let checkout = Setup::new([toy(Toy::push())])
        .unmarked()
        .file("in ner#%41[é]/toy.root", "")
        .file("in ner#%41[é]/a.toy", "def area\narea\n")
        .make();
    checkout.hover("in ner#%41[é]/a.toy", 2, "area").await;
    let log = checkout.log();
    let params = &log.calls("initialize")[0].body;
    let root = checkout.root().join("in ner#%41[é]");
    let uri = checkout.uri("in ner#%41[é]");
    assert_eq!(params["rootPath"].as_str(), root.to_str());
    assert_eq!(agent_testkit::lsp::path_of(params["rootUri"].as_str().unwrap()), root);
    assert_eq!(params["workspaceFolders"][0]["uri"], params["rootUri"]);
    assert_eq!(agent_testkit::lsp::path_of(&uri), root);
    assert_eq!(params["workspaceFolders"][0]["name"], "in ner#%41[é]");
    assert_eq!(log.of(Kind::Started).next().unwrap().body["folder"].as_str(), root.to_str());
}

// report: D8
pub(crate) async fn two_roots_have_a_process_each() {
    let checkout = Setup::new([toy(Toy::push())])
        .unmarked()
        .file("one/toy.root", "")
        .file("one/a.toy", "# the first\ndef area\narea\n")
        .file("two/toy.root", "")
        .file("two/a.toy", "# the second\ndef area\narea\n")
        .make();
    assert_eq!(checkout.hover("one/a.toy", 3, "area").await, "```toy\ndef area\n```\n\nthe first");
    assert_eq!(checkout.hover("two/a.toy", 3, "area").await, "```toy\ndef area\n```\n\nthe second");
    assert_eq!(checkout.log().started().len(), 2);
    let status = checkout.call("lsp", json!({ "action": "status" })).await.unwrap().data;
    let roots: Vec<_> =
        status["servers"].as_array().unwrap().iter().map(|server| server["root"].clone()).collect();
    assert_eq!(roots, ["one", "two"]);
}

// spec: LSP-11, LSP-16, TRUST-02
pub(crate) async fn what_would_run_what_an_untrusted_checkout_names_is_not_started() {
    let named =
        |checkout: Setup| checkout.file("in/toy.root", "").file("in/a.toy", "def area\narea\n");
    let row = || {
        toy(Toy::push()).key(
            "untrusted_without",
            r#"["config/toy.conf", "*.toyproj", { file = "toy.ini", with = ["run ", "\\"] }]"#,
        )
    };
    for (file, shown) in [
        ("in/config/toy.conf", "in/config/toy.conf"),
        // It may stand above the root.
        ("config/toy.conf", "config/toy.conf"),
        ("in/any.toyproj", "in/any.toyproj"),
        ("in/toy.ini", "in/toy.ini"),
    ] {
        let checkout = named(Setup::new([row()]).unmarked().untrusted()).make();
        assert_eq!(checkout.hover("in/a.toy", 2, "area").await, "```toy\ndef area\n```", "{file}");
        let running = checkout.log().started();
        // It comes while the server runs. What names nothing matters to nobody.
        checkout.put("in/toy.ini", "look at\n");
        assert_eq!(checkout.hover("in/a.toy", 2, "area").await, "```toy\ndef area\n```", "{file}");
        checkout.put(file, "run evil\n");
        let why = format!(
            "it is not started: it would run what {shown} names, and this checkout is not trusted; its \
             person can start the run with --trust"
        );
        let error = checkout.try_ask("hover", "in/a.toy", 2, "area").await.unwrap_err();
        assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Denied, "untrusted"));
        assert_eq!(error.message, format!("toy: {why}"));
        gone(&running, END).await;
        let status = checkout.status("toy").await;
        assert_eq!((&status["state"], &status["why"]), (&json!("not trusted"), &json!(why)));
        let written = checkout.write("in/a.toy", "areas\n").await;
        assert_eq!(woven(&written), format!("diagnostics unknown for in/a.toy (toy: {why})"));
        assert_eq!(state_of(&written), "unknown");
        assert_eq!(checkout.log().started().len(), 1, "{file}");
        checkout.remove(file);
        checkout.write("in/a.toy", "def area\narea\n").await;
        assert_eq!(checkout.hover("in/a.toy", 2, "area").await, "```toy\ndef area\n```", "{file}");
        // To one that its person trusts it is a file as any other.
        let checkout = named(Setup::new([row()]).unmarked()).file(file, "").make();
        assert_eq!(checkout.hover("in/a.toy", 2, "area").await, "```toy\ndef area\n```", "{file}");
    }
}

// spec: TRUST-04
pub(crate) async fn keys_and_tokens_do_not_reach_a_server() {
    let checkout = of_script(Script::toy("toy", Toy::push())).make();
    hover(&checkout).await;
    let log = checkout.log();
    let started = log.of(Kind::Started).next().unwrap();
    let names: Vec<_> = started.body["environment"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert!(names.contains(&"PATH"), "{names:?}");
    for (secret, value) in crate::SECRETS {
        assert_eq!(std::env::var(secret).as_deref(), Ok(value), "the run has it");
        assert!(!names.contains(&secret), "{secret} reached the server");
    }
}

// spec: LSP-01
// report: D16
pub(crate) async fn a_program_of_the_root_that_is_found_comes_first() {
    let programs = r#"["toy-of-the-project"]"#;
    let at_root = toy(Toy::push())
        .key("programs", programs)
        .key("probe", r#"["toy-of-the-project", "--version"]"#);
    let checkout = Setup::new([at_root])
        .unmarked()
        .file("web/toy.root", "")
        .file("web/a.toy", "def area\narea\n")
        .make();
    let local = checkout.install_as("toy", "web/node_modules/.bin/toy-of-the-project");
    checkout.put_program("node_modules/.bin/toy-of-the-project", "exit 1");
    assert_eq!(checkout.hover("web/a.toy", 2, "area").await, "```toy\ndef area\n```");
    let status = checkout.status("toy").await;
    assert_eq!((&status["state"], &status["root"]), (&json!("ready"), &json!("web")), "{local:?}");
}

// spec: LSP-16
pub(crate) async fn a_start_that_takes_long_is_said_and_goes_on() {
    let script = Script::toy("toy", Toy::push())
        .on("initialize", [Step::request("x/hold", json!({})), Step::Wait(600), Step::Default]);
    let checkout =
        of_script(script).waits(|waits| waits.answer = Duration::from_millis(200)).make();
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Unavailable, "not_ready"));
    assert_eq!(error.message, "toy: it is still starting; ask again in a few seconds");
    checkout.until_state("toy", "ready").await;
    assert_eq!(hover(&checkout).await, "```toy\ndef area\n```");
    assert_eq!(checkout.log().started().len(), 1);
}

// spec: LSP-11, LSP-16
// report: D9
pub(crate) async fn a_server_that_exits_at_once_says_why_and_is_not_tried_again_at_once() {
    let script = Script::new("toy")
        .on(START, [Step::Stderr("no licence was found".to_owned()), Step::Exit(3)]);
    let checkout = of_script(script).make();
    let said = "it does not start (exited with code 3; its last words: \"no licence was found\")";
    for _ in 0..3 {
        let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
        assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Failed, "server_failed"));
        assert!(error.message.contains(said), "{}", error.message);
    }
    assert_eq!(checkout.log().started().len(), 1);
    let status = checkout.status("toy").await;
    assert_eq!(status["state"], "crashed");
    assert!(status["why"].as_str().unwrap().contains(said), "{status}");
}

// spec: LSP-16
pub(crate) async fn a_crash_fails_the_pending_calls_and_a_restart_opens_the_documents_again() {
    let crash = Rule::on(HOVER)
        .process(Nth::Only(1))
        .nth(Nth::Only(3))
        .then([Step::Stderr("assertion failed".to_owned()), Step::Exit(70)]);
    let silent = Rule::on(HOVER).process(Nth::Only(1)).nth(Nth::Until(2)).then([Step::Silence]);
    let script = Script::toy("toy", Toy::push()).rule(crash).rule(silent);
    let checkout = of_script(script)
        .file("b.toy", "def b\nb\n")
        .waits(|waits| waits.restart = Duration::from_millis(100))
        .make();
    checkout.diagnostics("a.toy").await;
    checkout.diagnostics("b.toy").await;
    let calls = [1, 2, 3].map(|_| checkout.try_ask("hover", "a.toy", 2, "area"));
    for answer in join_all(calls).await {
        let error = answer.unwrap_err();
        assert_eq!(error.code, "server_failed");
        assert_eq!(
            error.message,
            "toy ended before it answered: exited with code 70; its last words: \"assertion failed\""
        );
    }
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "server_failed");
    assert!(
        error.message.starts_with("toy: it ended by itself (exited with code 70"),
        "{}",
        error.message
    );
    assert_eq!(checkout.log().started().len(), 1, "it was started again at once");
    tokio::time::sleep(Duration::from_millis(150)).await;
    checkout.diagnostics("b.toy").await;
    let log = checkout.until_sent("textDocument/didOpen", 4).await;
    assert_eq!(log.started().len(), 2);
    let second = log.started()[1];
    let opened: Vec<_> = log
        .calls("textDocument/didOpen")
        .into_iter()
        .filter(|entry| entry.pid == second)
        .map(|entry| entry.body["textDocument"]["uri"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(opened.len(), 2, "{opened:?}");
    assert!(opened.contains(&checkout.uri("a.toy")) && opened.contains(&checkout.uri("b.toy")));
    assert_eq!(hover(&checkout).await, "```toy\ndef area\n```");
}

// spec: LSP-11, LSP-12
pub(crate) async fn after_three_crashes_nothing_is_started_before_a_reload() {
    let script = Script::toy("toy", Toy::push())
        .rule(Rule::on(HOVER).process(Nth::Until(3)).then([Step::Exit(1)]));
    let checkout = of_script(script).waits(|waits| waits.restart = Duration::from_millis(1)).make();
    for crashes in 1..=3 {
        checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
        checkout.until_state("toy", "crashed").await;
        assert_eq!(checkout.log().started().len(), crashes);
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "server_failed");
    assert_eq!(
        error.message,
        "toy: it ended by itself (exited with code 1); it ended 3 times and is not started again before \
         `lsp reload`"
    );
    assert_eq!(checkout.log().started().len(), 3);
    checkout.call("lsp", json!({ "action": "reload" })).await.unwrap();
    assert_eq!(hover(&checkout).await, "```toy\ndef area\n```");
}

// spec: LSP-01, LSP-11
pub(crate) async fn a_marker_without_a_binary_starts_nothing() {
    let checkout =
        Setup::new([toy(Toy::push()).missing()]).file("a.toy", "def area\narea\n").make();
    for _ in 0..2 {
        let status = checkout.status("toy").await;
        assert_eq!((&status["state"], &status["root"]), (&json!("no program"), &json!(".")));
        let why = status["why"].as_str().unwrap();
        assert!(why.contains("was not found") && why.ends_with("to install it: make toy"), "{why}");
        let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
        assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Unavailable, "no_server"));
        assert!(error.message.ends_with("to install it: make toy"), "{}", error.message);
    }
    assert_eq!(woven(&checkout.write("a.toy", "area\n").await), "");
}

// spec: LSP-01, LSP-11
pub(crate) async fn a_program_that_is_too_old_is_no_program() {
    let checkout =
        Setup::new([toy(Toy::push()).key("min_version", r#""99""#)]).file("a.toy", "a\n").make();
    let status = checkout.status("toy").await;
    assert_eq!(status["state"], "no program");
    assert!(status["why"].as_str().unwrap().contains("has to be 99 or newer"), "{status}");
}

// spec: LSP-01, LSP-11
pub(crate) async fn what_another_server_stands_in_for_is_missing_in_the_status_alone() {
    let script = |id: &str| row(Script::toy(id, Toy::pull())).wait(PULL);
    let rows = [
        script("wanted").key("priority", "1").missing(),
        script("there").key("priority", "2"),
        script("lint").linter().missing(),
    ];
    let checkout = Setup::new(rows).file("a.toy", "def area\narea\n").make();
    let (state, why, _) = checkout.diagnostics("a.toy").await;
    assert_eq!((state.as_str(), why.as_str()), ("clean", "there: the server was asked"));
    for id in ["wanted", "lint"] {
        assert_eq!(checkout.status(id).await["state"], "no program", "{id}");
    }
}

// spec: LSP-04, LSP-16
pub(crate) async fn what_a_linter_finds_alone_is_not_all() {
    let script = |id: &str| row(Script::toy(id, Toy::pull())).wait(PULL);
    let rows = [script("wanted").key("priority", "1").missing(), script("lint").linter()];
    let checkout = Setup::new(rows).file("a.toy", "def area\narea\n").make();
    let (state, why, _) = checkout.diagnostics("a.toy").await;
    assert_eq!(state, "unknown", "{why}");
    assert!(why.contains("to install it: make toy"), "{why}");
    let written = checkout.write("a.toy", "def area\n").await;
    assert_eq!(state_of(&written), "unknown");
    assert!(woven(&written).starts_with("diagnostics unknown for a.toy (the rest: no server"));
}

// spec: LSP-01, LSP-11
// report: D9
pub(crate) async fn a_binary_that_cannot_run_is_no_binary() {
    let proxy = "error: 'toy' is not installed for this toolchain";
    let checkout =
        Setup::new([toy(Toy::push()).broken(proxy)]).file("a.toy", "def area\narea\n").make();
    let status = checkout.status("toy").await;
    assert_eq!(status["state"], "no program");
    assert!(status["why"].as_str().unwrap().contains(proxy), "{status}");
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "no_server");
    assert!(error.message.contains(proxy), "{}", error.message);
}

// spec: LSP-01, LSP-11
pub(crate) async fn a_binary_without_a_marker_starts_nothing() {
    let checkout =
        Setup::new([toy(Toy::push())]).unmarked().file("a.toy", "def area\narea\n").make();
    let status = checkout.status("toy").await;
    assert_eq!((&status["state"], &status["root"]), (&json!("no root"), &Value::Null));
    assert!(status["why"].as_str().unwrap().contains(MARKER), "{status}");
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "no_server");
    assert_eq!(error.message, "no root marker is above a.toy; toy looks for toy.root");
    assert_eq!(woven(&checkout.write("a.toy", "area\n").await), "");
    assert_eq!(checkout.log().started().len(), 0);
}

pub(crate) async fn a_file_that_no_server_takes_is_said() {
    let checkout = Setup::new([toy(Toy::push())]).file("a.txt", "area\n").make();
    let error = checkout.try_ask("hover", "a.txt", 1, "area").await.unwrap_err();
    assert_eq!(error.code, "no_server");
    assert_eq!(
        error.message,
        "no language server is known for a.txt; `lsp status` lists those that are"
    );
}

// spec: LSP-03, LSP-16
pub(crate) async fn what_is_no_file_of_the_workspace_is_said_to_be_that() {
    let checkout = Setup::new([toy(Toy::push())]).file("sub/a.toy", "area\n").make();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("out.toy"), "area\n").unwrap();
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(outside.path().join(from), checkout.root().join(to)).unwrap();
    };
    link("out.toy", "out.toy");
    link("", "away");
    for (file, why) in [
        (
            "out.toy",
            "no server is asked: `out.toy` is a link that leads out of the workspace; name a file inside it",
        ),
        (
            "away/out.toy",
            "no server is asked: `away/out.toy` is a link that leads out of the workspace; name a file inside it",
        ),
        ("sub", "sub is a folder: name a file, or \"*\" for the whole project"),
    ] {
        let ask = checkout.call("lsp", json!({ "action": "diagnostics", "file": file })).await;
        let error = ask.unwrap_err();
        assert_eq!((error.code.as_ref(), error.message.as_ref()), ("no_server", why));
    }
}

// spec: LSP-12
pub(crate) async fn reload_restarts_the_servers_of_a_root() {
    let checkout = Setup::new([toy(Toy::push())])
        .unmarked()
        .file("one/toy.root", "")
        .file("one/a.toy", "def area\narea\n")
        .file("two/toy.root", "")
        .file("two/a.toy", "def area\narea\n")
        .make();
    checkout.hover("one/a.toy", 2, "area").await;
    checkout.hover("two/a.toy", 2, "area").await;
    let reload = json!({ "action": "reload", "file": "one/a.toy" });
    let output = checkout.call("lsp", reload).await.unwrap();
    let servers = output.data["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 1, "{servers:?}");
    assert_eq!((&servers[0]["root"], &servers[0]["state"]), (&json!("one"), &json!("ready")));
    let log = checkout.until_sent("textDocument/didOpen", 3).await;
    let started = log.started();
    assert_eq!(started.len(), 3);
    assert!(!alive(started[0]) && alive(started[1]) && alive(started[2]));
    // What was open is open again.
    let uri = checkout.uri("one/a.toy");
    assert_eq!(about(&log, &uri), ["didOpen", "hover", "didOpen"]);
    checkout.call("lsp", json!({ "action": "reload" })).await.unwrap();
    assert_eq!(checkout.log().started().len(), 5);
}

// spec: LSP-01, LSP-12
pub(crate) async fn reload_finds_a_program_that_was_installed_meanwhile() {
    let checkout =
        Setup::new([toy(Toy::push()).missing()]).file("a.toy", "def area\narea\n").make();
    checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    checkout.install("toy");
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "no_server", "an answer of the finder stays until it is asked anew");
    checkout.call("lsp", json!({ "action": "reload" })).await.unwrap();
    assert_eq!(hover(&checkout).await, "```toy\ndef area\n```");
}

// report: D26
pub(crate) async fn an_idle_server_is_ended_and_a_busy_one_is_spared() {
    let slow = Rule::on(HOVER).nth(Nth::Only(1)).then([Step::Wait(900), Step::Default]);
    let script = Script::toy("toy", Toy::push()).rule(slow);
    let checkout = of_script(script).waits(|waits| waits.idle = Duration::from_millis(200)).make();
    assert_eq!(hover(&checkout).await, "```toy\ndef area\n```", "it was ended while it answered");
    let log = checkout.until(|log| log.of(Kind::Exit).count() == 1).await;
    let methods = log.methods();
    assert_eq!(&methods[methods.len() - 2..], ["shutdown", "exit"]);
    assert_eq!(log.of(Kind::Exit).next().unwrap().body, 0);
    let status = checkout.status("toy").await;
    assert_eq!(status["state"], "not started");
    assert_eq!(hover(&checkout).await, "```toy\ndef area\n```");
    assert_eq!(checkout.log().started().len(), 2);
}

/// A server with a grandchild that outlives its input, and its log's processes.
async fn with_grandchild() -> Checkout {
    let spawn = Step::Spawn { ms: 60_000, holds: Holds::Nothing };
    let script = Script::toy("toy", Toy::push()).on("initialized", [spawn]);
    let checkout = of_script(script).make();
    hover(&checkout).await;
    checkout.until(|log| log.spawned().len() == 1).await;
    checkout
}

pub(crate) async fn close_leaves_no_process() {
    let checkout = with_grandchild().await;
    let all = processes(&checkout.log());
    assert_eq!(all.len(), 2);
    let begun = Instant::now();
    checkout.lsp.close().await;
    gone(&all, END.saturating_sub(begun.elapsed())).await;
    let log = checkout.log();
    assert_eq!(&log.methods()[log.methods().len() - 2..], ["shutdown", "exit"]);
    // A closed run starts nothing any more.
    let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
    assert_eq!(error.code, "closed");
    assert_eq!(woven(&checkout.write("a.toy", "area\n").await), "");
    assert_eq!(checkout.log().started().len(), 1);
}

// report: D13
pub(crate) async fn dropping_everything_leaves_no_process() {
    let checkout = with_grandchild().await;
    let all = processes(&checkout.log());
    let _kept = checkout.drop_all();
    gone(&all, END).await;
}

// report: D14
pub(crate) async fn a_start_that_hangs_leaves_no_process() {
    for ends in ["close", "drop"] {
        let spawn = Step::Spawn { ms: 60_000, holds: Holds::Nothing };
        let script = Script::toy("toy", Toy::push()).on("initialize", [spawn, Step::Silence]);
        let checkout = of_script(script)
            .waits(|waits| {
                waits.answer = Duration::from_millis(300);
                waits.write_and_start = Duration::from_millis(300);
            })
            .make();
        let error = checkout.try_ask("hover", "a.toy", 2, "area").await.unwrap_err();
        assert_eq!(error.code, "not_ready");
        // A write waits within its budget, stays a write, and says what is not known.
        let begun = Instant::now();
        let written = checkout.write("a.toy", "undefined\n").await;
        assert!(begun.elapsed() < PATIENCE);
        assert_eq!(state_of(&written), "unknown");
        assert_eq!(
            woven(&written),
            "diagnostics pending for a.toy (toy: it is still starting; ask again in a few seconds)"
        );
        let log = checkout.until(|log| log.spawned().len() == 1).await;
        let all = processes(&log);
        assert_eq!(all.len(), 2);
        let _kept = match ends {
            "close" => {
                checkout.lsp.close().await;
                None
            }
            _ => Some(checkout.drop_all()),
        };
        gone(&all, END).await;
    }
}

pub(crate) async fn a_server_that_ignores_shutdown_and_the_end_of_its_input_is_killed() {
    let script = Script::toy("toy", Toy::push()).ignores_shutdown().outlives_input(60_000);
    let checkout = of_script(script).make();
    hover(&checkout).await;
    let all = processes(&checkout.log());
    let begun = Instant::now();
    checkout.lsp.close().await;
    gone(&all, END.saturating_sub(begun.elapsed())).await;
    let log = checkout.log();
    assert_eq!(log.calls("shutdown").len(), 1);
    assert_eq!(log.of(Kind::EndOfInput).count(), 1);
}
