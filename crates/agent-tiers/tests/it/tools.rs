//! Tools as the tests need them.

use std::sync::{Arc, Mutex};

use agent_tiers::{Approval, ApproveMode, Registry, Rules, Run};
use agent_tool_core::{
    BoxFuture, CardPort, Context, Preview, PreviewKind, Tier, Tool, ToolCall, ToolError,
    ToolOutput, ToolResult, ToolSpec,
};
use serde_json::{Value, json};

type Work = dyn for<'a> Fn(Value, &'a Context) -> BoxFuture<'a, ToolResult> + Send + Sync;

/// A tool made of a spec and a closure.
pub(crate) struct Made {
    spec: ToolSpec,
    work: Box<Work>,
}

impl Tool for Made {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        (self.work)(args, cx)
    }
}

pub(crate) fn made(
    spec: ToolSpec,
    work: impl for<'a> Fn(Value, &'a Context) -> BoxFuture<'a, ToolResult> + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    Arc::new(Made { spec, work: Box::new(work) })
}

pub(crate) fn spec(name: &str, tier: Tier) -> ToolSpec {
    ToolSpec::new(name, tier, "A tool of a test.")
}

/// A tool that says its name.
pub(crate) fn plain(name: &str, tier: Tier) -> Arc<dyn Tool> {
    let said = name.to_owned();
    made(spec(name, tier), move |_, _| {
        let said = said.clone();
        Box::pin(async move { Ok(ToolOutput::text(said)) })
    })
}

/// A tool that changes a text and shows it first: its plan is the text as it is now.
pub(crate) struct Editor {
    spec: ToolSpec,
    pub text: Arc<Mutex<String>>,
    pub done: Arc<Mutex<Vec<Value>>>,
}

impl Editor {
    pub(crate) fn new(name: &str) -> Arc<Self> {
        Arc::new(Self { spec: spec(name, Tier::Write), text: Arc::default(), done: Arc::default() })
    }

    fn plan(&self) -> String {
        format!("plan of {:?}", self.text.lock().expect("the text"))
    }
}

impl Tool for Editor {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            cx.check_approved(&self.plan())?;
            self.done.lock().expect("the calls").push(args);
            Ok(ToolOutput::text("edited"))
        })
    }

    fn preview<'a>(
        &'a self,
        args: &'a Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Preview, ToolError>> {
        Box::pin(async move {
            if args["wrong"] == true {
                return Err(ToolError::invalid_args("wrong arguments"));
            }
            let preview = Preview::new(PreviewKind::Edit, "edit\u{202e} the text");
            Ok(preview.with_body(args.to_string()).with_fingerprint(self.plan()))
        })
    }
}

pub(crate) fn registry(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Registry {
    Registry::builder().tools(tools).build().expect("a sound registry")
}

pub(crate) fn asking(
    port: Arc<dyn CardPort>,
    tools: impl IntoIterator<Item = Arc<dyn Tool>>,
) -> Run {
    let approval = Approval::new(ApproveMode::Ask, Rules::default(), port);
    Run::builder(registry(tools)).approval(approval).build()
}

pub(crate) fn call(name: &str) -> ToolCall {
    ToolCall::new(name, json!({}))
}
