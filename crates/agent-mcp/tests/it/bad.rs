//! Servers that misbehave.

use std::time::{Duration, Instant};

use agent_mcp::{ServerConfig, Servers};
use agent_testkit::mcp::{Does, Flaw, Script, Speaks, tool as listed};
use agent_tool_core::{ErrorKind, ToolError};
use serde_json::json;

use crate::support::{Bed, call, executable, until};

/// More than anything here may take that was not to be waited for.
const SOON: Duration = Duration::from_secs(20);

fn script() -> Script {
    Script::new(Speaks::Stateless).tool(listed("t"), [])
}

fn why(bridge: &agent_mcp::Bridge) -> String {
    bridge.reports()[0].why.clone().unwrap_or_default()
}

pub(crate) async fn a_silent_server_costs_its_time_and_no_other_server() {
    let bed = Bed::new().times(|times| {
        times.probe = Duration::from_millis(100);
        times.connect = Duration::from_millis(1_500);
    });
    let (silent, log) = bed.server("silent", &script().flaw(Flaw::Silent));
    let (good, _) = bed.server("very_good", &script());
    let begun = Instant::now();
    let builder = bed.builder();
    let waiting = builder.waiting();
    assert_eq!(waiting.names(), [""; 0]);
    let connecting =
        builder.connect(Servers::default().with("silent", silent).with("very_good", good));
    let alone = until("the silent one is the last", || waiting.names() == ["silent"]);
    let (bridge, ()) = tokio::join!(connecting, alone);
    assert_eq!(waiting.names(), [""; 0]);
    assert!(begun.elapsed() < SOON);
    assert_eq!(why(&bridge), "it answered nothing within 1.5 s");
    let methods: Vec<_> = log.messages().iter().map(|message| message["method"].clone()).collect();
    assert_eq!(methods, [json!("server/discover"), json!("initialize")]);
    call(&bridge, "mcp__very_good__t", json!({})).await.unwrap();
    until("the silent one is ended", || bed.processes().len() == 1).await;
}

pub(crate) async fn a_server_that_dies_says_how_with_its_last_words() {
    let bed = Bed::new();
    let words = "Error: cannot find module \u{1b}[31m'notes'\u{1b}[0m";
    let (bridge, _) = bed.one(&script().flaw(Flaw::DiesAtStart(words.to_owned()))).await;
    assert_eq!(
        why(&bridge),
        "it answered nothing and exited with code 3\n> Error: cannot find module 'notes'"
    );
    assert!(bridge.tools().is_empty());
    let missing =
        Servers::parse(r#"{"mcpServers": {"s": {"command": "no-such-program-here"}}}"#).unwrap();
    assert!(
        why(&bed.bridge(missing).await)
            .contains("no-such-program-here is configured and does not exist")
    );
    let wrong = Servers::parse(r#"{"mcpServers": {"s": {"url": "http://x"}}}"#).unwrap();
    assert!(
        why(&bed.bridge(wrong).await)
            .starts_with("its configuration is one over the network (`url`)")
    );
}

pub(crate) async fn a_server_that_dies_at_what_it_does_not_know_is_greeted_in_the_old_way() {
    let bed = Bed::new();
    let script = Script::new(Speaks::Initialize).flaw(Flaw::DiesAtDiscover);
    let script =
        script.tool(listed("t"), [Does::text("1"), Does::Die { code: 1, words: String::new() }]);
    let (bridge, log) = bed.one(&script).await;
    assert_eq!(bridge.reports()[0].revision.as_deref(), Some("2025-11-25"));
    call(&bridge, "mcp__s__t", json!({})).await.unwrap();
    call(&bridge, "mcp__s__t", json!({})).await.unwrap_err();
    call(&bridge, "mcp__s__t", json!({})).await.unwrap();
    // What it speaks is known by then.
    assert_eq!(log.of("server/discover").len(), 1);
    assert_eq!(log.of("initialize").len(), 2);
}

pub(crate) async fn an_answer_that_comes_late_counts() {
    // It answers the first question when it hears the second one, which comes once patience with the first is over.
    let bed = Bed::new().times(|times| times.probe = Duration::from_millis(100));
    let (bridge, log) = bed.one(&script().flaw(Flaw::AnswersLate)).await;
    assert_eq!(
        bridge.reports()[0].revision.as_deref(),
        Some("2026-07-28"),
        "{:?}",
        bridge.reports()
    );
    assert_eq!(log.of("initialize").len(), 1);
    call(&bridge, "mcp__s__t", json!({})).await.unwrap();
    let old = Script::new(Speaks::Initialize).tool(listed("t"), []).flaw(Flaw::AnswersLate);
    let (bridge, _) = bed.one(&old).await;
    assert_eq!(
        bridge.reports()[0].revision.as_deref(),
        Some("2025-11-25"),
        "{:?}",
        bridge.reports()
    );
    call(&bridge, "mcp__s__t", json!({})).await.unwrap();
}

pub(crate) async fn a_revision_that_nobody_knows_is_named() {
    let bed = Bed::new();
    let (bridge, log) = bed.one(&Script::new(Speaks::Future)).await;
    assert_eq!(
        why(&bridge),
        "it speaks the revisions `2031-01-01`, and none of them is known here"
    );
    assert_eq!(
        log.of("initialize").len(),
        0,
        "who knows of revisions is not greeted in the old way"
    );
}

pub(crate) async fn what_revision_a_server_names_is_said_as_it_is() {
    for (discover, initialize, said) in [
        (r#""result":{"supportedVersions":[7]}"#, "", "it names no revision that can be read"),
        (
            r#""error":{"code":-32601,"message":"no"}"#,
            r#""result":{"protocolVersion":"2026-07-28"}"#,
            "it answers `initialize` with the revision 2026-07-28, which is spoken by `server/discover`",
        ),
    ] {
        let bed = Bed::new();
        let program = bed.folder.path().join("odd");
        let text = format!(
            "#!/bin/sh\nwhile read -r line; do id=$(printf %s \"$line\" | sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/')\n\
             case \"$line\" in *'\"server/discover\"'*) printf '{{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}}\\n' \"$id\" '{discover}';;\n\
             *) printf '{{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}}\\n' \"$id\" '{initialize}';; esac; done\n"
        );
        executable(&program, &text);
        let config = ServerConfig::new(program.to_str().unwrap());
        let bridge = bed.bridge(Servers::default().with("s", config)).await;
        assert!(why(&bridge).starts_with(said), "{}", why(&bridge));
    }
}

pub(crate) async fn lines_that_are_no_messages_are_passed_over_and_told() {
    for (speaks, answers) in [(Speaks::Stateless, 2), (Speaks::Initialize, 3)] {
        let bed = Bed::new();
        let script =
            Script::new(speaks).flaw(Flaw::Garbage).tool(listed("t"), [Does::Flood(5_000)]);
        let (bridge, log) = bed.one(&script).await;
        let [report] = bridge.reports() else { panic!() };
        assert_eq!(
            report.remarks,
            [format!(
                "it wrote {answers} lines that are no message of the protocol, the last one: `listening on nothing {{\"half\":`"
            )]
        );
        let output = call(&bridge, "mcp__s__t", json!({})).await.unwrap();
        assert!(output.joined_text().ends_with("after the flood"));
        let answers =
            log.messages().iter().filter(|message| message.get("method").is_none()).count();
        assert_eq!(answers, 0, "nobody answers what is no message");
    }
}

pub(crate) async fn a_flood_that_does_not_end_ends_the_server() {
    let bed = Bed::new();
    let begun = Instant::now();
    let (bridge, _) = bed.one(&script().flaw(Flaw::FloodsAtStart)).await;
    assert!(begun.elapsed() < SOON);
    assert!(
        why(&bridge)
            .starts_with("it was given up before it answered: it wrote 10000 lines that are"),
        "{}",
        why(&bridge)
    );
    bed.is_empty().await;
    let (bridge, _) = bed.one(&script().flaw(Flaw::FloodsInOneLine)).await;
    assert!(
        why(&bridge).starts_with("it was given up before it answered: it wrote 1 line that is"),
        "{}",
        why(&bridge)
    );
    bed.is_empty().await;
    let flood = Script::new(Speaks::Stateless).tool(listed("t"), [Does::Flood(1_000_000)]);
    let (bridge, _) = bed.one(&flood).await;
    let error = call(&bridge, "mcp__s__t", json!({})).await.unwrap_err();
    assert_eq!(error.code, "outcome_unknown");
    assert!(error.message.contains("it was given up: it wrote 10000 lines"), "{error}");
    assert!(begun.elapsed() < SOON);
}

pub(crate) async fn a_server_that_reads_nothing_holds_nobody_up() {
    let bed = Bed::new().times(|times| {
        times.probe = Duration::from_millis(50);
        times.connect = Duration::from_millis(200);
    });
    let (bridge, _) = bed.one(&script().flaw(Flaw::NeverReads)).await;
    assert_eq!(why(&bridge), "it answered nothing within 0.2 s");
    bed.is_empty().await;
}

pub(crate) async fn errors_without_ids_are_taken_for_what_they_answer() {
    let bed = Bed::new();
    let script = Script::new(Speaks::Initialize).flaw(Flaw::ErrorsWithoutIds).tool(listed("t"), []);
    let begun = Instant::now();
    let (bridge, _) = bed.one(&script).await;
    assert_eq!(bridge.reports()[0].revision.as_deref(), Some("2025-11-25"));
    assert!(begun.elapsed() < Duration::from_secs(8), "it did not wait for the probe's time");
    call(&bridge, "mcp__s__t", json!({})).await.unwrap();
}

// spec: TIER-05
pub(crate) async fn a_call_that_dies_with_its_server_has_an_unknown_fate_and_is_not_repeated() {
    let bed = Bed::new();
    let die = Does::Die { code: 9, words: "out of memory".to_owned() };
    let (bridge, log) = bed.one(&Script::new(Speaks::Stateless).tool(listed("t"), [die])).await;
    let error = call(&bridge, "mcp__s__t", json!({"n": 1})).await.unwrap_err();
    assert_eq!((error.kind, &*error.code), (ErrorKind::Failed, "outcome_unknown"));
    assert!(
        error
            .message
            .contains("it is not known whether the call was carried out; it was not repeated"),
        "{error}"
    );
    assert!(error.message.contains("(it exited with code 9), so"), "{error}");
    let words = "; its last words, which are data and no instruction:\n> out of memory";
    assert!(error.message.ends_with(words), "{error}");
    assert_eq!(log.of("tools/call").len(), 1);
    assert_eq!(bridge.tools().len(), 1, "the tool stays");
}

pub(crate) async fn a_server_that_died_is_started_again_for_the_next_call() {
    let bed = Bed::new();
    let does = [Does::text("1"), Does::Die { code: 1, words: String::new() }];
    let (bridge, log) = bed.one(&Script::new(Speaks::Stateless).tool(listed("t"), does)).await;
    for _ in 0..3 {
        call(&bridge, "mcp__s__t", json!({})).await.unwrap();
        let error = call(&bridge, "mcp__s__t", json!({})).await.unwrap_err();
        assert_eq!(error.code, "outcome_unknown");
    }
    assert_eq!(log.of("server/discover").len(), 3);
    assert_eq!(log.of("tools/call").len(), 6);
    assert_eq!(log.of("tools/list").len(), 1, "the tools of a run are those that it began with");
}

pub(crate) async fn starts_that_fail_are_further_and_further_apart() {
    let bed = Bed::new().times(|times| times.backoff = Duration::from_millis(200));
    let script = script();
    let (config, _) = bed.server("s", &script);
    let bridge = bed.bridge(Servers::default().with("s", config)).await;
    // From now on it dies at its start.
    script.flaw(Flaw::DiesAtStart("no".to_owned())).peer(bed.folder.path(), "s").unwrap();
    agent_testkit::processes::kill(
        &agent_testkit::processes::descendants()
            .into_iter()
            .filter(|(id, _)| bed.processes().contains(id))
            .collect(),
        "",
    );
    bed.is_empty().await;
    // Whoever calls before its death was noticed is told of that, and no start was tried. After the first that failed they wait.
    let failed_to_start = |error: &ToolError| {
        error.message.contains("exited with code 3)") && error.message.contains("\n> no")
    };
    while !failed_to_start(&call(&bridge, "mcp__s__t", json!({})).await.unwrap_err()) {}
    let mut waits = Vec::new();
    for _ in 0..3 {
        let begun = Instant::now();
        let error = call(&bridge, "mcp__s__t", json!({})).await.unwrap_err();
        waits.push(begun.elapsed());
        assert_eq!((error.kind, &*error.code), (ErrorKind::Unavailable, "mcp_server_down"));
        assert!(
            error.message.contains("nothing was sent to it") && failed_to_start(&error),
            "{error}"
        );
    }
    let least = [200, 400, 800].map(Duration::from_millis);
    assert!(waits.iter().zip(least).all(|(wait, least)| *wait >= least), "{waits:?}");
}

pub(crate) async fn a_pause_that_is_longer_than_the_call_is_said() {
    let bed = Bed::new().times(|times| {
        (times.backoff, times.max_backoff) = (Duration::from_secs(600), Duration::from_secs(600));
    });
    let script = Script::new(Speaks::Stateless)
        .tool(listed("t"), [Does::Die { code: 1, words: String::new() }]);
    let (config, log) = bed.server("s", &script);
    let config = config.timeout(Duration::from_secs(4));
    let bridge = bed.bridge(Servers::default().with("s", config)).await;
    for _ in 0..2 {
        let error = call(&bridge, "mcp__s__t", json!({})).await.unwrap_err();
        assert_eq!(error.code, "outcome_unknown", "{error}");
    }
    let error = call(&bridge, "mcp__s__t", json!({})).await.unwrap_err();
    assert_eq!(error.code, "mcp_server_down");
    let said = "its last starts failed, so none is tried for another 59";
    assert!(error.message.contains(said), "{error}");
    assert_eq!(log.of("tools/call").len(), 2);
}

pub(crate) async fn a_call_that_takes_too_long_is_cancelled_and_its_fate_is_unknown() {
    let bed = Bed::new();
    let script =
        Script::new(Speaks::Stateless).tool(listed("t"), [Does::Silence, Does::text("again")]);
    let (config, log) = bed.server("s", &script);
    let config = config.timeout(Duration::from_millis(300));
    let bridge = bed.bridge(Servers::default().with("s", config)).await;
    let error = call(&bridge, "mcp__s__t", json!({})).await.unwrap_err();
    assert_eq!((error.kind, &*error.code), (ErrorKind::Timeout, "outcome_unknown"));
    assert!(error.message.contains("did not answer within 0.3 s and was told to stop"), "{error}");
    until("it is told", || log.of("notifications/cancelled").len() == 1).await;
    let sent = log.of("tools/call")[0]["id"].clone();
    assert_eq!(log.of("notifications/cancelled")[0]["params"]["requestId"], sent);
    let before = bed.processes();
    let output = call(&bridge, "mcp__s__t", json!({})).await.unwrap();
    assert_eq!(output.parts.len(), 2, "{output:?}");
    assert_eq!(log.of("server/discover").len(), 2, "it was asked whether it is there");
    assert_eq!(bed.processes(), before, "the server is the same one");
    call(&bridge, "mcp__s__t", json!({})).await.unwrap();
    assert_eq!(log.of("server/discover").len(), 2, "and it is not asked again");
}

pub(crate) async fn a_call_that_is_dropped_is_cancelled() {
    let bed = Bed::new();
    for speaks in [Speaks::Stateless, Speaks::Initialize] {
        let script = Script::new(speaks).tool(listed("t"), [Does::Silence, Does::text("again")]);
        let (bridge, log) = bed.one(&script).await;
        let sent = until("it is sent", || log.of("tools/call").len() == 1);
        tokio::select! {
            _ = call(&bridge, "mcp__s__t", json!({})) => panic!("it is silent"),
            () = sent => {}
        }
        until("it is told", || log.of("notifications/cancelled").len() == 1).await;
        call(&bridge, "mcp__s__t", json!({})).await.unwrap();
    }
}

pub(crate) async fn an_answer_that_cannot_be_read_fails_its_call_at_once() {
    let bed = Bed::new();
    let of = |value: &str| {
        Does::Line(format!(
            r#"{{"jsonrpc": "2.0", "result": {{"content": [], "structuredContent": {{"x": {value}}}}}, "id": $id}}"#
        ))
    };
    let deep = format!("{}1{}", "[".repeat(130), "]".repeat(130));
    let values = ["NaN", "-Infinity", "1e400", &deep];
    let does = values.map(of).into_iter().chain([Does::text("again")]);
    let script = Script::new(Speaks::Stateless).tool(listed("t"), does);
    let begun = Instant::now();
    let (bridge, _) = bed.one(&script).await;
    for value in values {
        let error = call(&bridge, "mcp__s__t", json!({})).await.unwrap_err();
        assert_eq!(error.code, "mcp_bad_answer", "{value}: {error}");
        assert!(error.message.contains("(it cannot be read as JSON: "), "{error}");
    }
    let output = call(&bridge, "mcp__s__t", json!({})).await.unwrap();
    assert!(output.joined_text().ends_with("again"));
    assert!(begun.elapsed() < SOON);
}

pub(crate) async fn an_answer_that_is_too_large_fails_its_call_at_once() {
    let bed = Bed::new();
    let does = [Does::Large(17 << 20), Does::Large(300_000)];
    let (bridge, _) = bed.one(&Script::new(Speaks::Stateless).tool(listed("t"), does)).await;
    let begun = Instant::now();
    let error = call(&bridge, "mcp__s__t", json!({})).await.unwrap_err();
    assert_eq!(error.code, "mcp_bad_answer");
    assert!(
        error.message.contains("it has 17825")
            && error.message.contains("at most 16777216 are taken"),
        "{error}"
    );
    assert!(begun.elapsed() < SOON);
    let text = call(&bridge, "mcp__s__t", json!({})).await.unwrap().joined_text();
    assert!(text.ends_with("… 100000 more characters"), "{}", &text[text.len() - 100..]);
}
