use serde_json::{Value, json};

use super::{functions, locals, value};
use crate::support::{Checkout, block_on, line, program, search_path};

fn checkout() -> (Checkout, String) {
    let text = program("go/main.go");
    let module = program("go/go.mod");
    let files = [("main.go", text.as_str()), ("go.mod", module.as_str())];
    (Checkout::new(files, &search_path()), text)
}

async fn launch(checkout: &Checkout, mode: &str) -> Value {
    checkout.data(json!({"op": "launch", "program": "main.go", "args": [mode]})).await
}

// spec: DBG-05, DBG-08, DBG-10, DBG-11, DBG-12, DBG-13
pub(crate) fn a_program_stops_at_its_breakpoints_and_is_looked_at() {
    block_on(async {
        let (checkout, text) = checkout();
        let at = line(&text, "loop");
        let lines = [at, line(&text, "comment")];
        checkout.data(json!({"op": "breakpoints", "file": "main.go", "lines": lines})).await;
        let stop = launch(&checkout, "basic").await;
        assert_eq!((&stop["state"], &stop["reason"]), (&json!("stopped"), &json!("breakpoint")));
        assert_eq!(
            (&stop["frame"]["file"], &stop["frame"]["line"]),
            (&json!("main.go"), &json!(at))
        );
        assert_eq!(stop["breakpoints"][0]["status"], "unset", "{stop}");
        let variables = locals(&checkout).await;
        assert_eq!(value(&variables, "acc"), "0");
        let found = checkout.data(json!({"op": "evaluate", "expression": "numbers[1] + 40"})).await;
        assert_eq!(found["result"], "42");
        let step = checkout.data(json!({"op": "step_in"})).await;
        assert_eq!(step["frame"]["function"], "main.add");
        let out = checkout.data(json!({"op": "step_out"})).await;
        assert_eq!(out["frame"]["function"], "main.basic");
        checkout.data(json!({"op": "breakpoints", "file": "main.go", "lines": []})).await;
        let end = checkout.data(json!({"op": "continue"})).await;
        assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(0)), "{end}");
        let output = checkout.data(json!({"op": "output"})).await;
        assert!(output["output"].as_str().unwrap().ends_with("end\n"), "{output}");
        checkout.nothing_left();
    });
}

pub(crate) fn a_panic_stops_a_program_and_comes_back_in_one_call() {
    block_on(async {
        let (checkout, text) = checkout();
        let stop = launch(&checkout, "crash").await;
        assert_eq!(
            (&stop["state"], &stop["reason"]),
            (&json!("stopped"), &json!("panic")),
            "{stop}"
        );
        assert!(stop["description"].as_str().unwrap().contains("nil pointer"), "{stop}");
        let users: Vec<_> =
            stop["frames"].as_array().unwrap().iter().filter(|f| f["user"] == true).collect();
        assert_eq!(users[0]["line"], line(&text, "crash"));
        assert_eq!(value(&stop["locals"], "p"), "*main.node nil");
        assert!(functions(&stop["frames"]).contains(&"main.crash".to_owned()));
        checkout.data(json!({"op": "terminate"})).await;
        checkout.nothing_left();
    });
}

pub(crate) fn an_exit_code_is_the_answer_of_a_program_that_ends_at_once() {
    block_on(async {
        let (checkout, _) = checkout();
        let end = launch(&checkout, "exit3").await;
        assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(3)), "{end}");
        checkout.nothing_left();
        // Nothing that was built is left in the checkout.
        let left = std::fs::read_dir(checkout.folder.path()).unwrap().count();
        assert_eq!(left, 2);
    });
}

pub(crate) fn a_build_that_fails_says_why() {
    block_on(async {
        let files = [
            ("main.go", "package main\n\nfunc main() { nosuch() }\n"),
            ("go.mod", "module x\n\ngo 1.19\n"),
        ];
        let checkout = Checkout::new(files, &search_path());
        let error = checkout.call(json!({"op": "launch", "program": "."})).await.unwrap_err();
        assert_eq!(error.code, "launch_failed");
        assert!(error.message.contains("nosuch"), "{}", error.message);
        checkout.nothing_left();
    });
}

pub(crate) fn a_package_that_is_no_program_is_refused_with_what_to_name() {
    block_on(async {
        let files =
            [("lib.go", "package lib\n\nfunc F() {}\n"), ("go.mod", "module x\n\ngo 1.19\n")];
        let checkout = Checkout::new(files, &search_path());
        for program in [".", "lib.go"] {
            let error = checkout.call(json!({"op": "launch", "program": program})).await;
            let error = error.unwrap_err();
            assert_eq!(error.code, "bad_program");
            assert!(error.message.contains("`package main`"), "{}", error.message);
        }
    });
}

pub(crate) fn no_child_outlives_the_session() {
    block_on(async {
        let (checkout, text) = checkout();
        let lines = [line(&text, "orphan")];
        checkout.data(json!({"op": "breakpoints", "file": "main.go", "lines": lines})).await;
        let stop = launch(&checkout, "orphan").await;
        assert_eq!(stop["state"], "stopped", "{stop}");
        let running = checkout.processes();
        assert!(running.iter().any(|words| words.contains("sleep 987")), "{running:?}");
        checkout.data(json!({"op": "terminate"})).await;
        checkout.nothing_left();
    });
}
