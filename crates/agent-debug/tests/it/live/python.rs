use serde_json::json;

use super::{functions, locals, value};
use crate::support::{Checkout, block_on, line, program, search_path};

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
