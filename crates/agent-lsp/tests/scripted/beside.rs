//! What a write breaks in other files, and what was not looked at.

use std::time::Duration;

use agent_testkit::lsp::{Nth, Others, Rule, Says, Script, Step, Toy};
use agent_tool_core::ToolOutput;
use serde_json::{Value, json};

use crate::{
    fixture::{
        PULL, Row, Setup, UNVERSIONED, VERSIONED, new_of, perhaps_new_of, row, state_of, woven,
    },
    writes::{OPEN, pull, undefined},
};

/// Errors that were told of other files are not forgotten by a write that leaves them as they are.
// spec: LSP-13, LSP-16
pub(crate) async fn a_clean_write_says_that_other_files_have_errors() {
    let script = Script::toy("toy", Toy::pull());
    let checkout = Setup::new([row(script).wait(PULL)])
        .file("a.toy", "def area\n")
        .file("b.toy", "nothing\n")
        .make();
    checkout.diagnostics("b.toy").await;
    assert_eq!(
        woven(&checkout.write("a.toy", "def area\n#\n").await),
        "no errors or warnings in what was written, confirmed; other files had 1 error when they were looked at last"
    );
    assert_eq!(state_of(&checkout.write("a.toy", "def area\n").await), "clean");
    checkout.write("b.toy", "def nothing\n").await;
    assert_eq!(
        woven(&checkout.write("a.toy", "def area\n#\n").await),
        "no errors or warnings in what was written, confirmed"
    );
}

/// A server that is asked for each file is asked for so many at most, and the rest is said.
// spec: LSP-13, LSP-16
pub(crate) async fn open_files_that_are_too_many_to_ask_about_are_named() {
    let mut setup = Setup::new([row(Script::toy("toy", Toy::pull())).wait(PULL)]);
    setup = setup.file("lib.toy", "def area\n");
    let names: Vec<String> = (0..22).map(|number| format!("user{number:02}.toy")).collect();
    for name in &names {
        setup = setup.file(name, "area\n");
    }
    let checkout = setup.make();
    for name in &names {
        checkout.diagnostics(name).await;
    }
    let written = checkout.write("lib.toy", "def areas\n").await;
    assert_eq!(new_of(&written).len(), 20);
    let rest = "no errors or warnings in what was written, and not every other file was looked at\n2 other files are open and \
                were not looked at: user01.toy, user00.toy; `lsp` with the action diagnostics and the file \"*\" looks at all";
    assert!(woven(&written).ends_with(rest), "{}", woven(&written));
}

/// A server that is asked is asked about open files alone, so those that name what a write changes are opened.
// spec: LSP-13, LSP-16
pub(crate) async fn files_that_name_what_a_write_changes_are_opened_and_looked_at() {
    let mut setup = Setup::new([pull()])
        .file("lib.toy", "def area\ndef other\n")
        .file("longer.toy", "area_2\n")
        .file("plain.toy", "other\n");
    for number in 0..12 {
        setup = setup.file(&format!("user{number:02}.toy"), "area\nold\n");
    }
    let checkout = setup.make();
    checkout.diagnostics("lib.toy").await;
    let written = checkout.write("lib.toy", "def areas\ndef other\n").await;
    // What they had before is none of it.
    assert_eq!(new_of(&written), vec![undefined("area"); 10]);
    let rest = "2 other files name `area` and were not looked at: user10.toy, user11.toy; `lsp` with the action diagnostics \
                and the file \"*\" looks at all";
    assert!(woven(&written).ends_with(rest), "{}", woven(&written));
    let others = &written.data["diagnostics"]["others"];
    let expected = json!({ "looked_at": 10, "not_looked_at": ["user10.toy", "user11.toy"], "total": 12, "why": null, "changed": [], "earlier": [], "configures": [] });
    assert_eq!(others, &expected);
    let why = written.data["diagnostics"]["why"].as_str().unwrap();
    assert!(!why.contains("confirmed"), "{why}");
    let log = checkout.log();
    let opened = |file: &str| {
        log.calls(OPEN)
            .iter()
            .filter(|call| call.body["textDocument"]["uri"] == checkout.uri(file))
            .count()
    };
    assert_eq!(["user00.toy", "plain.toy", "longer.toy"].map(opened), [1, 0, 0]);
}

/// The ways of telling in which a server looks at open files alone.
fn open_alone() -> [(&'static str, Toy, &'static str); 4] {
    [
        ("pull", Toy::pull(), PULL),
        ("versioned", Toy::push().others(Others::Open), VERSIONED),
        ("late", Toy::push().settling(100).others(Others::Open), VERSIONED),
        ("unversioned", Toy::push().unversioned().settling(50).others(Others::Open), UNVERSIONED),
    ]
}

/// The server starts with the very write, and nobody opened a file before.
// spec: LSP-13, LSP-16
pub(crate) async fn a_first_write_tells_what_it_breaks_in_files_that_nobody_opened() {
    for (name, toy, wait) in open_alone() {
        for indexing in [false, true] {
            let (toy, ready) = match indexing {
                true => (toy.clone().indexing(300, [Says::Progress]), "progress"),
                false => (toy.clone(), "at_once"),
            };
            let checkout = Setup::new([row(Script::toy("toy", toy)).wait(wait).ready(ready)])
                .file("lib.toy", "def area\n")
                .file("user.toy", "area\nold\n")
                .file("plain.toy", "other\n")
                .make();
            let written = checkout.write("lib.toy", "def areas\n").await;
            let found = [new_of(&written), perhaps_new_of(&written)].concat();
            assert!(found.contains(&undefined("area")), "{name} {indexing}: {}", woven(&written));
            let others = &written.data["diagnostics"]["others"];
            assert_eq!(others["looked_at"], 1, "{name} {indexing}: {others}");
            if !indexing {
                assert_eq!(new_of(&written), [undefined("area")], "{name}");
            }
        }
    }
}

/// A name that cannot be learnt in time leaves it unknown who needs it, and that is said.
// spec: LSP-16
pub(crate) async fn a_server_that_names_nothing_leaves_other_files_unknown() {
    let silent = Rule::on("textDocument/documentSymbol").then([Step::Silence]);
    let checkout = Setup::new([row(Script::toy("toy", Toy::pull()).rule(silent)).wait(PULL)])
        .file("lib.toy", "def area\n")
        .file("user.toy", "area\n")
        .make();
    checkout.diagnostics("lib.toy").await;
    let written = checkout.write("lib.toy", "def areas\n").await;
    assert_eq!(
        woven(&written),
        "no errors or warnings in what was written, and not every other file was looked at\nother files were not looked at \
         (toy: the server did not answer in time); `lsp` with the action diagnostics and the file \"*\" looks at all"
    );
    assert_eq!(written.data["diagnostics"]["others"]["total"], Value::Null);
}

/// A command tells that a file is gone, and not what it had.
// spec: LSP-13, LSP-16
pub(crate) async fn a_file_that_goes_is_looked_for_by_its_name() {
    for (name, toy, wait) in open_alone() {
        let checkout = Setup::new([row(Script::toy("toy", toy.watched())).wait(wait)])
            .file("area.toy", "def area\n")
            .file("user.toy", "area\n")
            .file("plain.toy", "# nothing\n")
            .make();
        let gone = checkout.call("shell", json!({ "files": [{ "path": "area.toy" }] })).await;
        let gone = gone.unwrap();
        let found = [new_of(&gone), perhaps_new_of(&gone)].concat();
        assert_eq!(found, [undefined("area")], "{name}: {}", woven(&gone));
        assert_eq!(state_of(&gone), "dirty", "{name}");
        let plain = checkout.call("shell", json!({ "files": [{ "path": "plain.toy" }] })).await;
        let plain = plain.unwrap();
        assert!(!woven(&plain).contains("confirmed"), "{name}: {}", woven(&plain));
        assert_ne!(state_of(&plain), "clean", "{name}");
    }
}

// spec: LSP-16
pub(crate) async fn a_deletion_is_unknown_while_a_server_is_not_ready() {
    let unhealthy = Step::ServerStatus {
        health: "error".to_owned(),
        quiescent: true,
        message: Some("no workspace".to_owned()),
    };
    let script = Script::toy("toy", Toy::push()).on("initialized", [unhealthy]);
    let checkout =
        Setup::new([row(script)]).file("area.toy", "def area\n").file("user.toy", "area\n").make();
    let gone = checkout.call("shell", json!({ "files": [{ "path": "area.toy" }] })).await.unwrap();
    assert_eq!(state_of(&gone), "unknown");
    let text = woven(&gone);
    assert!(text.contains("not ready: no workspace"), "{text}");
}

/// The toy server that takes the first questions for the names of a file and never answers them.
fn deaf_to_names(times: u32) -> Row {
    let deaf = (1..=times).map(|nth| {
        Rule::on("textDocument/documentSymbol").nth(Nth::Only(nth)).then([Step::Silence])
    });
    let script = deaf.fold(Script::toy("toy", Toy::pull()), |script, rule| script.rule(rule));
    row(script).wait(PULL)
}

// spec: LSP-13, LSP-16
pub(crate) async fn what_a_write_could_not_look_at_is_looked_at_with_the_next() {
    let make = |times| {
        Setup::new([deaf_to_names(times)])
            .file("lib.toy", "def area\ndef other\n")
            .file("user.toy", "area\nold\n")
            .file("c.toy", "def c\n")
            .waits(|waits| waits.baseline = Duration::from_millis(200))
            .make()
    };
    let others = |output: &ToolOutput| output.data["diagnostics"]["others"].clone();
    let renamed = "def areas\ndef other\n";
    let unknown = |output: &ToolOutput| {
        let others = others(output);
        assert_eq!(others["total"], Value::Null, "{others}");
        let why = "toy: the server did not answer in time";
        assert_eq!(others["why"], why);
        assert!(!woven(output).contains("confirmed"), "{}", woven(output));
    };

    // The same file, with another change: what it was before both is the baseline.
    let checkout = make(1);
    unknown(&checkout.write("lib.toy", renamed).await);
    let second = checkout.write("lib.toy", "def areas\ndef other\n#\n").await;
    assert_eq!(
        woven(&second),
        "new in other files: 1 error\nuser.toy\n  1:1 error[E1] undefined name area (toy)\n\
         no errors or warnings in what was written, confirmed; other files had 1 error when they were looked at last\n\
         other files were looked at for the earlier write of lib.toy as well, after which they were not"
    );
    assert_eq!(others(&second)["earlier"], json!(["lib.toy"]));
    // It is told once.
    let third = checkout.write("lib.toy", "def areas\ndef other\n#\n#\n").await;
    assert_eq!((new_of(&third), others(&third)["earlier"].clone()), (vec![], json!([])));

    // It is not known before it was looked at, however often.
    let checkout = make(2);
    unknown(&checkout.write("lib.toy", renamed).await);
    unknown(&checkout.write("lib.toy", "def areas\ndef other\n#\n").await);
    let third = checkout.write("lib.toy", "def areas\ndef other\n#\n#\n").await;
    assert_eq!(new_of(&third), [undefined("area")]);

    // Another file: nothing is known of the others from before the earlier write.
    let checkout = make(1);
    unknown(&checkout.write("lib.toy", renamed).await);
    let second = checkout.write("c.toy", "def c\n#\n").await;
    assert_eq!(perhaps_new_of(&second), [undefined("area"), undefined("old")]);
    assert_eq!(new_of(&second), Vec::<String>::new());
    assert_eq!(others(&second)["earlier"], json!(["lib.toy"]));
}

// spec: LSP-13, LSP-16
pub(crate) async fn what_was_written_before_a_server_ran_is_looked_at_with_the_next_write() {
    let slow = Rule::on("initialize").then([Step::Wait(900), Step::Default]);
    let script = Script::toy("toy", Toy::pull()).rule(slow);
    let checkout = Setup::new([row(script).wait(PULL)])
        .file("lib.toy", "def area\n")
        .file("user.toy", "area\n")
        .waits(|waits| waits.write_and_start = Duration::from_millis(200))
        .make();
    let first = checkout.write("lib.toy", "def areas\n").await;
    assert_eq!(first.data["diagnostics"]["others"]["total"], Value::Null);
    checkout.until_state("toy", "ready").await;
    let second = checkout.write("lib.toy", "def areas\n#\n").await;
    let all = [new_of(&second), perhaps_new_of(&second)].concat();
    assert_eq!(all, [undefined("area")], "{}", woven(&second));
}
