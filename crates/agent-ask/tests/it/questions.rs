//! What may be asked, and how it may be written.

use agent_tool_core::{ErrorKind, Tier};
use serde_json::{Value, json};

use crate::support::{Scene, error};

/// What a person sees of a question that is asked in these words.
async fn shown(args: Value) -> (String, Vec<(String, Option<String>)>) {
    let mut scene = Scene::new();
    let asked = scene.ask(args);
    tokio::select! {
        card = scene.card() => {
            let card = card.card;
            let options = card.options.into_iter().map(|option| (option.label, option.description));
            (card.title, options.collect())
        }
        result = asked => panic!("{result:?}"),
    }
}

// spec: ASK-06
#[tokio::test(start_paused = true)]
async fn options_may_be_strings_objects_and_the_json_of_either() {
    let expected =
        ("Which?".to_owned(), vec![("A".to_owned(), None), ("B".to_owned(), Some("b".to_owned()))]);
    for options in [
        json!([{"label": "A"}, {"label": "B", "description": "b"}]),
        json!(["A", {"label": "B", "description": "b"}]),
        json!("[\"A\", {\"label\": \"B\", \"description\": \"b\"}]"),
        json!(["{\"label\": \"A\"}", "{\"label\": \"B\", \"description\": \"b\"}"]),
        json!([{"label": " A\n", "description": null}, {"label": "B", "description": " b "}]),
    ] {
        assert_eq!(shown(json!({"question": " Which? ", "options": options})).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn what_makes_a_card_unanswerable_is_refused_before_anybody_is_asked() {
    let eleven: Vec<_> = (0..11).map(|number| number.to_string()).collect();
    for (args, why) in [
        (json!({"question": " \n"}), "`question` is empty"),
        (json!({"question": "\u{1b}[31m\u{1b}[0m"}), "`question` is empty"),
        (json!({"question": "Which?", "allow_free_text": false}), "no way to answer"),
        (json!({"question": "?", "options": [], "allow_free_text": false}), "no way to answer"),
        (json!({"question": "Which?", "options": ["A", " "]}), "`options[1]` has an empty label"),
        (json!({"question": "Which?", "options": ["A", "B", "a "]}), "`options[2]` has the label"),
        (json!({"question": "?", "options": ["A", "\u{1b}[1mA"]}), "`options[1]` has the label"),
        (json!({"question": "Which?", "options": eleven}), "11 options and a card takes 10"),
        (
            json!({"question": "Which?", "options": ["x".repeat(201)]}),
            "201 characters and takes 200",
        ),
        (json!({"question": "x".repeat(2_001)}), "2001 characters and takes 2000"),
        (json!({"question": "?", "context": "x".repeat(4_001)}), "4001 characters and takes 4000"),
    ] {
        let mut scene = Scene::new();
        let error = error(scene.ask(args).await.expect("no panic"));
        assert_eq!(
            (error.kind, &*error.code),
            (ErrorKind::InvalidArgs, "invalid_question"),
            "{why}"
        );
        assert!(error.message.contains(why), "{}", error.message);
        assert!(scene.cards.try_recv().is_err(), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn lengths_within_the_limits_are_no_reason_to_refuse() {
    let label = "x".repeat(200);
    let (question, context) = ("x".repeat(2_000), "x".repeat(4_000));
    let args = json!({"question": question, "context": context, "options": [label, "y"]});
    let (title, options) = shown(args).await;
    assert_eq!((title.len(), options[0].0.len()), (2_000, 200));
}

#[tokio::test(start_paused = true)]
async fn labels_are_one_line_and_nothing_of_them_forges_what_a_person_reads() {
    let args =
        json!({"question": "Wh\u{1b}[2Jich?\u{7}", "options": ["A\nB", "\u{202e}C\u{1b}[31m"]});
    let (title, options) = shown(args).await;
    assert_eq!(title, "Wh␛[2Jich?␇");
    let labels: Vec<_> = options.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["A B", "\u{fffd}C␛[31m"]);
}

#[tokio::test(start_paused = true)]
async fn the_model_gets_labels_as_it_wrote_them() {
    let mut scene = Scene::new();
    let args = json!({"question": "Which?", "options": ["\u{202e}C"]});
    let reply = agent_tool_core::Reply::option("1");
    let output = scene.asked(args, reply).await.expect("an answer");
    assert_eq!(output.data["selected"][0]["label"], "\u{202e}C");
}

#[tokio::test(start_paused = true)]
async fn wrong_arguments_are_named() {
    for (args, said) in [
        (json!({}), "ask_user: the argument `question` is missing; it takes a string"),
        (
            json!({"question": "Which?", "options": "A, B"}),
            "ask_user: `options` came as \"A, B\" but takes an array",
        ),
        (
            json!({"question": "Which?", "header": "h"}),
            "ask_user: there is no argument `header`; it takes allow_free_text, context, \
             multi_select, options, question",
        ),
    ] {
        assert_eq!(error(Scene::new().ask(args).await.expect("no panic")).message, said);
    }
}

// spec: ASK-01, TIER-02
#[test]
fn the_description_says_never_to_ask_in_a_chat_message() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let _entered = runtime.enter();
    let scene = Scene::new();
    let spec = scene.tool.spec();
    assert_eq!((spec.name.as_str(), spec.tier, spec.parallel), ("ask_user", Tier::Read, false));
    let description = spec.description.to_lowercase();
    assert!(description.contains("the only way to ask"), "{description}");
    assert!(
        description
            .contains("never write a question as a chat message, because that ends your turn"),
        "{description}"
    );
    assert_eq!(agent_testkit::spec_faults(spec), Vec::<String>::new());
    let tokens = agent_testkit::tokens(std::slice::from_ref(spec));
    assert!(tokens < 400, "{tokens}");
}
