//! Diagnostics on write that come after the write's result.

use std::time::{Duration, Instant};

use agent_testkit::lsp::{Kind, Nth, Others, Rule, Script, Step, Toy, Version, diagnostic, range};
use agent_tool_core::ToolOutput;
use serde_json::{Value, json};

use crate::{
    fixture::{CHECK, Checkout, ON_SAVE, PATIENCE, PULL, Setup, new_of, row, state_of, woven},
    writes::{CHANGE, SAVE},
};

// spec: LSP-13, LSP-16
pub(crate) async fn what_settles_late_comes_with_the_next_result_and_once() {
    let late = Rule::on(CHANGE).nth(Nth::Only(1)).then([Step::Wait(600), Step::Default]);
    let checkout = Setup::new([row(Script::toy("toy", Toy::push()).rule(late))])
        .file("a.toy", "def area\n")
        .file("b.toy", "def b\n")
        .waits(|waits| waits.write = Duration::from_millis(200))
        .make();
    checkout.diagnostics("a.toy").await;
    let written = checkout.write("a.toy", "areas\n").await;
    assert_eq!(
        woven(&written),
        "diagnostics pending for a.toy (toy: the server has published nothing for this text)"
    );
    let told = until_late(&checkout).await;
    assert!(
        told.contains("since the last result, of the earlier write of a.toy: new diagnostics: 1 error\na.toy\n  1:1 error[E1] undefined name areas (toy)"),
        "{told}"
    );
    let next = checkout.call("lsp", json!({ "action": "status" })).await.unwrap();
    assert!(!next.joined_text().contains("since the last result"), "{}", next.joined_text());
    // What was told late is told.
    assert_eq!(new_of(&checkout.write("a.toy", "areas\n#\n").await), Vec::<String>::new());
}

// spec: LSP-13, LSP-16
pub(crate) async fn what_settles_late_is_data_too() {
    let late = Rule::on(CHANGE).nth(Nth::Only(1)).then([Step::Wait(600), Step::Default]);
    let make = || {
        Setup::new([row(Script::toy("toy", Toy::push()).rule(late.clone()))])
            .file("a.toy", "def area\n")
            .file("b.toy", "def b\n")
            .waits(|waits| waits.write = Duration::from_millis(200))
            .make()
    };
    let found = |late: &Value| {
        let new = late["new"].as_array().unwrap().iter();
        let new: Vec<_> = new.map(|new| (new["file"].clone(), new["line"].clone())).collect();
        (late["of"].clone(), new, late["perhaps_new"].clone(), late["fixed"].clone())
    };
    let expected = (json!(["a.toy"]), vec![(json!("a.toy"), json!(1))], json!([]), json!([]));

    let checkout = make();
    checkout.diagnostics("a.toy").await;
    assert_eq!(checkout.write("a.toy", "areas\n").await.data["diagnostics"]["late"], json!([]));
    let end = Instant::now() + PATIENCE;
    let late = loop {
        // A file that no server takes: the result has what came late all the same.
        let written = checkout.write("notes.txt", "a note\n").await;
        let late = written.data["diagnostics"]["late"].clone();
        if late.is_array() {
            assert!(
                woven(&written)
                    .starts_with("since the last result, of the earlier write of a.toy: ")
            );
            break late;
        }
        assert!(Instant::now() < end, "nothing came");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!((late.as_array().unwrap().len(), found(&late[0])), (1, expected.clone()));

    let checkout = make();
    checkout.diagnostics("a.toy").await;
    checkout.write("a.toy", "areas\n").await;
    let late = loop {
        let asked = checkout
            .call("lsp", json!({ "action": "diagnostics", "file": "b.toy" }))
            .await
            .unwrap()
            .data;
        if asked["late"].is_array() {
            break asked["late"].clone();
        }
        assert!(Instant::now() < end, "nothing came");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(found(&late[0]), expected);
}

// spec: LSP-13, LSP-16
pub(crate) async fn a_late_clean_names_its_file() {
    let late = Rule::on(CHANGE).nth(Nth::Only(1)).then([Step::Wait(600), Step::Default]);
    let checkout = Setup::new([row(Script::toy("toy", Toy::push()).rule(late))])
        .file("a.toy", "def area\n")
        .file("b.toy", "def b\n")
        .waits(|waits| waits.write = Duration::from_millis(200))
        .make();
    checkout.diagnostics("a.toy").await;
    checkout.write("a.toy", "def areas\n").await;
    let told = until_late(&checkout).await;
    let expected = "since the last result, of the earlier write of a.toy: no errors or warnings in what was written, confirmed";
    assert!(told.contains(expected), "{told}");
}

/// What is delivered late has the other files too.
// spec: LSP-13, LSP-16
pub(crate) async fn a_write_that_settles_late_tells_of_files_that_nobody_opened() {
    let slow = Rule::on(CHANGE).nth(Nth::Only(1)).then([Step::Wait(700), Step::Default]);
    let toy = Toy::push().others(Others::All);
    let checkout = Setup::new([row(Script::toy("toy", toy).rule(slow))])
        .file("lib.toy", "def area\n")
        .file("user.toy", "area\nold\n")
        .waits(|waits| waits.write = Duration::from_millis(300))
        .make();
    checkout.diagnostics("lib.toy").await;
    let written = checkout.write("lib.toy", "def areas\n").await;
    assert_eq!(state_of(&written), "unknown");
    let mut told = String::new();
    while !told.contains(
        "new in other files: 1 error\nuser.toy\n  1:1 error[E1] undefined name area (toy)",
    ) {
        told = until_late(&checkout).await;
        assert!(!told.contains("name old"), "{told}");
    }
}

// spec: LSP-13, LSP-16
pub(crate) async fn other_files_that_do_not_settle_are_pending_and_told_late() {
    const CONFIRMED: &str = "no errors or warnings in what was written, confirmed\n";
    // Which question is the first about the other file after the write.
    let ways = [
        (2, ("lib.toy", None), "unknown", ""),
        (4, ("lib.toy", Some("def length\n")), "clean", CONFIRMED),
    ];
    for (question, change, state, opening) in ways {
        let slow = Rule::on("textDocument/diagnostic").nth(Nth::Only(question));
        let slow = slow.then([Step::Wait(900), Step::Default]);
        let script = Script::toy("toy", Toy::pull().watched()).rule(slow);
        let checkout = Setup::new([row(script).wait(PULL)])
            .file("lib.toy", "def area\n")
            .file("user.toy", "area\n")
            .waits(|waits| waits.write = Duration::from_millis(300))
            .make();
        assert_eq!(checkout.diagnostics("user.toy").await.0, "clean");
        let written = checkout.write_all(&[change]).await;
        assert_eq!(
            woven(&written),
            format!(
                "{opening}diagnostics pending for other files: user.toy (toy: the server did not answer in time)"
            )
        );
        assert_eq!(state_of(&written), state);
        let told = until_late(&checkout).await;
        let expected = "since the last result, of the earlier write of lib.toy: new in other files: 1 error\nuser.toy\n  1:1 error[E1] undefined name area (toy)";
        assert!(told.ends_with(expected), "{told}");
    }
}

// spec: LSP-13, LSP-16
pub(crate) async fn other_files_are_looked_at_when_a_written_one_settles_late() {
    let slow = Rule::on(SAVE).nth(Nth::Only(2)).then([Step::Wait(600), Step::Default]);
    let script = Script::toy("toy", Toy::checks_on_save(50, CHECK).watched()).rule(slow);
    let checkout = Setup::new([row(script).wait(ON_SAVE)])
        .file("lib.toy", "def area\n")
        .file("user.toy", "area\n")
        .waits(|waits| waits.write = Duration::from_millis(300))
        .make();
    assert_eq!(checkout.diagnostics("user.toy").await.0, "clean");
    let written = checkout.write("lib.toy", "def length\n").await;
    let why = "(toy: the check after the save has not begun)";
    assert_eq!(woven(&written), format!("diagnostics pending for lib.toy {why}"));
    let mut told = String::new();
    while !told.contains("user.toy\n  1:1 error[E1] undefined name area (toy)") {
        told = until_late(&checkout).await;
    }
    assert!(told.contains("new in other files: 1 error"), "{told}");
}

/// Asks for what costs nothing until a result brings what came late.
pub(crate) async fn until_late(checkout: &Checkout) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let status = checkout.call("lsp", json!({ "action": "status" })).await.unwrap();
        let text = status.joined_text();
        if text.contains("since the last result") {
            return text;
        }
        assert!(Instant::now() < end, "nothing came");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

const FOUND_NONE: &str = "no errors or warnings in what was written";

// spec: LSP-14, LSP-16
pub(crate) async fn what_settles_late_is_dropped_when_the_file_was_written_again() {
    let late = Rule::on(CHANGE).nth(Nth::Only(1)).then([
        Step::Wait(700),
        Step::publish([diagnostic(range(0, 0, 1), 1, "E", "of the text before")])
            .version(Version::Message),
    ]);
    let checkout = Setup::new([row(Script::toy("toy", Toy::push()).rule(late))])
        .file("a.toy", "def area\n")
        .waits(|waits| waits.write = Duration::from_millis(200))
        .make();
    checkout.diagnostics("a.toy").await;
    let first = checkout.write("a.toy", "areas\n").await;
    assert_eq!(state_of(&first), "unknown");
    // What is waited for may look at the second text before its write does, and says the same of it.
    let is_clean = |written: &ToolOutput| {
        let text = woven(written);
        // How far the other files were looked at is a matter of time.
        assert!(text.contains(FOUND_NONE) && !text.contains("of the text before"), "{text}");
    };
    is_clean(&checkout.write("a.toy", "def area\n#\n").await);
    // It is published, and nobody is told.
    checkout
        .until(|log| {
            log.of(Kind::Sent)
                .any(|sent| sent.body["diagnostics"][0]["message"] == "of the text before")
        })
        .await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    is_clean(&checkout.write("a.toy", "def area\n#\n#\n").await);
}
