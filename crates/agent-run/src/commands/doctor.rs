//! `doctor`: what can run here, why the rest cannot, and what would change it.

use std::process::ExitCode;

use agent_astgrep::Trees;
use agent_tool_core::Dispatch as _;
use anyhow::Result;
use serde_json::{Value, json};

use super::print;
use crate::{
    args::Options,
    assemble::{Wishes, assemble, default_approve},
    config::Config,
};

/// Looks at what a run here would have.
pub(crate) fn doctor(options: &Options) -> Result<ExitCode> {
    let config = Config::load(options)?;
    let mut wishes = Wishes::of_terminal(&config, None);
    wishes.trees = Trees::new(0);
    let assembled = assemble(&config, wishes)?;
    let roots: Vec<Value> = assembled
        .workspace
        .roots()
        .iter()
        .map(|root| json!({"name": root.name(), "path": root.path()}))
        .collect();
    let grammars: Vec<Value> = assembled
        .grammars
        .iter()
        .map(|grammar| json!({"id": grammar.id(), "origin": grammar.origin().to_string()}))
        .collect();
    let tools: Vec<String> = assembled.view.specs().into_iter().map(|spec| spec.name).collect();
    let report = json!({
        "roots": roots,
        "containment": format!("{:?}", assembled.workspace.containment()).to_lowercase(),
        "trusted": config.trust.is_trusted(),
        "trust_said_by": config.trust.said_by(),
        "surface": config.surface,
        "approve": config.approve.unwrap_or_else(default_approve),
        "ignored_configuration": config.ignored,
        "tools": tools,
        "grammars": grammars,
        "state": assembled.state.home(),
    });
    if options.json {
        print::line(&report.to_string())?;
    } else {
        for (name, value) in report.as_object().into_iter().flatten() {
            print::line(&format!("{:22} {}", name.replace('_', " "), shown(value)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.values().map(shown);
            fields.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
