//! The official SDKs that servers of the Model Context Protocol are built on: each in its newest major version, which speaks the
//! revision of 2026-07-28, and in the one before, which most servers are built on.

pub(super) const NPM: [(&str, &[&str]); 2] = [
    ("mcp-servers-node", &["@modelcontextprotocol/server@2.4.0"]),
    ("mcp-servers-node-1", &["@modelcontextprotocol/sdk@1.32.2"]),
];

pub(super) const PYTHON: [(&str, &[&str]); 2] =
    [("mcp-servers-python", &["mcp==2.3.0"]), ("mcp-servers-python-1", &["mcp==1.30.0"])];
