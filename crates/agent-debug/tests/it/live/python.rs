use serde_json::json;

use super::{functions, locals, value};
use crate::support::{Checkout, block_on, line, program, search_path, sleeping, until};

fn checkout() -> (Checkout, String) {
    let text = program("python/main.py");
    let files = [("main.py", text.as_str()), ("requirements.txt", "")];
    (Checkout::new(files, &search_path()), text)
}

// spec: DBG-04, DBG-05, DBG-08, DBG-09, DBG-10, DBG-11, DBG-12, DBG-13
pub(crate) fn a_program_stops_at_its_breakpoints_and_is_looked_at() {
    block_on(async {
        let (checkout, text) = checkout();
        let at = line(&text, "loop");
        let comment = line(&text, "comment");
        let set = checkout
            .data(json!({"op": "breakpoints", "file": "main.py", "lines": [at, comment, 9999]}))
            .await;
        assert_eq!(set["breakpoints"][0]["status"], "pending");

        let stop = checkout.data(json!({"op": "launch", "program": "main.py"})).await;
        assert_eq!((&stop["state"], &stop["reason"]), (&json!("stopped"), &json!("breakpoint")));
        assert_eq!(stop["frame"]["file"], "main.py");
        // The adapter puts a breakpoint past the end on the last line, and stops there.
        assert_eq!(stop["frame"]["line"], text.lines().count());
        let moved: Vec<_> = stop["breakpoints"].as_array().unwrap().iter().collect();
        assert_eq!(moved.len(), 2, "{moved:?}");
        assert_eq!(moved[0]["requested"], comment);
        assert_eq!(moved[0]["status"], "moved");
        assert_eq!(moved[1]["requested"], 9999);
        checkout.data(json!({"op": "breakpoints", "file": "main.py", "lines": [at]})).await;
        let stop = checkout.data(json!({"op": "continue"})).await;
        assert_eq!(stop["frame"]["line"], at);
        assert_eq!(stop["frame"]["text"], "acc = add(acc, i)  # BP:loop");

        let variables = locals(&checkout).await;
        assert_eq!(value(&variables, "acc"), "0");
        assert_eq!(value(&variables, "name"), "'Åsa 世界 🎉'");
        let found = checkout.data(json!({"op": "evaluate", "expression": "numbers[1] + i"})).await;
        assert_eq!((&found["result"], &found["type"]), (&json!("2"), &json!("int")));
        let done = checkout.data(json!({"op": "evaluate", "expression": "acc = 40"})).await;
        assert_eq!(done["reference"], json!(null));
        let failed = checkout.code(json!({"op": "evaluate", "expression": "nosuch"})).await;
        assert_eq!(failed, "evaluate_failed");

        let step = checkout.data(json!({"op": "step_in"})).await;
        assert_eq!((&step["reason"], &step["frame"]["function"]), (&json!("step"), &json!("add")));
        let out = checkout.data(json!({"op": "step_out"})).await;
        assert_eq!(out["frame"]["function"], "basic");
        let threads = checkout.data(json!({"op": "threads"})).await;
        assert_eq!(threads["threads"][0]["name"], "MainThread");
        checkout.data(json!({"op": "breakpoints", "file": "main.py", "lines": []})).await;

        let end = checkout.data(json!({"op": "continue"})).await;
        assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(0)));
        let output = checkout.data(json!({"op": "output"})).await;
        assert_eq!(output["output"], "acc 50 Åsa 世界 🎉\nend\n");
        checkout.nothing_left();
    });
}

// spec: DBG-05
pub(crate) fn a_crash_comes_back_in_one_call() {
    block_on(async {
        let (checkout, text) = checkout();
        let args = json!({"op": "launch", "program": "main.py", "args": ["crash"]});
        let output = checkout.call(args).await.unwrap();
        let stop = &output.data;
        assert_eq!((&stop["state"], &stop["reason"]), (&json!("stopped"), &json!("exception")));
        assert!(stop["description"].as_str().unwrap().contains("KeyError"), "{stop}");
        assert_eq!(stop["frame"]["line"], line(&text, "crash"));
        assert_eq!(functions(&stop["frames"])[..2], ["crash", "main"]);
        assert_eq!(value(&stop["locals"], "d"), "{}");
        let read = output.joined_text();
        assert!(read.contains("return d[\"missing\"]"), "{read}");
        let end = checkout.data(json!({"op": "continue"})).await;
        assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(1)));
        checkout.nothing_left();
    });
}

pub(crate) fn an_exit_code_is_the_answer_of_a_program_that_ends_at_once() {
    block_on(async {
        let (checkout, _) = checkout();
        let args = json!({"op": "launch", "program": "main.py", "args": ["exit3"]});
        let end = checkout.data(args).await;
        assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(3)), "{end}");
        assert_eq!(checkout.code(json!({"op": "stack"})).await, "session_ended");
        checkout.nothing_left();
    });
}

/// debugpy hangs for good where it is resumed while it still stops threads; each stop is read first.
pub(crate) fn threads_that_stop_together_do_not_hang_the_adapter() {
    block_on(async {
        let (checkout, text) = checkout();
        for _ in 0..4 {
            let lines = [line(&text, "worker")];
            checkout.data(json!({"op": "breakpoints", "file": "main.py", "lines": lines})).await;
            let args = json!({"op": "launch", "program": "main.py", "args": ["threads"]});
            let mut report = checkout.data(args).await;
            let mut stops = 0;
            while report["state"] == "stopped" {
                stops += 1;
                report = checkout.data(json!({"op": "continue"})).await;
            }
            assert_eq!((&report["state"], &report["exit_code"]), (&json!("ended"), &json!(0)));
            assert!((1..=3).contains(&stops), "{stops}");
        }
        checkout.nothing_left();
    });
}

// spec: DBG-13
pub(crate) fn no_child_and_no_daemon_outlives_the_session() {
    block_on(async {
        let (checkout, text) = checkout();
        let lines = [line(&text, "orphan")];
        checkout.data(json!({"op": "breakpoints", "file": "main.py", "lines": lines})).await;
        let args = json!({"op": "launch", "program": "main.py", "args": ["orphan"]});
        assert_eq!(checkout.data(args).await["state"], "stopped");
        until(|| {
            let running = checkout.processes();
            (sleeping(&running, "987"), sleeping(&running, "986")) == (1, 1)
        });
        checkout.data(json!({"op": "terminate"})).await;
        checkout.nothing_left();
    });
}

pub(crate) fn odd_output_and_a_child_and_an_empty_input_are_no_trouble() {
    block_on(async {
        let (checkout, _) = checkout();
        let run = async |mode: &str| {
            checkout.data(json!({"op": "launch", "program": "main.py", "args": [mode]})).await
        };
        assert_eq!(run("unicode").await["state"], "ended");
        let output = checkout.data(json!({"op": "output"})).await["output"].clone();
        let output = output.as_str().unwrap();
        // The end of the line is a write of its own, and the other stream may come between.
        assert!(output.contains("åäö 日本語 🎉🎉 red tab\t end"), "{output}");
        assert!(output.contains("stderr-åäö") && output.contains("done"), "{output}");
        assert_eq!(run("stdin").await["output"], "prompt> got ''\nend\n");
        assert_eq!(run("child").await["state"], "ended");
        checkout.nothing_left();
    });
}

// spec: DBG-04
pub(crate) fn conditions_hit_counts_and_log_points_are_the_adapters() {
    block_on(async {
        let (checkout, text) = checkout();
        let at = line(&text, "loop");
        let set = |name: &str, value: &str| json!({"op": "breakpoints", "file": "main.py", "lines": [at], name: value});
        for (name, value, expected) in [("condition", "i == 3", "3"), ("hit_condition", "2", "1")] {
            checkout.data(set(name, value)).await;
            let stop = checkout.data(json!({"op": "launch", "program": "main.py"})).await;
            assert_eq!(stop["state"], "stopped");
            let found = checkout.data(json!({"op": "evaluate", "expression": "i"})).await;
            assert_eq!(found["result"], expected, "{name}");
            checkout.data(json!({"op": "terminate"})).await;
        }
        checkout.data(set("log_message", "i is {i}")).await;
        let end = checkout.data(json!({"op": "launch", "program": "main.py"})).await;
        assert_eq!(end["state"], "ended");
        assert!(end["output"].as_str().unwrap().contains("i is 4"), "{end}");
    });
}

/// A project with one adapter does not make a Python program of every file.
pub(crate) fn a_file_is_python_by_its_name_or_its_first_line() {
    block_on(async {
        let files = [
            ("requirements.txt", ""),
            ("notes.txt", "print(1)\n"),
            ("tool", "#!/usr/bin/env python3\nraise SystemExit(4)\n"),
        ];
        let checkout = Checkout::new(files, &crate::support::search_path());
        let launch = |program: &str| json!({"op": "launch", "program": program});
        let error = checkout.call(launch("notes.txt")).await.unwrap_err();
        assert_eq!(error.code, "no_adapter", "{}", error.message);
        assert!(error.message.contains("name the adapter"), "{}", error.message);
        assert_eq!(checkout.data(launch("tool")).await["exit_code"], 4);
        let named = json!({"op": "launch", "program": "notes.txt", "adapter": "debugpy"});
        assert_eq!(checkout.data(named).await["exit_code"], 0);
    });
}

/// A link in the path is the same file.
pub(crate) fn a_file_behind_a_link_is_the_same_file() {
    block_on(async {
        let (checkout, text) = checkout();
        std::os::unix::fs::symlink("main.py", checkout.folder.path().join("link.py")).unwrap();
        let lines = [line(&text, "loop")];
        checkout.data(json!({"op": "breakpoints", "file": "link.py", "lines": lines})).await;
        let stop = checkout.data(json!({"op": "launch", "program": "main.py"})).await;
        assert_eq!(
            (&stop["state"], &stop["frame"]["file"]),
            (&json!("stopped"), &json!("main.py"))
        );
    });
}

pub(crate) fn large_values_are_shown_in_part() {
    block_on(async {
        let (checkout, text) = checkout();
        let lines = [line(&text, "big")];
        checkout.data(json!({"op": "breakpoints", "file": "main.py", "lines": lines})).await;
        let args = json!({"op": "launch", "program": "main.py", "args": ["big"]});
        checkout.data(args).await;
        let variables = locals(&checkout).await;
        let shown = value(&variables, "s");
        assert!(shown.chars().count() < 450, "{shown}");
        assert!(shown.ends_with("… more characters, cut by the debugger"), "{shown}");
        let list = super::children(&checkout, &variables, "lst").await;
        assert_eq!(list["variables"].as_array().unwrap().len(), 50);
        assert!(list["more"].as_u64().unwrap() > 0, "{list}");
        checkout.data(json!({"op": "terminate"})).await;
    });
}

pub(crate) fn a_statement_without_a_value_says_so_and_a_kill_may_be_the_exit_code() {
    block_on(async {
        let text = "import os, signal\nvalue = 1\nos.kill(os.getpid(), signal.SIGKILL)\n";
        let checkout = Checkout::new([("main.py", text), ("requirements.txt", "")], &search_path());
        checkout.data(json!({"op": "breakpoints", "file": "main.py", "lines": [3]})).await;
        checkout.data(json!({"op": "launch", "program": "main.py"})).await;
        let args = json!({"op": "evaluate", "expression": "value = 2"});
        let done = checkout.call(args).await.unwrap();
        assert_eq!(done.joined_text(), "it was executed, and has no value");
        let end = checkout.data(json!({"op": "continue"})).await;
        let said =
            "the program ended with exit code 247, or by SIGKILL: the debugger gives 247 for both";
        assert_eq!(end["description"], said);
    });
}

/// Exceptions at which debugpy does not stop.
pub(crate) fn an_exception_that_debugpy_lets_pass_comes_with_its_traceback() {
    block_on(async {
        let (checkout, _) = checkout();
        for (file, text, last) in [
            ("syntax.py", "def f(:\n", "SyntaxError: "),
            ("deep.py", "def f(n):\n    return f(n + 1) + 1\nf(0)\n", "RecursionError: "),
        ] {
            std::fs::write(checkout.folder.path().join(file), text).unwrap();
            let end = checkout.data(json!({"op": "launch", "program": file})).await;
            if end["state"] == "stopped" {
                // A debugger that does stop there has no need of the words.
                assert!(
                    end["description"].as_str().unwrap().contains(last.trim_end_matches(": ")),
                    "{end}"
                );
                checkout.data(json!({"op": "terminate"})).await;
                continue;
            }
            assert_eq!(end["exit_code"], 1, "{end}");
            assert!(end["output"].as_str().unwrap().contains(last), "{end}");
            let note = end["notes"][0].as_str().unwrap();
            assert!(note.contains("at which debugpy does not stop"), "{note}");
        }
    });
}

/// Output is told to its end, or said to be under way.
pub(crate) fn a_flood_before_a_crash_is_told_to_its_end_or_said_not_to_be() {
    block_on(async {
        let (checkout, _) = checkout();
        let text = "for i in range(40000):\n    print('a line of it', i)\n1 / 0\n";
        std::fs::write(checkout.folder.path().join("flood.py"), text).unwrap();
        let stop = checkout.data(json!({"op": "launch", "program": "flood.py"})).await;
        assert_eq!(stop["reason"], "exception", "{stop}");
        let whole = stop["output"].as_str().unwrap().ends_with("a line of it 39999\n");
        let said =
            stop["notes"].to_string().contains("more output of the program is still on its way");
        assert!(whole || said, "{stop}");
        checkout.data(json!({"op": "terminate"})).await;
    });
}
