//! One server's table.

use std::{collections::BTreeMap, path::Path, time::Duration};

use agent_tool_core::Tier;
use serde_json::{Map, Value};

use super::{MAX_CALL_SECONDS, ServerConfig, ServerTrust, variables};

const KNOWN: &str = "command, args, env, cwd, trust, tier, timeout, disabled and type";

/// The server, none where it is turned off, or what is wrong with it.
pub(super) fn read(
    name: &str,
    table: Value,
    remarks: &mut Vec<String>,
) -> Result<Option<ServerConfig>, String> {
    let Value::Object(mut table) = table else {
        return Err("takes an object with a `command`".to_owned());
    };
    if name.trim().is_empty() {
        return Err("stands under an empty name; give the server one".to_owned());
    }
    if table.remove("disabled").is_some_and(|value| value == true) {
        return Ok(None);
    }
    transport(&mut table)?;
    let mut config = ServerConfig::new(command(&mut table)?);
    config.args = list(table.remove("args"))?;
    config.env = environment(table.remove("env"))?;
    if let Some(cwd) = table.remove("cwd") {
        let cwd = cwd.as_str().filter(|cwd| Path::new(cwd).is_absolute());
        config.cwd = Some(cwd.ok_or("`cwd` takes an absolute path")?.into());
    }
    config.trust = match table.remove("trust") {
        None | Some(Value::Bool(false)) => ServerTrust::Untrusted,
        Some(Value::Bool(true)) => ServerTrust::Trusted,
        Some(_) => return Err("`trust` takes true or false".to_owned()),
    };
    if let Some(tier) = table.remove("tier") {
        let tier: Result<Tier, _> = serde_json::from_value(tier);
        config.tier = tier.map_err(|_| "`tier` takes \"read\", \"write\" or \"exec\"")?;
    }
    if let Some(timeout) = table.remove("timeout") {
        config.timeout = seconds(&timeout)?;
    }
    remarks.extend(table.keys().map(|key| {
        format!(
            "the MCP server `{name}` has `{key}`, which is unknown and was ignored; it may have {KNOWN}"
        )
    }));
    Ok(Some(config))
}

fn transport(table: &mut Map<String, Value>) -> Result<(), String> {
    const ALONE: &str = "only programs over standard input and output are bridged";
    if let Some(key) =
        ["url", "httpUrl", "serverUrl"].into_iter().find(|key| table.contains_key(*key))
    {
        return Err(format!("is one over the network (`{key}`), and {ALONE}; name a `command`"));
    }
    match table.remove("type") {
        None => Ok(()),
        Some(kind) if kind == "stdio" => Ok(()),
        Some(kind) => Err(format!("has the type {kind}, and {ALONE}: \"stdio\"")),
    }
}

fn command(table: &mut Map<String, Value>) -> Result<String, String> {
    match table.remove("command") {
        None => Err("has no `command`; name the program".to_owned()),
        Some(Value::String(command)) if command.trim().is_empty() => {
            Err("`command` is empty; name the program".to_owned())
        }
        Some(Value::String(command)) => Ok(command),
        Some(_) => Err("`command` takes a text".to_owned()),
    }
}

fn list(value: Option<Value>) -> Result<Vec<String>, String> {
    let value = value.unwrap_or(Value::Array(Vec::new()));
    serde_json::from_value(value).map_err(|_| "`args` takes a list of texts".to_owned())
}

fn environment(value: Option<Value>) -> Result<BTreeMap<String, String>, String> {
    let value = value.unwrap_or(Value::Object(Map::new()));
    let variables: BTreeMap<String, String> =
        serde_json::from_value(value).map_err(|_| "`env` takes an object of texts")?;
    for value in variables.values() {
        variables::check(value)?;
    }
    Ok(variables)
}

fn seconds(value: &Value) -> Result<Duration, String> {
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= MAX_CALL_SECONDS);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        format!("`timeout` takes seconds, more than 0 and at most {MAX_CALL_SECONDS}")
    })
}
