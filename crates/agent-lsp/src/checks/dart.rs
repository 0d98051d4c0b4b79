//! `dart analyze --format=machine`: `SEVERITY|TYPE|CODE|FILE|LINE|COLUMN|LENGTH|MESSAGE`, with `\` before `|`, `\` and `n`.

use super::{Output, Parsed, Raw};
use crate::diagnostic::Severity;

const FIELDS: usize = 8;

pub(super) fn parse(output: &Output<'_>) -> Parsed {
    let lines = output.stdout.lines().chain(output.stderr.lines());
    let mut parsed = Parsed { raw: Vec::new(), complete: true, ..Parsed::default() };
    for line in lines {
        let fields = fields(line);
        if let [severity, _, code, file, row, column, _, message] = fields.as_slice() {
            let severity = match severity.as_str() {
                "ERROR" => Severity::Error,
                "WARNING" => Severity::Warning,
                _ => Severity::Information,
            };
            let number = |text: &String| text.parse().unwrap_or(1);
            let mut raw = Raw::new(file, number(row), number(column), severity, message);
            raw.code = Some(code.to_lowercase());
            parsed.raw.push(raw);
        }
    }
    parsed
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        match character {
            '|' if fields.len() < FIELDS => fields.push(String::new()),
            '\\' => match characters.next() {
                Some('n') => fields[last].push('\n'),
                Some(escaped) => fields[last].push(escaped),
                None => fields[last].push('\\'),
            },
            other => fields[last].push(other),
        }
    }
    fields
}
