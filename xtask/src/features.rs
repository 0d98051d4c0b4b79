//! The features: none, each, all.

use anyhow::Result;
use serde_json::Value;

use crate::{deps::metadata, sh};

/// Packages whose features are taken one by one.
const CHECKED: [&str; 7] = [
    "agent-grammars",
    "agent-astgrep",
    "agent-lsp",
    "agent-loop",
    "agent-testkit",
    "agent-builtins",
    "agent-run",
];

/// Features that stand outside of "all": what they pull in downloads sources when it is built, unless
/// `TSLP_OFFLINE` is set, as `.cargo/config.toml` does here. They have a step of their own.
const APART: [&str; 2] = ["language-pack", "language-pack-download"];

/// What "all features" means for the program, as cargo's argument.
pub fn everything() -> String {
    "agent-grammars/all-langs,agent-astgrep/all-langs,agent-builtins/full,agent-builtins/all-langs,\
     agent-run/all-langs"
        .to_owned()
}

/// What it means over the whole workspace: crates that the program does not take come with theirs.
pub fn of_workspace() -> String {
    format!("{},agent-lsp/all-langs,agent-loop/providers,agent-testkit/model", everything())
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

/// The features that stand apart: both build, and grammars from a folder are loaded and used.
pub fn apart() -> Result<()> {
    for feature in APART {
        check("agent-grammars", feature)?;
    }
    let features = format!("all-langs,{}", APART[0]);
    sh::run(&mut sh::cargo(["test", "--package", "agent-grammars", "--features", &features]))
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
    features.filter(|name| name != "default" && !APART.contains(&name.as_str())).collect()
}
