//! The example project: what its README says is planted is what is found.

use std::{collections::BTreeMap, fs, path::PathBuf, sync::Arc};

use agent_astgrep::{GrepArgs, Structure};
use agent_edits::Edits;
use agent_grammars::Grammars;
use agent_tool_core::{Context, Stop, Tool};
use agent_workspace::Workspace;
use serde_json::json;

struct Example {
    structure: Structure,
    _state: tempfile::TempDir,
}

impl Example {
    fn open() -> Self {
        let workspace = Workspace::open(folder()).expect("a workspace");
        let state = tempfile::tempdir().expect("a folder");
        let edits = Edits::open(&workspace, state.path().join("journals")).expect("a journal");
        let structure = Structure::new(workspace, edits, Arc::new(Grammars::bundled()));
        Self { structure, _state: state }
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/projects/example")
}

/// The rows below the header that begins so, cell by cell, without the backquotes of code.
fn table(header: &str) -> Vec<Vec<String>> {
    let readme = fs::read_to_string(folder().join("README.md")).expect("the README");
    let rows = readme.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cell = |cell: &str| cell.trim().trim_matches('`').replace("\\|", "|");
    rows.map(|row| row.trim_matches('|').split(" | ").map(cell).collect()).collect()
}

// spec: AST-03, AST-05
#[test]
#[cfg_attr(not(feature = "all-langs"), ignore = "Dart and others are not built in")]
fn the_readme_of_the_example_counts_what_is_found() {
    let Example { structure, _state } = Example::open();
    let rows = table("| Pattern | Language | Path |");
    assert!(rows.len() >= 11, "{rows:?}");
    for row in rows {
        let [pattern, language, path, matches, files] = row.as_slice() else { panic!("{row:?}") };
        let args = GrepArgs {
            pattern: pattern.clone(),
            path: Some(path.clone()),
            language: Some(language.clone()),
            max_results: None,
        };
        let outcome = structure.grep(&args, &Stop::new()).expect("an outcome");
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for matched in &outcome.matches {
            *found.entry(&matched.file).or_default() += 1;
        }
        let found: Vec<_> = found.iter().map(|(file, count)| format!("`{file}` {count}")).collect();
        assert_eq!(format!("`{}", files.as_str()), found.join(", "), "{pattern}");
        assert_eq!(*matches, outcome.shown.to_string(), "{pattern}");
    }
}

// spec: AST-08
#[test]
#[cfg_attr(not(feature = "all-langs"), ignore = "Dart and others are not built in")]
fn the_readme_of_the_example_counts_what_is_rewritten() {
    let Example { structure, _state } = Example::open();
    let tools: Vec<Arc<dyn Tool>> = structure.tools();
    let edit = tools.iter().find(|tool| tool.spec().name == "ast_edit").expect("the tool");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let rows = table("| Pattern | Rewrite |");
    assert!(rows.len() >= 4, "{rows:?}");
    for row in rows {
        let [pattern, rewrite, language, replacements, files] = row.as_slice() else {
            panic!("{row:?}")
        };
        let args = json!({"pattern": pattern, "rewrite": rewrite, "language": language});
        let output = runtime.block_on(edit.call(args, &Context::detached())).expect("an output");
        let counted = format!("(proposed) {replacements} replacements in {files} files");
        assert!(output.joined_text().starts_with(&counted), "{pattern}: {}", output.joined_text());
    }
}
