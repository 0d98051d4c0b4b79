//! What an interpreter costs beside jupyter_client and ipykernel of the same environment.

use anyhow::Result;

use crate::{setup, sh};

pub fn bench() -> Result<()> {
    setup::setup()?;
    sh::run(&mut sh::cargo(["bench", "--quiet", "--package", "agent-eval", "--bench", "eval"]))
}
