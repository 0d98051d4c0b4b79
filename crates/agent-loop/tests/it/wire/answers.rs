use std::sync::Arc;

use agent_loop::{Agent, Conversation, Outcome, TurnEvent, Unwatched};
use agent_testkit::model::{Call, Format, Received, Rule, Usage};
use agent_tiers::{Registry, Run, Surface};
use agent_tool_core::{
    BoxFuture, Context, Limits, Part, Tier, Tool, ToolOutput, ToolResult, ToolSpec,
};
use serde_json::{Value, json};

use super::peer::{Peer, peer, remote};
use crate::support::{end, told};

/// Text in pieces, as a host is given it.
fn pieces(events: &[TurnEvent]) -> Vec<String> {
    let pieces = events.iter().filter_map(|event| match event {
        TurnEvent::Text(text) => Some(text.clone()),
        _ => None,
    });
    pieces.collect()
}

pub(crate) async fn text_comes_in_pieces(format: Format) {
    let mut rule = Rule::text("Good ");
    rule.text.extend(["mor".into(), "ning,\n\n".into(), " \"Жора\" 😀".into()]);
    let mut peer = peer(format, [rule]);
    let (turn, events) = peer.ask("hello").await;
    assert!(turn.end.is_done(), "{:?}", turn.end);
    assert_eq!(turn.text, "Good morning,\n\n \"Жора\" 😀");
    assert_eq!(pieces(&events), ["Good ", "mor", "ning,\n\n", " \"Жора\" 😀"]);
    let request = &peer.requests()[0];
    assert_eq!((request.system().as_str(), request.last().as_str()), ("Be brief.", "hello"));
    assert_eq!(request.tools(), ["read", "broken"]);
    assert_eq!(request.body["stream"], true);
}

pub(crate) async fn calls_come_in_fragments_and_their_results_go_back_paired(format: Format) {
    let path = "a/long/path/of/many/letters \"with\" quotes\n.rs";
    let first = Rule { text: vec!["I look.".into()], ..Rule::call("read", json!({"path": path})) };
    let mut peer = peer(
        format,
        [first.and_call("broken", json!({"n": [1, 2.5, null]})), Rule::text("I see.")],
    );
    let (turn, _) = peer.ask("look").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "I see."));
    let made = peer.toolbox.made();
    assert_eq!(made[0].2, json!({"path": path}));
    assert_eq!(made[1].2, json!({"n": [1, 2.5, null]}));
    let ids: Vec<&str> = made.iter().map(|(id, _, _)| id.as_str()).collect();
    let messages = peer.requests()[1].messages().to_vec();
    let content = format!("content of {path}");
    let broken = "error: the file changed; read it again\n(kind conflict, code stale)\nwhat was got so far: {\"at\":3}";
    match format {
        Format::Anthropic => {
            assert_eq!(ids, ["toolu_1_1", "toolu_1_2"]);
            assert_eq!(
                messages[1]["content"],
                json!([
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": ids[0], "name": "read", "input": {"path": path}},
                    {"type": "tool_use", "id": ids[1], "name": "broken", "input": {"n": [1, 2.5, null]}},
                ])
            );
            let result = |n: usize| {
                let mut result = messages[2]["content"][n].clone();
                result.as_object_mut().unwrap().remove("cache_control");
                result
            };
            assert_eq!(messages[2]["role"], "user");
            assert_eq!(
                result(0),
                json!({"type": "tool_result", "tool_use_id": ids[0], "is_error": false,
                    "content": [{"type": "text", "text": content}]})
            );
            assert_eq!(
                result(1),
                json!({"type": "tool_result", "tool_use_id": ids[1], "is_error": true,
                    "content": [{"type": "text", "text": broken}]})
            );
        }
        Format::OpenAi => {
            assert_eq!(ids, ["call_1x1", "call_1x2"]);
            let call = |n: usize| messages[2]["tool_calls"][n].clone();
            assert_eq!(messages[2]["content"], "I look.");
            assert_eq!(
                (&call(0)["id"], &call(1)["function"]["name"]),
                (&json!(ids[0]), &json!("broken"))
            );
            let args: Value =
                serde_json::from_str(call(0)["function"]["arguments"].as_str().unwrap()).unwrap();
            assert_eq!(args, json!({"path": path}));
            assert_eq!(
                messages[3],
                json!({"role": "tool", "tool_call_id": ids[0], "content": content})
            );
            assert_eq!(
                messages[4],
                json!({"role": "tool", "tool_call_id": ids[1], "content": broken})
            );
        }
    }
}

pub(crate) async fn a_call_without_arguments_is_made_with_none(format: Format) {
    for args in [json!(null), json!({})] {
        let mut peer = peer(format, [Rule::call("read", args), Rule::text("done")]);
        let (turn, _) = peer.ask("look").await;
        assert!(turn.end.is_done(), "{:?}", turn.end);
        assert_eq!(peer.toolbox.made()[0].2, json!({}));
    }
}

pub(crate) async fn images_reach_the_server(format: Format) {
    let mut peer = peer(format, [Rule::call("plot", json!({})), Rule::text("a plot")]);
    peer.toolbox.add(ToolSpec::new("plot", Tier::Exec, "Draws."), |_| async {
        Ok(ToolOutput::text("drawn").with_part(Part::image("image/png", "cGxvdA==")))
    });
    peer.conversation
        .push_parts(vec![Part::image("image/jpeg", "cGhvdG8="), Part::text("like this")]);
    let (turn, _) = peer.ask("draw").await;
    assert!(turn.end.is_done(), "{:?}", turn.end);
    let image = |mime: &str, data: &str| (mime.to_owned(), data.to_owned());
    let requests = peer.requests();
    assert_eq!(requests[0].images(), [image("image/jpeg", "cGhvdG8=")]);
    assert_eq!(
        requests[1].images(),
        [image("image/jpeg", "cGhvdG8="), image("image/png", "cGxvdA==")]
    );
    assert!(requests[1].last().contains("drawn"));
}

pub(crate) async fn usage_is_read_and_what_is_not_said_is_unknown(format: Format) {
    let first = Usage { input: 1_000, output: 20, cached: Some(800) };
    let second = Usage { input: 1_100, output: 30, cached: None };
    let mut peer = peer(
        format,
        [
            Rule { usage: Some(first), ..Rule::call("read", json!({})) },
            Rule { usage: Some(second), ..Rule::call("read", json!({"path": "x"})) },
            Rule::text("done"),
        ],
    );
    let (turn, events) = peer.ask("look").await;
    let usage = events.iter().filter_map(|event| match event {
        TurnEvent::StepEnded { usage, .. } => Some(json!(usage)),
        _ => None,
    });
    assert_eq!(
        usage.collect::<Vec<_>>(),
        [
            json!({"input": 1_000, "output": 20, "cached": 800}),
            json!({"input": 1_100, "output": 30}),
            json!({})
        ]
    );
    assert_eq!(
        (turn.tally.input.to_string().as_str(), turn.tally.output.unknown),
        ("at least 2100", 1)
    );
}

pub(crate) async fn malformed_arguments_are_told_and_go_back_as_none(format: Format) {
    let call = Call {
        name: "read".into(),
        malformed: Some(r#"{"path": "src/ma"#.into()),
        ..Call::default()
    };
    let mut peer =
        peer(format, [Rule { calls: vec![call], ..Rule::default() }, Rule::text("I see.")]);
    let (turn, _) = peer.ask("look").await;
    assert_eq!((turn.end.is_done(), turn.text.as_str()), (true, "I see."));
    assert_eq!(peer.toolbox.names(), [""; 0]);
    let request = &peer.requests()[1];
    assert!(
        request.last().contains(
            "what came: {\"path\": \"src/ma\n(kind invalid_args, code malformed_arguments)"
        )
    );
    match format {
        Format::Anthropic => assert_eq!(request.messages()[1]["content"][0]["input"], json!({})),
        Format::OpenAi => {
            assert_eq!(request.messages()[2]["tool_calls"][0]["function"]["arguments"], "{}");
        }
    }
}

pub(crate) async fn an_unknown_tool_is_told(format: Format) {
    let mut peer =
        peer(format, [Rule::call("teleport", json!({"to": "mars"})), Rule::text("I see.")]);
    let (turn, _) = peer.ask("go").await;
    assert!(turn.end.is_done(), "{:?}", turn.end);
    assert!(peer.requests()[1].last().contains("there is no tool \"teleport\" here"));
    assert_eq!(told(peer.conversation.messages())[0].0, Outcome::Error);
}

pub(crate) async fn bytes_may_come_in_any_parts(format: Format) {
    for size in [1, 2, 3, 7, 64] {
        let rule = Rule {
            text: vec!["Жора 😀".into(), " ends".into()],
            split: Some(size),
            ..Rule::call("read", json!({"path": "ж/😀.rs"}))
        };
        let mut peer = peer(format, [rule, Rule { split: Some(size), ..Rule::text("done") }]);
        let (turn, events) = peer.ask("look").await;
        assert!(turn.end.is_done(), "{size}: {:?}", turn.end);
        assert_eq!(pieces(&events).concat(), "Жора 😀 endsdone");
        assert_eq!(peer.toolbox.made()[0].2, json!({"path": "ж/😀.rs"}));
    }
}

pub(crate) async fn what_it_thinks_aloud_is_shown_and_goes_back_with_its_calls(format: Format) {
    let reasoning = vec!["The file ".to_owned(), "first.".to_owned()];
    let first = Rule { reasoning, ..Rule::call("read", json!({"path": "x"})) };
    let mut peer = peer(format, [first, Rule::text("done"), Rule::text("and done")]);
    let (_, events) = peer.ask("look").await;
    let thoughts: String = events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::Reasoning(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(thoughts, "The file first.");
    assert_eq!(pieces(&events), ["done"], "thoughts are not text");
    let sent = |request: &Received| request.body["messages"].to_string();
    let requests = peer.requests();
    match format {
        Format::Anthropic => assert_eq!(
            requests[1].messages()[1]["content"][0],
            json!({"type": "thinking", "thinking": "The file first.", "signature": "c2lnbmVkIGJ5IHRoZSBzY3JpcHQ="})
        ),
        Format::OpenAi => {
            assert_eq!(requests[1].messages()[2]["reasoning_content"], "The file first.");
        }
    }
    // Another model cannot read it.
    let url = peer.server.url();
    peer.agent = super::peer::agent_of(remote(format, &url, "scripted-2"), &peer.toolbox);
    peer.ask("and now?").await;
    assert!(!sent(&peer.requests()[2]).contains("The file first."));
}

pub(crate) async fn reasons_of_the_end_are_told_apart(format: Format) {
    let table = match format {
        Format::Anthropic => {
            [("end_turn", "done"), ("max_tokens", "output_limit"), ("refusal", "refused")]
        }
        Format::OpenAi => {
            [("stop", "done"), ("length", "output_limit"), ("content_filter", "refused")]
        }
    };
    for (reason, expected) in table {
        let mut peer = peer(format, [Rule { stop: Some(reason.into()), ..Rule::text("So") }]);
        let (turn, _) = peer.ask("go").await;
        assert_eq!(
            (end(&turn.end)["end"].as_str(), turn.text.as_str()),
            (Some(expected), "So"),
            "{reason}"
        );
    }
}

struct Named(ToolSpec);

impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _args: Value, _cx: &'a Context) -> BoxFuture<'a, ToolResult> {
        Box::pin(async { Ok(ToolOutput::text("done")) })
    }
}

// spec: TIER-03
pub(crate) async fn a_plan_surface_offers_no_tool_that_writes(format: Format) {
    let Peer { server, .. } =
        peer(format, [Rule::call("write", json!({})), Rule::text("a"), Rule::text("b")]);
    let tools = [("look", Tier::Read), ("write", Tier::Write), ("shell", Tier::Exec)];
    let tools = tools.map(|(name, tier)| -> Arc<dyn Tool> {
        Arc::new(Named(ToolSpec::new(name, tier, "A tool.")))
    });
    let run = Run::builder(Registry::builder().tools(tools).build().unwrap()).build();
    let view = run.view(Surface::Plan, Limits::default());
    let model = Arc::new(remote(format, &server.url(), "scripted-1"));
    let agent = Agent::new(model, Arc::new(view.clone()), view.root());
    let mut conversation = Conversation::new();
    conversation.push_user("write it");
    agent.turn(&mut conversation, &Unwatched).await;
    view.set_surface(Surface::Full);
    conversation.push_user("and now?");
    agent.turn(&mut conversation, &Unwatched).await;
    let offered: Vec<_> = server.requests().iter().map(Received::tools).collect();
    assert_eq!(json!(offered), json!([["look"], ["look"], ["look", "write", "shell"]]));
    let bodies: Vec<String> =
        server.requests()[..1].iter().map(|r| r.body["tools"].to_string()).collect();
    assert!(!bodies[0].contains("write"), "{bodies:?}");
}

pub(crate) async fn ids_that_a_server_uses_again_do_no_harm(format: Format) {
    let call = |path: &str| Rule {
        calls: vec![Call {
            id: Some("call_0".into()),
            name: "read".into(),
            args: json!({"path": path}),
            ..Call::default()
        }],
        ..Rule::default()
    };
    let mut peer = peer(format, [call("x"), call("y"), Rule::text("done")]);
    let (turn, _) = peer.ask("look").await;
    assert!(turn.end.is_done(), "{:?}", turn.end);
    let ids: Vec<String> = peer.toolbox.made().into_iter().map(|(id, _, _)| id).collect();
    assert_eq!(ids, ["call_0", "call-2"]);
}

pub(crate) async fn a_second_call_under_the_same_id_is_told_and_not_made(format: Format) {
    let call = |name: &str, args: Value| Call {
        id: Some("same".into()),
        name: name.into(),
        args,
        ..Call::default()
    };
    for second in [call("broken", json!({"n": 1})), call("read", json!({"path": "y"}))] {
        let calls = vec![call("read", json!({"path": "x"})), second];
        let mut peer = peer(format, [Rule { calls, ..Rule::default() }, Rule::text("I see.")]);
        let (turn, _) = peer.ask("look").await;
        assert!(turn.end.is_done(), "{:?}", turn.end);
        assert_eq!(peer.toolbox.made(), [("same".into(), "read".into(), json!({"path": "x"}))]);
        let told = told(peer.conversation.messages());
        assert_eq!(told[0], (Outcome::Ok, "content of x".to_owned()));
        assert!(told[1].1.contains("two calls of one message have the id same"), "{told:?}");
    }
}
