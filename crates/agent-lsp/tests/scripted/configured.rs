//! Writes of what configures a server.

use std::time::{Duration, Instant};

use agent_testkit::lsp::{Nth, Others, Rule, Script, Step, Toy, diagnostic, range};
use serde_json::{Value, json};

use crate::{
    fixture::{PULL, Setup, about, new_of, row, state_of, woven},
    late::until_late,
};

/// A server of which one file finds an error once it was told of its configuration.
fn configured(then: impl IntoIterator<Item = Step>) -> Script {
    let found = json!({ "kind": "full", "items": [diagnostic(range(0, 0, 1), 1, "E", "by the configuration")] });
    let broken = Rule::on("textDocument/diagnostic").nth(Nth::From(2)).then([Step::Reply(found)]);
    let toy = Toy::pull().watched();
    Script::toy("toy", toy).on("workspace/didChangeWatchedFiles", then).rule(broken)
}

// spec: LSP-13, LSP-16
pub(crate) async fn a_file_that_configures_a_server_has_the_open_files_looked_at() {
    let row = row(configured([Step::Silence])).wait(PULL).key("configured_by", r#"["toy.conf"]"#);
    let checkout = Setup::new([row]).file("a.toy", "def a\n").file("toy.conf", "loose\n").make();
    // Nothing is started for it.
    assert_eq!(woven(&checkout.write("toy.conf", "loose \n").await), "");
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    let written = checkout.write("toy.conf", "strict\n").await;
    let configures = "toy.conf configures toy, so any file may be another by it";
    assert_eq!(
        woven(&written),
        format!(
            "new in other files: 1 error\na.toy\n  1:1 error[E] by the configuration\n{configures}; 1 open file was \
             looked at, others were not; `lsp` with the action diagnostics and the file \"*\" looks at all"
        )
    );
    let data = &written.data["diagnostics"];
    assert_eq!((&data["state"], &data["why"]), (&json!("dirty"), &json!(configures)));
    assert_eq!(data["others"]["configures"], json!([{ "file": "toy.conf", "server": "toy" }]));
    assert_eq!(
        (&data["others"]["total"], &data["others"]["why"]),
        (&Value::Null, &json!(configures))
    );
    assert_eq!(about(&checkout.log(), &checkout.uri("toy.conf")).last().unwrap(), "changed");
}

// spec: LSP-16
pub(crate) async fn an_answer_by_the_configuration_from_before_is_waited_out() {
    let logs = |message: &str| Step::Notify {
        method: "window/logMessage".to_owned(),
        params: json!({ "type": 3, "message": message }),
    };
    // Only the answer after the log is by the new configuration.
    let found =
        json!({ "kind": "full", "items": [diagnostic(range(0, 0, 1), 1, "E", "found anew")] });
    let script = Script::toy("toy", Toy::pull().watched())
        .on("initialized", [logs("Found 1 source file")])
        .on("workspace/didChangeWatchedFiles", [Step::Wait(600), logs("Found 1 source file")])
        .rule(Rule::on("textDocument/diagnostic").nth(Nth::From(2)).then([Step::Reply(found)]));
    let row = row(script)
        .wait(PULL)
        .ready("progress")
        .key("logs_when_ready", r#""source file""#)
        .key("configured_by", r#"["toy.conf"]"#)
        .key("reconfigures", r#""logs_again""#);
    let checkout = Setup::new([row]).file("a.toy", "def a\n").file("toy.conf", "loose\n").make();
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    checkout.put("toy.conf", "strict\n");
    let began = Instant::now();
    assert_eq!(checkout.diagnostics("a.toy").await.0, "dirty");
    assert!(began.elapsed() >= Duration::from_millis(600), "it was asked before it had logged");
}

// spec: LSP-16
pub(crate) async fn a_server_that_keeps_its_configuration_is_started_anew() {
    let row = row(Script::toy("toy", Toy::push().others(Others::Open)))
        .key("configured_by", r#"["toy.conf"]"#)
        .key("reconfigures", r#""restart""#);
    let checkout = Setup::new([row]).file("a.toy", "def a\n").file("b.toy", "b\n").make();
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    assert_eq!(checkout.diagnostics("b.toy").await.0, "dirty");
    let started = |times: usize| assert_eq!(checkout.log().started().len(), times);
    started(1);
    let written = checkout.write("toy.conf", "one\n").await;
    assert!(woven(&written).contains("toy.conf configures toy"), "{}", woven(&written));
    assert_eq!(new_of(&written), Vec::<String>::new(), "what was known is no news");
    started(2);
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    started(2);
    for change in ["two\n", "three\n"] {
        checkout.put("toy.conf", change);
        assert_eq!(checkout.diagnostics("b.toy").await.0, "dirty");
    }
    started(4);
    // A link into the folder of a build.
    checkout.put("built/toy.conf", "one\n");
    checkout.remove("toy.conf");
    std::os::unix::fs::symlink("built/toy.conf", checkout.root().join("toy.conf")).unwrap();
    checkout.diagnostics("b.toy").await;
    started(5);
    checkout.put("built/toy.conf", "other\n");
    checkout.diagnostics("b.toy").await;
    started(6);
}

// spec: LSP-13, LSP-16
pub(crate) async fn what_a_server_that_starts_anew_finds_late_is_of_its_configuration() {
    let second = || Nth::Only(2);
    let found =
        json!({ "kind": "full", "items": [diagnostic(range(0, 0, 1), 1, "E", "found anew")] });
    let script = Script::toy("toy", Toy::pull())
        .rule(Rule::on("initialize").process(second()).then([Step::Wait(900), Step::Default]))
        .rule(Rule::on("textDocument/diagnostic").process(second()).then([Step::Reply(found)]));
    let row = row(script)
        .wait(PULL)
        .key("configured_by", r#"["toy.conf"]"#)
        .key("reconfigures", r#""restart""#);
    let checkout = Setup::new([row])
        .file("a.toy", "def a\n")
        .waits(|waits| waits.write_and_start = Duration::from_millis(300))
        .make();
    assert_eq!(checkout.diagnostics("a.toy").await.0, "clean");
    let written = checkout.write("toy.conf", "one\n").await;
    let text = woven(&written);
    let pending = "diagnostics pending for other files: a.toy (toy: it is started anew for its configuration)";
    assert!(text.contains(pending), "{text}");
    assert_eq!(state_of(&written), "unknown");
    let told = until_late(&checkout).await;
    let expected = "since the last result, of the earlier write of toy.conf: new in other files: 1 error\na.toy\n  1:1 error[E] found anew";
    assert!(told.contains(expected), "{told}");
}
