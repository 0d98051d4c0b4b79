//! How workers begin.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Instant,
};

use agent_tool_core::{BoxFuture, ErrorKind, Tier};
use agent_vibe::{
    BRIEF_BYTES, Job, LABEL_CHARS, RosterLimits, TOOLS, WorkError, WorkerFactory, WorkerTier,
    Workers,
};
use serde_json::{Value, json};

use crate::support::{AT_ONCE, Crew, Outcome, call, error, in_time, result};

fn order(label: &str) -> Value {
    json!({"brief": "do it", "label": label})
}

/// A factory whose start blocks its thread until the test lets go.
struct Blocks(Mutex<mpsc::Receiver<()>>);

impl WorkerFactory for Blocks {
    fn serves(&self, _tier: WorkerTier) -> bool {
        true
    }

    fn start(&self, _job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
        let _ = self.0.lock().expect("not poisoned").recv();
        Box::pin(async { Ok("at last".to_owned()) })
    }
}

// spec: VIBE-02
#[tokio::test]
async fn spawn_returns_at_once_and_the_worker_is_listed_though_its_start_blocks() {
    let (let_go, held) = mpsc::channel();
    let workers = Workers::new(Blocks(Mutex::new(held)), RosterLimits::default());
    let begun = Instant::now();
    let output = call(&workers, "vibe_spawn", order("slow")).await.expect("spawned");
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert_eq!(output.data["status"], "running");
    let list = call(&workers, "vibe_list", json!({})).await.expect("a list");
    assert_eq!(list.data["workers"][0]["worker_id"], "w1");
    let_go.send(()).expect("the start waits");
    let done = in_time(call(&workers, "vibe_wait", json!({"worker_id": "w1"}))).await;
    assert_eq!(done.expect("done").data["result"], "at last");
}

#[tokio::test(start_paused = true)]
async fn ids_go_on_after_those_of_a_conversation() {
    let crew = Crew::new();
    crew.workers.continue_after(4);
    crew.workers.continue_after(2);
    for id in ["w5", "w6"] {
        let output = crew.call("vibe_spawn", order("parser")).await.expect("spawned");
        assert_eq!(output.data["worker_id"], id);
    }
    crew.workers.continue_after(9);
    let output = crew.call("vibe_spawn", order("parser")).await.expect("spawned");
    assert_eq!(output.data["worker_id"], "w7");
    let listed = crew.call("vibe_list", json!({})).await.expect("a list");
    assert_eq!(listed.data["workers"].as_array().map(Vec::len), Some(3));
}

// spec: VIBE-02
#[tokio::test(start_paused = true)]
async fn what_spawn_tells_is_what_was_seen() {
    let mut crew = Crew::new();
    let output = crew.call("vibe_spawn", order("parser")).await.expect("spawned");
    assert_eq!(
        output.data,
        json!({"worker_id": "w1", "label": "parser", "tier": "good", "authority": "exec",
            "status": "running", "attempt": 1, "result": null, "queued": 0, "timed_out": false,
            "elapsed_ms": 0})
    );
    assert_eq!(
        output.joined_text(),
        "w1 (parser) is running, tier good, authority exec; vibe_wait w1 gives its result"
    );
    let started = crew.next().await;
    assert_eq!((started.brief(), started.news()), (vec!["do it".into()], vec!["do it".to_owned()]));
    assert_eq!((started.job.worker_id(), started.job.label()), ("w1", "parser"));
    assert_eq!((started.job.attempt(), started.job.previous()), (1, None));
}

#[tokio::test(start_paused = true)]
async fn the_ninth_is_refused_with_the_names_of_those_that_run() {
    let mut crew = Crew::new();
    for number in 1..=8 {
        assert_eq!(crew.spawn(&format!("job {number}")).await, format!("w{number}"));
    }
    let refused = error(crew.call("vibe_spawn", order("ninth")).await);
    assert_eq!((refused.kind, &*refused.code), (ErrorKind::Conflict, "no_slot"));
    assert!(refused.message.starts_with("8 workers are running"), "{}", refused.message);
    assert!(refused.message.contains("w1 (job 1), running; w2 (job 2)"), "{}", refused.message);
    assert_eq!(crew.list().await.len(), 8, "what is refused is not listed");

    // One that ends makes room, however it ends; the id is a new one.
    for (outcome, next) in [
        (Outcome::Done("done".into()), "w9"),
        (Outcome::Failed("failed".into()), "w10"),
        (Outcome::Panics, "w11"),
    ] {
        let started = crew.next().await;
        let waiting = crew.waiting(started.job.worker_id()).await;
        started.end(outcome);
        result(waiting).await.expect("an end");
        assert_eq!(crew.spawn("next").await, next);
    }
    let running = crew.next().await;
    crew.data("vibe_kill", json!({"worker_id": running.job.worker_id()})).await;
    assert_eq!(crew.spawn("next").await, "w12");
    error(crew.call("vibe_spawn", order("one too many")).await);
}

#[tokio::test(start_paused = true)]
async fn sixty_four_are_all_that_a_run_may_spawn() {
    let mut crew = Crew::new();
    for _ in 0..64 {
        let id = crew.spawn("short").await;
        let waiting = crew.waiting(&id).await;
        crew.next().await.done("done");
        result(waiting).await.expect("done");
    }
    let refused = error(crew.call("vibe_spawn", order("one more")).await);
    assert_eq!(refused.code, "no_slot");
    assert!(refused.message.starts_with("64 workers were spawned"), "{}", refused.message);
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_zero_means_none_and_of_one_means_one() {
    let none = Crew::with(RosterLimits::default().running(0));
    assert_eq!(error(none.call("vibe_spawn", order("a")).await).code, "no_slot");
    let one = Crew::with(RosterLimits::default().running(1));
    one.spawn("a").await;
    assert_eq!(error(one.call("vibe_spawn", order("b")).await).code, "no_slot");
    let few = Crew::with(RosterLimits::default().spawned(0));
    assert_eq!(error(few.call("vibe_spawn", order("a")).await).code, "no_slot");
}

#[tokio::test(start_paused = true)]
async fn a_start_that_panics_is_a_failed_worker_whose_slot_is_free() {
    struct Breaks;
    impl WorkerFactory for Breaks {
        fn serves(&self, _tier: WorkerTier) -> bool {
            true
        }
        fn start(&self, _job: Job) -> BoxFuture<'static, Result<String, WorkError>> {
            panic!("no such model")
        }
    }
    let workers = Workers::new(Breaks, RosterLimits::default().running(1));
    for id in ["w1", "w2"] {
        let spawned = call(&workers, "vibe_spawn", order("a")).await.expect("spawned");
        assert_eq!(
            (&spawned.data["worker_id"], &spawned.data["status"]),
            (&json!(id), &json!("running"))
        );
        let ended = in_time(call(&workers, "vibe_wait", json!({"worker_id": id}))).await;
        let ended = ended.expect("a failure is news");
        assert_eq!(ended.data["status"], "failed");
        assert_eq!(ended.data["result"], "it panicked at its start: no such model");
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_names_all_of_its_causes() {
    let workers = Workers::new(
        crate::support::FromFn(|_job: Job| async {
            let cause = std::io::Error::other("connection refused");
            Err(WorkError::new("the model does not answer").with_source(cause))
        }),
        RosterLimits::default(),
    );
    call(&workers, "vibe_spawn", order("a")).await.expect("spawned");
    let ended = in_time(call(&workers, "vibe_wait", json!({"worker_id": "w1"}))).await;
    let ended = ended.expect("a failure is news");
    assert_eq!(ended.data["result"], "the model does not answer: connection refused");
    assert!(ended.joined_text().starts_with("w1 (a) failed (attempt 1, "), "{ended:?}");
}

// spec: VIBE-03
#[tokio::test(start_paused = true)]
async fn the_tier_is_the_kind_of_work_and_good_if_absent() {
    let mut crew = Crew::new();
    for (tier, expected) in [
        (json!("fast"), WorkerTier::Fast),
        (json!("good"), WorkerTier::Good),
        (Value::Null, WorkerTier::Good),
    ] {
        let data =
            crew.data("vibe_spawn", json!({"brief": "do it", "label": "a", "tier": tier})).await;
        assert_eq!(data["tier"], expected.as_str());
        let job = crew.next().await.job;
        // It is no authority: each has the caller's.
        assert_eq!((job.tier(), job.authority()), (expected, Tier::Exec));
    }
}

// spec: VIBE-03
#[tokio::test(start_paused = true)]
async fn a_tier_that_nothing_serves_is_an_error_and_no_other_takes_its_place() {
    let crew = Crew::serving(&[WorkerTier::Fast], RosterLimits::default());
    for (tier, named) in
        [(Value::Null, "\"good\""), (json!("good"), "\"good\""), (json!("best"), "\"best\"")]
    {
        let refused = error(
            crew.call("vibe_spawn", json!({"brief": "do it", "label": "a", "tier": tier})).await,
        );
        assert_eq!((refused.kind, &*refused.code), (ErrorKind::InvalidArgs, "unknown_tier"));
        assert!(
            refused.message.contains(named) && refused.message.ends_with("there is fast"),
            "{}",
            refused.message
        );
    }
    assert_eq!(crew.list().await, [Value::Null; 0]);
    let both = Crew::new();
    let refused =
        error(both.call("vibe_spawn", json!({"brief": "b", "label": "a", "tier": "best"})).await);
    assert!(refused.message.ends_with("there is fast and good"), "{}", refused.message);
}

#[tokio::test(start_paused = true)]
async fn a_label_is_one_line_that_a_person_can_be_shown() {
    let mut crew = Crew::new();
    let long = "x".repeat(LABEL_CHARS + 20);
    for (label, kept) in [
        (" fix\nthe\tparser ", "fix the parser"),
        ("a\u{1b}[31mred\u{202e}", "ared\u{fffd}"),
        (long.as_str(), &long[..LABEL_CHARS]),
    ] {
        let data = crew.data("vibe_spawn", order(label)).await;
        assert_eq!(data["label"], kept);
        assert_eq!(crew.next().await.job.label(), kept);
    }
    // Labels may repeat; ids tell them apart.
    assert_eq!(crew.spawn("fix the parser").await, "w4");
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_a_task_or_a_name_is_not_spawned() {
    let crew = Crew::new();
    for (args, said) in [
        (json!({"brief": " ", "label": "a"}), "vibe_spawn: `brief` is empty"),
        (json!({"brief": "b", "label": " \n"}), "vibe_spawn: `label` is empty"),
        (json!({"brief": "b"}), "vibe_spawn: the argument `label` is missing"),
        (
            json!({"brief": "x".repeat(BRIEF_BYTES + 1), "label": "a"}),
            "has 65537 bytes and takes 65536",
        ),
        (
            json!({"brief": "b", "label": "a", "authority": "root"}),
            "`authority` came as \"root\" but takes one of \"read\", \"write\", \"exec\"",
        ),
    ] {
        let refused = error(crew.call("vibe_spawn", args).await);
        assert_eq!(refused.code, "invalid_args");
        assert!(refused.message.contains(said), "{}", refused.message);
    }
    let whole = json!({"brief": "x".repeat(BRIEF_BYTES), "label": "a"});
    assert_eq!(crew.data("vibe_spawn", whole).await["worker_id"], "w1");
}

// spec: VIBE-01, TIER-02
#[test]
fn the_five_tools_are_of_tier_read_and_small() {
    let crew = Crew::new();
    let specs: Vec<_> = crew.workers.tools().iter().map(|tool| tool.spec().clone()).collect();
    let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, TOOLS);
    for spec in &specs {
        assert_eq!((spec.tier, spec.parallel), (Tier::Read, true), "{}", spec.name);
        assert_eq!(agent_testkit::spec_faults(spec), Vec::<String>::new());
    }
    let tokens = agent_testkit::tokens(&specs);
    assert!(tokens < 900, "{tokens}");
}

#[tokio::test(start_paused = true)]
async fn a_result_is_cut_with_a_remark_and_a_list_shows_its_beginning() {
    let mut crew = Crew::new();
    crew.spawn("long").await;
    let waiting = crew.waiting("w1").await;
    crew.next().await.done(&"é".repeat(7_000));
    let data = result(waiting).await.expect("done").data;
    let text = data["result"].as_str().expect("a result");
    assert!(text.starts_with("éé") && text.ends_with("… 1000 more characters"), "{text:.20}");
    let listed = crew.list().await.remove(0);
    let preview = listed["result"].as_str().expect("a preview");
    assert_eq!(preview.chars().filter(|c| *c == 'é').count(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_factory_is_called_once_for_an_attempt() {
    let mut crew = Crew::new();
    let alive = Arc::new(());
    crew.spawn("one").await;
    let started = crew.next().await;
    started.job.scope().keep(Arc::clone(&alive));
    let waiting = crew.waiting("w1").await;
    started.done("finished");
    result(waiting).await.expect("done");
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(crew.started.try_recv().is_err(), "a finished attempt ends the turn");
    // What outlives an attempt does, until the worker is killed.
    assert_eq!(Arc::strong_count(&alive), 2);
    crew.data("vibe_kill", json!({"worker_id": "w1"})).await;
    assert_eq!(Arc::strong_count(&alive), 1);
}
