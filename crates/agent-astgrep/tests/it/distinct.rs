//! `fixtures/astgrep/distinct.json`: fragments that mean different things. A pattern finds itself and
//! none of the others, but for those that are listed as the same, or as not found.
//!
//! With `AGENT_TESTS_BLESS=1` (`cargo xtask fixtures --bless`) both lists are written anew; look at
//! what changed before keeping it.

use std::{collections::BTreeMap, path::PathBuf};

use agent_astgrep::Pattern;
use agent_grammars::Grammars;
use libtest_mimic::{Failed, Trial};
use serde::{Deserialize, Serialize};

use crate::cases::{fixture, for_language};

const HOLE: &str = "{}";

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Table {
    /// A file with a hole for a fragment.
    file: String,
    /// A pattern with one.
    pattern: String,
    fragments: Vec<String>,
    /// What each of these finds besides itself: it means the same by our rules, or is a known fault.
    #[serde(default)]
    same: BTreeMap<String, Vec<String>>,
    /// Fragments that no context of the language takes, or whose pattern does not find its own file.
    #[serde(default)]
    not_found: Vec<String>,
}

// spec: AST-02, AST-04
pub(crate) fn trials() -> Vec<Trial> {
    let tables: BTreeMap<String, Table> = serde_json::from_str(&fixture("distinct.json")).unwrap();
    if std::env::var_os("AGENT_TESTS_BLESS").is_some() {
        bless(tables);
        return Vec::new();
    }
    let trial = |(language, table): (String, Table)| {
        let name = format!("distinct::{language}");
        for_language(&language.clone(), name, move || check(&language, &table))
    };
    tables.into_iter().map(trial).collect()
}

fn check(language: &str, table: &Table) -> Result<(), Failed> {
    let found = observed(language, table);
    let same = |table: &Table| table.same.clone();
    if (same(&found), &found.not_found) == (same(table), &table.not_found) {
        return Ok(());
    }
    let new: Vec<_> =
        found.same.iter().filter(|(key, to)| table.same.get(*key) != Some(to)).collect();
    let gone: Vec<_> =
        table.same.iter().filter(|(key, to)| found.same.get(*key) != Some(to)).collect();
    let (one, other) = (&found.not_found, &table.not_found);
    Err(format!(
        "found the same: {new:?}\nexpected: {gone:?}\nnot found: {one:?}\nexpected: {other:?}"
    )
    .into())
}

fn observed(language: &str, table: &Table) -> Table {
    let grammar = Grammars::bundled().by_id(language).cloned().unwrap();
    let mut parser = grammar.parser();
    let files: Vec<_> = table
        .fragments
        .iter()
        .map(|fragment| {
            let source = table.file.replace(HOLE, fragment);
            let tree = parser.parse(&source, None).unwrap();
            (fragment, source, tree)
        })
        .collect();
    let mut found = Table { same: BTreeMap::new(), not_found: Vec::new(), ..table.clone() };
    for fragment in &table.fragments {
        let Ok(pattern) = Pattern::compile(&grammar, &table.pattern.replace(HOLE, fragment)) else {
            found.not_found.push(fragment.clone());
            continue;
        };
        let hits = files.iter().filter(|(_, source, tree)| {
            pattern.may_match(source.as_bytes())
                && !pattern.find(tree, source.as_bytes(), 1).matches.is_empty()
        });
        let mut hits: Vec<_> = hits.map(|(hit, ..)| (*hit).clone()).collect();
        if !hits.contains(fragment) {
            found.not_found.push(fragment.clone());
        }
        hits.retain(|hit| hit != fragment);
        if !hits.is_empty() {
            found.same.insert(fragment.clone(), hits);
        }
    }
    found
}

fn bless(tables: BTreeMap<String, Table>) {
    let found: BTreeMap<_, _> = tables
        .into_iter()
        .map(|(language, table)| {
            let found = observed(&language, &table);
            (language, found)
        })
        .collect();
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/astgrep/distinct.json");
    std::fs::write(path, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
}
