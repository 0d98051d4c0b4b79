//! Surfaces, ceilings and what is narrowed.

use std::sync::{Arc, Mutex};

use agent_tiers::{Run, Surface};
use agent_tool_core::{
    CallId, Caller, Context, Dispatch, Limits, Tier, ToolCall, ToolError, ToolOutput, ToolSpec,
};
use serde_json::json;

use crate::support::{
    FnTool, approving, asking, call, call_with, calls, code, full, in_time, person, registry, says,
};

fn three() -> Run {
    approving([
        says("look", Tier::Read),
        says("change", Tier::Write),
        says("start", Tier::Exec),
        calls("ask", Tier::Read),
    ])
    .build()
}

fn names(dispatch: &dyn Dispatch) -> Vec<String> {
    dispatch.specs().into_iter().map(|spec| spec.name).collect()
}

// spec: TIER-03
#[tokio::test]
async fn a_hidden_tool_answers_as_a_name_that_never_existed() {
    let run = three();
    assert_eq!(names(&full(&run)), ["look", "change", "start", "ask"]);
    for surface in [Surface::Plan, Surface::ReadOnly] {
        let view = run.view(surface, Limits::default());
        assert_eq!(names(&view), ["look", "ask"]);
        for hidden in ["change", "start", "no_such_tool"] {
            let error = call(&view, hidden).await.expect_err("hidden");
            let unknown = ToolError::unknown_tool(hidden);
            let message = format!("there is no tool {hidden:?} here; call one of look, ask");
            assert_eq!(
                (error.kind, error.code, error.message, error.data),
                (unknown.kind, unknown.code, message, unknown.data)
            );
        }
        assert_eq!(call(&view, "look").await.expect("listed").joined_text(), "look");
    }
}

#[tokio::test]
async fn an_unknown_name_is_answered_with_the_nearest_tool_that_is_there() {
    let run = three();
    for (name, surface, meant) in [
        ("Look", Surface::Full, ", the nearest is `look`"),
        ("chnage", Surface::Full, ", the nearest is `change`"),
        ("chnage", Surface::Plan, ""),
        ("browser", Surface::Full, ""),
    ] {
        let view = run.view(surface, Limits::default());
        let error = call(&view, name).await.expect_err("unknown");
        let listed = names(&view).join(", ");
        let message = format!("there is no tool {name:?} here{meant}; call one of {listed}");
        assert_eq!((&*error.code, error.message), ("unknown_tool", message));
    }
}

// spec: TIER-03, TIER-09
#[tokio::test]
async fn a_nested_call_is_bound_to_the_surface() {
    let run = three();
    let view = run.view(Surface::Plan, Limits::default());
    assert_eq!(code(call_with(&view, "ask", json!({"tool": "change"})).await), "unknown_tool");
    view.set_surface(Surface::Full);
    let output = call_with(&view, "ask", json!({"tool": "change"})).await.expect("full");
    assert_eq!(output.joined_text(), "change");
}

#[tokio::test]
async fn a_runs_ceiling_holds_for_every_view() {
    let run = approving([says("change", Tier::Write), says("start", Tier::Exec)])
        .ceiling(Tier::Write)
        .build();
    let view = run.view(Surface::Full, Limits::up_to(Tier::Exec));
    assert_eq!(names(&view), ["change"]);
}

#[tokio::test(start_paused = true)]
async fn a_parent_lends_no_more_than_it_has() {
    let (port, mut cards) = person();
    let tools = [says("look", Tier::Read), says("change", Tier::Write), calls("ask", Tier::Read)];
    let run = Run::builder(registry(tools)).approval(asking(&port)).build();
    let view = full(&run);
    let link = Caller::new(CallId::new("call_0"), "reader");
    let reader = view.root().child(link, CallId::new("reader"), Tier::Read);
    let change = ToolCall::new("change", json!({}));
    let nested = ToolCall::new("ask", json!({"tool": "change", "args": {}}));
    for call in [change, nested] {
        assert_eq!(code(in_time(reader.call(call)).await), "unknown_tool");
    }
    assert!(cards.try_recv().is_err(), "nobody is asked about what does not exist");
    reader.call(ToolCall::new("look", json!({}))).await.expect("read");
}

// spec: TIER-03, VIBE-08
#[tokio::test]
async fn a_childs_authority_is_fixed_when_it_is_made_and_lowered_with_the_surface() {
    let run = three();
    let view = run.view(Surface::Plan, Limits::default());
    let born_under_plan = view.narrow(Limits::up_to(Tier::Exec));
    view.set_surface(Surface::Full);
    let born_under_full = view.narrow(Limits::default().without(["start"]));
    assert_eq!(names(&*born_under_plan), ["look", "ask"]);
    assert_eq!(names(&*born_under_full), ["look", "change", "ask"]);
    view.set_surface(Surface::Plan);
    assert_eq!(names(&*born_under_full), ["look", "ask"]);
    view.set_surface(Surface::Full);
    assert_eq!(names(&*born_under_full), ["look", "change", "ask"]);
    let child = born_under_full.narrow(Limits::up_to(Tier::Exec).without(["change"]));
    assert_eq!(names(&*child), ["look", "ask"], "a child has no more than its parent");
}

/// A tool that keeps the context it was called in, as one does that leaves something running.
fn keeps(kept: &Arc<Mutex<Option<Context>>>) -> FnTool {
    let kept = Arc::clone(kept);
    FnTool::new(ToolSpec::new("keeps", Tier::Read, "Keeps its context."), move |_, cx| {
        *kept.lock().expect("not poisoned") = Some(cx);
        async { Ok(ToolOutput::text("kept")) }
    })
}

#[tokio::test]
async fn a_call_that_began_under_plan_gains_nothing_when_the_surface_is_raised() {
    let kept = Arc::default();
    let run = approving([keeps(&kept), says("change", Tier::Write)]).build();
    let view = run.view(Surface::Plan, Limits::default());
    call(&view, "keeps").await.expect("kept");
    let cx = kept.lock().expect("not poisoned").take().expect("a context");
    view.set_surface(Surface::Full);
    assert_eq!(cx.ceiling(), Tier::Read);
    assert_eq!(names(&**cx.dispatch()), ["keeps"]);
    let worker = cx.dispatch().narrow(Limits::up_to(Tier::Exec));
    let claims_all = Context::detached();
    let result = worker.call(ToolCall::new("change", json!({})), &claims_all).await;
    assert_eq!(code(result), "unknown_tool");
}

#[tokio::test]
async fn a_call_that_is_over_calls_no_more_and_its_worker_does() {
    let kept = Arc::default();
    let run = approving([keeps(&kept), says("look", Tier::Read)]).build();
    let view = full(&run);
    call(&view, "keeps").await.expect("kept");
    let cx = kept.lock().expect("not poisoned").take().expect("a context");
    assert_eq!(code(cx.call(ToolCall::new("look", json!({}))).await), "caller_ended");
    let narrowed = cx.dispatch().narrow(Limits::default());
    let result = narrowed.call(ToolCall::new("look", json!({})), &cx).await;
    assert_eq!(code(result), "caller_ended");

    let link = Caller::new(cx.call_id().clone(), "fast_1");
    let worker = cx.child(link, CallId::new("fast_1"), Tier::Read);
    let output = narrowed.call(ToolCall::new("look", json!({})), &worker).await;
    assert_eq!(output.expect("a worker").joined_text(), "look");
}

#[tokio::test]
async fn a_tool_cannot_call_itself() {
    let run = approving([calls("one", Tier::Read), calls("two", Tier::Read)]).build();
    let args = json!({"tool": "two", "args": {"tool": "one", "args": {}}});
    assert_eq!(code(call_with(&full(&run), "one", args).await), "recursive_call");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_over_lets_its_tools_go_and_takes_no_calls() {
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let tool = FnTool::new(ToolSpec::new("holds", Tier::Read, "Holds."), move |_, _| {
        let _held = &held;
        async { Ok(ToolOutput::text("held")) }
    });
    let run = approving([tool]).build();
    let view = full(&run);
    let mut watcher = run.watch();
    drop(run);
    assert_eq!(Arc::strong_count(&alive), 1);
    assert_eq!(names(&view), [""; 0]);
    assert_eq!(code(call(&view, "holds").await), "run_ended");
    assert!(in_time(watcher.next()).await.is_none());
}
