//! Stopping workers.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use agent_tool_core::Context;
use agent_vibe::{Job, KILL_WITHIN, Order, RosterLimits, Status, Workers};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use crate::support::{AT_ONCE, Crew, FromFn, Stubborn, call, in_time, result};

/// More than the bound by what a busy machine takes.
const KILL_AT_MOST: Duration = Duration::from_millis(2_500);

fn id(id: &str) -> Value {
    json!({"worker_id": id})
}

// spec: VIBE-06
#[tokio::test(start_paused = true)]
async fn a_kill_ends_the_worker_and_whoever_waits_and_keeps_what_it_had_said() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let started = crew.next().await;
    started.job.output("half of it");
    let (one, two) = (crew.waiting("w1").await, crew.waiting("w1").await);
    let killed = crew.call("vibe_kill", id("w1")).await.expect("killed");
    assert_eq!(
        (&killed.data["status"], &killed.data["result"], killed.data.get("detached")),
        (&json!("killed"), &json!("half of it"), None)
    );
    assert_eq!(
        killed.joined_text(),
        "w1 (a) was killed (attempt 1, 0.0 s); it had said:\nhalf of it"
    );
    for waiting in [one, two] {
        assert_eq!(result(waiting).await.expect("an end").data, killed.data);
    }
    started.dropped().await;
    assert_eq!(crew.status("w1").await, "killed");
}

// spec: VIBE-06
#[tokio::test(start_paused = true)]
async fn a_kill_is_for_good_and_a_second_one_tells_the_same() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let _started = crew.next().await;
    let first = crew.data("vibe_kill", id("w1")).await;
    let second = crew.data("vibe_kill", id("w1")).await;
    assert_eq!(first, second);
    assert_eq!(in_time(crew.call("vibe_wait", id("w1"))).await.expect("at once").data, first);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_done_may_be_killed_and_keeps_its_result() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let waiting = crew.waiting("w1").await;
    crew.next().await.done("the result");
    result(waiting).await.expect("done");
    let killed = crew.data("vibe_kill", id("w1")).await;
    assert_eq!((&killed["status"], &killed["result"]), (&json!("killed"), &json!("the result")));
}

/// Counts when it is dropped.
struct Counts(Arc<AtomicUsize>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

// spec: VIBE-06
#[tokio::test(start_paused = true)]
async fn a_kill_takes_all_that_the_worker_holds_before_it_returns() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&dropped);
    let (begun, mut begins) = unbounded_channel();
    let workers = Workers::new(
        FromFn(move |job: Job| {
            let (counter, begun) = (Arc::clone(&counter), begun.clone());
            async move {
                // A process that the attempt holds, and an interpreter that outlives it.
                let _process = Counts(Arc::clone(&counter));
                job.scope().keep(Counts(Arc::clone(&counter)));
                let scope = job.scope().clone();
                // A task of its own, which the scope tells to end.
                tokio::spawn(async move {
                    let _task = Counts(counter);
                    scope.over().await;
                });
                begun.send(()).expect("the test listens");
                std::future::pending().await
            }
        }),
        RosterLimits::default(),
    );
    workers.spawn(Order::new("b", "a"), &Context::detached()).expect("spawned");
    in_time(begins.recv()).await.expect("begun");
    let killed = workers.kill("w1").await.expect("killed");
    assert!(!killed.detached);
    tokio::task::yield_now().await;
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_by_a_scope_that_is_over_is_dropped_at_once() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let started = crew.next().await;
    crew.data("vibe_kill", id("w1")).await;
    assert!(started.job.scope().is_over());
    let dropped = Arc::new(AtomicUsize::new(0));
    started.job.scope().keep(Counts(Arc::clone(&dropped)));
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

// spec: VIBE-06
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_worker_that_ignores_its_end_is_let_go_in_two_seconds_and_its_late_result_ignored() {
    for at_start in [true, false] {
        let (let_go, held) = mpsc::channel();
        let (begins, mut begun) = unbounded_channel();
        let factory = Stubborn { let_go: Mutex::new(held).into(), at_start, begins };
        let workers = Workers::new(factory, RosterLimits::default().running(1));
        workers.spawn(Order::new("b", "a"), &Context::detached()).expect("spawned");
        in_time(begun.recv()).await.expect("at work");
        let waits = workers.clone();
        let waiting = tokio::spawn(async move { waits.wait("w1", None).await });
        let before = Instant::now();
        let killed = call(&workers, "vibe_kill", id("w1")).await.expect("killed");
        let took = before.elapsed();
        assert!(took >= KILL_WITHIN && took < KILL_AT_MOST, "{took:?}");
        assert_eq!(killed.data["detached"], true);
        assert!(killed.joined_text().contains("did not stop within 2 s"), "{killed:?}");
        let waited = in_time(waiting).await.expect("no panic").expect("an end");
        assert_eq!(waited.status, Status::Killed);
        // Its slot is free, and whatever comes of it now changes nothing.
        let other = workers.spawn(Order::new("b", "other"), &Context::detached());
        assert_eq!(other.expect("a slot").worker_id, "w2");
        let_go.send(()).expect("it still works");
        let_go.send(()).expect("the other may end too");
        while workers.list()[0].detached {
            tokio::task::yield_now().await;
        }
        let after = workers.kill("w1").await.expect("killed");
        assert_eq!((after.status, after.detached), (Status::Killed, false));
        assert_eq!(after.result.as_deref(), Some("working"));
    }
}

#[tokio::test]
async fn a_handle_that_takes_long_to_end_what_it_holds_does_not_hold_the_kill() {
    struct Slow(mpsc::Receiver<()>);
    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let started = crew.next().await;
    let (let_go, held) = mpsc::channel();
    started.job.scope().keep(Slow(held));
    let begun = Instant::now();
    let killed = crew.data("vibe_kill", id("w1")).await;
    assert!(begun.elapsed() < KILL_AT_MOST, "{:?}", begun.elapsed());
    assert_eq!(killed["detached"], true);
    let_go.send(()).expect("it waits");
}

#[tokio::test]
async fn a_killed_worker_is_killed_at_once_for_whoever_looks() {
    let (let_go, held) = mpsc::channel();
    let (begins, mut begun) = unbounded_channel();
    let factory = Stubborn { let_go: Mutex::new(held).into(), at_start: true, begins };
    let workers = Workers::new(factory, RosterLimits::default());
    workers.spawn(Order::new("b", "a"), &Context::detached()).expect("spawned");
    in_time(begun.recv()).await.expect("at work");
    let kills = workers.clone();
    let killing = tokio::spawn(async move { kills.kill("w1").await });
    tokio::task::yield_now().await;
    let begun = Instant::now();
    let looked = workers.wait("w1", None).await.expect("an end");
    assert_eq!(looked.status, Status::Killed);
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    // A kill that nobody waits for any more is a kill all the same.
    killing.abort();
    assert_eq!(workers.list()[0].status, Status::Killed);
    let_go.send(()).expect("it still works");
}

/// Whether the kill finds the worker's task, or the task finds that its worker was killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_that_meets_a_spawn_leaves_nothing_running() {
    for round in 0..500 {
        let mut crew = Crew::new();
        let workers = crew.workers.clone();
        let killing = tokio::spawn(async move {
            loop {
                match workers.kill("w1").await {
                    Ok(killed) => return killed,
                    Err(_) => tokio::task::yield_now().await,
                }
            }
        });
        if round % 2 == 0 {
            tokio::task::yield_now().await;
        }
        crew.spawn("a").await;
        let killed = in_time(killing).await.expect("no panic");
        assert_eq!((killed.status, killed.detached), (Status::Killed, false));
        // The kill waited: whatever was begun is over.
        if let Ok(started) = crew.started.try_recv() {
            started.dropped().await;
        }
    }
}
