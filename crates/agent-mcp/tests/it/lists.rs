//! Lists of tools, and what is wrong with some of them.

use std::time::{Duration, Instant};

use agent_mcp::Servers;
use agent_testkit::mcp::{Pages, Script, Speaks, tool as listed};
use serde_json::json;

use crate::support::{Bed, call};

fn names(bridge: &agent_mcp::Bridge) -> Vec<String> {
    bridge.tools().iter().map(|tool| tool.spec().name.clone()).collect()
}

pub(crate) async fn one_bad_tool_is_left_out_and_not_the_server() {
    let tools = [
        listed("good"),
        json!({"name": "no_schema"}),
        json!({"name": "list_schema", "inputSchema": []}),
        json!({"name": 7, "inputSchema": {"type": "object"}}),
        json!("no object"),
        json!({"name": "wide", "inputSchema": {"type": "object", "properties": {"a b": {}}}}),
        json!({"name": "x".repeat(200), "inputSchema": {"type": "object"}}),
        json!({"name": "huge", "inputSchema": {"type": "object"}, "description": "x".repeat(100_000)}),
        listed("good"),
        listed("also.good"),
    ];
    for speaks in [Speaks::Stateless, Speaks::Initialize] {
        let bed = Bed::new();
        let script =
            tools.iter().fold(Script::new(speaks), |script, tool| script.tool(tool.clone(), []));
        let (bridge, _) = bed.one(&script).await;
        assert_eq!(names(&bridge), ["mcp__s__good", "mcp__s__also_good"]);
        let remarks = bridge.reports()[0].remarks.clone();
        let expected = [
            "`no_schema` was left out: it has no input schema",
            "`list_schema` was left out: its input schema is not that of an object",
            "`wide` was left out: its argument `a b` has a name that models cannot use",
            "was left out: its name has more than 128 characters",
            "`huge` was left out: its listing has 100",
            "it lists `good` more than once; the first one counts",
            "2 tools were left out: they have no name",
        ];
        assert_eq!(remarks.len(), expected.len(), "{remarks:#?}");
        for (remark, expected) in remarks.iter().zip(expected) {
            assert!(remark.contains(expected), "{remark}");
        }
        assert_eq!(
            call(&bridge, "mcp__s__also_good", json!({"a": 1})).await.unwrap().data,
            json!({"a": 1})
        );
    }
}

pub(crate) async fn tools_with_the_same_name_on_two_servers_are_told_apart() {
    let bed = Bed::new();
    let (one, _) = bed.server("a", &Script::new(Speaks::Stateless).tool(listed("b__c"), []));
    let (two, _) = bed.server("a__b", &Script::new(Speaks::Stateless).tool(listed("c"), []));
    let bridge = bed.bridge(Servers::default().with("a", one).with("a__b", two)).await;
    let names = names(&bridge);
    assert!(names.iter().all(|name| name.starts_with("mcp__a__b__c_")), "{names:?}");
    assert_ne!(names[0], names[1]);
    for (name, server) in names.iter().zip(["a", "a__b"]) {
        let output = call(&bridge, name, json!({})).await.unwrap();
        assert!(output.joined_text().contains(&format!("the MCP server {server} returned")));
    }
}

pub(crate) async fn a_tool_that_takes_the_name_of_another_one_is_left_out_and_named() {
    let bed = Bed::new();
    let list = |names: &[&str]| {
        names
            .iter()
            .fold(Script::new(Speaks::Stateless), |script, name| script.tool(listed(name), []))
    };
    let (one, _) = bed.server("one", &list(&["b__c"]));
    let (two, _) = bed.server("two", &list(&["c", "c_01b8a75b", "other"]));
    let bridge = bed.bridge(Servers::default().with("a", one).with("a__b", two)).await;
    let names = names(&bridge);
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!((&*names[0], &*names[2]), ("mcp__a__b__c_01b8a75b", "mcp__a__b__other"));
    assert_eq!(bridge.reports()[0].remarks, [""; 0]);
    assert_eq!(
        bridge.reports()[1].remarks,
        [
            "`c_01b8a75b` was left out: in the run it would be mcp__a__b__c_01b8a75b, and so is `b__c` of the MCP server a called; \
          give one of the servers another name, or have the tool renamed"
        ]
    );
    for name in &names {
        call(&bridge, name, json!({})).await.unwrap();
    }
}

pub(crate) async fn a_list_goes_over_its_pages() {
    let bed = Bed::new();
    let script =
        Script::new(Speaks::Stateless).tool(listed("a"), []).page().page().tool(listed("b"), []);
    let (bridge, log) = bed.one(&script).await;
    assert_eq!(names(&bridge), ["mcp__s__a", "mcp__s__b"]);
    let cursors: Vec<_> =
        log.of("tools/list").iter().map(|asked| asked["params"]["cursor"].clone()).collect();
    assert_eq!(cursors, [json!(null), json!("1"), json!("2")]);
}

pub(crate) async fn a_list_without_end_is_cut_and_that_is_said() {
    let bed = Bed::new();
    let script = Script::new(Speaks::Stateless).tool(listed("a"), []).page().tool(listed("b"), []);
    for (paging, remark, pages) in [
        (Pages::Round, "its list comes round again, so it was cut there", 3),
        (Pages::Endless, "its list has more than 50 pages; what comes after them was left out", 50),
    ] {
        let (bridge, log) = bed.one(&script.clone().paging(paging)).await;
        assert_eq!(names(&bridge), ["mcp__s__a", "mcp__s__b"]);
        let remarks = &bridge.reports()[0].remarks;
        assert_eq!(remarks.last().map(String::as_str), Some(remark), "{remarks:?}");
        assert_eq!(log.of("tools/list").len(), pages);
    }
    let many = (0..250).fold(Script::new(Speaks::Initialize), |script, n| {
        script.tool(listed(&format!("t{n}")), [])
    });
    let (bridge, _) = bed.one(&many).await;
    assert_eq!(bridge.tools().len(), 200);
    assert_eq!(
        bridge.reports()[0].remarks,
        ["it has more than 200 tools; those after them were left out"]
    );
}

pub(crate) async fn a_page_that_never_comes_cuts_the_list() {
    let bed = Bed::new().times(|times| times.list = Duration::from_millis(300));
    let script =
        Script::new(Speaks::Stateless).tool(listed("a"), []).page().paging(Pages::SecondIsSilent);
    let begun = Instant::now();
    let (bridge, _) = bed.one(&script).await;
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(names(&bridge), ["mcp__s__a"]);
    assert!(
        bridge.reports()[0].remarks[0].starts_with("its list was cut off after page 1: it"),
        "{:?}",
        bridge.reports()
    );
    call(&bridge, "mcp__s__a", json!({})).await.unwrap();
}
