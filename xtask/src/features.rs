//! The features: none, each, all.

use anyhow::Result;
use serde_json::Value;

use crate::{deps::metadata, sh};

/// Packages whose features are taken one by one.
const CHECKED: [&str; 5] =
    ["agent-grammars", "agent-astgrep", "agent-lsp", "agent-builtins", "agent-run"];

/// What "all features" means in tests and checks, as cargo's argument.
pub fn everything() -> String {
    "agent-grammars/all-langs,agent-astgrep/all-langs,agent-lsp/all-langs,agent-builtins/full,\
     agent-builtins/all-langs,agent-run/all-langs"
        .to_owned()
}

pub fn features() -> Result<()> {
    let metadata = metadata()?;
    for package in CHECKED {
        check(package, "")?;
        for feature in features_of(&metadata, package) {
            check(package, &feature)?;
        }
        let all = features_of(&metadata, package).join(",");
        check(package, &all)?;
    }
    eprintln!("features: each of {} stands on its own", CHECKED.join(", "));
    Ok(())
}

fn check(package: &str, features: &str) -> Result<()> {
    sh::run(&mut sh::cargo([
        "check",
        "--quiet",
        "--package",
        package,
        "--no-default-features",
        "--features",
        features,
    ]))
}

fn features_of(metadata: &Value, package: &str) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let features = packages
        .filter(|candidate| candidate["name"] == package)
        .filter_map(|package| package["features"].as_object())
        .flat_map(|features| features.keys().cloned());
    features.filter(|name| name != "default").collect()
}
