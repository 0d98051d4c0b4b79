//! `tsc --pretty false`: `file(line,column): error TS1234: message`, continued by indented lines.

use std::sync::LazyLock;

use regex::Regex;

use super::{Output, Parsed, Raw};
use crate::diagnostic::Severity;

/// What is wrong with the project as a whole has no place.
const CONFIGURATION: &str = "tsconfig.json";

#[expect(clippy::expect_used, reason = "a constant that is tested")]
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?<file>.+?)\((?<line>\d+),(?<column>\d+)\): )?(?<severity>error|warning|message) (?<code>TS\d+): (?<message>.*)$")
        .expect("a regular expression")
});

pub(super) fn parse(output: &Output<'_>) -> Parsed {
    let mut parsed = Parsed { raw: Vec::new(), complete: true, ..Parsed::default() };
    for line in output.stdout.lines() {
        if let Some(found) = LINE.captures(line) {
            let number =
                |name| found.name(name).and_then(|text| text.as_str().parse().ok()).unwrap_or(1);
            let severity = match &found["severity"] {
                "error" => Severity::Error,
                "warning" => Severity::Warning,
                _ => Severity::Information,
            };
            let file = found.name("file").map_or(CONFIGURATION, |file| file.as_str());
            let mut raw =
                Raw::new(file, number("line"), number("column"), severity, &found["message"]);
            raw.code = Some(found["code"].to_owned());
            parsed.raw.push(raw);
        } else if line.starts_with(' ')
            && let Some(last) = parsed.raw.last_mut()
        {
            last.message.push('\n');
            last.message.push_str(line);
        } else if !line.trim().is_empty() {
            parsed.complete = false;
        }
    }
    parsed
}
