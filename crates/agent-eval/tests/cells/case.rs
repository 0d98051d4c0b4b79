//! `fixtures/eval/cells.json`, and a file in its format of whoever has cells of their own.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// Names one file that is judged in the place of all others.
const ONLY: &str = "AGENT_TESTS_CELLS";

/// Names a folder with further cases, those in its file `eval/cells.json`.
const MORE: &str = "AGENT_TESTS_CASES";

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Case {
    pub id: String,
    pub language: String,
    pub cells: Vec<String>,
    pub expect: Value,
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    idle: Option<Value>,
    #[serde(default)]
    pub max_ms: Option<u64>,
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

impl Case {
    /// The budget of silence, which stands there as a number or as text.
    pub(crate) fn idle_ms(&self) -> Option<u64> {
        let idle = self.idle.as_ref()?;
        idle.as_u64().or_else(|| idle.as_str()?.parse().ok())
    }
}

pub(crate) fn all() -> Vec<(&'static str, Case)> {
    let ours = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/eval/cells.json");
    let more = env::var_os(MORE).map(|folder| PathBuf::from(folder).join("eval/cells.json"));
    let files = match env::var_os(ONLY) {
        Some(only) => [("cell", Some(PathBuf::from(only))), ("more", None)],
        None => [("cell", Some(ours)), ("more", more.filter(|path| path.exists()))],
    };
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        serde_json::from_str::<File>(&text).unwrap().cases
    };
    let files = files.into_iter().filter_map(|(kind, path)| Some((kind, path?)));
    files.flat_map(|(kind, path)| read(path).into_iter().map(move |case| (kind, case))).collect()
}
