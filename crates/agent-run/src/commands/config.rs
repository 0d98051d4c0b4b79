//! `config`: what holds for a run here, and where it comes from.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::Result;
use serde_json::{Value, json};

use super::print;
use crate::{
    args::Options,
    assemble::default_approve,
    config::Config,
    edge,
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
        writeln!(out, "{key} {}  {from}", edge::row(&value))?;
    }
    writeln!(out)?;
    for layer in &config.layers {
        writeln!(out, "{}", edge::row(&layer.in_words()))?;
    }
    for ignored in &config.ignored {
        writeln!(out, "{}", edge::row(ignored))?;
    }
    if !config.trust.is_trusted() {
        writeln!(out, "{}", in_style(FAINT, config.trust.said_by()))?;
    }
    io::stdout().flush()?;
    Ok(ExitCode::SUCCESS)
}
