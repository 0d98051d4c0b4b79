//! Many workers at work at once.

use std::{
    collections::{BTreeMap, HashSet},
    hint::black_box,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, ThreadId},
};

use agent_tiers::{Registry, Run, Surface};
use agent_tool_core::{
    BoxFuture, Context, Limits, Tier, Tool, ToolCall, ToolOutput, ToolResult, ToolSpec,
};
use agent_vibe::{Job, RosterLimits, WorkError, Workers};
use serde_json::{Value, json};

use crate::support::{FromFn, in_time};

const WORKERS: usize = 8;
const CALLS: usize = 100;

const CORES: usize = 2;

/// What each call adds up, so that a core has something to do.
const WORK: u64 = 200_000;

/// Counts its calls by who made them, and notes on which threads they ran.
struct Tally {
    spec: ToolSpec,
    calls: Arc<Mutex<BTreeMap<String, usize>>>,
    threads: Arc<Mutex<HashSet<ThreadId>>>,
}

impl Tool for Tally {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            black_box((0..WORK).fold(0, |sum: u64, number| black_box(sum ^ number)));
            self.threads.lock().expect("not poisoned").insert(thread::current().id());
            let name = cx.callers().last().expect("a worker").name.clone();
            *self.calls.lock().expect("not poisoned").entry(name).or_default() += 1;
            Ok(ToolOutput::text("counted"))
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_workers_with_a_hundred_calls_each_lose_none_and_keep_all_cores_busy() {
    let (calls, threads) = (Arc::default(), Arc::default());
    let spec = ToolSpec::new("tally", Tier::Read, "Counts.");
    let tally = Tally { spec, calls: Arc::clone(&calls), threads: Arc::clone(&threads) };
    let workers = Workers::new(
        FromFn(|job: Job| async move {
            for number in 0..CALLS {
                let call = ToolCall::new("tally", json!({}));
                job.context()
                    .call(call)
                    .await
                    .map_err(|error| WorkError::new(format!("{number}: {error}")))?;
            }
            Ok(format!("{CALLS} calls"))
        }),
        RosterLimits::default(),
    );
    let registry = Registry::builder().tool(Arc::new(tally)).tools(workers.tools()).build();
    let run = Run::builder(registry.expect("a registry")).build();
    let view = run.view(Surface::Full, Limits::default());
    for number in 1..=WORKERS {
        let order = json!({"brief": "count", "label": format!("job {number}")});
        view.call(ToolCall::new("vibe_spawn", order)).await.expect("a slot");
    }
    for number in 1..=WORKERS {
        let wait = ToolCall::new("vibe_wait", json!({"worker_id": format!("w{number}")}));
        let output = in_time(view.call(wait)).await.expect("done");
        assert_eq!(output.data["result"], format!("{CALLS} calls"));
    }
    let counted = calls.lock().expect("not poisoned").clone();
    let expected: BTreeMap<_, _> =
        (1..=WORKERS).map(|number| (format!("w{number} (job {number})"), CALLS)).collect();
    assert_eq!(counted, expected);
    assert_eq!(threads.lock().expect("not poisoned").len(), CORES);
}

/// An exclusive tool: two of its calls at once are a defect.
struct Turnstile {
    spec: ToolSpec,
    inside: AtomicUsize,
    passed: AtomicUsize,
}

impl Tool for Turnstile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            assert_eq!(self.inside.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
            tokio::task::yield_now().await;
            self.inside.fetch_sub(1, Ordering::SeqCst);
            self.passed.fetch_add(1, Ordering::SeqCst);
            Ok(ToolOutput::text("passed"))
        })
    }
}

// spec: TIER-08, TIER-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_workers_at_one_exclusive_tool_lose_no_call_while_the_agent_waits_for_them() {
    let spec = ToolSpec::new("turnstile", Tier::Read, "Lets one in.").exclusive();
    let turnstile = Arc::new(Turnstile {
        spec,
        inside: AtomicUsize::default(),
        passed: AtomicUsize::default(),
    });
    let workers = Workers::new(
        FromFn(|job: Job| async move {
            for number in 0..CALLS {
                let call = ToolCall::new("turnstile", json!({}));
                let passed = job.context().call(call).await;
                passed.map_err(|error| WorkError::new(format!("{number}: {error}")))?;
            }
            Ok(format!("{CALLS} calls"))
        }),
        RosterLimits::default(),
    );
    let registry =
        Registry::builder().tool(Arc::clone(&turnstile) as Arc<dyn Tool>).tools(workers.tools());
    let run = Run::builder(registry.build().expect("a registry")).build();
    let view = run.view(Surface::Full, Limits::default());
    for number in 1..=WORKERS {
        let order = json!({"brief": "pass", "label": format!("job {number}")});
        view.call(ToolCall::new("vibe_spawn", order)).await.expect("a slot");
    }
    for number in 1..=WORKERS {
        let wait = ToolCall::new("vibe_wait", json!({"worker_id": format!("w{number}")}));
        let output = in_time(view.call(wait)).await.expect("done");
        assert_eq!(output.data["result"], format!("{CALLS} calls"));
        view.call(ToolCall::new("turnstile", json!({}))).await.expect("the agent has its turn too");
    }
    assert_eq!(turnstile.passed.load(Ordering::SeqCst), WORKERS * (CALLS + 1));
}
