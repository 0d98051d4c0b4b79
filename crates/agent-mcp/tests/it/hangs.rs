//! Servers that live and answer nothing any more.

use std::time::Duration;

use agent_mcp::{Bridge, ServerConfig, Servers};
use agent_testkit::mcp::{Does, Flaw, Log, Script, Speaks, tool as listed};
use agent_tool_core::{ErrorKind, Part, ToolOutput};
use serde_json::json;

use crate::support::{Bed, call, executable, until};

/// A server with a tool in which it hangs, and one that answers.
async fn hanging(bed: &Bed, speaks: Speaks, limit: Duration) -> (Bridge, Log) {
    let script = Script::new(speaks)
        .tool(listed("hangs"), [Does::Hang])
        .tool(listed("tells"), [Does::HangAndTell])
        .tool(listed("good"), [])
        .flaw(Flaw::LeavesAChild);
    let (config, log) = bed.server("s", &script);
    (bed.bridge(Servers::default().with("s", config.timeout(limit))).await, log)
}

fn first(output: &ToolOutput) -> &str {
    match &output.parts[0] {
        Part::Text { text } => text,
        other => panic!("{other:?}"),
    }
}

// spec: TIER-05
pub(crate) async fn a_server_that_hangs_is_ended_and_started_again_for_the_next_call() {
    for speaks in [Speaks::Stateless, Speaks::Initialize] {
        let bed = Bed::new().times(|times| times.hung = Duration::from_millis(200));
        let (bridge, log) = hanging(&bed, speaks, Duration::from_secs(4)).await;
        let before = bed.living(2, "the server and its child").await;
        let error = call(&bridge, "mcp__s__hangs", json!({})).await.unwrap_err();
        assert_eq!((error.kind, &*error.code), (ErrorKind::Timeout, "outcome_unknown"));
        assert_eq!(bed.processes(), before, "nothing is ended before the next call");
        let output = call(&bridge, "mcp__s__good", json!({"n": 1})).await.unwrap();
        assert_eq!(output.data, json!({"n": 1}));
        let said = first(&output);
        assert!(
            said.contains("answered nothing for 0.2 s when it was asked whether it is there")
                && said.contains("taken for hung, ended with all that it had started")
                && said.contains("what the earlier call did is still not known"),
            "{said}"
        );
        until("the one that hung is gone", || {
            bed.processes().iter().all(|id| !before.contains(id))
        })
        .await;
        bed.living(2, "a new one with its child").await;
        assert_eq!(log.of("tools/call").len(), 2, "nothing was repeated");
        let output = call(&bridge, "mcp__s__good", json!({})).await.unwrap();
        assert_eq!(output.parts.len(), 2, "it is told once: {output:?}");
    }
}

pub(crate) async fn a_server_that_is_gone_after_its_list_is_found_out_by_who_asks() {
    for speaks in [Speaks::Stateless, Speaks::Initialize] {
        let bed = Bed::new().times(|times| times.hung = Duration::from_millis(500));
        let script = Script::new(speaks).tool(listed("t"), []);
        let servers =
            [("dies", Some(Flaw::DiesListed)), ("good", None), ("hangs", Some(Flaw::SilentListed))]
                .into_iter()
                .fold(Servers::default(), |servers, (name, flaw)| {
                    let script = flaw.into_iter().fold(script.clone(), Script::flaw);
                    servers.with(name, bed.server(name, &script).0)
                });
        let bridge = bed.bridge(servers).await;
        assert_eq!(bridge.tools().len(), 3, "{:?}", bridge.reports());
        let [dies, good, hangs] = &bridge.probe().await[..] else { panic!("three servers") };
        assert_eq!(good.why, None);
        for (report, how) in [
            (dies, "it listed its tools, and then it exited with code 9; a call starts it again"),
            (
                hangs,
                "it listed its tools, and then it answered nothing for 0.5 s when it was asked whether it is there; a call starts it again",
            ),
        ] {
            assert_eq!((report.why.as_deref(), report.tools.len()), (Some(how), 1));
        }
    }
}

/// Progress of a call that was given up is no answer: a thread of its own may tell it.
pub(crate) async fn what_a_server_tells_while_it_hangs_does_not_save_it() {
    let bed = Bed::new().times(|times| times.hung = Duration::from_millis(300));
    let (bridge, _) = hanging(&bed, Speaks::Stateless, Duration::from_secs(4)).await;
    call(&bridge, "mcp__s__tells", json!({})).await.unwrap_err();
    let output = call(&bridge, "mcp__s__good", json!({})).await.unwrap();
    assert!(first(&output).contains("taken for hung"), "{output:?}");
}

pub(crate) async fn a_call_with_less_time_than_the_question_says_so_and_a_later_one_gets_through() {
    let bed = Bed::new().times(|times| times.hung = Duration::from_secs(3));
    let (bridge, log) = hanging(&bed, Speaks::Stateless, Duration::from_secs(2)).await;
    call(&bridge, "mcp__s__hangs", json!({})).await.unwrap_err();
    let error = call(&bridge, "mcp__s__good", json!({})).await.unwrap_err();
    assert_eq!(error.code, "mcp_server_down");
    let said = "it was asked whether it is there; it is ended once it answered nothing for 3 s";
    assert!(error.message.contains(said) && error.message.contains("nothing was sent"), "{error}");
    let mut tries = 0;
    while let Err(error) = call(&bridge, "mcp__s__good", json!({})).await {
        assert_eq!(error.code, "mcp_server_down");
        tries += 1;
        assert!(tries < 20, "{error}");
    }
    assert_eq!(log.of("tools/call").len(), 2);
}

pub(crate) async fn a_call_whose_time_is_not_over_is_not_ended_for_another_one() {
    let bed = Bed::new().times(|times| times.hung = Duration::from_millis(100));
    let (bridge, log) = hanging(&bed, Speaks::Initialize, Duration::from_secs(4)).await;
    let beside = async {
        until("the first one is sent", || log.of("tools/call").len() == 1).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        call(&bridge, "mcp__s__good", json!({})).await.unwrap_err()
    };
    let next = async {
        call(&bridge, "mcp__s__hangs", json!({})).await.unwrap_err();
        call(&bridge, "mcp__s__good", json!({"n": 1})).await
    };
    let (beside, next) = tokio::join!(beside, next);
    // It had all of its time, and did not go down with a server that was ended for another call.
    assert_eq!((beside.kind, &*beside.code), (ErrorKind::Timeout, "outcome_unknown"));
    assert!(beside.message.contains("did not answer within 4 s"), "{beside}");
    assert_eq!(next.unwrap().data, json!({"n": 1}));
}

/// Answers everything but a ping and `slow`, and `late` after a while.
const ANSWERS_NO_PING: &str = r#"#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/')
  case "$line" in
    *server/discover*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"initialize"'*) answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *tools/list*) answer "$id" '{"tools":[{"name":"slow","inputSchema":{"type":"object"}},{"name":"late","inputSchema":{"type":"object"}},{"name":"good","inputSchema":{"type":"object"}}]}' ;;
    *'"slow"'*|*'"ping"'*) ;;
    *'"late"'*) (sleep 3.5; answer "$id" '{"content":[{"type":"text","text":"late"}]}') & ;;
    *'"good"'*) answer "$id" '{"content":[{"type":"text","text":"good"}]}' ;;
  esac
done
"#;

pub(crate) async fn a_server_that_answers_another_call_meanwhile_is_not_hung() {
    let bed = Bed::new().times(|times| times.hung = Duration::from_millis(300));
    let program = bed.folder.path().join("no-ping");
    executable(&program, ANSWERS_NO_PING);
    let config = ServerConfig::new(program.to_str().unwrap()).timeout(Duration::from_secs(4));
    let bridge = bed.bridge(Servers::default().with("s", config)).await;
    let late = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        call(&bridge, "mcp__s__late", json!({})).await
    };
    let next = async {
        call(&bridge, "mcp__s__slow", json!({})).await.unwrap_err();
        call(&bridge, "mcp__s__good", json!({})).await.unwrap()
    };
    let (late, next) = tokio::join!(late, next);
    assert_eq!(late.unwrap().parts[1], Part::text("late"));
    assert_eq!(next.parts[1], Part::text("good"), "it answered, so it was not ended: {next:?}");
}
