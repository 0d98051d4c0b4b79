//! A model server from a script, for a person: `scripted-model SCRIPT.json [--port N] [--log FILE]`.
//!
//! It prints its address, notes on standard error what it is asked, and runs until it is interrupted.

#![expect(clippy::print_stderr, reason = "a program tells its person what it is asked")]

use std::{io, path::PathBuf, process::ExitCode};

use agent_testkit::model::serve_file;

const USAGE: &str = "usage: scripted-model SCRIPT.json [--port N] [--log FILE]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> io::Result<()> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, USAGE);
    let (mut script, mut port, mut log) = (None, 0, None);
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--port") => {
                let number = args.next().and_then(|number| number.to_str()?.parse().ok());
                port = number.ok_or_else(wrong)?;
            }
            Some("--log") => log = Some(PathBuf::from(args.next().ok_or_else(wrong)?)),
            _ if script.is_none() => script = Some(PathBuf::from(arg)),
            _ => return Err(wrong()),
        }
    }
    let server = serve_file(&script.ok_or_else(wrong)?, port, log.as_deref())?;
    let mut told = 0;
    let watched = async {
        server
            .until(|log| {
                for request in log.requests.iter().skip(told) {
                    eprintln!("{} {} with {}", told + 1, request.path, request.tools().join(", "));
                    told += 1;
                }
                false
            })
            .await
    };
    tokio::runtime::Builder::new_current_thread().build()?.block_on(watched);
    Ok(())
}
