use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use agent_loop::{
    Agent, Conversation, Delta, DeltaStream, Model, ModelLimits, RawCall, Request, StopReason,
    Unwatched,
};
use agent_tiers::{Registry, Run, Surface};
use agent_tool_core::{
    BoxFuture, CallId, Caller, Context, Dispatch, Limits, Tier, Tool, ToolOutput, ToolResult,
    ToolSpec,
};
use futures::stream;
use serde_json::{Value, json};

use crate::support::{Scripted, calls, says};

/// A tool that counts its calls.
struct Counter {
    spec: ToolSpec,
    count: Arc<AtomicU32>,
}

impl Tool for Counter {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let count = self.count.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            Ok(ToolOutput::text(count.to_string()))
        })
    }
}

/// A run with a tool for each tier, and the count of all their calls.
fn run_of_three() -> (Run, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let tools = [("look", Tier::Read), ("write", Tier::Write), ("shell", Tier::Exec)];
    let tools = tools.map(|(name, tier)| -> Arc<dyn Tool> {
        let spec = ToolSpec::new(name, tier, "Counts its calls.");
        Arc::new(Counter { spec, count: Arc::clone(&count) })
    });
    let registry = Registry::builder().tools(tools).build().unwrap();
    (Run::builder(registry).build(), count)
}

/// A model that makes ten calls a step for ten steps, all under the same ids.
struct Busy(AtomicU32);

impl Model for Busy {
    fn name(&self) -> &str {
        "busy"
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits::new(1_000_000)
    }

    fn stream<'a>(&'a self, _request: Request<'a>) -> DeltaStream<'a> {
        let step = self.0.fetch_add(1, Ordering::SeqCst);
        let deltas: Vec<Delta> = if step < 10 {
            let calls =
                (0..10).map(|n| Delta::Call(RawCall::new(format!("call_{n}"), "look", "{}")));
            calls.chain([Delta::Stop(StopReason::Calls)]).collect()
        } else {
            vec![Delta::Text("done".into()), Delta::Stop(StopReason::End)]
        };
        Box::pin(stream::iter(deltas.into_iter().map(Ok)))
    }
}

pub(crate) async fn eight_workers_with_a_hundred_calls_each_lose_none() {
    // Workers run on several threads, which a paused clock does not have.
    let work = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (run, count) = run_of_three();
            let view = run.view(Surface::Full, Limits::default());
            let workers = (1..=8).map(|n| {
                let id = CallId::new(format!("worker_{n}"));
                let parent = view.root().child(Caller::new(id.clone(), "fast"), id, Tier::Read);
                let dispatch = view.narrow(Limits::up_to(Tier::Read));
                let agent = Agent::new(Arc::new(Busy(AtomicU32::new(0))), dispatch, parent);
                tokio::spawn(async move {
                    let mut conversation = Conversation::new();
                    conversation.push_user("work");
                    let turn = agent.turn(&mut conversation, &Unwatched).await;
                    (turn.end.is_done(), turn.text, turn.steps)
                })
            });
            for worker in workers.collect::<Vec<_>>() {
                assert_eq!(worker.await.unwrap(), (true, "done".to_owned(), 11));
            }
            assert_eq!(count.load(Ordering::SeqCst), 800);
        });
    });
    work.join().unwrap();
}

// spec: TIER-03
pub(crate) async fn a_plan_surface_offers_no_tool_that_writes() {
    let (run, count) = run_of_three();
    let view = run.view(Surface::Plan, Limits::default());
    let model =
        Scripted::new([calls(&[("a", "write", "{}")]), says("I may not."), says("Now I may.")]);
    let agent =
        Agent::new(Arc::clone(&model) as Arc<dyn Model>, Arc::new(view.clone()), view.root());
    let mut conversation = Conversation::new();
    conversation.push_user("write");
    agent.turn(&mut conversation, &Unwatched).await;
    assert_eq!(count.load(Ordering::SeqCst), 0);
    view.set_surface(Surface::Full);
    conversation.push_user("and now?");
    agent.turn(&mut conversation, &Unwatched).await;
    let offered: Vec<_> = model.seen().into_iter().map(|seen| seen.tools).collect();
    assert_eq!(json!(offered), json!([["look"], ["look"], ["look", "write", "shell"]]));
}
