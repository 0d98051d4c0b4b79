#![doc = include_str!("../README.md")]

mod answers;
mod args;
mod artifacts;
mod assemble;
mod chat;
mod columns;
mod commands;
mod config;
mod edge;
mod mcp;
mod models;
mod pictures;
mod serve;
mod signals;
mod state;
mod style;
mod terminal;
mod trust;
mod visible;
mod workers;

use std::{
    io::{self, Write as _},
    process::ExitCode,
    sync::{Mutex, MutexGuard, PoisonError},
};

use clap::{CommandFactory, Parser};

use crate::{
    args::{Cli, Command},
    style::{ALERT, in_style, remark},
    visible::readable,
};

/// Parsing allocates and frees much, on several threads: this allocator takes a tenth less of the
/// processor for it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a wrong command line ends with, as clap ends with it too.
const USAGE: u8 = 2;

/// What a shell expects of a program whose output nobody reads: 128 and the number of SIGPIPE.
const NOBODY_READS: u8 = 141;

fn main() -> ExitCode {
    // This program is the guard of its own children, when it is started as that.
    agent_process::guard::main_if_asked();
    // The keys in its environment are not for what it starts. Where the system refuses, results hide them all the same.
    let _ = agent_process::close_to_children();
    let Cli { options, command } = Cli::parse();
    let result = match command {
        Command::Tools => commands::tools(&options),
        Command::Config => commands::config(&options),
        Command::Doctor => commands::doctor(&options),
        Command::Call { tool, args } => commands::call(&options, &tool, args.as_deref()),
        Command::Script { file } => commands::script(&options, &file),
        Command::Serve { schema: true } => serve::print_schema(),
        Command::Serve { schema: false } => serve::serve(&options),
        Command::Chat(chat) => chat::chat(&options, &chat),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "agent-run", &mut text);
            io::stdout().write_all(&text).map(|()| ExitCode::SUCCESS).map_err(Into::into)
        }
    };
    let result = result.and_then(|code| {
        io::stdout().flush()?;
        Ok(code)
    });
    result.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return ExitCode::from(NOBODY_READS);
        }
        let said = readable(&format!("{error:#}"));
        remark(format!("{} {said}", in_style(ALERT, "error:")));
        ExitCode::from(USAGE)
    })
}

/// Nothing is half changed where a thread panicked with one of our locks: each guards a value that is set in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever read the output has enough of it: nothing is wrong, and there is nobody to tell.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
