//! What a tracing span tells of a call.
//!
//! Tested here and not in `tests/it`: whether a span is wanted is decided once for the process, by
//! whichever thread makes the first call, and in this program no other test makes one.

use std::{
    fmt::Debug,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use agent_tool_core::{
    BoxFuture, Context, Limits, Tier, Tool, ToolCall, ToolError, ToolResult, ToolSpec,
};
use serde_json::{Value, json};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use crate::{Registry, Run, Surface};

struct Fails(ToolSpec);

impl Tool for Fails {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async { Err(ToolError::invalid_args("a secret result")) })
    }
}

/// Collects the names and fields of all spans.
#[derive(Clone, Default)]
struct Spans {
    seen: Arc<Mutex<Vec<String>>>,
    last: Arc<AtomicU64>,
}

impl Visit for Spans {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.seen.lock().expect("not poisoned").push(format!("{}={value:?}", field.name()));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.seen.lock().expect("not poisoned").push(span.metadata().name().to_owned());
        span.record(&mut self.clone());
        Id::from_u64(self.last.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn record(&self, _span: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

#[tokio::test]
async fn a_span_names_the_call_and_tells_nothing_of_its_contents() {
    let fails = Fails(ToolSpec::new("fails", Tier::Read, "Fails."));
    let registry = Registry::builder().tool(Arc::new(fails)).build().expect("a registry");
    let run = Run::builder(registry).build();
    let root = run.view(Surface::Full, Limits::default()).root();
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let call = ToolCall::new("fails", json!({"text": "a secret argument"}));
    root.call(call).await.expect_err("fails");
    let seen = spans.seen.lock().expect("not poisoned").clone();
    assert_eq!(
        seen,
        [
            "execute_tool",
            "gen_ai.operation.name=\"execute_tool\"",
            "gen_ai.tool.name=fails",
            "gen_ai.tool.call.id=call_1",
            "error.type=\"invalid_args\"",
        ]
    );
}
