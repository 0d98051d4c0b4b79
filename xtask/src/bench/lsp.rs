//! What agent-lsp costs beside a raw client that talks to a server of the same kind.

use anyhow::Result;

use crate::{setup, sh};

pub fn bench() -> Result<()> {
    setup::setup()?;
    sh::run(&mut sh::cargo(["bench", "--quiet", "--package", "agent-lsp", "--bench", "lsp"]))
}
