//! Holds the crates to the arrows of `docs/ARCHITECTURE.md`.

use std::{collections::BTreeSet, fs};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::sh;

/// Each crate with the crates of ours that it may depend on. A package missing here fails.
const ARROWS: &[(&str, &[&str])] = &[
    ("agent-tool-core", &[]),
    ("agent-workspace", &[]),
    ("agent-process", &[]),
    ("agent-edits", &["agent-tool-core", "agent-workspace"]),
    ("agent-grammars", &[]),
    ("agent-tiers", &["agent-tool-core"]),
    ("agent-files", &["agent-tool-core", "agent-workspace", "agent-edits"]),
    ("agent-astgrep", &["agent-tool-core", "agent-workspace", "agent-edits", "agent-grammars"]),
    (
        "agent-lsp",
        &["agent-tool-core", "agent-workspace", "agent-edits", "agent-process", "agent-grammars"],
    ),
    ("agent-shell", &["agent-tool-core", "agent-workspace", "agent-process"]),
    ("agent-debug", &["agent-tool-core", "agent-workspace", "agent-process"]),
    ("agent-eval", &["agent-tool-core", "agent-workspace", "agent-process", "agent-grammars"]),
    ("agent-ask", &["agent-tool-core"]),
    ("agent-mcp", &["agent-tool-core", "agent-process"]),
    ("agent-vibe", &["agent-tool-core"]),
    ("agent-loop", &["agent-tool-core"]),
    (
        "agent-builtins",
        &[
            "agent-tool-core",
            "agent-workspace",
            "agent-edits",
            "agent-tiers",
            "agent-files",
            "agent-shell",
            "agent-astgrep",
            "agent-lsp",
            "agent-debug",
            "agent-eval",
            "agent-ask",
            "agent-mcp",
            "agent-vibe",
        ],
    ),
    (
        "agent-run",
        &[
            "agent-tool-core",
            "agent-workspace",
            "agent-edits",
            "agent-tiers",
            "agent-files",
            "agent-shell",
            "agent-astgrep",
            "agent-lsp",
            "agent-debug",
            "agent-eval",
            "agent-ask",
            "agent-mcp",
            "agent-vibe",
            "agent-loop",
            "agent-process",
            "agent-grammars",
            "agent-builtins",
        ],
    ),
    ("notes-mcp", &[]),
    ("agent-testkit", &["agent-tool-core"]),
    ("xtask", &[]),
];

/// What a crate may take from outside, where that is the point of the crate.
const OUTSIDE: &[(&str, &[&str])] = &[
    ("agent-tool-core", &["serde", "serde_json"]),
    ("agent-process", &["process-wrap", "rustix", "serde_json", "tokio"]),
    ("agent-tiers", &["serde", "serde_json", "strsim", "tokio", "tracing"]),
    ("agent-ask", &["schemars", "serde", "serde_json", "tokio"]),
    ("agent-vibe", &["schemars", "serde", "serde_json", "tokio"]),
    (
        "notes-mcp",
        &[
            "anyhow",
            "cap-std",
            "humantime",
            "memchr",
            "rustix",
            "serde",
            "serde_json",
            "unicode-general-category",
        ],
    ),
    ("xtask", &["anyhow", "serde_json"]),
];

/// Crates whose tree must hold none of these: what a small crate must never pull.
const ABSENT: &[(&str, &[&str])] = &[
    ("agent-tool-core", &["tokio", "tree-sitter"]),
    ("agent-tiers", &["tree-sitter", "lsp-types", "async-lsp", "hyper", "ignore"]),
    ("agent-shell", &["tree-sitter", "lsp-types", "hyper"]),
    ("agent-ask", PEOPLE_ABSENT),
    ("agent-vibe", PEOPLE_ABSENT),
    ("agent-lsp", &["tree-sitter", "hyper"]),
    ("agent-debug", &["tree-sitter", "lsp-types", "hyper"]),
    (
        "agent-mcp",
        &["tree-sitter", "lsp-types", "hyper", "reqwest", "rustls", "oauth2", "schemars"],
    ),
    ("agent-loop", &["genai", "hyper", "reqwest", "rustls", "tree-sitter"]),
    ("notes-mcp", &["agent-tool-core", "rmcp", "tokio"]),
    (
        "agent-builtins",
        &[
            "agent-files",
            "agent-shell",
            "agent-astgrep",
            "agent-lsp",
            "agent-debug",
            "agent-eval",
            "agent-ask",
            "agent-mcp",
            "agent-vibe",
            "agent-edits",
            "tree-sitter",
            "ignore",
        ],
    ),
];

/// What a question to a person and a worker have nothing to do with.
const PEOPLE_ABSENT: &[&str] = &["agent-process", "tree-sitter", "lsp-types", "async-lsp", "hyper"];

/// Of tokio, these crates take the features that need no process and no socket.
const TOKIO_SMALL: &[&str] = &["agent-tiers", "agent-ask", "agent-vibe", "agent-loop"];
const TOKIO_FEATURES: &[&str] = &["sync", "time", "rt"];

/// Programs and chores: where a process may be started, printing is right and anyhow fits.
const PROGRAMS: &[&str] = &["agent-run", "agent-testkit", "xtask", "notes-mcp"];
const STARTS_PROCESSES: &[&str] = &["agent-process"];

pub fn metadata() -> Result<Value> {
    let text = sh::output(&mut sh::cargo(["metadata", "--no-deps", "--format-version", "1"]))?;
    Ok(serde_json::from_str(&text)?)
}

pub fn deps() -> Result<()> {
    let metadata = metadata()?;
    let packages: Vec<&Value> = metadata["packages"].as_array().into_iter().flatten().collect();
    let mut faults = Vec::new();
    for package in &packages {
        check_package(package, &mut faults);
    }
    check_absences(&mut faults)?;
    check_sources(&mut faults)?;
    if !faults.is_empty() {
        bail!("deps:\n  {}", faults.join("\n  "));
    }
    eprintln!("deps: {} crates keep to the arrows", packages.len());
    Ok(())
}

fn check_package(package: &Value, faults: &mut Vec<String>) {
    let name = text(&package["name"]);
    let Some((_, arrows)) = ARROWS.iter().find(|(crate_name, _)| *crate_name == name) else {
        faults.push(format!("{name} is missing from the table in xtask/src/deps.rs"));
        return;
    };
    let ours: BTreeSet<&str> = ARROWS.iter().map(|(crate_name, _)| *crate_name).collect();
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let target = text(&dependency["name"]);
        let dev = dependency["kind"] == "dev";
        if ours.contains(target) {
            check_internal(name, dependency, arrows, faults);
        } else if !dev {
            check_external(name, dependency, faults);
        }
    }
    if package["publish"] == Value::Array(Vec::new()) {
        return;
    }
    for field in ["description", "license", "repository", "readme"] {
        if package[field].is_null() {
            faults.push(format!("{name} has no {field}"));
        }
    }
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        if !sh::root().join("crates").join(name).join(file).exists() {
            faults.push(format!("{name} has no {file}"));
        }
    }
}

fn check_internal(name: &str, dependency: &Value, arrows: &[&str], faults: &mut Vec<String>) {
    let target = text(&dependency["name"]);
    let versioned = dependency["req"] != "*";
    if dependency["kind"] == "dev" {
        if versioned {
            faults.push(format!("{name}: the dev-dependency {target} names a version"));
        }
        return;
    }
    if !arrows.contains(&target) {
        faults.push(format!("{name} depends on {target}, which is no arrow of the design"));
    }
    if !versioned || dependency["path"].is_null() {
        faults.push(format!("{name}: the dependency {target} needs path and version"));
    }
}

fn check_external(name: &str, dependency: &Value, faults: &mut Vec<String>) {
    let target = text(&dependency["name"]);
    if let Some((_, allowed)) = OUTSIDE.iter().find(|(crate_name, _)| *crate_name == name)
        && !allowed.contains(&target)
    {
        faults.push(format!("{name} depends on {target}; it may take {}", allowed.join(", ")));
    }
    if target == "anyhow" && !PROGRAMS.contains(&name) {
        faults.push(format!("{name} is a library and has an error type of its own, not anyhow"));
    }
    if target == "tokio" && TOKIO_SMALL.contains(&name) {
        for feature in dependency["features"].as_array().into_iter().flatten() {
            if !TOKIO_FEATURES.contains(&text(feature)) {
                faults.push(format!("{name} takes tokio's feature {feature}"));
            }
        }
    }
}

fn check_absences(faults: &mut Vec<String>) -> Result<()> {
    for (name, absent) in ABSENT {
        let tree =
            ["tree", "-e", "normal", "--prefix", "none", "--no-default-features", "-p", name];
        let tree = sh::output(&mut sh::cargo(tree))?;
        for line in tree.lines() {
            let crate_name = line.split_whitespace().next().unwrap_or_default();
            if absent.contains(&crate_name) {
                faults.push(format!("{name} without features pulls {crate_name}"));
            }
        }
    }
    Ok(())
}

fn check_sources(faults: &mut Vec<String>) -> Result<()> {
    for path in sh::files(&sh::root().join("crates"))? {
        let shown = path.strip_prefix(sh::root()).unwrap_or(&path).to_string_lossy().into_owned();
        let name = shown.split('/').nth(1).unwrap_or_default().to_owned();
        let source = shown.contains("/src/") && shown.ends_with(".rs");
        if !source || PROGRAMS.contains(&name.as_str()) {
            continue;
        }
        let code = fs::read_to_string(&path)?;
        let starts = ["std::process::Command", "tokio::process", "process::Command"];
        if !STARTS_PROCESSES.contains(&name.as_str()) && starts.iter().any(|way| code.contains(way))
        {
            faults.push(format!("{shown} starts a process; only agent-process and programs do"));
        }
        let platform = code.contains("cfg(unix)")
            || code.contains("cfg(target_os")
            || code.contains("cfg(windows)");
        if platform && !shown.ends_with("platform.rs") && !shown.contains("/platform/") {
            faults.push(format!("{shown} differs by platform outside the module `platform`"));
        }
    }
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
