//! The cases of `fixtures/files/*.json`: files in, calls, what the model reads and what stands in
//! the files afterwards. `AGENT_TESTS_BLESS=1` writes what came as what is expected.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use agent_tool_core::{ToolError, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checkout::Checkout;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    files: BTreeMap<String, Bytes>,
    calls: Vec<Call>,
    /// The files afterwards that are not as before; null for one that is gone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    after: BTreeMap<String, Option<Bytes>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    args: Value,
    /// What the model reads, in lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Refusal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Refusal {
    kind: String,
    code: String,
    message: Vec<String>,
}

/// Bytes as a person can write them: a text, or a character for each byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Latin1 { latin1: String },
}

impl Bytes {
    fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Bytes::Text(text),
            Err(error) => {
                Bytes::Latin1 { latin1: error.as_bytes().iter().copied().map(char::from).collect() }
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Bytes::Text(text) => text.as_bytes().to_vec(),
            Bytes::Latin1 { latin1 } => {
                latin1.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
            }
        }
    }
}

#[test]
fn read() {
    check("read");
}

#[test]
fn write() {
    check("write");
}

#[test]
fn edit() {
    check("edit");
}

#[test]
fn apply_patch_unified() {
    check("apply_patch_unified");
}

#[test]
fn apply_patch_envelope() {
    check("apply_patch_envelope");
}

#[test]
fn search() {
    check("search");
}

#[test]
fn every_file_of_cases_has_its_test() {
    let names = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let source = include_str!("cases.rs");
    for name in names {
        let name = name.to_string_lossy().replace(".json", "");
        assert!(source.contains(&format!("check(\"{name}\")")), "no test takes {name}");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files")
}

fn check(name: &str) {
    let path = folder().join(name).with_extension("json");
    let cases: Vec<Case> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let came: Vec<_> = cases.iter().map(run).collect();
    if std::env::var_os("AGENT_TESTS_BLESS").is_some() {
        let text = serde_json::to_string_pretty(&came).unwrap();
        fs::write(&path, text + "\n").unwrap();
        return;
    }
    for (case, came) in cases.iter().zip(&came) {
        // As values: whether a build keeps the order of fields says nothing of a case.
        let value = |case: &Case| serde_json::to_value(case).unwrap();
        assert_eq!(value(case), value(came), "{}", case.name);
    }
}

fn run(case: &Case) -> Case {
    let files: Vec<_> =
        case.files.iter().map(|(path, bytes)| (path.as_str(), bytes.bytes())).collect();
    let checkout = Checkout::new(files);
    let calls = case.calls.iter().map(|call| told(&checkout, call)).collect();
    let paths = case.files.keys().chain(case.after.keys());
    let after = paths.map(|path| (path.clone(), checkout.bytes(path).map(Bytes::of)));
    let after = after.filter(|(path, bytes)| case.files.get(path) != bytes.as_ref());
    Case { name: case.name.clone(), files: case.files.clone(), calls, after: after.collect() }
}

fn told(checkout: &Checkout, call: &Call) -> Call {
    let mut told = Call {
        tool: call.tool.clone(),
        args: call.args.clone(),
        text: None,
        error: None,
        data: None,
    };
    let lines = |text: &str| text.split('\n').map(str::to_owned).collect();
    match checkout.call(&call.tool, call.args.clone()) {
        Ok(ToolOutput { data, .. }) if call.data.is_some() => told.data = Some(data),
        Ok(output) => told.text = Some(lines(&output.joined_text())),
        Err(ToolError { kind, code, message, .. }) => {
            told.error = Some(Refusal {
                kind: kind.as_str().to_owned(),
                code: code.into_owned(),
                message: lines(&message),
            });
        }
    }
    told
}
