//! The MCP servers that a person named: what they speak, what they offer, and why one does not.

use agent_mcp::NAME_PREFIX;
use agent_tool_core::Dispatch as _;

use super::{Group, GroupWords, Missing};
use crate::{assemble::Assembled, config::Config, mcp::folder};

const SERVERS: GroupWords = GroupWords {
    no_tools: "none on this surface",
    nothing: "none is connected; name servers with --mcp FILE, or `[mcp.NAME]` in your own config.toml",
    having: "connected",
    lacking: "not here",
    remedy: "since",
    between: "\n",
};

/// Each server, with its revision and its tools.
pub(super) async fn servers(assembled: &Assembled, config: &Config) -> Group {
    let tools = assembled.view.specs().into_iter().map(|spec| spec.name);
    let (mut has, mut missing, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
    for report in assembled.mcp.probe().await {
        let name = || vec![report.name.clone()];
        match &report.why {
            Some(how) => missing.push(Missing { what: name(), how: how.clone() }),
            None => has.push(report.in_words()),
        }
        remarks.extend(report.remarks.iter().map(|remark| format!("{}: {remark}", report.name)));
    }
    let disabled = config.mcp.disabled();
    missing.extend(
        disabled.map(|name| Missing { what: vec![name], how: "it is disabled".to_owned() }),
    );
    if !has.is_empty() {
        has.push(format!("started in {} unless they name a folder", folder(config).display()));
    }
    has.extend(remarks);
    let nothing = if missing.is_empty() { SERVERS.nothing } else { "none is connected" };
    Group {
        name: "mcp",
        tools: tools.filter(|tool| tool.starts_with(NAME_PREFIX)).collect(),
        has,
        missing,
        words: GroupWords { nothing, ..SERVERS },
    }
}
