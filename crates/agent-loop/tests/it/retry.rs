use std::time::Duration;

use agent_loop::{
    Conversation, Delta, Message, ModelError, ModelErrorKind, ModelLimits, Retry, TurnEvent, Usage,
};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{
    Move, Scripted, Toolbox, agent, ask, calls, end, fails, is_paired, says, text, used,
};

fn waits(events: &[TurnEvent]) -> Vec<Duration> {
    let waits = events.iter().filter_map(|event| match event {
        TurnEvent::Retrying { wait, .. } => Some(*wait),
        _ => None,
    });
    waits.collect()
}

fn asks_to_wait(seconds: u64) -> Vec<Move> {
    let error = ModelError::new(ModelErrorKind::RateLimited, "too many requests");
    vec![Move::Fail(error.with_retry_after(Duration::from_secs(seconds)).with_status(429))]
}

pub(crate) async fn a_request_is_made_again_after_waits_that_double_and_vary() {
    let kinds = [
        ModelErrorKind::Server,
        ModelErrorKind::Overloaded,
        ModelErrorKind::Connection,
        ModelErrorKind::RateLimited,
    ];
    let model = Scripted::new(kinds.into_iter().map(fails).chain([says("here")]));
    let begun = Instant::now();
    let (turn, events) = ask(&agent(&model, &Toolbox::new()), &mut Conversation::new(), "go").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "here"));
    let waits = waits(&events);
    for (wait, whole) in waits.iter().zip([1, 2, 4, 8].map(Duration::from_secs)) {
        assert!((whole / 2..=whole).contains(wait), "{wait:?} of {whole:?}");
    }
    assert_eq!(waits.len(), 4);
    assert!(begun.elapsed() >= waits.iter().sum(), "it really waited");
}

pub(crate) async fn the_wait_that_the_provider_asks_for_is_kept() {
    let model = Scripted::new([asks_to_wait(37), says("here")]);
    let begun = Instant::now();
    let (_, events) = ask(&agent(&model, &Toolbox::new()), &mut Conversation::new(), "go").await;
    assert_eq!(waits(&events), [Duration::from_secs(37)]);
    assert!(begun.elapsed() >= Duration::from_secs(37));
}

pub(crate) async fn a_wait_that_is_too_long_ends_the_turn_and_says_so() {
    let model = Scripted::new([asks_to_wait(3_600)]);
    let (turn, events) = ask(&agent(&model, &Toolbox::new()), &mut Conversation::new(), "go").await;
    assert_eq!(waits(&events), []);
    assert_eq!(
        end(&turn.end),
        json!({"end": "failed", "error": {
            "kind": "rate_limited", "status": 429,
            "message": "too many requests; it asks to wait for 3600 s, which is left to you: go on when that is over",
        }})
    );
}

pub(crate) async fn what_cannot_succeed_is_not_tried_again() {
    for kind in [
        ModelErrorKind::Authentication,
        ModelErrorKind::Quota,
        ModelErrorKind::InvalidRequest,
        ModelErrorKind::NotFound,
        ModelErrorKind::Unreadable,
    ] {
        let model = Scripted::new([fails(kind)]);
        let (turn, events) =
            ask(&agent(&model, &Toolbox::new()), &mut Conversation::new(), "go").await;
        assert_eq!(end(&turn.end)["error"]["kind"], kind.as_str());
        assert_eq!(waits(&events), []);
    }
}

pub(crate) async fn after_the_last_time_the_turn_ends_with_what_was_got() {
    let half = || vec![Move::Give(Delta::Text("half of".into()))];
    let model = Scripted::new([calls(&[("a", "read", "{}")]), half(), half(), half()]);
    let agent = agent(&model, &Toolbox::new()).retry(Retry::default().with_times(2));
    let mut conversation = Conversation::new();
    let (turn, _) = ask(&agent, &mut conversation, "go").await;
    assert_eq!(
        end(&turn.end),
        json!({"end": "failed", "error": {
            "kind": "cut_stream", "message": "the answer ended before it was complete (given up after 3 requests)",
        }})
    );
    assert_eq!((turn.text.as_str(), turn.steps), ("half of", 1));
    assert_eq!(conversation.messages().len(), 4);
    assert!(is_paired(conversation.messages()));
}

pub(crate) async fn a_model_is_told_that_its_answer_broke_off_with_the_connection() {
    let half = || vec![Move::Give(Delta::Text("half of".into()))];
    let model = Scripted::new([half(), half(), says("As I said.")]);
    let agent = agent(&model, &Toolbox::new()).retry(Retry::default().with_times(1));
    let mut conversation = Conversation::new();
    ask(&agent, &mut conversation, "go").await;
    let (turn, _) = ask(&agent, &mut conversation, "go on").await;
    assert_eq!(turn.text, "As I said.");
    let sent = &model.seen()[2].messages;
    let Message::User { parts } = &**sent.last().unwrap() else { panic!("the person's") };
    assert_eq!(
        text(parts),
        "(your answer above broke off with the connection before it was complete; what stands there is all that came of it)\ngo on"
    );
}

pub(crate) async fn a_cut_stream_is_asked_for_again_and_its_text_is_void() {
    let cut = used(vec![Move::Give(Delta::Text("half of".into()))], Usage::new(50, 1));
    let model = Scripted::new([cut, used(says("whole"), Usage::new(50, 2))]);
    let mut conversation = Conversation::new();
    let (turn, events) = ask(&agent(&model, &Toolbox::new()), &mut conversation, "go").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "whole"));
    let void = events.iter().find_map(|event| match event {
        TurnEvent::Retrying { void, .. } => Some(*void),
        _ => None,
    });
    assert_eq!(void, Some("half of".len()));
    assert_eq!(conversation.messages().len(), 2);
    assert_eq!(turn.tally.input.exact(), Some(100), "what was cut was used all the same");
}

pub(crate) async fn no_call_of_a_cut_answer_is_made() {
    let mut cut = calls(&[("a", "read", "{}")]);
    cut.pop();
    let model = Scripted::new([cut, calls(&[("a", "read", r#"{"path":"x"}"#)]), says("done")]);
    let toolbox = Toolbox::new();
    ask(&agent(&model, &toolbox), &mut Conversation::new(), "go").await;
    assert_eq!(toolbox.made(), [("a".to_owned(), "read".to_owned(), json!({"path": "x"}))]);
}

pub(crate) async fn silence_counts_as_a_failure() {
    let silent = vec![Move::Give(Delta::Text("one".into())), Move::Hang];
    let model = Scripted::new([silent, says("here")]);
    let agent = agent(&model, &Toolbox::new()).silence(Duration::from_secs(60));
    let (turn, events) = ask(&agent, &mut Conversation::new(), "go").await;
    assert_eq!(turn.text, "here");
    let reasons = events.iter().filter_map(|event| match event {
        TurnEvent::Retrying { error, .. } => Some(error.to_string()),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), ["nothing came from the model for 60 s"]);
}

pub(crate) async fn a_conversation_that_the_provider_finds_too_long_is_shortened() {
    let too_long = || fails(ModelErrorKind::ContextTooLong);
    let read = |n: u32| calls(&[("a", "long", &format!(r#"{{"n":{n}}}"#))]);
    let toolbox = Toolbox::default();
    toolbox.add(
        agent_tool_core::ToolSpec::new("long", agent_tool_core::Tier::Read, "Long."),
        |_| async { Ok(agent_tool_core::ToolOutput::text("word ".repeat(2_000))) },
    );
    let model = Scripted::with(
        ModelLimits::new(1_000_000),
        [read(1), read(2), read(3), too_long(), says("done")],
    );
    let mut conversation = Conversation::new();
    let (turn, events) = ask(&agent(&model, &toolbox), &mut conversation, "go").await;
    assert!(turn.end.is_done(), "{:?}", turn.end);
    let shortened = events.iter().any(|event| {
        matches!(event, TurnEvent::Shortened { before, after, messages: 1.. } if after < before)
    });
    assert!(shortened);
    let bytes =
        |messages: &[std::sync::Arc<Message>]| serde_json::to_string(messages).unwrap().len();
    let seen = model.seen();
    assert!(bytes(&seen[4].messages) < bytes(&seen[3].messages) * 3 / 4);

    let model = Scripted::with(ModelLimits::new(1_000_000), (0..5).map(|_| too_long()));
    let (turn, _) = ask(&agent(&model, &toolbox), &mut Conversation::new(), "go").await;
    assert_eq!(end(&turn.end)["error"]["kind"], "context_too_long");
    assert_eq!(model.seen().len(), 1, "what cannot be shortened is not sent again");
}
