//! What the run itself costs: a call through registry, gate and transcript, without the tool's own
//! work. `cargo xtask bench dispatch` prints it; the aim is under 5 µs.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use agent_tiers::{Approval, ApproveMode, Registry, Rules, Run, Surface};
use agent_tool_core::{
    BoxFuture, Card, CardError, CardPort, Context, Limits, Reply, Tier, Tool, ToolCall, ToolOutput,
    ToolResult, ToolSpec,
};
use serde_json::{Value, json};

const CALLS: u32 = 20_000;
const ROUNDS: usize = 9;
const TOOLS: usize = 20;

struct Nop(ToolSpec);

impl Tool for Nop {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async { Ok(ToolOutput::text("done")) })
    }
}

/// Counts the lines of the transcript, so that what was left out is seen.
#[derive(Clone, Default)]
struct Lines(Arc<AtomicU64>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        self.0.fetch_add(lines as u64, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Nobody;

impl CardPort for Nobody {
    fn connected(&self) -> bool {
        false
    }

    fn present(&self, _card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        Box::pin(async { Ok(Reply::Withdrawn) })
    }
}

fn main() {
    let tools = (0..TOOLS).map(|number| {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        let spec = ToolSpec::new(format!("tool_{number}"), Tier::Write, "Does nothing.")
            .with_input(schema);
        Arc::new(Nop(spec)) as Arc<dyn Tool>
    });
    let registry = Registry::builder().tools(tools).build().expect("a sound registry");
    let approval = Approval::new(ApproveMode::All, Rules::default(), Arc::new(Nobody));
    let lines = Lines::default();
    let run = Run::builder(registry).approval(approval).transcript(lines.clone()).build();
    let view = run.view(Surface::Full, Limits::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            runtime.block_on(async {
                for _ in 0..CALLS {
                    let call = ToolCall::new("tool_7", json!({"path": "src/main.rs"}));
                    view.call(call).await.expect("it is there");
                }
                run.flush().await.expect("it is written");
            });
            begun.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .collect();
    assert_eq!(lines.0.load(Ordering::Relaxed), run.seq(), "no record was left out");
    rounds.sort_by(f64::total_cmp);
    println!("dispatch: {:.0} ns a call (median of {ROUNDS})", rounds[ROUNDS / 2]);
}
