//! A gate from a function.

use agent_tool_core::{BoxFuture, Context, Decision, Gate, Tool, ToolCall, ToolError, ToolSpec};

/// A gate that refuses where the function gives an error. It stands before the approval and
/// nothing beats it: no mode, no rule, no "always allow".
///
/// ```
/// # use agent_tiers::guardrail;
/// # use agent_tool_core::{ErrorKind, ToolError};
/// let no_deploys = guardrail(|_spec, call| match call.args["command"].as_str() {
///     Some(command) if command.contains("deploy") => {
///         Err(ToolError::new(ErrorKind::Denied, "no_deploys", "deploying is the person's own job"))
///     }
///     _ => Ok(()),
/// });
/// # let _ = no_deploys;
/// ```
pub fn guardrail<F>(check: F) -> impl Gate
where
    F: Fn(&ToolSpec, &ToolCall) -> Result<(), ToolError> + Send + Sync + 'static,
{
    Guardrail(check)
}

struct Guardrail<F>(F);

impl<F> Gate for Guardrail<F>
where
    F: Fn(&ToolSpec, &ToolCall) -> Result<(), ToolError> + Send + Sync + 'static,
{
    fn check<'a>(
        &'a self,
        tool: &'a dyn Tool,
        call: &'a ToolCall,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match self.0(tool.spec(), call) {
                Ok(()) => Decision::Pass,
                Err(error) => Decision::Refused(error),
            }
        })
    }
}
