//! Workers as a script, a model and a host have them.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use agent_testkit::model::{ModelServer, Rule, Script, When};
use serde_json::{Value, json};

use crate::{
    chat::{once, talking, when},
    home::Home,
    peer::Peer,
};

/// How long a process may take to come or to go.
const PATIENCE: Duration = Duration::from_secs(10);

/// A worker that says what it was told; told to stay, it stays with two programs of its own.
const AGENT: &str = "fast=sh -c 'case $0 in stay) sleep 600 & sleep 600 & echo up; wait;; fail) echo half; echo broken >&2; exit 3;; \
                     *) echo \"$1 did: $0\";; esac' {brief} {label}";

/// The results of a script.
fn script(home: &Home, options: &[&str], calls: &[Value]) -> (Vec<Value>, String) {
    let text: Vec<String> = calls.iter().map(Value::to_string).collect();
    home.put("calls.jsonl", &text.join("\n"));
    let output = home.run(&[&["--json"], options, &["script", "calls.jsonl"]].concat());
    let stdout = String::from_utf8_lossy(&output.stdout);
    let lines = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    (lines, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Waits until this holds, while the run goes on.
fn until(holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited in vain");
        thread::yield_now();
    }
}

fn spawn(brief: &str, label: &str) -> Value {
    json!({"tool": "vibe_spawn", "args": {"brief": brief, "label": label, "tier": "fast"}})
}

fn wait(id: &str) -> Value {
    json!({"tool": "vibe_wait", "args": {"worker_id": id}})
}

// spec: VIBE-01, VIBE-04, VIBE-05
#[test]
fn a_script_has_commands_work_beside_it() {
    let home = Home::new(&[]);
    let (results, said) = script(
        &home,
        &["--vibe", "--worker", AGENT],
        &[
            spawn("count", "counter"),
            spawn("-weigh $(id)", "scale"),
            wait("w1"),
            wait("w2"),
            spawn("fail", "clumsy"),
            wait("w3"),
            json!({"tool": "vibe_send", "args": {"worker_id": "w1", "message": "again"}}),
            wait("w1"),
            json!({"tool": "vibe_spawn", "args": {"brief": "x", "label": "y"}}),
            spawn("stay", "idle"),
            json!({"tool": "vibe_list"}),
        ],
    );
    let consent =
        "no card is shown before what it does: naming it and turning workers on is your consent";
    assert!(said.contains(consent), "{said}");
    let result =
        |at: usize| (&results[at]["data"]["status"], results[at]["data"]["result"].as_str());
    assert_eq!(result(2), (&json!("done"), Some("counter did: count\n")));
    // What a model wrote is neither an option nor read by a shell.
    assert_eq!(result(3), (&json!("done"), Some("scale did:  -weigh $(id)\n")));
    let (status, told) = result(5);
    assert_eq!(status, "failed");
    assert_eq!(
        told,
        Some(
            "the command ended with exit code 3 and said on its error output:\nbroken\nit had said:\nhalf\n"
        )
    );
    let again = result(7).1.expect("a result");
    assert!(
        again.starts_with("counter did: count\n\n(Your result so far:)\ncounter did: count\n"),
        "{again}"
    );
    assert!(again.ends_with("\n\nagain\n"), "{again}");
    assert_eq!(results[8]["error"]["code"], "unknown_tier");
    assert_eq!(results[10]["data"]["workers"][3]["status"], "running");
    assert!(said.contains("1 worker was at work when the run ended and killed"), "{said}");
    // Home holds the test to nothing being left of the one that stays.
}

// spec: VIBE-06
#[test]
fn killing_a_worker_ends_what_it_started() {
    let home = Home::new(&[]);
    let mut peer = Peer::start(&home, &["--worker", AGENT]);
    peer.initialize(&home, json!({"vibe": true}));
    let Value::Object(call) = spawn("stay", "idle") else { panic!("an object") };
    peer.call("s1", "vibe_spawn", call["args"].clone());
    peer.wait(|message| message["params"]["event"]["text"] == "up\n");
    let asleep = || home.mark.left().iter().filter(|line| line.starts_with("sleep 600")).count();
    // What was forked has to become what it is first.
    until(|| asleep() == 2);
    assert_eq!(peer.request("run/status", json!({}))["workers"][0]["status"], "running");
    let killed = peer.call("k1", "vibe_kill", json!({"worker_id": "w1"}));
    assert_eq!(killed["data"]["status"], "killed");
    until(|| asleep() == 0);
    assert_eq!(peer.request("run/status", json!({}))["workers"][0]["status"], "killed");
    assert!(peer.end().0.success());
}

/// Ctrl-C ends workers as the end of a script does.
#[test]
fn an_interrupted_run_says_which_workers_it_killed() {
    let home = Home::new(&[]);
    let calls = [spawn("stay", "idle"), wait("w1")].map(|call| call.to_string());
    home.put("calls.jsonl", &calls.join("\n"));
    let mut command =
        home.command(&["--json", "--vibe", "--worker", AGENT, "script", "calls.jsonl"]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut spawned = String::new();
    BufReader::new(run.stdout.take().expect("a pipe")).read_line(&mut spawned).expect("a line");
    assert!(spawned.contains("\"worker_id\":\"w1\""), "{spawned}");
    let interrupted = Command::new("kill").arg("-INT").arg(run.id().to_string()).status();
    assert!(interrupted.expect("it starts").success());
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("1 worker was at work when the run ended and killed"), "{said}");
}

/// A program of its own is not ours to hold back, so it has to say that it holds itself back.
// spec: VIBE-08
#[test]
fn a_command_is_no_worker_of_less_than_exec_unless_it_takes_its_authority() {
    let home = Home::new(&[]);
    let calls = [spawn("x", "y"), wait("w1")];
    let plan = |worker: &str| {
        let (results, _) =
            script(&home, &["--vibe", "--surface", "plan", "--worker", worker], &calls);
        results
    };
    // Known before anything begins, so nobody is told that it runs.
    let refused = &plan("fast=touch made")[0]["error"];
    assert_eq!(refused["code"], "authority_exceeded");
    let said = refused["message"].as_str().expect("words");
    assert!(said.starts_with("a worker of authority read cannot be this command"), "{said}");
    assert!(!home.checkout.path().join("made").exists());
    let told = &plan("fast=echo {authority} {label}")[1]["data"];
    assert_eq!((&told["status"], &told["result"]), (&json!("done"), &json!("read y\n")));
}

#[test]
fn a_command_without_a_place_for_the_brief_reads_it() {
    let home = Home::new(&[]);
    let brief = "b".repeat(60_000);
    let calls = [spawn(&brief, "reader"), wait("w1")];
    let (results, _) = script(&home, &["--vibe", "--worker", "fast=wc -c"], &calls);
    assert_eq!(results[1]["data"]["result"].as_str().map(str::trim), Some("60000"));
    let (results, _) = script(&home, &["--vibe", "--worker", "fast=seq 100000"], &calls);
    let result = results[1]["data"]["result"].as_str().expect("a result");
    assert!(
        result.len() < 10_000
            && result.starts_with("1\n2\n")
            && result.ends_with("99999\n100000\n"),
        "{result}"
    );
}

/// A home whose fast workers are a model that answers so.
fn with_model(rules: impl IntoIterator<Item = Rule>) -> (Home, ModelServer) {
    let server = ModelServer::start(Script::of(rules)).expect("a server");
    let home = Home::new(&[("a.txt", "text\n")]);
    home.configure(&format!(
        "[worker.fast]\nprovider = \"compatible\"\nname = \"small\"\nurl = \"{}\"\n",
        server.url()
    ));
    (home, server)
}

// spec: VIBE-08, TIER-09
#[test]
fn a_worker_under_plan_is_offered_nothing_that_writes() {
    let calls = Rule::call("write", json!({"path": "made", "content": "x"}))
        .and_call("read", json!({"path": "a.txt"}));
    let (home, server) = with_model([calls, Rule::text("looked")]);
    let (results, _) = script(
        &home,
        &["--vibe", "--surface", "plan", "--approve", "all"],
        &[spawn("look at a.txt", "looker"), wait("w1")],
    );
    assert_eq!(results[0]["data"]["authority"], "read");
    assert_eq!(
        (&results[1]["data"]["status"], &results[1]["data"]["result"]),
        (&json!("done"), &json!("looked"))
    );
    let requests = server.requests();
    assert_eq!(requests[0].tools(), ["read", "search", "ast_grep", "lsp"]);
    assert_eq!(requests[0].last(), "look at a.txt");
    let system = requests[0].system();
    assert!(
        system.contains("You are w1")
            && system.contains("\"looker\"")
            && system.contains("change nothing"),
        "{system}"
    );
    let told = requests[1].last();
    assert!(told.contains("write") && told.contains("text"), "{told}");
    assert!(!home.checkout.path().join("made").exists(), "a tool that is not offered is not there");
}

// spec: VIBE-08, VIBE-09, TIER-09
#[test]
fn a_permission_that_a_worker_needs_is_a_card_that_names_it() {
    let (home, server) = with_model([
        Rule::call("write", json!({"path": "made.txt", "content": "by a worker\n"})),
        Rule::text("made it"),
    ]);
    let mut peer = Peer::start(&home, &[]);
    peer.initialize(&home, json!({"approve": "ask", "vibe": true}));
    let args = json!({"brief": "make it", "label": "maker", "tier": "fast"});
    assert_eq!(peer.call("s1", "vibe_spawn", args)["data"]["status"], "running");
    let asked = peer.heard("card/present");
    let card = &asked["params"]["card"];
    assert_eq!(card["asked_by"][0]["name"], "w1 (maker)", "{card}");
    assert_eq!(card["kind"], "permission");
    let reply = json!({"reply": {"type": "chosen", "options": ["allow_once"]}});
    peer.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": reply}));
    let done = peer.call("t1", "vibe_wait", json!({"worker_id": "w1"}));
    assert_eq!(
        (&done["data"]["status"], &done["data"]["result"]),
        (&json!("done"), &json!("made it"))
    );
    assert_eq!(home.file("made.txt"), "by a worker\n");
    let offered = server.requests()[0].tools();
    let none = |name: &&String| name.starts_with("vibe_") || *name == "ask_user";
    assert_eq!(offered.iter().filter(none).count(), 0, "{offered:?}");
    assert!(offered.contains(&"write".to_owned()), "{offered:?}");
    assert!(peer.end().0.success());
}

// spec: TIER-08, TIER-09
#[test]
fn two_workers_that_want_a_shell_at_once_both_get_it() {
    let shell = |brief: &str| Rule {
        when: When { last: Some(brief.to_owned()), ..When::default() },
        ..Rule::call("shell", json!({"command": format!("echo of {brief}")}))
    };
    let end = Rule { times: 0, ..Rule::text("done") };
    let (home, server) = with_model([shell("pears"), shell("plums"), end]);
    let mut peer = Peer::start(&home, &[]);
    peer.initialize(&home, json!({"approve": "ask", "vibe": true}));
    for (call, brief) in [("s1", "pears"), ("s2", "plums")] {
        peer.call(call, "vibe_spawn", json!({"brief": brief, "label": brief, "tier": "fast"}));
    }
    let first = peer.heard("card/present");
    let began = Instant::now();
    let shells = |peer: &mut Peer| {
        let status = peer.request("run/status", json!({}));
        let calls = status["calls"].as_array().expect("calls").clone();
        calls.iter().filter(|call| call["name"] == "shell").count()
    };
    while shells(&mut peer) < 2 {
        assert!(began.elapsed() < PATIENCE, "the second one does not wait");
    }
    let allow = json!({"reply": {"type": "chosen", "options": ["allow_once"]}});
    peer.say(&json!({"jsonrpc": "2.0", "id": first["id"], "result": allow}));
    let second = peer.heard("card/present");
    assert_ne!(first["params"]["card"]["asked_by"], second["params"]["card"]["asked_by"]);
    peer.say(&json!({"jsonrpc": "2.0", "id": second["id"], "result": allow}));
    for id in ["w1", "w2"] {
        let done = peer.call(id, "vibe_wait", json!({"worker_id": id}));
        assert_eq!(done["data"]["status"], "done", "{done}");
    }
    let told: Vec<String> = server.requests().iter().map(|request| request.last()).collect();
    for brief in ["of pears", "of plums"] {
        assert_eq!(told.iter().filter(|told| told.contains(brief)).count(), 1, "{told:?}");
    }
    assert!(peer.end().0.success());
}

// spec: VIBE-04
#[test]
fn a_message_goes_on_with_the_same_conversation() {
    let (home, server) = with_model([Rule::text("forty-two"), Rule::text("because")]);
    let (results, _) = script(
        &home,
        &["--vibe"],
        &[
            spawn("what is it?", "thinker"),
            wait("w1"),
            json!({"tool": "vibe_send", "args": {"worker_id": "w1", "message": "why?"}}),
            wait("w1"),
        ],
    );
    let data = &results[3]["data"];
    assert_eq!((&data["attempt"], &data["result"]), (&json!(2), &json!("because")));
    let requests = server.requests();
    let said: Vec<_> =
        requests[1].messages().iter().filter(|message| message["role"] != "system").collect();
    let said: Vec<_> = said.iter().map(|message| (&message["role"], &message["content"])).collect();
    assert_eq!(
        said,
        [
            (&json!("user"), &json!("what is it?")),
            (&json!("assistant"), &json!("forty-two")),
            (&json!("user"), &json!("why?")),
        ]
    );
}

#[test]
fn a_worker_whose_model_does_not_answer_has_failed_and_says_why() {
    let (home, _server) = with_model([Rule::fail(400, "invalid_request_error", "no such model")]);
    let (results, _) = script(&home, &["--vibe"], &[spawn("x", "y"), wait("w1")]);
    let data = &results[1]["data"];
    assert_eq!(data["status"], "failed");
    let said = data["result"].as_str().expect("words");
    assert!(
        said.starts_with("the model did not answer: ") && said.contains("no such model"),
        "{said}"
    );
}

/// Where the host runs workers, it gets the brief, the ceiling and the end.
// spec: VIBE-02, VIBE-08
#[test]
fn a_host_runs_its_own_workers() {
    let home = Home::new(&[]);
    let mut peer = Peer::start(&home, &[]);
    let capabilities = json!({"cards": true, "workers": true});
    peer.initialize(&home, json!({"surface": "plan", "capabilities": capabilities, "vibe": true}));
    peer.call("s1", "vibe_spawn", json!({"brief": "look", "label": "one", "tier": "fast"}));
    let run = peer.heard("worker/run");
    assert_eq!(
        run["params"],
        json!({
            "worker": "w1", "brief": "look", "ceiling": "read", "call_id": "worker_w1", "label": "one", "tier": "fast", "attempt": 1,
        })
    );
    let parts = json!([{"type": "text", "text": "seen"}]);
    peer.say(&json!({"jsonrpc": "2.0", "id": run["id"], "result": {"ok": true, "parts": parts}}));
    let done = peer.call("t1", "vibe_wait", json!({"worker_id": "w1"}));
    assert_eq!(
        (&done["data"]["status"], &done["data"]["result"]),
        (&json!("done"), &json!("seen"))
    );

    peer.call("m1", "vibe_send", json!({"worker_id": "w1", "message": "more"}));
    let run = peer.heard("worker/run");
    assert_eq!(
        (&run["params"]["brief"], &run["params"]["attempt"]),
        (&json!("look\n\nmore"), &json!(2))
    );
    let error = json!({"ok": false, "parts": parts, "error": {"message": "out of tokens"}});
    peer.say(&json!({"jsonrpc": "2.0", "id": run["id"], "result": error}));
    let failed = peer.call("t2", "vibe_wait", json!({"worker_id": "w1"}));
    assert_eq!(failed["data"]["result"], "out of tokens\nit had said:\nseen");

    peer.call("s2", "vibe_spawn", json!({"brief": "stay", "label": "two"}));
    peer.heard("worker/run");
    peer.call("k1", "vibe_kill", json!({"worker_id": "w2"}));
    assert_eq!(peer.heard("$/cancel")["params"]["call_id"], "worker_w2");

    peer.call("s3", "vibe_spawn", json!({"brief": "stay", "label": "three"}));
    peer.heard("worker/run");
    peer.request("run/shutdown", json!({}));
    assert_eq!(peer.heard("$/cancel")["params"]["call_id"], "worker_w3");
    let log = peer.heard("log")["params"]["message"].clone();
    assert_eq!(log, "1 worker was at work when the run ended and killed");
    assert!(peer.end().0.success());
}

// spec: ASK-03, VIBE-01
#[test]
fn a_question_needs_somebody_and_workers_need_the_mode() {
    let home = Home::new(&[]);
    let names = |capabilities: Value, vibe: bool, options: &[&str]| {
        let mut peer = Peer::start(&home, options);
        peer.initialize(&home, json!({"capabilities": capabilities, "vibe": vibe}));
        let tools = peer.request("run/tools", json!({}))["tools"].clone();
        let names: Vec<String> =
            tools.as_array().expect("tools").iter().map(|tool| tool["name"].to_string()).collect();
        assert!(peer.end().0.success());
        let has = |part: &str| names.iter().filter(|name| name.contains(part)).count();
        (has("ask_user"), has("vibe_"))
    };
    assert_eq!(names(json!({}), false, &["--vibe", "--worker", AGENT]), (0, 0));
    assert_eq!(names(json!({}), true, &["--worker", AGENT]), (0, 5));
    assert_eq!(names(json!({"cards": true, "workers": true}), false, &[]), (1, 0));
    assert_eq!(names(json!({"cards": true, "workers": true}), true, &[]), (1, 5));
    let mut peer = Peer::start(&home, &[]);
    let params = json!({"versions": [1], "roots": [home.checkout.path()], "vibe": true});
    assert_eq!(peer.refused("initialize", params), -32602, "there are no workers");
    peer.end();
}

// spec: ASK-05
#[test]
fn a_question_reaches_the_host_and_its_answer_the_agent() {
    let home = Home::new(&[]);
    let mut peer = Peer::start(&home, &[]);
    peer.initialize(&home, json!({"approve": "all"}));
    let args = json!({"question": "Which one?", "options": ["red", "blue"]});
    let call = peer.ask("run/call", json!({"call_id": "q1", "name": "ask_user", "args": args}));
    let asked = peer.heard("card/present");
    assert_eq!(asked["params"]["card"]["kind"], "question", "approving all answers no question");
    let option = asked["params"]["card"]["options"][1]["id"].clone();
    let reply = json!({"reply": {"type": "chosen", "options": [option], "text": "dark"}});
    peer.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": reply}));
    let data = peer.answer(call)["result"]["data"].clone();
    assert_eq!(
        data,
        json!({"outcome": "answered", "selected": [{"index": 2, "label": "blue"}], "text": "dark"})
    );
    assert!(peer.end().0.success());
}

/// So many workers of which none is at work, and what each may take, in KiB.
const IDLE: usize = 64;
const IDLE_KIB: usize = 1_024;

/// The conversation of each is kept, for a message that may come.
#[test]
fn an_idle_worker_takes_less_than_a_megabyte() {
    let server = ModelServer::start(Script::of([Rule { times: 0, ..Rule::text("It is so.") }]));
    let server = server.expect("a server");
    let home = Home::new(&[]);
    home.configure(&format!(
        "[worker.fast]\nprovider = \"compatible\"\nname = \"m\"\nurl = \"{}/v1\"\n",
        server.url()
    ));
    let mut peer = Peer::start(&home, &[]);
    peer.initialize(&home, json!({"vibe": true}));
    let mut worker = |number: usize| {
        let args = json!({"brief": "Say how it is. ".repeat(50), "label": format!("w {number}"), "tier": "fast"});
        let spawned = peer.call(&format!("spawn_{number}"), "vibe_spawn", args);
        assert_eq!(spawned["ok"], true, "{spawned}");
        let args = json!({"worker_id": format!("w{number}")});
        let waited = peer.call(&format!("wait_{number}"), "vibe_wait", args);
        assert_eq!(waited["data"]["status"], "done", "{waited}");
        peer.id()
    };
    // The first one brings the model's client with it.
    let before = resident_kib(worker(1));
    let after = (2..=IDLE).map(&mut worker).last().map(resident_kib).expect("workers");
    let each = after.saturating_sub(before) / (IDLE - 1);
    assert!(each < IDLE_KIB, "{each} KiB for each of {} idle workers", IDLE - 1);
    peer.end();
}

/// What a process has in memory.
fn resident_kib(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

// spec: VIBE-07
#[test]
fn who_goes_on_is_told_once_which_workers_are_gone_and_new_ones_have_new_ids() {
    let spawn = |label: &str| {
        let args = json!({"brief": "stay", "label": label, "tier": "fast"});
        when(&format!("have {label}"), Rule::call("vibe_spawn", args))
    };
    let end = Rule { times: 0, ..Rule::text("It is at work.") };
    let (home, server) = talking(&[], vec![spawn("pears"), spawn("plums"), end]);
    let tell = |args: &[&str]| {
        let before = server.requests().len();
        let (code, _, said) = once(&home, &[&["--vibe", "--worker", AGENT], args].concat());
        assert_eq!(code, Some(0), "{said}");
        server.requests()[before].last()
    };
    tell(&["-p", "have pears"]);
    let told = tell(&["--continue", "-p", "have plums"]);
    assert!(told.contains("w1 (pears) was killed") && told.ends_with("have plums"), "{told}");
    let told = tell(&["--continue", "-p", "and now"]);
    assert!(told.contains("w2 (plums) was killed") && !told.contains("pears"), "{told}");
    let told = tell(&["--continue", "-p", "once more"]);
    assert_eq!(told, "once more");
}

/// What a worker was not let do is missing in the answer as what the model itself was not, and so is one that was killed.
// spec: VIBE-06
#[test]
fn a_prompt_tells_what_workers_were_refused_and_which_were_killed() {
    let spawn = |brief: &str| json!({"brief": brief, "label": "a helper", "tier": "fast"});
    let (home, server) = talking(
        &[],
        vec![
            when("go", Rule::call("vibe_spawn", spawn("write something"))),
            when("write something", Rule::call("write", json!({"path": "b.txt", "content": "x"}))),
            when("no approver", Rule::text("I was not let.")),
            when("is running", Rule::call("vibe_wait", json!({"worker_id": "w1"}))),
            when(
                "I was not let",
                Rule::call("vibe_spawn", json!({"brief": "stay", "label": "idle", "tier": "good"})),
            ),
            Rule { times: 0, ..Rule::text("Done.") },
        ],
    );
    let model =
        format!("provider = \"compatible\"\nname = \"scripted\"\nurl = \"{}/v1\"\n", server.url());
    home.configure(&format!(
        "[model]\n{model}\n[worker.fast]\n{model}\n[worker.good]\ncommand = \"sleep 600\"\n"
    ));
    let (_, out, said) = once(&home, &["--vibe", "-p", "go", "--output", "json"]);
    let result: Value = serde_json::from_str(&out).expect("one object");
    let refused = &result["refused"];
    assert_eq!(refused[0]["tool"], "write", "{result} {said}");
    assert_eq!(refused[0]["by"], "w1 (a helper)");
    assert!(
        said.contains("refused by w1 (\"a helper\"): write path=b.txt (no_approver)"),
        "{said}"
    );
}
