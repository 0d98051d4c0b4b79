//! One run over standard input and output, for a harness in any language.

mod cards;
mod hosted;
mod lines;
mod peer;
mod protocol;
mod session;
mod workers;

use std::{
    io::{self, BufReader, Write as _},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result};

use self::{
    lines::{Outbox, read_lines},
    peer::Peer,
    protocol::MESSAGE_LIMIT,
    session::Session,
};
use crate::{args::Options, signals};

/// The JSON Schema of every message, both ways.
const SCHEMA: &str = include_str!("serve/serve.schema.json");

/// How long the end waits for a host that does not read, and for a commit that has begun.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// `serve --schema`.
pub(crate) fn print_schema() -> Result<ExitCode> {
    io::stdout().write_all(SCHEMA.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// `serve`: until the host says `run/shutdown`, closes its end, or a signal comes.
pub(crate) fn serve(options: &Options) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime")?;
    let ended = runtime.block_on(async {
        let (outbox, write) = Outbox::new(tokio::io::stdout());
        let writing = tokio::spawn(write);
        let session = Session::new(Peer::new(outbox), options);
        let lines = read_lines(BufReader::new(io::stdin()), MESSAGE_LIMIT);
        let ended = session.run(lines, signals::ended()).await;
        // What was put before the end is written before the end.
        let _ = tokio::time::timeout(LAST_WORDS, writing).await;
        ended
    });
    runtime.shutdown_timeout(LAST_WORDS);
    Ok(ended.map_or(ExitCode::SUCCESS, |why| ExitCode::from(why.exit_code())))
}
