//! The commands of a terminal, one function each.

mod doctor;
mod print;

use std::{
    fs,
    io::{self, Read, Write as _},
    path::Path,
    process::ExitCode,
    time::Duration,
};

use agent_astgrep::Trees;
use agent_tiers::{ResultLine, Run, What};
use agent_tool_core::{Dispatch as _, Event, ToolCall, ToolResult};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) use self::doctor::doctor;
use crate::{
    args::Options,
    assemble::{Assembled, Wishes, assemble},
    config::Config,
    signals,
    style::{FAINT, in_style},
};

/// Work that is done sooner needs no word about its progress.
const QUIET: Duration = Duration::from_secs(1);

/// A tool's error.
const FAILED: u8 = 1;

/// `tools`: what may be called on this surface.
pub(crate) fn tools(options: &Options) -> Result<ExitCode> {
    let assembled = prepare(options, Trees::new(0))?;
    let specs = assembled.view.specs();
    if options.json {
        print::line(&serde_json::to_string(&json!({ "tools": specs }))?)?;
    } else {
        print::specs(&specs)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `call`: one call in a run of its own.
pub(crate) fn call(options: &Options, tool: &str, args: Option<&str>) -> Result<ExitCode> {
    let text = match args {
        Some("-") => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).context("standard input")?;
            text
        }
        Some(text) => text.to_owned(),
        None => "{}".to_owned(),
    };
    let args: Value = serde_json::from_str(&text).context("the arguments are no JSON")?;
    // Nothing is searched twice in a run of one call.
    let assembled = prepare(options, Trees::new(0))?;
    let calls = vec![ToolCall::new(tool, args)];
    run(options, assembled, calls)
}

/// `script`: many calls in one run.
pub(crate) fn script(options: &Options, file: &Path) -> Result<ExitCode> {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("standard input")?;
        text
    } else {
        fs::read_to_string(file).with_context(|| format!("{}", file.display()))?
    };
    let calls = parse_script(&text)?;
    if calls.is_empty() {
        bail!("{} has no calls; a call is a line {{\"tool\": …, \"args\": …}}", file.display());
    }
    let assembled = prepare(options, Trees::default())?;
    run(options, assembled, calls)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptLine {
    tool: String,
    #[serde(default)]
    args: Value,
}

/// Every line is read before the first call is made: a script with a wrong line does nothing.
fn parse_script(text: &str) -> Result<Vec<ToolCall>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let calls = lines.map(|(index, line)| {
        let line: ScriptLine =
            serde_json::from_str(line).with_context(|| format!("line {}", index + 1))?;
        Ok(ToolCall::new(line.tool, line.args))
    });
    calls.collect()
}

fn prepare(options: &Options, trees: Trees) -> Result<Assembled> {
    let config = Config::load(options)?;
    let mut wishes = Wishes::of_terminal(&config, options.transcript.clone());
    wishes.trees = trees;
    assemble(&config, wishes)
}

fn run(options: &Options, assembled: Assembled, calls: Vec<ToolCall>) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime")?;
    // Dropping the runtime waits for a commit that has begun, whatever interrupted the call.
    runtime.block_on(async {
        tokio::spawn(tell_progress(assembled.run.clone()));
        tokio::select! {
            code = make(options, &assembled, calls) => code,
            why = signals::ended() => {
                anstream::eprintln!("{}", in_style(FAINT, "interrupted"));
                Ok(ExitCode::from(why.exit_code()))
            }
        }
    })
}

async fn make(options: &Options, assembled: &Assembled, calls: Vec<ToolCall>) -> Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let several = calls.len() > 1;
    for call in calls {
        let name = call.name.clone();
        if several && !options.json {
            print::call(&call)?;
        }
        let result: ToolResult = assembled.view.call(call).await;
        if result.is_err() {
            code = ExitCode::from(FAILED);
        }
        if options.json {
            print::line(&serde_json::to_string(&ResultLine::new(name, &result))?)?;
        } else {
            print::result(&result)?;
        }
    }
    io::stdout().flush().context("standard output")?;
    if let Some(failure) = assembled.run.transcript_failure() {
        anstream::eprintln!("{}", in_style(FAINT, failure));
    }
    Ok(code)
}

/// Says on standard error what a long call is at.
async fn tell_progress(run: Run) {
    let mut watcher = run.watch();
    while let Some(watched) = watcher.next().await {
        let What::Event { call_id, event: Event::Progress { message, done, total }, .. } =
            &watched.record.what
        else {
            continue;
        };
        let live = run.live_calls().into_iter().find(|call| call.call_id == *call_id);
        if live.is_some_and(|call| u128::from(call.ms) >= QUIET.as_millis()) {
            let counted = match (done, total) {
                (Some(done), Some(total)) => format!(" {done}/{total}"),
                (Some(done), None) => format!(" {done}"),
                _ => String::new(),
            };
            let message = agent_tool_core::for_person(message);
            anstream::eprintln!("{}", in_style(FAINT, format!("{message}{counted}")));
        }
    }
}
