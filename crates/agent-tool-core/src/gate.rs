//! What stands before every call.

use crate::{BoxFuture, Context, Tool, ToolCall, ToolError};

/// What a gate says of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Decision {
    /// The gate has nothing against it; the next one is asked.
    Pass,
    /// The call was approved as it was shown. The fingerprint of what was shown travels in the
    /// call's [`Context`].
    Approved {
        /// The approved plan, where the preview named one.
        fingerprint: Option<String>,
    },
    /// The call is refused with this error.
    Refused(ToolError),
}

/// Something that may refuse a call before it begins. Gates are asked in order: guardrails
/// first, approval last. The first refusal ends the call.
pub trait Gate: Send + Sync + 'static {
    /// Looks at a call. The gate gets the tool, not its spec alone, since a gate that asks a
    /// person shows the tool's own preview.
    fn check<'a>(
        &'a self,
        tool: &'a dyn Tool,
        call: &'a ToolCall,
        cx: &'a Context,
    ) -> BoxFuture<'a, Decision>;
}
