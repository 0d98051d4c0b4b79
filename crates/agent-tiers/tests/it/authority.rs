//! Nothing that is hidden can be executed, no path raises a ceiling.

use std::sync::{Arc, Mutex};

use agent_tiers::{Run, Surface};
use agent_tool_core::{Dispatch, Limits, Tier, Tool, ToolCall, ToolOutput};
use proptest::prelude::*;
use serde_json::json;

use crate::tools::{call, made, plain, registry, spec};

fn tier() -> impl Strategy<Value = Tier> {
    prop_oneof![Just(Tier::Read), Just(Tier::Write), Just(Tier::Exec)]
}

fn surface() -> impl Strategy<Value = Surface> {
    prop_oneof![Just(Surface::Full), Just(Surface::Plan), Just(Surface::ReadOnly)]
}

/// One step of a chain: through a tool of the registry, or through a narrowed dispatch.
#[derive(Clone, Debug)]
enum Step {
    Tool(usize),
    Narrow(Option<Tier>, Vec<usize>),
}

fn steps(tools: usize) -> impl Strategy<Value = Vec<Step>> {
    let narrow = (proptest::option::of(tier()), proptest::collection::vec(0..tools, 0..2));
    let step = prop_oneof![
        (0..tools).prop_map(Step::Tool),
        narrow.prop_map(|(ceiling, without)| Step::Narrow(ceiling, without)),
    ];
    proptest::collection::vec(step, 0..4)
}

/// What a model of the run says: the authority at the end of a chain, or where the chain broke.
struct Model {
    tiers: Vec<Tier>,
    surface: Surface,
    ceiling: Tier,
    without: Vec<usize>,
}

impl Model {
    fn admits(&self, tool: usize) -> bool {
        let tier = self.tiers[tool];
        tier <= self.ceiling && self.surface.admits(tier) && !self.without.contains(&tool)
    }
}

type Ran = Arc<Mutex<Vec<String>>>;

/// A tool that notes that it ran and then makes the next call of the chain in its arguments.
fn relay(name: String, tier: Tier, ran: Ran) -> Arc<dyn Tool> {
    let said = name.clone();
    made(spec(&name, tier), move |args, cx| {
        ran.lock().expect("the list").push(said.clone());
        Box::pin(async move {
            let mut rest = args["chain"].as_array().cloned().unwrap_or_default();
            let mut dispatch = Arc::clone(cx.dispatch());
            while !rest.is_empty() {
                let step = rest.remove(0);
                if let Some(name) = step.as_str() {
                    let call = ToolCall::new(name, json!({"chain": rest}));
                    return dispatch.call(call, cx).await;
                }
                let limits: Limits = serde_json::from_value(step).expect("limits");
                dispatch = dispatch.narrow(limits);
            }
            Ok(ToolOutput::text("end"))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // spec: TIER-01, TIER-03, TIER-09
    #[test]
    fn nothing_hidden_runs_and_no_path_raises_a_ceiling(
        tiers in proptest::collection::vec(tier(), 1..6),
        first in surface(),
        then in surface(),
        ceiling in proptest::option::of(tier()),
        chain in steps(5),
        start in 0usize..5,
    ) {
        let name = |index: usize| format!("tool_{index}");
        let count = tiers.len();
        let ran = Ran::default();
        let tools = tiers.iter().enumerate().map(|(index, tier)| relay(name(index), *tier, ran.clone()));
        let run = Run::builder(registry(tools)).build();
        let mut limits = Limits::default();
        limits.ceiling = ceiling;
        let view = run.view(first, limits);
        view.set_surface(then);

        let mut model = Model { tiers: tiers.clone(), surface: then, ceiling: ceiling.unwrap_or(Tier::Exec), without: vec![] };
        let listed: Vec<String> = view.specs().into_iter().map(|spec| spec.name).collect();
        let expected: Vec<String> = (0..count).filter(|tool| model.admits(*tool)).map(name).collect();
        prop_assert_eq!(&listed, &expected);

        // The model walks the same chain: each tool that it admits runs, the first that it does not ends it.
        let mut should_run = Vec::new();
        let mut chain_json = Vec::new();
        let mut broken = !(start < count && model.admits(start));
        if !broken { should_run.push(name(start)); }
        for step in &chain {
            match step {
                Step::Tool(tool) => {
                    chain_json.push(json!(name(*tool)));
                    broken |= !(*tool < count && model.admits(*tool));
                    if !broken { should_run.push(name(*tool)); }
                }
                Step::Narrow(ceiling, without) => {
                    let names: Vec<String> = without.iter().map(|tool| name(*tool)).collect();
                    chain_json.push(json!({"ceiling": ceiling, "without": names}));
                    let cap = model.ceiling.min(then.cap());
                    model.ceiling = ceiling.map_or(cap, |limit| limit.min(cap));
                    model.without.extend(without);
                }
            }
        }
        let wish = ToolCall::new(name(start), json!({"chain": chain_json}));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let result = runtime.block_on(view.call(wish));
        prop_assert_eq!(&*ran.lock().expect("the list"), &should_run);
        prop_assert_eq!(result.is_ok(), !broken);
        if let Err(error) = result {
            prop_assert_eq!(error.code, "unknown_tool");
        }
    }
}

// spec: TIER-03
#[tokio::test]
async fn a_hidden_tool_answers_as_a_name_that_never_existed() {
    let run =
        Run::builder(registry([plain("read", Tier::Read), plain("write", Tier::Write)])).build();
    let view = run.view(Surface::Plan, Limits::default());
    let hidden = view.call(call("write")).await.expect_err("hidden");
    let absent = view.call(call("wrote")).await.expect_err("absent");
    assert_eq!(hidden.message.replace("write", "wrote"), absent.message);
    assert_eq!((hidden.kind, hidden.code), (absent.kind, absent.code));
    assert_eq!(view.call(call("read")).await.expect("listed").joined_text(), "read");
}

// spec: TIER-03, VIBE-08
#[tokio::test]
async fn a_childs_authority_is_fixed_when_it_is_made_and_lowered_with_the_surface() {
    let run =
        Run::builder(registry([plain("write", Tier::Write), plain("eval", Tier::Exec)])).build();
    let view = run.view(Surface::Plan, Limits::default());
    let worker_of_plan = view.narrow(Limits::up_to(Tier::Exec));
    view.set_surface(Surface::Full);
    assert!(worker_of_plan.specs().is_empty(), "made under plan, it never writes");
    let worker = view.narrow(Limits::up_to(Tier::Write));
    let names = |dispatch: &Arc<dyn Dispatch>| {
        dispatch.specs().into_iter().map(|s| s.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&worker), ["write"]);
    view.set_surface(Surface::ReadOnly);
    assert!(names(&worker).is_empty(), "a lowered surface lowers its workers");
    view.set_surface(Surface::Full);
    assert_eq!(names(&worker), ["write"]);
    assert_eq!(
        names(&worker.narrow(Limits::up_to(Tier::Exec).without(["write"]))),
        Vec::<String>::new()
    );
}

// spec: TIER-01
#[test]
fn a_wrapper_cannot_lower_a_tier_and_names_are_unique() {
    let lowered = agent_tiers::Registry::builder()
        .tool(plain("write", Tier::Write))
        .wrap(|spec| spec.name == "write", |_| plain("write", Tier::Read));
    assert!(lowered.build().is_err());
    let twice =
        agent_tiers::Registry::builder().tool(plain("a", Tier::Read)).tool(plain("a", Tier::Read));
    assert!(twice.build().is_err());
}
