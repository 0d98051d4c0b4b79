//! Matching from the literals must find what a visit of every node finds, on code that people wrote.
//!
//! The corpus is what is at hand: this workspace, and the sources that cargo has unpacked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_astgrep::Pattern;
use agent_grammars::{Grammar, Grammars};
use libtest_mimic::{Failed, Trial};

use crate::ladder::rows;

/// How many files of a language are compared.
const MAX_FILES: usize = 60;
/// Files larger than this add time and no new shapes.
const MAX_BYTES: u64 = 48 * 1024;
const NO_LIMIT: usize = usize::MAX;

pub(crate) fn trials() -> Vec<Trial> {
    let grammars = Grammars::bundled();
    let files = corpus(&grammars);
    files
        .into_iter()
        .map(|(language, files)| {
            let grammar = grammars.by_id(&language).cloned().unwrap();
            Trial::test(format!("differential::{language}"), move || compare(&grammar, &files))
        })
        .collect()
}

fn compare(grammar: &Arc<Grammar>, files: &[PathBuf]) -> Result<(), Failed> {
    let fragments = rows().into_iter().filter(|row| row.language == grammar.id());
    let patterns: Vec<_> =
        fragments.filter_map(|row| Pattern::compile(grammar, &row.fragment).ok()).collect();
    let mut parser = grammar.parser();
    for file in files {
        let source = std::fs::read(file).unwrap();
        let tree = parser.parse(&source, None).unwrap();
        for pattern in &patterns {
            let near = pattern.find(&tree, &source, NO_LIMIT);
            let full = pattern.find_by_full_visit(&tree, &source, NO_LIMIT);
            if near != full {
                let (near, full) = (near.matches.len(), full.matches.len());
                let kinds = pattern.root_kinds();
                return Err(format!("{}: {kinds:?}: {near} of {full}", file.display()).into());
            }
            if !full.matches.is_empty() && !pattern.may_match(&source) {
                let literals: Vec<_> = pattern.literals().iter().collect();
                return Err(format!("{}: {literals:?} lacks", file.display()).into());
            }
        }
    }
    Ok(())
}

fn corpus(grammars: &Grammars) -> BTreeMap<String, Vec<PathBuf>> {
    let mut by_language: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut roots = vec![workspace.join("crates"), workspace.join("fixtures")];
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    roots.extend(cargo_home.or(home).map(|home| home.join("registry/src")));
    for root in roots {
        collect(&root, grammars, &mut by_language);
    }
    for files in by_language.values_mut() {
        // Evenly from all of them, so that no one package stands for a language.
        let step = files.len().div_ceil(MAX_FILES).max(1);
        *files = files.iter().step_by(step).cloned().collect();
    }
    by_language
}

fn collect(folder: &Path, grammars: &Grammars, found: &mut BTreeMap<String, Vec<PathBuf>>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            collect(&path, grammars, found);
        } else if metadata.is_file()
            && metadata.len() <= MAX_BYTES
            && let Some(grammar) = grammars.for_path(&path)
        {
            found.entry(grammar.id().to_owned()).or_default().push(path);
        }
    }
}
