//! `config`: what holds for a run here, and where it comes from.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use agent_tool_core::for_person;
use anyhow::Result;
use serde_json::{Value, json};

use super::print;
use crate::{
    args::Options,
    assemble::default_approve,
    config::Config,
    style::{FAINT, STRONG, in_style},
};

/// Prints every setting with its layer, then the layers with their files, then what was ignored and why.
pub(crate) fn config(options: &Options) -> Result<ExitCode> {
    let config = Config::load(options)?;
    let settings = config.settings(default_approve());
    if options.json {
        let all = json!({
            "settings": settings, "layers": config.layers, "ignored": config.ignored,
            "trust": config.trust.said_by(),
        });
        print::line(&serde_json::to_string(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = anstream::stdout().lock();
    for setting in &settings {
        let value = match &setting.value {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            Value::Array(all) if all.is_empty() => "-".to_owned(),
            Value::Object(all) if all.is_empty() => "-".to_owned(),
            value => value.to_string(),
        };
        let key = in_style(STRONG, format!("{:20}", setting.key));
        let from = in_style(FAINT, setting.from.join(", "));
        writeln!(out, "{key} {}  {from}", for_person(&value))?;
    }
    writeln!(out)?;
    for layer in &config.layers {
        writeln!(out, "{}", for_person(&layer.in_words()))?;
    }
    for ignored in &config.ignored {
        writeln!(out, "{}", for_person(ignored))?;
    }
    if !config.trust.is_trusted() {
        writeln!(out, "{}", in_style(FAINT, for_person(&config.trust.said_by())))?;
    }
    io::stdout().flush()?;
    Ok(ExitCode::SUCCESS)
}
