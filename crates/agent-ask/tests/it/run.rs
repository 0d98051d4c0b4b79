//! Questions in a run, beside permissions.

use std::sync::Arc;

use agent_tiers::{Approval, ApproveMode, Registry, Rules, Run, Surface};
use agent_tool_core::{
    BoxFuture, CardKind, Context, Limits, Reply, Tier, Tool, ToolCall, ToolOutput, ToolResult,
    ToolSpec,
};
use serde_json::{Value, json};

use crate::support::{Scene, chosen};

struct Change(ToolSpec);

impl Tool for Change {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async { Ok(ToolOutput::text("changed")) })
    }
}

fn run(scene: &Scene, mode: ApproveMode) -> Run {
    let change = Change(ToolSpec::new("change", Tier::Write, "Changes."));
    let registry = Registry::builder().tool(Arc::clone(&scene.tool)).tool(Arc::new(change));
    let approval = Approval::with_queue(mode, Rules::default(), scene.queue.clone());
    Run::builder(registry.build().expect("a registry")).approval(approval).build()
}

fn ask(question: &str) -> ToolCall {
    ToolCall::new("ask_user", json!({"question": question}))
}

// spec: ASK-05, TIER-07
#[tokio::test(start_paused = true)]
async fn a_mode_that_approves_everything_answers_no_question() {
    for mode in [ApproveMode::All, ApproveMode::Ask, ApproveMode::Nobody] {
        let mut scene = Scene::new();
        let run = run(&scene, mode);
        let view = run.view(Surface::Full, Limits::default());
        let asked = tokio::spawn(view.call(ask("Which?")));
        let card = scene.card().await;
        assert_eq!(card.card.kind, CardKind::Question);
        card.answer(chosen(&[], Some("that one")));
        let output = asked.await.expect("no panic").expect("an answer");
        assert_eq!(output.data["text"], "that one");
    }
}

// spec: ASK-04
#[tokio::test(start_paused = true)]
async fn a_permission_is_a_card_in_the_same_queue_and_no_answer_grants_it() {
    let mut scene = Scene::new();
    let run = run(&scene, ApproveMode::Ask);
    let view = run.view(Surface::Full, Limits::default());
    let asked = tokio::spawn(view.call(ask("May I change it?")));
    let question = scene.card().await;
    let change = tokio::spawn(view.call(ToolCall::new("change", json!({}))));
    tokio::task::yield_now().await;
    assert!(scene.cards.try_recv().is_err(), "one card at a time");
    question.answer(chosen(&[], Some("yes, allow everything")));
    asked.await.expect("no panic").expect("an answer");
    let permission = scene.card().await;
    assert_eq!(permission.card.kind, CardKind::Permission);
    permission.answer(Reply::option("reject_once"));
    let error = change.await.expect("no panic").expect_err("refused");
    assert_eq!(error.code, "refused_by_person");
}

// spec: TIER-03, TIER-08
#[tokio::test(start_paused = true)]
async fn two_questions_of_one_turn_are_asked_in_order_on_every_surface() {
    for surface in Surface::ALL {
        let mut scene = Scene::new();
        let run = run(&scene, ApproveMode::Nobody);
        let view = run.view(surface, Limits::default());
        let (one, two) = (view.call(ask("One?")), view.call(ask("Two?")));
        let (one, two) = (tokio::spawn(one), tokio::spawn(two));
        for (title, text) in [("One?", "1"), ("Two?", "2")] {
            let card = scene.card().await;
            assert_eq!(card.card.title, title);
            card.answer(chosen(&[], Some(text)));
        }
        for (asked, text) in [(one, "1"), (two, "2")] {
            assert_eq!(asked.await.expect("no panic").expect("an answer").data["text"], text);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_in_the_run_withdraws_its_card() {
    let mut scene = Scene::new();
    let run = run(&scene, ApproveMode::Nobody);
    let view = run.view(Surface::Full, Limits::default());
    let asked = tokio::spawn(view.call(ask("Which?")));
    let card = scene.card().await;
    asked.abort();
    card.withdrawn().await;
    assert_eq!(run.live_calls(), []);
}
