//! The server as a program: `notes-mcp --root DIR`.

use std::{
    env,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context, Result, bail};
use notes_mcp::{Event, NotesTools, Site, protocol};

const HELP: &str = "\
notes-mcp [--root DIR]

An MCP server (revision 2026-07-28, over standard input and output) for the application Notes below DIR:
its log at app/logs/app.log and its notes in app/data/notes.

  --root DIR   the application's folder; without it the working directory
  --help       says this
  --version    says the version
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut root = PathBuf::from(".");
    let mut args = env::args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--root") => root = args.next().context("--root needs a folder")?.into(),
            Some("--help" | "-h") => return print(HELP),
            Some("--version") => {
                return print(concat!("notes-mcp ", env!("CARGO_PKG_VERSION"), "\n"));
            }
            _ => bail!("there is no argument {arg:?}; see --help"),
        }
    }
    let site = Site::open(&root).with_context(|| format!("cannot serve {}", root.display()))?;
    let site = site.with_observer(|event| {
        if let Event::Warning(text) = event {
            say(&format!("warning: {text}"));
        }
    });
    protocol::serve(Arc::new(NotesTools::new(site)), io::stdin().lock(), io::stdout())
        .context("the connection broke")
}

fn print(text: &str) -> Result<()> {
    Ok(io::stdout().write_all(text.as_bytes())?)
}

/// Standard output is the protocol's alone. Nobody has to read standard error.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
