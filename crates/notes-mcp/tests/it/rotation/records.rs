//! The record of plans.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use notes_mcp::{Event, NotesTools, Site};
use serde_json::{Value, json};

use super::{LOG, apply, assert_untouched, plan_id};
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
fn r16_a_damaged_record_holds_no_plan_and_a_person_is_told() {
    let good = App::with_log(LOG);
    let id = plan_id(&good);
    let good: Value = serde_json::from_slice(&good.read(RECORD)).expect("a record");
    let with = |key: &str, value: Value| {
        let mut record = good.clone();
        record["plans"][0][key] = value;
        record.to_string().into_bytes()
    };
    for (bytes, warning) in [
        (b"{".to_vec(), "the record of plans is damaged, so it counts as empty"),
        (b"\xff\0".to_vec(), "the record of plans is damaged, so it counts as empty"),
        (b"[]".to_vec(), "the record of plans is damaged, so it counts as empty"),
        // A name that leads out of the folder is no archive's.
        (
            with("archive", json!("../../data/stolen")),
            "the record of plans is damaged, so it counts as empty",
        ),
        (with("created", json!(-1)), "the record of plans is damaged, so it counts as empty"),
        (
            vec![b' '; (1 << 20) + 1],
            "the record of plans cannot be read, so it counts as empty: it is over 1 MiB",
        ),
    ] {
        let app = App::with_log(LOG);
        plan_id(&app);
        app.write(RECORD, &bytes);
        let (site, warnings) = warned(app.site());
        let tools = NotesTools::new(site);
        assert_eq!(
            code(call(&tools, "log_rotate_apply", json!({"plan_id": id}))),
            "plan_not_found"
        );
        assert_eq!(*warnings.lock().expect("the warnings"), [warning]);
        assert_untouched(&app, LOG);
        // A new plan begins a new record.
        let id = plan_id(&app);
        assert_eq!(apply(&app, &id).expect("applied")["status"], "applied");
    }
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
fn r20_what_was_applied_is_remembered_for_a_week_and_no_record_grows_without_end() {
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
    for (days, kept, live, expected) in
        [(6, true, 150, 152), (8, false, 150, 151), (6, false, 1_500, 1_000)]
    {
        let mut plans = vec![applied.clone()];
        plans.extend(numbered(live));
        let ago = days * 24 * 60 * 60 * 1_000;
        let at = plans[0]["phase"]["applied"]["at"].as_u64().expect("a time");
        plans[0]["phase"]["applied"]["at"] = json!(at - ago);
        app.write(RECORD, json!({"plans": plans}).to_string());
        plan_id(&app);
        let record: Value = serde_json::from_slice(&app.read(RECORD)).expect("a record");
        assert_eq!(
            record["plans"].as_array().map(Vec::len),
            Some(expected),
            "{days} days, {live} live"
        );
        assert_eq!(record["plans"][0]["plan_id"] == json!(id), kept, "{days} days, {live} live");
        assert!(app.read(RECORD).len() < 1 << 19);
    }
    assert_eq!(code(apply(&app, &other)), "plan_not_found");
}
