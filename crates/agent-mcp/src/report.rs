//! What became of a server, for a person to read.

use agent_tool_core::{Tier, Tool as _};
use serde::Serialize;

use crate::tool::Bridged;

/// One server of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ServerReport {
    /// Its name in the configuration.
    pub name: String,
    /// The revision of the protocol that is spoken with it; none where it did not come to that.
    pub revision: Option<String>,
    /// Its name and version, as it says.
    pub says_it_is: Option<String>,
    /// Its tools in the run.
    pub tools: Vec<ToolReport>,
    /// What of it was left out, and what was odd.
    pub remarks: Vec<String>,
    /// Why it has no tools in the run; none where it does, or has none to list.
    pub why: Option<String>,
}

/// One bridged tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolReport {
    /// Its name in the run.
    pub name: String,
    /// Its name on the server.
    pub own_name: String,
    /// Its tier in the run.
    pub tier: Tier,
}

impl ServerReport {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            revision: None,
            says_it_is: None,
            tools: Vec::new(),
            remarks: Vec::new(),
            why: None,
        }
    }
}

impl ToolReport {
    pub(crate) fn of(tool: &Bridged) -> Self {
        let spec = tool.spec();
        let own_name = crate::text::clean_line(tool.own_name(), 200);
        Self { name: spec.name.clone(), own_name, tier: spec.tier }
    }
}
