use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use agent_loop::{Conversation, REPEATS_ENDED, REPEATS_TOLD, TurnEvent};
use agent_tool_core::{Tier, ToolOutput, ToolSpec};
use serde_json::json;

use crate::support::{Move, Scripted, Toolbox, agent, ask, calls, end, is_paired, says, told};

fn read(path: &str) -> Vec<Move> {
    calls(&[("a", "read", &format!(r#"{{"path":"{path}"}}"#))])
}

pub(crate) async fn the_same_call_with_the_same_result_is_told_and_then_ended() {
    let model = Scripted::new((0..20).map(|_| read("x")));
    let mut conversation = Conversation::new();
    let (turn, events) = ask(&agent(&model, &Toolbox::new()), &mut conversation, "go").await;
    assert_eq!(end(&turn.end), json!({"end": "repeating", "tool": "read", "times": REPEATS_ENDED}));
    assert_eq!(
        turn.end.sentence(),
        "stopped: read was called 8 times with the same arguments and the same result"
    );
    assert_eq!(turn.steps, REPEATS_ENDED);
    assert!(is_paired(conversation.messages()));
    let told = told(conversation.messages());
    let remarks: Vec<bool> =
        told.iter().map(|(_, text)| text.contains("nothing new in between")).collect();
    let silent = REPEATS_TOLD as usize - 1;
    assert_eq!(remarks.iter().filter(|remark| **remark).count(), told.len() - silent);
    assert!(
        told[silent].1.contains("(time 3 that read was called with these arguments"),
        "{told:?}"
    );
    let repeating = events.iter().filter(|event| matches!(event, TurnEvent::Repeating { .. }));
    assert_eq!(repeating.count(), told.len() - silent);
}

pub(crate) async fn two_calls_in_turns_are_a_repetition_too() {
    let model = Scripted::new((0..40).map(|n| read(if n % 2 == 0 { "x" } else { "y" })));
    let (turn, _) = ask(&agent(&model, &Toolbox::new()), &mut Conversation::new(), "go").await;
    assert_eq!(end(&turn.end)["end"], "repeating");
}

pub(crate) async fn a_result_that_changes_is_no_repetition() {
    let toolbox = Toolbox::default();
    let time = Arc::new(AtomicU32::new(0));
    toolbox.add(ToolSpec::new("clock", Tier::Read, "The time."), move |_| {
        let time = time.fetch_add(1, Ordering::Relaxed);
        async move { Ok(ToolOutput::text(format!("{time} o'clock"))) }
    });
    let answers = (0..20).map(|_| calls(&[("a", "clock", "{}")])).chain([says("done")]);
    let model = Scripted::new(answers);
    let (turn, events) = ask(&agent(&model, &toolbox), &mut Conversation::new(), "go").await;
    assert!(turn.end.is_done());
    assert!(!events.iter().any(|event| matches!(event, TurnEvent::Repeating { .. })));
}

pub(crate) async fn a_test_between_edits_is_no_repetition() {
    let answers =
        (0..40).map(|n| if n % 2 == 0 { read("test") } else { read(&format!("edit {n}")) });
    let model = Scripted::new(answers.chain([says("done")]));
    let (turn, events) = ask(&agent(&model, &Toolbox::new()), &mut Conversation::new(), "go").await;
    assert!(turn.end.is_done());
    assert!(!events.iter().any(|event| matches!(event, TurnEvent::Repeating { .. })));
}

pub(crate) async fn the_order_of_arguments_means_nothing() {
    let args = |n: u32| match n % 2 {
        0 => r#"{"path":"x","line":1}"#,
        _ => r#"{"line":1,"path":"x"}"#,
    };
    let model = Scripted::new((0..20).map(|n| calls(&[("a", "read", args(n))])));
    let (turn, _) = ask(&agent(&model, &Toolbox::new()), &mut Conversation::new(), "go").await;
    assert_eq!(turn.steps, REPEATS_ENDED);
}
