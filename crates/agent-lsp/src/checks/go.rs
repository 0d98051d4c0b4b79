//! `go vet -json`: on standard error, for each package an object, or in plain lines why it cannot be built.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde::Deserialize;
use serde_json::Deserializer;

use super::{Output, Parsed, Raw};
use crate::diagnostic::Severity;

#[expect(clippy::expect_used, reason = "a constant that is tested")]
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:vet: )?(?<file>[^:\s][^:]*):(?<line>\d+):(?:(?<column>\d+):)? ?(?<message>.*)$",
    )
    .expect("a regular expression")
});

#[derive(Deserialize)]
struct Finding {
    posn: String,
    message: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Findings {
    Found(Vec<Finding>),
    /// An analyzer that failed.
    Failed {
        error: String,
    },
}

pub(super) fn parse(output: &Output<'_>) -> Parsed {
    let mut parsed = Parsed { raw: Vec::new(), complete: true, ..Parsed::default() };
    for text in [output.stdout, output.stderr] {
        let mut rest = text;
        while !rest.is_empty() {
            if rest.starts_with('{') {
                rest = object(rest, &mut parsed);
                continue;
            }
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            plain(line.trim_end(), &mut parsed);
            rest = after;
        }
    }
    parsed
}

/// Reads one object and gives what follows it.
fn object<'a>(text: &'a str, parsed: &mut Parsed) -> &'a str {
    type Package = BTreeMap<String, BTreeMap<String, Findings>>;
    let mut stream = Deserializer::from_str(text).into_iter::<Package>();
    let Some(Ok(packages)) = stream.next() else {
        parsed.complete = false;
        return "";
    };
    let rest = &text[stream.byte_offset()..];
    for (analyzer, findings) in packages.into_values().flatten() {
        match findings {
            Findings::Found(findings) => {
                for finding in findings {
                    let line = format!("{}: {}", finding.posn, finding.message);
                    push(&line, Some(&analyzer), Severity::Warning, parsed);
                }
            }
            Findings::Failed { error } => {
                parsed.complete &= push(&error, Some(&analyzer), Severity::Error, parsed);
            }
        }
    }
    rest
}

fn plain(line: &str, parsed: &mut Parsed) {
    if line.is_empty() || line.starts_with('#') || line.starts_with("exit status") {
        return;
    }
    parsed.complete &= push(line, None, Severity::Error, parsed);
}

/// Whether the line names a place.
fn push(line: &str, analyzer: Option<&str>, severity: Severity, parsed: &mut Parsed) -> bool {
    let Some(found) = PLACE.captures(line) else { return false };
    let number = |name| found.name(name).and_then(|text| text.as_str().parse().ok()).unwrap_or(1);
    let mut raw =
        Raw::new(&found["file"], number("line"), number("column"), severity, &found["message"]);
    raw.code = analyzer.map(str::to_owned);
    parsed.raw.push(raw);
    true
}
