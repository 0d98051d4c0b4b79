//! A key of a provider reaches the provider and nobody else.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use agent_testkit::model::{ModelServer, Rule, Script};
use serde_json::json;

use crate::{chat::talking, home::Home};

const ANTHROPIC: &str = "sk-ant-0123456789-anthropic";
const OPENAI: &str = "sk-oai-0123456789-openai";
const NAMED: &str = "0123456789-by-the-name-of-mine";
const OF_WORKER: &str = "9876543210-by-the-name-of-a-worker";

const TOKEN: &str = "ghp-0123456789-of-a-server";

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
        json!({"tool": "shell", "args": {"command": "env; tr '\\0' '\\n' < /proc/$PPID/environ"}}),
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
    assert!(lines[5].contains("failed") && lines[5].contains("[OF_MY_WORKER]"), "{}", lines[5]);
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

/// A shell that reads what the system shows of its parent, as root or another user.
const READ_PARENT: &str =
    "tr '\\0' '\\n' < /proc/$PPID/environ; echo of $?; cp /proc/$PPID/environ copy; true";

// spec: TRUST-04
#[test]
fn a_key_that_a_command_reads_from_this_program_is_in_nothing_that_is_sent_or_kept() {
    let read = Rule::call("read", json!({"path": "copy"}));
    let (home, server) = talking(
        &[],
        vec![Rule::call("shell", json!({"command": READ_PARENT})), read, Rule::text("done")],
    );
    let url = server.url();
    home.configure(&format!(
        "[model]\nprovider = \"compatible\"\nname = \"m\"\nurl = \"{url}/v1\"\nkey = \"MY_MODEL_KEY\"\n\n[worker.fast]\nprovider \
         = \"compatible\"\nname = \"m\"\nurl = \"{url}/v1\"\nkey = \"OF_MY_WORKER\"\n\n[mcp.none]\ncommand = \"no-such-server\"\nenv = \
         {{ GH_TOKEN = \"${{MY_TOKEN}}\" }}\n"
    ));
    let transcript = home.home.path().join("t.jsonl");
    let path = transcript.to_string_lossy();
    let args =
        ["chat", "--approve", "all", "--transcript", &path, "-p", "go", "--output", "stream-json"];
    let output = home.command(&args).envs(VARIABLES).env("MY_TOKEN", TOKEN).output();
    let output = output.expect("it starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{printed} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut kept = fs::read_to_string(&transcript).expect("a transcript");
    kept += &all_of(&home.state());
    let sent: String = server.requests().iter().map(|request| request.body.to_string()).collect();
    let whole = [("sent", &sent), ("printed", &printed), ("kept", &kept)];
    let readable = fs::read(home.checkout.path().join("copy")).is_ok_and(|copy| !copy.is_empty());
    for (what, text) in whole {
        assert!(text.contains("of 0") || !readable, "{what}: {text}");
        if readable {
            assert!(text.contains("MY_MODEL_KEY=[MY_MODEL_KEY]"), "{what}: {text}");
        }
        for (name, value) in VARIABLES.into_iter().chain([("MY_TOKEN", TOKEN)]) {
            assert!(!text.contains(value), "{name} is in what was {what}: {text}");
        }
    }
}

/// The person says it, and the model says it after them.
// spec: TRUST-04
#[test]
fn a_key_that_is_said_is_neither_kept_nor_printed_nor_sent() {
    let said = format!("the key is {NAMED}");
    let spawn = json!({"brief": said, "label": NAMED, "tier": "fast"});
    let answer = Rule { text: vec![said.clone()], ..Rule::call("read", json!({"path": NAMED})) };
    let rules = || {
        let last = Rule { times: 0, ..Rule::text(said.clone()) };
        vec![answer.clone().and_call("vibe_spawn", spawn.clone()), last]
    };
    for output in ["text", "json", "stream-json"] {
        let (home, server) = talking(&[], rules());
        let url = server.url();
        home.configure(&format!(
            "[model]\nprovider = \"compatible\"\nname = \"m\"\nurl = \"{url}/v1\"\nkey = \"MY_MODEL_KEY\"\n\n[worker.fast]\ncommand = \"true {{brief}}\"\n"
        ));
        let args = ["--vibe", "chat", "-p", &said, "--output", output];
        let ran = home.command(&args).envs(VARIABLES).output().expect("it starts");
        let printed = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        let kept = all_of(&home.state());
        for (what, text) in [("printed", &printed), ("kept", &kept)] {
            assert!(text.contains("the key is [MY_MODEL_KEY]"), "{what}: {text}");
            assert!(!text.contains(NAMED), "{what} {output}: {text}");
        }
        assert!(!server.requests()[0].body.to_string().contains(NAMED), "it was sent");
    }
}

/// The texts of all files below a folder.
fn all_of(folder: &Path) -> String {
    let mut kept = String::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => kept += &String::from_utf8_lossy(&fs::read(path).expect("a file")),
            }
        }
    }
    kept
}
