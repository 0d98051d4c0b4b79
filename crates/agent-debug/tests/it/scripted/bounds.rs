use std::time::Duration;

use agent_testkit::dap::{Rule, Script, Step};
use serde_json::{Value, json};

use super::{Fake, lldb};
use crate::support::{block_on, memory_kib};

/// How much memory a flood may cost.
const GROWTH_KIB: u64 = 10 << 10;

/// The variable with which this program is a flood and nothing else, so that its memory is its own.
pub(crate) const FLOOD: &str = "AGENT_DEBUG_FLOOD";

fn deep(count: usize) -> Value {
    let frame = |id: usize| json!({"id": id, "name": format!("f{id}::h0123456789abcdef{}", "x".repeat(1000)), "line": 1});
    let frames: Vec<_> = (0..count).map(frame).collect();
    json!({"stackFrames": frames, "totalFrames": count})
}

// spec: DBG-09
pub(crate) fn a_stack_has_thirty_frames_and_counts_the_rest() {
    block_on(async {
        let script = Script::new("lldb-dap", lldb()).on("stackTrace", [Step::Reply(deep(500))]);
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        let output = fake.checkout.call(fake.launch_args()).await.unwrap();
        assert_eq!(output.data["frames"].as_array().unwrap().len(), 30);
        assert!(output.joined_text().len() <= agent_debug::MAX_RESULT_BYTES);
        let stack = fake.checkout.call(json!({"op": "stack"})).await.unwrap();
        assert_eq!((&stack.data["total"], &stack.data["more"]), (&json!(500), &json!(470)));
        assert!(stack.joined_text().ends_with("… 470 more"));
        assert!(stack.joined_text().len() <= agent_debug::MAX_RESULT_BYTES);
        let name = stack.data["frames"][0]["function"].as_str().unwrap();
        assert!(name.ends_with("more characters"), "{name}");
        assert_eq!(fake.log.last("stackTrace").unwrap()["levels"], 30);
    });
}

// spec: DBG-10
pub(crate) fn children_are_fifty_and_each_value_is_four_hundred_characters() {
    block_on(async {
        let value = "🎉å".repeat(40_000);
        let child = |n: usize| json!({"name": format!("[{n}]"), "value": value, "variablesReference": n + 2});
        let children: Vec<_> = (0..120).map(child).collect();
        let scope = json!({"name": "Locals", "variablesReference": 1, "expensive": false});
        let script = Script::new("lldb-dap", lldb())
            .on("scopes", [Step::Reply(json!({"scopes": [scope]}))])
            .rule(Rule::on("variables").nth(1).then([Step::Reply(json!({"variables": [
                {"name": "all", "value": value, "variablesReference": 2, "indexedVariables": 100_000},
                {"name": "len()", "value": "5"},
            ]}))]))
            .on("variables", [Step::Reply(json!({"variables": children}))]);
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        let stop = fake.launch().await;
        let scopes = json!({"op": "scopes", "frame_id": stop["frame"]["id"]});
        let reference = fake.checkout.data(scopes).await["scopes"][0]["reference"].clone();
        let outer = fake.checkout.data(json!({"op": "variables", "reference": reference})).await;
        assert_eq!(outer["variables"].as_array().unwrap().len(), 1);
        let shown = outer["variables"][0]["value"].as_str().unwrap();
        assert_eq!(shown.split('…').next().unwrap().chars().count(), 400);
        let reference = outer["variables"][0]["reference"].clone();
        let inner =
            fake.checkout.call(json!({"op": "variables", "reference": reference})).await.unwrap();
        assert_eq!(inner.data["variables"].as_array().unwrap().len(), 50);
        assert_eq!(inner.data["more"], 99_950);
        assert!(inner.joined_text().len() <= agent_debug::MAX_RESULT_BYTES);
        assert!(inner.joined_text().contains("[49] = 🎉å"));
        let asked = fake.log.last("variables").unwrap();
        assert_eq!((&asked["start"], &asked["count"]), (&json!(0), &json!(51)));
    });
}

// spec: DBG-12
pub(crate) fn output_is_kept_to_its_bound_and_the_rest_is_counted() {
    block_on(async {
        let flood = Step::Flood { events: 1_000, bytes: 1_000 };
        let script = Script::new("lldb-dap", lldb())
            .rule(Rule::on("stackTrace").nth(1).then([flood, Step::Default]));
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        let stop = fake.launch().await;
        assert!(stop["output"].as_str().unwrap().len() < 5_000);
        let output = fake.checkout.call(json!({"op": "output"})).await.unwrap();
        let total = 1_000_000 + "line 3\n".len();
        assert_eq!(output.data["total"], total);
        assert_eq!(output.data["dropped"], total - agent_debug::MAX_OUTPUT_BYTES);
        assert_eq!(output.data["output"].as_str().unwrap().len(), agent_debug::MAX_OUTPUT_SHOWN);
        let head = format!(
            "… {} bytes earlier, {} of them dropped …",
            total - (16 << 10),
            total - (256 << 10)
        );
        assert!(output.joined_text().starts_with(&head), "{}", &output.joined_text()[..80]);
    });
}

/// 18 MB in 200,000 events.
pub(crate) fn a_flood_costs_little_and_loses_no_stop() {
    let flooded = std::process::Command::new(std::env::current_exe().unwrap())
        .env(FLOOD, "1")
        .output()
        .unwrap();
    assert!(flooded.status.success(), "{}", String::from_utf8_lossy(&flooded.stderr));
}

/// The flood, in a process of its own.
pub(crate) fn flood() {
    block_on(async {
        let flood = |events, bytes| Step::Flood { events, bytes };
        let script = Script::new("lldb-dap", lldb())
            .rule(Rule::on("next").nth(1).then([flood(20_000, 90), Step::Default]))
            .rule(Rule::on("next").nth(2).then([flood(180_000, 90), Step::Default]));
        let fake = Fake::new(script);
        fake.breakpoints(&[3]).await;
        fake.launch().await;
        let slow = json!({"op": "step_over", "timeout_ms": 120_000});
        // The first part warms up what the process keeps anyway.
        assert_eq!(fake.checkout.data(slow.clone()).await["frame"]["line"], 4);
        let before = memory_kib();
        let stop = fake.checkout.data(slow).await;
        assert_eq!((&stop["state"], &stop["frame"]["line"]), (&json!("stopped"), &json!(6)));
        let grown = memory_kib().saturating_sub(before);
        assert!(grown < GROWTH_KIB, "the flood cost {grown} KiB");
        assert_eq!(fake.op("output").await["total"], 200_000 * 90 + 3 * "line 3\n".len());
        tokio::time::sleep(Duration::ZERO).await;
    });
}
