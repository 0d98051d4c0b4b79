#![doc = include_str!("../README.md")]

mod args;
mod assemble;
mod commands;
mod config;
mod serve;
mod signals;
mod state;
mod style;
mod terminal;
mod trust;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::{
    args::{Cli, Command},
    style::{ALERT, in_style},
};

/// Parsing allocates and frees much, on several threads: this allocator takes a tenth less of the
/// processor for it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a wrong command line ends with, as clap ends with it too.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    // This program is the guard of its own children, when it is started as that.
    agent_process::guard::main_if_asked();
    let Cli { options, command } = Cli::parse();
    let result = match command {
        Command::Tools => commands::tools(&options),
        Command::Doctor => commands::doctor(&options),
        Command::Call { tool, args } => commands::call(&options, &tool, args.as_deref()),
        Command::Script { file } => commands::script(&options, &file),
        Command::Serve { schema: true } => serve::print_schema(),
        Command::Serve { schema: false } => serve::serve(&options),
        Command::Completions { shell } => {
            let mut command = Cli::command();
            clap_complete::generate(shell, &mut command, "agent-run", &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
    };
    result.unwrap_or_else(|error| {
        anstream::eprintln!("{} {error:#}", in_style(ALERT, "error:"));
        ExitCode::from(USAGE)
    })
}
