use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use agent_loop::{
    Agent, Conversation, Delta, Message, ModelLimits, Outcome, PARALLEL_CALLS, StopReason,
};
use agent_tool_core::{CallId, Caller, Context, Part, Tier, ToolOutput, ToolSpec};
use serde_json::json;
use tokio::sync::Barrier;

use crate::support::{
    Move, Scripted, Toolbox, agent, ask, calls, results, says, text, told, turn_of,
};

pub(crate) async fn an_error_says_what_to_do_next_with_kind_and_code() {
    let (turn, conversation, _) =
        turn_of(vec![calls(&[("a", "broken", "{}")]), says("I see")]).await;
    assert!(turn.end.is_done());
    assert_eq!(
        told(conversation.messages()),
        [(
            Outcome::Error,
            "error: the file changed; read it again\n(kind conflict, code stale)\nwhat was got so far: {\"at\":3}"
                .to_owned()
        )]
    );
}

pub(crate) async fn an_unknown_tool_is_answered_by_the_dispatch() {
    let model = Scripted::new([calls(&[("a", "fly", "{}"), ("b", "read", "{}")]), says("I see")]);
    let toolbox = Toolbox::new();
    let mut conversation = Conversation::new();
    let (turn, _) = ask(&agent(&model, &toolbox), &mut conversation, "go").await;
    assert!(turn.end.is_done());
    assert_eq!(toolbox.names(), ["fly", "read"], "the run records what was tried");
    let told = told(conversation.messages());
    assert_eq!(
        told[0].1,
        "error: there is no tool \"fly\" here; call one of the tools that are listed\n(kind not_found, code \
         unknown_tool)"
    );
    assert_eq!(told[1].0, Outcome::Ok);
}

pub(crate) async fn malformed_arguments_are_told_and_not_called() {
    let model = Scripted::new([calls(&[("a", "read", r#"{"path": "x"#)]), says("I see")]);
    let toolbox = Toolbox::new();
    let mut conversation = Conversation::new();
    let (turn, _) = ask(&agent(&model, &toolbox), &mut conversation, "go").await;
    assert!(turn.end.is_done());
    assert_eq!(toolbox.names(), [""; 0]);
    assert_eq!(
        told(conversation.messages()),
        [(
            Outcome::Error,
            "error: the arguments of read are not JSON (EOF while parsing a string at line 1 column 11), so the call \
             was not made; send one JSON object; what came: {\"path\": \"x\n(kind invalid_args, code \
             malformed_arguments)"
                .to_owned()
        )]
    );
    let Message::Assistant(answer) = &*conversation.messages()[1] else { panic!("an answer") };
    assert_eq!(answer.calls[0].malformed.as_deref(), Some(r#"{"path": "x"#));
}

pub(crate) async fn an_empty_text_is_no_arguments() {
    let model = Scripted::new([calls(&[("a", "read", " ")]), says("done")]);
    let toolbox = Toolbox::new();
    ask(&agent(&model, &toolbox), &mut Conversation::new(), "go").await;
    assert_eq!(toolbox.made(), [("a".to_owned(), "read".to_owned(), json!({}))]);
}

pub(crate) async fn a_call_cut_at_the_bound_of_the_answer_is_not_made() {
    for arguments in ["", r#"{"path":"#] {
        let mut cut = calls(&[("a", "read", r#"{"path":"x"}"#), ("b", "read", arguments)]);
        cut.pop();
        cut.push(Move::Give(Delta::Stop(StopReason::OutputLimit)));
        let model = Scripted::new([cut, says("I see")]);
        let toolbox = Toolbox::new();
        let mut conversation = Conversation::new();
        let (turn, _) = ask(&agent(&model, &toolbox), &mut conversation, "go").await;
        assert!(turn.end.is_done());
        assert_eq!(toolbox.made(), [("a".to_owned(), "read".to_owned(), json!({"path": "x"}))]);
        let told = told(conversation.messages());
        assert_eq!(told[1].0, Outcome::Error);
        assert!(
            told[1].1.contains("reached its bound on tokens inside the arguments of read"),
            "{told:?}"
        );
    }
}

pub(crate) async fn a_second_call_under_the_same_id_is_not_made() {
    let model = Scripted::new([
        calls(&[("a", "read", r#"{"path":"x"}"#), ("a", "broken", "{}")]),
        says("I see"),
    ]);
    let toolbox = Toolbox::new();
    let mut conversation = Conversation::new();
    let (turn, _) = ask(&agent(&model, &toolbox), &mut conversation, "go").await;
    assert!(turn.end.is_done());
    assert_eq!(toolbox.names(), ["read"]);
    let results = results(conversation.messages());
    assert_ne!(results[0].call_id, results[1].call_id);
    assert_eq!(
        text(&results[1].parts),
        "error: two calls of one message have the id a, so this one of broken was not made; call it again if it was \
         meant\n(kind conflict, code repeated_call_id)"
    );
}

pub(crate) async fn ids_that_a_server_uses_again_are_made_unique() {
    let long = "x".repeat(60);
    let model = Scripted::new([
        calls(&[("call_0", "read", "{}"), ("", "read", "{}")]),
        calls(&[("call_0", "read", "{}"), ("a b:c", "read", "{}"), (&long, "read", "{}")]),
        says("done"),
    ]);
    let toolbox = Toolbox::new();
    ask(&agent(&model, &toolbox), &mut Conversation::new(), "go").await;
    let ids: Vec<String> = toolbox.made().into_iter().map(|(id, _, _)| id).collect();
    assert_eq!(ids, ["call_0", "call-2", "call-3", "a_b_c", "call-5"]);
}

pub(crate) async fn the_calls_of_a_worker_begin_with_its_id() {
    let model = Scripted::new([calls(&[("call_0", "read", "{}")]), says("done")]);
    let toolbox = Toolbox::new();
    let id = CallId::new("worker_1");
    let parent = Context::detached().child(Caller::new(id.clone(), "fast"), id, Tier::Read);
    let worker = Agent::new(model, Arc::new(toolbox.clone()), parent);
    ask(&worker, &mut Conversation::new(), "go").await;
    assert_eq!(toolbox.made()[0].0, "worker_1-call_0");
}

pub(crate) async fn parallel_calls_overlap() {
    let toolbox = Toolbox::new();
    let barrier = Arc::new(Barrier::new(3));
    toolbox.add(ToolSpec::new("meet", Tier::Read, "Waits for two others."), move |_| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            Ok(ToolOutput::text("met"))
        }
    });
    let three = [("a", "meet", "{}"), ("b", "meet", "{}"), ("c", "meet", "{}")];
    let model = Scripted::new([calls(&three), says("done")]);
    let mut conversation = Conversation::new();
    let (turn, _) = ask(&agent(&model, &toolbox), &mut conversation, "go").await;
    assert!(turn.end.is_done());
    let ids: Vec<String> =
        results(conversation.messages()).into_iter().map(|r| r.call_id).collect();
    assert_eq!(ids, ["a", "b", "c"], "results stand in the order of the calls");
}

pub(crate) async fn an_exclusive_call_waits_and_is_waited_for() {
    let toolbox = Toolbox::default();
    let log = Arc::new(Mutex::new(Vec::new()));
    for (name, parallel) in [("look", true), ("hold", false)] {
        let log = Arc::clone(&log);
        let spec = ToolSpec::new(name, Tier::Exec, "Notes when it begins and ends.");
        let spec = if parallel { spec } else { spec.exclusive() };
        toolbox.add(spec, move |args| {
            let log = Arc::clone(&log);
            let n = args["n"].as_u64().unwrap();
            async move {
                log.lock().unwrap().push(format!("{n} begins"));
                // Later ones are quicker, so that order comes from nothing else.
                tokio::time::sleep(std::time::Duration::from_millis(100 - n)).await;
                log.lock().unwrap().push(format!("{n} ends"));
                Ok(ToolOutput::text("done"))
            }
        });
    }
    let made = [
        ("a", "look", r#"{"n":1}"#),
        ("b", "look", r#"{"n":2}"#),
        ("c", "hold", r#"{"n":3}"#),
        ("d", "hold", r#"{"n":4}"#),
        ("e", "look", r#"{"n":5}"#),
    ];
    let model = Scripted::new([calls(&made), says("done")]);
    ask(&agent(&model, &toolbox), &mut Conversation::new(), "go").await;
    assert_eq!(
        *log.lock().unwrap(),
        [
            "1 begins", "2 begins", "2 ends", "1 ends", "3 begins", "3 ends", "4 begins", "4 ends",
            "5 begins", "5 ends"
        ]
    );
}

pub(crate) async fn many_parallel_calls_are_made_a_few_at_a_time() {
    let toolbox = Toolbox::default();
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = (Arc::clone(&now), Arc::clone(&most));
    toolbox.add(ToolSpec::new("look", Tier::Read, "Counts."), move |_| {
        let (now, most) = (Arc::clone(&seen.0), Arc::clone(&seen.1));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(ToolOutput::text("done"))
        }
    });
    let ids: Vec<String> = (0..50).map(|n| format!("id{n}")).collect();
    let made: Vec<_> = ids.iter().map(|id| (id.as_str(), "look", "{}")).collect();
    let model = Scripted::new([calls(&made), says("done")]);
    let mut conversation = Conversation::new();
    ask(&agent(&model, &toolbox), &mut conversation, "go").await;
    assert_eq!(results(conversation.messages()).len(), 50);
    assert_eq!(most.load(Ordering::SeqCst), PARALLEL_CALLS);
}

pub(crate) async fn an_image_goes_to_the_model_and_a_line_to_one_that_takes_none() {
    for (limits, shown) in [
        (ModelLimits::new(100_000), "a plot\n<image>"),
        (
            ModelLimits::new(100_000).without_images(),
            "a plot\n[an image, image/png, which this model cannot see]",
        ),
    ] {
        let toolbox = Toolbox::default();
        toolbox.add(ToolSpec::new("plot", Tier::Exec, "Draws."), |_| async {
            Ok(ToolOutput::text("a plot").with_part(Part::image("image/png", "aGk=")))
        });
        let model = Scripted::with(limits, [calls(&[("a", "plot", "{}")]), says("done")]);
        let mut conversation = Conversation::new();
        ask(&agent(&model, &toolbox), &mut conversation, "go").await;
        assert_eq!(text(&results(&model.seen()[1].messages)[0].parts), shown);
        assert_eq!(text(&results(conversation.messages())[0].parts), "a plot\n<image>");
    }
}
