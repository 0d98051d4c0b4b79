//! `cargo check --message-format=json`: one message a line (the Cargo Book, "External tools").

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Output, Parsed, Raw};
use crate::diagnostic::Severity;

/// What rustc says of a whole crate, which says nothing that its other messages do not.
const SUMMARY: &str = "aborting due to";

#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Line {
    CompilerMessage {
        manifest_path: String,
        target: Target,
        message: Rustc,
    },
    BuildFinished {},
    #[serde(other)]
    Other,
}

/// What a crate is made into: a library, a program, a test.
#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

#[derive(Deserialize)]
struct Rustc {
    message: String,
    level: String,
    code: Option<Code>,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: usize,
    line_end: usize,
    column_start: usize,
    is_primary: bool,
    label: Option<String>,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

pub(super) fn parse(output: &Output<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut failed = BTreeSet::new();
    // Build scripts print what they like in between.
    for line in output.stdout.lines().filter(|line| line.starts_with('{')) {
        match serde_json::from_str(line) {
            Ok(Line::CompilerMessage { manifest_path, target, message }) => {
                if message.level.starts_with("error") && target.is_depended_on() {
                    failed.insert(target.name);
                }
                parsed.raw.extend(raw(&manifest_path, message));
            }
            Ok(Line::BuildFinished {}) => parsed.complete = true,
            Ok(Line::Other) | Err(_) => {}
        }
    }
    if !failed.is_empty() {
        let failed: Vec<_> = failed.iter().map(|name| format!("`{name}`")).collect();
        parsed.left_out = Some(format!(
            "what depends on {} was not checked, since that did not compile",
            failed.join(", ")
        ));
    }
    parsed
}

impl Target {
    /// Whether other crates, or its own, can need it: programs, tests and examples are needed by none.
    fn is_depended_on(&self) -> bool {
        const ENDS: &[&str] = &["bin", "test", "example", "bench"];
        !self.kind.iter().all(|kind| ENDS.contains(&kind.as_str()))
    }
}

fn raw(manifest: &str, message: Rustc) -> Option<Raw> {
    let severity = match message.level.as_str() {
        "warning" => Severity::Warning,
        "note" | "help" | "failure-note" => Severity::Information,
        _ => Severity::Error,
    };
    let code = message.code.map(|code| code.code);
    let Some(span) = message.spans.into_iter().find(|span| span.is_primary) else {
        let summary = message.message.starts_with(SUMMARY) || message.message.ends_with("emitted");
        return (!summary).then(|| Raw::new(manifest, 1, 1, severity, &message.message));
    };
    // The label says what the message leaves out: which type was expected, and which found.
    let text = match span.label.as_deref() {
        Some(label) if !label.is_empty() => format!("{}: {label}", message.message),
        _ => message.message,
    };
    let span = outermost(span);
    let mut raw = Raw::new(&span.file_name, span.line_start, span.column_start, severity, &text);
    raw.end_line = span.line_end;
    raw.code = code;
    Some(raw)
}

/// The place in a file of the project that a macro of a library was called from.
fn outermost(mut span: Span) -> Span {
    while (span.file_name.starts_with('/') || span.file_name.starts_with('<'))
        && let Some(expansion) = span.expansion
    {
        span = expansion.span;
    }
    span
}
