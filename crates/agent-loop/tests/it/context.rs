use std::sync::Arc;

use agent_loop::{Conversation, Message, ModelLimits, TurnEvent};
use agent_tool_core::{Part, Tier, ToolOutput, ToolSpec};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use crate::support::{
    Move, Scripted, Toolbox, agent, calls, end, go_on, is_paired, run, says, text, told,
};

/// Tokens of the context that the model states no bound of its answer for leave to what is sent.
fn room(context: usize) -> usize {
    context - context / 8
}

/// One exchange: letters of the person's text, of the answer's, and of each call's arguments and result.
type Exchange = (usize, usize, Vec<(usize, usize, bool)>);

fn build(exchanges: &[Exchange]) -> Conversation {
    let mut messages = Vec::new();
    for (index, (user, answer, made)) in exchanges.iter().enumerate() {
        messages
            .push(json!({"role": "user", "parts": [{"type": "text", "text": "u".repeat(*user)}]}));
        let id = |n: usize| format!("id{index}x{n}");
        let calls = made.iter().enumerate().map(|(n, (args, _, _))| {
            json!({"id": id(n), "name": "read", "args": {"path": "a".repeat(*args), "n": n}})
        });
        let calls: Vec<Value> = calls.collect();
        messages.push(json!({"role": "assistant", "text": "t".repeat(*answer), "calls": calls}));
        if !made.is_empty() {
            let results = made.iter().enumerate().map(|(n, (_, result, image))| {
                let mut parts = vec![json!({"type": "text", "text": "r".repeat(*result)})];
                if *image {
                    parts.push(json!({"type": "image", "mime": "image/png", "base64": "aGk="}));
                }
                json!({"call_id": id(n), "name": "read", "outcome": "ok", "parts": parts})
            });
            messages.push(json!({"role": "tool", "results": results.collect::<Vec<_>>()}));
        }
    }
    serde_json::from_value(json!({"messages": messages})).unwrap()
}

/// Every letter that is sent, counted as coarsely as can be, and each image.
fn least_tokens(messages: &[Arc<Message>]) -> usize {
    let letters = |parts: &[Part]| -> usize {
        let counts = parts.iter().map(|part| match part {
            Part::Text { text } => text.len(),
            _ => 1_600 * 3,
        });
        counts.sum()
    };
    let bytes = messages.iter().map(|message| match &**message {
        Message::User { parts } => letters(parts),
        Message::Assistant(answer) => {
            let args = answer.calls.iter().map(|call| call.args.to_string().len());
            answer.text.len() + args.sum::<usize>()
        }
        Message::Tool { results } => results.iter().map(|result| letters(&result.parts)).sum(),
        _ => 0,
    });
    bytes.sum::<usize>() / 3
}

fn shape(messages: &[Arc<Message>]) -> Vec<Vec<String>> {
    let shapes = messages.iter().map(|message| match &**message {
        Message::User { parts } => vec![text(parts)],
        Message::Assistant(answer) => answer.calls.iter().map(|call| call.id.clone()).collect(),
        Message::Tool { results } => results.iter().map(|result| result.call_id.clone()).collect(),
        _ => Vec::new(),
    });
    shapes.collect()
}

fn check(exchanges: &[Exchange], context: usize) {
    run(async {
        let mut conversation = build(exchanges);
        conversation.repair();
        conversation.push_user("and now?");
        let whole = conversation.messages().to_vec();
        let model = Scripted::with(ModelLimits::new(context), [says("ok")]);
        let (turn, events) = go_on(&agent(&model, &Toolbox::default()), &mut conversation).await;
        assert_eq!(
            conversation.messages()[..whole.len()],
            whole[..],
            "the conversation stays whole"
        );
        let Some(seen) = model.seen().pop() else {
            assert_eq!(end(&turn.end)["error"]["kind"], "context_too_long");
            // Letters may cost a third of a token each, and each message and call a few tokens.
            let frames: usize = whole.len() + shape(&whole).concat().len();
            assert!(
                least_tokens(&whole) + 30 * frames > room(context),
                "it would have fitted whole"
            );
            return;
        };
        let sent = &seen.messages;
        let estimated = events.iter().find_map(|event| match event {
            TurnEvent::StepStarted { tokens, .. } => Some(*tokens),
            _ => None,
        });
        assert!(estimated.unwrap() <= room(context), "{estimated:?} of {}", room(context));
        assert!(least_tokens(sent) <= room(context), "what is counted is what is sent");
        assert_eq!(
            shape(sent),
            shape(&whole),
            "the person's words, calls and results keep their places"
        );
        assert!(is_paired(sent));
        let last = whole.iter().rposition(|m| matches!(**m, Message::Assistant(_)));
        let last = last.unwrap_or(whole.len());
        assert_eq!(sent[last..], whole[last..], "the last answer and its results are sent whole");
        let shortened = events.iter().any(|event| matches!(event, TurnEvent::Shortened { .. }));
        assert_eq!(shortened, sent != &whole, "what is left out is told");
    });
}

pub(crate) async fn whatever_is_said_is_sent_within_its_bounds() {
    // On a thread of its own, since each case has a runtime of its own.
    let cases = std::thread::spawn(|| {
        let call = (0_usize..3_000, 0_usize..30_000, any::<bool>());
        let exchange = (0_usize..500, 0_usize..4_000, prop::collection::vec(call, 0..4));
        let cases = (prop::collection::vec(exchange, 0..12), 400_usize..40_000);
        let mut runner =
            TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
        runner.run(&cases, |(exchanges, context)| {
            check(&exchanges, context);
            Ok(())
        })
    });
    cases.join().unwrap().unwrap();
}

/// Exchanges of one call each, whose results have so many letters.
fn results_of(letters: &[usize]) -> Conversation {
    let exchanges: Vec<Exchange> =
        letters.iter().map(|letters| (2, 2, vec![(1, *letters, false)])).collect();
    build(&exchanges)
}

async fn sent(
    conversation: &mut Conversation,
    context: usize,
) -> (Vec<Arc<Message>>, Vec<TurnEvent>) {
    let model = Scripted::with(ModelLimits::new(context), [says("ok")]);
    conversation.push_user("and now?");
    let (_, events) = go_on(&agent(&model, &Toolbox::default()), conversation).await;
    (model.seen().pop().expect("a request").messages, events)
}

pub(crate) async fn old_results_are_shortened_first_with_a_mark_that_says_how_much() {
    let mut conversation = results_of(&[9_000, 9_000, 9_000, 9_000]);
    let (sent, events) = sent(&mut conversation, 12_000).await;
    let told: Vec<String> = told(&sent).into_iter().map(|(_, text)| text).collect();
    let cut = format!(
        "{}\n… 8600 more characters; cut to keep the conversation within its bounds; call the tool again to see it \
         …\n{}",
        "r".repeat(266),
        "r".repeat(134)
    );
    let whole = "r".repeat(9_000);
    assert_eq!(
        told,
        [cut.clone(), cut, whole.clone(), whole],
        "as many as bring it well within its bounds"
    );
    let shortened: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::Shortened { before, after, messages } => Some((before > after, *messages)),
            _ => None,
        })
        .collect();
    assert_eq!(shortened, [(true, 2)]);
}

pub(crate) async fn then_results_go_then_old_arguments_and_answers() {
    let exchanges: Vec<Exchange> = vec![(2, 3_000, vec![(3_000, 3_000, true)]); 10];
    let mut tight = build(&exchanges);
    let (messages, _) = sent(&mut tight, 26_000).await;
    let first = |messages: &[Arc<Message>]| match (&*messages[1], &*messages[2]) {
        (Message::Assistant(answer), Message::Tool { results }) => (
            answer.text.len(),
            answer.calls[0].args["path"].as_str().unwrap().len(),
            text(&results[0].parts),
        ),
        _ => panic!("an answer and its results"),
    };
    let (answer, args, result) = first(&messages);
    assert_eq!(answer, 3_000, "answers go last");
    assert!(args < 400, "{args}");
    assert_eq!(
        result,
        "[the result of read, 3000 characters, cut to keep the conversation within its bounds; call the tool again to \
         see it]"
    );
    let mut tighter = build(&exchanges);
    let (messages, _) = sent(&mut tighter, 16_000).await;
    let (answer, _, _) = first(&messages);
    assert!(answer < 600, "{answer}");
}

pub(crate) async fn the_beginning_stays_the_same_for_many_steps() {
    let toolbox = Toolbox::default();
    toolbox.add(ToolSpec::new("long", Tier::Read, "Long."), |args| async move {
        Ok(ToolOutput::text(format!("{} {}", args["n"], "word ".repeat(600))))
    });
    let answers = (0..60).map(|n| calls(&[("a", "long", &format!(r#"{{"n":{n}}}"#))]));
    let answers: Vec<Vec<Move>> = answers.chain([says("done")]).collect();
    let model = Scripted::with(ModelLimits::new(20_000), answers);
    let mut conversation = Conversation::new();
    conversation.push_user("go");
    let (turn, _) = go_on(&agent(&model, &toolbox), &mut conversation).await;
    assert!(turn.end.is_done(), "{:?}", turn.end);
    let seen = model.seen();
    let steps = seen.windows(2);
    let changed =
        steps.filter(|pair| pair[1].messages[..pair[0].messages.len()] != pair[0].messages[..]);
    let changed = changed.count();
    assert!((1..=20).contains(&changed), "the beginning changed {changed} times in 60 steps");
}

pub(crate) async fn what_cannot_fit_is_an_error_that_says_so() {
    let model = Scripted::with(ModelLimits::new(800), []);
    let mut conversation = Conversation::new();
    conversation.push_user("u".repeat(3_000));
    let (turn, _) = go_on(&agent(&model, &Toolbox::default()), &mut conversation).await;
    assert_eq!(
        end(&turn.end)["error"],
        json!({
            "kind": "context_too_long",
            "message": "the conversation needs about 1008 tokens and there is room for 700, though all that may be left \
                        out was left out; begin a new conversation, or ask for less at once",
        })
    );
}

pub(crate) async fn the_shortening_is_saved_and_the_conversation_stays_whole() {
    let mut conversation = results_of(&[9_000, 9_000, 9_000, 9_000]);
    let (first, _) = sent(&mut conversation, 12_000).await;
    let saved = serde_json::to_value(&conversation).unwrap();
    assert_eq!(saved["shortened"], json!([6, 0, 0]));
    let mut loaded: Conversation = serde_json::from_value(saved).unwrap();
    assert_eq!(told(loaded.messages())[0].1, "r".repeat(9_000));
    let (again, events) = sent(&mut loaded, 12_000).await;
    assert_eq!(again[..first.len()], first[..], "the beginning is that of before");
    assert!(!events.iter().any(|event| matches!(event, TurnEvent::Shortened { .. })));
}
