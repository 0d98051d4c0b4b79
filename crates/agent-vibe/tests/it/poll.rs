//! Who polls and holds what the worker needs.

use std::sync::Arc;

use agent_tiers::{Registry, Run, Surface};
use agent_tool_core::{
    BoxFuture, Context, Limits, Tier, Tool, ToolCall, ToolOutput, ToolResult, ToolSpec,
};
use agent_vibe::{Job, RosterLimits, WorkError, Workers};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{FromFn, in_time};

/// Runs one cell at a time. One that polls does so until a worker waits for it.
struct Cell {
    spec: ToolSpec,
    begun: Arc<Semaphore>,
}

impl Tool for Cell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            self.begun.add_permits(1);
            if args["polls"] != true {
                return Ok(ToolOutput::text("a cell of the worker's"));
            }
            loop {
                let listed = cx.call(list()).await?;
                if listed.data["workers"][0]["waits_for"] == "cell" {
                    return Ok(listed);
                }
                tokio::task::yield_now().await;
            }
        })
    }
}

fn list() -> ToolCall {
    ToolCall::new("vibe_list", json!({}))
}

// spec: TIER-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_says_which_workers_wait_for_what_is_held_where_it_was_asked_for() {
    let begun = Arc::new(Semaphore::new(0));
    let input = json!({"type": "object", "properties": {"polls": {"type": "boolean"}}});
    let spec = ToolSpec::new("cell", Tier::Read, "Runs a cell.").with_input(input).exclusive();
    let cell = Arc::new(Cell { spec, begun: Arc::clone(&begun) });
    let workers = Workers::new(
        FromFn(move |job: Job| {
            let begun = Arc::clone(&begun);
            async move {
                begun.acquire().await.expect("open").forget();
                let called = job.context().call(ToolCall::new("cell", json!({}))).await;
                let said = called.map(|output| output.joined_text());
                said.map_err(|error| WorkError::new(error.to_string()))
            }
        }),
        RosterLimits::default(),
    );
    let registry = Registry::builder().tool(cell as Arc<dyn Tool>).tools(workers.tools());
    let run = Run::builder(registry.build().expect("a registry")).build();
    let view = run.view(Surface::Full, Limits::default());
    let order = json!({"brief": "run a cell", "label": "job"});
    view.call(ToolCall::new("vibe_spawn", order)).await.expect("a slot");
    let polled = in_time(view.call(ToolCall::new("cell", json!({"polls": true})))).await;
    let text = polled.expect("it sees the worker").joined_text();
    let held = "    waits for cell, which the call that asks for this list holds";
    assert!(text.contains(held), "{text}");
    let wait = ToolCall::new("vibe_wait", json!({"worker_id": "w1"}));
    let waited = in_time(view.call(wait)).await.expect("done");
    assert_eq!(waited.data["result"], "a cell of the worker's");
    // Who holds nothing is told nothing of the kind.
    let listed = view.call(list()).await.expect("a list");
    assert_eq!(listed.data["workers"][0].get("waits_for"), None);
}
