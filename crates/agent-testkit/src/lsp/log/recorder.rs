//! The server's end of the log.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use super::{Entry, Kind, LOGGED_TEXT};

/// Appends to the file of the log, or to none.
#[derive(Debug)]
pub(crate) struct Recorder(Option<File>);

impl Recorder {
    pub(crate) fn new(path: Option<&Path>) -> io::Result<Self> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        path.map(open).transpose().map(Self)
    }

    /// Writes one line in one write, so that several processes may share a log.
    pub(crate) fn write(&self, kind: Kind, method: &str, id: &Value, body: &Value) {
        let Some(mut file) = self.0.as_ref() else { return };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let entry = Entry {
            at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            pid: process::id(),
            kind,
            method: method.to_owned(),
            id: id.clone(),
            body: clipped(body),
        };
        let line = format!("{}\n", json!(entry));
        // A test whose folder is gone already misses nothing.
        let _gone = file.write_all(line.as_bytes());
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
