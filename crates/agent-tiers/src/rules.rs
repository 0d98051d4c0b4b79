//! What asks, as data.

use agent_tool_core::{Tier, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What becomes of a call before it begins. The order is the order of strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Policy {
    /// The call needs nobody's approval.
    Allow,
    /// A person is asked, unless the mode or an earlier answer lets the call through.
    Ask,
    /// A person is asked about each call, whatever the mode and earlier answers say.
    AlwaysAsk,
    /// The call is refused.
    Refuse,
}

/// A condition on one argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ArgumentIn {
    /// The argument's name, such as `action`.
    pub argument: String,
    /// The values for which the rule holds.
    pub values: Vec<String>,
}

/// What is said of one tool, or of some of its calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Rule {
    /// The tool's name.
    pub tool: String,
    /// Which of its calls; all, if there is no condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<ArgumentIn>,
    /// The argument that such a call has, whatever its value; any call, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// What holds for them.
    pub policy: Policy,
}

impl Rule {
    /// A rule for all calls of a tool.
    #[must_use]
    pub fn new(tool: impl Into<String>, policy: Policy) -> Self {
        Self { tool: tool.into(), when: None, given: None, policy }
    }

    /// The same rule for the calls in which the argument has one of these values.
    #[must_use]
    pub fn when(
        mut self,
        argument: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.when = Some(ArgumentIn { argument: argument.into(), values });
        self
    }

    /// The same rule for the calls that have this argument, whatever its value.
    #[must_use]
    pub fn when_given(mut self, argument: impl Into<String>) -> Self {
        self.given = Some(argument.into());
        self
    }

    /// An argument that is absent, or no string, fits a rule that holds calls back and does not
    /// fit one that lets them through: what cannot be judged is judged strictly.
    fn fits(&self, tool: &str, args: &Value) -> bool {
        let given = self.given.as_ref().is_none_or(|name| !args[name.as_str()].is_null());
        if !given {
            return false;
        }
        let Some(when) = &self.when else { return self.tool == tool };
        self.tool == tool
            && match args.get(&when.argument).and_then(Value::as_str) {
                Some(value) => when.values.iter().any(|expected| expected == value),
                None => self.policy > Policy::Allow,
            }
    }
}

/// Which calls are allowed, asked about or refused.
///
/// Of all rules that fit a call the strictest holds, so their order means nothing and adding one
/// narrows what others allow. Where none fits, a write or exec call asks and a read call does not.
///
/// ```
/// # use agent_tiers::{Rule, Rules, Policy};
/// # use agent_tool_core::{Tier, ToolSpec};
/// # use serde_json::json;
/// let rules = Rules::default()
///     .with(Rule::new("debug", Policy::Allow))
///     .with(Rule::new("debug", Policy::Ask).when("action", ["launch", "attach", "evaluate"]));
/// let debug = ToolSpec::new("debug", Tier::Exec, "Drives a debugger.");
/// assert_eq!(rules.policy(&debug, &json!({"action": "stack"})), Policy::Allow);
/// assert_eq!(rules.policy(&debug, &json!({"action": "launch"})), Policy::Ask);
/// assert_eq!(rules.policy(&debug, &json!({})), Policy::Ask);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// The same rules and one more.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// What holds for a call of this tool with these arguments.
    #[must_use]
    pub fn policy(&self, spec: &ToolSpec, args: &Value) -> Policy {
        let fitting = self.rules.iter().filter(|rule| rule.fits(&spec.name, args));
        let default = if spec.tier == Tier::Read { Policy::Allow } else { Policy::Ask };
        fitting.map(|rule| rule.policy).max().unwrap_or(default)
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self { rules: rules.into_iter().collect() }
    }
}

impl Extend<Rule> for Rules {
    fn extend<I: IntoIterator<Item = Rule>>(&mut self, rules: I) {
        self.rules.extend(rules);
    }
}
