//! `log_tail`.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::{FileExt, symlink},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    peer::Peer,
    program,
    support::{App, Over, code, each, make_pipe, set_mode},
};

const WINDOW: usize = 262_144;

fn tail(app: &App, arguments: Value) -> Value {
    app.call("log_tail", arguments).expect("a tail")
}

fn texts(tail: &Value) -> Vec<&str> {
    each(&tail["lines"], "text").into_iter().map(|text| text.as_str().expect("a text")).collect()
}

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("INFO line {n}\n")).collect()
}

// spec: NOTE-01, NOTE-10
#[test]
fn t1_lines_are_fifty_by_default_and_from_1_to_200() {
    let app = App::with_log(numbered(300));
    assert_eq!(texts(&tail(&app, json!({}))).len(), 50);
    for lines in
        [json!(0), json!(201), json!(-1), json!(1.5), json!("5"), json!(null), json!(1e300)]
    {
        let refused = app.call("log_tail", json!({"lines": lines}));
        assert_eq!(code(refused), "invalid_argument", "{lines}");
    }
    for (lines, expected) in [(json!(1), 1), (json!(200), 200), (json!(5.0), 5)] {
        assert_eq!(texts(&tail(&app, json!({"lines": lines}))).len(), expected, "{lines}");
    }
}

// spec: NOTE-01
#[test]
fn t2_a_level_is_one_of_four_words() {
    let app = App::with_log("ERROR x\n");
    for level in [json!("error"), json!("TRACE"), json!("WARN"), json!(""), json!(null), json!(1)] {
        let refused = app.call("log_tail", json!({"level": level}));
        assert_eq!(code(refused), "invalid_argument", "{level}");
    }
    assert_eq!(texts(&tail(&app, json!({"level": "ERROR"}))), ["ERROR x"]);
}

#[test]
fn t3_an_unknown_argument_is_refused_and_named() {
    let app = App::with_log("x\n");
    let refused = app.call("log_tail", json!({"line": 5})).expect_err("a refusal");
    assert_eq!(
        refused.to_string(),
        "invalid_argument: there is no argument \"line\"; it takes lines, level"
    );
}

// spec: NOTE-06
#[test]
fn t4_a_log_that_is_missing_unreadable_or_no_file_is_an_error() {
    let app = App::new();
    assert_eq!(code(app.call("log_tail", json!({}))), "log_not_found");
    fs::remove_dir(app.path("app/logs")).expect("removed");
    assert_eq!(code(app.call("log_tail", json!({}))), "log_not_found");

    fs::create_dir_all(app.log()).expect("a folder in the log's place");
    assert_eq!(code(app.call("log_tail", json!({}))), "log_not_regular");
    fs::remove_dir(app.log()).expect("removed");
    make_pipe(&app.log());
    let begun = Instant::now();
    assert_eq!(code(app.call("log_tail", json!({}))), "log_not_regular");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

// spec: NOTE-06
#[test]
fn t4_a_log_that_may_not_be_read_is_an_error() {
    let app = App::with_log("secret\n");
    let user = app.hand_over();
    set_mode(&app.log(), 0o000);
    let at = tempfile::TempDir::new().expect("a folder");
    set_mode(at.path(), 0o755);
    let mut command = program::command_as(user, app.root(), at.path());
    let mut peer = Peer::of(command.spawn().expect("it starts"));
    for tool in ["log_tail", "log_search", "log_rotate_plan"] {
        let arguments = if tool == "log_search" { json!({"text": "x"}) } else { json!({}) };
        let result = peer.call(1, tool, arguments);
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert_eq!(result["isError"], json!(true), "{tool}");
        assert!(text.starts_with("log_unreadable: "), "{tool}: {text}");
    }
}

#[test]
fn t5_an_empty_log_has_no_lines_and_is_no_error() {
    let app = App::with_log("");
    assert_eq!(
        tail(&app, json!({})),
        json!({
            "lines": [], "numbering": "file", "lines_left": 0, "lines_filtered": 0,
            "truncated": false, "bytes_left": 0, "bytes_hidden": 0, "bytes_shown": 0, "size": 0,
        })
    );
}

#[test]
fn t6_the_last_line_counts_without_a_line_feed() {
    let app = App::with_log("INFO one\nERROR two");
    assert_eq!(
        tail(&app, json!({})),
        json!({
            "lines": [
                {"n": 1, "level": "INFO", "text": "INFO one", "cut": false},
                {"n": 2, "level": "ERROR", "text": "ERROR two", "cut": false},
            ],
            "numbering": "file", "lines_left": 0, "lines_filtered": 0,
            "truncated": false, "bytes_left": 0, "bytes_hidden": 0, "bytes_shown": 18, "size": 18,
        })
    );
}

#[test]
fn t7_a_last_line_feed_begins_no_line_and_blank_lines_stay() {
    let app = App::with_log("one\n\n\ntwo\n");
    let tail = tail(&app, json!({}));
    assert_eq!(texts(&tail), ["one", "", "", "two"]);
    assert_eq!(each(&tail["lines"], "n"), [1, 2, 3, 4]);
}

#[test]
fn t8_a_carriage_return_ends_a_line_only_before_a_line_feed() {
    let app = App::with_log("one\r\ntwo\rthree\n\r\n");
    assert_eq!(texts(&tail(&app, json!({}))), ["one", "two\\u{d}three", ""]);
}

#[test]
fn t9_what_is_no_text_is_shown_and_moves_no_cursor() {
    let app = App::with_log(b"a\xff\xfeb\n\x1b[31mred\x1b[0m\0\ttab\n");
    assert_eq!(
        texts(&tail(&app, json!({}))),
        ["a\u{fffd}\u{fffd}b", "\\u{1b}[31mred\\u{1b}[0m\\u{0}\ttab"]
    );
}

// spec: NOTE-06
#[test]
fn t10_a_line_is_cut_after_500_characters_and_says_so() {
    let long = "я".repeat(501);
    let fits = "я".repeat(500);
    let emoji = format!("{}😀😀", "я".repeat(499));
    let app = App::with_log(format!("{long}\n{fits}\n{emoji}\n"));
    let tail = tail(&app, json!({}));
    assert_eq!(texts(&tail), [fits.as_str(), &fits, &format!("{}😀", "я".repeat(499))]);
    assert_eq!(each(&tail["lines"], "cut"), [true, false, true]);
}

// spec: NOTE-06, NOTE-10
#[test]
fn t11_the_window_is_256_kib_and_a_line_that_begins_before_it_is_dropped() {
    let line = format!("INFO {}\n", "x".repeat(58));
    let whole = line.repeat(WINDOW / line.len());
    assert_eq!(whole.len(), WINDOW);
    let app = App::with_log(&whole);
    let fits = tail(&app, json!({"lines": 2}));
    let of = |tail: &Value| {
        [&tail["numbering"], &tail["truncated"], &tail["bytes_left"], &tail["lines_left"]]
            .map(Value::clone)
    };
    assert_eq!(of(&fits), [json!("file"), json!(false), json!(0), json!(4094)]);
    assert_eq!(each(&fits["lines"], "n"), [4095, 4096]);

    app.write("app/logs/app.log", format!("x{whole}"));
    let over = tail(&app, json!({"lines": 2}));
    assert_eq!(of(&over), [json!("window"), json!(true), json!(1 + line.len()), json!(4093)]);
    assert_eq!(each(&over["lines"], "n"), [4094, 4095]);
}

#[test]
fn t12_a_window_that_begins_within_a_character_shows_no_broken_one() {
    // The window begins at the second byte of the first character that it could hold.
    for (log, first) in [
        (format!("я{}\nlast\n", "я".repeat(WINDOW / 2 - 3)), "last".to_owned()),
        (format!("я{}", "я".repeat(WINDOW / 2)) + "x", "я".repeat(500)),
    ] {
        let app = App::with_log(&log);
        let tail = tail(&app, json!({"lines": 200}));
        assert_eq!((&tail["truncated"], texts(&tail)[0]), (&json!(true), first.as_str()));
        assert!(!tail.to_string().contains('\u{fffd}'));
    }
}

// spec: NOTE-06, NOTE-10
#[test]
fn t13_a_line_longer_than_the_window_is_one_line_that_was_cut() {
    for (log, level) in [
        ("x".repeat(1 << 20), json!({})),
        ("x".repeat(1 << 20) + "\n", json!({})),
        // Its level is at its start, which was not read.
        (format!("{}ERROR{}", "x".repeat(1 << 19), "x".repeat(1 << 19)), json!({})),
    ] {
        let app = App::with_log(&log);
        let tail = tail(&app, level);
        let lines = json!([{"n": 1, "level": null, "text": "x".repeat(500), "cut": true}]);
        assert_eq!(
            (&tail["lines"], &tail["truncated"], &tail["numbering"]),
            (&lines, &json!(true), &json!("window"))
        );
        assert_eq!(tail["bytes_left"], log.len() - WINDOW);
    }
    let app = App::with_log(format!("{}\nERROR {}", "x".repeat(9), "x".repeat(WINDOW)));
    assert_eq!(texts(&tail(&app, json!({"level": "ERROR"}))), [""; 0]);
}

// spec: NOTE-10
#[test]
#[cfg(target_os = "linux")]
fn t14_of_a_log_of_ten_gigabytes_256_kib_are_read() {
    let app = App::new();
    let log = File::create(app.log()).expect("a log");
    log.set_len(10_000_000_000).expect("a sparse file");
    log.write_all_at(b"\nERROR last\n", 9_999_999_988).expect("written");
    let mut peer = program::start(app.root());
    peer.call(1, "note_read", json!({"name": "none.md"}));
    let mut fastest = Duration::MAX;
    // A machine that is busy with other tests may be late once, and not each time.
    for id in 2..=6 {
        let before = bytes_read(peer.id());
        let begun = Instant::now();
        let result = peer.call(id, "log_tail", json!({}));
        fastest = fastest.min(begun.elapsed());
        assert_eq!(texts(&result["structuredContent"]), ["ERROR last"]);
        // The request itself is read too.
        let read = bytes_read(peer.id()) - before;
        assert!((WINDOW as u64..WINDOW as u64 + 1_000).contains(&read), "{read}");
    }
    assert!(fastest < Duration::from_millis(100), "{fastest:?}");
}

/// What a process read so far, from wherever (proc(5)).
#[cfg(target_os = "linux")]
fn bytes_read(process: u32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{process}/io")).expect("its counters");
    let count = io.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("a count");
    count.parse().expect("a number")
}

#[test]
fn t15_with_a_level_the_last_lines_of_that_level_are_given_oldest_first() {
    let mut log: Vec<String> = (1..=1000).map(|n| format!("INFO line {n}")).collect();
    for n in [10, 500, 990] {
        log[n - 1] = format!("ERROR line {n}");
    }
    let app = App::with_log(log.join("\n"));
    let found = tail(&app, json!({"level": "ERROR", "lines": 5}));
    assert_eq!(texts(&found), ["ERROR line 10", "ERROR line 500", "ERROR line 990"]);
    assert_eq!(found["lines_left"], 0);
    let found = tail(&app, json!({"level": "ERROR", "lines": 2}));
    assert_eq!(texts(&found), ["ERROR line 500", "ERROR line 990"]);
    assert_eq!((&found["lines_left"], &found["truncated"]), (&json!(1), &json!(false)));
}

/// What a tail says of how much of the log it gives.
fn account(tail: &Value) -> [u64; 7] {
    let count = |key: &str| tail[key].as_u64().unwrap_or_else(|| panic!("{key} in {tail}"));
    [
        texts(tail).len() as u64,
        count("lines_left"),
        count("lines_filtered"),
        count("bytes_left"),
        count("bytes_hidden"),
        count("bytes_shown"),
        count("size"),
    ]
}

// spec: NOTE-06
#[test]
fn t18_what_is_not_shown_is_counted() {
    let long = format!("INFO first\nERROR {}\nINFO z\n", "x".repeat(300_000));
    let lines = format!("INFO {}\n", "x".repeat(58)).repeat(4_097);
    for (log, arguments, expected) in [
        (long.as_str(), json!({}), [1, 0, 0, 300_018, 0, 7, 300_025]),
        (&long, json!({"level": "ERROR"}), [0, 0, 1, 300_018, 7, 0, 300_025]),
        (&lines, json!({"lines": 200}), [200, 3_895, 0, 128, 3_895 * 64, 12_800, 262_208]),
        (
            "\u{feff}INFO a\r\nDEBUG b\nINFO c",
            json!({"level": "INFO", "lines": 1}),
            [1, 1, 1, 0, 19, 6, 25],
        ),
        ("\u{feff}INFO a\r\nDEBUG b\nINFO c", json!({}), [3, 0, 0, 0, 0, 25, 25]),
    ] {
        let app = App::with_log(log);
        assert_eq!(account(&tail(&app, arguments.clone())), expected, "{arguments}");
    }
}

/// A log of lines of any length and level, some longer than is read of the log.
fn any_log(random: &mut fastrand::Rng) -> String {
    let mut log = String::from(if random.bool() { "\u{feff}" } else { "" });
    for _ in 0..random.usize(0..400) {
        log.push_str(random.choice(["INFO ", "ERROR ", "DEBUG ", "WARN ", ""]).unwrap_or_default());
        let length = match random.u8(0..100) {
            0 => random.usize(0..300_000),
            1..20 => random.usize(400..4_000),
            _ => random.usize(0..200),
        };
        let filling = random.choice(["x", "я", "😀"]).unwrap_or_default();
        log.push_str(&filling.repeat(length / filling.len()));
        log.push_str(random.choice(["\n", "\r\n", "\n\n"]).unwrap_or_default());
    }
    if random.bool() {
        log.truncate(log.trim_end().len());
    }
    log
}

// spec: NOTE-06, NOTE-10
#[test]
fn t18_of_any_log_every_byte_and_every_line_is_accounted_for() {
    let mut random = fastrand::Rng::with_seed(18);
    let mut windows = 0;
    for round in 0..200 {
        let log = any_log(&mut random);
        let app = App::with_log(&log);
        let mut arguments = json!({"lines": random.u64(1..=200)});
        if random.bool() {
            arguments["level"] = json!(random.choice(["INFO", "ERROR", "WARNING"]));
        }
        let tail = tail(&app, arguments.clone());
        let [given, left, filtered, before, hidden, shown, size] = account(&tail);
        let case = format!("round {round}, {arguments}, {} bytes", log.len());
        assert_eq!(size, log.len() as u64, "{case}");
        assert_eq!(before + hidden + shown, size, "{case}");
        // Counting begins at a line's beginning, and as early as one is sure to begin in what was read.
        let bytes = &log.as_bytes()[before as usize..];
        let window = &log.as_bytes()[log.len().saturating_sub(WINDOW)..];
        let first = window.iter().position(|byte| *byte == b'\n').map_or(0, |feed| feed + 1);
        let one_line = first == 0 || first == window.len();
        if log.len() <= WINDOW {
            assert_eq!(before, 0, "{case}");
        } else if !one_line {
            assert_eq!(bytes.len(), window.len() - first, "{case}");
            windows += 1;
        }
        let source: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(given + left + filtered, source.len() as u64, "{case}");
        // These texts hold nothing that is written out, so what is shown of a cut line is as long as its text.
        let mut expected = 0;
        for line in tail["lines"].as_array().expect("lines") {
            let n = line["n"].as_u64().expect("a number") as usize;
            let text = line["text"].as_str().expect("a text").len();
            let mark = if before == 0 && n == 1 && log.starts_with('\u{feff}') { 3 } else { 0 };
            let whole = source[n - 1];
            let end = whole.len() - whole.trim_ascii_end().len();
            expected += if line["cut"] == true { mark + text + end } else { whole.len() };
        }
        assert_eq!(shown, expected as u64, "{case}");
    }
    assert!(windows > 10, "{windows} logs were longer than what is read");
}

#[test]
fn t16_a_log_that_grows_and_shrinks_meanwhile_is_read_without_an_error() {
    let app = App::with_log(numbered(2_000));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let log = OpenOptions::new().write(true).open(app.log()).expect("the log");
            let whole = numbered(2_000);
            while !over.load(Ordering::SeqCst) {
                log.set_len(7).expect("cut");
                log.write_all_at(whole.as_bytes(), 0).expect("written");
                log.write_all_at(b"INFO one more\n", whole.len() as u64).expect("written");
            }
        });
        let _over = Over(&over);
        for _ in 0..300 {
            let tail = tail(&app, json!({"lines": 200}));
            let bytes: usize = texts(&tail).iter().map(|text| text.len()).sum();
            assert!(bytes as u64 <= tail["size"].as_u64().expect("a size"), "{tail}");
        }
    });
}

#[test]
fn the_end_of_a_line_that_is_longer_than_the_window_has_no_level() {
    let app = App::with_log(format!("INFO a\nERROR {}", "x".repeat(300_000)));
    let tail = tail(&app, json!({"level": "ERROR"}));
    assert_eq!(tail["lines"], json!([]));
    // It was not left out for its level: nobody looked at that.
    assert_eq!((&tail["lines_filtered"], &tail["lines_left"]), (&json!(0), &json!(0)));
    assert_eq!(tail["bytes_left"], tail["size"]);
    assert_eq!((&tail["bytes_hidden"], &tail["bytes_shown"]), (&json!(0), &json!(0)));
}

#[test]
fn t17_a_link_in_the_logs_place_is_not_followed_and_a_mark_is_no_text() {
    let app = App::new();
    symlink("/etc/passwd", app.log()).expect("a link");
    for (tool, arguments) in [
        ("log_tail", json!({})),
        ("log_search", json!({"text": "root"})),
        ("log_rotate_plan", json!({})),
    ] {
        assert_eq!(code(app.call(tool, arguments)), "log_not_regular", "{tool}");
    }
    fs::remove_dir_all(app.path("app/logs")).expect("removed");
    fs::create_dir(app.path("elsewhere")).expect("a folder");
    app.write("elsewhere/app.log", "x\n");
    symlink("../elsewhere", app.path("app/logs")).expect("a link");
    assert_eq!(code(app.call("log_tail", json!({}))), "log_not_regular");

    let app = App::with_log("\u{feff}INFO first\n");
    assert_eq!(texts(&tail(&app, json!({}))), ["INFO first"]);
}
