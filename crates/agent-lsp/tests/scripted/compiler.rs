//! Which check of a compiler it is that ends: none is believed that may be of the files before a write.

use std::time::Duration;

use agent_testkit::lsp::{Nth, Rule, Script, Step, Toy, diagnostic, range};

use crate::fixture::{Checkout, ON_SAVE, Row, Setup, new_of, row, state_of, woven};

const SAVE: &str = "textDocument/didSave";
const RUN: &str = "rust-analyzer/runFlycheck";

/// A compiler that is asked for its check, as rust-analyzer's.
const ON_RUN: &str = r#"{ class = "compiler_on_save", progress = "toy/check", begin_ms = 1500, settle_ms = 50, restart_ms = 200, starts = "run_flycheck", fails = "check failed to start" }"#;

/// The check of the n-th start: when it begins after it was started, how long it takes, and what it finds in `a.toy`.
struct Check(u32, u64, u64, &'static [&'static str]);

/// A server with these checks and no more.
fn checks(on: &str, wait: &str, checks: impl IntoIterator<Item = Check>) -> Row {
    let script = Script::toy("toy", Toy::without_diagnostics());
    let script = checks.into_iter().fold(script, |script, Check(nth, begins, takes, finds)| {
        let token = format!("toy/check/{nth}");
        let found = finds.iter().map(|message| diagnostic(range(0, 0, 1), 1, "E", message));
        script.rule(Rule::on(on).nth(Nth::Only(nth)).then([
            Step::Wait(begins),
            Step::begin(token.as_str(), "check"),
            Step::Wait(takes),
            Step::publish(found).uri("${root}/a.toy"),
            Step::end(token.as_str()),
        ]))
    });
    row(script.on(on, [Step::Silence])).wait(wait)
}

/// A checkout whose writes wait for too short a time for any of these checks.
fn hasty(row: Row) -> Checkout {
    let setup = Setup::new([row]).file("a.toy", "a\n").file("b.toy", "b\n");
    setup.waits(|waits| waits.write = Duration::from_millis(300)).make()
}

// spec: LSP-13, LSP-16
pub(crate) async fn the_check_of_an_earlier_write_is_not_taken_for_that_of_this_one() {
    for (on, wait) in [(SAVE, ON_SAVE), (RUN, ON_RUN)] {
        // As cargo's lock holds one up: its begin is heard when the next write was made, and the next check comes late.
        let slow = [Check(1, 600, 100, &[]), Check(2, 900, 100, &["broken by the second"])];
        let checkout = hasty(checks(on, wait, slow));
        for text in ["first\n", "second\n"] {
            let written = checkout.write("a.toy", text).await;
            assert_eq!(state_of(&written), "unknown", "{on}: {}", woven(&written));
        }
        let (state, why, found) = checkout.diagnostics("a.toy").await;
        assert_eq!(
            (state.as_str(), &found[..]),
            ("dirty", &["broken by the second".to_owned()][..]),
            "{on}: {why}"
        );
        assert_eq!(checkout.log().calls(on).len(), 2, "{on}");
    }
}

// spec: LSP-13, LSP-16
pub(crate) async fn a_check_that_begins_when_it_was_given_up_is_not_taken_for_the_next() {
    for (on, wait) in [(SAVE, ON_SAVE), (RUN, ON_RUN)] {
        let slow = [Check(1, 1_700, 100, &[]), Check(2, 600, 100, &["broken by the second"])];
        let checkout = hasty(checks(on, wait, slow));
        checkout.write("a.toy", "first\n").await;
        checkout.put("a.toy", "second\n");
        let (state, why, found) = checkout.diagnostics("a.toy").await;
        assert_eq!(
            (state.as_str(), &found[..]),
            ("dirty", &["broken by the second".to_owned()][..]),
            "{on}: {why}"
        );
    }
}

// spec: LSP-13, LSP-16
pub(crate) async fn a_batch_is_checked_by_one_check_of_everything() {
    let row = checks(RUN, ON_RUN, [Check(1, 0, 50, &[]), Check(2, 0, 50, &["broken"])]);
    let checkout = Setup::new([row]).file("a.toy", "a\n").file("b.toy", "b\n").make();
    // What is there is known before the first write.
    checkout
        .call("lsp", serde_json::json!({ "action": "symbols", "file": "a.toy" }))
        .await
        .unwrap();
    checkout.until_sent(RUN, 1).await;
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    let written = checkout.write_all(&[("a.toy", Some("x\n")), ("b.toy", Some("y\n"))]).await;
    assert_eq!(new_of(&written), ["broken"]);
    assert_eq!(checkout.log().calls(RUN).len(), 2);
}

// spec: LSP-16
pub(crate) async fn a_check_that_could_not_run_is_not_clean() {
    let status = |health: &str, message: Option<&str>| Step::ServerStatus {
        health: health.to_owned(),
        quiescent: true,
        message: message.map(str::to_owned),
    };
    let fails = [
        Step::begin("toy/check/1", "check"),
        Step::end("toy/check/1"),
        status("warning", Some("cargo check failed to start: no valid metadata")),
    ];
    let long = format!("{} cargo check failed to start: no metadata", "y".repeat(2_000));
    let unwell = [
        Step::begin("toy/check/3", "check"),
        status("warning", Some(&long)),
        Step::end("toy/check/3"),
    ];
    let warned = [
        Step::begin("toy/check/4", "check"),
        status("warning", Some("no build scripts")),
        Step::end("toy/check/4"),
    ];
    let works = [Step::begin("toy/check/2", "check"), status("ok", None), Step::end("toy/check/2")];
    let script = Script::toy("toy", Toy::without_diagnostics())
        .rule(Rule::on(RUN).nth(Nth::Only(1)).then(fails))
        .rule(Rule::on(RUN).nth(Nth::Only(3)).then(unwell))
        .rule(Rule::on(RUN).nth(Nth::Only(4)).then(warned))
        .on(RUN, works);
    let checkout = Setup::new([row(script).wait(ON_RUN)]).file("a.toy", "a\n").make();
    let (state, why, _) = checkout.diagnostics("a.toy").await;
    let expected = "toy: the check could not run: cargo check failed to start: no valid metadata";
    assert_eq!((state.as_str(), why.as_str()), ("unknown", expected));
    checkout.put("a.toy", "b\n");
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    for (text, expected) in [("c\n", "failed to start: no metadata"), ("d\n", "no build scripts")] {
        checkout.put("a.toy", text);
        let (state, why, _) = checkout.diagnostics("a.toy").await;
        assert!(state == "unknown" && why.ends_with(expected), "{state}: {why}");
    }
}

// spec: LSP-04, LSP-16
pub(crate) async fn what_depends_on_a_crate_with_errors_is_not_clean() {
    let wait = ON_RUN.replace("fails", "leaves_out = \"dependent_crates\", fails");
    let package = "[package]\nname = \"a\"\n";
    let broken = |name: &str| {
        let found = [diagnostic(range(0, 0, 1), 1, "E", "broken")];
        let publish = Step::publish(found).uri(&format!("${{root}}/{name}"));
        let script = Script::toy("toy", Toy::without_diagnostics());
        let check = [Step::begin("toy/check/1", "check"), publish, Step::end("toy/check/1")];
        let setup = Setup::new([row(script.on(RUN, check)).wait(&wait)]);
        let setup = setup.file("Cargo.toml", package).file("src/lib.toy", "l\n");
        ["src/lib.rs", "src/main.rs", "src/util.toy", "tests/it.toy", "src/bin/two.toy"]
            .into_iter()
            .fold(setup, |setup, file| setup.file(file, "x\n"))
            .make()
    };
    for (erring, file, state) in [
        ("src/util.toy", "tests/it.toy", "unknown"),
        ("src/util.toy", "src/bin/two.toy", "unknown"),
        ("src/util.toy", "src/lib.toy", "clean"),
        ("tests/it.toy", "src/lib.toy", "clean"),
        ("src/bin/two.toy", "src/lib.toy", "clean"),
        ("src/bin/two.toy", "tests/it.toy", "unknown"),
    ] {
        let (found, why, _) = broken(erring).diagnostics(file).await;
        assert_eq!(found, state, "{file} with an error in {erring}: {why}");
        let expected = format!(
            "toy: the check ended with errors in {erring}: what depends on it was not compiled"
        );
        assert_eq!(why == expected, state == "unknown", "{why}");
    }
}

// spec: LSP-04, LSP-16
pub(crate) async fn a_check_that_ends_with_a_build_script_is_not_clean() {
    let wait = ON_RUN.replace("fails", "builds = \"(custom-build)\", fails");
    for (last, state) in [("build-script-build (custom-build)", "unknown"), ("a (lib)", "clean")] {
        let check = [
            Step::begin("toy/check/1", "check"),
            Step::report("toy/check/1", last, 1),
            Step::end("toy/check/1"),
        ];
        let script = Script::toy("toy", Toy::without_diagnostics()).on(RUN, check);
        let checkout = Setup::new([row(script).wait(&wait)]).file("a.toy", "a\n").make();
        let (found, why, _) = checkout.diagnostics("a.toy").await;
        assert_eq!(found, state, "{last}: {why}");
    }
}
