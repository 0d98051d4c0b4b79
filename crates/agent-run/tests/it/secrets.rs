//! A key of a provider reaches the provider and nobody else.

use std::{fs, os::unix::fs::PermissionsExt as _};

use agent_testkit::model::{ModelServer, Rule, Script};
use serde_json::json;

use crate::home::Home;

const ANTHROPIC: &str = "sk-ant-0123456789-anthropic";
const OPENAI: &str = "sk-oai-0123456789-openai";
const NAMED: &str = "0123456789-by-the-name-of-mine";
const OF_WORKER: &str = "9876543210-by-the-name-of-a-worker";

/// The names of the last two do not read like secrets, so only the configuration tells that they are.
const VARIABLES: [(&str, &str); 4] = [
    ("ANTHROPIC_API_KEY", ANTHROPIC),
    ("OPENAI_API_KEY", OPENAI),
    ("MY_MODEL_KEY", NAMED),
    ("OF_MY_WORKER", OF_WORKER),
];

/// Cells, commands, workers, the transcript and standard error are searched for every key.
// spec: TRUST-04
#[test]
fn no_key_reaches_a_child_a_transcript_or_standard_error() {
    // The server wants another key, and its refusal repeats the one that came, as some do.
    let script = Script::of([Rule::text("never")]).with_key("another");
    let server = ModelServer::start(script).expect("a server");
    let home = Home::new(&[]);
    home.configure(&format!(
        "[model]\nname = \"m\"\nkey = \"MY_MODEL_KEY\"\n\n[worker.good]\ncommand = \"env\"\n\n[worker.fast]\nprovider = \
         \"compatible\"\nname = \"m\"\nurl = \"{}\"\nkey = \"OF_MY_WORKER\"\n",
        server.url()
    ));
    let calls = [
        json!({"tool": "eval", "args": {"code": "import os\nprint(dict(os.environ))", "description": "print it"}}),
        json!({"tool": "shell", "args": {"command": "env"}}),
        json!({"tool": "vibe_spawn", "args": {"brief": "print it", "label": "printer"}}),
        json!({"tool": "vibe_wait", "args": {"worker_id": "w1"}}),
        json!({"tool": "vibe_spawn", "args": {"brief": "ask", "label": "asker", "tier": "fast"}}),
        json!({"tool": "vibe_wait", "args": {"worker_id": "w2"}}),
    ];
    home.put("calls.jsonl", &calls.map(|call| call.to_string()).join("\n"));
    let transcript = home.home.path().join("t.jsonl");
    let options =
        ["--json", "--vibe", "--approve", "all", "--transcript", &transcript.to_string_lossy()];
    let mut command = home.command(&[&options[..], &["script", "calls.jsonl"]].concat());
    let output = command.envs(VARIABLES).output().expect("it starts");
    let results = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = results.lines().collect();
    for (at, whose) in [(0, "a cell"), (1, "a command"), (3, "a worker")] {
        assert!(
            lines[at].contains("AGENT_RUN_TEST_MARK"),
            "{whose} printed no environment: {}",
            lines[at]
        );
    }
    assert_eq!(server.requests()[0].key(), Some(OF_WORKER), "the provider gets its key");
    assert!(lines[5].contains("failed") && lines[5].contains("[key]"), "{}", lines[5]);
    let mode = fs::metadata(&transcript).expect("a transcript").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "what a run did is for its owner");
    let transcript = fs::read_to_string(transcript).expect("a transcript");
    assert!(transcript.contains("AGENT_RUN_TEST_MARK"), "{transcript}");
    let errors = String::from_utf8_lossy(&output.stderr);
    for (place, text) in [("results", &*results), ("transcript", &transcript), ("errors", &errors)]
    {
        for (name, value) in VARIABLES {
            assert!(!text.contains(value), "{name} is in the {place}: {text}");
        }
    }
}
