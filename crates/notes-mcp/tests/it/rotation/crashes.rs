//! What a process that was ended in the middle leaves, and how the next one goes on.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::Duration,
};

use notes_mcp::{Event, NotesTools, Step};
use serde_json::json;

use super::{LOG, apply, plan_id};
use crate::{
    peer, program,
    support::{App, StubClock, call, code},
};

/// Ends an apply at a step, as the end of its process would: nothing of it runs any more.
fn cut_off(app: &App, id: &str, at: Step) {
    let site = app.site().with_observer(move |event| {
        if event == Event::Reached(at) {
            panic!("cut off at {at:?}, as this test wants");
        }
    });
    let tools = NotesTools::new(site);
    let applied =
        catch_unwind(AssertUnwindSafe(|| call(&tools, "log_rotate_apply", json!({"plan_id": id}))));
    assert!(applied.is_err(), "it was not cut off at {at:?}");
}

// spec: NOTE-05, NOTE-08
#[test]
fn r14_a_rotation_that_was_cut_off_is_finished_by_whoever_applies_it_again() {
    for (at, left, status) in [
        (Step::Checked, &["app.log"][..], "applied"),
        (Step::Linked, &["app.log", "app.log.1"], "applied"),
        (Step::Compared, &["app.log", "app.log.1"], "applied"),
        (Step::Replaced, &["app.log", "app.log.1"], "already_applied"),
    ] {
        let app = App::with_log(LOG);
        let id = plan_id(&app);
        cut_off(&app, &id, at);
        assert_eq!(app.logs(), left, "{at:?}");
        let applied = apply(&app, &id).expect("applied");
        assert_eq!(
            [&applied["status"], &applied["archive"], &applied["log_size"]],
            [&json!(status), &json!("app.log.1"), &json!(19)],
            "{at:?}"
        );
        assert_eq!(app.logs(), ["app.log", "app.log.1"], "{at:?}");
        assert_eq!(app.read("app/logs/app.log.1"), LOG.as_bytes());
        assert_eq!(app.read("app/logs/app.log"), b"");
        assert_eq!(apply(&app, &id).expect("applied")["status"], "already_applied", "{at:?}");
    }
}

#[test]
fn r14_a_link_that_was_made_is_finished_after_ten_minutes_too_and_a_check_is_not() {
    for (at, expected) in [(Step::Checked, "plan_expired"), (Step::Linked, "applied")] {
        let app = App::with_log(LOG);
        let id = plan_id(&app);
        cut_off(&app, &id, at);
        let clock = StubClock::new();
        clock.forward(Duration::from_secs(601));
        let tools = NotesTools::new(app.site().with_clock(clock));
        let outcome = match call(&tools, "log_rotate_apply", json!({"plan_id": id})) {
            Ok(applied) => applied["status"].as_str().expect("a status").to_owned(),
            Err(refused) => refused.code().as_str().to_owned(),
        };
        assert_eq!(outcome, expected, "{at:?}");
    }
}

#[test]
fn r14_a_log_that_is_half_rotated_is_not_planned_for_before_that_is_finished() {
    let app = App::with_log(LOG);
    let (half, other) = (plan_id(&app), plan_id(&app));
    cut_off(&app, &half, Step::Linked);
    let refused = app.call("log_rotate_plan", json!({})).expect_err("a refusal");
    assert_eq!(
        refused.to_string(),
        format!(
            "rotation_in_progress: the rotation to app.log.1 was cut off half way: the log, {} bytes when it was planned, has that name as well by \
             now; call log_rotate_apply with its plan_id {half:?} to finish it, which puts an empty log in its place and deletes nothing",
            LOG.len()
        )
    );
    assert_eq!(code(apply(&app, &other)), "rotation_in_progress");
    // What is written meanwhile has two names and is one file still.
    app.append("INFO three\n");
    assert_eq!(apply(&app, &half).expect("applied")["log_size"], 30);
    assert_eq!(app.read("app/logs/app.log.1"), format!("{LOG}INFO three\n").as_bytes());
    assert_eq!(code(apply(&app, &other)), "log_changed");
}

// spec: NOTE-08
#[test]
fn r14_a_process_that_is_killed_at_any_moment_loses_nothing_and_blocks_nobody() {
    let mut finished = 0;
    for round in 0..60_u64 {
        let app = App::with_log(LOG);
        let id = plan_id(&app);
        let mut process = program::start(app.root());
        process.ask(&peer::request(1, "server/discover", json!({})));
        process.send(&peer::call(2, "log_rotate_apply", json!({"plan_id": id})));
        // No moment is right: each round has another one, and what is asserted holds at all of them.
        thread::sleep(Duration::from_micros(round * 50));
        // Dropping it is SIGKILL.
        drop(process);
        let applied = apply(&app, &id).expect("applied");
        finished += usize::from(applied["status"] == "already_applied");
        assert_eq!(app.logs(), ["app.log", "app.log.1"], "round {round}");
        assert_eq!(app.read("app/logs/app.log.1"), LOG.as_bytes(), "round {round}");
        assert_eq!(app.read("app/logs/app.log"), b"", "round {round}");
    }
    eprintln!("of 60 rotations {finished} were over before the kill");
}

#[test]
fn what_a_rotation_left_under_its_own_name_is_put_away_and_nothing_is_lost_with_it() {
    for (left, logs) in [
        // Cut off before the empty file took the log's place.
        ("", &["app.log", "app.log.1"][..]),
        // Another program's file came out of the log's place, and the process ended before it was kept.
        ("INFO fresh\n", &["app.log", "app.log.1", "app.log.2"]),
    ] {
        let app = App::with_log(LOG);
        let id = plan_id(&app);
        app.write("app/logs/.rotate/next", left);
        let applied = apply(&app, &id);
        if left.is_empty() {
            assert_eq!(applied.expect("applied")["archive"], "app.log.1");
        } else {
            // It has the name that was planned for; no byte of either is lost.
            assert_eq!(code(applied), "archive_exists");
            assert_eq!(app.read("app/logs/app.log.1"), left.as_bytes());
            let id = plan_id(&app);
            assert_eq!(apply(&app, &id).expect("applied")["archive"], "app.log.2");
        }
        assert_eq!(app.logs(), logs);
        assert!(!app.path("app/logs/.rotate/next").exists());
    }
    // The old log itself, which has its archive's name: only the second name goes.
    let app = App::with_log(LOG);
    let id = plan_id(&app);
    apply(&app, &id).expect("applied");
    fs::hard_link(app.path("app/logs/app.log.1"), app.path("app/logs/.rotate/next"))
        .expect("a name");
    app.append("INFO more\n");
    let id = plan_id(&app);
    apply(&app, &id).expect("applied");
    assert_eq!(app.logs(), ["app.log", "app.log.1", "app.log.2"]);
}
