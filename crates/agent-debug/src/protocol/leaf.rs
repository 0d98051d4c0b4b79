use debug_types::types::ExceptionBreakpointsFilter;
use serde_json::Value;

use super::incoming::{integer, text};

/// What an adapter can do, as far as this crate asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// It wants to be told when the configuration is done.
    pub configuration_done: bool,
    /// It breaks where an expression holds.
    pub conditions: bool,
    /// It breaks at the nth hit.
    pub hit_conditions: bool,
    /// It logs instead of breaking.
    pub log_points: bool,
    /// It breaks at functions.
    pub function_breakpoints: bool,
    /// It tells more of an exception.
    pub exception_info: bool,
    /// Its exception filters, each with whether it is on by default.
    pub filters: Vec<(String, bool)>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thread {
    /// The adapter's id.
    pub id: i64,
    /// The name; some adapters mark the selected one with `*`.
    pub name: String,
}

/// Where a frame or a breakpoint stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// The path, where there is one.
    pub path: Option<String>,
    /// The name that is shown without a path.
    pub name: Option<String>,
}

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// The adapter's id, which it may use again at the next stop.
    pub id: i64,
    /// The function.
    pub name: String,
    /// Where it stands.
    pub source: Source,
    /// The line, from 1; none where the adapter knows none.
    pub line: Option<u32>,
}

/// A scope of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scope {
    /// `Locals`, ….
    pub name: String,
    /// What the adapter calls it: `locals`, `registers`, ….
    pub hint: Option<String>,
    /// The adapter's reference to its variables.
    pub reference: i64,
    /// Whether it is expensive to read.
    pub expensive: bool,
}

/// A variable, a field or an element.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The value as the adapter shows it.
    pub value: String,
    /// Its type.
    pub kind: Option<String>,
    /// The adapter's reference to its children; 0 where it has none.
    pub reference: i64,
    /// How many children it has, where the adapter counts them.
    pub children: Option<i64>,
}

/// What became of a breakpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breakpoint {
    /// The adapter's id.
    pub id: Option<i64>,
    /// Whether it is set.
    pub verified: bool,
    /// Why it is not, or what is to be known of it.
    pub message: Option<String>,
    /// The line where it is set.
    pub line: Option<u32>,
    /// `pending` where it may be set later, `failed` where it will not.
    pub reason: Option<String>,
}

/// What an adapter tells of an exception.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExceptionInfo {
    /// Its type, or the adapter's name for it.
    pub id: Option<String>,
    /// Its message.
    pub description: Option<String>,
}

impl Capabilities {
    /// Reads the body of the answer to `initialize`.
    #[must_use]
    pub fn of(body: &Value) -> Self {
        let has = |name: &str| body[name].as_bool().unwrap_or(false);
        let filters = body["exceptionBreakpointFilters"].as_array().into_iter().flatten();
        Self {
            configuration_done: has("supportsConfigurationDoneRequest"),
            conditions: has("supportsConditionalBreakpoints"),
            hit_conditions: has("supportsHitConditionalBreakpoints"),
            log_points: has("supportsLogPoints"),
            function_breakpoints: has("supportsFunctionBreakpoints"),
            exception_info: has("supportsExceptionInfoRequest"),
            filters: filters.filter_map(filter).collect(),
        }
    }
}

/// The structure of `debug_types` reads a filter well where the adapter writes it whole; a shorter one has its name.
fn filter(value: &Value) -> Option<(String, bool)> {
    match serde_json::from_value::<ExceptionBreakpointsFilter>(value.clone()) {
        Ok(filter) => Some((filter.filter, filter.default.unwrap_or(false))),
        Err(_) => Some((text(&value["filter"])?, value["default"].as_bool().unwrap_or(false))),
    }
}

impl Thread {
    /// The threads of the answer to `threads`.
    #[must_use]
    pub fn all(body: &Value) -> Vec<Self> {
        let thread = |value: &Value| {
            Some(Self {
                id: integer(&value["id"])?,
                name: text(&value["name"]).unwrap_or_default(),
            })
        };
        array(&body["threads"]).filter_map(thread).collect()
    }
}

impl Source {
    fn of(value: &Value) -> Self {
        let filled = |name: &str| text(&value[name]).filter(|text| !text.is_empty());
        Self { path: filled("path"), name: filled("name") }
    }
}

impl Frame {
    /// The frames of the answer to `stackTrace`.
    #[must_use]
    pub fn all(body: &Value) -> Vec<Self> {
        let frame = |value: &Value| {
            Some(Self {
                id: integer(&value["id"])?,
                name: text(&value["name"]).unwrap_or_default(),
                source: Source::of(&value["source"]),
                line: line(&value["line"]),
            })
        };
        array(&body["stackFrames"]).filter_map(frame).collect()
    }
}

impl Scope {
    /// The scopes of the answer to `scopes`.
    #[must_use]
    pub fn all(body: &Value) -> Vec<Self> {
        let scope = |value: &Value| {
            Some(Self {
                name: text(&value["name"]).unwrap_or_default(),
                hint: text(&value["presentationHint"]),
                reference: integer(&value["variablesReference"])?,
                expensive: value["expensive"].as_bool().unwrap_or(false),
            })
        };
        array(&body["scopes"]).filter_map(scope).collect()
    }
}

impl Variable {
    /// The variables of the answer to `variables`.
    #[must_use]
    pub fn all(body: &Value) -> Vec<Self> {
        array(&body["variables"]).map(|value| Self::of(value, "value")).collect()
    }

    /// The answer to `evaluate`, under no name.
    #[must_use]
    pub fn evaluated(body: &Value) -> Self {
        Self::of(body, "result")
    }

    fn of(value: &Value, field: &str) -> Self {
        let named = integer(&value["namedVariables"]);
        let indexed = integer(&value["indexedVariables"]);
        let counted = named.is_some() || indexed.is_some();
        Self {
            name: text(&value["name"]).unwrap_or_default(),
            value: text(&value[field]).unwrap_or_default(),
            kind: text(&value["type"]).filter(|kind| !kind.is_empty()),
            reference: integer(&value["variablesReference"]).unwrap_or(0),
            children: counted.then(|| named.unwrap_or(0).saturating_add(indexed.unwrap_or(0))),
        }
    }
}

impl Breakpoint {
    /// The breakpoints of the answer to `setBreakpoints`, in the order of the request.
    #[must_use]
    pub fn all(body: &Value) -> Vec<Self> {
        array(&body["breakpoints"]).map(Self::of).collect()
    }

    pub(super) fn of(value: &Value) -> Self {
        Self {
            id: integer(&value["id"]),
            verified: value["verified"].as_bool().unwrap_or(false),
            message: text(&value["message"]).filter(|text| !text.trim().is_empty()),
            line: line(&value["line"]),
            reason: text(&value["reason"]),
        }
    }
}

impl ExceptionInfo {
    /// Reads the answer to `exceptionInfo`.
    #[must_use]
    pub fn of(body: &Value) -> Self {
        let details = &body["details"];
        let filled = |value: &Value| text(value).filter(|text| !text.trim().is_empty());
        Self {
            id: filled(&details["typeName"]).or_else(|| filled(&body["exceptionId"])),
            description: filled(&body["description"]).or_else(|| filled(&details["message"])),
        }
    }
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Lines count from 1; 0 and less stand for none.
fn line(value: &Value) -> Option<u32> {
    integer(value).and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0)
}
