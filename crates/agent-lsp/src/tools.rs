//! The tools: the library as a model calls it.

mod on_write;
mod query;
mod rename;

use std::sync::Arc;

use agent_tool_core::{Tier, Tool, ToolSpec};
use schemars::{JsonSchema, schema_for};

pub(crate) use self::on_write::{Debts, on_write};
use crate::Lsp;

pub(crate) fn all(lsp: &Lsp) -> Vec<Arc<dyn Tool>> {
    // A rename tells what it broke, as every write does.
    vec![query::tool(lsp), on_write(lsp, rename::tool(lsp))]
}

fn spec<A: JsonSchema>(name: &str, tier: Tier, description: &str) -> ToolSpec {
    ToolSpec::new(name, tier, description).with_input(schema_for!(A).to_value())
}
