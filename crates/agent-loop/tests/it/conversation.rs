use std::sync::Arc;

use agent_loop::{Conversation, Message, Outcome, Repairs, TurnEvent};
use serde_json::{Value, json};

use crate::support::{Scripted, Toolbox, agent, ask, calls, is_paired, says, told};

fn conversation(messages: Value) -> Conversation {
    serde_json::from_value(json!({"messages": messages})).unwrap()
}

fn call(id: &str, tier: Value) -> Value {
    json!({"id": id, "name": "tool", "args": {}, "tier": tier})
}

fn result(id: &str) -> Value {
    json!({"call_id": id, "name": "tool", "outcome": "ok", "parts": [{"type": "text", "text": "was there"}]})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"type": "text", "text": text}]})
}

pub(crate) async fn an_open_call_is_answered_with_what_is_known_of_it() {
    let reads = "interrupted before it came to an end; it only reads, so nothing was changed; call it again if the \
                 answer is still needed";
    let acts = "interrupted before it came to an end; whether it acted is unknown; look at what is there before you \
                call it again";
    let table = [
        (json!("read"), reads),
        (json!("write"), acts),
        (json!("exec"), acts),
        (Value::Null, acts),
    ];
    for (tier, said) in table {
        for after in [json!([]), json!([user("hello?")])] {
            let mut messages = vec![
                user("go"),
                json!({"role": "assistant", "calls": [
                    call("a", json!("read")), call("b", tier.clone()),
                ]}),
            ];
            messages.push(json!({"role": "tool", "results": [result("a")]}));
            messages.extend(after.as_array().unwrap().clone());
            let mut conversation = conversation(json!(messages));
            let repairs = conversation.repair();
            assert_eq!((repairs.answered, repairs.removed), (1, 0));
            assert!(is_paired(conversation.messages()));
            let told = told(conversation.messages());
            assert_eq!(told[0], (Outcome::Ok, "was there".to_owned()));
            assert_eq!(told[1], (Outcome::Interrupted, said.to_owned()));
            assert!(conversation.repair().is_none(), "what is valid is left as it is");
        }
    }
}

pub(crate) async fn results_without_a_call_and_empty_messages_go() {
    let table = [
        (json!([{"role": "tool", "results": [result("a")]}, user("go")]), 1, 1),
        (json!([user("go"), {"role": "assistant", "text": " "}]), 1, 1),
        (
            json!([user("go"), {"role": "assistant", "calls": [call("a", json!("read"))]},
                {"role": "tool", "results": [result("a"), result("a"), result("x")]}]),
            2,
            3,
        ),
        (
            json!([user("go"), {"role": "assistant", "text": "yes"}, {"role": "tool", "results": []}]),
            1,
            2,
        ),
    ];
    for (messages, removed, left) in table {
        let mut conversation = conversation(messages.clone());
        let repairs = conversation.repair();
        assert_eq!((repairs.answered, repairs.removed), (0, removed), "{messages}");
        assert_eq!(conversation.messages().len(), left, "{messages}");
        assert!(is_paired(conversation.messages()));
    }
    assert_eq!(Conversation::new().repair(), Repairs::default());
}

pub(crate) async fn a_conversation_survives_json() {
    let model = Scripted::new([
        calls(&[("a", "read", r#"{"path":"x"}"#), ("b", "read", "{bad"), ("c", "broken", "{}")]),
        says("done"),
    ]);
    let mut conversation = Conversation::new();
    ask(&agent(&model, &Toolbox::new()), &mut conversation, "go").await;
    let saved = serde_json::to_string(&conversation).unwrap();
    let loaded: Conversation = serde_json::from_str(&saved).unwrap();
    assert_eq!(loaded, conversation);
    let saved: Value = serde_json::from_str(&saved).unwrap();
    assert_eq!(saved["messages"][0], user("go"));
    assert_eq!(
        saved["messages"][1]["calls"][0],
        json!({"id": "a", "name": "read", "args": {"path": "x"}, "tier": "read"})
    );
    assert_eq!(saved["messages"][2]["results"][2]["outcome"], "error");
    assert_eq!(
        saved.as_object().unwrap().len(),
        1,
        "what is whole says nothing of being shortened"
    );
}

pub(crate) async fn a_journal_of_events_is_the_conversation() {
    let model = Scripted::new([calls(&[("a", "read", "{}")]), says("done")]);
    let mut conversation = Conversation::new();
    let (_, events) = ask(&agent(&model, &Toolbox::new()), &mut conversation, "go").await;
    let journal = events.into_iter().filter_map(|event| match event {
        TurnEvent::Message(message) => Some(message),
        _ => None,
    });
    let journal = [Arc::new(Message::user("go"))].into_iter().chain(journal);
    assert_eq!(Conversation::from_messages(journal), conversation);
}

pub(crate) async fn a_killed_turn_is_gone_on_with() {
    let mut conversation = conversation(
        json!([user("go"), {"role": "assistant", "calls": [call("a", json!("exec"))]}]),
    );
    let model = Scripted::new([calls(&[("a", "read", "{}")]), says("I looked.")]);
    let toolbox = Toolbox::new();
    let (turn, _) = ask(&agent(&model, &toolbox), &mut conversation, "go on").await;
    assert_eq!(turn.text, "I looked.");
    assert!(is_paired(&model.seen()[0].messages));
    assert_eq!(told(&model.seen()[0].messages)[0].0, Outcome::Interrupted);
    assert_eq!(toolbox.made()[0].0, "call-2", "the id of the open call is taken");
}
