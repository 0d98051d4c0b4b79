//! `log_rotate_plan` and `log_rotate_apply`.

mod crashes;
mod disks;
mod races;
mod records;

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, chown, symlink},
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use notes_mcp::{NotesTools, Refusal};
use serde_json::{Value, json};

use crate::{
    program,
    support::{App, StubClock, call, code, set_mode},
};

const LOG: &str = "INFO one\nERROR two\n";

fn plan(app: &App) -> Value {
    app.call("log_rotate_plan", json!({})).expect("a plan")
}

fn plan_id(app: &App) -> String {
    plan(app)["plan_id"].as_str().expect("an id").to_owned()
}

fn apply(app: &App, id: &str) -> Result<Value, Refusal> {
    app.call("log_rotate_apply", json!({"plan_id": id}))
}

/// Holds that nothing was rotated: the log has these bytes, and nothing came beside it.
fn assert_untouched(app: &App, log: &str) {
    assert_eq!(app.logs(), ["app.log"]);
    assert_eq!(app.read("app/logs/app.log"), log.as_bytes());
}

// spec: NOTE-04, NOTE-08
#[test]
fn r1_a_plan_says_what_would_be_done_and_changes_nothing_but_its_own_record() {
    let app = App::with_log(LOG);
    app.write("app/data/notes/a.md", "a");
    let before = state(app.root());
    let clock = StubClock::new();
    let tools = NotesTools::new(app.site().with_clock(clock.clone()));
    let first = call(&tools, "log_rotate_plan", json!({})).expect("a plan");
    let second = call(&tools, "log_rotate_plan", json!({})).expect("a plan");
    assert_eq!(state(app.root()), before);
    let id = first["plan_id"].as_str().expect("an id");
    assert!(id.len() == 16 && id.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')), "{id}");
    assert_ne!(first["plan_id"], second["plan_id"]);
    let expires = humantime_seconds(first["expires_at"].as_str().expect("a time"));
    let now = notes_mcp::Clock::now(&clock).duration_since(UNIX_EPOCH).expect("a time").as_secs();
    assert_eq!(expires, now + 600);
    assert_eq!(
        (&first["log_size"], &first["archive"], &first["action"]),
        (
            &json!(19),
            &json!("app.log.1"),
            &json!(
                "rename app/logs/app.log (19 bytes) to app/logs/app.log.1 and create an empty app/logs/app.log; nothing is deleted, \
                 and a program that has the log open writes to the archive until it opens the log again"
            )
        )
    );
    assert_eq!(code(app.call("log_rotate_plan", json!({"force": true}))), "invalid_argument");
}

/// Every file below a folder with its inode, times and bytes; the server's own are left out.
fn state(folder: &Path) -> BTreeMap<String, (u64, i64, i64, Vec<u8>)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.ends_with(".rotate") {
            continue;
        }
        if path.is_dir() {
            all.extend(state(&path));
        } else {
            let of = fs::symlink_metadata(&path).expect("a file");
            let times = (of.mtime_nsec(), of.ctime_nsec());
            let bytes = fs::read(&path).expect("a file");
            all.insert(path.display().to_string(), (of.ino(), times.0, times.1, bytes));
        }
    }
    all
}

/// Seconds since 1970 of a time as `date` understands it.
fn humantime_seconds(time: &str) -> u64 {
    let date = std::process::Command::new("date").args(["-u", "+%s", "-d", time]).output();
    let said = String::from_utf8(date.expect("date").stdout).expect("a number");
    said.trim().parse().unwrap_or_else(|error| panic!("{error}: {time}"))
}

// spec: NOTE-05, NOTE-08
#[test]
fn r2_an_applied_plan_moves_the_bytes_and_leaves_an_empty_log_like_the_old_one() {
    let app = App::with_log(LOG);
    set_mode(&app.log(), 0o640);
    // Where the tests may, the log belongs to somebody else.
    let _ = chown(app.log(), Some(1_234), Some(1_234));
    let old = fs::metadata(app.log()).expect("the log");
    let id = plan_id(&app);
    let applied = apply(&app, &id).expect("applied");
    assert_eq!(
        [&applied["status"], &applied["archive"], &applied["log_size"]],
        [&json!("applied"), &json!("app.log.1"), &json!(19)]
    );
    assert_eq!(app.logs(), ["app.log", "app.log.1"]);
    assert_eq!(app.read("app/logs/app.log.1"), LOG.as_bytes());
    let new = fs::metadata(app.log()).expect("the log");
    assert_eq!(
        (new.len(), new.mode(), new.uid(), new.gid()),
        (0, old.mode(), old.uid(), old.gid())
    );
    let archive = fs::metadata(app.path("app/logs/app.log.1")).expect("the archive");
    assert_eq!((archive.ino(), archive.nlink()), (old.ino(), 1));
}

// spec: NOTE-05, NOTE-08
#[test]
fn r3_a_repeated_apply_answers_as_before_and_rotates_nothing() {
    let app = App::with_log(LOG);
    let clock = StubClock::new();
    let tools = || NotesTools::new(app.site().with_clock(clock.clone()));
    let id = plan_id(&app);
    let again = |tools: &NotesTools| call(tools, "log_rotate_apply", json!({"plan_id": id}));
    let server = tools();
    let first = again(&server).expect("applied");
    let mut expected = first.clone();
    expected["status"] = json!("already_applied");
    assert_eq!(again(&server), Ok(expected.clone()));
    // Whatever is written since, after a restart, and after the plan's ten minutes.
    app.append("INFO three\n");
    assert_eq!(again(&tools()), Ok(expected.clone()));
    clock.forward(Duration::from_secs(660));
    assert_eq!(again(&tools()), Ok(expected.clone()));
    assert_eq!(app.logs(), ["app.log", "app.log.1"]);
    assert_eq!(app.read("app/logs/app.log"), b"INFO three\n");
    let mut process = program::start(app.root());
    let answer = process.call(1, "log_rotate_apply", json!({"plan_id": id}));
    assert_eq!(answer["structuredContent"], expected);
}

// spec: NOTE-05, NOTE-08, NOTE-10
#[test]
fn r4_an_id_that_is_none_is_invalid_and_one_that_nobody_gave_is_not_found() {
    let app = App::with_log(LOG);
    for id in [
        "0123456789ABCDEF",
        "0123456789abcde",
        "0123456789abcdef0",
        "0123456789abcdeg",
        "",
        "../../../../../x",
    ] {
        assert_eq!(code(apply(&app, id)), "invalid_argument", "{id}");
    }
    assert_eq!(
        apply(&app, "0123456789abcde").expect_err("a refusal").to_string(),
        "invalid_argument: `plan_id` is a text of 16 characters"
    );
    for arguments in
        [json!({}), json!({"plan_id": null}), json!({"plan_id": 1_234_567_812_345_678_u64})]
    {
        assert_eq!(
            code(app.call("log_rotate_apply", arguments.clone())),
            "invalid_argument",
            "{arguments}"
        );
    }
    assert_eq!(code(apply(&app, "0123456789abcdef")), "plan_not_found");
    assert!(!app.path("app/logs/.rotate").exists());
    plan(&app);
    assert_eq!(code(apply(&app, "0123456789abcdef")), "plan_not_found");
    assert_untouched(&app, LOG);
}

// spec: NOTE-05
#[test]
fn r5_a_plan_lives_for_ten_minutes() {
    for (move_clock, expected) in [
        (Duration::from_secs(599), "applied"),
        (Duration::from_millis(599_999), "applied"),
        (Duration::from_secs(600), "plan_expired"),
    ] {
        let app = App::with_log(LOG);
        let clock = StubClock::new();
        let tools = NotesTools::new(app.site().with_clock(clock.clone()));
        let plan = call(&tools, "log_rotate_plan", json!({})).expect("a plan");
        clock.forward(move_clock);
        let applied = call(&tools, "log_rotate_apply", json!({"plan_id": plan["plan_id"]}));
        match applied {
            Ok(applied) => assert_eq!(applied["status"], expected, "{move_clock:?}"),
            Err(refused) => assert_eq!(refused.code().as_str(), expected, "{move_clock:?}"),
        }
    }
}

#[test]
fn r5_a_plan_from_the_future_has_expired() {
    for (back, expected) in [(Duration::from_secs(5), false), (Duration::from_secs(6), true)] {
        let app = App::with_log(LOG);
        let clock = StubClock::new();
        let tools = NotesTools::new(app.site().with_clock(clock.clone()));
        let plan = call(&tools, "log_rotate_plan", json!({})).expect("a plan");
        clock.back(back);
        let applied = call(&tools, "log_rotate_apply", json!({"plan_id": plan["plan_id"]}));
        let said = applied.err().map(|refused| refused.to_string());
        let why = "plan_expired: the plan's time lies in the future, since the clock was set back, so nobody knows its age; \
                   call log_rotate_plan for a new one and have it looked at";
        assert_eq!(said.as_deref(), expected.then_some(why), "{back:?}");
    }
}

// spec: NOTE-05, NOTE-08
#[test]
fn r6_a_log_that_changed_in_any_way_is_not_rotated() {
    type Change = fn(&App);
    let changes: [(&str, Change, &str); 5] = [
        ("one byte more", |app| app.append("x"), "INFO one\nERROR two\nx"),
        ("as many other bytes", |app| overwrite(app), "INFO one\nERROR TWO\n"),
        (
            "as many other bytes and the old time",
            |app| {
                let time = fs::metadata(app.log()).and_then(|log| log.modified()).expect("a time");
                overwrite(app);
                let log = fs::File::options().write(true).open(app.log()).expect("the log");
                log.set_modified(time).expect("the old time");
            },
            "INFO one\nERROR TWO\n",
        ),
        (
            "the same bytes in another file",
            |app| {
                fs::remove_file(app.log()).expect("removed");
                app.write("app/logs/app.log", LOG);
            },
            LOG,
        ),
        ("another mode", |app| set_mode(&app.log(), 0o600), LOG),
    ];
    for (what, change, left) in changes {
        let app = App::with_log(LOG);
        let id = plan_id(&app);
        change(&app);
        assert_eq!(code(apply(&app, &id)), "log_changed", "{what}");
        assert_untouched(&app, left);
    }
    let app = App::with_log(LOG);
    let id = plan_id(&app);
    fs::remove_file(app.log()).expect("removed");
    assert_eq!(code(apply(&app, &id)), "log_not_found");
    assert_eq!(app.logs(), [""; 0]);
}

fn overwrite(app: &App) {
    let mut log = fs::File::options().write(true).open(app.log()).expect("the log");
    log.write_all(b"INFO one\nERROR TWO\n").expect("written");
}

// spec: NOTE-08
#[test]
fn r7_what_one_process_planned_another_applies() {
    let app = App::with_log(LOG);
    let planned = program::start(app.root()).call(1, "log_rotate_plan", json!({}));
    let id = &planned["structuredContent"]["plan_id"];
    let applied = program::start(app.root()).call(1, "log_rotate_apply", json!({"plan_id": id}));
    assert_eq!(applied["structuredContent"]["status"], "applied");
    assert_eq!(app.read("app/logs/app.log.1"), LOG.as_bytes());
}

// spec: NOTE-04, NOTE-05, NOTE-10
#[test]
fn r11_there_are_five_archives_and_none_is_given_up_for_a_sixth() {
    let app = App::with_log(LOG);
    for n in 1..=4 {
        app.write(&format!("app/logs/app.log.{n}"), format!("archive {n}"));
    }
    let planned = plan(&app);
    assert_eq!(planned["archive"], "app.log.5");
    app.write("app/logs/app.log.5", "archive 5");
    let id = planned["plan_id"].as_str().expect("an id");
    assert_eq!(code(apply(&app, id)), "too_many_archives");
    assert_eq!(
        app.call("log_rotate_plan", json!({})).expect_err("a refusal").to_string(),
        "too_many_archives: there are 5 archives (app.log.1, app.log.2, app.log.3, app.log.4, app.log.5) and no more than 5 are made; \
         let a person move the oldest away, since none is deleted here"
    );
    // With room for one more, the name that was planned for is still taken.
    fs::remove_file(app.path("app/logs/app.log.1")).expect("removed");
    assert_eq!(code(apply(&app, id)), "archive_exists");
    assert_eq!(app.read("app/logs/app.log"), LOG.as_bytes());
    assert_eq!(app.read("app/logs/app.log.5"), b"archive 5");
}

// spec: NOTE-04
#[test]
fn r12_an_archive_is_numbered_after_the_last_and_other_names_are_none() {
    let app = App::with_log(LOG);
    for name in ["1", "3", "gz", "01", "x", "0", "9x", "", "1.gz", "-7"] {
        app.write(&format!("app/logs/app.log.{name}"), "x");
    }
    app.write("app/logs/other.log.8", "x");
    assert_eq!(plan(&app)["archive"], "app.log.4");
    app.write(&format!("app/logs/app.log.{}", u64::MAX), "x");
    assert_eq!(code(app.call("log_rotate_plan", json!({}))), "archive_exists");
}

#[test]
fn an_empty_log_and_a_missing_one_are_not_rotated() {
    let app = App::with_log("");
    assert_eq!(code(app.call("log_rotate_plan", json!({}))), "nothing_to_rotate");
    fs::remove_file(app.log()).expect("removed");
    assert_eq!(code(app.call("log_rotate_plan", json!({}))), "log_not_found");
    assert_eq!(code(apply(&app, "0123456789abcdef")), "plan_not_found");
    assert_eq!(fs::read_dir(app.path("app/logs")).expect("a folder").count(), 0);
}

#[test]
fn r17_a_link_in_the_place_of_what_is_the_servers_own_is_not_followed() {
    for (place, target) in
        [(".rotate", "../../elsewhere"), (".rotate/lock", "../../../elsewhere/lock")]
    {
        let app = App::with_log(LOG);
        let id = plan_id(&app);
        let place = app.path("app/logs").join(place);
        if place.is_dir() {
            fs::rename(&place, app.path("elsewhere")).expect("moved");
        } else {
            fs::create_dir(app.path("elsewhere")).expect("a folder");
            fs::rename(&place, app.path("elsewhere/lock")).expect("moved");
        }
        symlink(target, &place).expect("a link");
        assert_eq!(code(apply(&app, &id)), "io_error", "{place:?}");
        assert_eq!(code(app.call("log_rotate_plan", json!({}))), "io_error", "{place:?}");
        assert_untouched(&app, LOG);
    }
}

// spec: NOTE-08
#[test]
fn r19_a_writer_that_has_the_log_open_writes_to_the_archive() {
    let app = App::with_log(LOG);
    let mut writer = fs::File::options().append(true).open(app.log()).expect("the log");
    let id = plan_id(&app);
    apply(&app, &id).expect("applied");
    writer.write_all(b"INFO late\n").expect("written");
    assert_eq!(app.read("app/logs/app.log.1"), format!("{LOG}INFO late\n").as_bytes());
    assert_eq!(app.read("app/logs/app.log"), b"");
}
