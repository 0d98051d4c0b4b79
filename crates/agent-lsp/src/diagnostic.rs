//! Diagnostics as data, and the reading of what servers send, which is often not what the protocol's types allow.

use agent_tool_core::counted;
use async_lsp::lsp_types::{Position, Range};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::position::{Document, PositionEncoding};

/// How bad it is (LSP 3.17, `DiagnosticSeverity`). The worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// An error, and what says no severity.
    Error,
    /// A warning.
    Warning,
    /// Information.
    Information,
    /// A hint, and every number beyond the protocol's.
    Hint,
}

/// One diagnostic in one file. Lines and columns are from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The file as shown.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// How bad it is.
    pub severity: Severity,
    /// The code as text; numbers are written out.
    pub code: Option<String>,
    /// What is wrong.
    pub message: String,
    /// Which tool says so, as the server names it.
    pub source: Option<String>,
    /// The last line that it covers. Not part of the data: a reader needs a place, not a range.
    #[serde(skip)]
    pub end_line: usize,
}

/// What is known of a file's diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Confirmed, and there is none.
    Clean,
    /// There are some.
    Dirty,
    /// Not confirmed: neither clean nor complete.
    Unknown,
}

/// The answer of `diagnostics`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// Errors first, then by place.
    pub diagnostics: Vec<Diagnostic>,
    /// What is known.
    pub state: State,
    /// What it rests on, or what is missing.
    pub why: String,
}

impl Severity {
    /// A number of the protocol; absent is an error, an unknown one a hint.
    #[must_use]
    pub fn of_number(number: Option<u64>) -> Self {
        match number {
            None | Some(1) => Self::Error,
            Some(2) => Self::Warning,
            Some(3) => Self::Information,
            Some(_) => Self::Hint,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Information => "information",
            Self::Hint => "hint",
        }
    }

    /// Whether an agent is told of it after a write: errors and warnings are, hints are not.
    #[must_use]
    pub fn counts(self) -> bool {
        self <= Self::Warning
    }
}

impl Diagnostic {
    /// A diagnostic at one place, without code and source.
    #[must_use]
    pub fn new(
        file: impl Into<String>,
        line: usize,
        column: usize,
        severity: Severity,
        message: impl Into<String>,
    ) -> Self {
        Self {
            file: file.into(),
            line,
            column,
            severity,
            code: None,
            message: message.into(),
            source: None,
            end_line: line,
        }
    }

    /// The same with a code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// The same with a source.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Reads a diagnostic of the protocol from raw JSON. Servers send negative characters, severities beyond 4, codes
    /// that are numbers or objects and messages that are `MarkupContent`; all of these are read. `None` when there is no
    /// message.
    ///
    /// Places are those of `document`, the text that the server had.
    #[must_use]
    pub fn of_lsp(
        value: &Value,
        file: &str,
        document: &Document,
        encoding: PositionEncoding,
    ) -> Option<Self> {
        let message = value.get("message")?;
        let message = message.as_str().or_else(|| message.get("value")?.as_str())?;
        let range =
            Range::new(position(&value["range"]["start"]), position(&value["range"]["end"]));
        let place = document.place_of(range.start, encoding);
        let end = document.place_of(range.end, encoding);
        let severity = match &value["severity"] {
            Value::Null => None,
            number => Some(number.as_u64().unwrap_or(u64::MAX)),
        };
        Some(Self {
            file: file.to_owned(),
            line: place.line,
            column: place.column,
            severity: Severity::of_number(severity),
            code: code(&value["code"]),
            message: message.to_owned(),
            source: value["source"].as_str().map(str::to_owned),
            end_line: end.line.max(place.line),
        })
    }
}

impl Diagnostic {
    /// Whether another one says the same of the same line, as two servers do.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        self.file == other.file
            && self.line == other.line
            && self.severity == other.severity
            && self.code == other.code
            && self.message == other.message
            // Two servers may count columns differently; one that says the same at two places means two.
            && (self.column == other.column || self.source != other.source)
    }
}

/// Errors first, then by file and place, then as they came: the order in which diagnostics are printed and cut.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|a, b| {
        (a.severity, &a.file, a.line, a.column).cmp(&(b.severity, &b.file, b.line, b.column))
    });
}

fn position(value: &Value) -> Position {
    let number = |value: &Value| {
        let number = value.as_i64().unwrap_or(0).clamp(0, i64::from(u32::MAX));
        u32::try_from(number).unwrap_or(0)
    };
    Position::new(number(&value["line"]), number(&value["character"]))
}

fn code(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        // `{"value": 12, "target": "https://…"}`, as an older pyright writes it.
        Value::Object(object) => object.get("value").and_then(code),
        _ => None,
    }
}

/// `2 errors, 1 warning`
pub(crate) fn counts<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    let (mut errors, mut warnings) = (0, 0);
    for found in diagnostics {
        if found.severity == Severity::Error { errors += 1 } else { warnings += 1 }
    }
    let of = |count: usize, word: &str| (count > 0).then(|| counted(count, word));
    [of(errors, "error"), of(warnings, "warning")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}
