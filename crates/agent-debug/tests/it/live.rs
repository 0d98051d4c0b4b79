//! The real adapters on real programs.

pub(crate) mod attach;
pub(crate) mod c;
pub(crate) mod go;
pub(crate) mod python;
pub(crate) mod rust;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::Checkout;

/// The adapters that can be driven here.
pub(crate) fn missing(adapter: &str) -> Option<String> {
    let checkout = Checkout::new(
        [("requirements.txt", ""), ("Cargo.toml", ""), ("go.mod", "module x\n")],
        &crate::support::search_path(),
    );
    let all = crate::support::block_on(checkout.debugger.adapters());
    let found = all.adapters.into_iter().find(|found| found.id == adapter)?;
    (!found.usable).then(|| found.why.unwrap_or_default())
}

/// `name = value` of the locals at a crash, or of a call of variables.
fn values(variables: &Value) -> Vec<(String, String)> {
    let all = variables["variables"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.iter().map(|variable| (text(&variable["name"]), text(&variable["value"]))).collect()
}

fn value(variables: &Value, name: &str) -> String {
    let all = values(variables);
    let found = all.iter().find(|(found, _)| found == name);
    found.unwrap_or_else(|| panic!("no {name} in {all:?}")).1.clone()
}

/// The variables of the first scope of the top frame.
async fn locals(checkout: &Checkout) -> Value {
    let stack = checkout.data(json!({"op": "stack"})).await;
    let frame = &stack["frames"][0]["id"];
    let scopes = checkout.data(json!({"op": "scopes", "frame_id": frame})).await;
    let reference = &scopes["scopes"][0]["reference"];
    checkout.data(json!({"op": "variables", "reference": reference})).await
}

/// The children of a variable.
async fn children(checkout: &Checkout, variables: &Value, name: &str) -> Value {
    let all = variables["variables"].as_array().unwrap();
    let found = all.iter().find(|variable| variable["name"] == name);
    let reference = &found.unwrap_or_else(|| panic!("no {name}"))["reference"];
    assert!(reference.is_i64(), "{name} has no children: {found:?}");
    checkout.data(json!({"op": "variables", "reference": reference})).await
}

fn functions(frames: &Value) -> Vec<String> {
    let all = frames.as_array().unwrap().iter();
    all.map(|frame| frame["function"].as_str().unwrap().to_owned()).collect()
}

/// The server of the lldb whose adapter is found here.
fn lldb_server() -> PathBuf {
    let folders = crate::support::search_path().into_iter();
    let numbered = folders.flat_map(|folder| {
        let names = (15..40).rev().map(|number| format!("lldb-server-{number}"));
        let names = std::iter::once("lldb-server".to_owned()).chain(names);
        names.map(|name| folder.join(name)).collect::<Vec<_>>()
    });
    numbered.into_iter().find(|path| path.is_file()).expect("an lldb-server")
}
