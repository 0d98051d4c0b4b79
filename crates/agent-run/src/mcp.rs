//! The servers that a person lets a run bridge in: their own file and `--mcp` name them, a checkout never does.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use agent_mcp::{Bridge, Servers};
use agent_process::{Launcher, Place, Trust};
use agent_tool_core::CardQueue;
use anyhow::{Context, Result};
use serde_json::{Map, Value};

use crate::config::Config;

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
    launcher: Launcher,
    trust: Trust,
    cards: &CardQueue,
) -> Bridge {
    let roots = config.roots.iter().map(|(_, path)| path);
    Bridge::builder(launcher, folder(config))
        .place(Place::new(roots).trust(trust))
        .cards(cards.clone())
        .connect(config.mcp.clone())
        .await
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
