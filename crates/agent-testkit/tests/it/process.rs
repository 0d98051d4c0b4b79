//! How the server starts and ends.

use std::{fs, time::Duration};

use agent_testkit::lsp::{
    END_OF_INPUT, Holds, Kind, Log, Nth, Rule, START, Script, Step, Toy, alive, broken_stub,
};
use serde_json::{Value, json};

use crate::client::{Client, PATIENCE, finished, run};

/// SIGABRT, and how a shell would tell it.
const ABORTED: &str = "signal: 6";

pub(crate) fn a_server_crashes_at_the_nth_message() {
    let crash = Rule::on("x/go").nth(Nth::Only(3)).then([Step::Abort]);
    let mut client = Client::greet(&Script::new("fragile").rule(crash), &[], json!({}));
    for _ in 0..2 {
        assert_eq!(client.request("x/go", json!({}))["error"]["code"], -32601);
    }
    client.ask("x/go", json!({}));
    assert_eq!(client.next(), None);
    let status = client.ended();
    assert!(status.to_string().starts_with(ABORTED), "{status}");
    let log = Log::read(&client.launch.log).expect("a log");
    assert_eq!(log.of(Kind::Exit).map(|entry| &entry.body).collect::<Vec<_>>(), ["abort"]);
}

pub(crate) fn a_server_exits_with_a_code_and_a_last_word() {
    let steps = [Step::Stderr("cannot find sysroot".to_owned()), Step::Exit(42)];
    let mut client = Client::start(&Script::new("failing").on(START, steps), &[]);
    assert_eq!(client.ended().code(), Some(42));
    assert_eq!(client.stderr(), "cannot find sysroot\n");
}

pub(crate) fn exit_without_shutdown_is_unclean() {
    let mut client = Client::greet(&Script::new("strict"), &[], json!({}));
    client.notify("exit", Value::Null);
    assert_eq!(client.ended().code(), Some(1));
}

pub(crate) fn a_server_ignores_shutdown_and_exit() {
    let mut client = Client::greet(&Script::new("stubborn").ignores_shutdown(), &[], json!({}));
    client.ask("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.meanwhile(), Vec::<Value>::new());
    assert!(client.runs());
    client.close_input();
    assert_eq!(client.ended().code(), Some(1));
}

pub(crate) fn a_server_outlives_its_input() {
    let script = Script::new("lingering").outlives_input(600_000);
    assert_eq!(script.rules[0].on, END_OF_INPUT);
    let mut client = Client::greet(&script, &[], json!({}));
    client.close_input();
    let ended = client.log.wait(PATIENCE, |log| log.of(Kind::EndOfInput).next().map(|_| ()));
    ended.expect("it noticed");
    assert!(client.runs());
}

pub(crate) fn a_spawned_process_outlives_the_server() {
    let spawn = Step::Spawn { ms: 600_000, holds: Holds::Nothing };
    let script = Script::new("parent").on("initialized", [spawn]);
    let mut client = Client::greet(&script, &[], json!({}));
    client.close_input();
    assert_eq!(client.rest(), b"");
    client.ended();
    client.log.refresh().expect("a log");
    let [child] = client.log.spawned()[..] else { panic!("{:?}", client.log.spawned()) };
    assert!(alive(child));
    assert!(!alive(client.pid()));
    kill(child);
}

pub(crate) fn a_spawned_process_can_hold_the_output_open() {
    let spawn = Step::Spawn { ms: 600_000, holds: Holds::Output };
    let script = Script::new("parent").on("x/go", [spawn, Step::Exit(0)]);
    let mut client = Client::greet(&script, &[], json!({}));
    client.notify("x/go", json!({}));
    client.ended();
    client.log.refresh().expect("a log");
    let [child] = client.log.spawned()[..] else { panic!("{:?}", client.log.spawned()) };
    assert!(client.is_open_for(Duration::from_millis(100)));
    kill(child);
    assert_eq!(client.rest(), b"");
}

pub(crate) fn a_stub_answers_version_and_serves_without_any_environment() {
    let folder = tempfile::tempdir().expect("a folder");
    // A name that a shell would take apart.
    let home = folder.path().join("it's a $HOME");
    fs::create_dir(&home).expect("a folder");
    let launch = Script::toy("toy-ls", Toy::push()).install(&home).expect("a script");
    let stub = launch.stub(&home, "toy-ls").expect("a stub");
    assert_eq!(run(&stub, &["--version"]), (Some(0), "toy-ls 1.0.0\n".to_owned(), String::new()));
    let output = std::process::Command::new(&stub)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .args(["--stdio", "two words"])
        .current_dir(folder.path())
        .stdin(std::process::Stdio::null())
        .output()
        .expect("a process");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let log = Log::read(&launch.log).expect("a log");
    let kinds: Vec<Kind> = log.entries().iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [Kind::Version, Kind::Started, Kind::EndOfInput, Kind::Exit]);
    assert_eq!(log.entries()[1].body["args"], json!(["--stdio", "two words"]));
    let real = folder.path().canonicalize().expect("a folder");
    assert_eq!(log.entries()[1].body["folder"], json!(real));
}

pub(crate) fn a_broken_stub_fails_whatever_it_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let message = "error: 'ls' is not installed for \"stable\"";
    let stub = broken_stub(folder.path(), "ls", message, 1).expect("a stub");
    assert_eq!(run(&stub, &["--version"]), (Some(1), String::new(), format!("{message}\n")));
}

pub(crate) fn a_script_that_is_wrong_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let launch = Script::new("wrong").install(folder.path()).expect("a script");
    let cases = [
        (r#"{"rules": [{"on": "x", "steps": [{"jump": 1}]}]}"#, "unknown variant `jump`"),
        (
            r#"{"rules": [{"on": "x", "steps": [{"spawn": {"ms": 1, "by": 2}}]}]}"#,
            "unknown field `by`",
        ),
        (r#"{"toy": {"disk": "ssd"}}"#, "unknown variant `ssd`"),
    ];
    for (script, fault) in cases {
        fs::write(&launch.script, script).expect("a file");
        let (code, _, text) = finished(launch.command());
        assert_eq!(code, Some(4));
        assert!(text.contains(&format!("wrong.json: {fault}")), "{text}");
    }
}

pub(crate) fn what_is_no_message_ends_the_server() {
    let cases = [
        ("Content-Length: 2\n\n{}", "a header line without CR LF: \"Content-Length: 2\\n\""),
        ("Content-Length:2\r\n\r\n{}", "no header: \"Content-Length:2\""),
        ("X: 1\r\n\r\n", "no Content-Length"),
    ];
    for (bytes, fault) in cases {
        let mut client = Client::start(&Script::new("strict"), &[]);
        client.send_bytes(bytes.as_bytes());
        assert_eq!(client.ended().code(), Some(3));
        client.log.refresh().expect("a log");
        let junk: Vec<&Value> = client.log.of(Kind::Junk).map(|entry| &entry.body).collect();
        assert_eq!(junk, [fault]);
    }
}

/// Ends a process that this test started, by its id, and waits until it is gone.
fn kill(pid: u32) {
    let (code, _, _) = run("/bin/sh".as_ref(), &["-c", &format!("kill -9 {pid}")]);
    assert_eq!(code, Some(0));
    let deadline = std::time::Instant::now() + PATIENCE;
    while alive(pid) {
        assert!(std::time::Instant::now() < deadline, "{pid} goes on");
        std::thread::sleep(Duration::from_millis(2));
    }
}
