//! Messages to workers.

use agent_tool_core::ErrorKind;
use agent_vibe::{BRIEF_BYTES, RosterLimits};
use serde_json::{Value, json};

use crate::support::{Crew, Outcome, error, result};

fn message(id: &str, message: &str) -> Value {
    json!({"worker_id": id, "message": message})
}

// spec: VIBE-04
#[tokio::test(start_paused = true)]
async fn a_message_to_a_worker_that_is_done_runs_it_again_with_the_whole_brief() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let waiting = crew.waiting("w1").await;
    crew.next().await.done("first");
    result(waiting).await.expect("done");
    let output = crew.call("vibe_send", message("w1", "and tests")).await.expect("sent");
    assert_eq!(output.joined_text(), "w1 (a) is running again, attempt 2");
    assert_eq!(
        (
            &output.data["status"],
            &output.data["attempt"],
            &output.data["queued"],
            &output.data["result"]
        ),
        (&json!("running"), &json!(2), &json!(0), &Value::Null)
    );
    let again = crew.next().await;
    assert_eq!(again.brief(), ["do it", "and tests"]);
    assert_eq!(again.news(), ["and tests"]);
    assert_eq!((again.job.attempt(), again.job.previous()), (2, Some("first")));
    let waiting = crew.waiting("w1").await;
    again.done("second");
    let data = result(waiting).await.expect("done").data;
    assert_eq!((&data["result"], &data["attempt"]), (&json!("second"), &json!(2)));
}

// spec: VIBE-04
#[tokio::test(start_paused = true)]
async fn three_messages_to_a_worker_at_work_make_one_more_attempt_with_all_of_them_in_order() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let first = crew.next().await;
    let waiting = crew.waiting("w1").await;
    for (number, text) in (1..).zip(["one", "two", "three"]) {
        let output = crew.call("vibe_send", message("w1", text)).await.expect("queued");
        assert_eq!(
            (&output.data["status"], &output.data["queued"]),
            (&json!("running"), &json!(number))
        );
        assert!(output.joined_text().contains("is at work on attempt 1; it gets"), "{output:?}");
    }
    first.done("first");
    // Who waited gets the attempt that was in flight, and is told that another follows.
    let output = result(waiting).await.expect("done");
    assert_eq!(
        (&output.data["status"], &output.data["attempt"], &output.data["queued"]),
        (&json!("done"), &json!(1), &json!(3))
    );
    assert!(
        output
            .joined_text()
            .ends_with("first\n3 messages came meanwhile, so attempt 2 followed at once"),
        "{}",
        output.joined_text()
    );
    let second = crew.next().await;
    assert_eq!(second.brief(), ["do it", "one", "two", "three"]);
    assert_eq!(second.news(), ["one", "two", "three"]);
    assert_eq!(crew.status("w1").await, "running");
    let waiting = crew.waiting("w1").await;
    second.done("second");
    assert_eq!(result(waiting).await.expect("done").data["attempt"], 2);
    tokio::task::yield_now().await;
    assert!(crew.started.try_recv().is_err(), "there is no third attempt");
}

#[tokio::test(start_paused = true)]
async fn messages_survive_an_attempt_that_fails_or_panics() {
    for outcome in [Outcome::Failed("no".into()), Outcome::Panics] {
        let mut crew = Crew::new();
        crew.spawn("a").await;
        let first = crew.next().await;
        crew.data("vibe_send", message("w1", "try this")).await;
        first.end(outcome);
        let second = crew.next().await;
        assert_eq!(second.news(), ["try this"]);
        let waiting = crew.waiting("w1").await;
        second.done("done");
        assert_eq!(result(waiting).await.expect("done").data["status"], "done");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_worker_runs_again_when_it_is_sent_something() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let waiting = crew.waiting("w1").await;
    crew.next().await.failed("no such file");
    let failed = result(waiting).await.expect("a failure is news");
    assert_eq!(failed.data["status"], "failed");
    crew.data("vibe_send", message("w1", "it is in src")).await;
    assert_eq!(crew.next().await.job.previous(), Some("no such file"));
}

#[tokio::test(start_paused = true)]
async fn a_killed_worker_takes_no_message() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let _started = crew.next().await;
    crew.data("vibe_send", message("w1", "queued")).await;
    let killed = crew.data("vibe_kill", json!({"worker_id": "w1"})).await;
    assert_eq!(killed["queued"], 0, "what waited is dropped");
    let refused = error(crew.call("vibe_send", message("w1", "hello?")).await);
    assert_eq!((refused.kind, &*refused.code), (ErrorKind::Conflict, "killed_worker"));
    assert_eq!(refused.data["status"], "killed");
    tokio::task::yield_now().await;
    assert!(crew.started.try_recv().is_err(), "it does not run again");
}

#[tokio::test(start_paused = true)]
async fn without_a_slot_a_message_is_refused_and_not_appended() {
    let mut crew = Crew::with(RosterLimits::default().running(1));
    crew.spawn("a").await;
    let waiting = crew.waiting("w1").await;
    crew.next().await.done("first");
    result(waiting).await.expect("done");
    crew.spawn("b").await;
    let other = crew.next().await;
    assert_eq!(error(crew.call("vibe_send", message("w1", "lost")).await).code, "no_slot");
    // The one at work needs no other slot to be sent something.
    crew.data("vibe_send", message("w2", "queued")).await;
    other.done("other");
    crew.next().await.done("other again");
    crew.data("vibe_wait", json!({"worker_id": "w2"})).await;
    crew.data("vibe_send", message("w1", "kept")).await;
    assert_eq!(crew.next().await.brief(), ["do it", "kept"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_has_bounds_and_so_have_all_of_them() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let _started = crew.next().await;
    let refused = error(crew.call("vibe_send", message("w1", "  ")).await);
    assert!(refused.message.contains("`message` is empty"), "{}", refused.message);
    let whole = "x".repeat(BRIEF_BYTES);
    let refused = error(crew.call("vibe_send", message("w1", &format!("{whole}x"))).await);
    assert!(refused.message.contains("65537 bytes"), "{}", refused.message);
    for _ in 0..3 {
        crew.data("vibe_send", message("w1", &whole)).await;
    }
    assert_eq!(error(crew.call("vibe_send", message("w1", &whole)).await).code, "brief_full");
    assert_eq!(crew.list().await[0]["queued"], 3);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_worker_is_named_with_those_that_there_are() {
    let mut crew = Crew::new();
    for (name, args) in [
        ("vibe_send", message("w7", "hello")),
        ("vibe_wait", json!({"worker_id": "w7"})),
        ("vibe_kill", json!({"worker_id": "w7"})),
    ] {
        let refused = error(crew.call(name, args).await);
        assert_eq!((refused.kind, &*refused.code), (ErrorKind::NotFound, "unknown_worker"));
        assert!(refused.message.contains("none was spawned yet"), "{}", refused.message);
    }
    crew.spawn("parser").await;
    crew.spawn("tests").await;
    let _started = (crew.next().await, crew.next().await);
    crew.data("vibe_kill", json!({"worker_id": "w2"})).await;
    let refused = error(crew.call("vibe_wait", json!({"worker_id": "helper"})).await);
    assert_eq!(
        refused.message,
        "there is no worker \"helper\"; there are w1 (parser), running; w2 (tests), killed"
    );
}

/// The instant at which an attempt ends, again and again, on threads of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_at_the_moment_at_which_an_attempt_ends() {
    let mut crew = Crew::new();
    crew.spawn("a").await;
    let mut sent = 1;
    for round in 0..1_000 {
        let started = crew.next().await;
        sent += started.news().len() - usize::from(round == 0);
        assert_eq!(started.brief().len(), sent, "round {round}");
        let sending = crew.begin("vibe_send", message("w1", "again"));
        started.done("done");
        result(sending).await.expect("sent");
    }
}
