//! `pyright --outputjson` and `basedpyright --outputjson`.

use serde::Deserialize;

use super::{Output, Parsed, Raw};
use crate::diagnostic::Severity;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    general_diagnostics: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    file: String,
    severity: String,
    message: String,
    range: Option<Range>,
    rule: Option<String>,
}

#[derive(Deserialize)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Deserialize)]
struct Position {
    line: usize,
    character: usize,
}

pub(super) fn parse(output: &Output<'_>) -> Parsed {
    // What it prints before the report is for people.
    let json = output.stdout.find('{').map_or("", |start| &output.stdout[start..]);
    let Ok(report) = serde_json::from_str::<Report>(json) else {
        return Parsed::default();
    };
    let raw = |entry: Entry| {
        let (line, column, end) = entry
            .range
            .map_or((0, 0, 0), |range| (range.start.line, range.start.character, range.end.line));
        let severity = match entry.severity.as_str() {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => Severity::Information,
        };
        let mut raw = Raw::new(&entry.file, line + 1, column + 1, severity, &entry.message);
        raw.end_line = end + 1;
        raw.code = entry.rule;
        raw
    };
    Parsed {
        raw: report.general_diagnostics.into_iter().map(raw).collect(),
        complete: true,
        ..Parsed::default()
    }
}
