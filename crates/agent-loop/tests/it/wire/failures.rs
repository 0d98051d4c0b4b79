use std::time::{Duration, Instant};

use agent_loop::{Retry, TurnEvent};
use agent_testkit::model::{Break, Fail, Format, How, Rule};
use serde_json::json;

use super::peer::{peer, retries};
use crate::support::{end, is_paired};

pub(crate) async fn too_many_requests_wait_as_they_are_asked(format: Format) {
    let asked = |wait: &str| {
        let mut rule = Rule::fail(429, "rate_limit_error", "slow down");
        rule.fail.as_mut().unwrap().retry_after = Some(wait.to_owned());
        rule
    };
    // A date that is over asks for no wait.
    let over = "Sun, 06 Nov 1994 08:49:37 GMT";
    let mut peer = peer(format, [asked("0.12"), asked(over), Rule::text("here")]);
    let begun = Instant::now();
    let (turn, events) = peer.ask("hello").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "here"));
    assert_eq!(
        retries(&events),
        [("rate_limited", Duration::from_millis(120)), ("rate_limited", Duration::ZERO)]
    );
    assert!(begun.elapsed() >= Duration::from_millis(120));
    let requests = peer.requests();
    assert!(
        requests.iter().all(|request| request.body == requests[0].body),
        "the same request each time"
    );
}

pub(crate) async fn failures_of_the_server_are_tried_again(format: Format) {
    let mut peer = peer(
        format,
        [
            Rule::fail(500, "api_error", "oops"),
            Rule::fail(529, "overloaded_error", "Overloaded"),
            Rule::fail(503, "unavailable", "later"),
            Rule::fail(502, "", "<html>bad gateway</html>"),
            Rule::text("here"),
        ],
    );
    let (turn, events) = peer.ask("hello").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "here"));
    let kinds: Vec<&str> = retries(&events).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["server", "overloaded", "overloaded", "server"]);
}

pub(crate) async fn a_stream_that_is_cut_anywhere_is_tried_again(format: Format) {
    for how in [How::Cut, How::End] {
        for after in 0..8 {
            let whole = Rule {
                text: vec!["one ".into(), "two ".into(), "three".into()],
                ..Rule::call("read", json!({"path": "a path that is long enough"}))
            };
            let cut = Rule { breaks: Some(Break { after, how: how.clone() }), ..whole.clone() };
            let mut peer = peer(format, [cut, whole, Rule::text("done")]);
            let (turn, events) = peer.ask("look").await;
            assert!(turn.end.is_done(), "{how:?} after {after}: {:?}", turn.end);
            let kinds: Vec<&str> = retries(&events).into_iter().map(|(kind, _)| kind).collect();
            assert_eq!(kinds, ["cut_stream"], "{how:?} after {after}");
            assert_eq!(peer.toolbox.names(), ["read"], "no call is made twice");
            assert_eq!(peer.conversation.messages().len(), 4);
            assert!(is_paired(peer.conversation.messages()));
        }
    }
}

pub(crate) async fn an_error_in_the_middle_of_an_answer_is_tried_again(format: Format) {
    let fail = |kind: &str| {
        let fail = Fail { kind: kind.into(), message: "Too much to do".into(), ..Fail::default() };
        let breaks = Some(Break { after: 2, how: How::Error(fail) });
        Rule { breaks, ..Rule::text("half") }
    };
    let mut peer = peer(format, [fail("overloaded_error"), fail("api_error"), Rule::text("whole")]);
    let (turn, events) = peer.ask("hello").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "whole"));
    let kinds: Vec<&str> = retries(&events).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["overloaded", "server"]);
}

pub(crate) async fn a_slow_start_is_waited_for(format: Format) {
    let mut peer = peer(format, [Rule { wait_ms: 300, ..Rule::text("here") }]);
    let (turn, events) = peer.ask("hello").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "here"));
    assert_eq!(retries(&events), []);
}

pub(crate) async fn a_server_that_falls_silent_is_left_and_asked_again(format: Format) {
    let hang = Rule { breaks: Some(Break { after: 3, how: How::Hang }), ..Rule::text("half") };
    let mut peer = peer(format, [hang, Rule::text("here")]);
    peer.agent = peer.agent.silence(Duration::from_secs(1));
    let (turn, events) = peer.ask("hello").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "here"));
    assert_eq!(retries(&events)[0].0, "timeout");
    peer.server.until(|log| log.left == 1).await;
}

pub(crate) async fn a_dropped_turn_leaves_the_server(format: Format) {
    let hang =
        Rule { breaks: Some(Break { after: 5, how: How::Hang }), ..Rule::text("half of it") };
    let mut peer = peer(
        format,
        [Rule { text: vec!["half ".into(), "of it".into()], ..hang }, Rule::text("whole")],
    );
    peer.conversation.push_user("hello");
    let seen = tokio::sync::Notify::new();
    {
        let watch = |event: TurnEvent| {
            if matches!(event, TurnEvent::Text(_)) {
                seen.notify_one();
            }
        };
        tokio::select! {
            () = seen.notified() => {}
            turn = peer.agent.turn(&mut peer.conversation, &watch) => panic!("the turn ended: {turn:?}"),
        }
    }
    peer.server.until(|log| log.left == 1).await;
    assert!(peer.conversation.last_text().starts_with("half"));
    let (turn, _) = peer.ask("go on").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "whole"));
}

pub(crate) async fn each_failure_has_its_kind(format: Format) {
    let table: &[(u16, &str, &str, &str)] = &[
        (
            400,
            "invalid_request_error",
            "messages: text content blocks must be non-empty",
            "invalid_request",
        ),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "context_too_long",
        ),
        (
            400,
            "context_length_exceeded",
            "This model's maximum context length is 8192 tokens.",
            "context_too_long",
        ),
        (
            400,
            "exceed_context_size_error",
            "the request exceeds the available context size, try increasing it",
            "context_too_long",
        ),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the API.",
            "quota",
        ),
        (401, "authentication_error", "invalid x-api-key", "authentication"),
        (402, "billing_error", "pay", "quota"),
        (403, "permission_error", "your key may not use this", "authentication"),
        (404, "not_found_error", "model: scripted-1", "not_found"),
        (413, "request_too_large", "Request exceeds the maximum size", "context_too_long"),
        (429, "insufficient_quota", "You exceeded your current quota", "quota"),
        (429, "rate_limit_error", "slow down", "rate_limited"),
        (500, "api_error", "oops", "server"),
        (529, "overloaded_error", "Overloaded", "overloaded"),
    ];
    for (status, kind, message, expected) in table {
        let mut peer = peer(format, [Rule::fail(*status, *kind, *message)]);
        peer.agent = peer.agent.retry(Retry::never());
        let (turn, _) = peer.ask("hello").await;
        let error = &end(&turn.end)["error"];
        assert_eq!(
            (&error["kind"], &error["status"]),
            (&json!(expected), &json!(status)),
            "{status} {message}"
        );
        let said = error["message"].as_str().unwrap();
        let message = message.trim_end_matches('.');
        let begins = format!("{} answered {status}: {message}", address(&peer.server.url()));
        assert!(said.starts_with(&begins), "{said}");
    }
}

fn address(url: &str) -> &str {
    url.trim_start_matches("http://").trim_end_matches("/v1")
}
