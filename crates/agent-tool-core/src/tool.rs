//! The trait that every tool implements.

use std::{future::Future, pin::Pin};

use serde_json::Value;

use crate::{Context, Preview, ToolError, ToolOutput, ToolSpec};

/// A boxed future: what makes the traits of this crate usable behind `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a call comes to: an output (bad news included) or a tool that did not do its job.
pub type ToolResult = Result<ToolOutput, ToolError>;

/// Something a model may call.
///
/// Dropping the future of [`Tool::call`] cancels the call; each tool's README says what a cancel
/// leaves behind. A tool that blocks does so on a blocking pool of its host's executor.
pub trait Tool: Send + Sync + 'static {
    /// The tool as the model sees it. The same object is shown and dispatched on.
    fn spec(&self) -> &ToolSpec;

    /// Does the work.
    ///
    /// # Errors
    ///
    /// An error means that the tool did not do its job. A failing cell, a crash of the debuggee
    /// or a list of diagnostics is an output.
    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult>;

    /// Says what [`Tool::call`] would do with these arguments, without doing any of it.
    ///
    /// The default shows the tool's name and the arguments, clipped. A tool that changes files
    /// overrides it and makes the preview from the very plan that the call applies.
    ///
    /// # Errors
    ///
    /// What the call itself would refuse, the preview refuses in the same words.
    fn preview<'a>(
        &'a self,
        args: &'a Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        Box::pin(async move { Ok(Preview::of_arguments(self.spec(), args)) })
    }
}
