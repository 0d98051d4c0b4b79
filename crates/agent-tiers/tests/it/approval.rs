//! What asks, who answers, and for how long an answer holds.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use agent_testkit::NobodyThere;
use agent_tiers::{
    Approval, ApproveMode, Decider, Outcome, Policy, Rule, Rules, Run, Surface, What, guardrail,
};
use agent_tool_core::{
    CallId, CardError, CardKind, Effect, ErrorKind, FileChange, Limits, Preview, PreviewKind,
    Reply, Tier, ToolCall, ToolError, ToolOutput, ToolResult, ToolSpec,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{
    FnTool, Lines, Port, asking, asking_by, call, call_with, calls, card, code, counts, full,
    person, registry, says,
};

/// What TIER-07 allows for a refusal with nobody there.
const AT_ONCE: Duration = Duration::from_millis(50);

/// An approval with nobody to ask.
fn by(mode: ApproveMode, rules: Rules) -> Approval {
    Approval::new(mode, rules, Arc::new(NobodyThere))
}

fn asked(tools: impl IntoIterator<Item = FnTool>, port: &Arc<Port>) -> Run {
    Run::builder(registry(tools)).approval(asking(port)).build()
}

fn spawn(run: &Run, name: &str, args: Value) -> JoinHandle<ToolResult> {
    let view = full(run);
    tokio::spawn(view.start(ToolCall::new(name, args), &view.root()))
}

// spec: TIER-07
#[tokio::test(start_paused = true)]
async fn with_nobody_there_a_call_that_asks_is_refused_at_once_and_no_person_is_blamed() {
    let (port, _cards) = person();
    port.leave();
    for approval in [asking(&port), Approval::default(), by(ApproveMode::Nobody, Rules::default())]
    {
        let (change, changed) = counts("change", Tier::Write);
        let (start, started) = counts("start", Tier::Exec);
        let tools = registry([change, start, says("look", Tier::Read)]);
        let run = Run::builder(tools).approval(approval).build();
        for name in ["change", "start"] {
            let begun = Instant::now();
            let error = call(&full(&run), name).await.expect_err("nobody is there");
            assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
            assert_eq!((error.kind, &*error.code), (ErrorKind::Denied, "no_approver"));
            let blames = ["refused", "person"].iter().any(|word| error.message.contains(word));
            assert!(!blames, "{}", error.message);
        }
        assert_eq!(changed.load(Ordering::SeqCst) + started.load(Ordering::SeqCst), 0);
        assert_eq!(call(&full(&run), "look").await.expect("never asks").joined_text(), "look");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_said_before_anybody_is_asked_or_missed() {
    let (port, mut cards) = person();
    for approval in [asking(&port), Approval::default(), by(ApproveMode::All, Rules::default())] {
        let schema = json!({"type": "object", "properties": {"edit": {"type": "string"}}, "required": ["edit"]});
        let spec = ToolSpec::new("settle", Tier::Write, "").with_input(schema);
        let unknown =
            || ToolError::new(ErrorKind::NotFound, "unknown_edit", "there is no such edit");
        let settle = FnTool::new(spec, move |_, _| async move { Err(unknown()) })
            .with_preview(move |_| Err(unknown()));
        let run = Run::builder(registry([settle])).approval(approval).build();
        let view = full(&run);
        let wrong = call_with(&view, "settle", json!({"edit": 3})).await.expect_err("wrong");
        let said = "settle: `edit` came as 3 but takes a string";
        assert_eq!((&*wrong.code, &*wrong.message), ("invalid_args", said));
        let preview = view.preview(&ToolCall::new("settle", json!({}))).await.expect_err("wrong");
        assert_eq!(preview.code, "invalid_args");
        assert_eq!(code(call_with(&view, "settle", json!({"edit": "x"})).await), "unknown_edit");
    }
    assert!(cards.try_recv().is_err());
}

// spec: TIER-07
#[tokio::test(start_paused = true)]
async fn a_read_call_never_shows_a_card_and_others_do() {
    let (port, mut cards) = person();
    let rules = Rules::default().with(Rule::new("spy", Policy::Ask));
    let approval = asking_by(rules, &port);
    let tools = [("look", Tier::Read), ("spy", Tier::Read), ("change", Tier::Write)];
    let tools = tools.into_iter().chain([("start", Tier::Exec)]);
    let tools = registry(tools.map(|(name, tier)| says(name, tier)));
    let run = Run::builder(tools).approval(approval).build();
    assert_eq!(call(&full(&run), "look").await.expect("read").joined_text(), "look");
    assert_eq!(code(call(&full(&run), "spy").await), "refused_by_rule");
    assert!(cards.try_recv().is_err());
    for name in ["change", "start"] {
        let result = spawn(&run, name, json!({}));
        let shown = card(&mut cards).await;
        assert_eq!(shown.card.title, format!("{name}: call {name}"));
        shown.choose("allow_once");
        assert_eq!(result.await.expect("no panic").expect("allowed").joined_text(), name);
    }
}

// spec: TIER-07
#[tokio::test(start_paused = true)]
async fn a_card_shows_the_preview_cleaned_and_the_tool_gets_the_arguments_verbatim() {
    const TEXT: &str = "a\u{1b}[2Kb\u{202e}c\u{7}";
    let tool = FnTool::new(ToolSpec::new("change", Tier::Write, ""), |args, _| async move {
        Ok(ToolOutput::text(args["text"].as_str().unwrap_or_default()))
    });
    let tool = tool.with_preview(|args| {
        let text = args["text"].as_str().unwrap_or_default();
        let after = agent_tool_core::Content::Text { text: text.to_owned() };
        let change = FileChange::new(text, agent_tool_core::Content::Absent, after);
        let preview = Preview::new(PreviewKind::Edit, text).with_body(text);
        Ok(preview.with_changes(vec![change]).with_fingerprint("f"))
    });
    let (port, mut cards) = person();
    let run = asked([tool], &port);
    let result = spawn(&run, "change", json!({"text": TEXT}));
    let shown = card(&mut cards).await;

    const CLEAN: &str = "a␛[2Kb\u{fffd}c␇";
    let card = &shown.card;
    let preview = card.preview.as_ref().expect("a preview");
    assert_eq!(card.title, format!("change: {CLEAN}"));
    assert_eq!((&*preview.title, &*preview.body), (CLEAN, CLEAN));
    assert_eq!(&*preview.changes[0].path, CLEAN);
    assert_eq!(preview.changes[0].after.as_text(), Some(CLEAN));
    assert_eq!((card.kind, &card.call_id), (CardKind::Permission, &CallId::new("call_1")));
    assert_eq!((&*card.id, card.asked_by.len()), ("permission_call_1", 0));
    let offered: Vec<_> = card.options.iter().map(|o| (&*o.id, o.effect)).collect();
    assert_eq!(
        offered,
        [
            ("allow_once", Some(Effect::AllowOnce)),
            ("allow_run", Some(Effect::AllowRun)),
            ("reject_once", Some(Effect::RejectOnce)),
            ("reject_run", Some(Effect::RejectRun)),
        ]
    );
    shown.choose("allow_once");
    assert_eq!(result.await.expect("no panic").expect("allowed").joined_text(), TEXT);
}

#[tokio::test(start_paused = true)]
async fn each_way_of_not_being_allowed_has_words_of_its_own() {
    let with_words = |option: &str| {
        Ok(Reply::Chosen { options: vec![option.into()], text: Some("use \"ls\"\nhere".into()) })
    };
    let cases: [(Result<Reply, CardError>, &str, bool); 9] = [
        (Ok(Reply::option("reject_once")), "refused_by_person", true),
        (with_words("reject_once"), "refused_by_person", true),
        // Words never let anything through.
        (with_words("allow_once"), "no_answer", false),
        (with_words("allow_run"), "no_answer", false),
        (Ok(Reply::Withdrawn), "no_answer", false),
        (Ok(Reply::Skipped), "no_answer", false),
        (Ok(Reply::option("allow_all_of_it")), "no_answer", false),
        (Ok(Reply::Chosen { options: Vec::new(), text: None }), "no_answer", false),
        (Err(CardError::new("the window is gone")), "no_answer", false),
    ];
    for (reply, expected, by_person) in cases {
        let (tool, count) = counts("change", Tier::Write);
        let (port, mut cards) = person();
        let run = asked([tool], &port);
        let result = spawn(&run, "change", json!({}));
        let skips = matches!(reply, Ok(Reply::Skipped));
        let says_why = by_person && matches!(reply, Ok(Reply::Chosen { text: Some(_), .. }));
        card(&mut cards).await.answer(reply);
        let error = result.await.expect("no panic").expect_err("not allowed");
        assert_eq!((error.kind, &*error.code), (ErrorKind::Denied, expected));
        assert_eq!(error.message.contains("refused"), by_person, "{}", error.message);
        assert_eq!(error.message.contains("skipped the card"), skips, "{}", error.message);
        let quoted = r#"and wrote "use \"ls\"\nhere""#;
        assert_eq!(error.message.contains(quoted), says_why, "{}", error.message);
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_preview_that_fails_refuses_the_call_in_its_own_words() {
    let (tool, count) = counts("change", Tier::Write);
    let tool = tool.with_preview(|_| {
        Err(ToolError::new(ErrorKind::NotFound, "no_such_file", "there is no file `a`"))
    });
    let (port, mut cards) = person();
    let run = asked([tool], &port);
    assert_eq!(code(call(&full(&run), "change").await), "no_such_file");
    assert_eq!(count.load(Ordering::SeqCst), 0);
    assert!(cards.try_recv().is_err());
}

// spec: TIER-03, TIER-07
#[tokio::test(start_paused = true)]
async fn a_surface_that_became_plan_in_the_meantime_refuses_a_later_allow() {
    let (tool, count) = counts("change", Tier::Write);
    let (port, mut cards) = person();
    let run = asked([tool], &port);
    let view = full(&run);
    let result = tokio::spawn(view.start(ToolCall::new("change", json!({})), &view.root()));
    let shown = card(&mut cards).await;
    view.set_surface(Surface::Plan);
    shown.choose("allow_once");
    assert_eq!(code(result.await.expect("no panic")), "unknown_tool");
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_tool_is_told_apart_from_the_wait_before_it() {
    let (tool, _count) = counts("change", Tier::Write);
    let (port, mut cards) = person();
    let run = asked([tool], &port);
    let mut watcher = run.watch();
    for (answer, works) in [("allow_once", true), ("reject_once", false)] {
        let result = spawn(&run, "change", json!({}));
        let shown = card(&mut cards).await;
        std::thread::sleep(Duration::from_millis(50));
        let live = &run.live_calls()[0];
        assert!(live.ms >= 50 && live.works_ms == 0, "{live:?}");
        shown.choose(answer);
        assert_eq!(result.await.expect("no panic").is_ok(), works);
        let ended = std::iter::from_fn(|| watcher.try_next()).find_map(|watched| {
            match watched.record.what {
                What::Finished { ms, worked_ms, .. } => Some((ms, worked_ms)),
                _ => None,
            }
        });
        let (ms, worked_ms) = ended.expect("it ended");
        assert_eq!(worked_ms.is_some(), works);
        assert!(ms >= 50 + worked_ms.unwrap_or_default(), "{ms} {worked_ms:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_was_replaced_while_a_card_waited_is_not_called() {
    let (old, old_count) = counts("change", Tier::Write);
    let (new, new_count) = counts("change", Tier::Write);
    let (port, mut cards) = person();
    let run = asked([old], &port);
    let result = spawn(&run, "change", json!({}));
    let shown = card(&mut cards).await;
    run.set_registry(registry([new]));
    shown.choose("allow_once");
    assert_eq!(code(result.await.expect("no panic")), "tool_replaced");
    assert_eq!(old_count.load(Ordering::SeqCst) + new_count.load(Ordering::SeqCst), 0);
}

/// A tool whose plan is the state of the disk and its argument.
fn plans(disk: &Arc<AtomicU32>, done: &Arc<Mutex<Vec<String>>>) -> FnTool {
    let plan = |disk: &AtomicU32, args: &Value| format!("{} {args}", disk.load(Ordering::SeqCst));
    let (seen, done, before) = (Arc::clone(disk), Arc::clone(done), Arc::clone(disk));
    let tool = FnTool::new(ToolSpec::new("change", Tier::Write, ""), move |args, cx| {
        let (plan, done) = (plan(&seen, &args), Arc::clone(&done));
        async move {
            cx.check_approved(&plan)?;
            done.lock().expect("not poisoned").push(plan);
            Ok(ToolOutput::text("done"))
        }
    });
    tool.with_preview(move |args| {
        Ok(Preview::new(PreviewKind::Edit, "change").with_fingerprint(plan(&before, args)))
    })
}

#[tokio::test(start_paused = true)]
async fn an_approval_executes_exactly_what_was_shown() {
    let (disk, done) = (Arc::default(), Arc::default());
    let (port, mut cards) = person();
    let run = asked([plans(&disk, &done)], &port);
    let args = json!({"text": "x"});

    let result = spawn(&run, "change", args.clone());
    let shown = card(&mut cards).await;
    let fingerprint = shown.card.preview.as_ref().and_then(|p| p.fingerprint.clone());
    shown.choose("allow_once");
    result.await.expect("no panic").expect("approved");
    assert_eq!(*done.lock().expect("not poisoned"), [fingerprint.expect("a fingerprint")]);

    let result = spawn(&run, "change", args);
    let shown = card(&mut cards).await;
    disk.store(1, Ordering::SeqCst);
    shown.choose("allow_once");
    let error = result.await.expect("no panic").expect_err("another plan");
    assert_eq!((error.kind, &*error.code), (ErrorKind::Conflict, "approval_changed"));
    assert_eq!(done.lock().expect("not poisoned").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn always_allow_holds_for_one_caller_and_one_tool() {
    let (port, mut cards) = person();
    let tools = || {
        [
            says("change", Tier::Write),
            says("other", Tier::Write),
            calls("cell", Tier::Read),
            calls("task", Tier::Read),
        ]
    };
    let run = asked(tools(), &port);
    let nested = |outer: &str| spawn(&run, outer, json!({"tool": "change", "args": {}}));

    let result = spawn(&run, "change", json!({}));
    card(&mut cards).await.choose("allow_run");
    result.await.expect("no panic").expect("allowed");
    // The same caller, the same tool: no card.
    call(&full(&run), "change").await.expect("allowed for the run");

    // Another tool, another caller, another caller again: a card each.
    let result = spawn(&run, "other", json!({}));
    card(&mut cards).await.choose("reject_once");
    assert_eq!(code(result.await.expect("no panic")), "refused_by_person");
    let result = nested("cell");
    let shown = card(&mut cards).await;
    assert_eq!(shown.card.asked_by[0].name, "cell");
    shown.choose("allow_run");
    result.await.expect("no panic").expect("allowed");
    nested("cell").await.expect("no panic").expect("allowed for the run");
    let result = nested("task");
    card(&mut cards).await.choose("reject_once");
    assert_eq!(code(result.await.expect("no panic")), "refused_by_person");

    // Another run: a card.
    let run = asked(tools(), &port);
    let result = spawn(&run, "change", json!({}));
    card(&mut cards).await.choose("reject_once");
    assert_eq!(code(result.await.expect("no panic")), "refused_by_person");
    assert!(cards.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn always_allow_beats_no_guardrail_no_ceiling_no_raised_tier_and_no_refusal() {
    let (port, mut cards) = person();
    let guard = guardrail(|_, call| match call.args["path"].as_str() {
        Some("secret") => Err(ToolError::new(ErrorKind::Denied, "guarded", "not this file")),
        _ => Ok(()),
    });
    let rules = Rules::default()
        .with(Rule::new("change", Policy::Ask))
        .with(Rule::new("change", Policy::AlwaysAsk).when("path", ["lock"]))
        .with(Rule::new("change", Policy::Refuse).when("path", ["never"]));
    let tools = registry([says("change", Tier::Write)]);
    let approval = asking_by(rules, &port);
    let run = Run::builder(tools).gate(guard).approval(approval).build();
    let view = full(&run);
    let path = |path: &str| json!({"path": path});

    let result = spawn(&run, "change", path("a"));
    card(&mut cards).await.choose("allow_run");
    result.await.expect("no panic").expect("allowed");
    call_with(&view, "change", path("b")).await.expect("allowed for the run");
    assert_eq!(code(call_with(&view, "change", path("secret")).await), "guarded");
    assert_eq!(code(call_with(&view, "change", path("never")).await), "refused_by_rule");
    let read_only = run.view(Surface::ReadOnly, Limits::default());
    assert_eq!(code(call_with(&read_only, "change", path("b")).await), "unknown_tool");

    // A rule that has each call asked about offers no "always allow" and heeds none.
    let result = spawn(&run, "change", path("lock"));
    let shown = card(&mut cards).await;
    let offered: Vec<_> = shown.card.options.iter().map(|option| &*option.id).collect();
    assert_eq!(offered, ["allow_once", "reject_once", "reject_run"]);
    shown.choose("allow_once");
    result.await.expect("no panic").expect("allowed once");

    // A tool that takes the name over at a higher tier is asked about.
    run.set_registry(registry([says("change", Tier::Exec)]));
    let result = spawn(&run, "change", path("b"));
    card(&mut cards).await.choose("reject_run");
    assert_eq!(code(result.await.expect("no panic")), "refused_by_person");
    run.set_registry(registry([says("change", Tier::Write)]));
    assert_eq!(code(call_with(&view, "change", path("b")).await), "refused_by_person");
    assert!(cards.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_the_run_settles_the_cards_that_wait() {
    let (port, mut cards) = person();
    let run = asked([says("change", Tier::Write)], &port);
    let first = spawn(&run, "change", json!({}));
    let shown = card(&mut cards).await;
    let second = spawn(&run, "change", json!({}));
    let third = spawn(&run, "change", json!({}));
    tokio::task::yield_now().await;
    shown.choose("allow_run");
    for result in [first, second, third] {
        result.await.expect("no panic").expect("allowed");
    }
    // The second card may have come up for a moment; if so, it was withdrawn.
    while let Ok(shown) = cards.try_recv() {
        shown.withdrawn().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_modes_decide_about_what_would_ask() {
    let tools = || registry([says("change", Tier::Write), says("start", Tier::Exec)]);
    let rules = Rules::default()
        .with(Rule::new("start", Policy::Allow))
        .with(Rule::new("start", Policy::AlwaysAsk).when("op", ["launch"]));
    let expected = [
        (ApproveMode::All, "ok", "ok", "no_approver"),
        (ApproveMode::Ask, "no_approver", "ok", "no_approver"),
        (ApproveMode::Nobody, "no_approver", "ok", "no_approver"),
    ];
    for (approve, change, stack, launch) in expected {
        let approval = by(approve, rules.clone());
        let run = Run::builder(tools()).approval(approval).build();
        let outcome = async |name: &str, args: Value| match call_with(&full(&run), name, args).await
        {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.code.into_owned(),
        };
        assert_eq!(outcome("change", json!({})).await, change, "{approve:?}");
        assert_eq!(outcome("start", json!({"op": "stack"})).await, stack, "{approve:?}");
        assert_eq!(outcome("start", json!({"op": "launch"})).await, launch, "{approve:?}");
        // What cannot be judged is judged strictly.
        assert_eq!(outcome("start", json!({"op": ["launch"]})).await, launch, "{approve:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn with_everything_approved_a_guarded_call_still_shows_a_card() {
    let (port, mut cards) = person();
    let rules = Rules::default().with(Rule::new("change", Policy::AlwaysAsk));
    let approval = Approval::new(ApproveMode::All, rules, port);
    let tools = registry([says("change", Tier::Write)]);
    let run = Run::builder(tools).approval(approval).build();
    let result = spawn(&run, "change", json!({}));
    card(&mut cards).await.choose("reject_once");
    assert_eq!(code(result.await.expect("no panic")), "refused_by_person");
}

#[tokio::test(start_paused = true)]
async fn no_mode_beats_a_guardrail_a_rule_that_refuses_or_a_rejection_for_the_run() {
    let guard = guardrail(|_, call| match call.args["path"].as_str() {
        Some("/etc") => Err(ToolError::new(ErrorKind::Denied, "guarded", "not there")),
        _ => Ok(()),
    });
    let rules = Rules::default().with(Rule::new("start", Policy::Refuse).when("op", ["attach"]));
    let tools = registry([says("change", Tier::Write), says("start", Tier::Exec)]);
    let approval = by(ApproveMode::All, rules);
    let run = Run::builder(tools).gate(guard).approval(approval).build();
    let view = full(&run);
    call_with(&view, "change", json!({"path": "a"})).await.expect("everything is approved");
    assert_eq!(code(call_with(&view, "change", json!({"path": "/etc"})).await), "guarded");
    call_with(&view, "start", json!({"op": "stack"})).await.expect("everything is approved");
    let attach = call_with(&view, "start", json!({"op": "attach"})).await;
    assert_eq!(code(attach), "refused_by_rule");

    let (port, mut cards) = person();
    let run = asked([says("change", Tier::Write)], &port);
    let first = spawn(&run, "change", json!({}));
    card(&mut cards).await.choose("reject_run");
    assert_eq!(code(first.await.expect("no panic")), "refused_by_person");
    for _ in 0..2 {
        assert_eq!(code(call(&full(&run), "change").await), "refused_by_person");
    }
    assert!(cards.try_recv().is_err(), "nobody is asked again");
}

#[tokio::test(start_paused = true)]
async fn rules_are_data() {
    let text = r#"[{"tool": "debug", "when": {"argument": "action", "values": ["launch"]},
        "policy": "always_ask"}, {"tool": "ast_edit", "policy": "allow"}]"#;
    let rules: Rules = serde_json::from_str(text).expect("rules");
    let built = Rules::default()
        .with(Rule::new("debug", Policy::AlwaysAsk).when("action", ["launch"]))
        .with(Rule::new("ast_edit", Policy::Allow));
    assert_eq!(rules, built);
}

#[tokio::test(start_paused = true)]
async fn the_transcript_says_who_decided() {
    let (port, mut cards) = person();
    let lines = Lines::default();
    let rules = Rules::default().with(Rule::new("staged", Policy::Allow));
    let tools =
        [says("look", Tier::Read), says("staged", Tier::Write), says("change", Tier::Write)];
    let run = Run::builder(registry(tools))
        .approval(asking_by(rules, &port))
        .transcript(lines.clone())
        .build();
    call(&full(&run), "look").await.expect("read");
    call(&full(&run), "staged").await.expect("allowed by rule");
    let result = spawn(&run, "change", json!({}));
    card(&mut cards).await.choose("allow_run");
    result.await.expect("no panic").expect("allowed");
    call(&full(&run), "change").await.expect("allowed for the run");
    port.leave();
    let nobody = call_with(&full(&run), "change", json!({})).await;
    nobody.expect("an answer for the run holds when the person has left");

    run.flush().await.expect("written");
    let decided: Vec<_> = lines
        .records()
        .into_iter()
        .filter_map(|record| match record.what {
            What::Approval { outcome, by, effect, .. } => Some((outcome, by, effect)),
            _ => None,
        })
        .collect();
    assert_eq!(
        decided,
        [
            (Outcome::Allowed, Decider::Rule, None),
            (Outcome::Allowed, Decider::Person, Some(Effect::AllowRun)),
            (Outcome::Allowed, Decider::Earlier, None),
            (Outcome::Allowed, Decider::Earlier, None),
        ]
    );
}

// spec: TIER-07
#[tokio::test]
async fn nobody_is_asked_about_a_change_of_nothing() {
    let (port, _cards) = person();
    let always = Rules::default().with(Rule::new("same", Policy::AlwaysAsk));
    let tool = |tier| {
        let spec = ToolSpec::new("same", tier, "Changes nothing.");
        let tool = FnTool::new(spec, |_, cx| async move {
            Ok(ToolOutput::text(cx.approved().unwrap_or_default()))
        });
        tool.with_preview(|_| {
            Ok(Preview::new(PreviewKind::Edit, "same").with_fingerprint("p1").changing_nothing())
        })
    };
    let nobody = || by(ApproveMode::Nobody, Rules::default());
    for (approval, tier, expected) in [
        (asking(&port), Tier::Write, "p1"),
        (nobody(), Tier::Write, "p1"),
        (nobody(), Tier::Exec, "no_approver"),
        (by(ApproveMode::Nobody, always), Tier::Write, "no_approver"),
    ] {
        let run = Run::builder(registry([tool(tier)])).approval(approval).build();
        // The plan is held against what was shown, as after an approval.
        let got = match call(&full(&run), "same").await {
            Ok(output) => output.joined_text(),
            Err(error) => error.code.into_owned(),
        };
        assert_eq!(got, expected, "{tier}");
    }
}
