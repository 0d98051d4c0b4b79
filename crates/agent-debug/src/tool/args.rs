use agent_tool_core::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;

use super::longest_wait;

/// The operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each word is the contract's own and says what it is")]
pub enum Op {
    Adapters,
    Status,
    Breakpoints,
    Launch,
    Attach,
    Continue,
    Pause,
    StepOver,
    StepIn,
    StepOut,
    Threads,
    Stack,
    Scopes,
    Variables,
    Evaluate,
    Output,
    Terminate,
}

/// The arguments of `debug`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DebugArgs {
    /// What to do.
    pub op: Op,
    /// breakpoints: the source file.
    #[serde(default)]
    pub file: Option<String>,
    /// breakpoints: all lines of the file that are to have one; empty clears it.
    #[serde(default)]
    pub lines: Option<Vec<u32>>,
    /// breakpoints: stop only where this expression holds.
    #[serde(default)]
    pub condition: Option<String>,
    /// breakpoints: stop only at this hit, such as 3.
    #[serde(default)]
    pub hit_condition: Option<String>,
    /// breakpoints: write this instead of stopping; expressions in {}.
    #[serde(default)]
    pub log_message: Option<String>,
    /// launch: a binary, script or Go package.
    #[serde(default)]
    pub program: Option<String>,
    /// launch: the program's arguments.
    #[serde(default)]
    pub args: Option<Vec<String>>,
    /// attach: a debug server's local port.
    #[serde(default)]
    pub port: Option<u16>,
    /// launch, attach: lldb, debugpy, delve or dart, if it cannot be told.
    #[serde(default)]
    pub adapter: Option<String>,
    /// continue, pause, step_*, stack: the thread, the stopped one if absent.
    #[serde(default)]
    pub thread_id: Option<i64>,
    /// scopes, evaluate: a frame's id; evaluate takes the top frame if absent.
    #[serde(default)]
    pub frame_id: Option<i64>,
    /// variables: what a scope or variable has as reference.
    #[serde(default)]
    pub reference: Option<i64>,
    /// evaluate: the expression.
    #[serde(default)]
    pub expression: Option<String>,
    /// launch, attach, continue, pause, step_*: how long to wait for a stop, at most 300000.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

impl Op {
    /// The operation as it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Adapters => "adapters",
            Self::Status => "status",
            Self::Breakpoints => "breakpoints",
            Self::Launch => "launch",
            Self::Attach => "attach",
            Self::Continue => "continue",
            Self::Pause => "pause",
            Self::StepOver => "step_over",
            Self::StepIn => "step_in",
            Self::StepOut => "step_out",
            Self::Threads => "threads",
            Self::Stack => "stack",
            Self::Scopes => "scopes",
            Self::Variables => "variables",
            Self::Evaluate => "evaluate",
            Self::Output => "output",
            Self::Terminate => "terminate",
        }
    }

    /// The arguments that it needs, and those that it takes.
    fn arguments(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Adapters | Self::Status | Self::Threads | Self::Output | Self::Terminate => {
                (&[], &[])
            }
            Self::Breakpoints => {
                (&["file", "lines"], &["condition", "hit_condition", "log_message"])
            }
            Self::Launch => (&["program"], &["args", "adapter", "timeout_ms"]),
            Self::Attach => (&["port"], &["adapter", "timeout_ms"]),
            Self::Continue | Self::Pause | Self::StepOver | Self::StepIn | Self::StepOut => {
                (&[], &["thread_id", "timeout_ms"])
            }
            Self::Stack => (&[], &["thread_id"]),
            Self::Scopes => (&["frame_id"], &[]),
            Self::Variables => (&["reference"], &[]),
            Self::Evaluate => (&["expression"], &["frame_id"]),
        }
    }
}

impl DebugArgs {
    /// Holds the arguments to the operation.
    ///
    /// # Errors
    ///
    /// `invalid_args`, naming the argument that is missing or that the operation does not take.
    pub fn check(&self) -> Result<(), ToolError> {
        let (needed, taken) = self.op.arguments();
        let op = self.op.name();
        let given = self.given();
        if let Some(missing) = needed.iter().find(|name| !given.contains(name)) {
            return Err(wrong(format!("{op} needs the argument `{missing}`")));
        }
        let other = given.iter().find(|name| !needed.contains(name) && !taken.contains(name));
        if let Some(other) = other {
            let all: Vec<_> = needed.iter().chain(taken).copied().collect();
            let all = if all.is_empty() { "no arguments".to_owned() } else { all.join(", ") };
            return Err(wrong(format!("{op} does not take `{other}`; it takes {all}")));
        }
        if let Some(time) = self.timeout_ms
            && !(1..=longest_wait()).contains(&time)
        {
            let most = longest_wait();
            return Err(wrong(format!("`timeout_ms` came as {time} but takes 1 to {most}")));
        }
        Ok(())
    }

    /// What it would do, a line for each thing that was said, as a person reads it on a card.
    pub(crate) fn in_words(&self) -> String {
        let list = |words: &[String]| words.join(" ");
        let number = |number: Option<i64>| number.map(|number| number.to_string());
        let quoted: Option<Vec<String>> =
            self.args.as_ref().map(|args| args.iter().map(|word| format!("{word:?}")).collect());
        let lines: Option<Vec<String>> =
            self.lines.as_ref().map(|lines| lines.iter().map(u32::to_string).collect());
        let said = [
            ("program", self.program.clone()),
            ("with the arguments", quoted.as_deref().map(list)),
            ("port", self.port.map(|port| port.to_string())),
            ("adapter", self.adapter.clone()),
            ("file", self.file.clone()),
            ("lines", lines.as_deref().map(list)),
            ("only where this holds", self.condition.clone()),
            ("only at this hit", self.hit_condition.clone()),
            ("writes and does not stop", self.log_message.clone()),
            ("expression", self.expression.clone()),
            ("thread", number(self.thread_id)),
            ("frame", number(self.frame_id)),
            ("waits at most", self.timeout_ms.map(|time| format!("{time} ms"))),
        ];
        let lines = said.into_iter().filter_map(|(what, said)| Some(format!("{what}: {}", said?)));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn given(&self) -> Vec<&'static str> {
        let all = [
            ("file", self.file.is_some()),
            ("lines", self.lines.is_some()),
            ("condition", self.condition.is_some()),
            ("hit_condition", self.hit_condition.is_some()),
            ("log_message", self.log_message.is_some()),
            ("program", self.program.is_some()),
            ("args", self.args.is_some()),
            ("port", self.port.is_some()),
            ("adapter", self.adapter.is_some()),
            ("thread_id", self.thread_id.is_some()),
            ("frame_id", self.frame_id.is_some()),
            ("reference", self.reference.is_some()),
            ("expression", self.expression.is_some()),
            ("timeout_ms", self.timeout_ms.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}

fn wrong(message: String) -> ToolError {
    ToolError::invalid_args(format!("debug: {message}"))
}
