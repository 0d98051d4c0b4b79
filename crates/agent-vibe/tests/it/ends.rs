//! The end of the mode, of the run and of the runtime.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use agent_tool_core::{Context, ErrorKind};
use agent_vibe::{Job, KILL_WITHIN, Order, RosterLimits, Status, TOOLS, WorkError, Workers};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use crate::support::{Crew, FromFn, Stubborn, error, in_time, result};

fn arguments(tool: &str) -> Value {
    match tool {
        "vibe_spawn" => json!({"brief": "b", "label": "a"}),
        "vibe_send" => json!({"worker_id": "w1", "message": "m"}),
        "vibe_list" => json!({}),
        _ => json!({"worker_id": "w1"}),
    }
}

// spec: VIBE-01
#[tokio::test(start_paused = true)]
async fn with_the_mode_turned_off_all_workers_are_killed_and_every_call_says_so() {
    let mut crew = Crew::new();
    for label in ["a", "b", "c"] {
        crew.spawn(label).await;
    }
    let (one, two, three) = (crew.next().await, crew.next().await, crew.next().await);
    let done = one.job.worker_id().to_owned();
    let waiting = crew.waiting(&done).await;
    one.done("done");
    result(waiting).await.expect("done");
    let waiting = crew.waiting(two.job.worker_id()).await;
    let ended = crew.workers.turn_off().await;
    assert_eq!((ended.killed, ended.detached), (2, 0));
    two.dropped().await;
    three.dropped().await;
    // Who waited is told what became of the worker, and why.
    let refused = error(result(waiting).await);
    assert_eq!((refused.kind, &*refused.code), (ErrorKind::Unavailable, "vibe_off"));
    assert_eq!(refused.data["status"], "killed");
    for tool in TOOLS {
        let refused = error(crew.call(tool, arguments(tool)).await);
        assert_eq!((refused.kind, &*refused.code), (ErrorKind::Unavailable, "vibe_off"), "{tool}");
    }
    // The host still sees them.
    assert!(crew.workers.list().iter().all(|worker| worker.status == Status::Killed));
    assert_eq!(crew.workers.turn_off().await.killed, 0);
}

#[tokio::test(start_paused = true)]
async fn turned_on_again_it_goes_on_with_new_ids() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let started = crew.next().await;
    crew.workers.turn_off().await;
    assert!(!crew.workers.is_on());
    crew.workers.turn_on();
    assert_eq!(crew.spawn("b").await, "w2");
    assert_eq!(crew.status("w1").await, "killed");
    started.dropped().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_kills_all() {
    let mut crew = Crew::new();
    let tools = crew.workers.tools();
    crew.spawn("a").await;
    let started = crew.next().await;
    let kept = Arc::new(());
    started.job.scope().keep(Arc::clone(&kept));
    let Crew { workers, started: _attempts } = crew;
    drop(workers);
    tokio::task::yield_now().await;
    assert_eq!(Arc::strong_count(&kept), 2, "the tools hold the workers too");
    drop(tools);
    assert_eq!(Arc::strong_count(&kept), 1);
    assert!(started.job.scope().is_over());
    started.dropped().await;
}

#[tokio::test]
async fn turning_off_takes_two_seconds_for_all_together() {
    let (let_go, held) = mpsc::channel();
    let (begins, mut begun) = unbounded_channel();
    let factory = Stubborn { let_go: Mutex::new(held).into(), at_start: true, begins };
    let workers = Workers::new(factory, RosterLimits::default());
    for _ in 0..4 {
        workers.spawn(Order::new("b", "a"), &Context::detached()).expect("spawned");
    }
    for _ in 0..4 {
        in_time(begun.recv()).await.expect("at work");
    }
    let begun = Instant::now();
    let ended = workers.turn_off().await;
    let took = begun.elapsed();
    assert!(took >= KILL_WITHIN && took < KILL_WITHIN + Duration::from_millis(500), "{took:?}");
    assert_eq!((ended.killed, ended.detached), (4, 4));
    drop(let_go);
}

#[test]
fn a_runtime_that_goes_down_leaves_no_worker_running() {
    let workers = Workers::new(
        FromFn(|_job: Job| std::future::pending::<Result<String, WorkError>>()),
        RosterLimits::default(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        workers.spawn(Order::new("b", "a"), &Context::detached()).expect("spawned");
        workers.wait("w1", Some(Duration::from_millis(1))).await.expect("it runs");
        workers.send("w1", "queued", &Context::detached()).expect("queued");
    });
    drop(runtime);
    let report = workers.list().remove(0);
    assert_eq!(
        (report.status, report.result.as_deref()),
        (Status::Failed, Some("no task was left to run it"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_future_that_panics_when_it_is_dropped_is_a_failure_and_no_worker_that_runs_for_ever() {
    /// Ready at once, and broken when it is let go.
    struct Breaks;
    impl Future for Breaks {
        type Output = Result<String, WorkError>;
        fn poll(
            self: std::pin::Pin<&mut Self>,
            _cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Self::Output> {
            std::task::Poll::Ready(Ok("done".to_owned()))
        }
    }
    impl Drop for Breaks {
        fn drop(&mut self) {
            panic!("cannot be dropped");
        }
    }
    let workers = Workers::new(FromFn(|_job: Job| Breaks), RosterLimits::default());
    workers.spawn(Order::new("b", "a"), &Context::detached()).expect("spawned");
    let report = in_time(workers.wait("w1", None)).await.expect("an end");
    assert_eq!(report.status, Status::Failed);
}
