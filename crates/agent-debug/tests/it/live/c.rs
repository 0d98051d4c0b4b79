use serde_json::{Value, json};

use super::{functions, locals, value};
use crate::support::{Checkout, block_on, line, program, search_path, sleeping, until};

fn checkout() -> (Checkout, String) {
    let text = program("c/main.c");
    let checkout =
        Checkout::new([("main.c", text.as_str()), ("CMakeLists.txt", "")], &search_path());
    checkout.build(&["gcc", "-g", "-O0", "-pthread", "main.c", "-o", "sample"]);
    (checkout, text)
}

async fn launch(checkout: &Checkout, mode: &str) -> Value {
    checkout.data(json!({"op": "launch", "program": "sample", "args": [mode]})).await
}

// spec: DBG-05, DBG-07, DBG-08, DBG-10, DBG-11, DBG-12, DBG-13
pub(crate) fn a_program_stops_at_its_breakpoints_and_is_looked_at() {
    block_on(async {
        let (checkout, text) = checkout();
        let at = line(&text, "loop");
        let lines = [at, line(&text, "comment")];
        checkout.data(json!({"op": "breakpoints", "file": "main.c", "lines": lines})).await;
        let stop = launch(&checkout, "basic").await;
        assert_eq!((&stop["state"], &stop["reason"]), (&json!("stopped"), &json!("breakpoint")));
        assert_eq!(stop["breakpoints"][0]["status"], "moved", "{stop}");
        checkout.data(json!({"op": "breakpoints", "file": "main.c", "lines": [at]})).await;
        let stop = checkout.data(json!({"op": "continue"})).await;
        assert_eq!(
            (&stop["frame"]["file"], &stop["frame"]["line"]),
            (&json!("main.c"), &json!(at))
        );
        let variables = locals(&checkout).await;
        assert_eq!(value(&variables, "acc"), "0");
        let found = checkout.data(json!({"op": "evaluate", "expression": "numbers[1] + 40"})).await;
        assert_eq!(found["result"], "42");
        let step = checkout.data(json!({"op": "step_in"})).await;
        assert_eq!(step["frame"]["function"], "add");
        let out = checkout.data(json!({"op": "step_out"})).await;
        assert_eq!(out["frame"]["function"], "basic");
        checkout.data(json!({"op": "breakpoints", "file": "main.c", "lines": []})).await;
        let end = checkout.data(json!({"op": "continue"})).await;
        assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(0)));
        let output = checkout.data(json!({"op": "output"})).await;
        assert_eq!(output["output"], "acc 10 Åsa 世界 🎉 1 1\nend\n");
        checkout.nothing_left();
    });
}

pub(crate) fn a_signal_stops_a_program_and_comes_back_in_one_call() {
    block_on(async {
        let (checkout, text) = checkout();
        let stop = launch(&checkout, "crash").await;
        assert_eq!((&stop["state"], &stop["reason"]), (&json!("stopped"), &json!("signal")));
        assert!(stop["description"].as_str().unwrap().contains("SIGSEGV"), "{stop}");
        assert_eq!(stop["frame"]["line"], line(&text, "crash"));
        assert_eq!(functions(&stop["frames"])[..2], ["crash", "main"]);
        assert_eq!(values_of(&stop["locals"]), ["p"]);
        checkout.data(json!({"op": "terminate"})).await;
        checkout.nothing_left();
    });
}

/// lldb gives one number to the locals of every frame.
// spec: DBG-11
pub(crate) fn a_reference_names_the_scope_of_its_own_frame() {
    block_on(async {
        let (checkout, text) = checkout();
        let lines = [line(&text, "add")];
        checkout.data(json!({"op": "breakpoints", "file": "main.c", "lines": lines})).await;
        let stop = launch(&checkout, "basic").await;
        assert_eq!(functions(&stop["frames"])[..2], ["add", "basic"]);
        let mut references = Vec::new();
        for frame in [0, 1] {
            let args = json!({"op": "scopes", "frame_id": stop["frames"][frame]["id"]});
            references.push(checkout.data(args).await["scopes"][0]["reference"].clone());
        }
        assert_ne!(references[0], references[1]);
        let mut names = Vec::new();
        for reference in [&references[0], &references[1], &references[0]] {
            let args = json!({"op": "variables", "reference": reference});
            names.push(values_of(&checkout.data(args).await));
        }
        assert!(names[1].contains(&"acc".to_owned()), "{names:?}");
        assert!(!names[0].contains(&"acc".to_owned()), "{names:?}");
        assert_eq!(names[0], names[2]);
    });
}

pub(crate) fn a_program_that_a_signal_ended_says_so() {
    block_on(async {
        let (checkout, _) = checkout();
        launch(&checkout, "crash").await;
        let end = checkout.data(json!({"op": "continue"})).await;
        let said = "the program ended, most likely by SIGSEGV, at which it stood before; the debugger gives 11 as its exit code";
        assert_eq!((&end["state"], &end["description"]), (&json!("ended"), &json!(said)));
        assert_eq!(end["exit_code"], json!(null), "it is none");
        checkout.nothing_left();
    });
}

/// lldb keeps the end of a step that a breakpoint cut off, and stops there when it is told to continue.
// spec: DBG-05
pub(crate) fn a_step_that_was_cut_off_and_ends_later_is_explained() {
    block_on(async {
        let (checkout, text) = checkout();
        let lines = [line(&text, "loop")];
        checkout.data(json!({"op": "breakpoints", "file": "main.c", "lines": lines})).await;
        let stop = launch(&checkout, "basic").await;
        assert_eq!(stop["frame"]["function"], "basic");
        let lines = [line(&text, "add")];
        checkout.data(json!({"op": "breakpoints", "file": "main.c", "lines": lines})).await;
        let stop = checkout.data(json!({"op": "step_over"})).await;
        assert_eq!(
            (&stop["reason"], &stop["frame"]["function"]),
            (&json!("breakpoint"), &json!("add"))
        );
        checkout.data(json!({"op": "breakpoints", "file": "main.c", "lines": []})).await;
        let stop = checkout.data(json!({"op": "continue"})).await;
        assert_eq!(
            (&stop["reason"], &stop["frame"]["function"]),
            (&json!("step"), &json!("basic"))
        );
        let note = stop["notes"][0].as_str().unwrap();
        assert!(note.starts_with("an earlier step that a stop had cut off"), "{note}");
    });
}

/// lldb stops where a condition is no expression, and python runs on.
pub(crate) fn a_condition_that_fails_is_told_with_the_stop_that_it_makes() {
    block_on(async {
        let (checkout, text) = checkout();
        let args = json!({"op": "breakpoints", "file": "main.c", "lines": [line(&text, "loop")], "condition": "nosuch > 3"});
        checkout.data(args).await;
        let stop = launch(&checkout, "basic").await;
        assert_eq!(stop["state"], "stopped");
        let note = stop["notes"][0].as_str().unwrap_or_default();
        assert!(note.starts_with("a breakpoint's condition could not be evaluated"), "{stop}");
        assert!(note.contains("undeclared identifier 'nosuch'"), "{note}");
    });
}

/// lldb would read no number in it, and stop at each hit.
pub(crate) fn a_count_with_an_operator_is_not_set() {
    block_on(async {
        let (checkout, text) = checkout();
        let at = line(&text, "loop");
        let set = |hits: &str| json!({"op": "breakpoints", "file": "main.c", "lines": [at], "hit_condition": hits});
        checkout.data(set(">= 2")).await;
        let end = launch(&checkout, "basic").await;
        assert_eq!(end["breakpoints"][0]["status"], "unset", "{end}");
        let why = end["breakpoints"][0]["message"].as_str().unwrap();
        assert!(why.contains("takes a plain count"), "{why}");
        checkout.data(json!({"op": "terminate"})).await;
        checkout.data(set("2")).await;
        assert_eq!(launch(&checkout, "basic").await["state"], "stopped");
    });
}

fn values_of(locals: &Value) -> Vec<String> {
    super::values(locals).into_iter().map(|(name, _)| name).collect()
}

pub(crate) fn an_exit_code_is_the_answer_of_a_program_that_ends_at_once() {
    block_on(async {
        let (checkout, _) = checkout();
        let end = launch(&checkout, "exit3").await;
        assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(3)));
        checkout.nothing_left();
    });
}

// spec: DBG-07
pub(crate) fn a_program_that_runs_is_paused_and_one_that_reads_does_not_wait() {
    block_on(async {
        let (checkout, _) = checkout();
        let args =
            json!({"op": "launch", "program": "sample", "args": ["loop"], "timeout_ms": 300});
        let run = checkout.data(args).await;
        assert_eq!(run["state"], "running", "{run}");
        assert_eq!(checkout.code(json!({"op": "stack"})).await, "running");
        assert_eq!(
            checkout.code(json!({"op": "launch", "program": "sample"})).await,
            "session_live"
        );
        let stop = checkout.data(json!({"op": "pause"})).await;
        assert_eq!(
            (&stop["state"], &stop["reason"]),
            (&json!("stopped"), &json!("pause")),
            "{stop}"
        );
        checkout.data(json!({"op": "terminate"})).await;
        checkout.nothing_left();

        let end = launch(&checkout, "stdin").await;
        assert_eq!(end["state"], "ended");
        assert_eq!(end["output"], "prompt> got (eof)\nend\n");
    });
}

// spec: DBG-13
pub(crate) fn no_child_and_no_daemon_outlives_the_session() {
    block_on(async {
        for end in ["terminate", "drop"] {
            let (checkout, text) = checkout();
            let lines = [line(&text, "orphan")];
            checkout.data(json!({"op": "breakpoints", "file": "main.c", "lines": lines})).await;
            let stop = launch(&checkout, "orphan").await;
            assert_eq!(stop["state"], "stopped", "{stop}");
            until(|| {
                let running = checkout.processes();
                (sleeping(&running, "987"), sleeping(&running, "986")) == (1, 1)
            });
            let started = std::time::Instant::now();
            let checkout = if end == "drop" {
                checkout.let_go()
            } else {
                checkout.data(json!({"op": "terminate"})).await;
                checkout
            };
            assert!(started.elapsed().as_secs() < 4, "{:?}", started.elapsed());
            checkout.nothing_left();
        }
    });
}

/// 18 MB of output by a real adapter.
pub(crate) fn a_flood_of_output_ends_as_any_program_does() {
    block_on(async {
        let (checkout, _) = checkout();
        let args =
            json!({"op": "launch", "program": "sample", "args": ["huge"], "timeout_ms": 120_000});
        let end = checkout.data(args).await;
        assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(0)));
        let output = checkout.data(json!({"op": "output"})).await;
        assert!(output["total"].as_u64().unwrap() > 18_000_000, "{}", output["total"]);
        assert!(output["output"].as_str().unwrap().ends_with("done\nend\n"));
        checkout.nothing_left();
    });
}

pub(crate) fn threads_are_stopped_and_looked_at() {
    block_on(async {
        let (checkout, text) = checkout();
        let lines = [line(&text, "worker")];
        checkout.data(json!({"op": "breakpoints", "file": "main.c", "lines": lines})).await;
        let stop = launch(&checkout, "threads").await;
        assert_eq!(stop["frame"]["function"], "worker");
        let threads = checkout.data(json!({"op": "threads"})).await;
        let other = threads["threads"]
            .as_array()
            .unwrap()
            .iter()
            .find(|thread| thread["id"] != stop["thread"]["id"]);
        let other = other.unwrap()["id"].clone();
        let stack = checkout.data(json!({"op": "stack", "thread_id": other})).await;
        assert!(!stack["frames"].as_array().unwrap().is_empty());
        checkout.data(json!({"op": "breakpoints", "file": "main.c", "lines": []})).await;
        let mut report = checkout.data(json!({"op": "continue"})).await;
        while report["state"] == "stopped" {
            report = checkout.data(json!({"op": "continue"})).await;
        }
        assert_eq!((&report["state"], &report["exit_code"]), (&json!("ended"), &json!(0)));
    });
}
