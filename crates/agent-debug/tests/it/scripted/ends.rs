use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use agent_testkit::dap::{Rule, Script, Step, Toy};
use serde_json::json;

use super::{Fake, lldb};
use crate::support::{block_on, paused_after, sleeping, until};

/// The variable with which this program starts a session and waits to be killed.
pub(crate) const HOST: &str = "AGENT_DEBUG_HOST";

/// A debuggee that outlives its adapter, with a child and with one that left its session and its parent.
const FAMILY: &str = "sleep 601 & setsid sh -c 'sleep 602 & exit' & exec sleep 603";

fn family() -> Toy {
    lldb().process(FAMILY)
}

async fn all_run(fake: &Fake) {
    until(|| {
        let running = fake.checkout.processes();
        ["601", "602", "603"].iter().all(|time| sleeping(&running, time) == 1)
    });
}

// spec: DBG-13
pub(crate) fn terminate_leaves_no_process() {
    block_on(async {
        let fake = Fake::lldb(family());
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        all_run(&fake).await;
        let ended = fake.op("terminate").await;
        assert_eq!(ended["ended"], "it was terminated");
        fake.checkout.nothing_left();
        assert_eq!(fake.op("terminate").await["ended"], "it was terminated");
    });
}

// spec: DBG-13
pub(crate) fn a_dropped_debugger_leaves_no_process() {
    block_on(async {
        let fake = Fake::lldb(family());
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        all_run(&fake).await;
        fake.checkout.let_go().nothing_left();
    });
}

/// A debuggee that ended leaves nothing either, though nobody asked for an end.
pub(crate) fn a_program_that_ends_leaves_no_process() {
    block_on(async {
        let fake = Fake::lldb(family());
        assert_eq!(fake.launch().await["state"], "ended");
        fake.checkout.nothing_left();
    });
}

// spec: DBG-13
pub(crate) fn an_adapter_that_dies_leaves_no_process_and_the_next_launch_works() {
    for request in ["stackTrace", "next", "disconnect"] {
        block_on(async {
            let script = Script::new("lldb-dap", family())
                .rule(Rule::on(request).then([Step::Stderr("oh no".to_owned()), Step::Exit(134)]));
            let fake = Fake::new(script);
            fake.breakpoints(&[3]).await;
            let launched = fake.checkout.call(fake.launch_args()).await;
            let died = match request {
                "stackTrace" => launched,
                "next" => fake.checkout.call(json!({"op": "step_over"})).await,
                _ => fake.checkout.call(json!({"op": "terminate"})).await,
            };
            if request == "disconnect" {
                assert!(died.is_ok());
            } else {
                let error = died.unwrap_err();
                assert_eq!(error.code, "adapter_died", "{request}");
                let status = fake.op("status").await;
                let detail = status["detail"].as_str().unwrap();
                assert!(
                    detail.contains("exited with code 134") && detail.contains("oh no"),
                    "{detail}"
                );
                assert_eq!(fake.code("stack").await, "session_ended");
            }
            fake.checkout.nothing_left();
            let again = fake.checkout.call(fake.launch_args()).await;
            assert_eq!(again.is_ok(), request != "stackTrace");
        });
    }
}

// spec: DBG-13
pub(crate) fn an_adapter_that_reads_no_more_is_ended_all_the_same() {
    block_on(async {
        let script = Script::new("lldb-dap", family()).on("disconnect", [Step::StopReading]);
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        all_run(&fake).await;
        let started = std::time::Instant::now();
        fake.op("terminate").await;
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        fake.checkout.nothing_left();
    });
}

/// The clock is stopped and put on: 29 minutes and 59 seconds are life, another second is none.
// spec: DBG-01, DBG-13
pub(crate) fn thirty_minutes_are_the_end_however_busy_it_is() {
    let fake = block_on(async { Fake::lldb(family()) });
    paused_after(
        async {
            fake.breakpoints(&[3]).await;
            fake.launch().await
        },
        async |_| {
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(29 * 60 + 30)).await;
            let status = fake.op("status").await;
            assert_eq!(status["state"], "stopped");
            assert!(status["left_s"].as_u64().unwrap() <= 30, "{status}");
            // Using it does not make it live longer.
            tokio::time::resume();
            assert_eq!(fake.op("step_over").await["state"], "stopped");
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(31)).await;
            tokio::time::resume();
            until_ended(&fake).await;
            let status = fake.op("status").await;
            assert!(status["detail"].as_str().unwrap().contains("30-minute limit"), "{status}");
            let error = fake.checkout.call(json!({"op": "continue"})).await.unwrap_err();
            assert!(error.message.contains("30-minute limit"), "{}", error.message);
            fake.checkout.nothing_left();
        },
    );
}

async fn until_ended(fake: &Fake) {
    while fake.op("status").await["state"] != "ended" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A call that waits is answered.
// spec: DBG-01
pub(crate) fn a_wait_that_meets_the_limit_is_answered() {
    let fake = block_on(async { Fake::lldb(lldb().spinning()) });
    paused_after(
        async {
            let mut args = fake.launch_args();
            args["timeout_ms"] = json!(20);
            fake.checkout.data(args).await
        },
        async |_| {
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(30 * 60 - 100)).await;
            let wait = json!({"op": "continue", "timeout_ms": 300_000});
            let ended = fake.checkout.data(wait).await;
            tokio::time::resume();
            assert_eq!(
                (&ended["state"], &ended["reason"]),
                (&json!("ended"), &json!("time_limit"))
            );
            fake.checkout.nothing_left();
        },
    );
}

/// When the program itself is killed, the guard leaves nothing of its session.
// spec: DBG-13
pub(crate) fn a_killed_host_leaves_no_process() {
    let mut host = Command::new(std::env::current_exe().unwrap())
        .env(HOST, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let token = lines.next().unwrap().unwrap();
    assert!(crate::support::processes_of(&token).len() >= 4);
    host.kill().unwrap();
    host.wait().unwrap();
    until(|| crate::support::processes_of(&token).is_empty());
}

/// The program that is killed.
#[expect(clippy::print_stdout, reason = "whoever kills it reads what to look for")]
pub(crate) fn host() {
    block_on(async {
        let fake = Fake::lldb(family());
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        all_run(&fake).await;
        println!("{}", fake.checkout.token());
        std::future::pending::<()>().await;
    });
}

/// What lldb gives as the exit code of a program that a signal ended is none, and the signal was told just before.
// spec: DBG-05
pub(crate) fn a_signal_is_never_told_as_an_exit_code() {
    let stop = |signal: &str| {
        let text = format!("signal {signal}");
        json!({"reason": "exception", "description": text, "text": text, "threadId": 1, "allThreadsStopped": true})
    };
    let stood = |signal: &str, code: i64| {
        format!(
            "the program ended, most likely by {signal}, at which it stood before; the debugger gives {code} as its exit code"
        )
    };
    let none =
        "the program ended; its exit code is not known: the debugger gives -1, which is none";
    let usual = "the program ended with exit code 10";
    for (signal, code, shown, said) in [
        (Some("SIGUSR1"), 10, json!(null), stood("SIGUSR1", 10)),
        (Some("SIGSEGV"), -1, json!(null), stood("SIGSEGV", -1)),
        (None, -1, json!(null), none.to_owned()),
        (Some("SIGUSR1"), 3, json!(3), "the program ended with exit code 3".to_owned()),
        (None, 10, json!(10), usual.to_owned()),
    ] {
        block_on(async {
            let mut script = Script::new("lldb-dap", lldb().exit_code(code));
            if let Some(signal) = signal {
                script = script.rule(Rule::on("continue").nth(1).then([
                    Step::Reply(json!({"allThreadsContinued": true})),
                    Step::event("stopped", stop(signal)),
                ]));
            }
            let fake = Fake::new(script);
            fake.breakpoints(&[3]).await;
            fake.launch().await;
            let mut end = fake.op("continue").await;
            if signal.is_some() {
                assert_eq!(
                    (&end["state"], &end["reason"]),
                    (&json!("stopped"), &json!("signal")),
                    "{end}"
                );
                end = fake.op("continue").await;
            }
            assert_eq!((&end["description"], &end["exit_code"]), (&json!(said), &shown), "{end}");
        });
    }
}

/// debugpy lets some exceptions end a program without a stop.
pub(crate) fn an_end_by_an_exception_without_a_stop_says_that_none_was_possible() {
    for (output, told) in [
        ("Traceback (most recent call last):\nRecursionError: deep\n", true),
        ("usage: x\n", false),
    ] {
        block_on(async {
            let written = Step::event("output", json!({"category": "stderr", "output": output}));
            let script = Script::new("python3", Toy::default().exit_code(1))
                .on("configurationDone", [written, Step::Default]);
            let end = Fake::new(script).launch().await;
            assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(1)));
            let notes = end["notes"].as_array().unwrap();
            let said = |note: &serde_json::Value| {
                note.as_str().unwrap().contains("at which debugpy does not stop")
            };
            assert_eq!(notes.iter().any(said), told, "{end}");
        });
    }
}
