//! Diagnostics on write: what a write broke and fixed, woven into its result.

use std::time::{Duration, Instant};

use agent_testkit::lsp::{
    Kind, Nth, Others, Rule, START, Says, Script, Step, Toy, Version, diagnostic, range, uri_of,
};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::fixture::{
    CHECK, ON_SAVE, PULL, Row, Setup, UNVERSIONED, VERSIONED, about, fixed_of, new_of,
    perhaps_new_of, row, state_of, woven,
};
use crate::late::until_late;

pub(crate) const OPEN: &str = "textDocument/didOpen";
pub(crate) const CHANGE: &str = "textDocument/didChange";
pub(crate) const SAVE: &str = "textDocument/didSave";

pub(crate) fn undefined(name: &str) -> String {
    format!("undefined name {name}")
}

/// The toy server whose diagnostics are asked for.
pub(crate) fn pull() -> Row {
    row(Script::toy("toy", Toy::pull())).wait(PULL)
}

/// The toy server in each way of telling.
pub(crate) fn ways() -> [(&'static str, Toy, &'static str); 5] {
    [
        ("pull", Toy::pull(), PULL),
        ("versioned", Toy::push(), VERSIONED),
        ("late", Toy::push().settling(400), VERSIONED),
        ("unversioned", Toy::push().unversioned().settling(50), UNVERSIONED),
        ("check", Toy::checks_on_save(80, CHECK), ON_SAVE),
    ]
}

// spec: LSP-13, LSP-14
// report: D2
pub(crate) async fn a_write_tells_what_it_broke_and_what_it_fixed() {
    for (name, toy, wait) in ways() {
        let checkout = Setup::new([row(Script::toy("toy", toy)).wait(wait)])
            .file("lib.toy", "def area\n")
            .file("a.toy", "area\n")
            .make();
        // Whatever way it is, it knows the project before the first write.
        checkout.diagnostics("a.toy").await;
        let broken = checkout.write("a.toy", "area\nwarn old\nareas\n").await;
        assert_eq!(new_of(&broken), ["undefined name areas", "old"], "{name}");
        assert_eq!(state_of(&broken), "dirty", "{name}");
        assert_eq!(
            woven(&broken),
            "new diagnostics: 1 error, 1 warning\na.toy\n  3:1 error[E1] undefined name areas (toy)\n  \
             2:1 warning[W1] old (toy)",
            "{name}"
        );
        // Moved by four lines it is told no second time.
        let moved = checkout.write("a.toy", "#\n#\n#\n#\narea\nwarn old\nareas\n").await;
        assert_eq!(new_of(&moved), Vec::<String>::new(), "{name}");
        assert_eq!(woven(&moved), "no new diagnostics; 2 from before", "{name}");
        let fixed = checkout.write("a.toy", "area\n").await;
        assert_eq!(fixed_of(&fixed), ["undefined name areas", "old"], "{name}");
        assert_eq!(
            (state_of(&fixed), woven(&fixed).as_str()),
            (
                "clean",
                "fixed: 1 error, 1 warning\nno errors or warnings in what was written, confirmed"
            ),
            "{name}"
        );
        // What was fixed and comes back is new again.
        let again = checkout.write("a.toy", "area\nareas\n").await;
        assert_eq!(new_of(&again), ["undefined name areas"], "{name}");
    }
}

// spec: LSP-13, LSP-14
pub(crate) async fn what_was_broken_before_the_first_write_is_not_news() {
    for (name, toy, wait) in ways() {
        let checkout =
            Setup::new([row(Script::toy("toy", toy)).wait(wait)]).file("a.toy", "old\n").make();
        if wait == ON_SAVE {
            // A compiler has only the disk: what it found before is what it found when it began.
            let ask = || checkout.call("lsp", json!({ "action": "symbols", "file": "a.toy" }));
            ask().await.unwrap();
            checkout
                .until(|log| log.of(Kind::Sent).any(|sent| sent.body["value"]["kind"] == "end"))
                .await;
            // What it sent before an answer is read before it.
            ask().await.unwrap();
        }
        let written = checkout.write("a.toy", "old\nnew\n").await;
        assert_eq!(new_of(&written), [undefined("new")], "{name}");
        assert_eq!(perhaps_new_of(&written), Vec::<String>::new(), "{name}");
    }
}

// spec: LSP-14
pub(crate) async fn what_another_hand_may_have_fixed_is_credited_to_no_write_alone() {
    let checkout = Setup::new([pull()])
        .file("lib.toy", "def areas\n")
        .file("user.toy", "area\n")
        .file("other.toy", "def other\n")
        .make();
    assert_eq!(checkout.diagnostics("user.toy").await.0, "dirty");
    checkout.write("other.toy", "def other\n#\n").await;
    checkout.put("lib.toy", "def area\n");
    let written = checkout.write("other.toy", "def other\n#\n#\n").await;
    let fixed = "fixed, by this write or by what else changed (lib.toy): 1 error\n";
    assert!(woven(&written).starts_with(fixed), "{}", woven(&written));
    assert_eq!(written.data["diagnostics"]["others"]["changed"], json!(["lib.toy"]));
    // What a write changed itself is its own.
    let broken = checkout.write("lib.toy", "def areas\n").await;
    assert_eq!(new_of(&broken), [undefined("area")]);
    let mended = checkout.write("lib.toy", "def area\n").await;
    assert!(woven(&mended).starts_with("fixed: 1 error\n"), "{}", woven(&mended));
}

// spec: LSP-14
pub(crate) async fn a_second_diagnostic_of_the_same_words_is_new() {
    let checkout = Setup::new([pull()]).file("a.toy", "x\n").make();
    assert_eq!(new_of(&checkout.write("a.toy", "x\nx\n").await), [undefined("x")]);
    let one = checkout.write("a.toy", "x\n").await;
    assert_eq!((new_of(&one).len(), fixed_of(&one)), (0, vec![undefined("x")]));
    assert_eq!(new_of(&checkout.write("a.toy", "x\nx\nx\n").await).len(), 2);
}

// spec: LSP-14
pub(crate) async fn what_was_asked_for_is_known() {
    let checkout = Setup::new([pull()]).file("a.toy", "old\n").make();
    checkout.diagnostics("a.toy").await;
    checkout.put("a.toy", "old\nseen\n");
    assert_eq!(checkout.diagnostics("a.toy").await.2, [undefined("old"), undefined("seen")]);
    let written = checkout.write("a.toy", "old\nseen\n# more\n").await;
    assert_eq!(new_of(&written), Vec::<String>::new());
}

// spec: LSP-13, LSP-16
pub(crate) async fn a_baseline_that_is_missing_leaves_errors_in_doubt() {
    let slow = Rule::on(OPEN).nth(Nth::Only(1)).then([Step::Silence]);
    let checkout = Setup::new([row(Script::toy("toy", Toy::push()).rule(slow))])
        .file("a.toy", "old\nwarn w\n")
        .make();
    let written = checkout.write("a.toy", "old\nwarn w\nnew\n").await;
    assert_eq!(
        woven(&written),
        "perhaps new, nothing is known from before: 2 errors\na.toy\n  1:1 error[E1] undefined name old (toy) (may predate \
         this edit)\n  3:1 error[E1] undefined name new (toy) (may predate this edit)"
    );
    assert_eq!(perhaps_new_of(&written), [undefined("old"), undefined("new")]);
    let data = &written.data["diagnostics"];
    assert_eq!((&data["new"], &data["new_total"]), (&json!([]), &json!(0)));
}

// spec: LSP-13
pub(crate) async fn new_errors_of_other_files_are_told() {
    for (name, toy, wait) in ways() {
        let toy = if name == "check" { toy } else { toy.others(Others::Open) };
        let checkout = Setup::new([row(Script::toy("toy", toy)).wait(wait)])
            .file("lib.toy", "def area\n")
            .file("user.toy", "area\nwarn w\n")
            .make();
        checkout.diagnostics("user.toy").await;
        checkout.diagnostics("lib.toy").await;
        let written = checkout.write("lib.toy", "def areas\n").await;
        assert_eq!(
            woven(&written),
            "new in other files: 1 error\nuser.toy\n  1:1 error[E1] undefined name area (toy)\n\
             no errors or warnings in what was written, confirmed",
            "{name}"
        );
        let again = checkout.write("lib.toy", "def areas\n# more\n").await;
        assert_eq!(
            woven(&again),
            "no errors or warnings in what was written, confirmed; other files had 1 error when they were looked at last",
            "{name}"
        );
        let fixed = checkout.write("lib.toy", "def area\n").await;
        assert_eq!(fixed_of(&fixed), [undefined("area")], "{name}");
    }
}

// spec: LSP-13
pub(crate) async fn files_that_nobody_opened_are_told_where_the_server_publishes_for_them() {
    let toy = Toy::push().others(Others::All);
    let checkout = Setup::new([row(Script::toy("toy", toy))])
        .file("lib.toy", "def area\n")
        .file("user.toy", "area\nbefore\n")
        .make();
    checkout.diagnostics("lib.toy").await;
    let written = checkout.write("lib.toy", "def areas\n").await;
    assert_eq!(new_of(&written), [undefined("area")]);
    assert!(!written.joined_text().contains("may predate"), "{}", written.joined_text());
}

// spec: LSP-13
pub(crate) async fn a_batch_of_files_is_settled_once() {
    for (name, toy, wait) in ways() {
        let checkout = Setup::new([row(Script::toy("toy", toy)).wait(wait)])
            .file("lib.toy", "def area\n")
            .file("a.toy", "area\n")
            .file("b.toy", "area\n")
            .make();
        for file in ["a.toy", "b.toy", "lib.toy"] {
            checkout.diagnostics(file).await;
        }
        let changes = checkout.log().calls(CHANGE).len();
        // What the first file of the batch breaks, the others mend.
        let written = checkout
            .write_all(&[
                ("lib.toy", Some("def areas\n")),
                ("a.toy", Some("areas\n")),
                ("b.toy", Some("areas\nbroken\n")),
            ])
            .await;
        assert_eq!(new_of(&written), [undefined("broken")], "{name}");
        let log = checkout.log();
        assert_eq!(log.calls(CHANGE).len(), changes + 3, "{name}");
        let made = checkout
            .write_all(&[("user.toy", Some("made\n")), ("made.toy", Some("def made\n"))])
            .await;
        assert_eq!((new_of(&made).len(), state_of(&made)), (0, "clean"), "{name}");
        if name == "pull" {
            let methods = log.methods();
            let last = methods.iter().rposition(|method| *method == CHANGE).unwrap();
            let first = methods.iter().rposition(|method| *method == "textDocument/diagnostic");
            let asked =
                methods.iter().skip(last).filter(|method| **method == "textDocument/diagnostic");
            assert_eq!(asked.count(), 3, "{methods:?}");
            assert!(first.unwrap() > last);
        }
    }
}

// spec: LSP-13
pub(crate) async fn a_check_that_the_next_save_cut_short_is_not_taken_for_the_whole() {
    // As rust-analyzer does it: the first check ends at once when the second begins.
    let checks = Rule::on(SAVE).nth(Nth::Only(1)).then([
        Step::begin("toy/check/1", "check"),
        Step::Wait(150),
        Step::publish([]),
        Step::end("toy/check/1"),
        Step::begin("toy/check/2", "check"),
        Step::Wait(300),
        Step::publish([diagnostic(range(0, 0, 1), 1, "E", "found by the second")]),
        Step::end("toy/check/2"),
    ]);
    let script =
        Script::toy("toy", Toy::without_diagnostics()).rule(checks).on(SAVE, [Step::Silence]);
    let checkout = Setup::new([row(script).wait(ON_SAVE)]).make();
    let written = checkout.write_all(&[("a.toy", Some("a\n")), ("b.toy", Some("b\n"))]).await;
    assert_eq!(new_of(&written), ["found by the second"]);
    assert_eq!(checkout.log().calls(SAVE).len(), 2);
}

// spec: LSP-13
// report: D5, D29
pub(crate) async fn created_files_are_announced_and_deleted_ones_forgotten() {
    let checkout = Setup::new([row(Script::toy("toy", Toy::pull().watched())).wait(PULL)])
        .file("user.toy", "area\n")
        .make();
    checkout.diagnostics("user.toy").await;
    let created = checkout.write("lib.toy", "def area\nbroken\n").await;
    // A file that was not there had no diagnostics: what it has is new for sure.
    assert_eq!(new_of(&created), [undefined("broken")]);
    assert_eq!(fixed_of(&created), [undefined("area")]);
    assert!(!created.joined_text().contains("may predate"), "{}", created.joined_text());
    let uri = checkout.uri("lib.toy");
    assert_eq!(about(&checkout.log(), &uri)[..2], ["created", "didOpen"]);
    let deleted = checkout.write_all(&[("lib.toy", None)]).await;
    assert_eq!(
        woven(&deleted),
        "new in other files: 1 error\nuser.toy\n  1:1 error[E1] undefined name area (toy)\n\
         what was written is gone; 1 other file was looked at"
    );
    assert_eq!(state_of(&deleted), "dirty");
    let log = checkout.until_sent("textDocument/didClose", 1).await;
    let names = about(&log, &uri);
    assert_eq!(names[names.len() - 2..], ["didClose", "deleted"]);
    // Made again, its error is news again.
    let again = checkout.write("lib.toy", "def area\nbroken\n").await;
    assert_eq!(new_of(&again), [undefined("broken")]);
}

// spec: LSP-13
// report: D6
pub(crate) async fn a_server_is_told_of_a_file_only_once_it_is_there() {
    // The server looks at the disk when it is told that a file was created.
    let checkout = Setup::new([row(Script::toy("toy", Toy::push().watched()))])
        .file("user.toy", "area\n")
        .make();
    checkout.diagnostics("user.toy").await;
    let written = checkout.write("sub/lib.toy", "def area\n").await;
    assert_eq!(state_of(&written), "clean");
    assert_eq!(checkout.diagnostics("user.toy").await.0, "clean");
    let names = about(&checkout.log(), &checkout.uri("sub/lib.toy"));
    assert_eq!(names, ["created", "didOpen"]);
}

// spec: LSP-13, LSP-16
// report: D12
pub(crate) async fn a_server_that_never_publishes_is_pending_and_never_clean() {
    for wait in [PULL, VERSIONED, UNVERSIONED, ON_SAVE] {
        let script = Script::toy("toy", Toy::without_diagnostics());
        let checkout = Setup::new([row(script).wait(wait)])
            .file("a.toy", "def area\n")
            .waits(|waits| waits.write = Duration::from_millis(700))
            .make();
        checkout.call("lsp", json!({ "action": "symbols", "file": "a.toy" })).await.unwrap();
        let written = checkout.write("a.toy", "areas\n").await;
        assert_eq!(state_of(&written), "unknown", "{wait}");
        let text = woven(&written);
        assert!(text.starts_with("diagnostics pending for a.toy (toy: "), "{wait}: {text}");
        assert_eq!(written.data["diagnostics"]["pending"][0]["file"], "a.toy");
    }
}

/// What a command changed is not told with the text from before.
// spec: LSP-16
pub(crate) async fn what_a_command_changed_is_known_where_the_file_was_open() {
    let checkout =
        Setup::new([pull()]).file("lib.toy", "def area\nold\n").file("user.toy", "area\n").make();
    let write = |text: &str| {
        let args = json!({ "files": [{ "path": "lib.toy", "text": text }] });
        checkout.call("shell", args)
    };
    let first = write("def areas\nold\n").await.unwrap();
    let text = woven(&first);
    assert!(text.contains("(toy: what changed in lib.toy is not known)"), "{text}");
    assert_eq!((new_of(&first), perhaps_new_of(&first)), (vec![], vec![undefined("old")]));
    // From here on it is open.
    let second = write("def length\nold\n").await.unwrap();
    assert_eq!(second.data["diagnostics"]["others"]["total"], 0, "{}", woven(&second));
}

// spec: LSP-13, LSP-16
// report: D14
pub(crate) async fn a_write_during_a_servers_start_returns_within_its_budget() {
    let script =
        Script::toy("toy", Toy::push()).on("initialize", [Step::Wait(1_500), Step::Default]);
    let checkout = Setup::new([row(script)])
        .file("a.toy", "def area\n")
        .waits(|waits| waits.write_and_start = Duration::from_millis(300))
        .make();
    let begun = Instant::now();
    let written = checkout.write("a.toy", "areas\n").await;
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(1_400), "{took:?}");
    assert_eq!(state_of(&written), "unknown");
    assert_eq!(
        woven(&written),
        "diagnostics pending for a.toy (toy: it is still starting; ask again in a few seconds)"
    );
    // The budget of a start is spent once.
    let begun = Instant::now();
    checkout.write("a.toy", "areas\n#\n").await;
    assert!(begun.elapsed() < Duration::from_millis(250), "{:?}", begun.elapsed());
    let told = until_late(&checkout).await;
    assert!(told.contains("undefined name areas"), "{told}");
    assert_eq!(checkout.log().started().len(), 1);
}

// spec: LSP-13, LSP-16
pub(crate) async fn a_server_that_is_stuck_or_gone_never_makes_an_error_of_a_write() {
    let scripts: [(&str, Script); 5] = [
        ("reads nothing", Script::toy("toy", Toy::push()).on(OPEN, [Step::StopReading(None)])),
        ("crashes", Script::toy("toy", Toy::push()).on(OPEN, [Step::Exit(1)])),
        ("does not start", Script::new("toy").on(START, [Step::Exit(1)])),
        ("refuses", Script::new("toy").on("initialize", [Step::fail(-32603, "no")])),
        (
            "fails to look",
            Script::toy("toy", Toy::pull())
                .on("textDocument/diagnostic", [Step::fail(-32603, "no")]),
        ),
    ];
    for (name, script) in scripts {
        let wait = if name == "fails to look" { PULL } else { VERSIONED };
        let checkout = Setup::new([row(script).wait(wait)])
            .file("a.toy", "def area\n")
            .waits(|waits| {
                waits.write = Duration::from_millis(600);
                waits.write_and_start = Duration::from_millis(3_000);
            })
            .make();
        for text in ["areas\n", "areass\n"] {
            let written = checkout.write("a.toy", text).await;
            assert_eq!(state_of(&written), "unknown", "{name}");
            assert!(
                written.joined_text().starts_with("written\ndiagnostics pending for a.toy (toy: "),
                "{name}: {}",
                written.joined_text()
            );
        }
        assert!(checkout.log().started().len() <= 2, "{name}: a storm of starts");
    }
}

// spec: LSP-13, LSP-16
pub(crate) async fn an_untrusted_checkout_gets_what_needs_no_code_of_it_and_is_told_of_the_rest() {
    let script = Script::toy("toy", Toy::pull());
    let checkout =
        Setup::new([row(script).wait(ON_SAVE)]).file("a.toy", "def area\n").untrusted().make();
    let rest = "diagnostics unknown for a.toy (toy, the rest: only the server's own analysis: its check \
                runs the project's code, and this checkout is not trusted)";
    let written = checkout.write("a.toy", "areas\n").await;
    assert_eq!(
        woven(&written),
        format!(
            "perhaps new, nothing is known from before: 1 error\na.toy\n  1:1 error[E1] undefined name areas (toy) (may \
             predate this edit)\n{rest}"
        )
    );
    let fixed = checkout.write("a.toy", "def area\n").await;
    assert_eq!((state_of(&fixed), woven(&fixed)), ("unknown", format!("fixed: 1 error\n{rest}")));
    assert_eq!(checkout.log().calls(SAVE).len(), 0);
}

// spec: LSP-13
pub(crate) async fn a_file_without_a_server_costs_no_process_and_no_word() {
    let checkout = Setup::new([pull()]).file("a.txt", "x\n").make();
    for _ in 0..3 {
        let written = checkout.write("a.txt", "y\n").await;
        assert_eq!(woven(&written), "");
        assert_eq!(written.data, json!({}));
    }
    let log = checkout.log();
    assert_eq!((log.started().len(), log.of(Kind::Version).count()), (0, 0));
    let status = checkout.status("toy").await;
    assert_eq!(status["state"], "no root", "no walk has made a root of it");
}

// spec: LSP-13, LSP-14
pub(crate) async fn a_server_and_a_linter_are_merged_on_a_write() {
    let lint = Rule::on(CHANGE).then([Step::publish([
        diagnostic(range(0, 0, 5), 1, "E1", "undefined name areas"),
        diagnostic(range(0, 0, 1), 2, "L1", "too short"),
    ])]);
    let linter = Script::new("lint").rule(lint).on(OPEN, [Step::publish([])]);
    let checkout = Setup::new([pull(), row(linter).linter()]).file("a.toy", "def area\n").make();
    let written = checkout.write("a.toy", "areas\n").await;
    assert_eq!(new_of(&written), ["undefined name areas", "too short"]);
    assert_eq!(
        woven(&written),
        "new diagnostics: 1 error, 1 warning\na.toy\n  1:1 error[E1] undefined name areas (toy)\n  \
         1:1 warning[L1] too short"
    );
    assert_eq!(
        woven(&checkout.write("a.toy", "areas\n#\n").await),
        "no new diagnostics; 2 from before"
    );
}

// spec: LSP-13, LSP-16
pub(crate) async fn a_linter_that_hangs_does_not_hold_back_the_server() {
    let linter = Script::new("lint").on("initialize", [Step::Silence]);
    let checkout = Setup::new([pull(), row(linter).linter()])
        .file("a.toy", "def area\n")
        .waits(|waits| waits.write_and_start = Duration::from_millis(1_500))
        .make();
    let written = checkout.write("a.toy", "areas\n").await;
    let text = woven(&written);
    assert!(text.contains("undefined name areas"), "{text}");
    assert!(text.contains("diagnostics pending for a.toy (lint: it is still starting"), "{text}");
}

// spec: LSP-13, LSP-14
pub(crate) async fn parallel_writes_tell_each_its_own() {
    for (name, toy, wait) in ways() {
        let names = ["a.toy", "b.toy", "c.toy", "d.toy"];
        let mut setup = Setup::new([row(Script::toy("toy", toy)).wait(wait)]);
        for file in names {
            setup = setup.file(file, "# nothing\n");
        }
        let checkout = setup.make();
        for file in names {
            checkout.diagnostics(file).await;
        }
        let writes = names.map(|file| {
            let text = format!("broken_{}\n", &file[..1]);
            let checkout = &checkout;
            async move { checkout.write(file, &text).await }
        });
        let outputs = join_all(writes).await;
        let told: Vec<Value> = outputs
            .iter()
            .flat_map(|output| output.data["diagnostics"]["new"].as_array().unwrap().clone())
            .collect();
        let mut told: Vec<_> =
            told.iter().map(|new| new["message"].as_str().unwrap().to_owned()).collect();
        told.sort();
        // Each once, whichever of the writes saw it first.
        assert_eq!(
            told,
            ["a", "b", "c", "d"].map(|name| undefined(&format!("broken_{name}"))),
            "{name}"
        );
        assert!(
            outputs.iter().all(|output| output.data["diagnostics"]["pending"] == json!([])),
            "{name}"
        );
    }
}

// spec: LSP-14
pub(crate) async fn a_server_that_was_restarted_tells_nothing_twice() {
    let checkout = Setup::new([pull()]).file("a.toy", "def area\n").make();
    assert_eq!(new_of(&checkout.write("a.toy", "areas\n").await), [undefined("areas")]);
    checkout.call("lsp", json!({ "action": "reload" })).await.unwrap();
    let again = checkout.write("a.toy", "areas\n#\n").await;
    assert_eq!(new_of(&again), Vec::<String>::new());
    assert_eq!(woven(&again), "no new diagnostics; 1 from before");
}

// spec: LSP-13
// report: D30
pub(crate) async fn a_save_waits_until_the_server_has_read_the_project() {
    const READS: u64 = 400;
    let toy = Toy::checks_on_save(20, CHECK).indexing(READS, [Says::ServerStatus]);
    let script = Script::toy("toy", toy);
    let checkout = Setup::new([row(script).ready("server_status").wait(ON_SAVE)])
        .file("a.toy", "def area\n")
        .make();
    assert_eq!(perhaps_new_of(&checkout.write("a.toy", "areas\n").await), [undefined("areas")]);
    // By the server's own clock: it says that it is ready so long after this.
    let log = checkout.log();
    let (begun, saved) = (log.calls("initialized")[0].at_ms, log.calls(SAVE)[0].at_ms);
    assert!(saved >= begun + READS, "saved {} ms after the start", saved - begun);
}

// spec: LSP-13
// report: D31
pub(crate) async fn what_a_server_says_of_other_projects_is_not_told() {
    let outside = tempfile::tempdir().unwrap();
    let library = outside.path().join("library.toy");
    std::fs::write(&library, "x\n").unwrap();
    let of_others = [uri_of(&library), "file:///nowhere/at/all.toy".to_owned()];
    let error = || [diagnostic(range(0, 0, 1), 1, "E", "of another project")];
    let publishes = of_others.map(|uri| Step::publish(error()).uri(&uri).version(Version::Absent));
    let rule = Rule::on(CHANGE).then(publishes.into_iter().chain([Step::Default]));
    let checkout = Setup::new([row(Script::toy("toy", Toy::push()).rule(rule))])
        .file("a.toy", "def area\n")
        .make();
    checkout.diagnostics("a.toy").await;
    let written = checkout.write("a.toy", "areas\n").await;
    assert_eq!(new_of(&written), [undefined("areas")]);
    assert!(!written.joined_text().contains("another project"), "{}", written.joined_text());
}

// report: D1
pub(crate) async fn a_save_follows_each_change() {
    let checkout = Setup::new([pull()]).file("a.toy", "def area\n").make();
    checkout.write("a.toy", "def areas\n").await;
    let names = about(&checkout.log(), &checkout.uri("a.toy"));
    let changed: Vec<_> = names.iter().filter(|name| name.as_str() != "diagnostic").collect();
    assert_eq!(changed, ["didOpen", "documentSymbol", "changed", "didChange", "didSave"]);
    assert_eq!(checkout.log().calls(SAVE).len(), 1);
}
