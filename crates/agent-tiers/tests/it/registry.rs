//! What a registry takes and what it refuses.

use std::sync::Arc;

use agent_tiers::{Registry, RegistryErrorKind, Surface};
use agent_tool_core::{
    BoxFuture, Context, Dispatch, Limits, Tier, Tool, ToolOutput, ToolResult, ToolSpec, described,
};
use serde_json::{Value, json};

use crate::support::{approving, call, code, full, registry, says};

fn refusal(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> RegistryErrorKind {
    Registry::builder().tools(tools).build().expect_err("a fault").kind()
}

#[test]
fn duplicates_and_invalid_specs_are_refused() {
    let tool = || Arc::new(says("look", Tier::Read)) as Arc<dyn Tool>;
    assert_eq!(refusal([tool(), tool()]), RegistryErrorKind::Duplicate);
    let invalid = Arc::new(says("no spaces", Tier::Read)) as Arc<dyn Tool>;
    assert_eq!(refusal([invalid]), RegistryErrorKind::InvalidSpec);
}

/// Presents a tool at another tier.
struct Claims(ToolSpec);

impl Tool for Claims {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async { Ok(ToolOutput::default()) })
    }
}

// spec: TIER-01
#[test]
fn a_wrapper_cannot_lower_a_tier() {
    let claim = |tier| {
        let tools = registry([says("change", Tier::Write)]).to_builder();
        let claims = move |_| Arc::new(Claims(ToolSpec::new("change", tier, ""))) as Arc<dyn Tool>;
        tools.wrap(|_| true, claims).build()
    };
    assert_eq!(claim(Tier::Read).expect_err("lower").kind(), RegistryErrorKind::TierLowered);
    assert!(claim(Tier::Exec).is_ok());
}

#[tokio::test]
async fn a_run_can_be_given_other_tools_and_tells_it() {
    let run = approving([says("look", Tier::Read), says("change", Tier::Write)]).build();
    let view = full(&run);
    let mut watcher = run.watch();
    let wrapped = run
        .registry()
        .to_builder()
        .without(|spec| spec.name == "change")
        .wrap(|spec| spec.name == "look", |tool| described(tool, "Looks closely."))
        .tool(Arc::new(says("host", Tier::Exec)))
        .build()
        .expect("a registry");
    run.set_registry(wrapped);
    let specs = view.specs();
    let listed: Vec<_> = specs.iter().map(|spec| (&*spec.name, &*spec.description)).collect();
    assert_eq!(listed, [("look", "Looks closely."), ("host", "Says its name.")]);
    assert_eq!(code(call(&view, "change").await), "unknown_tool");
    assert_eq!(call(&view, "host").await.expect("a host's tool").joined_text(), "host");

    view.set_surface(Surface::Plan);
    view.set_surface(Surface::Plan);
    let mut told = Vec::new();
    while let Some(watched) = watcher.try_next() {
        let value = serde_json::to_value(&watched.record.what).expect("JSON");
        if value["type"] == "tools_changed" {
            told.push(value);
        }
    }
    let of_view = json!({"type": "tools_changed", "view": "view_1", "surface": "plan"});
    assert_eq!(told, [json!({"type": "tools_changed"}), of_view]);
}

#[test]
fn views_have_names() {
    let run = approving([]).build();
    assert_eq!(full(&run).id(), "view_1");
    assert_eq!(run.view(Surface::Plan, Limits::default()).id(), "view_2");
}
