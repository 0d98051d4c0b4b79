//! The five tools: the library as a model calls it.

mod args;
mod text;

use std::{sync::Arc, time::Duration};

use agent_tool_core::{
    BoxFuture, Context, Tier, Tool, ToolOutput, ToolResult, ToolSpec, parse_args,
};
use schemars::{Schema, schema_for};
use serde::Serialize;
use serde_json::{Value, json};

use self::args::{KillArgs, ListArgs, SendArgs, SpawnArgs, WaitArgs};
use crate::{Order, WorkerReport, WorkerTier, Workers, workers::call_id};

/// The names of the tools. No worker has them.
pub const TOOLS: [&str; 5] = ["vibe_spawn", "vibe_send", "vibe_wait", "vibe_kill", "vibe_list"];

const SPAWN: &str = "Starts a worker on a task of its own and returns at once; it works in the \
    background with its own tools, beside you and other workers. vibe_wait gives its result. Give it \
    work that needs nothing of what you do meanwhile.";

const SEND: &str = "Sends a message to a worker and has it work again: at once if it is done, else once \
    when it is, with all messages that came meanwhile.";

const WAIT: &str = "Waits until a worker's attempt ends, and gives its result. Waits as long as it \
    takes, unless timeout_seconds is given: a worker that still runs then goes on.";

const KILL: &str = "Stops a worker for good, with everything that it started.";

const LIST: &str = "Lists all workers: tier, status, time and latest result.";

/// The tools, in the order of [`TOOLS`].
pub(crate) fn all(workers: &Workers) -> Vec<Arc<dyn Tool>> {
    let tool = |op: Op, description: &str, schema: Schema| -> Arc<dyn Tool> {
        let spec = ToolSpec::new(TOOLS[op as usize], Tier::Read, description)
            .with_input(schema.to_value());
        Arc::new(Vibe { spec, op, workers: workers.clone() })
    };
    vec![
        tool(Op::Spawn, SPAWN, schema_for!(SpawnArgs)),
        tool(Op::Send, SEND, schema_for!(SendArgs)),
        tool(Op::Wait, WAIT, schema_for!(WaitArgs)),
        tool(Op::Kill, KILL, schema_for!(KillArgs)),
        tool(Op::List, LIST, schema_for!(ListArgs)),
    ]
}

/// What a tool does; the number is its place in [`TOOLS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Spawn,
    Send,
    Wait,
    Kill,
    List,
}

#[derive(Debug)]
struct Vibe {
    spec: ToolSpec,
    op: Op,
    workers: Workers,
}

impl Tool for Vibe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(self.run(args, cx))
    }
}

impl Vibe {
    async fn run(&self, args: Value, cx: &Context) -> ToolResult {
        let workers = &self.workers;
        match self.op {
            Op::Spawn => {
                let args: SpawnArgs = parse_args(&self.spec, args)?;
                workers.check_on()?;
                let report = workers.spawn(self.order(args)?, cx)?;
                Ok(output(text::spawned(&report), &report))
            }
            Op::Send => {
                let args: SendArgs = parse_args(&self.spec, args)?;
                let report = workers.send(&args.worker_id, &args.message, cx)?;
                Ok(output(text::sent(&report), &report))
            }
            Op::Wait => {
                let args: WaitArgs = parse_args(&self.spec, args)?;
                let limit = args.timeout_seconds.map(Duration::from_secs);
                // A cell that waits holds its interpreter, for which the worker must not wait in turn.
                let _noted = cx.dispatch().note_wait(&call_id(&args.worker_id), cx);
                let report = workers.wait(&args.worker_id, limit).await?;
                Ok(output(text::waited(&report, limit), &report))
            }
            Op::Kill => {
                let args: KillArgs = parse_args(&self.spec, args)?;
                let report = workers.kill(&args.worker_id).await?;
                Ok(output(text::killed(&report), &report))
            }
            Op::List => {
                let ListArgs {} = parse_args(&self.spec, args)?;
                workers.check_on()?;
                let mut reports: Vec<WorkerReport> = workers.list();
                for report in &mut reports {
                    report.waits_for = cx.dispatch().held_from(&call_id(&report.worker_id), cx);
                }
                Ok(output(text::listed(&reports), &json!({ "workers": reports })))
            }
        }
    }

    fn order(&self, args: SpawnArgs) -> Result<Order, agent_tool_core::ToolError> {
        let tier = match args.tier {
            None => WorkerTier::default(),
            Some(name) => name.trim().parse().map_err(|_| self.workers.unknown_tier(&name))?,
        };
        let authority = args.authority.map(Tier::from);
        Ok(Order { brief: args.brief, label: args.label, tier, authority })
    }
}

fn output(text: String, data: &impl Serialize) -> ToolOutput {
    ToolOutput::text(text).with_data(serde_json::to_value(data).unwrap_or_default())
}
