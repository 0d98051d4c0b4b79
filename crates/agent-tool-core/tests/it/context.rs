use std::sync::Arc;

use agent_tool_core::{CallId, Caller, Context, Nothing, Tier, ToolCall};
use serde_json::json;

#[test]
fn a_child_has_the_smaller_ceiling_and_no_approval() {
    let root =
        Context::new(CallId::new("call_1"), Tier::Write, Arc::new(Nothing), Arc::new(Nothing))
            .with_approved(Some("f1".into()));
    assert_eq!(root.approved(), Some("f1"));
    let child =
        root.child(Caller::new(CallId::new("call_1"), "eval"), CallId::new("call_2"), Tier::Exec);
    assert_eq!(child.ceiling(), Tier::Write);
    assert_eq!(child.approved(), None);
    let grandchild =
        child.child(Caller::new(CallId::new("call_2"), "eval"), CallId::new("call_3"), Tier::Read);
    assert_eq!(grandchild.ceiling(), Tier::Read);
    let names: Vec<_> = grandchild.callers().iter().map(|caller| caller.call_id.as_str()).collect();
    assert_eq!(names, ["call_1", "call_2"]);
}

#[test]
fn another_plan_than_the_approved_one_is_a_conflict() {
    let cx = Context::detached();
    assert!(cx.check_approved("f2").is_ok());
    let cx = cx.with_approved(Some("f1".into()));
    assert!(cx.check_approved("f1").is_ok());
    assert_eq!(cx.check_approved("f2").expect_err("another plan").code, "approval_changed");
}

#[test]
fn a_detached_call_has_nothing_to_re_enter() {
    let call = ToolCall::new("read", json!({}));
    let error = pollster::block_on(Context::detached().call(call)).expect_err("nothing there");
    assert_eq!(error.code, "unknown_tool");
}
