use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdout, Command, Stdio},
};

use agent_testkit::dap::{Log, Manner, Rule, Script, Step, Toy};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A client that knows framing and nothing else.
struct Client {
    child: Child,
    output: BufReader<ChildStdout>,
    seq: u64,
    log: Log,
    _folder: TempDir,
}

impl Client {
    fn new(script: &Script) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = script.stub(folder.path()).expect("a stub");
        let mut child = Command::new(folder.path().join(&script.name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the stub starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, output, seq: 0, log, _folder: folder }
    }

    fn send(&mut self, command: &str, arguments: Value) {
        self.seq += 1;
        let body =
            json!({"seq": self.seq, "type": "request", "command": command, "arguments": arguments});
        let body = body.to_string();
        let input = self.child.stdin.as_mut().expect("a pipe");
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it reads");
    }

    fn next(&mut self) -> Option<Value> {
        let mut length = None;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).expect("UTF-8") == 0 {
                return None;
            }
            match line.trim_end().strip_prefix("Content-Length: ") {
                Some(digits) => length = digits.parse::<usize>().ok(),
                None if line == "\r\n" => break,
                None => panic!("{line:?}"),
            }
        }
        let mut body = vec![0; length.expect("a length")];
        self.output.read_exact(&mut body).expect("a body");
        Some(serde_json::from_slice(&body).expect("JSON"))
    }

    /// The names of what comes up to and with one of these.
    fn until(&mut self, last: &str) -> Vec<String> {
        let mut names = Vec::new();
        while let Some(message) = self.next() {
            let name = message["event"].as_str().or(message["command"].as_str());
            names.push(name.unwrap_or_default().to_owned());
            if names.last().is_some_and(|name| name == last) {
                return names;
            }
        }
        panic!("{last} does not come after {names:?}");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _gone = self.child.wait();
    }
}

pub(crate) fn each_manner_has_its_order_of_the_handshake() {
    let orders: [(Manner, &[&str]); 4] = [
        (
            Manner::Debugpy,
            &[
                "initialize",
                "initialized",
                "configurationDone",
                "launch",
                "output",
                "exited",
                "terminated",
            ],
        ),
        (
            Manner::Lldb,
            &[
                "initialize",
                "launch",
                "initialized",
                "configurationDone",
                "output",
                "exited",
                "terminated",
            ],
        ),
        (
            Manner::Delve,
            &["initialize", "initialized", "launch", "configurationDone", "output", "terminated"],
        ),
        (
            Manner::Dart,
            &[
                "initialize",
                "initialized",
                "configurationDone",
                "dart.debuggerUris",
                "stopped",
                "continued",
                "launch",
                "output",
                "output",
                "terminated",
            ],
        ),
    ];
    for (manner, order) in orders {
        let mut client = Client::new(&Script::new("adapter", Toy::new(manner)));
        client.send("initialize", json!({}));
        client.send("launch", json!({}));
        client.send("configurationDone", json!({}));
        assert_eq!(client.until("terminated"), order, "{manner:?}");
    }
}

pub(crate) fn the_toy_stops_where_it_has_code_and_uses_its_ids_again() {
    let mut client = Client::new(&Script::new("adapter", Toy::new(Manner::Lldb).crash(9)));
    client.send("launch", json!({}));
    let lines = json!([{"line": 5}, {"line": 99}]);
    client.send("setBreakpoints", json!({"source": {"path": "/x"}, "breakpoints": lines}));
    client.send("configurationDone", json!({}));
    let set = loop {
        let message = client.next().expect("an answer");
        if message["command"] == "setBreakpoints" {
            break message["body"]["breakpoints"].clone();
        }
    };
    assert_eq!(set, json!([{"id": 6, "verified": true, "line": 6}, {"verified": false}]));
    let mut seen = Vec::new();
    for command in ["stackTrace", "next", "continue"] {
        client.until("stopped");
        client.send("stackTrace", json!({"threadId": 7}));
        let stack = loop {
            let message = client.next().expect("a stack");
            if message["command"] == "stackTrace" {
                break message;
            }
        };
        assert_eq!(stack["seq"], 0);
        let top = &stack["body"]["stackFrames"][0];
        seen.push((top["id"].clone(), top["line"].clone()));
        let command = if command == "stackTrace" { "next" } else { "continue" };
        client.send(command, json!({"threadId": 7}));
    }
    assert_eq!(seen, [(json!(1000), json!(6)), (json!(1000), json!(7)), (json!(1000), json!(9))]);
}

pub(crate) fn a_rule_takes_its_request_and_the_log_has_all_of_them() {
    let script = Script::new("adapter", Toy::default())
        .rule(Rule::on("threads").nth(2).then([Step::fail("not again")]))
        .on("evaluate", [Step::Exit(3)]);
    let mut client = Client::new(&script);
    client.send("threads", json!(null));
    client.send("threads", json!(null));
    client.send("nosuch", json!({"a": 1}));
    client.send("evaluate", json!({}));
    let answers: Vec<_> = std::iter::from_fn(|| client.next()).collect();
    let said: Vec<_> =
        answers.iter().map(|a| (a["success"] == true, a["message"].as_str())).collect();
    assert_eq!(said, [(true, None), (false, Some("not again")), (false, Some("unknown request"))]);
    assert_eq!(client.child.wait().expect("an end").code(), Some(3));
    assert_eq!(client.log.commands(), ["threads", "threads", "nosuch", "evaluate"]);
    assert_eq!(client.log.last("nosuch"), Some(json!({"a": 1})));
}

pub(crate) fn a_script_is_the_same_as_json() {
    let script = Script::new("adapter", Toy::new(Manner::Dart).spinning().process("sleep 1")).on(
        "pause",
        [Step::Wait(3), Step::event("stopped", json!({"reason": "x"})), Step::Silence],
    );
    let text = serde_json::to_string(&script).expect("JSON");
    assert_eq!(serde_json::from_str::<Script>(&text).expect("a script"), script);
    let folder = tempfile::tempdir().expect("a folder");
    script.stub(folder.path()).expect("a stub");
    let asked =
        Command::new(folder.path().join("adapter")).arg("--version").output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&asked.stdout), "adapter 1.2.3\n");
    assert_eq!(fs::read_to_string(folder.path().join("adapter.log")).expect("a log"), "");
}
