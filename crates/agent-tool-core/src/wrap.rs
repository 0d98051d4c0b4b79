//! Wrappers that change how a tool is presented and nothing else.

use std::sync::Arc;

use serde_json::Value;

use crate::{BoxFuture, Context, Preview, Tool, ToolError, ToolResult, ToolSpec};

/// The same tool under another name.
#[must_use]
pub fn renamed(tool: Arc<dyn Tool>, name: impl Into<String>) -> Arc<dyn Tool> {
    let mut spec = tool.spec().clone();
    spec.name = name.into();
    Arc::new(Presented { spec, inner: tool })
}

/// The same tool with another description.
#[must_use]
pub fn described(tool: Arc<dyn Tool>, description: impl Into<String>) -> Arc<dyn Tool> {
    let mut spec = tool.spec().clone();
    spec.description = description.into();
    Arc::new(Presented { spec, inner: tool })
}

struct Presented {
    spec: ToolSpec,
    inner: Arc<dyn Tool>,
}

impl Tool for Presented {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        self.inner.call(args, cx)
    }

    fn preview<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        self.inner.preview(args, cx)
    }
}
