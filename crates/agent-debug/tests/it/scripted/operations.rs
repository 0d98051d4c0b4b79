use agent_testkit::dap::{Manner, Rule, Script, Step, Toy};
use agent_tool_core::{Context, PreviewKind, Tier};
use serde_json::json;

use super::{Fake, at, lldb, place};
use crate::support::block_on;

/// What the spec may cost, of the 6,000 tokens of the whole surface.
const TOKENS: usize = 800;

// spec: TIER-02, TIER-08
pub(crate) fn the_spec_is_portable_small_of_tier_exec_and_exclusive() {
    block_on(async {
        let fake = Fake::lldb(lldb());
        let tool = agent_debug::debug_tool(fake.checkout.debugger.clone());
        let spec = tool.spec().clone();
        assert_eq!(agent_testkit::spec_faults(&spec), Vec::<String>::new());
        let tokens = agent_testkit::tokens(std::slice::from_ref(&spec));
        assert!(tokens <= TOKENS, "{tokens} tokens");
        assert_eq!((spec.tier, spec.parallel), (Tier::Exec, false));
        let args = json!({"op": "launch", "program": "prog", "args": ["a b"]});
        let preview = tool.preview(&args, &Context::detached()).await.unwrap();
        assert_eq!(preview.title, "debug: launch \"prog\" \"a b\"");
        assert_eq!(preview.kind, PreviewKind::Execute);
        assert_eq!(preview.body, "program: prog\nwith the arguments: \"a b\"");
        let args =
            json!({"op": "breakpoints", "file": "a.c", "lines": [3, 9], "condition": "n > 1"});
        let preview = tool.preview(&args, &Context::detached()).await.unwrap();
        assert_eq!(preview.body, "file: a.c\nlines: 3 9\nonly where this holds: n > 1");
    });
}

pub(crate) fn an_argument_that_an_operation_does_not_take_is_named() {
    block_on(async {
        let fake = Fake::lldb(lldb());
        let cases = [
            (
                json!({"op": "stack", "file": "x"}),
                "debug: stack does not take `file`; it takes thread_id",
            ),
            (
                json!({"op": "status", "port": 1}),
                "debug: status does not take `port`; it takes no arguments",
            ),
            (json!({"op": "launch"}), "debug: launch needs the argument `program`"),
            (json!({"op": "variables"}), "debug: variables needs the argument `reference`"),
            (
                json!({"op": "breakpoints", "file": "toy.txt"}),
                "debug: breakpoints needs the argument `lines`",
            ),
            (
                json!({"op": "continue", "timeout_ms": 300_001}),
                "debug: `timeout_ms` came as 300001 but takes 1 to 300000",
            ),
            (
                json!({"op": "breakpoints", "file": "toy.txt", "lines": [0]}),
                "debug: lines count from 1",
            ),
            (
                json!({"op": "breakpoints", "file": "toy.txt", "lines": [1], "hit_condition": "third"}),
                "debug: `hit_condition` came as \"third\" but takes a count such as 3, or one after ==, >, >=, <, <= or % \
                 where the adapter reads that",
            ),
        ];
        for (args, message) in cases {
            let error = fake.checkout.call(args).await.unwrap_err();
            assert_eq!((&*error.code, &*error.message), ("invalid_args", message));
        }
        let outside = json!({"op": "breakpoints", "file": "../x.rs", "lines": [1]});
        assert_eq!(fake.checkout.code(outside).await, "outside_workspace");
        let missing = json!({"op": "breakpoints", "file": "x.rs", "lines": [1]});
        assert_eq!(fake.checkout.code(missing).await, "not_found");
    });
}

/// With no session every operation says so, and none is an error that should not be.
// spec: DBG-03
pub(crate) fn without_a_session_every_operation_says_so() {
    block_on(async {
        let fake = Fake::lldb(lldb());
        for op in
            ["continue", "pause", "step_over", "step_in", "step_out", "threads", "stack", "output"]
        {
            assert_eq!(fake.code(op).await, "no_session", "{op}");
        }
        assert_eq!(fake.op("status").await["state"], "none");
        let ended = fake.checkout.call(json!({"op": "terminate"})).await.unwrap();
        assert_eq!(ended.joined_text(), "there was no session");
    });
}

/// A second launch is refused as long as the first one lives, and then no longer.
// spec: DBG-01
pub(crate) fn a_second_session_is_refused_and_one_that_ended_gives_way() {
    block_on(async {
        let fake = Fake::lldb(lldb());
        fake.breakpoints(&[3]).await;
        let first = fake.launch().await;
        let error = fake.checkout.call(fake.launch_args()).await.unwrap_err();
        assert_eq!(error.code, "session_live");
        assert!(error.message.contains("lldb, stopped: breakpoint at "), "{}", error.message);
        let status = fake.checkout.call(json!({"op": "status"})).await.unwrap().joined_text();
        assert!(
            status.contains("\nstopped: breakpoint at toy.txt:3 in work, thread 7"),
            "{status}"
        );
        assert!(status.contains("\n  toy.txt:3 set\noutput: 7 bytes"), "{status}");
        assert_eq!(fake.checkout.code(json!({"op": "attach", "port": 1})).await, "session_live");
        fake.op("continue").await;
        let status = fake.op("status").await;
        assert!(status["detail"].as_str().unwrap().contains("exit code 0"), "{status}");
        assert_eq!(fake.code("continue").await, "session_ended");
        assert_eq!(fake.op("output").await["output"], "line 3\nline 9\n");
        // No `terminate` is needed, the output is a new one, and no id is given twice.
        let second = fake.launch().await;
        assert_eq!(at(&second), place("stopped", "breakpoint", 3));
        assert_eq!(fake.op("output").await["output"], "line 3\n");
        assert!(second["frame"]["id"].as_i64() > first["frame"]["id"].as_i64());
    });
}

/// What a model wants most: one call, and the crash is told.
pub(crate) fn a_crash_comes_back_whole_in_one_call() {
    block_on(async {
        let fake = Fake::lldb(lldb().crash(7));
        fake.breakpoints(&[]).await;
        let output = fake.checkout.call(fake.launch_args()).await.unwrap();
        assert_eq!(at(&output.data), place("stopped", "exception", 7));
        assert_eq!(output.data["description"], "Oops: it broke");
        assert_eq!(output.data["locals"]["variables"][0]["value"], "7");

        assert!(
            output.joined_text().contains("\n  Oops: it broke\nframes:"),
            "{}",
            output.joined_text()
        );
        assert!(output.joined_text().contains("locals of frame 1:\n  line: int = 7"));
        assert!(output.joined_text().ends_with("output:\n  line 7"), "{}", output.joined_text());
    });
}

/// microsoft/debugpy#2054: an adapter may take 40 ms for each request, so they are counted.
pub(crate) fn each_operation_costs_the_requests_that_it_needs() {
    block_on(async {
        let fake = Fake::lldb(lldb());
        fake.breakpoints(&[3, 8]).await;
        let stop = fake.launch().await;
        let requests = |before: i64| fake.checkout.debugger.requests() - before;
        // initialize, launch, breakpoints of one file, exception filters, configuration done, the stack.
        assert_eq!(requests(0), 6);
        let frame = json!({"op": "scopes", "frame_id": stop["frame"]["id"]});
        let scopes = fake.checkout.data(frame.clone()).await;
        let reference = scopes["scopes"][0]["reference"].clone();
        let costs = [
            (json!({"op": "status"}), 0),
            (json!({"op": "output"}), 0),
            (json!({"op": "threads"}), 1),
            (json!({"op": "stack"}), 1),
            (frame, 1),
            (json!({"op": "variables", "reference": reference}), 1),
            (json!({"op": "evaluate", "expression": "x"}), 1),
            // The request, and one for the report of the stop.
            (json!({"op": "step_over"}), 2),
            (json!({"op": "continue"}), 2),
        ];
        for (args, cost) in costs {
            let before = fake.checkout.debugger.requests();
            fake.checkout.data(args.clone()).await;
            assert_eq!(requests(before), cost, "{args}");
        }
    });
}

/// Conditions, hit counts and log points go to the adapter, and to none that does not take them.
// spec: DBG-04
pub(crate) fn conditions_go_to_the_adapter_that_takes_them() {
    block_on(async {
        let fake = Fake::new(Script::new("dart", Toy::new(Manner::Dart)));
        let set = json!({"op": "breakpoints", "file": "toy.txt", "lines": [3],
            "condition": "i == 3", "log_message": "at {i}"});
        fake.checkout.data(set).await;
        fake.launch().await;
        let sent = fake.log.last("setBreakpoints").unwrap();
        let expected = json!([{"line": 3, "condition": "i == 3", "logMessage": "at {i}"}]);
        assert_eq!(sent["breakpoints"], expected);
        let path = sent["source"]["path"].as_str().unwrap();
        assert!(path.starts_with('/') && path.ends_with("/toy.txt"), "{path}");
        let hit =
            json!({"op": "breakpoints", "file": "toy.txt", "lines": [8], "hit_condition": "2"});
        let error = fake.checkout.call(hit).await.unwrap_err();
        assert_eq!(error.message, "debug: dart does not take `hit_condition`; leave it out");
    });
}

/// What an adapter does not take is not sent by a launch either, and is no breakpoint that stops at each hit.
// spec: DBG-04
pub(crate) fn conditions_set_before_a_launch_are_held_to_its_adapter() {
    block_on(async {
        let fake = Fake::new(Script::new("dart", Toy::new(Manner::Dart)));
        let set =
            json!({"op": "breakpoints", "file": "toy.txt", "lines": [3], "hit_condition": "2"});
        fake.checkout.data(set).await;
        fake.launch().await;
        assert!(fake.log.last("setBreakpoints").is_none());
        let status = fake.checkout.data(json!({"op": "status"})).await;
        let breakpoint = &status["breakpoints"][0];
        assert_eq!(breakpoint["status"], "unset", "{status}");
        assert_eq!(breakpoint["message"], "dart does not take `hit_condition`");
    });
}

/// What was set in a session that is over is not set any more.
// spec: DBG-04
pub(crate) fn breakpoints_wait_again_once_their_session_is_over() {
    block_on(async {
        let fake = Fake::new(Script::new("dart", Toy::new(Manner::Dart)));
        let set = json!({"op": "breakpoints", "file": "toy.txt", "lines": [3]});
        fake.checkout.data(set).await;
        fake.launch().await;
        let status = fake.checkout.data(json!({"op": "status"})).await;
        assert_eq!(status["breakpoints"][0]["status"], "set", "{status}");
        fake.checkout.data(json!({"op": "terminate"})).await;
        let status = fake.checkout.data(json!({"op": "status"})).await;
        assert_eq!(status["breakpoints"][0]["status"], "pending", "{status}");
    });
}

/// Breakpoints of a running program are set at once, and replace those of their file alone.
// spec: DBG-04
pub(crate) fn breakpoints_of_a_live_program_are_set_at_once() {
    block_on(async {
        let fake = Fake::lldb(lldb());
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        let set = fake.breakpoints(&[9, 7, 9]).await;
        let lines: Vec<_> =
            set["breakpoints"].as_array().unwrap().iter().map(|b| &b["line"]).collect();
        assert_eq!(lines, [&json!(7), &json!(9)]);
        assert!(set["breakpoints"].as_array().unwrap().iter().all(|b| b["status"] == "set"));
        assert_eq!(at(&fake.op("continue").await), place("stopped", "breakpoint", 7));
        assert_eq!(fake.breakpoints(&[]).await["breakpoints"], json!([]));
        assert_eq!(fake.op("continue").await["state"], "ended");
        assert_eq!(fake.op("status").await["breakpoints"], json!([]));
    });
}

/// An adapter that reports late says so by an event.
pub(crate) fn a_breakpoint_that_is_set_later_is_told_as_set() {
    block_on(async {
        let pending = json!({"breakpoints": [{"id": 5, "verified": false, "reason": "pending", "message": "no code yet"}]});
        let later =
            json!({"reason": "changed", "breakpoint": {"id": 5, "verified": true, "line": 4}});
        let script = Script::new("lldb-dap", lldb().spinning())
            .rule(Rule::on("setBreakpoints").then([Step::Reply(pending)]))
            .rule(Rule::on("continue").then([Step::event("breakpoint", later), Step::Default]))
            .on(
                "configurationDone",
                [
                    Step::Reply(json!({})),
                    Step::event("stopped", json!({"reason": "entry", "threadId": 7})),
                ],
            );
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        let stop = fake.launch().await;
        assert_eq!(stop["breakpoints"][0]["status"], "pending");
        assert_eq!(stop["breakpoints"][0]["message"], "no code yet");
        let go_on = json!({"op": "continue", "timeout_ms": 300});
        assert_eq!(fake.checkout.data(go_on).await["state"], "running");
        let status = fake.op("status").await;
        assert_eq!(
            (&status["breakpoints"][0]["status"], &status["breakpoints"][0]["line"]),
            (&json!("moved"), &json!(4))
        );
    });
}

pub(crate) fn a_thread_that_is_not_there_is_refused_with_those_that_are() {
    block_on(async {
        let fake = Fake::lldb(lldb());
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        let error = fake.checkout.call(json!({"op": "stack", "thread_id": 99})).await.unwrap_err();
        assert_eq!(
            (&*error.code, &*error.message),
            ("unknown_thread", "there is no thread 99; there are 7")
        );
        let stack = fake.checkout.data(json!({"op": "stack", "thread_id": 7})).await;
        assert_eq!(stack["frames"][0]["function"], "work");
        let threads = fake.op("threads").await;
        assert_eq!(threads["threads"], json!([{"id": 7, "name": "main"}]));
    });
}

/// A statement is tried again where only an expression is taken; nothing else is.
// spec: DBG-11
pub(crate) fn a_statement_is_evaluated_where_an_expression_is_not_enough() {
    block_on(async {
        let script = Script::new("python3", Toy::default())
            .rule(Rule::on("evaluate").nth(1).then([Step::fail("SyntaxError: invalid syntax")]))
            .rule(Rule::on("evaluate").nth(3).then([Step::fail("NameError: name 'y'")]));
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        let done = fake.checkout.data(json!({"op": "evaluate", "expression": "import os"})).await;
        assert_eq!(done["result"], "import os at 3");
        let sent: Vec<_> =
            fake.log.requests().into_iter().filter(|(command, _)| command == "evaluate").collect();
        assert_eq!(
            (&sent[0].1["context"], &sent[1].1["context"]),
            (&json!("watch"), &json!("repl"))
        );
        assert_eq!(sent[1].1["frameId"], 1000);
        let failed = json!({"op": "evaluate", "expression": "y"});
        assert_eq!(fake.checkout.code(failed).await, "evaluate_failed");
    });
}

/// A program that is in a call which is none of Python's is paused when that returns.
pub(crate) fn a_pause_that_waits_for_python_says_so() {
    block_on(async {
        let script =
            Script::new("python3", Toy::default().spinning()).on("pause", [Step::Reply(json!({}))]);
        let fake = Fake::new(script);
        let launch = json!({"op": "launch", "program": "main.py", "timeout_ms": 100});
        let running = fake.checkout.data(launch).await;
        let said = "still running after 0.1 s; continue waits again, pause asks it to stop, terminate ends it";
        assert_eq!(running["notes"], json!([said]));
        let said = "still running after 0.2 s: the pause was sent and takes effect when Python code runs again, which it does \
                    not within a call such as time.sleep; continue waits for it, terminate ends it";
        for op in ["pause", "continue"] {
            let paused = fake.checkout.data(json!({"op": op, "timeout_ms": 200})).await;
            assert_eq!(paused["notes"], json!([said]), "{op}");
        }
    });
}

/// The debugger's own frames are no part of what went wrong.
// spec: DBG-11
pub(crate) fn an_expression_that_fails_is_told_without_the_debuggers_frames() {
    block_on(async {
        let traceback = "Traceback (most recent call last):\n  File \"/d/_pydevd_bundle/pydevd_vars.py\", line 449, in f\n    \
                         return compile(expression)\n           ^^^^^^^^\n  File \"<string>\", line 1\n    x =\n       ^\n\
                         SyntaxError: invalid syntax\n";
        let script = Script::new("python3", Toy::default())
            .rule(Rule::on("evaluate").nth(1).then([Step::fail("SyntaxError: invalid syntax")]))
            .rule(Rule::on("evaluate").nth(2).then([Step::fail(traceback)]));
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        let args = json!({"op": "evaluate", "expression": "x ="});
        let error = fake.checkout.call(args).await.unwrap_err();
        assert_eq!(error.message, "    x =\n       ^\nSyntaxError: invalid syntax");
    });
}

/// A condition that is no expression is told once, however often it was hit.
// spec: DBG-04
pub(crate) fn a_condition_that_fails_at_each_hit_is_told_once() {
    block_on(async {
        let said = "pydevd: Error while evaluating expression in conditional breakpoint: x =\n  File \"<string>\", line 1\n    x \
                    =\n      ^\nSyntaxError: invalid syntax\n\n";
        let output = json!({"category": "important", "output": said});
        let event = || Step::event("output", output.clone());
        let script = Script::new("python3", Toy::default())
            .rule(Rule::on("stackTrace").nth(1).then([event(), event(), event(), Step::Default]));
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        let stop = fake.launch().await;
        let expected = "a breakpoint's condition could not be evaluated, so it decided nothing: pydevd: Error while evaluating \
                        expression in conditional breakpoint: x =\n    x =\n      ^\nSyntaxError: invalid syntax";
        assert_eq!(stop["notes"], json!([expected]));
    });
}

/// A program that was built without debug information has places without lines.
pub(crate) fn a_crash_without_a_line_says_what_the_build_lacks() {
    block_on(async {
        let frames =
            json!({"stackFrames": [{"id": 1000, "name": "main", "line": 0}], "totalFrames": 1});
        let script =
            Script::new("lldb-dap", lldb().crash(7)).on("stackTrace", [Step::Reply(frames)]);
        let fake = Fake::new(script);
        let crash = fake.launch().await;
        let note = crash["notes"][0].as_str().unwrap();
        assert!(note.starts_with("no frame of it has a source line:"), "{note}");
        assert!(note.contains("build it with -g"), "{note}");
    });
}

/// Of a value that the adapter cut nobody knows how long it was.
// spec: DBG-10
pub(crate) fn a_value_that_the_adapter_cut_has_no_count() {
    block_on(async {
        let value = "z".repeat(65_540);
        let reply = json!({"result": value, "type": "str", "variablesReference": 0});
        let script = Script::new("python3", Toy::default()).on("evaluate", [Step::Reply(reply)]);
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        let args = json!({"op": "evaluate", "expression": "'z' * 100000"});
        let result = fake.checkout.data(args).await["result"].as_str().unwrap().to_owned();
        let (shown, rest) = result.split_once('…').unwrap();
        assert_eq!(shown.len(), agent_debug::MAX_EVALUATED_CHARS);
        assert_eq!(rest, " more characters, cut by the debugger");
    });
}

/// Programs that no adapter could start are refused before one is.
pub(crate) fn what_cannot_be_started_is_refused_before_an_adapter_is() {
    block_on(async {
        let fake = Fake::lldb(lldb());
        std::fs::create_dir(fake.checkout.folder.path().join("folder")).unwrap();
        let cases = [
            ("nosuch", "`nosuch` does not exist"),
            ("folder", "`folder` is a folder"),
            ("toy.txt", "`toy.txt` is no program that lldb can start"),
        ];
        for (program, message) in cases {
            let launch = json!({"op": "launch", "program": program, "adapter": "lldb"});
            let error = fake.checkout.call(launch).await.unwrap_err();
            assert_eq!(error.code, "bad_program");
            assert!(error.message.starts_with(message), "{}", error.message);
        }
        let launch = json!({"op": "launch", "program": "prog", "adapter": "gdb"});
        let error = fake.checkout.call(launch).await.unwrap_err();
        assert_eq!(
            (&*error.code, &*error.message),
            ("no_adapter", "there is no adapter `gdb`; there are debugpy, lldb, delve, dart",)
        );
        assert_eq!(fake.log.commands(), [""; 0]);
    });
}

/// At a crash in a library an expression is meant for the program's own frame, whose locals were told.
// spec: DBG-11
pub(crate) fn an_expression_at_a_crash_is_evaluated_in_the_users_frame() {
    block_on(async {
        let frames = |file: &str| {
            json!({"stackFrames": [
                {"id": 1000, "name": "fatalpanic", "line": 9, "source": {"path": "/usr/lib/runtime/panic.c"}},
                {"id": 1001, "name": "inner", "line": 7, "source": {"path": file}},
            ], "totalFrames": 2})
        };
        let fake = Fake::lldb(lldb().crash(7));
        let file = fake.checkout.folder.path().canonicalize().unwrap().join("toy.txt");
        let script = Script::new("lldb-dap", lldb().crash(7))
            .on("stackTrace", [Step::Reply(frames(file.to_str().unwrap()))]);
        let log = script.stub(fake.stubs()).unwrap();
        let crash = fake.launch().await;
        let evaluate = json!({"op": "evaluate", "expression": "x"});
        let value = fake.checkout.call(evaluate).await.unwrap();
        assert_eq!(log.last("evaluate").unwrap()["frameId"], 1001);
        assert_eq!(value.data["frame"]["function"], crash["frames"][1]["function"]);
        assert!(value.joined_text().contains(", inner at toy.txt:7"), "{}", value.joined_text());
        let top = json!({"op": "evaluate", "expression": "x", "frame_id": crash["frame"]["id"]});
        assert_eq!(fake.checkout.data(top).await.get("frame"), None);
        assert_eq!(log.last("evaluate").unwrap()["frameId"], 1000);
    });
}
