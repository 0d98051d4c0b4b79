//! One run over standard input and output, for a harness in any language.

mod cards;
mod hosted;
mod lines;
mod peer;
mod protocol;
mod session;

use std::process::ExitCode;

use anyhow::{Context, Result};
use tokio::io::BufReader;

use self::{lines::Outbox, peer::Peer, session::Session};
use crate::args::Options;

/// The JSON Schema of every message, both ways.
const SCHEMA: &str = include_str!("serve/serve.schema.json");

/// `serve --schema`.
pub(crate) fn print_schema() -> Result<ExitCode> {
    anstream::print!("{SCHEMA}");
    Ok(ExitCode::SUCCESS)
}

/// `serve`: until the host says `run/shutdown` or closes its end.
pub(crate) fn serve(options: &Options) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime")?;
    runtime.block_on(async {
        let (outbox, write) = Outbox::new(tokio::io::stdout());
        let writing = tokio::spawn(write);
        let session = Session::new(Peer::new(outbox), options);
        session.run(BufReader::new(tokio::io::stdin())).await?;
        // What was put before the end is written before the end.
        let _ = writing.await;
        Ok::<_, anyhow::Error>(())
    })?;
    // Standard input may be in the middle of a read that nothing can interrupt.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
