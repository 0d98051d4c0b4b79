#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

use std::{
    collections::BTreeMap,
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
};

use agent_testkit::model::{
    Break, Call, Format, How, LOG_VARIABLE, ModelServer, Rule, SCRIPT_VARIABLE, Script, Usage, When,
};
use serde_json::{Value, json};

/// One request, and all that comes until the connection is over.
fn post(url: &str, path: &str, body: &Value) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches("/v1");
    let mut stream = TcpStream::connect(host).unwrap();
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "POST /v1/{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer k\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A connection that is cut is an error here, and what came before counts.
    let _cut = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// The frames of an answer: the name, where there is one, and the data.
fn frames(answer: &str) -> Vec<String> {
    let lines = answer.lines().filter_map(|line| {
        let data = line.strip_prefix("data: ")?;
        let value = sorted(serde_json::from_str(data).unwrap_or_else(|_| json!(data)));
        Some(match value["type"].as_str() {
            Some(_) => shown(&value),
            None => match value["choices"].as_array() {
                Some(choices) if choices.is_empty() => format!("usage {}", value["usage"]),
                Some(choices) if choices[0]["finish_reason"].is_string() => {
                    format!("finish {}", choices[0]["finish_reason"])
                }
                Some(choices) => format!("delta {}", choices[0]["delta"]),
                None => value.to_string(),
            },
        })
    });
    lines.collect()
}

/// With the fields of each object in the order of their names, whatever the order of the crate's map.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> =
                fields.into_iter().map(|(name, field)| (name, sorted(field))).collect();
            fields.into_iter().collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

fn shown(event: &Value) -> String {
    let kind = event["type"].as_str().unwrap_or_default();
    let more =
        [&event["content_block"], &event["delta"], &event["usage"], &event["message"]["usage"]];
    let more: Vec<String> =
        more.into_iter().filter(|part| !part.is_null()).map(Value::to_string).collect();
    [vec![kind.to_owned()], more].concat().join(" ")
}

fn rule() -> Rule {
    Rule {
        text: vec!["He".into(), "llo".into()],
        usage: Some(Usage { input: 10, output: 5, cached: Some(4) }),
        ..Rule::call("read", json!({"path": "main.rs"}))
    }
}

pub(crate) fn anthropics_format_is_that_of_the_real_one() {
    let server = ModelServer::start(Script::of([rule()])).unwrap();
    let answer = post(&server.url(), "messages", &json!({"model": "m", "messages": []}));
    assert!(answer.to_lowercase().contains("content-type: text/event-stream"), "{answer}");
    let names = answer.lines().filter_map(|line| line.strip_prefix("event: "));
    let kinds =
        frames(&answer).into_iter().map(|frame| frame.split(' ').next().unwrap().to_owned());
    assert_eq!(names.collect::<Vec<_>>(), kinds.collect::<Vec<_>>(), "names and types agree");
    assert_eq!(
        frames(&answer),
        [
            r#"message_start {"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"input_tokens":6,"output_tokens":1}"#,
            "ping",
            r#"content_block_start {"text":"","type":"text"}"#,
            r#"content_block_delta {"text":"He","type":"text_delta"}"#,
            r#"content_block_delta {"text":"llo","type":"text_delta"}"#,
            "content_block_stop",
            r#"content_block_start {"id":"toolu_1_1","input":{},"name":"read","type":"tool_use"}"#,
            r#"content_block_delta {"partial_json":"","type":"input_json_delta"}"#,
            r#"content_block_delta {"partial_json":"{\"path\":\"mai","type":"input_json_delta"}"#,
            r#"content_block_delta {"partial_json":"n.rs\"}","type":"input_json_delta"}"#,
            "content_block_stop",
            r#"message_delta {"stop_reason":"tool_use","stop_sequence":null} {"output_tokens":5}"#,
            "message_stop",
        ]
    );
}

pub(crate) fn openais_format_is_that_of_the_real_one() {
    let server = ModelServer::start(Script::of([rule()])).unwrap();
    let body = json!({"model": "m", "messages": [], "stream_options": {"include_usage": true}});
    let answer = post(&server.url(), "chat/completions", &body);
    assert_eq!(
        frames(&answer),
        [
            r#"delta {"content":"","refusal":null,"role":"assistant"}"#,
            r#"delta {"content":"He"}"#,
            r#"delta {"content":"llo"}"#,
            r#"delta {"tool_calls":[{"function":{"arguments":"","name":"read"},"id":"call_1x1","index":0,"type":"function"}]}"#,
            r#"delta {"tool_calls":[{"function":{"arguments":"{\"path\":\"mai"},"index":0}]}"#,
            r#"delta {"tool_calls":[{"function":{"arguments":"n.rs\"}"},"index":0}]}"#,
            r#"finish "tool_calls""#,
            r#"usage {"completion_tokens":5,"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":4},"total_tokens":15}"#,
            r#""[DONE]""#,
        ]
    );
}

pub(crate) fn rules_are_taken_in_their_order_until_they_are_used_up() {
    let script: Script = serde_json::from_value(json!({"rules": [
        {"when": {"last": "tests"}, "times": 2, "text": "of the tests"},
        {"when": {"offered": "write"}, "text": "it may write"},
        {"when": {"system": "worker", "not_offered": "write"}, "times": 0, "text": ["a ", "worker"]},
        {"when": {"model": "fast-1"}, "text": "fast"},
    ]}))
    .unwrap();
    assert_eq!(serde_json::from_value::<Script>(json!(script)).unwrap(), script);
    let server = ModelServer::start(script).unwrap();
    let ask = |system: &str, model: &str, last: &str, tools: &[&str]| {
        let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name})).collect();
        let body = json!({"model": model, "system": system, "tools": tools, "messages": [
            {"role": "user", "content": "an earlier word of tests"},
            {"role": "assistant", "content": "yes"},
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": last}]}]},
        ]});
        let answer = post(&server.url(), "messages", &body);
        let texts = answer.lines().filter_map(|line| {
            let value: Value = serde_json::from_str(line.strip_prefix("data: ")?).ok()?;
            value["delta"]["text"].as_str().map(str::to_owned)
        });
        let text: String = texts.collect();
        if text.is_empty() { answer.lines().last().unwrap_or_default().to_owned() } else { text }
    };
    assert_eq!(ask("", "", "run the tests", &["write"]), "of the tests");
    assert_eq!(ask("", "", "run the tests", &["write"]), "of the tests");
    assert_eq!(ask("", "", "run the tests", &["write"]), "it may write");
    assert_eq!(ask("you are a worker", "", "x", &["read"]), "a worker");
    assert_eq!(ask("you are a worker", "", "x", &[]), "a worker");
    assert_eq!(ask("", "fast-1", "x", &[]), "fast");
    let unfit = ask("", "", "nothing fits this", &[]);
    assert!(unfit.contains("no rule of the script fits this: nothing fits this"), "{unfit}");
    let log = server.log();
    assert_eq!((log.requests.len(), log.unanswered, log.left), (7, 1, 0));
    assert_eq!(log.requests[0].format, Format::Anthropic);
    assert_eq!(
        (log.requests[0].tools(), log.requests[0].key()),
        (vec!["write".to_owned()], Some("k"))
    );
}

pub(crate) fn an_answer_breaks_off_where_it_is_told_to() {
    let cut = Rule { breaks: Some(Break { after: 3, how: How::Cut }), ..Rule::text("never") };
    let end = Rule { breaks: Some(Break { after: 2, how: How::End }), ..Rule::text("never") };
    let odd = Rule {
        calls: vec![Call {
            name: "read".into(),
            malformed: Some("{\"pa".into()),
            ..Call::default()
        }],
        split: Some(5),
        ..Rule::default()
    };
    let mut slow = Rule::fail(429, "rate_limit_error", "slow down");
    slow.fail.as_mut().unwrap().retry_after = Some("7".into());
    let server = ModelServer::start(Script::of([cut, end, odd, slow])).unwrap();
    let ask = || post(&server.url(), "messages", &json!({"messages": []}));
    let cut = ask();
    assert_eq!(frames(&cut).len(), 3);
    assert!(!cut.ends_with("0\r\n\r\n"), "the last chunk never came");
    let end = ask();
    assert_eq!(frames(&end).len(), 2);
    assert!(end.ends_with("0\r\n\r\n"), "it looks complete: {end}");
    assert!(ask().contains("\r\n5\r\n"), "chunks of five bytes");
    let slow = ask();
    assert!(
        slow.starts_with("HTTP/1.1 429") && slow.to_lowercase().contains("\r\nretry-after: 7\r\n"),
        "{slow}"
    );
}

pub(crate) fn a_server_is_a_process_too() {
    let folder = tempfile::tempdir().unwrap();
    let (script, log) = (folder.path().join("script.json"), folder.path().join("log.jsonl"));
    let rules = Script::of([Rule { when: When::default(), times: 0, ..Rule::text("here") }]);
    fs::write(&script, json!(rules).to_string()).unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .env(SCRIPT_VARIABLE, &script)
        .env(LOG_VARIABLE, &log)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let body = json!({"model": "m", "messages": [], "tools": [{"name": "read"}]});
    assert!(post(url.trim(), "messages", &body).contains("here"));
    let line: Value = serde_json::from_str(fs::read_to_string(&log).unwrap().trim()).unwrap();
    assert_eq!(line, json!({"path": "/v1/messages", "tools": ["read"], "body": body}));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success(), "it ends with its input");
}

pub(crate) fn every_sample_is_a_script() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/model");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let script: Script = serde_json::from_str(&fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!script.rules.is_empty());
        names.push(path.file_stem().unwrap().to_string_lossy().into_owned());
    }
    names.sort();
    assert_eq!(names, ["hello", "plan", "rewrite", "troubles", "workers"]);
}
