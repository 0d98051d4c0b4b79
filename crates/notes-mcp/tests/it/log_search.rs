//! `log_search`.

use std::{
    fs::File,
    process::Command,
    sync::{Mutex, mpsc},
    time::{Duration, SystemTime},
};

use notes_mcp::{Clock, NotesTools};
use serde_json::{Value, json};

use crate::{
    peer::{self, Peer, request, watched},
    support::{App, IN_TIME, StubClock, call, code, each},
};

const BOUND: usize = 5_000_000;

fn search(app: &App, arguments: Value) -> Value {
    app.call("log_search", arguments).expect("a result")
}

/// What a search says of how far it looked.
fn extent(found: &Value) -> [&Value; 5] {
    ["complete", "stop_reason", "scanned_lines", "scanned_bytes", "bytes_left"]
        .map(|key| &found[key])
}

// spec: NOTE-02, NOTE-10
#[test]
fn s1_a_text_has_1_to_100_characters_and_no_line_break() {
    let app = App::with_log(format!("{}\n", "я".repeat(100)));
    for text in ["", &"x".repeat(101), "a\nb", "a\r"] {
        let refused = app.call("log_search", json!({"text": text}));
        assert_eq!(code(refused), "invalid_argument", "{text:?}");
    }
    for arguments in
        [json!({}), json!({"text": null}), json!({"text": 1}), json!({"text": "a", "regex": true})]
    {
        assert_eq!(
            code(app.call("log_search", arguments.clone())),
            "invalid_argument",
            "{arguments}"
        );
    }
    assert_eq!(each(&search(&app, json!({"text": "я".repeat(100)}))["matches"], "n"), [1]);
}

// spec: NOTE-02
#[test]
fn s2_a_text_is_no_regular_expression() {
    let app = App::with_log("abc\na.*c\nx[y\n");
    assert_eq!(each(&search(&app, json!({"text": ".*"}))["matches"], "text"), ["a.*c"]);
    assert_eq!(each(&search(&app, json!({"text": "["}))["matches"], "text"), ["x[y"]);
}

#[test]
fn s3_upper_and_lower_case_are_apart() {
    let app = App::with_log("Error\nerror\n");
    assert_eq!(each(&search(&app, json!({"text": "error"}))["matches"], "n"), [2]);
}

// spec: NOTE-02, NOTE-06
#[test]
fn s4_a_limit_that_left_something_out_says_so_and_one_that_did_not_does_not() {
    let app = App::with_log("hit 1\nx\nhit 2\nhit 3\n");
    for limit in [json!(0), json!(51), json!("2"), json!(2.5)] {
        let refused = app.call("log_search", json!({"text": "hit", "limit": limit}));
        assert_eq!(code(refused), "invalid_argument", "{limit}");
    }
    let found = search(&app, json!({"text": "hit", "limit": 2}));
    assert_eq!(each(&found["matches"], "n"), [1, 3]);
    assert_eq!(extent(&found), [&json!(false), &json!("limit"), &json!(3), &json!(14), &json!(6)]);
    let found = search(&app, json!({"text": "hit", "limit": 3}));
    assert_eq!(each(&found["matches"], "n"), [1, 3, 4]);
    assert_eq!(extent(&found), [&json!(true), &json!("end"), &json!(4), &json!(20), &json!(0)]);
}

#[test]
fn s5_nothing_found_says_how_much_was_looked_at() {
    let app = App::with_log("a\n\nb\n");
    let found = search(&app, json!({"text": "none"}));
    assert_eq!(found["matches"], json!([]));
    assert_eq!(extent(&found), [&json!(true), &json!("end"), &json!(3), &json!(5), &json!(0)]);
}

// spec: NOTE-02, NOTE-06, NOTE-10
#[test]
fn s6_what_lies_beyond_five_megabytes_is_not_looked_at_and_counted() {
    let line = "INFO nothing here\n";
    let mut log = line.repeat(BOUND / line.len() + 1);
    log.truncate(BOUND + 1 - "\nneedle".len());
    log.push_str("\nneedle");
    assert_eq!(log.len(), BOUND + 1);
    let app = App::with_log(&log);
    let found = search(&app, json!({"text": "needle"}));
    assert_eq!(found["matches"], json!([]));
    let lines = json!(log.lines().count());
    assert_eq!(extent(&found), [&json!(false), &json!("bytes"), &lines, &json!(BOUND), &json!(1)]);
    // The same text within the bound is found in the line that the bound cuts.
    let found = search(&app, json!({"text": "needl"}));
    let n = log.lines().count();
    assert_eq!(found["matches"], json!([{"n": n, "level": null, "text": "needl", "cut": true}]));
}

#[test]
fn s6_a_log_of_exactly_five_megabytes_is_looked_at_whole() {
    let mut log = vec![b'x'; BOUND];
    log[BOUND - 7..].copy_from_slice(b"\nneedle");
    let app = App::with_log(&log);
    let found = search(&app, json!({"text": "needle"}));
    assert_eq!(each(&found["matches"], "n"), [2]);
    assert_eq!(extent(&found), [&json!(true), &json!("end"), &json!(2), &json!(BOUND), &json!(0)]);
}

// spec: NOTE-02, NOTE-10
#[test]
fn s7_after_two_seconds_what_was_found_is_given_and_the_rest_counted() {
    let line = "INFO a needle\n";
    let app = App::with_log(line.repeat(100_000));
    // One block is read at each look at the clock: the search begins at 0 ms and breaks off at 2000.
    let tools = NotesTools::new(app.site().with_clock(StubClock::stepping(1_000)));
    let found = call(&tools, "log_search", json!({"text": "needle", "limit": 50, "level": "INFO"}));
    let found = found.expect("a result");
    assert_eq!(
        (&found["stop_reason"], found["matches"].as_array().map(Vec::len)),
        (&json!("limit"), Some(50))
    );
    let found = call(&tools, "log_search", json!({"text": "none"})).expect("a result");
    let lines = 262_144 / line.len();
    let bytes = lines * line.len();
    let left = 100_000 * line.len() - bytes;
    assert_eq!(
        extent(&found),
        [&json!(false), &json!("time"), &json!(lines), &json!(bytes), &json!(left)]
    );
    app.write("app/logs/app.log", format!("{line}{}", "INFO x\n".repeat(100_000)));
    let found = call(&tools, "log_search", json!({"text": "needle"})).expect("a result");
    assert_eq!(
        (&found["stop_reason"], each(&found["matches"], "n")),
        (&json!("time"), vec![&json!(1)])
    );
}

#[test]
fn s8_a_match_beyond_what_is_shown_of_its_line_is_found() {
    let app = App::with_log(format!("ERROR {}needle\n", "x".repeat(1_000)));
    let found = search(&app, json!({"text": "needle"}));
    let text = format!("ERROR {}", "x".repeat(494));
    assert_eq!(found["matches"], json!([{"n": 1, "level": "ERROR", "text": text, "cut": true}]));
}

#[test]
fn s8_what_is_shown_of_a_line_is_found_by_that_and_by_its_own_bytes() {
    let block = vec![b'x'; 300_000];
    for before in [&b""[..], b"\xef\xbb\xbf", &[&block[..], b"\r\n\0\n"].concat()[..]] {
        let log = b"INFO plain\nERROR \x1b[31mdisk caf\xe9 full\r\na\rb\nINFO \\u{1b}[31m said\n\xd1\x8f\x7f\nINFO last \xd1";
        let app = App::with_log([before, log].concat());
        let lines = before.iter().filter(|byte| **byte == b'\n').count();
        for (text, expected) in [
            ("\\u{1b}[31mdisk caf\u{fffd} full", &[2][..]),
            ("\u{1b}[31mdisk", &[2]),
            ("\\u{1b}[31m", &[2, 4]),
            ("caf\u{fffd}", &[2]),
            ("a\\u{d}b", &[3]),
            ("full\\u{d}", &[]),
            ("я\\u{7f}", &[5]),
            ("last \u{fffd}", &[6]),
            ("disk", &[2]),
            ("INFO", &[1, 4, 6]),
            ("\\u{a}", &[]),
        ] {
            let found = search(&app, json!({"text": text}));
            let expected: Vec<usize> = expected.iter().map(|n| lines + n).collect();
            assert_eq!(each(&found["matches"], "n"), expected, "{text}");
            assert_eq!(extent(&found)[..3], [&json!(true), &json!("end"), &json!(lines + 6)]);
        }
        // What a tail shows of any line is found.
        for line in app.call("log_tail", json!({"lines": 6})).expect("a tail")["lines"]
            .as_array()
            .expect("lines")
        {
            let found = search(&app, json!({"text": line["text"]}));
            assert!(each(&found["matches"], "text").contains(&&line["text"]), "{line}");
        }
    }
}

#[test]
fn s8_a_form_that_is_shown_counts_for_the_limit_and_the_level_as_any_text() {
    let app = App::with_log("ERROR \u{1b}x\nINFO \u{1b}x\nERROR \\u{1b}x\nERROR \u{1b}x\n");
    let found = search(&app, json!({"text": "\\u{1b}x", "level": "ERROR", "limit": 2}));
    assert_eq!(each(&found["matches"], "n"), [1, 3]);
    assert_eq!(extent(&found)[..3], [&json!(false), &json!("limit"), &json!(3)]);
}

#[test]
fn s9_a_match_across_two_blocks_is_found_once() {
    let block = 262_144;
    for at in [block - 3, block - 6, block, block - 7] {
        let mut log = vec![b'x'; block * 2];
        log[at..at + 6].copy_from_slice(b"needle");
        for feed in [100, block * 2 - 1] {
            log[feed] = b'\n';
        }
        let app = App::with_log(&log);
        let found = search(&app, json!({"text": "needle"}));
        assert_eq!(each(&found["matches"], "n"), [2], "at {at}");
        assert_eq!(found["scanned_lines"], 2);
    }
}

#[test]
fn s10_a_level_is_exact_and_a_line_without_one_is_left_out() {
    let app = App::with_log(
        "ERROR save\nWARNING save\n  save in a traceback\nFATAL save\nINFO save ERROR\n",
    );
    let found = search(&app, json!({"text": "save", "level": "ERROR"}));
    assert_eq!(each(&found["matches"], "n"), [1, 4]);
    assert_eq!(found["scanned_lines"], 5);
    let found = search(&app, json!({"text": "save"}));
    assert_eq!(
        each(&found["matches"], "level"),
        [&json!("ERROR"), &json!("WARNING"), &json!(null), &json!("ERROR"), &json!("INFO")]
    );
}

#[test]
fn s11_lines_have_the_numbers_that_grep_gives_them() {
    let mut log = String::from("\u{feff}needle first\n\n\r\n");
    for n in 0..20_000 {
        log.push_str(if n % 977 == 0 { "a needle\r\n" } else { "hay\n" });
    }
    log.push_str("needle last");
    let app = App::with_log(&log);
    let grep = Command::new("grep").args(["-n", "-F", "needle"]).arg(app.log()).output();
    let grep = String::from_utf8(grep.expect("grep").stdout).expect("UTF-8");
    let numbers: Vec<u64> = grep
        .lines()
        .map(|line| line.split(':').next().and_then(|n| n.parse().ok()).expect("a number"))
        .collect();
    let found = search(&app, json!({"text": "needle", "limit": 50}));
    assert_eq!(each(&found["matches"], "n"), numbers);
    assert_eq!((numbers.len(), &found["scanned_lines"]), (23, &json!(20_004)));
    assert_eq!(found["matches"][0]["text"], "needle first");
}

#[test]
fn s12_the_last_line_matches_without_a_line_feed() {
    let app = App::with_log("x\nneedle");
    let found = search(&app, json!({"text": "needle"}));
    assert_eq!(each(&found["matches"], "n"), [2]);
    assert_eq!(extent(&found), [&json!(true), &json!("end"), &json!(2), &json!(8), &json!(0)]);
}

// spec: NOTE-10
#[test]
fn s13_one_line_of_six_megabytes_ends_at_the_bound() {
    let app = App::with_log("я".repeat(3_000_000));
    let found = search(&app, json!({"text": "none"}));
    assert_eq!(
        extent(&found),
        [&json!(false), &json!("bytes"), &json!(1), &json!(BOUND), &json!(1_000_000)]
    );
}

// spec: NOTE-06
#[test]
fn s14_a_missing_log_is_an_error() {
    let refused = App::new().call("log_search", json!({"text": "x"})).expect_err("a refusal");
    assert_eq!(
        refused.to_string(),
        "log_not_found: there is no app/logs/app.log; that is no empty log: find out whether the application runs, and where it writes"
    );
}

/// Says when the search looks at it, and goes on when it is told to.
#[derive(Debug)]
struct Gate {
    looked: mpsc::SyncSender<()>,
    go: Mutex<mpsc::Receiver<()>>,
}

impl Clock for Gate {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn elapsed(&self) -> Duration {
        let _ = self.looked.send(());
        let _ = self.go.lock().expect("the gate").recv();
        Duration::ZERO
    }
}

impl Gate {
    /// The clock, what says that it was looked at, and what lets the search go on.
    fn new() -> (Self, mpsc::Receiver<()>, mpsc::Sender<()>) {
        let (looked, looks) = mpsc::sync_channel(0);
        let (go, gate) = mpsc::channel();
        (Self { looked, go: Mutex::new(gate) }, looks, go)
    }
}

#[test]
fn a_log_that_is_cut_off_in_the_middle_of_a_search_ends_there() {
    let app = App::with_log("INFO a needle\n".repeat(100_000));
    let (clock, looks, go) = Gate::new();
    let mut peer = Peer::of_tools(NotesTools::new(app.site().with_clock(clock)));
    peer.send(&peer::call(1, "log_search", json!({"text": "none"})));
    for _ in 0..2 {
        looks.recv_timeout(IN_TIME).expect("a look at the clock");
        go.send(()).expect("it waits");
    }
    // The first block is read by now.
    looks.recv_timeout(IN_TIME).expect("a look at the clock");
    File::options().write(true).open(app.log()).and_then(|log| log.set_len(140)).expect("cut off");
    drop((go, looks));
    let found = &peer.next()["result"]["structuredContent"];
    let bytes = 262_144;
    assert_eq!(
        extent(found),
        [&json!(true), &json!("end"), &json!(bytes / 14 + 1), &json!(bytes), &json!(0)]
    );
}

// spec: NOTE-02, NOTE-10
#[test]
fn a_line_of_control_characters_does_not_hold_a_search_up() {
    let app = App::with_log(["needle\n".as_bytes(), &b"\x1b".repeat(200_000)].concat());
    // A look before each block, and one before each piece of the line: the second one is too late.
    let tools = NotesTools::new(app.site().with_clock(StubClock::stepping(700)));
    let found = call(&tools, "log_search", json!({"text": "abc"})).expect("a result");
    assert_eq!(
        extent(&found),
        [&json!(false), &json!("time"), &json!(1), &json!(7), &json!(200_000)]
    );
    let found = search(&app, json!({"text": "{1b}\\u"}));
    assert_eq!((&found["complete"], each(&found["matches"], "n")), (&json!(true), vec![&json!(2)]));
}

#[test]
fn what_was_looked_at_to_its_end_is_complete_however_long_it_took() {
    let app = App::with_log("INFO x\n");
    let tools = NotesTools::new(app.site().with_clock(StubClock::stepping(1_500)));
    let found = call(&tools, "log_search", json!({"text": "none"})).expect("a result");
    assert_eq!(extent(&found), [&json!(true), &json!("end"), &json!(1), &json!(7), &json!(0)]);
}

#[test]
fn a_log_with_the_mark_alone_has_one_line_for_both_tools() {
    let app = App::with_log("\u{feff}");
    let found = search(&app, json!({"text": "x"}));
    assert_eq!(extent(&found), [&json!(true), &json!("end"), &json!(1), &json!(3), &json!(0)]);
    let tools = NotesTools::new(app.site());
    let tail = call(&tools, "log_tail", json!({})).expect("a result");
    assert_eq!(tail["lines"].as_array().map(Vec::len), Some(1));
}

// spec: NOTE-09
#[test]
fn s15_a_search_that_is_cancelled_in_the_middle_is_not_answered() {
    let app = App::with_log("INFO x\n".repeat(600_000));
    let (clock, looks, go) = Gate::new();
    let mut peer = Peer::of_tools(NotesTools::new(app.site().with_clock(clock)));
    peer.send(&watched(peer::call(1, "log_search", json!({"text": "none"})), json!("how far")));
    for _ in 0..3 {
        looks.recv_timeout(IN_TIME).expect("a look at the clock");
        go.send(()).expect("it waits");
    }
    looks.recv_timeout(IN_TIME).expect("the search is in the middle");
    peer.send(&peer::cancel(1));
    // The answer to this one shows that the cancellation was read.
    assert_eq!(peer.ask(&request(2, "server/discover", json!({})))["id"], 2);
    drop((go, looks));
    let end = peer.end();
    assert_eq!(end.lines, Vec::<Value>::new());
}

#[test]
fn a_search_that_is_watched_says_how_far_it_is_and_never_less_than_before() {
    let app = App::with_log("INFO x\n".repeat(1_000_000));
    let mut peer = Peer::of_tools(app.tools());
    peer.send(&watched(peer::call(1, "log_search", json!({"text": "none"})), json!(7)));
    let mut told = Vec::new();
    let answer = loop {
        let message = peer.next();
        if message.get("id").is_some() {
            break message;
        }
        assert_eq!(message["method"], "notifications/progress");
        let params = &message["params"];
        assert_eq!((&params["progressToken"], &params["total"]), (&json!(7), &json!(BOUND)));
        told.push(params["progress"].as_u64().expect("a number"));
    };
    assert_eq!(answer["result"]["structuredContent"]["stop_reason"], "bytes");
    assert_eq!(told, [1_048_576, 2_097_152, 3_145_728, 4_194_304]);
}
