//! Workers in a run: what they may do, and who is asked.

use std::sync::{Arc, Mutex};

use agent_tiers::{
    Approval, ApproveMode, Registry, Rules, Run, Surface, View, WaitsFor, Watcher, What,
};
use agent_tool_core::{
    BoxFuture, Card, CardError, CardPort, CardQueue, Context, Event, Limits, Reply, Tier, Tool,
    ToolCall, ToolOutput, ToolResult, ToolSpec,
};
use agent_vibe::{Job, RosterLimits, WorkError, Workers};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::support::{Crew, FromFn, Started, code, in_time};

/// A tool that says its name.
struct Says(ToolSpec);

impl Tool for Says {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async { Ok(ToolOutput::text(&self.0.name)) })
    }
}

/// A tool that never ends.
struct Hangs(ToolSpec);

impl Tool for Hangs {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(std::future::pending())
    }
}

/// An exclusive tool that waits for a worker, as a cell may.
struct Waits(ToolSpec);

impl Tool for Waits {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _args: Value, cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(cx.call(ToolCall::new("vibe_wait", json!({"worker_id": " w1"}))))
    }
}

/// A person who is shown cards.
struct Person(mpsc::UnboundedSender<(Card, oneshot::Sender<Reply>)>);

impl CardPort for Person {
    fn connected(&self) -> bool {
        true
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        let (reply, answer) = oneshot::channel();
        self.0.send((card, reply)).expect("the test holds the cards");
        Box::pin(async move { Ok(answer.await.unwrap_or(Reply::Withdrawn)) })
    }
}

/// A run with workers whose attempts the test plays, and its person.
struct Scene {
    run: Run,
    crew: Crew,
    cards: mpsc::UnboundedReceiver<(Card, oneshot::Sender<Reply>)>,
}

impl Scene {
    fn new() -> Self {
        Self::with_mode(ApproveMode::Ask)
    }

    fn with_mode(mode: ApproveMode) -> Self {
        let crew = Crew::new();
        let (shown, cards) = mpsc::unbounded_channel();
        let queue = CardQueue::new(Arc::new(Person(shown)));
        let says = |name: &str, tier| -> Arc<dyn Tool> {
            Arc::new(Says(ToolSpec::new(name, tier, "Says its name.")))
        };
        let tools = [
            says("look", Tier::Read),
            says("change", Tier::Write),
            says("start", Tier::Exec),
            says("ask_user", Tier::Read),
            Arc::new(Hangs(ToolSpec::new("hang", Tier::Read, "Never ends."))),
            Arc::new(Says(ToolSpec::new("shell", Tier::Exec, "Says its name.").exclusive())),
            Arc::new(Waits(ToolSpec::new("cell", Tier::Read, "Waits for w1.").exclusive())),
        ];
        let registry = Registry::builder().tools(tools).tools(crew.workers.tools()).build();
        let approval = Approval::with_queue(mode, Rules::default(), queue);
        let run = Run::builder(registry.expect("a registry")).approval(approval).build();
        Self { run, crew, cards }
    }

    fn view(&self, surface: Surface) -> View {
        self.run.view(surface, Limits::default())
    }

    async fn card(&mut self) -> (Card, oneshot::Sender<Reply>) {
        in_time(self.cards.recv()).await.expect("a card")
    }

    /// Spawns a worker from this view and gives its attempt, with the call over.
    async fn spawn(&mut self, view: &View, args: Value) -> Started {
        let mut order = json!({"brief": "do it", "label": "parser"});
        order.as_object_mut().expect("an object").extend(args.as_object().cloned().expect("one"));
        view.call(ToolCall::new("vibe_spawn", order)).await.expect("spawned");
        self.crew.next().await
    }
}

fn names(cx: &Context) -> Vec<String> {
    cx.dispatch().specs().into_iter().map(|spec| spec.name).collect()
}

async fn call(cx: &Context, name: &str) -> ToolResult {
    in_time(cx.call(ToolCall::new(name, json!({})))).await
}

// spec: TIER-09, VIBE-09
#[tokio::test(start_paused = true)]
async fn a_worker_calls_on_after_the_call_that_spawned_it_and_has_no_workers_and_no_questions() {
    let mut scene = Scene::with_mode(ApproveMode::All);
    let view = scene.view(Surface::Full);
    let started = scene.spawn(&view, json!({})).await;
    assert_eq!(scene.run.live_calls(), []);
    let cx = started.job.context();
    assert_eq!(names(cx), ["look", "change", "start", "hang", "shell", "cell"]);
    for name in ["look", "change", "start"] {
        assert_eq!(call(cx, name).await.expect("a call").joined_text(), name);
    }
    for name in ["vibe_spawn", "vibe_send", "vibe_wait", "vibe_kill", "vibe_list", "ask_user"] {
        assert_eq!(code(call(cx, name).await), "unknown_tool", "{name}");
    }
}

// spec: VIBE-08, TIER-03
#[tokio::test(start_paused = true)]
async fn what_plan_mode_may_not_do_its_workers_may_not_do_even_when_the_surface_is_raised() {
    let mut scene = Scene::with_mode(ApproveMode::All);
    let view = scene.view(Surface::Plan);
    let started = scene.spawn(&view, json!({})).await;
    assert_eq!(started.job.authority(), Tier::Read);
    view.set_surface(Surface::Full);
    let cx = started.job.context();
    assert_eq!(names(cx), ["look", "hang", "cell"]);
    for name in ["change", "start"] {
        assert_eq!(code(call(cx, name).await), "unknown_tool");
    }
    // Nor does a message raise it.
    started.done("done");
    let wait = ToolCall::new("vibe_wait", json!({"worker_id": "w1"}));
    view.call(wait).await.expect("done");
    let send = ToolCall::new("vibe_send", json!({"worker_id": "w1", "message": "more"}));
    view.call(send).await.expect("sent");
    let again = scene.crew.next().await;
    assert_eq!(
        (again.job.authority(), names(again.job.context())),
        (Tier::Read, vec!["look".into(), "hang".into(), "cell".into()])
    );
}

// spec: VIBE-08
#[tokio::test(start_paused = true)]
async fn authority_may_be_less_than_the_callers_and_never_more() {
    let mut scene = Scene::with_mode(ApproveMode::All);
    let full = scene.view(Surface::Full);
    let started = scene.spawn(&full, json!({"authority": "write", "tier": "fast"})).await;
    assert_eq!(started.job.authority(), Tier::Write);
    assert_eq!(names(started.job.context()), ["look", "change", "hang", "cell"]);
    assert_eq!(code(call(started.job.context(), "start").await), "unknown_tool");

    let plan = scene.view(Surface::Plan);
    let order = json!({"brief": "b", "label": "a", "authority": "exec"});
    let refused = plan.call(ToolCall::new("vibe_spawn", order)).await.expect_err("refused");
    assert_eq!(refused.code, "authority_exceeded");
    assert!(refused.message.contains("its caller has read"), "{}", refused.message);

    // A caller that may do less than a worker has none to do it for it.
    let send = ToolCall::new("vibe_send", json!({"worker_id": "w1", "message": "change it"}));
    let refused = plan.call(send.clone()).await.expect_err("refused");
    assert_eq!(refused.code, "authority_exceeded");
    assert_eq!(scene.crew.workers.list()[0].queued, 0);
    full.call(send).await.expect("the spawner may");
}

#[tokio::test(start_paused = true)]
async fn a_surface_that_is_lowered_lowers_a_worker_too() {
    let mut scene = Scene::with_mode(ApproveMode::All);
    let view = scene.view(Surface::Full);
    let started = scene.spawn(&view, json!({})).await;
    view.set_surface(Surface::Plan);
    assert_eq!(names(started.job.context()), ["look", "hang", "cell"]);
    assert_eq!(code(call(started.job.context(), "change").await), "unknown_tool");
}

// spec: TIER-07, TIER-09
#[tokio::test(start_paused = true)]
async fn a_permission_that_a_worker_needs_is_a_card_that_names_it() {
    let mut scene = Scene::new();
    let view = scene.view(Surface::Full);
    let started = scene.spawn(&view, json!({})).await;
    let cx = started.job.context().clone();
    let change = tokio::spawn(async move { call(&cx, "change").await });
    let (card, reply) = scene.card().await;
    let callers: Vec<_> = card.asked_by.iter().map(|caller| caller.name.as_str()).collect();
    assert_eq!(callers, ["w1 (parser)"]);
    reply.send(Reply::option("allow_run")).expect("it waits");
    change.await.expect("no panic").expect("allowed");
    call(started.job.context(), "change").await.expect("allowed for the run");

    // What was allowed to one worker is not allowed to another of the same label.
    let other = scene.spawn(&view, json!({})).await;
    let cx = other.job.context().clone();
    let change = tokio::spawn(async move { call(&cx, "change").await });
    let (card, reply) = scene.card().await;
    assert_eq!(card.asked_by.last().expect("a caller").name, "w2 (parser)");
    reply.send(Reply::option("reject_once")).expect("it waits");
    assert_eq!(code(change.await.expect("no panic")), "refused_by_person");
}

// spec: VIBE-06
#[tokio::test(start_paused = true)]
async fn a_killed_worker_takes_its_cards_and_calls_with_it_wherever_they_wait() {
    let mut scene = Scene::new();
    let view = scene.view(Surface::Full);
    let started = scene.spawn(&view, json!({})).await;
    // Not in the worker's own future, which the kill drops, but in tasks that it left behind.
    let begin = |name: &'static str| {
        let cx = started.job.context().clone();
        tokio::spawn(async move { call(&cx, name).await })
    };
    let (change, hang) = (begin("change"), begin("hang"));
    let (_card, reply) = scene.card().await;
    let kill = ToolCall::new("vibe_kill", json!({"worker_id": "w1"}));
    view.call(kill).await.expect("killed");
    assert_eq!(code(change.await.expect("no panic")), "worker_ended");
    assert_eq!(code(hang.await.expect("no panic")), "worker_ended");
    assert!(reply.is_closed(), "the card is withdrawn");
    assert_eq!(scene.run.live_calls(), []);
    assert_eq!(code(call(started.job.context(), "look").await), "worker_ended");
    assert_eq!(names(started.job.context()), [""; 0]);
}

// spec: TIER-08, TIER-09
#[tokio::test(start_paused = true)]
async fn workers_wait_behind_a_card_and_go_on_whatever_becomes_of_it() {
    let mut scene = Scene::new();
    let view = scene.view(Surface::Full);
    let shell = |cx: &Context| {
        let cx = cx.clone();
        tokio::spawn(async move { call(&cx, "shell").await })
    };
    let (first, second) =
        (scene.spawn(&view, json!({})).await, scene.spawn(&view, json!({})).await);
    let third = scene.spawn(&view, json!({})).await;
    let skipped = shell(first.job.context());
    let (_, reply) = scene.card().await;
    let killed = shell(second.job.context());
    let stays = shell(third.job.context());
    // The agent waits for one of those that wait.
    let wait = ToolCall::new("vibe_wait", json!({"worker_id": "w3"}));
    let wait = tokio::spawn(view.call(wait));
    reply.send(Reply::Skipped).expect("it waits");
    assert_eq!(code(skipped.await.expect("no panic")), "no_answer");
    let (card, reply) = scene.card().await;
    assert_eq!(card.asked_by.last().expect("a caller").name, "w2 (parser)");
    let kill = ToolCall::new("vibe_kill", json!({"worker_id": "w2"}));
    in_time(view.call(kill)).await.expect("killed");
    assert!(reply.is_closed(), "the card is withdrawn");
    assert_eq!(code(killed.await.expect("no panic")), "worker_ended");
    let (card, reply) = scene.card().await;
    assert_eq!(card.asked_by.last().expect("a caller").name, "w3 (parser)");
    reply.send(Reply::option("allow_once")).expect("it waits");
    stays.await.expect("no panic").expect("its turn");
    third.done("done");
    wait.await.expect("no panic").expect("done");
}

// spec: TIER-08, VIBE-06
#[tokio::test(start_paused = true)]
async fn a_worker_that_is_killed_in_the_line_leaves_no_place_in_it() {
    let mut scene = Scene::with_mode(ApproveMode::All);
    let view = scene.view(Surface::Full);
    let first = scene.spawn(&view, json!({})).await;
    let second = scene.spawn(&view, json!({})).await;
    // The cell has its turn for as long as w1 is at work.
    let cell = tokio::spawn(view.call(ToolCall::new("cell", json!({}))));
    let waits_for_turn = || {
        let calls = scene.run.live_calls();
        calls.iter().filter(|call| call.waits_for == WaitsFor::Turn).count()
    };
    let at_work = |name: &str| scene.run.live_calls().iter().any(|call| call.name == name);
    while !at_work("vibe_wait") {
        tokio::task::yield_now().await;
    }
    let cx = second.job.context().clone();
    let queued = tokio::spawn(async move { call(&cx, "cell").await });
    while waits_for_turn() == 0 {
        tokio::task::yield_now().await;
    }
    // Who is waited for does not wait.
    assert_eq!(code(call(first.job.context(), "cell").await), "busy_tool");
    let kill = ToolCall::new("vibe_kill", json!({"worker_id": "w2"}));
    in_time(view.call(kill)).await.expect("killed");
    assert_eq!(code(queued.await.expect("no panic")), "worker_ended");
    assert_eq!(waits_for_turn(), 0);
    first.done("done");
    cell.await.expect("no panic").expect("w1 is done");
    in_time(view.call(ToolCall::new("cell", json!({})))).await.expect("nobody is in the line");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_done_calls_no_more_until_it_is_sent_something() {
    let mut scene = Scene::new();
    let view = scene.view(Surface::Full);
    let started = scene.spawn(&view, json!({})).await;
    let cx = started.job.context().clone();
    let narrowed = cx.dispatch().narrow(Limits::default());
    started.done("done");
    let wait = ToolCall::new("vibe_wait", json!({"worker_id": "w1"}));
    view.call(wait).await.expect("done");
    assert_eq!(code(call(&cx, "look").await), "worker_ended");
    assert_eq!(code(narrowed.call(ToolCall::new("look", json!({})), &cx).await), "worker_ended");
    let send = ToolCall::new("vibe_send", json!({"worker_id": "w1", "message": "more"}));
    view.call(send).await.expect("sent");
    let again = scene.crew.next().await;
    call(again.job.context(), "look").await.expect("the next attempt calls");
    assert_eq!(code(call(&cx, "look").await), "worker_ended");
}

fn events(watcher: &mut Watcher) -> Vec<(String, Option<String>, Event)> {
    std::iter::from_fn(|| watcher.try_next())
        .filter_map(|watched| match &watched.record.what {
            What::Event { call_id, parent, event } => {
                let parent = parent.as_ref().map(ToString::to_string);
                Some((call_id.to_string(), parent, event.clone()))
            }
            _ => None,
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_worker_tells_reaches_whoever_watches_the_run() {
    let mut scene = Scene::new();
    let mut watcher = scene.run.watch();
    let view = scene.view(Surface::Full);
    let started = scene.spawn(&view, json!({})).await;
    started.job.output("reading");
    let job = started.job.clone();
    started.done("done");
    let wait = ToolCall::new("vibe_wait", json!({"worker_id": "w1"}));
    view.call(wait).await.expect("done");
    job.output("nothing of this is told");
    let told = |event| ("worker_w1".to_owned(), Some("call_1".to_owned()), event);
    assert_eq!(
        events(&mut watcher),
        [
            told(Event::Output { text: "reading".to_owned() }),
            told(Event::progress("w1 (parser) is done")),
        ]
    );
}

// spec: VIBE-01, TIER-04
#[tokio::test(start_paused = true)]
async fn a_run_that_is_over_ends_its_workers() {
    let kept: Arc<Mutex<Option<Job>>> = Arc::default();
    let keeps = Arc::clone(&kept);
    let (begun, mut begins) = mpsc::unbounded_channel();
    let factory = FromFn(move |job: Job| {
        *keeps.lock().expect("not poisoned") = Some(job);
        begun.send(()).expect("the test listens");
        std::future::pending::<Result<String, WorkError>>()
    });
    let workers = Workers::new(factory, RosterLimits::default());
    let registry = Registry::builder().tools(workers.tools()).build().expect("a registry");
    drop(workers);
    let run = Run::builder(registry).build();
    let view = run.view(Surface::Full, Limits::default());
    let order = json!({"brief": "b", "label": "a"});
    view.call(ToolCall::new("vibe_spawn", order)).await.expect("spawned");
    in_time(begins.recv()).await.expect("begun");
    drop(run);
    let job = kept.lock().expect("not poisoned").take().expect("a job");
    in_time(job.scope().over()).await;
}
