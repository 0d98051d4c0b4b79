//! Random registries, surfaces, authorities and chains of calls, held against a model.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, OnceLock},
};

use agent_tiers::{Surface, View};
use agent_tool_core::{
    BoxFuture, CallId, Caller, Context, Dispatch, Limits, Tier, ToolCall, ToolError, ToolOutput,
    ToolSpec,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{FnTool, approving};

/// What somebody does who may call: the main agent, a tool, or a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Step {
    /// The host sets the surface first.
    surface: Option<Surface>,
    /// Then the caller spawns a worker with these limits.
    spawn: Option<Limits>,
    /// Through what it calls.
    via: Via,
    tool: usize,
    /// What the called tool does in turn.
    steps: Vec<Step>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Via {
    /// Its own dispatch.
    Own,
    /// Its own, narrowed at once.
    Narrowed(Limits),
    /// Its own, for a worker whose surroundings have this ceiling.
    Child(Tier),
    /// That of an earlier worker, with surroundings that claim every authority.
    Worker(usize),
    /// That of an earlier worker, on its own behalf.
    Borrowed(usize),
}

const NAMES: [&str; 6] = ["t0", "t1", "t2", "t3", "t4", "t5"];

fn tier() -> impl Strategy<Value = Tier> {
    select(vec![Tier::Read, Tier::Write, Tier::Exec])
}

fn limits() -> impl Strategy<Value = Limits> {
    (option::of(tier()), vec(select(NAMES.to_vec()), 0..2)).prop_map(|(ceiling, without)| {
        let limits = ceiling.map(Limits::up_to).unwrap_or_default();
        limits.without(without)
    })
}

fn via() -> impl Strategy<Value = Via> {
    prop_oneof![
        4 => Just(Via::Own),
        2 => limits().prop_map(Via::Narrowed),
        2 => tier().prop_map(Via::Child),
        3 => (0..4_usize).prop_map(Via::Worker),
        2 => (0..4_usize).prop_map(Via::Borrowed),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let one = || {
        let surface = option::weighted(0.3, select(Surface::ALL.to_vec()));
        (surface, option::weighted(0.3, limits()), via(), 0..NAMES.len())
    };
    let make = |((surface, spawn, via, tool), steps)| Step { surface, spawn, via, tool, steps };
    (one(), Just(Vec::new()))
        .prop_map(make)
        .prop_recursive(3, 24, 3, move |inner| (one(), vec(inner, 0..3)).prop_map(make))
}

/// The tools write down what becomes of every call.
#[derive(Clone, Default)]
struct World {
    view: Arc<OnceLock<View>>,
    workers: Arc<Mutex<Vec<Arc<dyn Dispatch>>>>,
    trace: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn tool(&self, name: &str, tier: Tier) -> FnTool {
        let (world, name) = (self.clone(), name.to_owned());
        FnTool::new(ToolSpec::new(&name, tier, "Calls."), move |args, cx| {
            let (world, name) = (world.clone(), name.clone());
            async move {
                // Whatever the model says: nothing above its ceiling or the surface's cap runs.
                let surface = world.view.get().expect("the view").surface();
                assert!(tier <= cx.ceiling() && surface.admits(tier));
                world.note(format!("{name} runs under {}", cx.ceiling()));
                let steps: Vec<Step> =
                    serde_json::from_value(args["steps"].clone()).expect("steps");
                world.walk(cx, steps).await;
                Ok(ToolOutput::text("done"))
            }
        })
    }

    fn note(&self, line: String) {
        self.trace.lock().expect("not poisoned").push(line);
    }

    fn walk(&self, cx: Context, steps: Vec<Step>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for step in steps {
                self.step(&cx, step).await;
            }
        })
    }

    async fn step(&self, cx: &Context, step: Step) {
        if let Some(surface) = step.surface {
            self.view.get().expect("the view").set_surface(surface);
        }
        if let Some(limits) = step.spawn {
            let worker = cx.dispatch().narrow(limits);
            self.workers.lock().expect("not poisoned").push(worker);
        }
        let nobody = Context::detached();
        let child = |ceiling| {
            let link = Caller::new(cx.call_id().clone(), "worker");
            cx.child(link, CallId::new("worker"), ceiling)
        };
        let worker;
        let (dispatch, parent) = match step.via {
            Via::Own => (Arc::clone(cx.dispatch()), cx),
            Via::Child(ceiling) => {
                worker = child(ceiling);
                (Arc::clone(cx.dispatch()), &worker)
            }
            Via::Narrowed(limits) => (cx.dispatch().narrow(limits), cx),
            Via::Worker(number) | Via::Borrowed(number) => {
                let worker = self.workers.lock().expect("not poisoned").get(number).cloned();
                let Some(worker) = worker else { return };
                (worker, if matches!(step.via, Via::Worker(_)) { &nobody } else { cx })
            }
        };
        let listed: Vec<_> = dispatch.specs().into_iter().map(|spec| spec.name).collect();
        self.note(format!("lists {listed:?}"));
        let name = NAMES[step.tool];
        let call = ToolCall::new(name, json!({"steps": step.steps}));
        if let Err(error) = dispatch.call(call, parent).await {
            self.note(describe(name, &error));
        }
    }
}

fn describe(name: &str, error: &ToolError) -> String {
    match &*error.code {
        "recursive_call" => format!("{name} cannot call itself"),
        _ => {
            let listed = error.message.split("call one of ").last().unwrap_or_default();
            format!("{name}: {} {}: {listed}", error.kind.as_str(), error.code)
        }
    }
}

/// What ought to happen, said in the plainest words: two sets and the smaller of two numbers.
struct Model {
    tiers: Vec<Tier>,
    surface: Surface,
    workers: Vec<Authority>,
    trace: Vec<String>,
}

#[derive(Clone)]
struct Authority {
    ceiling: Tier,
    without: BTreeSet<String>,
}

impl Authority {
    fn narrowed(&self, cap: Tier, limits: &Limits) -> Self {
        let mut narrowed = self.clone();
        narrowed.ceiling = self.ceiling.min(cap).min(limits.ceiling.unwrap_or(Tier::Exec));
        narrowed.without.extend(limits.without.iter().cloned());
        narrowed
    }
}

impl Model {
    fn walk(&mut self, own: &Authority, chain: &[usize], steps: &[Step]) {
        for step in steps {
            self.surface = step.surface.unwrap_or(self.surface);
            if let Some(limits) = &step.spawn {
                self.workers.push(own.narrowed(self.surface.cap(), limits));
            }
            let (authority, parent, chain) = match &step.via {
                Via::Own => (own.clone(), own.ceiling, chain),
                Via::Child(ceiling) => (own.clone(), own.ceiling.min(*ceiling), chain),
                Via::Narrowed(limits) => {
                    (own.narrowed(self.surface.cap(), limits), own.ceiling, chain)
                }
                Via::Worker(number) => match self.workers.get(*number) {
                    Some(worker) => (worker.clone(), Tier::Exec, &[][..]),
                    None => continue,
                },
                Via::Borrowed(number) => match self.workers.get(*number) {
                    Some(worker) => (worker.clone(), own.ceiling, chain),
                    None => continue,
                },
            };
            let ceiling = authority.ceiling.min(self.surface.cap());
            let admits = |tool: usize, ceiling: Tier| {
                self.tiers.get(tool).is_some_and(|tier| *tier <= ceiling)
                    && !authority.without.contains(NAMES[tool])
            };
            let listed: Vec<_> = (0..NAMES.len()).filter(|tool| admits(*tool, ceiling)).collect();
            let ceiling = ceiling.min(parent);
            let found = admits(step.tool, ceiling);
            let there: Vec<_> = (0..NAMES.len()).filter(|tool| admits(*tool, ceiling)).collect();
            let there = there.into_iter().filter(|tool| !chain.contains(tool));
            let there: Vec<_> = there.map(|tool| NAMES[tool]).collect();
            let listed: Vec<_> = listed.into_iter().map(|tool| NAMES[tool]).collect();
            self.trace.push(format!("lists {listed:?}"));
            let name = NAMES[step.tool];
            if !found {
                let there = if there.is_empty() {
                    "the tools that are listed".into()
                } else {
                    there.join(", ")
                };
                self.trace.push(format!("{name}: not_found unknown_tool: {there}"));
            } else if chain.contains(&step.tool) {
                self.trace.push(format!("{name} cannot call itself"));
            } else {
                self.trace.push(format!("{name} runs under {ceiling}"));
                let own = Authority { ceiling, without: authority.without };
                let chain: Vec<_> = chain.iter().copied().chain([step.tool]).collect();
                self.walk(&own, &chain, &step.steps);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(768))]

    // spec: TIER-01, TIER-03, TIER-09
    #[test]
    fn nothing_hidden_runs_and_no_path_raises_a_ceiling(
        tiers in vec(tier(), 1..=NAMES.len()),
        ceiling in tier(),
        surface in select(Surface::ALL.to_vec()),
        limits in limits(),
        steps in vec(step(), 1..5),
    ) {
        let world = World::default();
        let tools = tiers.iter().zip(NAMES).map(|(tier, name)| world.tool(name, *tier));
        let run = approving(tools).ceiling(ceiling).build();
        let view = run.view(surface, limits.clone());
        assert!(world.view.set(view.clone()).is_ok());
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(world.walk(view.root(), steps.clone()));

        let own = Authority { ceiling, without: BTreeSet::new() }.narrowed(ceiling, &limits);
        let mut model = Model { tiers, surface, workers: Vec::new(), trace: Vec::new() };
        model.walk(&own, &[], &steps);
        prop_assert_eq!(&*world.trace.lock().expect("not poisoned"), &model.trace);
    }
}

#[test]
fn steps_survive_their_way_through_arguments() {
    let step = Step {
        surface: Some(Surface::Plan),
        spawn: Some(Limits::up_to(Tier::Write)),
        via: Via::Worker(1),
        tool: 2,
        steps: Vec::new(),
    };
    let value: Value = serde_json::to_value(&step).expect("JSON");
    let back: Step = serde_json::from_value(value).expect("a step");
    assert_eq!(format!("{back:?}"), format!("{step:?}"));
}
