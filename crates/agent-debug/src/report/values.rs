use std::fmt::Write as _;

use agent_tool_core::clip;
use serde::Serialize;

use super::ThreadShown;
use crate::{protocol::Variable, source::FrameShown};

/// The most children that `variables` lists.
pub const MAX_CHILDREN: usize = 50;

/// The most characters of one value.
pub const MAX_VALUE_CHARS: usize = 400;

/// The most characters of what an expression comes to.
pub const MAX_EVALUATED_CHARS: usize = 4_000;

/// The most bytes of a result's text.
pub const MAX_RESULT_BYTES: usize = 32 << 10;

/// Below this no value is shortened further.
const MIN_VALUE_CHARS: usize = 40;

const MAX_NAME_CHARS: usize = 120;

/// What debugpy adds to an object that is not the object's own.
const GROUPS: [&str; 3] = ["special variables", "function variables", "class variables"];

/// A stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StackReport {
    /// The frames, from the top.
    pub frames: Vec<FrameShown>,
    /// How many there are, as far as the adapter says.
    pub total: usize,
    /// How many are not listed.
    pub more: usize,
}

/// The threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ThreadsReport {
    /// Each with its name.
    pub threads: Vec<ThreadShown>,
    /// The one that stopped last.
    pub stopped: Option<i64>,
}

/// A scope of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ScopeShown {
    /// `Locals`, `Globals`, ….
    pub name: String,
    /// The reference for `variables`.
    pub reference: Option<i64>,
    /// Whether reading it is expensive.
    pub expensive: bool,
}

/// The scopes of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ScopesReport {
    /// The scopes.
    pub scopes: Vec<ScopeShown>,
}

/// A variable, a field or an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VariableShown {
    /// The name.
    pub name: String,
    /// The value as the debugger shows it.
    pub value: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The reference for `variables`, where it has children.
    pub reference: Option<i64>,
}

/// Variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VariablesReport {
    /// The first of them.
    pub variables: Vec<VariableShown>,
    /// How many are not listed, at least.
    pub more: usize,
}

/// What an expression comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EvaluateReport {
    /// The value as the debugger shows it.
    pub result: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The reference for `variables`, where it has children.
    pub reference: Option<i64>,
    /// The frame in which it was evaluated, where none was named and it is not the top one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameShown>,
}

impl StackReport {
    /// A line for each frame.
    #[must_use]
    pub fn text(&self) -> String {
        if self.frames.is_empty() {
            return "the adapter names no frame of this thread".to_owned();
        }
        let mut text = String::from("frames (id, function, place):");
        for frame in &self.frames {
            let _ = write!(text, "\n  {}  {}  {}", frame.id, frame.function, frame.place());
        }
        if self.more > 0 {
            let _ = write!(text, "\n  … {} more", self.more);
        }
        text
    }
}

impl ThreadsReport {
    /// A line for each thread.
    #[must_use]
    pub fn text(&self) -> String {
        if self.threads.is_empty() {
            return "the adapter names no thread".to_owned();
        }
        let line = |thread: &ThreadShown| {
            let name = thread.name.as_deref().unwrap_or("without a name");
            let mark = if self.stopped == Some(thread.id) { ", stopped here" } else { "" };
            format!("{}  {name}{mark}", thread.id)
        };
        self.threads.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl ScopesReport {
    /// A line for each scope.
    #[must_use]
    pub fn text(&self) -> String {
        if self.scopes.is_empty() {
            return "the frame has no scopes; it may have no debug information".to_owned();
        }
        let line = |scope: &ScopeShown| {
            let reference = match scope.reference {
                Some(reference) => format!("reference {reference}"),
                None => "empty".to_owned(),
            };
            let expensive = if scope.expensive { ", expensive to read" } else { "" };
            format!("{}: {reference}{expensive}", scope.name)
        };
        self.scopes.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl VariablesReport {
    /// A line for each variable.
    #[must_use]
    pub fn text(&self) -> String {
        if self.variables.is_empty() {
            return "  no variables".to_owned();
        }
        let line = |variable: &VariableShown| {
            let VariableShown { name, value, kind, reference } = variable;
            let kind = kind.as_ref().map(|kind| format!(": {kind}")).unwrap_or_default();
            let reference = reference.map(|id| format!("  [reference {id}]")).unwrap_or_default();
            format!("  {name}{kind} = {value}{reference}")
        };
        let mut text = self.variables.iter().map(line).collect::<Vec<_>>().join("\n");
        if self.more > 0 {
            let _ = write!(text, "\n  … {} more", self.more);
        }
        text
    }
}

impl EvaluateReport {
    /// `7: int`, and how to see its children.
    #[must_use]
    pub fn text(&self) -> String {
        if self.result.is_empty() && self.reference.is_none() {
            return "it was executed, and has no value".to_owned();
        }
        let kind = self.kind.as_ref().map(|kind| format!("  ({kind})")).unwrap_or_default();
        let reference = self.reference.map(|id| format!("  [reference {id}]")).unwrap_or_default();
        let frame = self.frame.as_ref().map(|frame| {
            format!("\nin frame {}, {} at {}", frame.id, frame.function, frame.place())
        });
        format!("{}{kind}{reference}{}", self.result, frame.unwrap_or_default())
    }
}

/// A variable with its value cut to so many characters. One of `longest` characters the adapter has cut before.
pub(crate) fn shown_variable(
    variable: &Variable,
    reference: Option<i64>,
    chars: usize,
    longest: usize,
) -> VariableShown {
    let is_cut = variable.value.chars().nth(longest.saturating_sub(1)).is_some();
    let value = if is_cut {
        let shown: String = variable.value.chars().take(chars).collect();
        format!("{shown}… more characters, cut by the debugger")
    } else {
        clip(&variable.value, chars).text
    };
    VariableShown {
        name: clip(&variable.name, MAX_NAME_CHARS).text,
        value,
        kind: variable.kind.as_ref().map(|kind| clip(kind, MAX_NAME_CHARS).text),
        reference,
    }
}

/// The first children of what an adapter sent, the object's own before the debugger's groups, as long as each value may be so
/// that all of them fit.
pub(crate) fn fit(
    mut all: Vec<Variable>,
    counted: Option<i64>,
    bytes: usize,
    longest: usize,
    mut reference: impl FnMut(&Variable) -> Option<i64>,
) -> VariablesReport {
    all.retain(|variable| variable.name != "len()");
    all.sort_by_key(|variable| GROUPS.contains(&variable.name.as_str()));
    let known = counted.and_then(|count| usize::try_from(count).ok()).unwrap_or(0).max(all.len());
    all.truncate(MAX_CHILDREN);
    let references: Vec<_> = all.iter().map(&mut reference).collect();
    let mut chars = MAX_VALUE_CHARS;
    loop {
        let shown = all.iter().zip(&references);
        let shown = shown.map(|(variable, id)| shown_variable(variable, *id, chars, longest));
        let variables = shown.collect();
        let report = VariablesReport { variables, more: known - all.len() };
        if chars <= MIN_VALUE_CHARS || report.text().len() <= bytes {
            return report;
        }
        chars /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_RESULT_BYTES, fit};
    use crate::protocol::Variable;

    fn variable(name: &str, value: String) -> Variable {
        Variable { name: name.to_owned(), value, kind: None, reference: 0, children: None }
    }

    #[test]
    fn children_are_fifty_and_fit_in_a_result_without_a_broken_character() {
        let all = (0..104).map(|index| variable(&index.to_string(), "🎉".repeat(5_000))).collect();
        let report = fit(all, Some(100_000), MAX_RESULT_BYTES, usize::MAX, |_| None);
        assert_eq!((report.variables.len(), report.more), (50, 99_950));
        assert!(report.text().len() <= MAX_RESULT_BYTES);
        assert!(report.variables[0].value.starts_with("🎉🎉"));
        let one = |longest| {
            let all = vec![variable("x", "å".repeat(500))];
            fit(all, None, MAX_RESULT_BYTES, longest, |_| None).variables[0].value.clone()
        };
        assert_eq!(one(501), format!("{}… 100 more characters", "å".repeat(400)));
        // One that the adapter has cut had more than that.
        let cut = "… more characters, cut by the debugger";
        assert_eq!(one(500), format!("{}{cut}", "å".repeat(400)));
    }

    #[test]
    fn what_the_debugger_adds_comes_last_and_only_where_there_is_room() {
        let names = ["special variables", "function variables", "a", "len()", "b"];
        let all = names.map(|name| variable(name, String::new())).to_vec();
        let shown = fit(all, None, MAX_RESULT_BYTES, usize::MAX, |_| None);
        let shown: Vec<_> = shown.variables.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(shown, ["a", "b", "special variables", "function variables"]);
    }
}
