//! Who is asked, what is shown, and what an answer is worth.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use agent_testkit::{NobodyThere, ScriptedPerson};
use agent_tiers::{Approval, ApproveMode, Policy, Rule, Rules, Run, Surface, guardrail};
use agent_tool_core::{
    BoxFuture, Card, CardError, CardPort, Effect, ErrorKind, Limits, Reply, Tier, Tool, ToolCall,
    ToolError,
};
use serde_json::json;
use tokio::sync::Notify;

use crate::tools::{Editor, asking, call, made, plain, registry, spec};

/// What TIER-07 allows for a refusal with nobody there.
const AT_ONCE: Duration = Duration::from_millis(50);

// spec: TIER-07
#[tokio::test]
async fn with_nobody_there_a_call_that_asks_is_refused_at_once_and_no_person_is_blamed() {
    let run = asking(
        Arc::new(NobodyThere),
        [plain("write", Tier::Write), plain("eval", Tier::Exec), plain("read", Tier::Read)],
    );
    let view = run.view(Surface::Full, Limits::default());
    for name in ["write", "eval"] {
        let begun = Instant::now();
        let error = view.call(call(name)).await.expect_err("refused");
        assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
        assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Denied, "no_approver"));
        assert!(
            !error.message.contains("refused") && !error.message.contains("the person"),
            "{}",
            error.message
        );
    }
    assert!(view.call(call("read")).await.is_ok(), "a read call never asks");
}

// spec: TIER-07
#[tokio::test]
async fn a_read_call_never_shows_a_card_and_others_do() {
    let person = Arc::new(ScriptedPerson::new([Effect::AllowOnce, Effect::RejectOnce]));
    let run = asking(
        person.clone(),
        [plain("read", Tier::Read), plain("write", Tier::Write), plain("eval", Tier::Exec)],
    );
    let view = run.view(Surface::Full, Limits::default());
    assert!(view.call(call("read")).await.is_ok());
    assert!(person.seen().is_empty());
    assert!(view.call(call("write")).await.is_ok());
    let refused = view.call(call("eval")).await.expect_err("refused");
    assert_eq!(refused.code, "refused_by_person");
    let gone = view.call(call("eval")).await.expect_err("the script is at its end");
    assert_eq!(gone.code, "no_answer");
    assert!(!gone.message.contains("refused"), "{}", gone.message);
    assert_eq!(person.seen().len(), 3);
}

#[tokio::test]
async fn a_card_shows_the_tools_own_preview_cleaned_and_the_arguments_that_run_are_those_approved()
{
    let person = Arc::new(ScriptedPerson::new([Effect::AllowOnce]));
    let editor = Editor::new("edit");
    let done = Arc::clone(&editor.done);
    let run = asking(person.clone(), [editor as Arc<dyn Tool>]);
    let args = json!({"to": "\u{1b}[31mred\u{202e}"});
    let view = run.view(Surface::Full, Limits::default());
    view.call(ToolCall::new("edit", args.clone())).await.expect("allowed");
    let card = person.seen().remove(0);
    assert_eq!(card.title, "edit: edit\u{fffd} the text");
    let preview = card.preview.expect("a preview");
    assert!(!preview.body.contains('\u{202e}') && !preview.body.contains('\u{1b}'));
    assert_eq!(preview.fingerprint.as_deref(), Some("plan of \"\""));
    assert_eq!(*done.lock().expect("calls"), [args], "what the model sent stays verbatim");
}

/// A person who waits for a sign before they allow.
struct Thinking {
    asked: Notify,
    sign: Notify,
}

impl CardPort for Thinking {
    fn connected(&self) -> bool {
        true
    }

    fn present(&self, _card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        Box::pin(async {
            self.asked.notify_one();
            self.sign.notified().await;
            Ok(Reply::option("allow_once"))
        })
    }
}

fn thinking() -> Arc<Thinking> {
    Arc::new(Thinking { asked: Notify::new(), sign: Notify::new() })
}

#[tokio::test]
async fn an_approval_executes_exactly_what_was_shown() {
    let person = thinking();
    let editor = Editor::new("edit");
    let (text, done) = (Arc::clone(&editor.text), Arc::clone(&editor.done));
    let run = asking(person.clone(), [editor as Arc<dyn Tool>]);
    let view = run.view(Surface::Full, Limits::default());
    let waiting = tokio::spawn(async move { view.call(call("edit")).await });
    person.asked.notified().await;
    *text.lock().expect("the text") = "changed behind its back".into();
    person.sign.notify_one();
    let error = waiting.await.expect("a task").expect_err("another plan");
    assert_eq!((error.kind, error.code.as_ref()), (ErrorKind::Conflict, "approval_changed"));
    assert!(done.lock().expect("calls").is_empty());
}

// spec: TIER-03, TIER-07
#[tokio::test]
async fn a_surface_that_became_plan_in_the_meantime_refuses_a_later_allow() {
    let person = thinking();
    let editor = Editor::new("edit");
    let done = Arc::clone(&editor.done);
    let run = asking(person.clone(), [editor as Arc<dyn Tool>]);
    let view = run.view(Surface::Full, Limits::default());
    let calling = view.clone();
    let waiting = tokio::spawn(async move { calling.call(call("edit")).await });
    person.asked.notified().await;
    view.set_surface(Surface::Plan);
    person.sign.notify_one();
    assert_eq!(waiting.await.expect("a task").expect_err("hidden by now").code, "unknown_tool");
    assert!(done.lock().expect("calls").is_empty());
}

#[tokio::test]
async fn always_allow_holds_for_one_run_one_caller_and_one_tool() {
    let script = [Effect::AllowRun, Effect::RejectOnce, Effect::RejectOnce, Effect::RejectOnce];
    let person = Arc::new(ScriptedPerson::new(script));
    let cell = made(spec("cell", Tier::Read), |args, cx| {
        let name = args["tool"].as_str().unwrap_or_default().to_owned();
        Box::pin(async move { cx.call(ToolCall::new(name, json!({}))).await })
    });
    let tools = || [plain("write", Tier::Write), plain("eval", Tier::Exec), Arc::clone(&cell)];
    let run = asking(person.clone(), tools());
    let view = run.view(Surface::Full, Limits::default());
    let code = |result: Result<_, ToolError>| {
        result.map(|_: agent_tool_core::ToolOutput| ()).map_err(|error| error.code)
    };
    assert_eq!(code(view.call(call("write")).await), Ok(()));
    assert_eq!(
        code(view.call(call("write")).await),
        Ok(()),
        "the same caller and tool are not asked again"
    );
    assert_eq!(person.seen().len(), 1);
    let refused = Err("refused_by_person".into());
    assert_eq!(code(view.call(call("eval")).await), refused, "another tool asks");
    let nested = ToolCall::new("cell", json!({"tool": "write"}));
    assert_eq!(code(view.call(nested).await), refused, "another caller asks");
    assert_eq!(person.seen()[2].asked_by[0].name, "cell");
    let other = asking(person.clone(), tools());
    let other = other.view(Surface::Full, Limits::default());
    assert_eq!(code(other.call(call("write")).await), refused, "another run asks");
    view.set_surface(Surface::ReadOnly);
    assert_eq!(
        code(view.call(call("write")).await),
        Err("unknown_tool".into()),
        "it beats no ceiling"
    );
}

#[tokio::test]
async fn no_mode_beats_a_guardrail_a_rule_that_refuses_or_a_rejection_for_the_run() {
    let no = |_: &agent_tool_core::ToolSpec, call: &ToolCall| match call.args["path"].as_str() {
        Some("/etc") => Err(ToolError::new(ErrorKind::Denied, "guarded", "not there")),
        _ => Ok(()),
    };
    let rules = Rules::default().with(Rule::new("debug", Policy::Refuse).when("op", ["attach"]));
    let approval = Approval::new(ApproveMode::All, rules, Arc::new(NobodyThere));
    let tools = [plain("write", Tier::Write), plain("debug", Tier::Exec)];
    let run = Run::builder(registry(tools)).gate(guardrail(no)).approval(approval).build();
    let view = run.view(Surface::Full, Limits::default());
    let code = async |name: &str, args| {
        view.call(ToolCall::new(name, args)).await.map(|_| ()).map_err(|e| e.code)
    };
    assert_eq!(code("write", json!({"path": "a"})).await, Ok(()));
    assert_eq!(code("write", json!({"path": "/etc"})).await, Err("guarded".into()));
    assert_eq!(code("debug", json!({"op": "stack"})).await, Ok(()));
    assert_eq!(code("debug", json!({"op": "attach"})).await, Err("refused_by_rule".into()));

    let person = Arc::new(ScriptedPerson::new([Effect::RejectRun]));
    let run = asking(person.clone(), [plain("write", Tier::Write)]);
    let view = run.view(Surface::Full, Limits::default());
    for _ in 0..3 {
        assert_eq!(view.call(call("write")).await.expect_err("refused").code, "refused_by_person");
    }
    assert_eq!(person.seen().len(), 1, "nobody is asked again");
}

#[tokio::test]
async fn a_call_that_the_preview_refuses_is_refused_in_the_previews_words() {
    let person = Arc::new(ScriptedPerson::new([]));
    let run = asking(person.clone(), [Editor::new("edit") as Arc<dyn Tool>]);
    let view = run.view(Surface::Full, Limits::default());
    let wish = ToolCall::new("edit", json!({"wrong": true}));
    assert_eq!(view.call(wish).await.expect_err("wrong").message, "wrong arguments");
    assert!(person.seen().is_empty(), "nobody is bothered with it");
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_card() {
    struct Withdrawn(Arc<Mutex<u32>>, Arc<Notify>);
    impl CardPort for Withdrawn {
        fn connected(&self) -> bool {
            true
        }
        fn present(&self, _card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
            struct Gone(Arc<Mutex<u32>>);
            impl Drop for Gone {
                fn drop(&mut self) {
                    *self.0.lock().expect("a count") += 1;
                }
            }
            let (gone, up) = (Gone(self.0.clone()), self.1.clone());
            Box::pin(async move {
                let _gone = gone;
                up.notify_one();
                std::future::pending().await
            })
        }
    }
    let (count, up) = (Arc::new(Mutex::new(0)), Arc::new(Notify::new()));
    let run = asking(Arc::new(Withdrawn(count.clone(), up.clone())), [plain("write", Tier::Write)]);
    let view = run.view(Surface::Full, Limits::default());
    let waiting = tokio::spawn(async move { view.call(call("write")).await });
    up.notified().await;
    assert_eq!(*count.lock().expect("a count"), 0);
    waiting.abort();
    assert!(waiting.await.expect_err("cancelled").is_cancelled());
    assert_eq!(*count.lock().expect("a count"), 1);
    assert!(run.live_calls().is_empty());
}
