//! What stays between cells, what is lost, and that both are said.

use std::time::Duration;

use agent_eval::{
    Cell, Language,
    outcome::{State, Status},
};

use serde_json::json;

use crate::session::{Session, result};

// spec: EVAL-01, EVAL-02
pub(crate) async fn variables_imports_and_data_stay_in_both_languages() {
    let session = Session::new();
    let label = session.interpreters.start(Language::Python).await.unwrap();
    assert!(label.starts_with("Python 3."), "{label}");
    let first = session.run("import math\nx = [1, 2]").await;
    assert_eq!((first.status, first.state, first.execution_count), (Status::Ok, State::New, 1));
    let second = session.run("x.append(math.floor(3.5)); x").await;
    assert_eq!((result(&second), second.state), ("[1, 2, 3]".to_owned(), State::Kept));
    session.js("let y = new Map([[1, 2]])").await;
    assert_eq!(session.js_value("y.get(1) + 1").await, "3");
    assert_eq!(session.value("x").await, "[1, 2, 3]", "the languages are apart");
}

// spec: EVAL-02
pub(crate) async fn a_reset_begins_anew_and_holds_though_the_cell_fails() {
    let session = Session::new();
    session.run("x = 1").await;
    session.js("globalThis.y = 1").await;
    let failed = session.cell(Cell::new("x").reset()).await;
    assert_eq!((failed.error.unwrap().name.as_str(), failed.state), ("NameError", State::New));
    assert_eq!(session.value("'x' in globals()").await, "False");
    assert_eq!(session.js_value("y").await, "1", "the other language stays");
}

pub(crate) async fn a_dead_interpreter_is_reported_with_its_last_words_and_no_cell_runs_twice() {
    let session = Session::new();
    let code = "open('runs', 'a').write('x')\nprint('before', flush=True)\nimport ctypes\nctypes.string_at(0)";
    let died = session.run(code).await;
    assert_eq!((died.status, died.state), (Status::Died, State::Gone));
    let death = died.death.clone().unwrap();
    assert!(death.contains("signal 11 (SIGSEGV)"), "{death}");
    assert_eq!(died.stdout(), "before\n");
    assert!(died.stderr().contains("<cell 1>\", line 4"), "{}", died.stderr());
    let next = session.run("open('runs').read()").await;
    assert_eq!((result(&next), next.state), ("'x'".to_owned(), State::New));
}

pub(crate) async fn an_interpreter_that_ended_between_cells_is_reported_and_the_cell_is_not_run() {
    let session = Session::new();
    session.run("import os, threading\nthreading.Timer(0.2, os._exit, [7]).start()").await;
    let folder = session.path().to_owned();
    let next = loop {
        let next = session.run("open('ran', 'w').write('x')").await;
        if next.status != Status::Ok {
            break next;
        }
        std::fs::remove_file(folder.join("ran")).unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!((next.status, next.state), (Status::Died, State::Gone));
    assert!(next.death.unwrap().contains("exit status 7"));
    assert!(!folder.join("ran").exists());
    assert_eq!(session.run("1").await.state, State::New);
}

pub(crate) async fn a_cell_that_is_cancelled_is_interrupted_and_the_next_one_says_so() {
    let session = Session::new();
    session.run("x = 1").await;
    let cx = session.tools.context();
    let cell = session.interpreters.run(Cell::new("y = 2\nwhile True: pass"), &cx);
    assert!(tokio::time::timeout(Duration::from_millis(500), cell).await.is_err());
    let next = session.run("(x, y)").await;
    assert_eq!((result(&next), next.state), ("(1, 2)".to_owned(), State::Kept));
    let notes = format!("{:?}", next.shown);
    assert!(notes.contains("the cell before was cancelled and interrupted"), "{notes}");
    assert!(
        !format!("{:?}", session.run("x").await.shown).contains("cancelled"),
        "it is told once"
    );
}

pub(crate) async fn a_cell_is_interrupted_from_elsewhere() {
    let session = Session::new();
    for (language, code) in [
        (Language::Python, "keep = 1\nwhile True: pass"),
        (Language::JavaScript, "let keep = 1; while (true) {}"),
    ] {
        session.cell(Cell::new("0").language(language)).await;
        let interpreters = session.interpreters.clone();
        let stopper = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            interpreters.interrupt(language);
        };
        let (outcome, ()) = tokio::join!(session.cell(Cell::new(code).language(language)), stopper);
        assert_eq!((outcome.status, outcome.state), (Status::Interrupted, State::Kept));
        assert!(outcome.names.0.contains(&"keep".to_owned()), "{:?}", outcome.names);
        let kept = session.cell(Cell::new("keep").language(language)).await;
        assert_eq!(result(&kept), "1");
    }
}

pub(crate) async fn a_cancelled_cell_that_had_to_be_killed_is_said() {
    let session = Session::new();
    session.run("x = 1").await;
    let cx = session.tools.context();
    let code = "import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass";
    let cell = session.interpreters.run(Cell::new(code), &cx);
    assert!(tokio::time::timeout(Duration::from_millis(500), cell).await.is_err());
    // It waits for its turn, which comes once the interpreter is gone.
    let next = session.run("x").await;
    assert_eq!((next.status, next.state), (Status::Died, State::Gone));
    let death = next.death.unwrap();
    assert!(death.contains("this cell was not run"), "{death}");
    assert_eq!(session.run("1").await.state, State::New);
}

pub(crate) async fn what_is_shown_between_cells_is_said_to_be() {
    let session = Session::new();
    session.run("import threading\ndone = threading.Event()\nthreading.Timer(0.2, lambda: (print('late'), done.set())).start()").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let next = session.run("done.wait(10); print('now')").await;
    let shown = format!("{:?}", next.shown);
    assert!(shown.starts_with("[Stdout(\"late\\n\"), Note(\"what stands above"), "{shown}");
}

pub(crate) async fn a_declaration_that_did_not_come_to_its_end_is_no_variable() {
    let session = Session::new();
    let failed = session.js("let a = 1; const t = await import('./nowhere.mjs')").await;
    assert_eq!((failed.status, failed.names), (Status::Error, (vec!["a".to_owned()], 0)));
    assert_eq!(session.js("t").await.error.unwrap().name, "ReferenceError");
    let mended = session.js("const t = 2").await;
    assert_eq!(mended.names.0, ["a", "t"]);
    // What a cell waits for may come once the next one runs.
    session.js("let open; const opened = new Promise((resolve) => (open = resolve))").await;
    session.js("(async () => { globalThis.late = await opened })(); open(3)").await;
    assert_eq!(session.js("late").await.names.0, ["a", "t", "open", "opened", "late"]);
}

pub(crate) async fn an_error_of_what_an_earlier_cell_began_costs_no_result() {
    let session = Session::new();
    session.js("let fire; new Promise((resolve) => (fire = resolve)).then(() => { throw new Error('late') }); 1").await;
    let next = session.js("fire(); await new Promise((resolve) => setImmediate(resolve)); 3").await;
    assert_eq!((next.status, result(&next).as_str()), (Status::Error, "3"));
    let error = next.error.unwrap();
    assert_eq!(error.value, "late");
    assert!(error.traceback.last().unwrap().starts_with("(nobody waited for this:"), "{error:?}");
}

pub(crate) async fn a_cell_that_cannot_be_read_says_that_nothing_ran() {
    let session = Session::new();
    session.run("x = 1").await;
    for (language, code, began) in [
        ("python", "x = 2\nx +", false),
        ("python", "x = 2\nreturn x", false),
        ("python", "x = 1\nexec('x +')", true),
        ("javascript", "globalThis.y = 2; const = 3", false),
        ("javascript", "globalThis.z = 1; JSON.parse('{')", true),
    ] {
        let args = json!({"code": code, "description": "one that fails", "language": language});
        let text = session.tool(args).await.unwrap().joined_text();
        let said = ["[nothing of this cell ran]", "[what ran before the error is kept]"]
            [usize::from(began)];
        assert!(text.ends_with(said), "{code}: {text}");
    }
    assert_eq!(session.value("x").await, "1");
    assert_eq!(session.js_value("typeof y").await, "'undefined'");
}

pub(crate) async fn an_awaiting_loop_ends_with_the_first_interrupt() {
    let session = Session::new();
    session.run("import asyncio\nasleep = None").await;
    let interpreters = session.interpreters.clone();
    let stopper = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        interpreters.interrupt(Language::Python);
    };
    let code =
        "asleep = asyncio.create_task(asyncio.sleep(60))\nawait asyncio.sleep(0)\nwhile True: pass";
    let (outcome, ()) = tokio::join!(session.run(code), stopper);
    assert_eq!((outcome.status, outcome.state), (Status::Interrupted, State::Kept));
    assert!(outcome.duration < agent_eval::STEP_TIME, "{:?}", outcome.duration);
    assert_eq!(session.value("asleep.done()").await, "False");
}
