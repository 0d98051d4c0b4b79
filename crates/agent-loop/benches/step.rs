//! What the loop itself costs for a step, with a model in memory that answers at once.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and fails as a test does"
)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use agent_loop::{
    Agent, Conversation, Delta, DeltaStream, Model, ModelLimits, RawCall, Request, StopReason,
    Unwatched,
};
use agent_tool_core::{
    BoxFuture, Context, Dispatch, Limits, Nothing, Tier, ToolCall, ToolOutput, ToolResult, ToolSpec,
};
use futures::stream;

/// Steps of a turn that is measured.
const STEPS: u32 = 200;

/// Turns of which the median is taken.
const ROUNDS: usize = 15;

struct Subject {
    name: &'static str,
    /// Letters of each result.
    result: usize,
    /// Calls of each answer.
    calls: usize,
    /// Tokens of the model's context.
    context: usize,
}

const SUBJECTS: [Subject; 4] = [
    Subject { name: "a call with a small result", result: 200, calls: 1, context: 1_000_000_000 },
    Subject {
        name: "a call with 32,000 characters",
        result: 32_000,
        calls: 1,
        context: 1_000_000_000,
    },
    Subject {
        name: "the same, kept within 200,000 tokens",
        result: 32_000,
        calls: 1,
        context: 200_000,
    },
    Subject {
        name: "eight calls with 8,000 characters, the same",
        result: 8_000,
        calls: 8,
        context: 200_000,
    },
];

struct Busy {
    step: AtomicU32,
    calls: usize,
    context: usize,
}

impl Model for Busy {
    fn name(&self) -> &str {
        "busy"
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits::new(self.context)
    }

    fn stream<'a>(&'a self, _request: Request<'a>) -> DeltaStream<'a> {
        let step = self.step.fetch_add(1, Ordering::Relaxed);
        let text = Delta::Text("I look at the next one.".into());
        let calls = (0..self.calls).map(|n| {
            Delta::Call(RawCall::new(
                format!("{step}x{n}"),
                "read",
                format!(r#"{{"path":"{step}/{n}"}}"#),
            ))
        });
        let last = step + 1 == STEPS;
        let deltas: Vec<_> = match last {
            true => vec![text, Delta::Stop(StopReason::End)],
            false => {
                [text].into_iter().chain(calls).chain([Delta::Stop(StopReason::Calls)]).collect()
            }
        };
        Box::pin(stream::iter(deltas.into_iter().map(Ok)))
    }
}

/// Twenty tools, of which one is called.
struct Tools(usize);

impl Dispatch for Tools {
    fn specs(&self) -> Vec<ToolSpec> {
        let specs = (0..20).map(|n| {
            let name = if n == 0 { "read".to_owned() } else { format!("tool{n}") };
            ToolSpec::new(
                name,
                Tier::Read,
                "A description as long as they are on the whole. ".repeat(8),
            )
        });
        specs.collect()
    }

    fn call<'a>(&'a self, call: ToolCall, _parent: &'a Context) -> BoxFuture<'a, ToolResult> {
        let text = format!("{} {}", call.args, "x".repeat(self.0));
        Box::pin(async move { Ok(ToolOutput::text(text)) })
    }

    fn narrow(&self, _limits: Limits) -> Arc<dyn Dispatch> {
        Arc::new(Nothing)
    }
}

fn main() {
    // Under `cargo test --benches` it is built and not run.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("the loop's own cost for a step, over {STEPS} steps: median ms | slowest turn");
    for subject in SUBJECTS {
        let mut times: Vec<f64> = (0..ROUNDS).map(|_| runtime.block_on(turn(&subject))).collect();
        times.sort_by(f64::total_cmp);
        println!(
            "  {:45} {:8.4} | {:8.4}",
            subject.name,
            times[times.len() / 2],
            times[times.len() - 1]
        );
    }
}

/// Milliseconds of a step.
async fn turn(subject: &Subject) -> f64 {
    let model = Busy { step: AtomicU32::new(0), calls: subject.calls, context: subject.context };
    let agent = Agent::new(Arc::new(model), Arc::new(Tools(subject.result)), Context::detached());
    let mut conversation = Conversation::new();
    conversation.push_user("Look at all of them.");
    let begun = Instant::now();
    let turn = agent.turn(&mut conversation, &Unwatched).await;
    let took = begun.elapsed();
    assert!(turn.end.is_done(), "{:?}", turn.end);
    took.as_secs_f64() * 1000.0 / f64::from(STEPS)
}
