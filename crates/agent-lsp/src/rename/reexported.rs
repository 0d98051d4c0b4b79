//! A rename that goes on where a module exports the symbol again.
//!
//! TypeScript's servers keep the old name at `export { use } from "./a"`, as `surface as use`, so that nobody outside has to
//! change, and leave every import from there as it is. Asked for a rename at that place they say the rest, as `use as surface`:
//! both together are the whole.

use agent_edits::tool_error::of_workspace;
use agent_tool_core::ToolError;
use serde_json::{Value, json};

use super::plan::text_edits;
use crate::{
    Lsp,
    query::{Asked, position},
    server::requests,
    uri::{self, Target},
};

/// How many places are followed.
const MAX_PLACES: usize = 50;

/// A rename that may have been made whole.
pub(super) struct Whole {
    pub edit: Value,
    /// The places at which the symbol is exported again, as shown.
    pub places: Vec<String>,
}

impl Lsp {
    /// Goes on from every place at which the old name would be kept for those who import it from there. Where a server says
    /// something else there than the rest of the rename, its edit stays as it was.
    pub(super) async fn through_exports(
        &self,
        asked: &Asked,
        edit: Value,
        names: (&str, &str),
    ) -> Result<Whole, ToolError> {
        let kept = format!("{} as {}", names.1, names.0);
        let rest = format!("{} as {}", names.0, names.1);
        let mut changes = text_edits(edit.clone());
        let mut places = Vec::new();
        let unchanged = Whole { edit, places: Vec::new() };
        let is_text = |change: &Value| change["edits"].is_array();
        while let Some((uri, range)) = first_with(&changes, &kept) {
            if places.len() == MAX_PLACES || !changes.iter().all(is_text) {
                return Ok(unchanged);
            }
            let client = &asked.running.client;
            let located = uri::locate(&self.shared.workspace, uri.as_str().unwrap_or_default());
            let Target::Inside(file) = located else { return Ok(unchanged) };
            // Some answer nothing about a file that is not open.
            client.send_file(&file).map_err(of_workspace)?;
            let params = json!({
                "textDocument": { "uri": uri }, "position": range["start"], "newName": names.1,
            });
            let answer = client.ask::<requests::Rename>(params, asked.deadline).await;
            let more = text_edits(answer.map_err(|error| asked.failed(&error))?);
            let goes_on = edits_of(&more).any(|(of, edit)| {
                *of == uri && edit["range"] == range && edit["newText"] == rest.as_str()
            });
            if !goes_on || !more.iter().all(is_text) || !join(&mut changes, more, &uri, &range) {
                return Ok(unchanged);
            }
            set(&mut changes, &uri, &range, names.1);
            let line = position(&range["start"]).line + 1;
            places.push(format!("{}:{line}", self.show(&file)));
        }
        if places.is_empty() {
            return Ok(unchanged);
        }
        Ok(Whole { edit: json!({ "documentChanges": changes }), places })
    }
}

/// The edits, each with the document that it is of.
fn edits_of(changes: &[Value]) -> impl Iterator<Item = (&Value, &Value)> {
    changes.iter().flat_map(|change| {
        let uri = &change["textDocument"]["uri"];
        change["edits"].as_array().into_iter().flatten().map(move |edit| (uri, edit))
    })
}

fn first_with(changes: &[Value], text: &str) -> Option<(Value, Value)> {
    let mut all = edits_of(changes);
    let (uri, edit) = all.find(|(_, edit)| edit["newText"] == text)?;
    Some((uri.clone(), edit["range"].clone()))
}

/// Adds edits but for the one at a place, each once; whether none of them contradicts another.
fn join(changes: &mut Vec<Value>, more: Vec<Value>, uri: &Value, range: &Value) -> bool {
    for change in more {
        let of = &change["textDocument"]["uri"];
        let mut new = Vec::new();
        for edit in change["edits"].as_array().into_iter().flatten() {
            if of == uri && edit["range"] == *range {
                continue;
            }
            let mut there = edits_of(changes);
            match there.find(|(other, known)| *other == of && known["range"] == edit["range"]) {
                Some((_, known)) if known["newText"] == edit["newText"] => {}
                Some(_) => return false,
                None => new.push(edit.clone()),
            }
        }
        let known = changes.iter_mut().find(|known| known["textDocument"]["uri"] == *of);
        match known.and_then(|known| known["edits"].as_array_mut()) {
            Some(edits) => edits.extend(new),
            None if new.is_empty() => {}
            None => changes.push(json!({ "textDocument": change["textDocument"], "edits": new })),
        }
    }
    true
}

fn set(changes: &mut [Value], uri: &Value, range: &Value, text: &str) {
    for change in changes.iter_mut().filter(|change| change["textDocument"]["uri"] == *uri) {
        for edit in change["edits"].as_array_mut().into_iter().flatten() {
            if edit["range"] == *range {
                edit["newText"] = json!(text);
            }
        }
    }
}
