//! `doctor`: what can run here, why the rest cannot, and what would change it.

mod mcp;
mod models;
mod words;

use std::{path::PathBuf, process::ExitCode};

use agent_astgrep::Trees;
use agent_eval::Language;
use agent_grammars::Grammars;
use agent_tiers::Surface;
use agent_tool_core::Dispatch as _;
use anyhow::{Context, Result};
use serde::Serialize;

use super::{print, runtime};
use crate::{
    args::{Approve, Options},
    assemble::{Assembled, Wishes, assemble, default_approve},
    config::{Config, Layer},
    state::State,
    terminal::Terminal,
};

/// What `doctor` ends with where no run is possible, or none that could change a file.
const UNUSABLE: u8 = 1;

/// How a build gets more languages.
const MORE_LANGUAGES: &str = "cargo install --path crates/agent-run --features all-langs";

/// Every language that a build may have, and the feature of `agent-run` that brings it.
const LANGUAGES: &[(&str, &[&str])] = &[
    (
        "core-langs",
        &[
            "bash",
            "c",
            "cpp",
            "dart",
            "go",
            "java",
            "javascript",
            "json",
            "python",
            "rust",
            "tsx",
            "typescript",
            "yaml",
        ],
    ),
    (
        "all-langs",
        &[
            "csharp", "css", "elixir", "haskell", "hcl", "html", "kotlin", "lua", "nix", "php",
            "ruby", "scala", "solidity", "swift", "toml", "zig",
        ],
    ),
];

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// Whether a run is possible that can also change files.
    usable: bool,
    /// What is in the way, with what to do.
    problems: Vec<String>,
    version: &'static str,
    roots: Vec<Root>,
    containment: Option<String>,
    groups: Vec<Group>,
    terminal: Option<TerminalFound>,
    surface: Option<Surface>,
    approve: Option<Approve>,
    trusted: bool,
    trust_said_by: String,
    configuration: Vec<Layer>,
    ignored_configuration: Vec<String>,
    state: Option<StateFound>,
    /// What changes that were cut off left, and what became of it.
    interrupted_changes: Vec<Interrupted>,
}

#[derive(Debug, Serialize)]
struct Root {
    name: String,
    path: PathBuf,
}

/// Tools that need the same.
#[derive(Debug, Serialize)]
struct Group {
    name: &'static str,
    /// Those on this surface.
    tools: Vec<String>,
    /// What it has beyond what all builds have.
    has: Vec<String>,
    /// What it could have, and how to get it.
    missing: Vec<Missing>,
    /// How a person reads the two lists.
    #[serde(skip)]
    words: GroupWords,
}

/// The words around the lists of a group.
#[derive(Clone, Copy, Debug, Default)]
struct GroupWords {
    no_tools: &'static str,
    nothing: &'static str,
    having: &'static str,
    lacking: &'static str,
    remedy: &'static str,
    /// What stands between those that are there.
    between: &'static str,
}

/// For what is built in, or could be.
const BUILT_IN: GroupWords = GroupWords {
    no_tools: "none on this surface",
    nothing: "needs nothing that is not built in",
    having: "built in",
    lacking: "not built in",
    remedy: "take",
    between: ", ",
};

/// For programs that are found, or not.
const FOUND: GroupWords = GroupWords {
    no_tools: "none on this surface",
    nothing: "none was found for the files here",
    having: "found",
    lacking: "not here",
    remedy: "since",
    between: ", ",
};

/// For what runs commands.
const RUN: GroupWords = GroupWords {
    no_tools: "none on this surface",
    nothing: "",
    having: "commands run",
    lacking: "",
    remedy: "",
    between: ", ",
};

#[derive(Debug, Serialize)]
struct Missing {
    what: Vec<String>,
    how: String,
}

#[derive(Debug, Serialize)]
struct TerminalFound {
    present: bool,
    said: &'static str,
}

#[derive(Debug, Serialize)]
struct StateFound {
    path: PathBuf,
    writable: bool,
}

#[derive(Debug, Serialize)]
struct Interrupted {
    said: String,
    files: Vec<PathBuf>,
    journal: PathBuf,
    /// Whether nothing can be changed here before it is put right.
    blocks: bool,
}

/// Looks at what a run here would have. Ends with 0 where it is usable and 1 where it is not.
pub(crate) fn doctor(options: &Options) -> Result<ExitCode> {
    let mut report = Report { version: env!("CARGO_PKG_VERSION"), ..Report::default() };
    if let Err(error) = look(options, &mut report) {
        report.problems.push(format!("{error:#}"));
    }
    report.usable = report.problems.is_empty();
    if options.json {
        print::line(&serde_json::to_string(&report)?)?;
    } else {
        words::print(&report).context("standard output")?;
    }
    Ok(if report.usable { ExitCode::SUCCESS } else { ExitCode::from(UNUSABLE) })
}

/// Fills the report as far as it comes; an error is a problem like the others.
fn look(options: &Options, report: &mut Report) -> Result<()> {
    let present = Terminal::is_there();
    let said = if present {
        "cards are shown here"
    } else {
        "nobody is asked: what needs approval is refused, unless --approve all says otherwise"
    };
    report.terminal = Some(TerminalFound { present, said });
    let state = State::open();
    let writable = state.problem().is_none();
    report.state = state.home().map(|home| StateFound { path: home.into(), writable });
    report.problems.extend(state.problem().map(|why| format!("no file can be changed: {why}")));
    report.trust_said_by = "the configuration could not be read".to_owned();
    let config = Config::load(options)?;
    report.surface = Some(config.surface);
    report.approve = Some(config.approve.unwrap_or_else(default_approve));
    report.trusted = config.trust.is_trusted();
    report.trust_said_by = config.trust.said_by();
    report.configuration.clone_from(&config.layers);
    report.ignored_configuration.clone_from(&config.ignored);
    let mut wishes = Wishes::of_nobody();
    wishes.trees = Trees::new(0);
    // Programs are probed, which needs a runtime.
    runtime()?.block_on(async {
        let assembled = assemble(&config, wishes).await?;
        run(&assembled, report);
        report.groups.push(servers(&assembled).await);
        report.groups.push(adapters(&assembled).await);
        report.groups.push(interpreters(&assembled).await);
        report.groups.push(shell(&assembled));
        report.groups.push(mcp::servers(&assembled, &config).await);
        assembled.mcp.close().await;
        report.groups.push(models::model(&config.model));
        report.groups.push(models::workers(&config.workers));
        Ok(())
    })
}

fn run(assembled: &Assembled, report: &mut Report) {
    let Assembled { view, workspace, edits, grammars, .. } = assembled;
    let roots = workspace.roots().iter();
    report.roots =
        roots.map(|root| Root { name: root.name().into(), path: root.path().into() }).collect();
    report.containment = Some(format!("{:?}", workspace.containment()).to_lowercase());
    let tools: Vec<String> = view.specs().into_iter().map(|spec| spec.name).collect();
    let of = |names: &[&str]| -> Vec<String> {
        tools.iter().filter(|tool| names.contains(&tool.as_str())).cloned().collect()
    };
    report.groups = vec![
        Group {
            name: "files",
            tools: of(&["read", "write", "edit", "apply_patch", "search"]),
            has: Vec::new(),
            missing: Vec::new(),
            words: BUILT_IN,
        },
        Group {
            name: "structure",
            tools: of(&["ast_grep", "ast_edit", "resolve"]),
            has: grammars.iter().map(|grammar| grammar.id().to_owned()).collect(),
            missing: missing(grammars),
            words: BUILT_IN,
        },
    ];
    for recovery in edits.recovered() {
        let blocks = recovery.blocks(workspace);
        let said = recovery.to_string();
        if blocks {
            report.problems.push(said.clone());
        }
        let (files, journal) = (recovery.files.clone(), recovery.journal.clone());
        report.interrupted_changes.push(Interrupted { said, files, journal, blocks });
    }
}

/// The language servers of this checkout's files: those that answer, and what the others lack.
async fn servers(assembled: &Assembled) -> Group {
    let names = ["lsp", "lsp_rename"];
    let tools = assembled.view.specs().into_iter().map(|spec| spec.name);
    let status = assembled.lsp.status().await;
    let (has, rest): (Vec<_>, Vec<_>) =
        status.servers.into_iter().partition(|server| server.state == "not started");
    let has: Vec<String> = has
        .into_iter()
        .map(|server| {
            let root = server.root.unwrap_or_default();
            // What a server prints as its version has its name in it mostly.
            let version = server.version.unwrap_or_default();
            let name = if version.contains(&server.id) { "" } else { server.id.as_str() };
            format!("{name} {version} for {root}").trim_start().to_owned()
        })
        .collect();
    let missing = rest
        .into_iter()
        .map(|server| Missing { what: vec![server.id], how: server.why.unwrap_or(server.state) });
    Group {
        name: "servers",
        tools: tools.filter(|tool| names.contains(&tool.as_str())).collect(),
        has,
        missing: missing.collect(),
        words: FOUND,
    }
}

/// The debug adapters that fit this checkout, and what the others lack.
async fn adapters(assembled: &Assembled) -> Group {
    let tools = assembled.view.specs().into_iter().map(|spec| spec.name);
    let report = assembled.debugger.adapters().await;
    let (has, rest): (Vec<_>, Vec<_>) =
        report.adapters.into_iter().partition(|adapter| adapter.usable);
    let missing = rest
        .into_iter()
        .map(|adapter| Missing { what: vec![adapter.id], how: adapter.why.unwrap_or_default() });
    Group {
        name: "debuggers",
        tools: tools.filter(|tool| tool == "debug").collect(),
        has: has.into_iter().map(|adapter| adapter.command.unwrap_or(adapter.id)).collect(),
        missing: missing.collect(),
        words: FOUND,
    }
}

/// The interpreters that a first cell would start. In a sandbox that has files of its own nothing is looked for: that would
/// start something there.
async fn interpreters(assembled: &Assembled) -> Group {
    let tools = assembled.view.specs().into_iter().map(|spec| spec.name);
    let (mut has, mut missing) = (Vec::new(), Vec::new());
    for language in Language::ALL {
        let name = language.as_str();
        match assembled.interpreters.find(language).await {
            Ok(Some(chosen)) => {
                has.push(format!(
                    "{name} {} ({}) at {}",
                    chosen.version,
                    chosen.by,
                    chosen.program.display()
                ));
                missing.extend(
                    chosen
                        .passed_over
                        .into_iter()
                        .map(|how| Missing { what: vec![format!("another {name}")], how }),
                );
            }
            Ok(None) => has.push(format!("{name} of {}", assembled.interpreters.place())),
            Err(how) => missing.push(Missing { what: vec![name.to_owned()], how }),
        }
    }
    let tools = tools.filter(|tool| tool == "eval").collect();
    Group { name: "interpreters", tools, has, missing, words: FOUND }
}

/// Where commands run. Nothing is started to see whether a sandbox is up.
fn shell(assembled: &Assembled) -> Group {
    let tools = assembled.view.specs().into_iter().map(|spec| spec.name);
    let place = match assembled.shell.sandbox_name() {
        "none" => "on this machine, as the person who started it".to_owned(),
        sandbox => format!("in the sandbox {sandbox}"),
    };
    Group {
        name: "shell",
        tools: tools.filter(|tool| tool == "shell").collect(),
        has: vec![place],
        missing: Vec::new(),
        words: RUN,
    }
}

fn missing(grammars: &Grammars) -> Vec<Missing> {
    let absent = LANGUAGES.iter().map(|(feature, ids)| {
        let absent = ids.iter().filter(|id| !grammars.ids().any(|known| known == **id));
        (feature, absent.map(|id| (*id).to_owned()).collect::<Vec<_>>())
    });
    absent
        .filter(|(_, what)| !what.is_empty())
        .map(|(feature, what)| Missing {
            what,
            how: format!("by the cargo feature `{feature}`, {MORE_LANGUAGES}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_of_a_full_build_is_known_and_no_other() {
        let known: Vec<&str> = LANGUAGES.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        let bundled = Grammars::bundled();
        let unknown: Vec<&str> = bundled.ids().filter(|id| !known.contains(id)).collect();
        assert_eq!(unknown, [""; 0]);
        if cfg!(feature = "all-langs") {
            assert_eq!(bundled.ids().count(), known.len());
        }
        let absent: usize =
            missing(&Grammars::default()).iter().map(|group| group.what.len()).sum();
        assert_eq!(absent, known.len(), "a build without any grammar misses all");
    }
}
