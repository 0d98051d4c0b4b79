//! The commands of a terminal, one function each.

mod config;
mod doctor;
mod print;
mod progress;

use std::{
    fs,
    io::{self, Read, Write as _},
    path::Path,
    pin::pin,
    process::ExitCode,
};

use agent_astgrep::Trees;
use agent_tiers::{ResultLine, Surface, WaitsFor};
use agent_tool_core::{Dispatch as _, Limits, Tier, ToolCall, ToolResult, clip, for_person};
use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use self::progress::Telling;
pub(crate) use self::{config::config, doctor::doctor, progress::counted};
use crate::{
    args::Options,
    assemble::{self, Assembled, Vibe, Wishes, assemble, end_workers},
    config::Config,
    mcp,
    pictures::Pictures,
    signals::{self, Ended},
    style::{FAINT, in_style, remark},
    trust,
};

/// So many characters of a line that cannot be read are shown.
const SHOWN_CHARS: usize = 120;

/// A tool's error.
const FAILED: u8 = 1;

/// `tools`: what may be called on this surface.
pub(crate) fn tools(options: &Options) -> Result<ExitCode> {
    let config = Config::load(options)?;
    let mut wishes = Wishes::of_nobody();
    wishes.trees = Trees::new(0);
    if options.vibe {
        wishes.vibe = Vibe::Configured;
    }
    let runtime = runtime()?;
    let assembled = runtime.block_on(assemble(&config, wishes))?;
    let specs = assembled.view.specs();
    if options.json {
        print::line(&serde_json::to_string(&json!({ "tools": specs }))?)?;
    } else {
        print::specs(&specs)?;
    }
    runtime.block_on(assembled.mcp.close());
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
    let args: Value = serde_json::from_str(&text).map_err(|error| no_json(&text, &error))?;
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
    let calls = parse_script(&text).with_context(|| format!("{}", file.display()))?;
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
    let is_call = |line: &str| !line.is_empty() && !line.starts_with('#');
    let lines = text.lines().enumerate().filter(|(_, line)| is_call(line.trim()));
    let calls = lines.map(|(index, line)| {
        let line: ScriptLine = serde_json::from_str(line).map_err(|error| {
            anyhow!(
                "line {}: {} in `{}`; a call is a line {{\"tool\": …, \"args\": {{…}}}}, and lines that are empty or begin \
                 with `#` are passed over",
                index + 1,
                said(&error),
                clip(line, SHOWN_CHARS).text
            )
        })?;
        Ok(ToolCall::new(line.tool, line.args))
    });
    calls.collect()
}

fn no_json(text: &str, error: &serde_json::Error) -> anyhow::Error {
    anyhow!(
        "the arguments are no JSON: {} in `{}`; write one JSON object, for the shell in single quotes: \
         agent-run call read '{{\"path\": \"README.md\"}}'",
        said(error),
        clip(text, SHOWN_CHARS).text
    )
}

/// What is wrong with a text that was to be JSON, without the line number within it where it is one line.
fn said(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

fn run(options: &Options, trees: Trees, calls: Vec<ToolCall>) -> Result<ExitCode> {
    let mut config = Config::load(options)?;
    assemble::check(&config)?;
    let mut wishes = Wishes::of_terminal(&config, options.transcript.clone());
    wishes.trees = trees;
    wishes.bridge = !calls.iter().all(|call| mcp::is_ours_alone(&call.name));
    if options.vibe {
        wishes.vibe = Vibe::Configured;
    }
    let runtime = runtime()?;
    // Dropping the runtime waits for a commit that has begun, whatever interrupted the call.
    runtime.block_on(async {
        let mut signal = pin!(signals::ended());
        let interrupted = |why: Ended| {
            remark(in_style(FAINT, "interrupted"));
            Ok(ExitCode::from(why.exit_code()))
        };
        tokio::select! {
            asked = trust::ask(&mut config, &*wishes.port) => asked.context("the trust in this checkout")?,
            why = &mut signal => return interrupted(why),
        }
        if config.checkout_text.is_some() && !config.trust.is_trusted() {
            let said = format!("this checkout is not trusted: {}", config.trust.said_by());
            remark(in_style(FAINT, said));
        }
        if let Some(consent) = config.workers.consent().filter(|_| options.vibe) {
            remark(in_style(FAINT, consent));
        }
        let assembled = tokio::select! {
            assembled = assemble(&config, wishes) => assembled?,
            why = &mut signal => return interrupted(why),
        };
        let mut telling = Telling::of(&assembled.run);
        let made = tokio::select! {
            code = make_all(options, &assembled, calls) => Ok(code),
            never = telling.tell() => match never {},
            // What is under way is looked at before it is dropped.
            broken_off = async { (signal.await, of_unknown_end(&assembled)) } => Err(broken_off),
        };
        let made = match made {
            Ok(code) => code,
            Err((why, names)) => {
                telling.rest();
                let ended = interrupted(why);
                for name in names {
                    let said = format!(
                        "{} was under way, so it may have been carried out, all of it or in part; look at what is there before you call \
                         it again",
                        for_person(&name)
                    );
                    remark(in_style(FAINT, said));
                }
                ended
            }
        };
        if let Some(said) = end_workers(assembled.workers.as_ref()).await {
            remark(in_style(FAINT, said));
        }
        assembled.mcp.close().await;
        // What was called is on record, also where nobody reads the results any more.
        if let Err(failure) = assembled.run.flush().await {
            remark(in_style(FAINT, failure));
        }
        made
    })
}

/// The tools at work for a call of this command, but for those that are known to only read.
fn of_unknown_end(assembled: &Assembled) -> Vec<String> {
    let specs = assembled.view.specs();
    let only_reads = |name: &str| {
        let spec = specs.iter().find(|spec| spec.name == name);
        spec.is_some_and(|spec| spec.tier == Tier::Read && !spec.tier_is_hearsay)
    };
    let live = assembled.run.live_calls().into_iter();
    let at_work = live.filter(|call| call.callers.is_empty() && call.waits_for == WaitsFor::Tool);
    at_work.map(|call| call.name).filter(|name| !only_reads(name)).collect()
}

pub(crate) fn runtime() -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().context("the runtime")
}

async fn make_all(
    options: &Options,
    assembled: &Assembled,
    calls: Vec<ToolCall>,
) -> Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let several = calls.len() > 1;
    let pictures = Pictures::new(assembled.state.artifacts());
    let (mut pending, mut limit) = (Vec::new(), None);
    for call in calls {
        let name = call.name.clone();
        if several && !options.json {
            print::call(&call)?;
        }
        let result: ToolResult = assembled.view.call(call).await;
        if let Err(error) = &result {
            code = ExitCode::from(FAILED);
            limit = limit.or_else(|| which_limit(assembled, &name, &error.code));
        }
        if let Ok(output) = &result {
            pending = pending_of(&output.data);
        }
        if options.json {
            print::line(&serde_json::to_string(&ResultLine::new(name, &result))?)?;
        } else {
            print::result(&result, &pictures)?;
        }
    }
    io::stdout().flush().context("standard output")?;
    if let Some(said) = limit {
        remark(in_style(FAINT, said));
    }
    if let Some(said) = what_to_ask(&pending) {
        remark(in_style(FAINT, said));
    }
    Ok(code)
}

/// Which limit of the run a call met. Who started the run is told, and not the model that may have asked for the call: it lifts no
/// limit of its own.
fn which_limit(assembled: &Assembled, name: &str, code: &str) -> Option<String> {
    let surface = assembled.view.surface();
    let shown = for_person(name);
    match code {
        "no_approver" => Some(format!(
            "{shown} needs approval and nobody was there to give it: `--approve all` lets such calls through, and at a terminal \
             `--approve ask` shows each of them first"
        )),
        "unknown_tool" if surface != Surface::Full => {
            let full = assembled.run.view(Surface::Full, Limits::default());
            let is_there = full.specs().iter().any(|spec| spec.name == name);
            is_there.then(|| {
                format!("{shown} is a tool of the surface `full`, and this run is on `{surface}`")
            })
        }
        _ => None,
    }
}

/// The files whose diagnostics were to come with a later result.
fn pending_of(data: &Value) -> Vec<String> {
    let files = data["diagnostics"]["pending"].as_array().into_iter().flatten();
    files.filter_map(|file| file["file"].as_str()).map(str::to_owned).collect()
}

/// What to run after a run that ends before they came.
fn what_to_ask(pending: &[String]) -> Option<String> {
    let first = pending.first()?;
    let args = serde_json::json!({ "action": "diagnostics", "file": first });
    let rest = match pending.len() - 1 {
        0 => String::new(),
        more => format!(", and so for {more} more"),
    };
    Some(format!(
        "the run ends before the diagnostics came: `agent-run call lsp '{args}'` asks for them{rest}"
    ))
}
