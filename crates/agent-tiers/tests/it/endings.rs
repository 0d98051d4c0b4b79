//! Panics and cancelled calls.

use std::sync::Arc;

use agent_tiers::{Run, What};
use agent_tool_core::{
    BoxFuture, CallId, Content, Context, Decision, ErrorKind, Event, FileChange, Gate, Tier, Tool,
    ToolCall, ToolOutput, ToolSpec,
};
use serde_json::json;
use tokio::sync::{Notify, oneshot};

use crate::support::{
    FnTool, Lines, approving, asking, call, call_with, calls, card, code, full, person, registry,
    says,
};

fn panics() -> FnTool {
    FnTool::new(ToolSpec::new("panics", Tier::Read, "Panics.").exclusive(), |_, _| async {
        panic!("index out of bounds")
    })
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_an_error_of_its_call_with_the_transcript_closed() {
    let lines = Lines::default();
    let tools = [panics(), says("look", Tier::Read), calls("cell", Tier::Read)];
    let run = approving(tools).transcript(lines.clone()).build();
    let view = full(&run);
    for _ in 0..2 {
        let error = call(&view, "panics").await.expect_err("a panic");
        assert_eq!((error.kind, &*error.code), (ErrorKind::Failed, "tool_panicked"));
        assert!(error.message.contains("index out of bounds"), "{}", error.message);
    }
    assert_eq!(code(call_with(&view, "cell", json!({"tool": "panics"})).await), "tool_panicked");
    assert_eq!(call(&view, "look").await.expect("the run goes on").joined_text(), "look");
    assert_eq!((run.panics(), run.live_calls().len()), (3, 0));
    run.flush().await.expect("written");
    assert_eq!(
        lines.outline(),
        [
            "started call_1",
            "finished call_1",
            "started call_2",
            "finished call_2",
            "started call_3",
            "started call_4",
            "finished call_4",
            "finished call_3",
            "started call_5",
            "finished call_5"
        ]
    );
}

/// The panic of a search that runs on the pool for blocking work, handed on as the tools do it.
fn searches() -> FnTool {
    FnTool::new(ToolSpec::new("searches", Tier::Read, "Searches."), |args, _| async move {
        let work = move || assert!(args["text"] != "bad", "the matcher has no such state");
        match tokio::task::spawn_blocking(work).await {
            Ok(()) => Ok(ToolOutput::text("nothing found")),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_a_blocking_search_is_an_error_of_its_call_with_the_transcript_closed() {
    let lines = Lines::default();
    let tools = [searches(), calls("cell", Tier::Read)];
    let run = approving(tools).transcript(lines.clone()).build();
    let view = full(&run);
    let error = call_with(&view, "searches", json!({"text": "bad"})).await.expect_err("a panic");
    assert_eq!((error.kind, &*error.code), (ErrorKind::Failed, "tool_panicked"));
    assert!(error.message.contains("the matcher has no such state"), "{}", error.message);
    let nested = json!({"tool": "searches", "args": {"text": "bad"}});
    assert_eq!(code(call_with(&view, "cell", nested).await), "tool_panicked");
    let output = call_with(&view, "searches", json!({"text": "good"})).await;
    assert_eq!(output.expect("the pool goes on").joined_text(), "nothing found");
    assert_eq!((run.panics(), run.live_calls().len()), (2, 0));
    run.flush().await.expect("written");
    let expected = [
        "started call_1",
        "finished call_1",
        "started call_2",
        "started call_3",
        "finished call_3",
        "finished call_2",
        "started call_4",
        "finished call_4",
    ];
    assert_eq!(lines.outline(), expected);
}

struct Faulty;

impl Gate for Faulty {
    fn check<'a>(
        &'a self,
        _tool: &'a dyn Tool,
        _call: &'a ToolCall,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        panic!("a gate with a defect")
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_panics_lets_nothing_through() {
    let run = approving([says("look", Tier::Read)]).gate(Faulty).build();
    assert_eq!(code(call(&full(&run), "look").await), "gate_panicked");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_recorded_inner_first_and_its_turn_is_free() {
    let begun = Arc::new(Notify::new());
    let hangs = {
        let begun = Arc::clone(&begun);
        let spec = ToolSpec::new("hangs", Tier::Exec, "Hangs if told to.").exclusive();
        FnTool::new(spec, move |args, _| {
            let begun = Arc::clone(&begun);
            async move {
                if args["hang"] == true {
                    begun.notify_one();
                    std::future::pending::<()>().await;
                }
                Ok(ToolOutput::text("free"))
            }
        })
    };
    let lines = Lines::default();
    let tools = [hangs, calls("cell", Tier::Exec), calls("outer", Tier::Exec)];
    let run = approving(tools).transcript(lines.clone()).build();
    let view = full(&run);
    let args = json!({"tool": "cell", "args": {"tool": "hangs", "args": {"hang": true}}});
    let task = tokio::spawn(view.start(ToolCall::new("outer", args), &view.root()));
    begun.notified().await;
    let live = run.live_calls().into_iter().map(|call| (call.name, call.callers.len()));
    let depths = [("outer", 0), ("cell", 1), ("hangs", 2)].map(|(name, n)| (name.to_owned(), n));
    assert_eq!(live.collect::<Vec<_>>(), depths);
    task.abort();
    assert!(task.await.expect_err("aborted").is_cancelled());
    run.flush().await.expect("written");
    assert_eq!(
        lines.outline()[6..],
        ["cancelled call_3 tool", "cancelled call_2 tool", "cancelled call_1 tool"]
    );
    assert_eq!(run.live_calls(), []);
    assert_eq!(call(&view, "hangs").await.expect("a free turn").joined_text(), "free");
}

#[tokio::test(start_paused = true)]
async fn a_call_cancelled_before_it_was_polled_is_recorded_too() {
    let lines = Lines::default();
    let run = approving([says("look", Tier::Read)]).transcript(lines.clone()).build();
    let view = full(&run);
    drop(view.start(ToolCall::new("look", json!({})), &view.root()));
    run.flush().await.expect("written");
    assert_eq!(lines.outline(), ["started call_1", "cancelled call_1 approval"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_withdraws_the_card() {
    let (port, mut cards) = person();
    let lines = Lines::default();
    let tools = registry([says("change", Tier::Write)]);
    let run = Run::builder(tools).approval(asking(&port)).transcript(lines.clone()).build();
    let view = full(&run);
    let task = tokio::spawn(view.start(ToolCall::new("change", json!({})), &view.root()));
    let shown = card(&mut cards).await;
    task.abort();
    shown.withdrawn().await;
    assert!(task.await.expect_err("aborted").is_cancelled());
    run.flush().await.expect("written");
    assert_eq!(lines.outline(), ["started call_1", "cancelled call_1 approval"]);
    assert_eq!(run.live_calls(), []);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_that_wrote_is_recorded_as_one_that_wrote() {
    let (commit, commits) = oneshot::channel::<oneshot::Sender<()>>();
    let commits = std::sync::Mutex::new(Some(commits));
    let begun = Arc::new(Notify::new());
    let tool = {
        let begun = Arc::clone(&begun);
        FnTool::new(ToolSpec::new("change", Tier::Write, ""), move |_, cx| {
            let commits = commits.lock().expect("not poisoned").take().expect("one call");
            let begun = Arc::clone(&begun);
            async move {
                // The commit of files runs on its own and to its end.
                let commit = tokio::spawn(async move {
                    let done = commits.await.expect("a commit");
                    let change = FileChange::new("a", Content::Absent, Content::of(b"x"));
                    cx.emit(Event::Changed { change });
                    done.send(()).expect("the test waits");
                });
                begun.notify_one();
                commit.await.expect("no panic");
                Ok(ToolOutput::text("changed"))
            }
        })
    };
    let lines = Lines::default();
    let run = approving([tool]).transcript(lines.clone()).build();
    let view = full(&run);
    let task = tokio::spawn(view.start(ToolCall::new("change", json!({})), &view.root()));
    begun.notified().await;
    task.abort();
    assert!(task.await.expect_err("aborted").is_cancelled());
    let (done, waits) = oneshot::channel();
    commit.send(done).expect("the commit waits");
    waits.await.expect("the commit ends");
    run.flush().await.expect("written");
    let last = lines.records().pop().expect("records");
    let What::Event { call_id, event: Event::Changed { change }, .. } = last.what else {
        panic!("no change at the end");
    };
    assert_eq!((call_id, &*change.path), (CallId::new("call_1"), "a"));
}
