//! The tool `debug`: the library as a model calls it.

mod args;

use std::{fmt, sync::Arc, time::Duration};

use agent_tool_core::{
    BoxFuture, Context, Preview, PreviewKind, Tier, Tool, ToolError, ToolOutput, ToolResult,
    ToolSpec, clip, clip_middle, parse_args,
};
use schemars::schema_for;
use serde::Serialize;
use serde_json::{Value, json};

pub use self::args::{DebugArgs, Op};
use crate::{
    AttachArgs, BreakpointsArgs, Debugger, LaunchArgs, MAX_RESULT_BYTES, MAX_WAIT_TIME, RunArgs,
    Step, error::not_trusted,
};

const DESCRIPTION: &str = "Drives a debugger: one session at a time, which ends after 30 minutes. \
    launch stops at the breakpoints set before it and at a crash, whose reason, frames, locals and \
    output it returns. Frame ids and references hold until the program moves on.";

/// How many characters of an expression a preview's title shows.
const TITLE_CHARS: usize = 100;

/// The tool `debug`, of tier exec, one call at a time.
#[must_use]
pub fn debug_tool(debugger: Debugger) -> Arc<dyn Tool> {
    let schema = schema_for!(DebugArgs).to_value();
    let spec = ToolSpec::new("debug", Tier::Exec, DESCRIPTION).with_input(schema).exclusive();
    Arc::new(Debug { spec, debugger })
}

struct Debug {
    spec: ToolSpec,
    debugger: Debugger,
}

impl Tool for Debug {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let args: DebugArgs = parse_args(&self.spec, args)?;
            args.check()?;
            run(&self.debugger, args).await
        })
    }

    fn preview<'a>(
        &'a self,
        args: &'a Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        Box::pin(async move {
            let parsed: DebugArgs = parse_args(&self.spec, args.clone())?;
            parsed.check()?;
            let about = match parsed.op {
                // Nobody is asked for what is refused whatever they say.
                Op::Launch if !self.debugger.is_trusted() => return Err(not_trusted("launch")),
                Op::Launch => {
                    let words = parsed.program.iter().chain(parsed.args.iter().flatten());
                    words.map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" ")
                }
                Op::Breakpoints => {
                    let runs = parsed.condition.iter().chain(&parsed.log_message);
                    let words = parsed.file.iter().chain(runs);
                    words.cloned().collect::<Vec<_>>().join(" ")
                }
                Op::Attach => format!("port {}", parsed.port.unwrap_or(0)),
                Op::Evaluate => parsed.expression.clone().unwrap_or_default(),
                _ => String::new(),
            };
            let title = format!("debug: {} {about}", parsed.op.name());
            let title = clip(title.trim_end(), TITLE_CHARS).text.replace('\n', " ");
            Ok(Preview::new(PreviewKind::Execute, title).with_body(parsed.in_words()))
        })
    }
}

async fn run(debugger: &Debugger, args: DebugArgs) -> ToolResult {
    let timeout = args.timeout_ms.map(Duration::from_millis);
    let run = RunArgs { thread: args.thread_id, timeout };
    match args.op {
        Op::Adapters => {
            let report = debugger.adapters().await;
            Ok(output(report.text(), &report))
        }
        Op::Status => {
            debugger.settled().await;
            let report = debugger.status();
            Ok(output(report.text(), &report))
        }
        Op::Breakpoints => {
            let wanted = BreakpointsArgs {
                file: args.file.unwrap_or_default(),
                lines: args.lines.unwrap_or_default(),
                condition: args.condition,
                hit_condition: args.hit_condition,
                log_message: args.log_message,
            };
            let states = debugger.breakpoints(&wanted).await?;
            let lines: Vec<_> = states.iter().map(crate::BreakpointState::text).collect();
            let text = match lines.as_slice() {
                [] => format!("{} has no breakpoints", wanted.file),
                lines => lines.join("\n"),
            };
            Ok(output(text, &json!({ "breakpoints": states })))
        }
        Op::Launch => {
            let wanted = LaunchArgs {
                program: args.program.unwrap_or_default(),
                args: args.args.unwrap_or_default(),
                adapter: args.adapter,
                timeout,
            };
            let report = debugger.launch(&wanted).await?;
            Ok(output(report.text(), &report))
        }
        Op::Attach => {
            let port = args.port.unwrap_or_default();
            let report =
                debugger.attach(&AttachArgs { port, adapter: args.adapter, timeout }).await?;
            Ok(output(report.text(), &report))
        }
        Op::Continue => {
            let report = debugger.resume(&run).await?;
            Ok(output(report.text(), &report))
        }
        Op::Pause => {
            let report = debugger.pause(&run).await?;
            Ok(output(report.text(), &report))
        }
        Op::StepOver | Op::StepIn | Op::StepOut => {
            let step = match args.op {
                Op::StepIn => Step::In,
                Op::StepOut => Step::Out,
                _ => Step::Over,
            };
            let report = debugger.step(step, &run).await?;
            Ok(output(report.text(), &report))
        }
        Op::Threads => {
            let report = debugger.threads().await?;
            Ok(output(report.text(), &report))
        }
        Op::Stack => {
            let report = debugger.stack(args.thread_id).await?;
            Ok(output(report.text(), &report))
        }
        Op::Scopes => {
            let report = debugger.scopes(args.frame_id.unwrap_or_default()).await?;
            Ok(output(report.text(), &report))
        }
        Op::Variables => {
            let report = debugger.variables(args.reference.unwrap_or_default()).await?;
            Ok(output(report.text(), &report))
        }
        Op::Evaluate => {
            let expression = args.expression.unwrap_or_default();
            let report = debugger.evaluate(&expression, args.frame_id).await?;
            Ok(output(report.text(), &report))
        }
        Op::Output => {
            let report = debugger.output()?;
            Ok(output(report.text(), &report))
        }
        Op::Terminate => {
            let ended = debugger.terminate().await;
            let text = match &ended {
                Some(how) => format!("the session is over: {how}"),
                None => "there was no session".to_owned(),
            };
            Ok(output(text, &json!({ "ended": ended })))
        }
    }
}

fn output(text: String, data: &impl Serialize) -> ToolOutput {
    let text = clip_bytes(text);
    ToolOutput::text(text).with_data(serde_json::to_value(data).unwrap_or_default())
}

/// What is over the bound although each part has its own keeps head and tail.
fn clip_bytes(text: String) -> String {
    if text.len() <= MAX_RESULT_BYTES {
        return text;
    }
    let mut chars = MAX_RESULT_BYTES;
    loop {
        let clipped = clip_middle(&text, chars, None).text;
        if clipped.len() <= MAX_RESULT_BYTES {
            return clipped;
        }
        chars = chars * 3 / 4;
    }
}

/// The bound of `timeout_ms`.
fn longest_wait() -> u64 {
    u64::try_from(MAX_WAIT_TIME.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Debug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Debug").field("debugger", &self.debugger).finish_non_exhaustive()
    }
}
