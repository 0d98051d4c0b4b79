//! The commands of a terminal, one function each.

mod doctor;
mod print;
mod progress;

use std::{
    fs,
    io::{self, Read, Write as _},
    path::Path,
    process::ExitCode,
};

use agent_astgrep::Trees;
use agent_tiers::ResultLine;
use agent_tool_core::{Dispatch as _, ToolCall, ToolResult};
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
    trust,
};

/// A tool's error.
const FAILED: u8 = 1;

/// `tools`: what may be called on this surface.
pub(crate) fn tools(options: &Options) -> Result<ExitCode> {
    let config = Config::load(options)?;
    let mut wishes = Wishes::of_nobody();
    wishes.trees = Trees::new(0);
    let assembled = assemble(&config, wishes)?;
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
    run(options, Trees::new(0), vec![ToolCall::new(tool, args)])
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
    run(options, Trees::default(), calls)
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

fn run(options: &Options, trees: Trees, calls: Vec<ToolCall>) -> Result<ExitCode> {
    let mut config = Config::load(options)?;
    let mut wishes = Wishes::of_terminal(&config, options.transcript.clone());
    wishes.trees = trees;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime")?;
    // Dropping the runtime waits for a commit that has begun, whatever interrupted the call.
    runtime.block_on(async {
        let work = async {
            trust::ask(&mut config, &*wishes.port).await.context("the trust in this checkout")?;
            if config.checkout_text.is_some() && !config.trust.is_trusted() {
                let said = format!("this checkout is not trusted: {}", config.trust.said_by());
                anstream::eprintln!("{}", in_style(FAINT, said));
            }
            let assembled = assemble(&config, wishes)?;
            tokio::select! {
                code = make(options, &assembled, calls) => code,
                never = progress::tell(&assembled.run) => match never {},
            }
        };
        tokio::select! {
            code = work => code,
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
    if let Err(failure) = assembled.run.flush().await {
        anstream::eprintln!("{}", in_style(FAINT, failure));
    }
    Ok(code)
}
