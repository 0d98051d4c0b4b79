//! Exclusive tools.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Poll, Wake, Waker},
    time::Duration,
};

use agent_tiers::{Run, Surface, View, WaitsFor};
use agent_tool_core::{
    CallId, Caller, Context, ErrorKind, Tier, ToolCall, ToolOutput, ToolResult, ToolSpec,
};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{
    FnTool, approving, asking, asking_by, call_with, calls, card, code, full, outline, person,
    registry, says,
};

/// An exclusive tool that notes its number when it begins and when it ends, and waits in between.
struct Session {
    notes: Arc<Mutex<Vec<String>>>,
    go: Arc<Semaphore>,
}

impl Session {
    fn new() -> Self {
        Self { notes: Arc::default(), go: Arc::new(Semaphore::new(0)) }
    }

    fn tool(&self, name: &str, tier: Tier) -> FnTool {
        let (notes, go) = (Arc::clone(&self.notes), Arc::clone(&self.go));
        let spec = ToolSpec::new(name, tier, "A session.").exclusive();
        FnTool::new(spec, move |args, _| {
            let (notes, go) = (Arc::clone(&notes), Arc::clone(&go));
            async move {
                let note = |word| {
                    notes.lock().expect("not poisoned").push(format!("{word} {}", args["n"]));
                };
                note("begin");
                go.acquire().await.expect("open").forget();
                note("end");
                Ok(ToolOutput::text("done"))
            }
        })
    }

    fn notes(&self) -> Vec<String> {
        self.notes.lock().expect("not poisoned").clone()
    }
}

/// Polls once and says whether the future is done.
async fn poll_once<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

fn waits(run: &Run) -> Vec<(String, WaitsFor)> {
    let calls = run.live_calls();
    calls.into_iter().map(|call| (call.call_id.to_string(), call.waits_for)).collect()
}

// spec: TIER-08
#[tokio::test(start_paused = true)]
async fn calls_of_an_exclusive_tool_run_in_the_order_in_which_they_came() {
    let session = Session::new();
    let run = approving([session.tool("debug", Tier::Exec)]).build();
    let view = full(&run);
    let start = |n: u32| view.start(ToolCall::new("debug", json!({"n": n})), &view.root());
    let (mut first, mut second, mut third) = (start(1), start(2), start(3));
    // The order of arrival counts, not the order in which an executor polls.
    assert!(!poll_once(&mut third).await);
    assert!(!poll_once(&mut second).await);
    assert_eq!(session.notes(), [""; 0]);
    assert!(!poll_once(&mut first).await);
    let waits: Vec<_> = run.live_calls().iter().map(|call| call.waits_for).collect();
    assert_eq!(waits, [WaitsFor::Tool, WaitsFor::Turn, WaitsFor::Turn]);
    session.go.add_permits(3);
    let (_, _, _) = tokio::join!(third, second, first);
    let expected = ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"];
    assert_eq!(session.notes(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_person_keeps_its_place() {
    let session = Session::new();
    session.go.add_permits(2);
    let (port, mut cards) = person();
    let rules = agent_tiers::Rules::default()
        .with(agent_tiers::Rule::new("debug", agent_tiers::Policy::Allow))
        .with(agent_tiers::Rule::new("debug", agent_tiers::Policy::Ask).when("op", ["launch"]));
    let run = Run::builder(registry([session.tool("debug", Tier::Exec)]))
        .approval(asking_by(rules, &port))
        .build();
    let view = full(&run);
    let start = |op: &str, n: u32| {
        view.start(ToolCall::new("debug", json!({"op": op, "n": n})), &view.root())
    };
    let (mut launch, mut stack) = (start("launch", 1), start("stack", 2));
    assert!(!poll_once(&mut launch).await);
    assert!(!poll_once(&mut stack).await);
    assert_eq!(
        waits(&run),
        [("call_1".to_owned(), WaitsFor::Approval), ("call_2".to_owned(), WaitsFor::Turn)]
    );
    card(&mut cards).await.choose("allow_once");
    let (stack, launch) = tokio::join!(stack, launch);
    assert!(stack.is_ok() && launch.is_ok());
    assert_eq!(session.notes(), ["begin 1", "end 1", "begin 2", "end 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_gives_its_place_up() {
    let session = Session::new();
    session.go.add_permits(1);
    let (port, mut cards) = person();
    let run = Run::builder(registry([
        session.tool("look", Tier::Read),
        session.tool("eval", Tier::Exec),
    ]))
    .approval(asking(&port))
    .build();
    let view = full(&run);
    let refused = tokio::spawn(view.start(ToolCall::new("eval", json!({"n": 1})), &view.root()));
    let waiting = tokio::spawn(view.start(ToolCall::new("eval", json!({"n": 2})), &view.root()));
    card(&mut cards).await.choose("reject_once");
    card(&mut cards).await.choose("allow_once");
    assert_eq!(code(refused.await.expect("no panic")), "refused_by_person");
    waiting.await.expect("no panic").expect("allowed");
    assert_eq!(session.notes(), ["begin 2", "end 2"]);
}

/// A call that waited would wait for ever; the paused clock then runs to the limit at once.
async fn is_busy(call: impl Future<Output = ToolResult>) {
    let result = tokio::time::timeout(Duration::from_secs(1), call).await;
    let error = result.expect("no wait").expect_err("busy");
    assert_eq!((error.kind, &*error.code), (ErrorKind::Conflict, "busy_tool"));
}

// spec: TIER-08
#[tokio::test(start_paused = true)]
async fn a_nested_call_never_waits_for_a_turn() {
    let session = Session::new();
    let tools =
        [session.tool("debug", Tier::Exec), calls("cell", Tier::Exec), calls("outer", Tier::Exec)];
    let run = approving(tools).build();
    let view = full(&run);
    let nested = json!({"tool": "debug", "args": {"n": 2}});
    let mut holder = view.start(ToolCall::new("debug", json!({"n": 1})), &view.root());
    assert!(!poll_once(&mut holder).await);
    assert_eq!(waits(&run), [("call_1".to_owned(), WaitsFor::Tool)]);
    is_busy(call_with(&view, "cell", nested.clone())).await;
    let inner = json!({"tool": "cell", "args": nested.clone()});
    is_busy(worker(&view).call(ToolCall::new("outer", inner))).await;

    session.go.add_permits(2);
    holder.await.expect("its turn");
    call_with(&view, "cell", nested).await.expect("a free turn is taken");
    assert_eq!(session.notes(), ["begin 1", "end 1", "begin 2", "end 2"]);
}

/// The surroundings of a worker.
fn worker(view: &View) -> Context {
    let link = Caller::new(CallId::new("call_0"), "fast_1");
    view.root().child(link, CallId::new("fast_1"), Tier::Exec)
}

// spec: TIER-08, TIER-09
#[tokio::test(start_paused = true)]
async fn a_worker_waits_in_the_same_line_as_the_main_agent() {
    let session = Session::new();
    let run = approving([session.tool("debug", Tier::Exec)]).build();
    let view = full(&run);
    let worker = worker(&view);
    let call = |n: u32| ToolCall::new("debug", json!({"n": n}));
    let (mut first, second, third) = (view.call(call(1)), worker.call(call(2)), view.call(call(3)));
    let mut second = Box::pin(second);
    assert!(!poll_once(&mut second).await);
    assert!(!poll_once(&mut first).await);
    session.go.add_permits(3);
    let (first, second, third) = tokio::join!(first, second, third);
    assert!(first.is_ok() && second.is_ok() && third.is_ok());
    let expected = ["begin 1", "end 1", "begin 3", "end 3", "begin 2", "end 2"];
    assert_eq!(session.notes(), expected);
}

/// An exclusive tool that waits for whom its arguments name until it is told to go on.
fn waits_for(name: &str, go: &Arc<Semaphore>) -> FnTool {
    let go = Arc::clone(go);
    FnTool::new(ToolSpec::new(name, Tier::Exec, "Waits.").exclusive(), move |args, cx| {
        let go = Arc::clone(&go);
        async move {
            let other = args["for"].as_str().map(|other| CallId::new(other.to_owned()));
            let _noted = other.map(|other| cx.dispatch().note_wait(&other, &cx));
            go.acquire().await.expect("open").forget();
            Ok(ToolOutput::text("done"))
        }
    })
}

// spec: TIER-08
#[tokio::test(start_paused = true)]
async fn who_is_waited_for_does_not_wait_for_who_waits() {
    let go = Arc::new(Semaphore::new(0));
    let run = approving([waits_for("cell", &go), waits_for("other", &go)]).build();
    let view = full(&run);
    let of = |id: &str| {
        view.root().child(Caller::new(CallId::new("call_0"), id), CallId::new(id), Tier::Exec)
    };
    let (w1, w2) = (of("w1"), of("w2"));
    let call = |name: &str, of: &str| ToolCall::new(name, json!({"for": of}));

    // The one who is waited for comes when the wait is noted.
    let mut holder = view.call(call("cell", "w1"));
    assert!(!poll_once(&mut holder).await);
    is_busy(w1.call(ToolCall::new("cell", json!({})))).await;
    // Who is not waited for has the next turn.
    let mut next = Box::pin(w2.call(call("cell", "w1")));
    assert!(!poll_once(&mut next).await);
    // It waits in the line when the next holder begins to wait for it.
    let mut before = Box::pin(w1.call(ToolCall::new("other", json!({}))));
    assert!(!poll_once(&mut before).await);
    let mut line = view.call(call("other", "w2"));
    assert!(!poll_once(&mut line).await);
    go.add_permits(1);
    holder.await.expect("it ends");
    assert!(!poll_once(&mut next).await);
    let mut late = Box::pin(w2.call(call("other", "")));
    assert!(!poll_once(&mut late).await);
    // `other` goes to a call that waits for w2, which waits for `other`.
    go.add_permits(1);
    before.await.expect("it ends");
    assert!(!poll_once(&mut line).await);
    is_busy(late).await;
    go.add_permits(2);
    line.await.expect("it ends");
    next.await.expect("it ends");
    assert_eq!(run.live_calls(), []);
}

// spec: TIER-08
#[tokio::test(start_paused = true)]
async fn a_circle_of_two_tools_is_seen() {
    let go = Arc::new(Semaphore::new(0));
    let run = approving([waits_for("cell", &go), waits_for("other", &go)]).build();
    let view = full(&run);
    let of = |id: &str| {
        view.root().child(Caller::new(CallId::new("call_0"), id), CallId::new(id), Tier::Exec)
    };
    let call = |name: &str, of: &str| ToolCall::new(name, json!({"for": of}));
    let (mut cell, mut other) = (view.call(call("cell", "w1")), view.call(call("other", "w2")));
    assert!(!poll_once(&mut cell).await && !poll_once(&mut other).await);
    let (w1, w2) = (of("w1"), of("w2"));
    let mut first = Box::pin(w1.call(ToolCall::new("other", json!({}))));
    assert!(!poll_once(&mut first).await, "w2 is not in its way yet");
    is_busy(w2.call(ToolCall::new("cell", json!({})))).await;
    go.add_permits(3);
    let (cell, other, first) = tokio::join!(cell, other, first);
    assert!(cell.is_ok() && other.is_ok() && first.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_exclusive_tool_that_calls_itself_is_a_conflict_and_its_turn_is_free_afterwards() {
    let cell =
        FnTool::new(ToolSpec::new("cell", Tier::Exec, "").exclusive(), |args, cx| async move {
            match args["then"].as_str() {
                Some(name) => cx.call(ToolCall::new(name, json!({}))).await,
                None => Ok(ToolOutput::text("done")),
            }
        });
    let run = approving([cell, says("debug", Tier::Exec)]).build();
    let view = full(&run);
    let itself = call_with(&view, "cell", json!({"then": "cell"})).await.expect_err("itself");
    assert_eq!((itself.kind, &*itself.code), (ErrorKind::Conflict, "recursive_call"));
    call_with(&view, "cell", json!({"then": "debug"})).await.expect("another tool");
    call_with(&view, "cell", json!({})).await.expect("the turn is free again");
}

// spec: TIER-03
#[tokio::test(start_paused = true)]
async fn a_surface_that_was_lowered_while_a_call_waited_for_its_turn_holds_for_it() {
    let session = Session::new();
    session.go.add_permits(2);
    let run = approving([session.tool("debug", Tier::Exec)]).build();
    let view = full(&run);
    let start = |n: u32| view.start(ToolCall::new("debug", json!({"n": n})), &view.root());
    let (first, mut second) = (start(1), start(2));
    assert!(!poll_once(&mut second).await);
    first.await.expect("the surface is full");
    view.set_surface(Surface::Plan);
    assert_eq!(code(second.await), "unknown_tool");
    assert_eq!(session.notes(), ["begin 1", "end 1"]);
}

/// Notes whether it was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Woken by a record, notes whether the next in line was woken before.
struct Witness {
    next: Arc<Woken>,
    seen: Mutex<Vec<bool>>,
}

impl Wake for Witness {
    fn wake(self: Arc<Self>) {
        self.seen.lock().expect("not poisoned").push(self.next.0.load(Ordering::SeqCst));
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_free_before_its_call_is_said_to_be_over() {
    let session = Session::new();
    let run = approving([session.tool("debug", Tier::Exec)]).build();
    let view = full(&run);
    let start = || view.start(ToolCall::new("debug", json!({})), &view.root());
    let (mut holder, mut next) = (start(), start());
    assert!(!poll_once(&mut holder).await);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    assert!(next.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());

    let witness = Arc::new(Witness { next: woken, seen: Mutex::default() });
    let mut watcher = run.watch();
    let mut record = Box::pin(watcher.next());
    let waker = Waker::from(Arc::clone(&witness));
    assert!(record.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
    drop(holder);
    assert_eq!(*witness.seen.lock().expect("not poisoned"), [true]);
    let record = record.await.expect("a record").record;
    assert_eq!(outline(&record.what), "cancelled call_1 tool");
}
