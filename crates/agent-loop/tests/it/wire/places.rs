use std::{env, process::Command};

use agent_loop::{
    Model, ModelLimits, Retry,
    providers::{self, Remote},
};
use agent_testkit::model::{Break, Call, Format, How, ModelServer, Rule, Script};
use serde_json::json;

use super::peer::{agent_of, named, peer, remote, retries};
use crate::support::{Toolbox, ask, end};

pub(crate) async fn nobody_at_the_address_is_said(format: Format) {
    // A port that was free a moment ago.
    let url = ModelServer::start(Script::default()).unwrap().url();
    let agent = agent_of(remote(format, &url, "scripted-1"), &Toolbox::new()).retry(Retry::never());
    let (turn, _) = ask(&agent, &mut Default::default(), "hello").await;
    let error = &end(&turn.end)["error"];
    assert_eq!(error["kind"], "connection");
    let said = error["message"].as_str().unwrap();
    let begins =
        format!("cannot reach {}: ", url.trim_start_matches("http://").trim_end_matches("/v1"));
    assert!(said.starts_with(&begins) && said.ends_with("; is it running?"), "{said}");
}

pub(crate) async fn the_name_of_a_model_is_sent_as_it_is(format: Format) {
    for name in ["scripted-1", "qwen3-coder-high", "vendor/name:8b-max", "a::b", "scripted-none"] {
        let peer = peer(format, [Rule::text("here")]);
        let agent = agent_of(remote(format, &peer.server.url(), name), &peer.toolbox);
        ask(&agent, &mut Default::default(), "hello").await;
        let body = &peer.requests()[0].body;
        assert_eq!(body["model"], name);
        if format == Format::OpenAi {
            assert_eq!(body["reasoning_effort"], json!(null), "{name}");
        }
    }
}

pub(crate) async fn what_an_endpoint_wants_of_a_request_is_sent(format: Format) {
    let mut peer =
        peer(format, [Rule::call("read", json!({})), Rule::text("here"), Rule::text("again")]);
    peer.ask("hello").await;
    // A person who speaks twice, since the turn between was cancelled.
    peer.conversation.push_user("one");
    peer.ask("two").await;
    let requests = peer.requests();
    let last = requests[2].messages().last().unwrap();
    match format {
        Format::Anthropic => {
            assert_eq!(requests[0].path, "/v1/messages");
            assert_eq!(requests[0].headers["anthropic-version"], "2023-06-01");
            assert_eq!(requests[0].body["max_tokens"], providers::ANTHROPIC_OUTPUT);
            let marked = |request: &agent_testkit::model::Received| {
                let last = request.messages().last().unwrap().clone();
                last["content"].as_array().unwrap().last().unwrap()["cache_control"].clone()
            };
            for request in &requests {
                assert_eq!(
                    marked(request),
                    json!({"type": "ephemeral"}),
                    "all before it is cached"
                );
                assert_eq!(request.body.to_string().matches("cache_control").count(), 1);
            }
        }
        Format::OpenAi => {
            assert_eq!(requests[0].path, "/v1/chat/completions");
            assert_eq!(requests[0].body["stream_options"], json!({"include_usage": true}));
            assert_eq!(requests[0].body["max_tokens"], json!(null));
        }
    }
    assert_eq!(last["role"], "user");
    assert!(requests[2].last().contains("one\ntwo") || requests[2].last().contains("one\n\ntwo"));
    assert_eq!(
        requests[2]
            .messages()
            .iter()
            .filter(|m| m["role"] == "user" && m["content"].to_string().contains("two"))
            .count(),
        1
    );
    let bounded = Remote::of(named(format), &peer.server.url(), "x").unwrap();
    let bounded = bounded.with_limits(ModelLimits::new(8_000).with_output(1_234));
    assert_eq!(bounded.limits().output, Some(1_234));
}

/// The tests of a place, run again where the environment names a proxy at which nobody is.
pub(crate) fn a_server_on_this_machine_is_asked_without_a_proxy() {
    let nobody = "http://127.0.0.1:9";
    let output = Command::new(env::current_exe().unwrap())
        .args(["wire::places::what_an_endpoint_wants", "--quiet"])
        .envs([("HTTP_PROXY", nobody), ("http_proxy", nobody), ("ALL_PROXY", nobody)])
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("2 passed"), "{said}");
}

/// OpenAI's format ends with `[DONE]`, and not every server of it does.
pub(crate) async fn a_stream_without_its_last_frame_is_complete() {
    let ends = |after| Some(Break { after, how: How::End });
    let call = Rule { breaks: ends(4), ..Rule::call("read", json!({"path": "x"})) };
    let mut peer = peer(Format::OpenAi, [call, Rule { breaks: ends(3), ..Rule::text("here") }]);
    let (turn, events) = peer.ask("hello").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "here"));
    assert_eq!(peer.toolbox.made()[0].2, json!({"path": "x"}));
    assert_eq!(retries(&events), []);
}

/// Some servers of OpenAI's format send calls whole and do not number them.
pub(crate) async fn calls_without_a_number_are_made() {
    let call = |path: &str| Call {
        name: "read".into(),
        args: json!({"path": path}),
        unnumbered: true,
        ..Call::default()
    };
    let first = Rule { calls: vec![call("x"), call("y")], ..Rule::default() };
    let none = Rule { stop: Some("tool_calls".into()), ..Rule::text("I call.") };
    let mut peer = peer(Format::OpenAi, [first, Rule::text("here"), none]);
    let (turn, _) = peer.ask("hello").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "here"));
    let made: Vec<_> = peer.toolbox.made().into_iter().map(|(_, _, args)| args).collect();
    assert_eq!(made, [json!({"path": "x"}), json!({"path": "y"})]);
    let (turn, _) = peer.ask("and now?").await;
    assert_eq!(
        end(&turn.end)["error"],
        json!({
            "kind": "unreadable",
            "message": "the model says that it calls a tool, and no call of it can be read",
        })
    );
}

pub(crate) fn addresses_are_read_and_wrong_ones_refused() {
    for (url, said) in [
        (
            "ftp://x/v1",
            "the model's address is none of http or https; give one like http://127.0.0.1:8080/v1",
        ),
        (
            "https://me:secret@x/v1",
            "the model's address has a name or a password in it, which belong into a variable; give one like \
             http://127.0.0.1:8080/v1",
        ),
        (
            "127.0.0.1",
            "the model's address cannot be read (relative URL without a base); give one like \
             http://127.0.0.1:8080/v1",
        ),
    ] {
        assert_eq!(Remote::compatible(url, "x").unwrap_err().to_string(), said);
    }
    let local = Remote::compatible("http://127.0.0.1:11434/v1/", "qwen3:8b").unwrap();
    assert_eq!((local.name(), local.limits().context), ("qwen3:8b", providers::COMPATIBLE_CONTEXT));
}

pub(crate) async fn a_name_that_is_not_known_is_asked_for_less_often(format: Format) {
    // A name that never is one (RFC 6761, section 6.4).
    let agent = agent_of(remote(format, "http://models.invalid/v1", "m"), &Toolbox::new());
    let (turn, events) = ask(&agent, &mut Default::default(), "hello").await;
    let error = &end(&turn.end)["error"];
    assert_eq!(error["kind"], "unknown_host", "{error}");
    let said = error["message"].as_str().unwrap();
    assert!(said.starts_with("cannot reach models.invalid: "), "{said}");
    assert!(
        said.contains("look at the name and at the network (given up after 3 requests)"),
        "{said}"
    );
    assert_eq!(retries(&events).len(), 2);
}
