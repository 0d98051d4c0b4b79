//! Measures side by side against the peer, in turns, in one run, and prints ratios. No test.

mod astgrep;
mod corpora;
mod eval;
mod lsp;
mod mcp;
mod measure;
mod patterns;

use anyhow::{Result, bail};

use crate::sh;

pub fn bench(names: &[&str]) -> Result<()> {
    match names {
        [] => {
            dispatch()?;
            step()?;
            astgrep::bench(None)?;
            lsp::bench()?;
            debug()?;
            eval::bench()?;
            mcp::bench()
        }
        ["dispatch"] => dispatch(),
        ["loop"] => step(),
        ["debug"] => debug(),
        ["astgrep"] => astgrep::bench(None),
        ["astgrep", language] => astgrep::bench(Some(language)),
        ["lsp"] => lsp::bench(),
        ["eval"] => eval::bench(),
        ["mcp"] => mcp::bench(),
        other => bail!(
            "there is no benchmark `{}`; there are dispatch, loop, astgrep [LANGUAGE], lsp, debug, eval and mcp",
            other.join(" ")
        ),
    }
}

/// The debugger beside a raw client, with the adapters that setup installed.
fn debug() -> Result<()> {
    sh::run(&mut sh::cargo(["bench", "--quiet", "--package", "agent-debug", "--bench", "overhead"]))
}

/// What the model loop itself costs for a step.
fn step() -> Result<()> {
    sh::run(&mut sh::cargo(["bench", "--quiet", "--package", "agent-loop", "--bench", "step"]))
}

fn dispatch() -> Result<()> {
    sh::run(&mut sh::cargo(["bench", "--quiet", "--package", "agent-tiers", "--bench", "dispatch"]))
}
