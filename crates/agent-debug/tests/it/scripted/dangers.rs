use std::time::Duration;

use agent_debug::{LaunchArgs, RunArgs};
use agent_testkit::dap::{Rule, Script, Step, Toy};
use serde_json::json;

use super::{Fake, at, lldb, place};
use crate::support::{block_on, paused_after, until};

/// debugpy hangs for good where it is resumed while it still stops threads: the stack is answered first.
pub(crate) fn nothing_resumes_before_the_stack_was_answered() {
    block_on(async {
        let script = Script::new("python3", Toy::default())
            .rule(Rule::on("stackTrace").nth(1).then([Step::Wait(200), Step::Default]));
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        // The caller of the launch goes away before the stack was read.
        let debugger = fake.checkout.debugger.clone();
        let launch =
            tokio::spawn(async move { debugger.launch(&LaunchArgs::new("main.py")).await });
        while fake.log.last("stackTrace").is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        launch.abort();
        let _ = launch.await;
        assert_eq!(fake.op("status").await["state"], "stopped");
        let told = fake.op("continue").await;
        assert_eq!(at(&told), place("stopped", "breakpoint", 3));
        assert!(told["notes"][0].as_str().unwrap().contains("resumed nothing"), "{told}");
        assert_eq!(fake.op("continue").await["state"], "ended");
        let sent = fake.log.commands();
        let resumed = sent.iter().position(|command| command == "continue").unwrap();
        let looked = sent.iter().filter(|command| *command == "stackTrace").count();
        assert!(sent[..resumed].contains(&"stackTrace".to_owned()));
        assert_eq!(looked, 2, "{sent:?}");
    });
}

/// A stop that comes while nobody waits is told before anything moves on.
pub(crate) fn a_stop_that_nobody_was_told_of_is_told_first() {
    block_on(async {
        let fake = Fake::lldb(lldb().running(300));
        fake.breakpoints(&[3]).await;
        let mut args = fake.launch_args();
        args["timeout_ms"] = json!(20);
        let run = fake.checkout.data(args).await;
        assert_eq!(run["state"], "running");
        assert!(run["notes"][0].as_str().unwrap().contains("still running"), "{run}");
        while fake.op("status").await["state"] != "stopped" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let told = fake.op("step_over").await;
        assert_eq!(at(&told), place("stopped", "breakpoint", 3));
        assert!(!fake.log.commands().contains(&"next".to_owned()));
        assert_eq!(at(&fake.op("step_over").await), place("stopped", "step", 4));
    });
}

/// A stop that is quicker than the answer to what led to it is a stop.
pub(crate) fn a_stop_before_the_answer_counts() {
    block_on(async {
        let fake = Fake::lldb(lldb().stopping_first());
        fake.breakpoints(&[3, 8]).await;
        assert_eq!(at(&fake.launch().await), place("stopped", "breakpoint", 3));
        assert_eq!(at(&fake.op("step_in").await), place("stopped", "step", 4));
        assert_eq!(at(&fake.op("continue").await), place("stopped", "breakpoint", 8));
        assert_eq!(fake.op("continue").await["state"], "ended");
    });
}

/// Adapters use their ids again; ours name one thing at one stop.
// spec: DBG-10
pub(crate) fn an_id_of_an_earlier_stop_is_refused_in_those_words() {
    block_on(async {
        let fake = Fake::lldb(lldb());
        fake.breakpoints(&[3]).await;
        let stop = fake.launch().await;
        let frame = stop["frame"]["id"].clone();
        let scopes = fake.checkout.data(json!({"op": "scopes", "frame_id": frame})).await;
        let reference = scopes["scopes"][0]["reference"].clone();
        let variables = json!({"op": "variables", "reference": reference});
        let seen = fake.checkout.data(variables.clone()).await;
        assert_eq!(seen["variables"][0]["value"], "3");
        let next = fake.op("step_over").await;
        assert_ne!(next["frame"]["id"], frame);
        let stale = fake.checkout.call(variables).await.unwrap_err();
        assert_eq!(stale.code, "stale_reference");
        let words = format!(
            "reference {reference} is from an earlier stop (the program moved on just now)"
        );
        assert!(stale.message.starts_with(&words), "{}", stale.message);
        let scopes = json!({"op": "scopes", "frame_id": frame});
        assert_eq!(fake.checkout.code(scopes).await, "stale_reference");
        let never = json!({"op": "evaluate", "expression": "x", "frame_id": 4711});
        assert_eq!(fake.checkout.code(never).await, "unknown_reference");
        let frame = next["frame"]["id"].clone();
        let mixed = json!({"op": "variables", "reference": frame});
        let error = fake.checkout.call(mixed).await.unwrap_err();
        assert!(error.message.contains("is a frame and no reference"), "{}", error.message);
        // Nothing of it was asked of the adapter, which would have answered for the new stop.
        let asked = fake.log.commands().iter().filter(|command| *command == "variables").count();
        assert_eq!(asked, 1);
    });
}

/// Whoever does not answer is not asked again, and ends all the same.
pub(crate) fn an_adapter_that_does_not_answer_is_said_to_and_ends() {
    let fake = block_on(async {
        let script = Script::new("lldb-dap", lldb().process("sleep 600"))
            .on("variables", [Step::Silence])
            .on("disconnect", [Step::Silence]);
        Fake::new(script)
    });
    paused_after(
        async {
            fake.breakpoints(&[3]).await;
            fake.launch().await
        },
        async |stop| {
            let scopes = json!({"op": "scopes", "frame_id": stop["frame"]["id"]});
            let reference = fake.checkout.data(scopes).await["scopes"][0]["reference"].clone();
            let variables = json!({"op": "variables", "reference": reference});
            tokio::time::pause();
            let error = fake.checkout.call(variables).await.unwrap_err();
            tokio::time::resume();
            assert_eq!(error.code, "unresponsive");
            assert!(
                error.message.contains("variables is unanswered after 15 s"),
                "{}",
                error.message
            );
            assert_eq!(fake.code("stack").await, "unresponsive");
            assert_eq!(fake.code("continue").await, "unresponsive");
            let status = fake.op("status").await;
            assert!(status["unresponsive"].as_str().unwrap().contains("variables"), "{status}");
            fake.op("terminate").await;
            assert!(!fake.log.commands().contains(&"disconnect".to_owned()));
            fake.checkout.nothing_left();
        },
    );
}

/// can1357/oh-my-pi#5984
pub(crate) fn what_an_adapter_asks_of_us_is_refused_and_the_session_goes_on() {
    block_on(async {
        let ask = |command: &str| Step::Request { command: command.to_owned() };
        let script = Script::new("lldb-dap", lldb())
            .on("configurationDone", [ask("startDebugging"), ask("runInTerminal"), Step::Default]);
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        assert_eq!(at(&fake.launch().await), place("stopped", "breakpoint", 3));
        fake.op("step_over").await;
        let answers: Vec<_> =
            fake.log.requests().into_iter().filter(|(c, _)| c == "(response)").collect();
        let refused: Vec<_> =
            answers.iter().map(|(_, answer)| answer["success"] == false).collect();
        assert_eq!(refused, [true, true]);
    });
}

/// microsoft/vscode#32517, helix#11777, zed#33557: odd bytes end no session.
pub(crate) fn odd_bytes_end_no_session() {
    block_on(async {
        let odd = [
            Step::Write("warning: this adapter talks too much\n".to_owned()),
            Step::Body(
                r#"{"seq":1,"type":"event","event":"output","body":{"output":"a\udcffb\n"}}"#
                    .to_owned(),
            ),
            Step::Body("{not json".to_owned()),
            Step::Body("[]".to_owned()),
            Step::event("nobodyKnowsThis", json!({"a": [1]})),
            Step::event("stopped", json!(null)),
            Step::Send(json!({"type": "response", "request_seq": 999, "success": true})),
        ];
        let script = Script::new("lldb-dap", lldb())
            .rule(Rule::on("stackTrace").nth(1).then([Step::Default]).then(odd));
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        assert_eq!(at(&fake.launch().await), place("stopped", "breakpoint", 3));
        assert_eq!(at(&fake.op("step_over").await), place("stopped", "step", 4));
        let output = fake.op("output").await;
        assert_eq!(output["output"], "line 3\na\u{fffd}b\nline 4\n");
        assert!(output["console"].as_str().unwrap().contains("talks too much"), "{output}");
    });
}

/// An answer over the cap fails its own request at once, and nothing else.
pub(crate) fn an_answer_over_the_cap_fails_its_request_alone() {
    block_on(async {
        let huge = "x".repeat(agent_debug::MAX_MESSAGE_BYTES + 1);
        let fake = Fake::lldb(lldb());
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        fake.op("terminate").await;
        let script = Script::new("lldb-dap", lldb())
            .on("evaluate", [Step::Reply(json!({"result": huge, "variablesReference": 0}))]);
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        let error =
            fake.checkout.call(json!({"op": "evaluate", "expression": "all"})).await.unwrap_err();
        assert_eq!(error.code, "evaluate_failed");
        assert!(error.message.contains("over the cap"), "{}", error.message);
        assert_eq!(at(&fake.op("step_over").await), place("stopped", "step", 4));
    });
}

/// dirge-code/dirge#567: what looks and what ends is taken while something waits.
pub(crate) fn status_output_pause_and_terminate_are_taken_while_a_continue_waits() {
    block_on(async {
        let fake = Fake::lldb(lldb().spinning());
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        let debugger = fake.checkout.debugger.clone();
        let waiting = tokio::spawn(async move { debugger.resume(&RunArgs::new()).await });
        until(|| fake.log.last("continue").is_some());
        for op in ["threads", "stack", "step_over", "continue"] {
            assert_eq!(fake.code(op).await, "busy_session", "{op}");
        }
        assert_eq!(fake.op("status").await["state"], "running");
        assert!(fake.op("output").await["output"].as_str().unwrap().starts_with("line "));
        let paused = fake.op("pause").await;
        assert_eq!(at(&paused), place("stopped", "pause", 9));
        let waited = waiting.await.unwrap().unwrap();
        assert_eq!(waited.reason.as_deref(), Some("pause"));
        let again = fake.op("pause").await;
        assert!(again["notes"][0].as_str().unwrap().contains("stood still already"), "{again}");
        let sent = fake.log.commands();
        assert_eq!(sent.iter().filter(|command| *command == "pause").count(), 1);

        let debugger = fake.checkout.debugger.clone();
        let waiting = tokio::spawn(async move { debugger.resume(&RunArgs::new()).await });
        while fake.op("status").await["state"] != "running" {
            tokio::task::yield_now().await;
        }
        fake.op("terminate").await;
        let waited = waiting.await.unwrap().unwrap();
        assert_eq!(waited.reason.as_deref(), Some("terminated"));
        fake.checkout.nothing_left();
    });
}

/// An adapter that refuses to resume leaves the debuggee where it was.
pub(crate) fn a_resume_that_is_refused_changes_nothing() {
    block_on(async {
        let script = Script::new("lldb-dap", lldb())
            .rule(Rule::on("continue").nth(1).then([Step::fail("not now")]));
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        let error = fake.checkout.call(json!({"op": "continue"})).await.unwrap_err();
        assert_eq!(
            (&*error.code, &*error.message),
            ("adapter_refused", "the adapter refused: not now")
        );
        assert_eq!(fake.op("status").await["state"], "stopped");
        assert_eq!(fake.op("continue").await["state"], "ended");
    });
}

/// microsoft/DebugMCP#157, delve 1.27: a stop without a thread or a stack is a stop.
pub(crate) fn a_stop_without_thread_or_stack_is_told_without() {
    block_on(async {
        let script = Script::new("lldb-dap", lldb().spinning())
            .on(
                "pause",
                [Step::Reply(json!({})), Step::event("stopped", json!({"reason": "pause"}))],
            )
            .on("stackTrace", [Step::Reply(json!({"stackFrames": []}))]);
        let fake = Fake::new(script);
        let mut args = fake.launch_args();
        args["timeout_ms"] = json!(20);
        fake.checkout.data(args).await;
        let stop = fake.op("pause").await;
        assert_eq!(at(&stop), place("stopped", "pause", 0));
        assert_eq!(stop["thread"]["id"], 7);
        assert_eq!(fake.op("status").await["state"], "stopped");
    });
}

/// An adapter that is busy with output answers in its turn, and is not given up.
pub(crate) fn an_adapter_that_talks_is_waited_for() {
    let talking = (0..14)
        .flat_map(|_| [Step::Wait(1_000), Step::event("output", json!({"output": "busy\n"}))]);
    let fake = block_on(async {
        let script = Script::new("lldb-dap", lldb())
            .rule(Rule::on("threads").nth(1).then(talking).then([Step::Default]));
        Fake::new(script)
    });
    block_on(async {
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        let started = std::time::Instant::now();
        assert_eq!(fake.op("threads").await["threads"][0]["id"], 7);
        assert!(started.elapsed() > agent_debug::MAX_REQUEST_TIME);
        assert_eq!(fake.op("status").await["unresponsive"], json!(null));
    });
}

/// One that was given up and answers later is asked again.
pub(crate) fn an_adapter_that_answers_late_is_asked_again() {
    let fake = block_on(async {
        let late = [Step::Wait(300), Step::Default];
        Fake::new(Script::new("lldb-dap", lldb()).rule(Rule::on("variables").nth(1).then(late)))
    });
    paused_after(
        async {
            fake.breakpoints(&[3]).await;
            fake.launch().await
        },
        async |stop| {
            let scopes = json!({"op": "scopes", "frame_id": stop["frame"]["id"]});
            let reference = fake.checkout.data(scopes).await["scopes"][0]["reference"].clone();
            let variables = json!({"op": "variables", "reference": reference});
            tokio::time::pause();
            assert_eq!(fake.checkout.code(variables.clone()).await, "unresponsive");
            tokio::time::resume();
            while fake.op("status").await["unresponsive"] != json!(null) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let seen = fake.checkout.data(variables).await;
            assert_eq!(seen["variables"][0]["value"], "3");
            fake.op("terminate").await;
        },
    );
}

/// A crash without its locals says why.
pub(crate) fn locals_that_were_not_read_are_said_not_to_be() {
    block_on(async {
        let script = Script::new("lldb-dap", lldb().crash(7))
            .on("variables", [Step::fail("no memory there")]);
        let crash = Fake::new(script).launch().await;
        assert_eq!(crash["locals"], json!(null));
        let note = crash["notes"][0].as_str().unwrap();
        assert!(note.starts_with("the locals were not read: "), "{note}");
        assert!(note.ends_with("no memory there"), "{note}");
    });
}
