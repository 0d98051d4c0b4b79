//! What became of a server, for a person to read.

use agent_tool_core::{Tier, Tool as _};
use serde::Serialize;

use crate::{
    text::{clean_line, quoted},
    tool::Bridged,
};

/// So many characters of a name are said.
const NAME_CHARS: usize = 200;

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

impl ServerReport {
    /// `notes by revision 2026-07-28, says it is `notes-mcp 0.1.0`: `log_tail` (exec)`: what the server says of itself is quoted, on
    /// one line, so that it can pass for nothing else.
    #[must_use]
    pub fn in_words(&self) -> String {
        let revision = self.revision.as_deref().unwrap_or("unknown");
        let says = self.says_it_is.as_deref();
        let says = says.map(|says| format!(", says it is {}", quoted(says, NAME_CHARS)));
        let tools: Vec<_> = self.tools.iter().map(ToolReport::in_words).collect();
        let tools = if tools.is_empty() { "no tools".to_owned() } else { tools.join(", ") };
        let name = clean_line(&self.name, NAME_CHARS);
        format!("{name} by revision {revision}{}: {tools}", says.unwrap_or_default())
    }
}

impl ToolReport {
    fn in_words(&self) -> String {
        format!("{} ({})", quoted(&self.own_name, NAME_CHARS), self.tier)
    }

    pub(crate) fn of(tool: &Bridged) -> Self {
        let spec = tool.spec();
        let own_name = clean_line(tool.own_name(), NAME_CHARS);
        Self { name: spec.name.clone(), own_name, tier: spec.tier }
    }
}
