//! The tools that need a person or workers.

use std::sync::Arc;

use agent_ask::{Asker, Conversation};
use agent_builtins::{Resources, default_rules};
use agent_testkit::NobodyThere;
use agent_tiers::{Policy, Registry, Run, Surface};
use agent_tool_core::{BoxFuture, CardQueue, Dispatch, Limits, Tier, ToolCall, ToolSpec};
use agent_vibe::{Job, RosterLimits, TOOLS, WorkError, WorkerFactory, WorkerTier, Workers};
use serde_json::json;
use tokio::sync::mpsc;

/// Workers that say what they have, and then wait for ever.
struct Looking(mpsc::UnboundedSender<Vec<String>>);

impl WorkerFactory for Looking {
    fn serves(&self, _tier: WorkerTier) -> bool {
        true
    }

    fn start(&self, job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
        let names = job.context().dispatch().specs().into_iter().map(|spec| spec.name).collect();
        self.0.send(names).expect("the test listens");
        Box::pin(std::future::pending())
    }
}

fn asker() -> Asker {
    Asker::new(CardQueue::new(Arc::new(NobodyThere)), Conversation::new("main"))
}

fn workers() -> (Workers, mpsc::UnboundedReceiver<Vec<String>>) {
    let (sender, seen) = mpsc::unbounded_channel();
    (Workers::new(Looking(sender), RosterLimits::default()), seen)
}

fn specs(registry: &Registry) -> Vec<ToolSpec> {
    registry.iter().map(|tool| tool.spec().clone()).collect()
}

fn names(specs: &[ToolSpec]) -> Vec<&str> {
    specs.iter().map(|spec| spec.name.as_str()).collect()
}

// spec: ASK-03, TIER-02, TIER-04, VIBE-01
#[test]
fn a_person_gives_ask_user_and_workers_give_five_and_without_them_there_is_none() {
    let of = |resources: Resources| specs(&resources.registry().expect("a registry"));
    assert_eq!(of(Resources::new()), []);
    let ask = of(Resources::new().ask(asker()));
    assert_eq!(names(&ask), ["ask_user"]);
    assert_eq!((ask[0].tier, ask[0].parallel), (Tier::Read, false));
    let vibe = of(Resources::new().vibe(&workers().0));
    assert_eq!(names(&vibe), TOOLS);
    for spec in ask.iter().chain(&vibe) {
        assert_eq!(spec.tier, Tier::Read, "{}", spec.name);
        assert_eq!(default_rules().policy(spec, &json!({})), Policy::Allow, "{}", spec.name);
        assert_eq!(agent_testkit::spec_faults(spec), Vec::<String>::new());
    }
}

// spec: VIBE-01, VIBE-09
#[tokio::test(start_paused = true)]
async fn vibe_mode_is_put_on_and_off_in_the_middle_of_a_run_and_its_workers_have_neither() {
    let plain = Resources::new().ask(asker()).registry().expect("a registry");
    let run = Run::builder(plain.clone()).build();
    let view = run.view(Surface::Full, Limits::default());
    assert_eq!(names(&view.specs()), ["ask_user"]);

    let (workers, mut seen) = workers();
    let on = plain.to_builder().tools(workers.tools()).build().expect("a registry");
    run.set_registry(on);
    let all: Vec<_> = ["ask_user"].into_iter().chain(TOOLS).collect();
    assert_eq!(names(&view.specs()), all);
    let order = ToolCall::new("vibe_spawn", json!({"brief": "look", "label": "a"}));
    view.call(order.clone()).await.expect("spawned");
    assert_eq!(seen.recv().await.expect("it began"), [""; 0]);

    run.set_registry(plain);
    assert_eq!(workers.turn_off().await.killed, 1);
    assert_eq!(names(&view.specs()), ["ask_user"]);
    assert_eq!(view.call(order).await.expect_err("off").code, "unknown_tool");
}
