//! Waiting for workers.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Crew, Outcome, error, in_time, result};

fn wait(id: &str, seconds: u64) -> Value {
    json!({"worker_id": id, "timeout_seconds": seconds})
}

// spec: VIBE-05
#[tokio::test(start_paused = true)]
async fn a_wait_gives_the_result_of_what_it_waited_for() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let started = crew.next().await;
    let waiting = crew.waiting("w1").await;
    tokio::time::advance(Duration::from_millis(12_340)).await;
    started.done("all tests pass");
    let output = result(waiting).await.expect("done");
    assert_eq!(output.joined_text(), "w1 (a) is done (attempt 1, 12.3 s):\nall tests pass");
    assert_eq!(
        output.data,
        json!({"worker_id": "w1", "label": "a", "tier": "good", "authority": "exec",
            "status": "done", "attempt": 1, "result": "all tests pass", "queued": 0,
            "timed_out": false, "elapsed_ms": 12_340})
    );
    // The result stays, and so does its time.
    tokio::time::advance(Duration::from_secs(60)).await;
    for _ in 0..2 {
        let begun = Instant::now();
        let again = in_time(crew.call("vibe_wait", json!({"worker_id": "w1"}))).await;
        assert_eq!(again.expect("the same").data, output.data);
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}

// spec: VIBE-05
#[tokio::test(start_paused = true)]
async fn a_wait_whose_time_runs_out_is_a_normal_result_that_says_so() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let started = crew.next().await;
    let begun = Instant::now();
    let output = in_time(crew.call("vibe_wait", wait("w1", 5))).await.expect("no error");
    assert_eq!(begun.elapsed().as_secs(), 5);
    assert_eq!(
        (&output.data["status"], &output.data["timed_out"], &output.data["result"]),
        (&json!("running"), &json!(true), &Value::Null)
    );
    assert!(
        output.joined_text().starts_with("w1 (a) is still running after 5 s of waiting"),
        "{}",
        output.joined_text()
    );
    // The worker goes on.
    let waiting = crew.waiting("w1").await;
    started.done("done");
    assert_eq!(result(waiting).await.expect("done").data["timed_out"], false);
}

// spec: VIBE-05
#[tokio::test(start_paused = true)]
async fn without_a_time_a_wait_has_none_and_zero_only_looks() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let started = crew.next().await;
    let begun = Instant::now();
    let looked = in_time(crew.call("vibe_wait", wait("w1", 0))).await.expect("no error");
    assert_eq!((&looked.data["timed_out"], begun.elapsed()), (&json!(true), Duration::ZERO));
    let waiting = crew.waiting("w1").await;
    tokio::time::advance(Duration::from_secs(7 * 24 * 3600)).await;
    assert!(!waiting.is_finished());
    started.done("a week later");
    assert_eq!(result(waiting).await.expect("done").data["result"], "a week later");
    // Longer than any clock goes is no limit either.
    crew.spawn("b").await;
    let started = crew.next().await;
    let waiting = crew.begin("vibe_wait", wait("w2", u64::MAX));
    tokio::task::yield_now().await;
    started.done("done");
    result(waiting).await.expect("done");
}

#[tokio::test(start_paused = true)]
async fn all_who_wait_are_told_and_one_who_stops_waiting_stops_nothing() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let started = crew.next().await;
    let (one, two, cancelled) =
        (crew.waiting("w1").await, crew.waiting("w1").await, crew.waiting("w1").await);
    cancelled.abort();
    let _ = cancelled.await;
    assert_eq!(crew.status("w1").await, "running");
    started.done("done");
    assert_eq!(result(one).await.expect("done").data, result(two).await.expect("done").data);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_with_what_it_said_and_what_the_worker_had_said() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let started = crew.next().await;
    started.job.output("read 3 files\n");
    started.job.output("changed 1");
    let waiting = crew.waiting("w1").await;
    started.end(Outcome::Panics);
    let output = result(waiting).await.expect("a failure is news");
    assert_eq!(output.data["status"], "failed");
    assert_eq!(
        output.data["result"],
        "it panicked: out of cheese\nit had said:\nread 3 files\nchanged 1"
    );
    assert_eq!(crew.status("w1").await, "failed");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_never_told_as_a_success() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let started = crew.next().await;
    let waiting = crew.waiting("w1").await;
    started.failed("429 too many requests");
    let output = result(waiting).await.expect("a failure is news");
    assert!(
        output.joined_text().starts_with("w1 (a) failed (attempt 1, 0.0 s):\n429"),
        "{}",
        output.joined_text()
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_takes_whole_seconds_from_zero_up() {
    let crew = Crew::new();
    crew.spawn("a").await;
    for (seconds, said) in [
        (json!(-1), "takes a whole number that is not negative"),
        (json!(0.5), "takes a whole number"),
        (json!("5"), "takes a whole number"),
    ] {
        let args = json!({"worker_id": "w1", "timeout_seconds": seconds});
        let refused = error(crew.call("vibe_wait", args).await);
        assert!(refused.message.contains(said), "{}", refused.message);
    }
}

// spec: VIBE-07
#[tokio::test(start_paused = true)]
async fn a_list_shows_tier_status_time_and_latest_result_of_each() {
    let mut crew = Crew::new();
    assert_eq!(
        crew.call("vibe_list", json!({})).await.expect("a list").joined_text(),
        "no worker was spawned"
    );
    for (label, tier) in [("parser", "fast"), ("review", "good"), ("tests", "good")] {
        crew.data("vibe_spawn", json!({"brief": "b", "label": label, "tier": tier})).await;
    }
    let mut begun = crew.next_by_id(3).await;
    let waiting = crew.waiting("w1").await;
    tokio::time::advance(Duration::from_secs(3)).await;
    begun.remove("w1").expect("begun").done("fixed\n  it");
    result(waiting).await.expect("done");
    tokio::time::advance(Duration::from_secs(2)).await;
    crew.data("vibe_kill", json!({"worker_id": "w3"})).await;
    let workers = crew.list().await;
    let ids: Vec<_> = workers.iter().map(|worker| worker["worker_id"].clone()).collect();
    assert_eq!(ids, ["w1", "w2", "w3"]);
    let done = &workers[0];
    assert_eq!(
        (&done["status"], &done["elapsed_ms"], &done["result"]),
        (&json!("done"), &json!(3_000), &json!("fixed\n  it"))
    );
    assert_eq!(
        (&workers[2]["status"], &workers[2]["elapsed_ms"]),
        (&json!("killed"), &json!(5_000))
    );
    let text = crew.call("vibe_list", json!({})).await.expect("a list").joined_text();
    assert!(text.contains("3.0 s  attempt 1  authority exec"), "{text}");
    assert!(text.contains("latest result: fixed it"), "{text}");
    assert!(text.contains("w3  killed  good  5.0 s"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_runs_again_keeps_its_latest_result_in_the_list_alone() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let waiting = crew.waiting("w1").await;
    crew.next().await.done("first");
    result(waiting).await.expect("done");
    crew.data("vibe_send", json!({"worker_id": "w1", "message": "more"})).await;
    let _again = crew.next().await;
    assert_eq!(crew.list().await[0]["result"], "first");
    let looked = crew.data("vibe_wait", wait("w1", 0)).await;
    assert_eq!((&looked["result"], &looked["attempt"]), (&Value::Null, &json!(2)));
}

/// A wait that begins at any moment around the end of an attempt sees that end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_waits_race_the_end_and_none_misses_it() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    for round in 1..=10_000_u32 {
        let started = crew.next().await;
        let waiting = crew.begin("vibe_wait", json!({"worker_id": "w1"}));
        if round % 3 == 0 {
            tokio::task::yield_now().await;
        }
        started.done("done");
        let data = result(waiting).await.expect("the end").data;
        assert_eq!((&data["status"], &data["attempt"]), (&json!("done"), &json!(round)));
        crew.data("vibe_send", json!({"worker_id": "w1", "message": "x"})).await;
    }
}
