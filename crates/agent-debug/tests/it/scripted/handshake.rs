use agent_testkit::dap::{Manner, Rule, Script, Step, Toy};
use serde_json::json;

use super::{Fake, at, lldb, place};
use crate::support::block_on;

/// Each real order of things comes to the same.
// spec: DBG-05, DBG-14
pub(crate) fn every_manner_stops_at_its_breakpoints_and_says_how_it_ended() {
    let manners = [
        ("python3", Manner::Debugpy),
        ("lldb-dap-19", Manner::Lldb),
        ("dlv", Manner::Delve),
        ("dart", Manner::Dart),
    ];
    for (name, manner) in manners {
        block_on(async {
            let fake = Fake::new(Script::new(name, Toy::new(manner).exit_code(3)));
            let set = fake.breakpoints(&[5, 8, 99]).await;
            assert!(
                set["breakpoints"].as_array().unwrap().iter().all(|b| b["status"] == "pending")
            );
            let stop = fake.launch().await;
            assert_eq!(at(&stop), place("stopped", "breakpoint", 6), "{name}: {stop}");
            assert_eq!(stop["frame"]["text"], "line 6 of it");
            assert_eq!(stop["output"], "line 6\n");
            let odd: Vec<_> = stop["breakpoints"].as_array().unwrap().iter().collect();
            assert_eq!((&odd[0]["requested"], &odd[0]["line"]), (&json!(5), &json!(6)));
            assert_eq!((&odd[0]["status"], &odd[1]["status"]), (&json!("moved"), &json!("unset")));
            assert_eq!(odd.len(), 2, "{name}");
            let step = fake.op("step_over").await;
            assert_eq!(at(&step), place("stopped", "step", 7), "{name}");
            assert_eq!(at(&fake.op("continue").await), place("stopped", "breakpoint", 8), "{name}");
            let end = fake.op("continue").await;
            assert_eq!(at(&end), place("ended", "exited", 0), "{name}");
            assert_eq!(end["exit_code"], 3, "{name}");
            assert_eq!(end["breakpoints"].as_array().unwrap().len(), 2, "{name}");
            fake.checkout.nothing_left();
        });
    }
}

/// What `dart debug_adapter` documents; the real one was never met.
// spec: DBG-14
pub(crate) fn dart_goes_on_from_its_entry_by_itself() {
    block_on(async {
        let fake = Fake::new(Script::new("dart", Toy::new(Manner::Dart)));
        fake.breakpoints(&[3]).await;
        assert_eq!(at(&fake.launch().await), place("stopped", "breakpoint", 3));
        let sent = fake.log.last("launch").unwrap();
        assert!(sent["program"].as_str().unwrap().ends_with("/main.dart"), "{sent}");
        let end = fake.op("continue").await;
        assert_eq!((&end["state"], &end["exit_code"]), (&json!("ended"), &json!(0)));
    });
}

/// A stop at the entry that nothing follows is a stop.
pub(crate) fn a_stop_at_the_entry_that_stays_is_told() {
    block_on(async {
        let stop = Step::event("stopped", json!({"reason": "entry", "threadId": 7}));
        let script = Script::new("lldb-dap", lldb().spinning())
            .on("configurationDone", [stop, Step::Reply(json!({}))]);
        let fake = Fake::new(script);
        assert_eq!(fake.launch().await["reason"], "entry");
    });
}

/// can1357/oh-my-pi#1187
pub(crate) fn what_the_launch_says_comes_before_what_the_configuration_says() {
    block_on(async {
        let long =
            json!({"error": {"format": "no such {thing}", "variables": {"thing": "binary"}}});
        let script = Script::new("python3", Toy::default())
            .on(
                "launch",
                [
                    Step::event("initialized", json!(null)),
                    Step::Wait(50),
                    Step::Fail { message: None, body: long },
                ],
            )
            .on("configurationDone", [Step::fail("Expected process to be stopped")]);
        let fake = Fake::new(script);
        let error = fake.checkout.call(fake.launch_args()).await.unwrap_err();
        assert_eq!((&*error.code, &*error.message), ("launch_failed", "no such binary"));
        fake.checkout.nothing_left();
    });
}

pub(crate) fn a_launch_that_fails_repeats_what_the_adapter_wrote_beside_it() {
    block_on(async {
        let output =
            json!({"category": "console", "output": "Build Error: main.go:3: undefined\n"});
        let script = Script::new("dlv", Toy::new(Manner::Delve))
            .on("launch", [Step::fail("Failed to launch"), Step::event("output", output)]);
        let fake = Fake::new(script);
        let error = fake.checkout.call(fake.launch_args()).await.unwrap_err();
        assert_eq!(error.code, "launch_failed");
        assert_eq!(error.message, "Failed to launch\nBuild Error: main.go:3: undefined");
        assert_eq!(fake.code("stack").await, "session_ended");
        assert_eq!(fake.op("status").await["state"], "ended");
    });
}

/// Nothing is sent that is not offered: some adapters end at a request that they do not know.
pub(crate) fn nothing_is_sent_that_was_not_offered() {
    block_on(async {
        let script = Script::new("lldb-dap", lldb()).on("initialize", [Step::Reply(json!({}))]);
        let script = script.on(
            "launch",
            [Step::Default, Step::event("stopped", json!({"reason": "breakpoint", "threadId": 7}))],
        );
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        assert_eq!(fake.launch().await["state"], "stopped");
        fake.op("terminate").await;
        // The stop may be read before or after the breakpoints are sent.
        let mut sent = fake.log.commands();
        sent.sort();
        let expected = ["disconnect", "initialize", "launch", "setBreakpoints", "stackTrace"];
        assert_eq!(sent, expected);
        let plain = fake.log.last("initialize").unwrap();
        assert_eq!(plain["supportsRunInTerminalRequest"], false);
    });
}

/// The filters that an adapter offers and that are on by default, and no others.
pub(crate) fn exception_filters_are_those_that_are_offered() {
    block_on(async {
        let filters = json!([
            {"filter": "raised", "label": "x", "default": false},
            {"filter": "uncaught", "label": "x", "default": false},
            {"filter": "userUnhandled", "label": "x", "default": true},
        ]);
        let can = json!({"supportsConfigurationDoneRequest": true, "exceptionBreakpointFilters": filters});
        let script = Script::new("python3", Toy::default()).on("initialize", [Step::Reply(can)]);
        let fake = Fake::new(script);
        fake.launch().await;
        let sent = fake.log.last("setExceptionBreakpoints").unwrap();
        assert_eq!(sent, json!({"filters": ["uncaught", "userUnhandled"]}));
    });
}

/// An adapter that dies at any point of its start is a launch that failed, and the next one works.
pub(crate) fn an_adapter_may_die_at_any_point_of_its_start() {
    for request in ["initialize", "launch", "setBreakpoints", "configurationDone"] {
        block_on(async {
            let die = [Step::Stderr("panicked at the disco".to_owned()), Step::Exit(2)];
            let script = Script::new("lldb-dap", lldb()).rule(Rule::on(request).then(die));
            let fake = Fake::new(script);
            fake.breakpoints(&[3]).await;
            let error = fake.checkout.call(fake.launch_args()).await.unwrap_err();
            assert_eq!(error.code, "launch_failed", "{request}");
            assert!(
                error.message.contains("panicked at the disco"),
                "{request}: {}",
                error.message
            );
            fake.checkout.nothing_left();
            assert_eq!(fake.op("status").await["state"], "ended", "{request}");
        });
    }
}

/// Several processes of one name: the highest number is taken where the plain name is missing.
// spec: DBG-02
pub(crate) fn an_adapter_with_a_number_is_found_and_named() {
    block_on(async {
        let fake = Fake::new(Script::new("lldb-dap-19", lldb()));
        let all = fake.op("adapters").await;
        let lldb = all["adapters"].as_array().unwrap().iter().find(|a| a["id"] == "lldb").unwrap();
        assert_eq!(lldb["usable"], true);
        assert!(
            lldb["command"].as_str().unwrap().contains("lldb-dap-19 (lldb-dap-19 1.2.3)"),
            "{lldb}"
        );
        assert_eq!(lldb["marker"], "CMakeLists.txt");
        let delve =
            all["adapters"].as_array().unwrap().iter().find(|a| a["id"] == "delve").unwrap();
        assert_eq!((&delve["usable"], &delve["marker"]), (&json!(false), &json!("go.mod")));
        assert!(delve["why"].as_str().unwrap().contains("dlv was not found"), "{delve}");
    });
}
