//! The script: what the server says of itself, and which steps a message sets off.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Encoding, Step, Toy};

/// A pseudo-method: the steps run before anything is read.
pub const START: &str = "$start";
/// A pseudo-method: the steps run when the input has ended; then the server exits with code 1.
pub const END_OF_INPUT: &str = "$end";
/// A method that fits every message.
pub const ANY: &str = "*";

/// A language server as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// `serverInfo.name`, what `--version` answers with, and the stem of the installed files.
    pub name: String,
    /// `serverInfo.version`.
    pub version: String,
    /// The encoding to choose if the client offers it. With none, and where the client does not offer
    /// it, the answer has no `positionEncoding` and columns count UTF-16.
    pub encoding: Option<Encoding>,
    /// A merge patch (RFC 7396) over the capabilities that follow from `toy`: `null` removes one.
    pub capabilities: Value,
    /// The language that answers what no rule takes. Without it such a request is answered with
    /// -32601.
    pub toy: Option<Toy>,
    /// The first rule that fits a message takes it.
    pub rules: Vec<Rule>,
    /// Where everything is written down; `install` names a file beside the script where none is.
    pub log: Option<PathBuf>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            name: "fake-lsp".to_owned(),
            version: "1.0.0".to_owned(),
            encoding: None,
            capabilities: Value::Null,
            toy: None,
            rules: Vec::new(),
            log: None,
        }
    }
}

impl Script {
    /// A server that can do nothing but start and stop.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// A server for the toy language.
    #[must_use]
    pub fn toy(name: &str, toy: Toy) -> Self {
        Self { toy: Some(toy), ..Self::new(name) }
    }

    /// Sets the encoding to choose.
    #[must_use]
    pub fn encoding(self, encoding: Encoding) -> Self {
        Self { encoding: Some(encoding), ..self }
    }

    /// Sets the merge patch over the capabilities.
    #[must_use]
    pub fn capabilities(self, capabilities: Value) -> Self {
        Self { capabilities, ..self }
    }

    /// Names the file of the log.
    #[must_use]
    pub fn log(self, path: impl Into<PathBuf>) -> Self {
        Self { log: Some(path.into()), ..self }
    }

    /// Adds a rule for every message of a method.
    #[must_use]
    pub fn on(self, method: &str, steps: impl IntoIterator<Item = Step>) -> Self {
        self.rule(Rule::on(method).then(steps))
    }

    /// Adds a rule.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Never answers `shutdown` and never goes at `exit`.
    #[must_use]
    pub fn ignores_shutdown(self) -> Self {
        self.on("shutdown", [Step::Silence]).on("exit", [Step::Silence])
    }

    /// Goes on for `ms` when its input has ended.
    #[must_use]
    pub fn outlives_input(self, ms: u64) -> Self {
        self.on(END_OF_INPUT, [Step::Wait(ms)])
    }
}

/// On which message which steps run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The method of a request or notification, [`ANY`], [`START`] or [`END_OF_INPUT`].
    pub on: String,
    /// Which of the messages that fit, counted in this process whether or not another rule took them.
    #[serde(default, skip_serializing_if = "Nth::is_every")]
    pub nth: Nth,
    /// In which process, counted over all that write to this log.
    #[serde(default, skip_serializing_if = "Nth::is_every")]
    pub process: Nth,
    /// What must stand where in `params`: JSON pointer to value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<String, Value>,
    /// What is done. A request that no step replies to stays unanswered.
    pub steps: Vec<Step>,
}

impl Rule {
    /// A rule for every message of a method that does nothing yet.
    #[must_use]
    pub fn on(method: &str) -> Self {
        Self { on: method.to_owned(), ..Self::default() }
    }

    /// Only for these of the messages.
    #[must_use]
    pub fn nth(self, nth: Nth) -> Self {
        Self { nth, ..self }
    }

    /// Only in these of the processes that were started.
    #[must_use]
    pub fn process(self, process: Nth) -> Self {
        Self { process, ..self }
    }

    /// Only where `params` has `value` at `pointer`.
    #[must_use]
    pub fn with(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        self.with.insert(pointer.to_owned(), value.into());
        self
    }

    /// Sets the steps.
    #[must_use]
    pub fn then(self, steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), ..self }
    }

    pub(crate) fn fits(&self, method: &str, params: &Value) -> bool {
        (self.on == method || (self.on == ANY && method != START && method != END_OF_INPUT))
            && self.with.iter().all(|(pointer, value)| params.pointer(pointer) == Some(value))
    }
}

/// Which of several, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nth {
    /// Each.
    #[default]
    Every,
    /// This one.
    Only(u32),
    /// The first so many.
    Until(u32),
    /// This one and all after it.
    From(u32),
}

impl Nth {
    pub(crate) fn takes(self, count: u32) -> bool {
        match self {
            Self::Every => true,
            Self::Only(nth) => count == nth,
            Self::Until(last) => count <= last,
            Self::From(first) => count >= first,
        }
    }

    fn is_every(&self) -> bool {
        *self == Self::Every
    }
}
