use std::sync::Mutex;

use agent_loop::{
    Conversation, Delta, End, Message, ModelLimits, StopReason, TurnEvent, Unwatched, Usage,
};
use agent_tool_core::{Part, Tier, ToolOutput, ToolSpec};
use serde_json::json;

use crate::support::{
    Move, Scripted, Toolbox, agent, ask, calls, end, fails, go_on, says, told, turn_of, used,
};

pub(crate) async fn a_turn_calls_and_tells_until_the_model_is_done() {
    let (turn, conversation, model) = turn_of(vec![
        calls(&[("a", "read", r#"{"path":"x.rs"}"#)]),
        calls(&[("b", "read", r#"{"path":"y.rs"}"#)]),
        says("Both were read."),
    ])
    .await;
    assert_eq!(end(&turn.end), json!({"end": "done"}));
    assert_eq!((turn.text.as_str(), turn.steps), ("Both were read.", 3));
    assert_eq!(conversation.messages().len(), 6);
    let told: Vec<String> =
        told(conversation.messages()).into_iter().map(|(_, text)| text).collect();
    assert_eq!(told, ["content of x.rs", "content of y.rs"]);
    let last = &model.seen()[2];
    assert_eq!(last.messages.len(), 5, "the model saw all that came before");
}

pub(crate) async fn the_model_is_asked_with_the_system_text_and_the_tools_of_that_moment() {
    let toolbox = Toolbox::new();
    let switch = toolbox.clone();
    toolbox.add(ToolSpec::new("plan", Tier::Read, "Lowers the surface."), move |_| {
        let switch = switch.clone();
        async move {
            switch.remove("broken");
            Ok(ToolOutput::text("lowered"))
        }
    });
    let model = Scripted::new([calls(&[("a", "plan", "{}")]), says("done")]);
    let agent = agent(&model, &toolbox).system("Be brief.");
    ask(&agent, &mut Conversation::new(), "go").await;
    let seen = model.seen();
    assert_eq!(seen[0].system, "Be brief.");
    assert_eq!(seen[0].tools, ["read", "broken", "plan"]);
    assert_eq!(seen[1].tools, ["read", "plan"], "the surface was lowered by the first call");
}

pub(crate) async fn the_bound_on_steps_is_said_and_the_work_can_go_on() {
    let step = |n: u32| calls(&[("a", "read", &format!(r#"{{"path":"{n}"}}"#))]);
    let model = Scripted::new([step(1), step(2), says("done")]);
    let agent = agent(&model, &Toolbox::new()).steps(2);
    let mut conversation = Conversation::new();
    let (turn, _) = ask(&agent, &mut conversation, "go").await;
    assert_eq!(end(&turn.end), json!({"end": "step_limit", "steps": 2}));
    assert_eq!(turn.steps, 2);
    assert_eq!(told(conversation.messages()).len(), 2, "the last calls have their results");
    let (turn, _) = ask(&agent, &mut conversation, "go on").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "done"));
}

pub(crate) async fn an_answer_cut_at_its_bound_says_so() {
    let cut = vec![
        Move::Give(Delta::Text("It begins".into())),
        Move::Give(Delta::Stop(StopReason::OutputLimit)),
    ];
    let (turn, _, _) = turn_of(vec![cut]).await;
    assert_eq!(end(&turn.end), json!({"end": "output_limit"}));
    assert_eq!(turn.text, "It begins");
}

pub(crate) async fn a_refusal_ends_the_turn_and_makes_no_call() {
    let mut refusal = calls(&[("a", "read", "{}")]);
    refusal.pop();
    refusal.push(Move::Give(Delta::Stop(StopReason::Refused)));
    let model = Scripted::new([refusal]);
    let toolbox = Toolbox::new();
    let mut conversation = Conversation::new();
    let (turn, _) = ask(&agent(&model, &toolbox), &mut conversation, "go").await;
    assert_eq!(end(&turn.end), json!({"end": "refused"}));
    assert_eq!(toolbox.names(), [""; 0]);
    assert_eq!(conversation.messages().len(), 1);
}

pub(crate) async fn an_answer_without_content_is_not_kept() {
    let (turn, conversation, _) = turn_of(vec![
        calls(&[("a", "read", "{}")]),
        vec![Move::Give(Delta::Stop(StopReason::End))],
    ])
    .await;
    assert_eq!((turn.end.is_done(), turn.text.as_str(), turn.steps), (true, "", 2));
    assert_eq!(conversation.messages().len(), 3);
}

pub(crate) async fn usage_is_counted_and_what_is_unknown_is_not_zero() {
    let first = used(calls(&[("a", "read", "{}")]), Usage::new(100, 10).with_cached(80));
    let second = calls(&[("b", "read", "{}")]);
    let third = used(says("done"), Usage::new(300, 5));
    let (turn, conversation, _) = turn_of(vec![first, second, third]).await;
    let tally = turn.tally;
    assert_eq!((tally.answers, tally.input.known, tally.input.exact()), (3, 400, None));
    assert_eq!(tally.output.to_string(), "at least 15");
    assert_eq!((tally.cached.known, tally.cached.unknown), (80, 2));
    let Message::Assistant(answer) = &*conversation.messages()[1] else { panic!("an answer") };
    assert_eq!(answer.usage, Usage::new(100, 10).with_cached(80));

    let (turn, _, _) = turn_of(vec![used(says("done"), Usage::new(7, 1))]).await;
    assert_eq!(
        (turn.tally.input.exact(), turn.tally.cached.to_string().as_str()),
        (Some(7), "unknown")
    );
}

pub(crate) async fn the_events_of_a_turn_come_in_order() {
    let first = vec![
        Move::Give(Delta::Text("I ".into())),
        Move::Give(Delta::Alive),
        Move::Give(Delta::Text("look.".into())),
        Move::Give(Delta::Reasoning("hm".into())),
        Move::Give(Delta::Writing { tool: "read".into(), bytes: 5 }),
        Move::Give(Delta::Call(agent_loop::RawCall::new("a", "read", "{}"))),
        Move::Give(Delta::Stop(StopReason::Calls)),
    ];
    let model = Scripted::new([first, says("done")]);
    let (_, events) = ask(&agent(&model, &Toolbox::new()), &mut Conversation::new(), "go").await;
    let names = events.iter().map(|event| match event {
        TurnEvent::StepStarted { step, .. } => format!("step {step}"),
        TurnEvent::Text(text) => format!("text {text}"),
        TurnEvent::Reasoning(text) => format!("reasoning {text}"),
        TurnEvent::Writing { tool, bytes } => format!("writing {tool} {bytes}"),
        TurnEvent::CallStarted { call_id, name, .. } => format!("started {call_id} {name}"),
        TurnEvent::CallFinished { call_id, result, .. } => {
            format!("finished {call_id} {}", result.is_ok())
        }
        TurnEvent::Message(_) => "message".to_owned(),
        TurnEvent::StepEnded { step, stop, .. } => format!("step {step} ended: {stop}"),
        TurnEvent::TurnEnded { end, .. } => end.sentence(),
        other => format!("{other:?}"),
    });
    assert_eq!(
        names.collect::<Vec<_>>(),
        [
            "step 1",
            "text I ",
            "text look.",
            "reasoning hm",
            "writing read 5",
            "message",
            "started a read",
            "finished a true",
            "message",
            "step 1 ended: calls",
            "step 2",
            "text done",
            "message",
            "step 2 ended: end",
            "done",
        ]
    );
}

pub(crate) async fn a_brief_is_appended_to_and_run_again() {
    let model = Scripted::new([says("first result"), says("second result")]);
    let worker = agent(&model, &Toolbox::new());
    let mut conversation = Conversation::new();
    conversation.push_user("the brief");
    assert_eq!(worker.turn(&mut conversation, &Unwatched).await.text, "first result");
    conversation.push_user("and this too");
    conversation.push_parts(vec![Part::text("and that")]);
    assert_eq!(worker.turn(&mut conversation, &Unwatched).await.text, "second result");
    assert_eq!(conversation.last_text(), "second result");
    assert_eq!(model.seen()[1].messages.len(), 4);
}

pub(crate) async fn what_a_turn_came_to_is_written_in_words_and_in_json() {
    let model = Scripted::with(
        ModelLimits::new(10_000),
        [fails(agent_loop::ModelErrorKind::Authentication)],
    );
    let mut conversation = Conversation::new();
    conversation.push_user("go");
    let (turn, events) = go_on(&agent(&model, &Toolbox::new()), &mut conversation).await;
    assert_eq!(turn.end.sentence(), "the model did not answer: it failed");
    assert_eq!(
        serde_json::to_value(&turn).unwrap(),
        json!({
            "end": "failed", "error": {"kind": "authentication", "message": "it failed"}, "text": "", "steps": 0,
            "tally": {
                "answers": 0, "input": {"known": 0, "unknown": 0}, "output": {"known": 0, "unknown": 0},
                "cached": {"known": 0, "unknown": 0},
            },
        })
    );
    let ends = Mutex::new(0);
    for event in events {
        if let TurnEvent::TurnEnded { end: End::Failed { .. }, .. } = event {
            *ends.lock().unwrap() += 1;
        }
    }
    assert_eq!(ends.into_inner().unwrap(), 1);
}
