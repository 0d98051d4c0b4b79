//! Which calls ask first, as data.

use agent_tool_core::{Tier, ToolSpec};
use serde_json::Value;

/// What becomes of a call before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// It goes on without asking.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Refuse,
}

/// One rule: a tool, optionally one of its arguments with some values, and the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    tool: String,
    argument: Option<(String, Vec<String>)>,
    policy: Policy,
}

impl Rule {
    /// A rule for every call of a tool.
    #[must_use]
    pub fn new(tool: impl Into<String>, policy: Policy) -> Self {
        Self { tool: tool.into(), argument: None, policy }
    }

    /// The same rule for those calls alone whose argument, a string, has one of these values.
    #[must_use]
    pub fn when(
        mut self,
        argument: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.argument = Some((argument.into(), values));
        self
    }

    fn fits(&self, spec: &ToolSpec, args: &Value) -> bool {
        let value = |name: &str| args.get(name).and_then(Value::as_str);
        self.tool == spec.name
            && self.argument.as_ref().is_none_or(|(name, values)| {
                value(name).is_some_and(|value| values.iter().any(|wanted| wanted == value))
            })
    }
}

/// The rules of a host; the first that fits decides. Where none fits, a `read` call is allowed and
/// a `write` or `exec` call asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// These rules, with one more at their end.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// What becomes of this call. A `read` call never asks, whatever a rule says.
    #[must_use]
    pub fn policy(&self, spec: &ToolSpec, args: &Value) -> Policy {
        let ruled = self.rules.iter().find(|rule| rule.fits(spec, args)).map(|rule| rule.policy);
        match (ruled, spec.tier) {
            (Some(Policy::Refuse), _) => Policy::Refuse,
            (_, Tier::Read) => Policy::Allow,
            (Some(policy), _) => policy,
            (None, _) => Policy::Ask,
        }
    }
}
