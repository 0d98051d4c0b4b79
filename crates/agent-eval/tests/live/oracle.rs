//! What a cell is expected to come to is what IPython shows: asked again, so that it cannot drift.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::session::python;

#[path = "../cells/judge.rs"]
mod judge;

#[derive(Deserialize, Serialize)]
struct Case {
    id: String,
    cells: Vec<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    expect: Value,
    oracle: String,
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

// spec: EVAL-03, EVAL-05
pub(crate) async fn cells_are_what_ipython_shows() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/eval/cells.json");
    let file: File = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let cases: Vec<_> = file.cases.into_iter().filter(|case| case.oracle == "ipython").collect();
    assert!(cases.len() >= 80, "{}", cases.len());
    let mut asked = Command::new(python())
        .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/live/oracle.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    asked.stdin.take().unwrap().write_all(&serde_json::to_vec(&cases).unwrap()).unwrap();
    let output = asked.wait_with_output().unwrap();
    let shown: BTreeMap<String, Value> = serde_json::from_slice(&output.stdout).unwrap();
    let faults: Vec<String> = cases
        .iter()
        .filter_map(|case| match judge::judge(&case.expect, None, &shown[&case.id]) {
            faults if faults.is_empty() => None,
            faults => Some(format!("{}: {}", case.id, faults.join("; "))),
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
