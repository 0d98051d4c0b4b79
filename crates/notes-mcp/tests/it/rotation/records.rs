//! The record of plans.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::{Duration, UNIX_EPOCH},
};

use notes_mcp::{Event, NotesTools, Site};
use serde_json::{Value, json};

use super::{LOG, apply, assert_untouched, plan, plan_id};
use crate::support::{App, StubClock, call, code, each};

const RECORD: &str = "app/logs/.rotate/plans.json";

/// A site that writes its warnings down.
fn warned(site: Site) -> (Site, Arc<Mutex<Vec<String>>>) {
    let warnings: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = warnings.clone();
    let site = site.with_observer(move |event| {
        if let Event::Warning(text) = event {
            seen.lock().expect("the warnings").push(text.to_owned());
        }
    });
    (site, warnings)
}

#[test]
fn r16_a_damaged_record_holds_no_plan_is_kept_and_said() {
    let good = App::with_log(LOG);
    let id = plan_id(&good);
    let good: Value = serde_json::from_slice(&good.read(RECORD)).expect("a record");
    let with = |key: &str, value: Value| {
        let mut record = good.clone();
        record["plans"][0][key] = value;
        record.to_string().into_bytes()
    };
    for (bytes, damage) in [
        (b"{".to_vec(), "damaged"),
        (b"".to_vec(), "damaged"),
        (b"\xff\0".to_vec(), "damaged"),
        (b"[]".to_vec(), "damaged"),
        // A name that leads out of the folder is no archive's.
        (with("archive", json!("../../data/stolen")), "damaged"),
        (with("created", json!(-1)), "damaged"),
        (vec![b' '; (1 << 20) + 1], "over 1 MiB"),
    ] {
        let app = App::with_log(LOG);
        plan_id(&app);
        app.write(RECORD, &bytes);
        let (site, warnings) = warned(app.site());
        let tools = NotesTools::new(site);
        let apply_lost = || {
            call(&tools, "log_rotate_apply", json!({"plan_id": id})).map_err(|no| no.to_string())
        };
        let refused = Err(format!(
            "plan_not_found: no plan with this id is on record, but an earlier record was damaged and is kept as {RECORD}.damaged.1, so it \
             may have been applied; let a person look at that and at the archives before you call log_rotate_plan"
        ));
        assert_eq!(apply_lost(), refused);
        let warning = format!(
            "the record of plans is {damage}, so it counts as empty; it is kept as {RECORD}.damaged.1"
        );
        assert_eq!(*warnings.lock().expect("the warnings"), [warning.as_str()]);
        assert_untouched(&app, LOG);
        // A new plan begins a new record, and whoever looks at it is told.
        let planned = plan(&app);
        let action = planned["action"].as_str().expect("a sentence");
        let told =
            format!("; an earlier record of plans was damaged and is kept as {RECORD}.damaged.1");
        assert!(action.ends_with(&told), "{action}");
        assert_eq!(apply_lost(), refused);
        let id = planned["plan_id"].as_str().expect("an id");
        assert_eq!(apply(&app, id).expect("applied")["status"], "applied");
        assert_eq!(app.read(&format!("{RECORD}.damaged.1")), bytes);
    }
}

#[test]
fn r16_no_damaged_record_is_overwritten_by_another_one() {
    let app = App::with_log(LOG);
    plan_id(&app);
    let aside = |n: usize| format!("{RECORD}.damaged.{n}");
    for n in 1..=9 {
        app.write(RECORD, format!("damage {n}"));
        plan_id(&app);
    }
    app.write(RECORD, "damage 10");
    assert_eq!(
        app.call("log_rotate_plan", json!({})).expect_err("a refusal").to_string(),
        "io_error: the record of plans is damaged and cannot be kept aside: there are 9 damaged records in app/logs/.rotate already; \
         let a person look at it"
    );
    for n in 1..=9 {
        assert_eq!(app.read(&aside(n)), format!("damage {n}").into_bytes());
    }
    assert_eq!(app.read(RECORD), b"damage 10");
}

#[test]
fn r16_a_record_that_cannot_be_read_is_not_overwritten() {
    let app = App::with_log(LOG);
    let id = plan_id(&app);
    fs::rename(app.path(RECORD), app.path("record")).expect("moved");
    fs::create_dir(app.path(RECORD)).expect("a folder");
    assert_eq!(
        apply(&app, &id).expect_err("a refusal").to_string(),
        "io_error: cannot read the record of plans: is a directory; let a person look at it"
    );
    assert_eq!(code(app.call("log_rotate_plan", json!({}))), "io_error");
    fs::remove_dir(app.path(RECORD)).expect("removed");
    fs::rename(app.path("record"), app.path(RECORD)).expect("moved");
    assert_eq!(apply(&app, &id).expect("applied")["status"], "applied");
}

#[test]
fn r16_a_time_that_cannot_be_is_no_panic() {
    let app = App::with_log(LOG);
    let id = plan_id(&app);
    apply(&app, &id).expect("applied");
    let mut record: Value = serde_json::from_slice(&app.read(RECORD)).expect("a record");
    record["plans"][0]["phase"]["applied"]["at"] = json!(u64::MAX);
    app.write(RECORD, record.to_string());
    assert_eq!(apply(&app, &id).expect("applied")["applied_at"], "9999-12-31T23:59:59Z");
}

#[test]
fn r20_of_over_a_hundred_records_the_oldest_go_and_those_that_live_stay() {
    let app = App::with_log(LOG);
    let clock = StubClock::new();
    let tools = NotesTools::new(app.site().with_clock(clock.clone()));
    let plan = || call(&tools, "log_rotate_plan", json!({})).expect("a plan")["plan_id"].clone();
    let expired: Vec<Value> = (0..80).map(|_| plan()).collect();
    clock.forward(Duration::from_secs(600));
    let live: Vec<Value> = (0..70).map(|_| plan()).collect();
    let ids = |app: &App| {
        let record: Value = serde_json::from_slice(&app.read(RECORD)).expect("a record");
        each(&record["plans"], "plan_id").into_iter().cloned().collect::<Vec<Value>>()
    };
    assert_eq!(ids(&app), [&expired[50..], &live].concat());
    let more: Vec<Value> = (0..40).map(|_| plan()).collect();
    assert_eq!(ids(&app), [live, more].concat());
    let gone = call(&tools, "log_rotate_apply", json!({"plan_id": expired[79]}));
    assert_eq!(code(gone), "plan_not_found");
}

#[test]
fn r20_what_was_applied_is_remembered_for_a_week_and_a_full_record_takes_no_plan() {
    let app = App::with_log(LOG);
    let id = plan_id(&app);
    apply(&app, &id).expect("applied");
    fs::remove_file(app.path("app/logs/app.log.1")).expect("removed");
    app.append(LOG);
    let other = plan_id(&app);
    let record: Value = serde_json::from_slice(&app.read(RECORD)).expect("a record");
    let [applied, planned] = [&record["plans"][0], &record["plans"][1]];
    let numbered = |count: usize| -> Vec<Value> {
        let mut plans = Vec::new();
        for n in 0..count {
            let mut plan = planned.clone();
            plan["plan_id"] = json!(format!("{n:016x}"));
            plans.push(plan);
        }
        plans
    };
    let record_with = |days: u64, live: usize| {
        let mut plans = vec![applied.clone()];
        plans.extend(numbered(live));
        let ago = days * 24 * 60 * 60 * 1_000;
        let at = plans[0]["phase"]["applied"]["at"].as_u64().expect("a time");
        plans[0]["phase"]["applied"]["at"] = json!(at - ago);
        app.write(RECORD, json!({"plans": plans}).to_string());
    };
    let held = || {
        let record: Value = serde_json::from_slice(&app.read(RECORD)).expect("a record");
        let first = record["plans"][0]["plan_id"] == json!(id);
        (record["plans"].as_array().map_or(0, Vec::len), first)
    };
    for (days, live, expected) in
        [(6, 150, (152, true)), (8, 150, (151, false)), (6, 998, (1_000, true))]
    {
        record_with(days, live);
        plan_id(&app);
        assert_eq!(held(), expected, "{days} days, {live} live");
        assert!(app.read(RECORD).len() < 1 << 19);
    }
    // Full, and nothing of it may go: the rotation is known, the plans can be applied, and a new one is refused.
    let created = planned["created"].as_u64().expect("a time");
    let over = UNIX_EPOCH + Duration::from_millis(created + 600_000);
    let over = humantime::format_rfc3339_seconds(over);
    assert_eq!(
        app.call("log_rotate_plan", json!({})).expect_err("a refusal").to_string(),
        format!(
            "too_many_plans: there are 1000 plans that may still be applied or were within 7 days, and none of them is forgotten for a \
             new one; have one of them looked at and applied, or call again after {over}"
        )
    );
    assert_eq!(held(), (1_000, true));
    assert_eq!(apply(&app, &id).expect("a result")["status"], "already_applied");
    assert_eq!(apply(&app, &format!("{:016x}", 997)).expect("applied")["status"], "applied");
    // A record from before there was this bound is read, and shrinks as its plans end.
    record_with(6, 1_500);
    assert_eq!(code(app.call("log_rotate_plan", json!({}))), "nothing_to_rotate");
    app.append(LOG);
    assert_eq!(code(app.call("log_rotate_plan", json!({}))), "too_many_plans");
    assert_eq!(
        apply(&app, &other).expect_err("a refusal").to_string(),
        "plan_not_found: no plan with this id is on record, where one that was applied stays 7 days; call log_rotate_plan for one and have it looked at"
    );
    let clock = StubClock::new();
    clock.forward(Duration::from_secs(600));
    let tools = NotesTools::new(app.site().with_clock(clock));
    call(&tools, "log_rotate_plan", json!({})).expect("a plan");
    assert_eq!(held(), (100, true));
}

#[test]
fn r20_plans_that_are_over_go_before_what_was_applied_however_old_that_is() {
    let app = App::with_log(LOG);
    let id = plan_id(&app);
    apply(&app, &id).expect("applied");
    app.append(LOG);
    let clock = StubClock::new();
    let tools = NotesTools::new(app.site().with_clock(clock.clone()));
    let plan = || call(&tools, "log_rotate_plan", json!({})).expect("a plan")["plan_id"].clone();
    let expired: Vec<Value> = (0..99).map(|_| plan()).collect();
    clock.forward(Duration::from_secs(8 * 24 * 60 * 60));
    let live = plan();
    let record: Value = serde_json::from_slice(&app.read(RECORD)).expect("a record");
    let expected = [&[json!(id)][..], &expired[1..], &[live]].concat();
    assert_eq!(each(&record["plans"], "plan_id"), expected.iter().collect::<Vec<_>>());
}
