//! The server's end of the log.

use std::{
    path::Path,
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use super::{Entry, Kind, LOGGED_TEXT};
use crate::played;

/// Appends to the file of the log, or to none.
#[derive(Debug)]
pub(crate) struct Recorder(played::Recorder);

impl Recorder {
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Self(played::Recorder::new(path))
    }

    /// Writes one line in one write, so that several processes may share a log.
    pub(crate) fn write(&self, kind: Kind, method: &str, id: &Value, body: &Value) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let entry = Entry {
            at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            pid: process::id(),
            kind,
            method: method.to_owned(),
            id: id.clone(),
            body: clipped(body),
        };
        self.0.write(json!(entry));
    }

    pub(crate) fn note(&self, kind: Kind, body: &Value) {
        self.write(kind, "", &Value::Null, body);
    }
}

fn clipped(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > LOGGED_TEXT => {
            let end = (0..=LOGGED_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            format!("{}… ({} bytes)", &text[..end], text.len()).into()
        }
        Value::Array(items) => items.iter().map(clipped).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), clipped(field))).collect()
        }
        other => other.clone(),
    }
}
