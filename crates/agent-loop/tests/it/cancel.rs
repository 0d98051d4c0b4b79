use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use agent_loop::{
    Conversation, Delta, Message, ModelErrorKind, Outcome, Stop, StopReason, TurnEvent, Unwatched,
    Usage,
};
use agent_tool_core::{ErrorKind, Tier, ToolError, ToolOutput, ToolSpec};
use tokio::sync::Notify;

use crate::support::{
    Move, Scripted, Toolbox, agent, ask, calls, fails, is_paired, says, text, told,
};

/// Begins a turn and drops it as soon as an event says so.
async fn dropped_at(
    agent: &agent_loop::Agent,
    conversation: &mut Conversation,
    when: impl Fn(&TurnEvent) -> bool + Send + Sync,
) -> Vec<TurnEvent> {
    let (events, seen) = (Mutex::new(Vec::new()), Notify::new());
    conversation.push_user("go");
    {
        let watch = |event: TurnEvent| {
            if when(&event) {
                seen.notify_one();
            }
            events.lock().unwrap().push(event);
        };
        tokio::select! {
            biased;
            () = seen.notified() => {}
            turn = agent.turn(conversation, &watch) => panic!("the turn ended: {turn:?}"),
        }
    }
    events.into_inner().unwrap()
}

fn last_end(events: &[TurnEvent]) -> String {
    match events.last() {
        Some(TurnEvent::TurnEnded { end, .. }) => end.sentence(),
        other => panic!("no end: {other:?}"),
    }
}

pub(crate) async fn a_turn_dropped_in_the_middle_of_a_text_keeps_the_text() {
    let model = Scripted::new([vec![Move::Give(Delta::Text("I was about to".into())), Move::Hang]]);
    let mut conversation = Conversation::new();
    let events = dropped_at(&agent(&model, &Toolbox::new()), &mut conversation, |event| {
        matches!(event, TurnEvent::Text(_))
    })
    .await;
    assert_eq!(last_end(&events), "cancelled");
    let Message::Assistant(answer) = &**conversation.messages().last().unwrap() else {
        panic!("an answer")
    };
    assert_eq!(
        (answer.text.as_str(), &answer.stop),
        ("I was about to", &Some(StopReason::Interrupted))
    );
    assert_eq!(conversation.last_text(), "I was about to");
    // What the provider did not say is unknown, and not nothing.
    let Some(TurnEvent::TurnEnded { tally, .. }) = events.last() else { panic!("an end") };
    assert_eq!((tally.answers, tally.input.unknown, tally.output.unknown), (1, 1, 1));
}

pub(crate) async fn a_model_is_told_that_its_answer_was_cut_off_and_what_is_known_is_counted() {
    let mut usage = Usage::new(70, 0);
    usage.output = None;
    let cut = vec![
        Move::Give(Delta::Usage(usage)),
        Move::Give(Delta::Text("I was about to".into())),
        Move::Hang,
    ];
    let model = Scripted::new([cut, says("As I said.")]);
    let agent = agent(&model, &Toolbox::new());
    let mut conversation = Conversation::new();
    let events =
        dropped_at(&agent, &mut conversation, |event| matches!(event, TurnEvent::Text(_))).await;
    let Some(TurnEvent::TurnEnded { tally, .. }) = events.last() else { panic!("an end") };
    assert_eq!((tally.answers, tally.input.exact(), tally.output.exact()), (1, Some(70), None));
    ask(&agent, &mut conversation, "go on").await;
    let sent = &model.seen()[1].messages;
    let Message::User { parts } = &**sent.last().unwrap() else { panic!("the person's") };
    assert_eq!(
        text(parts),
        "(the person interrupted your answer above before it was complete; what stands there is all that came of it)\ngo on"
    );
    // It is kept as it was said.
    let Message::User { parts } = &*conversation.messages()[2] else { panic!("the person's") };
    assert_eq!(text(parts), "go on");
}

pub(crate) async fn a_turn_dropped_in_the_middle_of_calls_says_what_is_known_of_each() {
    struct Gone(Arc<AtomicBool>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let toolbox = Toolbox::new();
    let gone = Arc::new(AtomicBool::new(false));
    for (name, tier, parallel) in [
        ("look", Tier::Read, true),
        ("write", Tier::Write, true),
        ("said", Tier::Read, true),
        ("shell", Tier::Exec, false),
    ] {
        let gone = Arc::clone(&gone);
        let mut spec = ToolSpec::new(name, tier, "Never ends.");
        spec.tier_is_hearsay = name == "said";
        let spec = if parallel { spec } else { spec.exclusive() };
        toolbox.add(spec, move |_| {
            let gone = Gone(Arc::clone(&gone));
            async move {
                let _gone = gone;
                std::future::pending::<()>().await;
                Ok(ToolOutput::text("never"))
            }
        });
    }
    let made = [
        ("a", "read", r#"{"path":"x"}"#),
        ("b", "look", "{}"),
        ("c", "write", "{}"),
        ("s", "said", "{}"),
        ("d", "shell", "{}"),
    ];
    let model = Scripted::new([calls(&made)]);
    let mut conversation = Conversation::new();
    let events = dropped_at(&agent(&model, &toolbox), &mut conversation, |event| {
        matches!(event, TurnEvent::CallFinished { .. })
    })
    .await;
    assert_eq!(last_end(&events), "cancelled");
    assert!(gone.load(Ordering::SeqCst), "the calls under way were dropped");
    assert_eq!(toolbox.names(), ["read", "look", "write", "said"]);
    assert!(is_paired(conversation.messages()));
    assert_eq!(
        told(conversation.messages()),
        [
            (Outcome::Ok, "content of x"),
            (
                Outcome::Interrupted,
                "interrupted before it came to an end; it only reads, so nothing was changed; call it again if the \
                 answer is still needed"
            ),
            (
                Outcome::Interrupted,
                "interrupted before it came to an end; whether it acted is unknown; look at what is there before you \
                 call it again"
            ),
            (
                Outcome::Interrupted,
                "interrupted before it came to an end; whether it acted is unknown; look at what is there before you \
                 call it again"
            ),
            (
                Outcome::NotStarted,
                "not made: the step was interrupted before its turn came; nothing was done"
            ),
        ]
        .map(|(outcome, text)| (outcome, text.to_owned()))
    );
}

pub(crate) async fn a_turn_dropped_in_a_wait_leaves_nothing_behind() {
    let mut cut = vec![Move::Give(Delta::Text("half".into()))];
    cut.extend(fails(ModelErrorKind::Server));
    let model = Scripted::new([cut]);
    let mut conversation = Conversation::new();
    let events = dropped_at(&agent(&model, &Toolbox::new()), &mut conversation, |event| {
        matches!(event, TurnEvent::Retrying { .. })
    })
    .await;
    assert_eq!(last_end(&events), "cancelled");
    assert_eq!(conversation.messages().len(), 1, "what was void is not kept");
}

pub(crate) async fn a_cancelled_conversation_goes_on() {
    let toolbox = Toolbox::new();
    toolbox.add(ToolSpec::new("hang", Tier::Exec, "Never ends."), |_| async {
        std::future::pending::<()>().await;
        Ok(ToolOutput::text("never"))
    });
    let model = Scripted::new([calls(&[("a", "hang", "{}")]), says("I looked.")]);
    let agent = agent(&model, &toolbox);
    let mut conversation = Conversation::new();
    dropped_at(&agent, &mut conversation, |event| matches!(event, TurnEvent::CallStarted { .. }))
        .await;
    let (turn, _) = ask(&agent, &mut conversation, "what happened?").await;
    assert_eq!(turn.text, "I looked.");
    let sent = &model.seen()[1].messages;
    assert!(is_paired(sent));
    let Message::User { parts } = &**sent.last().unwrap() else { panic!("the person's") };
    assert_eq!(text(parts), "what happened?");
}

pub(crate) async fn a_turn_that_was_never_begun_changes_nothing() {
    let model = Scripted::new([]);
    let mut conversation = Conversation::new();
    conversation.push_user("go");
    let before = conversation.clone();
    drop(agent(&model, &Toolbox::new()).turn(&mut conversation, &Unwatched));
    assert_eq!(conversation, before);
}

/// As at a card where Ctrl-C is pressed: the call that asks has its answer, and nothing behind it begins.
pub(crate) async fn a_turn_that_is_stopped_begins_nothing_more() {
    for parallel in [false, true] {
        let (stop, toolbox) = (Stop::new(), Toolbox::new());
        let set = stop.clone();
        toolbox.add(ToolSpec::new("ask", Tier::Read, "Asks.").exclusive(), move |_| {
            set.set();
            async { Err(ToolError::new(ErrorKind::Cancelled, "interrupted", "they left")) }
        });
        let spec = ToolSpec::new("write", Tier::Write, "Writes.");
        let spec = if parallel { spec } else { spec.exclusive() };
        toolbox.add(spec, |_| async { Ok(ToolOutput::text("written")) });
        let model = Scripted::new([calls(&[
            ("a", "read", "{}"),
            ("b", "ask", "{}"),
            ("c", "write", "{}"),
            ("d", "write", "no JSON"),
        ])]);
        let mut conversation = Conversation::new();
        conversation.push_user("go");
        let agent = agent(&model, &toolbox);
        let turn = agent.turn_until(&mut conversation, &Unwatched, &stop).await;
        assert_eq!((turn.end.sentence().as_str(), turn.steps), ("cancelled", 1));
        assert_eq!(toolbox.names(), ["read", "ask"]);
        let not_made = "not made: the step was interrupted before its turn came; nothing was done";
        let told = told(conversation.messages());
        assert_eq!(
            told.iter().map(|(outcome, _)| *outcome).collect::<Vec<_>>(),
            [Outcome::Ok, Outcome::Error, Outcome::NotStarted, Outcome::NotStarted,]
        );
        assert!(told[2..].iter().all(|(_, text)| text == not_made), "{told:?}");
        // Nothing is asked either.
        conversation.push_user("go on");
        agent.turn_until(&mut conversation, &Unwatched, &stop).await;
        assert_eq!(model.seen().len(), 1);
    }
}
