//! The servers that a person lets a run bridge in: their own file and `--mcp` name them, a checkout never does.

use std::{
    env, fs,
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};

use agent_mcp::{Bridge, Servers, Times};
use agent_process::{Launcher, Place, Trust};
use agent_tool_core::{CardQueue, for_person};
use anyhow::{Context, Result};
use serde_json::{Map, Value};

use crate::{
    config::Config,
    style::{FAINT, in_style, remark},
};

/// Who waits longer for servers is told for which.
const QUIET: Duration = Duration::from_millis(1_500);

/// The tools of ours that call no other tool.
const ALONE: [&str; 13] = [
    "apply_patch",
    "ask_user",
    "ast_edit",
    "ast_grep",
    "debug",
    "edit",
    "lsp",
    "lsp_rename",
    "read",
    "resolve",
    "search",
    "shell",
    "write",
];

/// Whether a call of this tool needs no server: it is ours, and calls no other one, as a cell or a worker may.
pub(crate) fn is_ours_alone(tool: &str) -> bool {
    ALONE.contains(&tool)
}

/// The servers of the person's own file, and those of the files that flags name, whose word counts where both have a name.
pub(crate) fn servers(own: toml::Table, files: &[PathBuf]) -> Result<Servers> {
    let own: Map<String, Value> = own
        .into_iter()
        .map(|(name, server)| Ok((name, serde_json::to_value(server)?)))
        .collect::<Result<_>>()
        .context("the MCP servers of config.toml")?;
    files.iter().try_fold(Servers::of(own), |servers, path| Ok(servers.and(read(path)?)))
}

fn read(path: &Path) -> Result<Servers> {
    let said = || format!("--mcp {}", path.display());
    let text = fs::read_to_string(path).with_context(said)?;
    Servers::parse(&text).with_context(said)
}

/// Starts the servers and lists their tools. What one lacks is in its report.
pub(crate) async fn connect(
    config: &Config,
    servers: Servers,
    launcher: Launcher,
    trust: Trust,
    cards: &CardQueue,
) -> Bridge {
    let roots = config.roots.iter().map(|(_, path)| path);
    let builder = Bridge::builder(launcher, folder(config))
        .place(Place::new(roots).trust(trust))
        .cards(cards.clone());
    let waiting = builder.waiting();
    let mut connecting = pin!(builder.connect(servers));
    tokio::select! {
        bridge = &mut connecting => return bridge,
        () = tokio::time::sleep(QUIET) => {}
    }
    let names = waiting.names();
    if !names.is_empty() {
        let servers = if names.len() == 1 { "server" } else { "servers" };
        let (names, most) = (for_person(&names.join(", ")), Times::new().connect.as_secs());
        let said = format!("waiting for the MCP {servers} {names} to start, for up to {most} s");
        remark(in_style(FAINT, said));
    }
    connecting.await
}

/// Where servers start that name no folder of their own: a package runner takes programs from where it starts, so in the checkout
/// only where that is trusted.
pub(crate) fn folder(config: &Config) -> PathBuf {
    match config.trust.is_trusted() {
        true => config.working().to_owned(),
        false => env::home_dir().filter(|home| home.is_dir()).unwrap_or_else(env::temp_dir),
    }
}

/// What its person should know of the servers, a sentence each.
pub(crate) fn complaints(bridge: &Bridge) -> Vec<String> {
    let mut said = Vec::new();
    for report in bridge.reports() {
        let name = &report.name;
        let why =
            report.why.iter().map(|why| format!("the MCP server {name} has no tools here: {why}"));
        let remarks =
            report.remarks.iter().map(|remark| format!("the MCP server {name}: {remark}"));
        said.extend(why.chain(remarks));
    }
    said
}
