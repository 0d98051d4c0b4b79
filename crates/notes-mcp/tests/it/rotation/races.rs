//! Several processes, and writers that go on.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use notes_mcp::{Code, Event, NotesTools, Site, Step};
use serde_json::{Value, json};

use super::{LOG, apply, plan_id};
use crate::{
    peer::{self, Peer},
    program::{self, Killed},
    support::{App, Over, call, code},
};

/// Two processes get a call each before either is answered.
fn at_once(app: &App, ids: [&str; 2]) -> Vec<String> {
    let mut peers = [program::start(app.root()), program::start(app.root())];
    for peer in &mut peers {
        // Both are up and wait for a line.
        peer.ask(&peer::request(1, "server/discover", json!({})));
    }
    for (peer, id) in peers.iter_mut().zip(ids) {
        peer.send(&peer::call(2, "log_rotate_apply", json!({"plan_id": id})));
    }
    let mut outcomes: Vec<String> = peers.iter_mut().map(outcome).collect();
    outcomes.sort();
    outcomes
}

fn outcome(peer: &mut Peer) -> String {
    let result = &peer.next()["result"];
    let status = result["structuredContent"]["status"].as_str().map(str::to_owned);
    status.unwrap_or_else(|| {
        let text = result["content"][0]["text"].as_str().expect("a text");
        text.split(':').next().unwrap_or_default().to_owned()
    })
}

// spec: NOTE-08
#[test]
fn r8_of_two_processes_that_apply_one_plan_one_does() {
    for _ in 0..20 {
        let app = App::with_log(LOG);
        let id = plan_id(&app);
        let outcomes = at_once(&app, [&id, &id]);
        assert!(
            outcomes == ["already_applied", "applied"]
                || outcomes == ["applied", "rotation_in_progress"],
            "{outcomes:?}"
        );
        assert_eq!(app.logs(), ["app.log", "app.log.1"]);
        assert_eq!(app.read("app/logs/app.log.1"), LOG.as_bytes());
    }
}

// spec: NOTE-08
#[test]
fn r9_of_two_plans_for_one_log_one_is_applied() {
    for _ in 0..20 {
        let app = App::with_log(LOG);
        let (one, two) = (plan_id(&app), plan_id(&app));
        let outcomes = at_once(&app, [&one, &two]);
        assert!(
            outcomes == ["applied", "log_changed"]
                || outcomes == ["applied", "rotation_in_progress"],
            "{outcomes:?}"
        );
        assert_eq!(app.logs(), ["app.log", "app.log.1"]);
    }
}

/// A process that holds the lock until it is killed.
fn hold_lock(app: &App) -> Killed {
    let mut command = Command::new("flock");
    command.arg("--no-fork").arg(app.path("app/logs/.rotate/lock"));
    command.args(["sh", "-c", "echo held; read forever"]);
    let holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut holder = Killed(holder.expect("flock of util-linux"));
    let mut said = [0; 5];
    let output = holder.0.stdout.as_mut().expect("its output");
    std::io::Read::read_exact(output, &mut said).expect("it holds the lock");
    assert_eq!(&said, b"held\n");
    holder
}

// spec: NOTE-05
#[test]
fn r10_a_lock_that_another_process_holds_is_not_waited_for() {
    let app = App::with_log(LOG);
    let id = plan_id(&app);
    let _holder = hold_lock(&app);
    let begun = Instant::now();
    assert_eq!(code(apply(&app, &id)), "rotation_in_progress");
    assert_eq!(code(app.call("log_rotate_plan", json!({}))), "rotation_in_progress");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    super::assert_untouched(&app, LOG);
}

#[test]
fn r18_the_lock_of_a_process_that_was_killed_is_free() {
    let app = App::with_log(LOG);
    let id = plan_id(&app);
    let holder = hold_lock(&app);
    assert_eq!(code(apply(&app, &id)), "rotation_in_progress");
    // `kill` of the standard library is SIGKILL.
    drop(holder);
    assert_eq!(apply(&app, &id).expect("applied")["status"], "applied");
}

/// How often each line is in the log and its archives.
fn lines(app: &App) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in app.logs() {
        let text = String::from_utf8(app.read(&format!("app/logs/{name}"))).expect("UTF-8");
        for line in text.lines() {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
    }
    counts
}

// spec: NOTE-08
#[test]
fn r13_what_is_written_between_any_two_steps_is_kept_once_and_the_log_is_never_absent() {
    let app = Arc::new(App::with_log(LOG));
    let id = plan_id(&app);
    let writer = app.clone();
    let mut open = fs::File::options().append(true).open(app.log()).expect("the log");
    open.flush().expect("open");
    let open = Arc::new(open);
    let observer = move |event: Event<'_>| {
        if let Event::Reached(step) = event {
            // One writer opens the log for each line, another has it open all the time.
            writer.append(format!("INFO by name, {step:?}\n"));
            (&*open).write_all(format!("INFO by handle, {step:?}\n").as_bytes()).expect("written");
        }
    };
    let tools = NotesTools::new(app.site().with_observer(observer));
    let over = AtomicBool::new(false);
    let looks = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut looks = 0;
            while !over.load(Ordering::SeqCst) || looks == 0 {
                fs::metadata(app.log()).expect("the log is there");
                looks += 1;
            }
            looks
        });
        let ends = Over(&over);
        let applied = call(&tools, "log_rotate_apply", json!({"plan_id": id}));
        drop(ends);
        assert_eq!(applied.expect("applied")["status"], "applied");
        watcher.join().expect("it was there all the time")
    });
    assert!(looks > 0);
    let mut expected: BTreeMap<String, usize> =
        LOG.lines().map(|line| (line.to_owned(), 1)).collect();
    for step in [Step::Checked, Step::Linked, Step::Compared, Step::Replaced] {
        expected.insert(format!("INFO by name, {step:?}"), 1);
        expected.insert(format!("INFO by handle, {step:?}"), 1);
    }
    assert_eq!(lines(&app), expected);
    assert_eq!(app.read("app/logs/app.log"), b"INFO by name, Replaced\n");
}

// spec: NOTE-08
#[test]
fn r13_under_a_writer_that_never_stops_every_line_is_kept_once() {
    let app = App::with_log("0\n");
    // It writes as fast as it can from the check to the end of each rotation, as a log that changes before is not rotated.
    let (writes, over) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 1;
            while !over.load(Ordering::SeqCst) {
                if writes.load(Ordering::SeqCst) {
                    app.append(format!("{count}\n"));
                    count += 1;
                }
            }
            count
        });
        let writing = writes.clone();
        let tools = NotesTools::new(app.site().with_observer(move |event| match event {
            Event::Reached(Step::Checked) => writing.store(true, Ordering::SeqCst),
            Event::Reached(Step::Replaced) => writing.store(false, Ordering::SeqCst),
            _ => {}
        }));
        let ends = Over(&over);
        let mut rotated = 0;
        while rotated < 5 {
            // The last line of the writer may still be on its way.
            let applied = call(&tools, "log_rotate_plan", json!({})).and_then(|plan| {
                call(&tools, "log_rotate_apply", json!({"plan_id": plan["plan_id"]}))
            });
            match applied {
                Ok(_) => rotated += 1,
                Err(refused) if refused.code() == Code::NothingToRotate => app.append("again\n"),
                Err(refused) => assert_eq!(refused.code(), Code::LogChanged, "{refused}"),
            }
        }
        drop(ends);
        writer.join().expect("it wrote")
    });
    assert_eq!(app.logs().len(), 6);
    let mut lines = lines(&app);
    lines.remove("again");
    assert!(lines.values().all(|count| *count == 1), "{lines:?}");
    assert_eq!(lines.len(), written);
}

fn tools_with(site: Site, at: Step, change: impl Fn() + Send + Sync + 'static) -> NotesTools {
    NotesTools::new(site.with_observer(move |event| {
        if event == Event::Reached(at) {
            change();
        }
    }))
}

// spec: NOTE-08
#[test]
fn a_log_that_another_program_replaces_in_the_middle_is_not_touched() {
    for at in [Step::Checked, Step::Linked] {
        let app = Arc::new(App::with_log(LOG));
        let id = plan_id(&app);
        let other = app.clone();
        let tools = tools_with(app.site(), at, move || {
            fs::rename(other.log(), other.path("app/logs/by-another")).expect("moved");
            other.write("app/logs/app.log", "INFO fresh\n");
        });
        let refused = call(&tools, "log_rotate_apply", json!({"plan_id": id}));
        assert_eq!(code(refused), "log_changed", "{at:?}");
        // The archive's name is taken back, since the log has the one that the other program gave it.
        assert_eq!(app.logs(), ["app.log", "by-another"], "{at:?}");
        assert_eq!(app.read("app/logs/app.log"), b"INFO fresh\n");
        assert_eq!(app.read("app/logs/by-another"), LOG.as_bytes());
    }
}

// spec: NOTE-08
#[test]
fn a_log_that_another_program_deletes_in_the_middle_keeps_its_archive() {
    let app = Arc::new(App::with_log(LOG));
    let id = plan_id(&app);
    let other = app.clone();
    let tools = tools_with(app.site(), Step::Linked, move || {
        fs::remove_file(other.log()).expect("removed");
    });
    let refused = call(&tools, "log_rotate_apply", json!({"plan_id": id}));
    assert_eq!(code(refused), "log_changed");
    assert_eq!(app.read("app/logs/app.log.1"), LOG.as_bytes());
}

// spec: NOTE-08
#[test]
fn a_log_that_another_program_made_in_the_very_moment_and_writes_to_later_is_kept() {
    for cut_off in [false, true] {
        let app = Arc::new(App::with_log(LOG));
        let id = plan_id(&app);
        let fresh = Arc::new(Mutex::new(None));
        let (other, opened) = (app.clone(), fresh.clone());
        let tools = NotesTools::new(app.site().with_observer(move |event| match event {
            Event::Reached(Step::Compared) => {
                fs::rename(other.log(), other.path("app/logs/by-another")).expect("moved");
                let made = fs::File::create_new(other.log()).expect("a new log");
                *opened.lock().expect("a lock") = Some(made);
            }
            Event::Reached(Step::Replaced) if cut_off => {
                // As if the end had come before what was in the log's place was put away.
                let archives = ["app/logs/app.log.2", "app/logs/.rotate/next"];
                let [kept, next] = archives.map(|name| other.path(name));
                fs::rename(kept, next).expect("moved back");
                panic!("cut off, as this test wants");
            }
            _ => {}
        }));
        let apply = || call(&tools, "log_rotate_apply", json!({"plan_id": id}));
        if cut_off {
            catch_unwind(AssertUnwindSafe(apply)).expect_err("cut off");
            let applied = super::apply(&app, &id).expect("applied");
            assert_eq!(applied["status"], "already_applied");
        } else {
            assert_eq!(apply().expect("applied")["status"], "applied");
        }
        let mut fresh = fresh.lock().expect("a lock").take().expect("it was made");
        fresh.write_all(b"INFO fresh\n").expect("written");
        assert_eq!(app.read("app/logs/app.log.2"), b"INFO fresh\n", "cut off: {cut_off}");
        assert_eq!(app.logs(), ["app.log", "app.log.1", "app.log.2", "by-another"]);
    }
}

// spec: NOTE-08
#[test]
fn a_rotation_by_another_program_in_the_same_moment_loses_no_line() {
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..150 {
        let app = Arc::new(App::with_log(LOG));
        let id = plan_id(&app);
        let begins = Arc::new(AtomicBool::new(false));
        let (other, begun) = (app.clone(), begins.clone());
        // As logrotate does it: the log gets another name, and a new one is made.
        let another = thread::spawn(move || {
            while !begun.load(Ordering::SeqCst) {}
            fs::rename(other.log(), other.path("app/logs/by-another")).expect("moved");
            other.append_new("INFO fresh\n");
        });
        let tools =
            tools_with(app.site(), Step::Linked, move || begins.store(true, Ordering::SeqCst));
        let outcome = match call(&tools, "log_rotate_apply", json!({"plan_id": id})) {
            Ok(applied) => applied["status"].to_string(),
            Err(refused) => refused.code().as_str().to_owned(),
        };
        *outcomes.entry(outcome).or_default() += 1;
        another.join().expect("it rotated");
        let lines = lines(&app);
        let all: Vec<&str> = lines.keys().map(String::as_str).collect();
        assert_eq!(all, ["ERROR two", "INFO fresh", "INFO one"], "{outcomes:?}");
        assert!(app.log().exists(), "{outcomes:?}");
    }
    let known = ["\"applied\"", "io_error", "log_changed"];
    assert!(outcomes.keys().all(|outcome| known.contains(&outcome.as_str())), "{outcomes:?}");
}

#[test]
fn calls_of_one_process_take_turns_and_none_is_refused_for_another() {
    let app = App::with_log(LOG);
    let mut peer = program::start(app.root());
    for id in 1..=40 {
        peer.send(&peer::call(id, "log_rotate_plan", json!({})));
    }
    let mut ids: Vec<Value> = (1..=40)
        .map(|_| peer.next())
        .map(|answer| answer["result"]["structuredContent"]["plan_id"].clone())
        .collect();
    ids.sort_by_key(Value::to_string);
    ids.dedup();
    assert_eq!(ids.len(), 40);
    assert!(ids.iter().all(Value::is_string), "{ids:?}");
}
