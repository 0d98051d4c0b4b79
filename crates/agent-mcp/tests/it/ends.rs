//! No server outlives its bridge.

use std::time::{Duration, Instant};

use agent_mcp::Servers;
use agent_testkit::mcp::{Does, Flaw, Script, Speaks, tool as listed};
use serde_json::json;

use crate::support::{Bed, call, tool, until};

pub(crate) async fn a_bridge_that_is_dropped_leaves_no_process() {
    let bed = Bed::new();
    let stubborn = Script::new(Speaks::Stateless)
        .tool(listed("t"), [Does::text("x"), Does::Silence])
        .flaw(Flaw::OutlivesItsInput)
        .flaw(Flaw::LeavesAChild);
    let mut old = stubborn.clone();
    old.speaks = Speaks::Initialize;
    let (one, log) = bed.server("one", &stubborn);
    let (two, _) = bed.server("two", &old);
    let bridge = bed.bridge(Servers::default().with("one", one).with("two", two)).await;
    bed.living(4, "two servers with a child each").await;
    // A tool keeps its server, and a call that is under way does not.
    let kept = tool(&bridge, "mcp__one__t");
    call(&bridge, "mcp__one__t", json!({})).await.unwrap();
    let calling = tokio::spawn({
        let bridge = bridge.clone();
        async move { call(&bridge, "mcp__one__t", json!({})).await }
    });
    until("it is sent", || log.of("tools/call").len() == 2).await;
    drop(bridge);
    calling.abort();
    let _aborted = calling.await;
    until("the other server is gone", || bed.processes().len() == 2).await;
    drop(kept);
    bed.is_empty().await;
}

pub(crate) async fn a_server_is_ended_by_the_end_of_its_input_first() {
    let bed = Bed::new();
    let script = Script::new(Speaks::Stateless).tool(listed("t"), []);
    let (polite, _) = bed.server("polite", &script);
    let (stubborn, _) = bed
        .server("stubborn", &script.clone().flaw(Flaw::OutlivesItsInput).flaw(Flaw::LeavesAChild));
    let bridge = bed.bridge(Servers::default().with("polite", polite.clone())).await;
    let begun = Instant::now();
    bridge.close().await;
    assert!(
        begun.elapsed() < Duration::from_millis(900),
        "it was not waited for in vain: {:?}",
        begun.elapsed()
    );
    assert_eq!(bed.processes(), [0; 0]);
    call(&bridge, "mcp__polite__t", json!({})).await.expect("a later call starts it again");
    drop(bridge);
    let bridge =
        bed.bridge(Servers::default().with("polite", polite).with("stubborn", stubborn)).await;
    let begun = Instant::now();
    bridge.close().await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(bed.processes(), [0; 0]);
}

pub(crate) async fn a_connection_that_comes_to_nothing_leaves_no_process() {
    let bed = Bed::new();
    let silent = Script::new(Speaks::Stateless).flaw(Flaw::Silent).flaw(Flaw::LeavesAChild);
    let connecting = bed.one(&silent);
    let started = until("it is started", || bed.processes().len() == 2);
    tokio::select! {
        _ = connecting => panic!("it is silent"),
        () = started => {}
    }
    bed.is_empty().await;
}
