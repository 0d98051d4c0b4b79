//! A worker that is a program of its own: any agent that takes a brief and prints its result.

use std::{path::PathBuf, sync::Arc, time::Duration};

use agent_process::{
    Characters, CommandLine, Excerpt, Input, Launcher, Output, Process, Program, ShutdownSteps,
};
use agent_tool_core::{BoxFuture, Tier};
use agent_vibe::{Job, RESULT_CHARS, WorkError};
use anyhow::Result;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::ChildStdin,
    time::timeout,
};

const BRIEF: &str = "{brief}";
const AUTHORITY: &str = "{authority}";
const LABEL: &str = "{label}";
const FOLDER: &str = "{folder}";

/// The longest brief that is handed over as an argument; the system takes 128 KiB for one.
const ARGUMENT_BYTES: usize = 120 << 10;

/// How long the end of the output is waited for after the command has ended: what it left running may hold the pipe open.
const OUTPUT_WAIT: Duration = Duration::from_millis(200);

/// How many bytes of an output's beginning are kept. Both parts and the mark between them are within what is kept of a worker's
/// result, which would lose its end otherwise.
const HEAD_BYTES: usize = RESULT_CHARS / 6;

/// How many bytes of the end are kept: its last words are a worker's result.
const TAIL_BYTES: usize = RESULT_CHARS / 4 * 3;

const CHUNK_BYTES: usize = 16 << 10;

/// Workers that are one command.
pub(super) struct CommandWorkers {
    line: Arc<CommandLine>,
    launcher: Launcher,
    folder: PathBuf,
}

impl CommandWorkers {
    pub(super) fn new(line: &str, launcher: Launcher, folder: PathBuf) -> Result<Self> {
        Ok(Self { line: Arc::new(CommandLine::parse(line)?), launcher, folder })
    }

    /// Why the command cannot be a worker of this authority: what a program of its own does is not ours to hold back.
    pub(super) fn refuses(&self, authority: Tier) -> Option<String> {
        (authority < Tier::Exec && !self.line.takes(AUTHORITY)).then(|| {
            format!(
                "a worker of authority {authority} cannot be this command, which nothing would hold to that; spawn it with authority \
                 exec, or let the person configure a command that takes {AUTHORITY} and keeps to it"
            )
        })
    }

    /// One attempt: the command from its start to the end of all that it started.
    pub(super) fn start(&self, job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
        let (line, launcher, folder) =
            (Arc::clone(&self.line), self.launcher.clone(), self.folder.clone());
        let refused = self.refuses(job.authority());
        Box::pin(async move {
            if let Some(why) = refused {
                return Err(WorkError::new(why));
            }
            let input = !line.takes(BRIEF);
            let program = program(&line, &job, folder)?;
            let process = launcher.spawn(&program).await.map_err(|error| {
                WorkError::new("the worker's command was not started").with_source(error)
            })?;
            let given = process.take_stdin().filter(|_| input);
            run(&process, given, &job).await
        })
    }
}

/// Placeholders of a command line.
trait Takes {
    fn takes(&self, placeholder: &str) -> bool;
}

impl Takes for CommandLine {
    fn takes(&self, placeholder: &str) -> bool {
        self.args.iter().any(|word| word.contains(placeholder))
    }
}

fn program(line: &CommandLine, job: &Job, folder: PathBuf) -> Result<Program, WorkError> {
    let authority = job.authority();
    let brief = brief(job);
    if line.takes(BRIEF) && brief.len() > ARGUMENT_BYTES {
        return Err(WorkError::new(format!(
            "the brief has {} bytes, and one argument takes {ARGUMENT_BYTES}; put it into a file and name that, or let the person \
             configure a command without {BRIEF}, which gets it on its standard input",
            brief.len()
        )));
    }
    let place = folder.to_string_lossy().into_owned();
    let values = [
        (BRIEF, no_option(&brief)),
        (AUTHORITY, authority.to_string()),
        (LABEL, no_option(job.label())),
        (FOLDER, place),
    ];
    let input = if line.takes(BRIEF) { Input::Null } else { Input::Piped };
    Ok(Program::new(&line.program, folder)
        .args(line.args.iter().map(|word| filled(word, &values)))
        .env("TERM", "dumb")
        .stdin(input)
        .stdout(Output::Piped))
}

/// The brief with all that was sent since, and with the result before this attempt, which a new process does not know.
fn brief(job: &Job) -> String {
    let old = job.brief().len() - job.news().len();
    let mut parts: Vec<String> = job.brief()[..old].iter().map(|part| part.to_string()).collect();
    if let Some(previous) = job.previous() {
        parts.push(format!("(Your result so far:)\n{previous}\n(What follows is new.)"));
    }
    parts.extend(job.news().iter().map(|part| part.to_string()));
    parts.join("\n\n")
}

/// A text that a program does not take for an option: it comes from a model.
fn no_option(text: &str) -> String {
    if text.starts_with('-') { format!(" {text}") } else { text.to_owned() }
}

/// A word with its placeholders filled. What is filled in is not looked at again.
fn filled(word: &str, values: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = word;
    let next = |rest: &str| {
        let found = values
            .iter()
            .filter_map(|(name, value)| Some((rest.find(name)?, *name, value.clone())));
        found.min_by_key(|(at, ..)| *at)
    };
    while let Some((at, name, value)) = next(rest) {
        out.push_str(&rest[..at]);
        out.push_str(&value);
        rest = &rest[at + name.len()..];
    }
    out + rest
}

fn tell(job: &Job, text: &str) {
    if !text.is_empty() {
        job.output(text);
    }
}

async fn run(process: &Process, input: Option<ChildStdin>, job: &Job) -> Result<String, WorkError> {
    let mut kept = Excerpt::new(HEAD_BYTES, TAIL_BYTES);
    let exit = {
        let write = async {
            if let Some(mut pipe) = input {
                // A command that does not read its brief says so itself, or works without it.
                let _ = pipe.write_all(brief(job).as_bytes()).await;
            }
        };
        let read = async {
            let Some(mut pipe) = process.take_stdout() else { return };
            let mut chunk = vec![0; CHUNK_BYTES];
            let mut characters = Characters::default();
            while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
                kept.push(&chunk[..count]);
                tell(job, &characters.push(&chunk[..count]));
            }
            tell(job, &characters.end());
        };
        let mut talk = std::pin::pin!(async { tokio::join!(write, read) });
        tokio::select! {
            biased;
            _ = &mut talk => process.wait().await,
            exit = process.wait() => {
                let _ = timeout(OUTPUT_WAIT, talk).await;
                exit
            }
        }
    };
    let steps = ShutdownSteps::new().after_stdin(Duration::ZERO);
    process.shutdown(&steps).await;
    if exit.code == Some(0) {
        return Ok(kept.text().text);
    }
    let how = match (exit.code, exit.signal) {
        (Some(code), _) => format!("the command ended with exit code {code}"),
        (None, Some(signal)) => format!("the command was ended by signal {signal}"),
        (None, None) => "how the command ended is not known".to_owned(),
    };
    Err(WorkError::new(match exit.stderr.is_empty() {
        true => how,
        false => format!("{how} and said on its error output:\n{}", exit.stderr.join("\n")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_looked_at_again_and_is_no_option() {
        let values = [(BRIEF, no_option("-x {label}")), (LABEL, "l".to_owned())];
        for (word, is) in [
            ("{brief}", " -x {label}"),
            ("a{label}b{brief}", "alb -x {label}"),
            ("{other}", "{other}"),
        ] {
            assert_eq!(filled(word, &values), is);
        }
    }
}
