//! What a person says, and what comes of it.

use agent_tool_core::{CardKind, Reply};
use serde_json::{Value, json};

use crate::support::{Scene, chosen, error, says_to_go_on};

fn which() -> Value {
    json!({"question": "Which?", "options": ["A", {"label": "B", "description": "the other"}]})
}

fn several() -> Value {
    json!({"question": "Which?", "options": ["A", "B", "C"], "multi_select": true})
}

// spec: ASK-01, ASK-06
#[tokio::test(start_paused = true)]
async fn what_was_chosen_and_typed_comes_back_as_it_was() {
    let long = "  wait,\tdo not touch\n\nthe schema  ";
    let cases = [
        (
            which(),
            chosen(&["2"], None),
            "The person chose:\n2. B",
            json!({"outcome": "answered", "selected": [{"index": 2, "label": "B"}], "text": null}),
        ),
        (
            several(),
            chosen(&["3", "1", "3"], None),
            "The person chose:\n1. A\n3. C",
            json!({"outcome": "answered", "text": null,
                "selected": [{"index": 1, "label": "A"}, {"index": 3, "label": "C"}]}),
        ),
        (
            json!({"question": "What is it called?"}),
            chosen(&[], Some(long)),
            "The person wrote:\n  wait,\tdo not touch\n\nthe schema  ",
            json!({"outcome": "answered", "selected": [], "text": long}),
        ),
        (
            which(),
            chosen(&["1"], Some("but not today")),
            "The person chose:\n1. A\nThe person wrote:\nbut not today",
            json!({"outcome": "answered", "selected": [{"index": 1, "label": "A"}],
                "text": "but not today"}),
        ),
        (
            which(),
            chosen(&["1"], Some(" ")),
            "The person chose:\n1. A",
            json!({"outcome": "answered", "selected": [{"index": 1, "label": "A"}], "text": null}),
        ),
    ];
    for (args, reply, text, data) in cases {
        let output = Scene::new().asked(args, reply).await.expect("an answer");
        assert_eq!((output.joined_text().as_str(), output.data), (text, data));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_said_is_never_followed_by_what_to_do_now() {
    let reply = chosen(&[], Some("stop, I am thinking"));
    let output = Scene::new().asked(which(), reply).await.expect("an answer");
    let text = output.joined_text().to_lowercase();
    assert!(text.ends_with("stop, i am thinking"), "{text}");
    assert!(!text.contains("continue") && !text.contains("go on"), "{text}");
}

// spec: ASK-02
#[tokio::test(start_paused = true)]
async fn a_skip_is_a_success_that_says_to_go_on() {
    let output = Scene::new().asked(which(), Reply::Skipped).await.expect("a success");
    assert_eq!(output.data, json!({"outcome": "skipped", "selected": [], "text": null}));
    let text = output.joined_text();
    assert!(text.contains("skipped") && says_to_go_on(&text), "{text}");
}

// spec: ASK-01, ASK-04, ASK-06
#[tokio::test(start_paused = true)]
async fn the_card_is_numbered_and_shows_all_that_was_asked() {
    let mut scene = Scene::new();
    let args = json!({
        "question": "Which database?\nIt stays.",
        "context": "The schema differs.",
        "options": ["A", {"label": "B", "description": "the other"}],
        "multi_select": true,
        "allow_free_text": false,
    });
    let _asked = scene.ask(args);
    let card = scene.card().await.card;
    assert_eq!(card.kind, CardKind::Question);
    assert_eq!(
        (card.title.as_str(), card.body.as_str()),
        ("Which database?", "It stays.\n\nThe schema differs.")
    );
    let options: Vec<_> = card
        .options
        .iter()
        .map(|option| (option.id.as_str(), option.label.as_str(), option.description.as_deref()))
        .collect();
    assert_eq!(options, [("1", "A", None), ("2", "B", Some("the other"))]);
    assert_eq!((card.free_text, card.several), (false, true));
    assert!(card.options.iter().all(|option| option.effect.is_none()));
}

// spec: ASK-06
#[tokio::test(start_paused = true)]
async fn a_typed_answer_is_taken_and_one_option_chosen_unless_the_question_says_otherwise() {
    for (args, expected) in [
        (json!({"question": "Which?", "options": ["A", "B"]}), (true, false)),
        (json!({"question": "Which?", "options": ["A"], "multi_select": true}), (true, false)),
        (json!({"question": "Which?", "multi_select": true}), (true, false)),
        (json!({"question": "Which?", "options": ["A"], "allow_free_text": false}), (false, false)),
    ] {
        let mut scene = Scene::new();
        let _asked = scene.ask(args.clone());
        let card = scene.card().await.card;
        assert_eq!((card.free_text, card.several), expected, "{args}");
    }
}

// spec: ASK-05
#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_is_an_error_and_never_a_guess() {
    let options_only = || {
        let mut args = which();
        args["allow_free_text"] = json!(false);
        args
    };
    for (args, reply, why) in [
        (which(), chosen(&["3"], None), "has no option \"3\""),
        (which(), chosen(&["0"], None), "has no option \"0\""),
        (which(), chosen(&["A"], None), "has no option \"A\""),
        (which(), chosen(&["1", "2"], None), "takes one option"),
        (options_only(), chosen(&["1"], Some("and more")), "takes no typed answer"),
        (options_only(), chosen(&[], Some("C")), "takes no typed answer"),
        (which(), chosen(&[], None), "is empty"),
        (which(), chosen(&[], Some(" \n")), "is empty"),
    ] {
        let error = error(Scene::new().asked(args, reply.clone()).await);
        assert_eq!(error.code, "no_usable_answer", "{reply:?}");
        assert!(error.message.contains(why), "{reply:?}: {}", error.message);
        assert!(says_to_go_on(&error.message), "{}", error.message);
    }
}

// spec: ASK-04
#[tokio::test(start_paused = true)]
async fn an_answer_to_a_question_is_never_a_permission() {
    for permission in ["allow_once", "allow_run"] {
        let error = error(Scene::new().asked(which(), Reply::option(permission)).await);
        assert_eq!(error.code, "no_usable_answer");
    }
}
