//! `fixtures/astgrep/ladder.json`: which context accepts a fragment, and as what.
//!
//! With `AGENT_TESTS_BLESS=1` (`cargo xtask fixtures --bless`) the table is written anew; look at what changed before keeping it.

use std::path::PathBuf;

use agent_astgrep::Pattern;
use agent_grammars::Grammars;
use libtest_mimic::{Failed, Trial};
use serde::{Deserialize, Serialize};

use crate::cases::{fixture, for_language};

/// The context of a fragment that none accepts.
const UNPARSABLE: &str = "unparsable";

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) language: String,
    pub(crate) fragment: String,
    context: String,
    roots: Vec<String>,
}

// spec: AST-05, AST-06
pub(crate) fn trials() -> Vec<Trial> {
    let rows = rows();
    if std::env::var_os("AGENT_TESTS_BLESS").is_some() {
        update(&rows);
        return Vec::new();
    }
    let trial = |row: Row| {
        let name = format!("ladder::{}::{}", row.language, row.fragment.replace('\n', "\\n"));
        let language = row.language.clone();
        for_language(&language, name, move || check(&row))
    };
    rows.into_iter().map(trial).collect()
}

/// The table.
pub(crate) fn rows() -> Vec<Row> {
    serde_json::from_str(&fixture("ladder.json")).unwrap()
}

fn check(row: &Row) -> Result<(), Failed> {
    let found = outcome(row);
    if found == *row { Ok(()) } else { Err(format!("expected {row:?}\nfound {found:?}").into()) }
}

fn outcome(row: &Row) -> Row {
    let grammar = Grammars::bundled().by_id(&row.language).cloned().unwrap();
    let (context, roots) = match Pattern::compile(&grammar, &row.fragment) {
        Ok(pattern) => (pattern.context().to_string(), pattern.root_kinds().to_vec()),
        Err(error) if error.contexts().is_empty() => (error.code().to_owned(), Vec::new()),
        Err(_) => (UNPARSABLE.to_owned(), Vec::new()),
    };
    Row { context, roots, ..row.clone() }
}

fn update(rows: &[Row]) {
    let found: Vec<_> = rows.iter().map(outcome).collect();
    let lines: Vec<_> = found.iter().map(|row| serde_json::to_string(row).unwrap()).collect();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/astgrep/ladder.json");
    std::fs::write(path, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
}
