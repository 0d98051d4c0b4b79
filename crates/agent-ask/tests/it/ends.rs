//! How a question ends without an answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant as WallClock, SystemTime, UNIX_EPOCH},
};

use agent_testkit::NobodyThere;
use agent_tool_core::{
    BoxFuture, CallId, Card, CardError, CardKind, CardPort, Context, ErrorKind, Reply,
};
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use crate::support::{Scene, chosen, error, in_time, says_to_go_on, tool_of};

const AT_ONCE: Duration = Duration::from_millis(100);
const QUARTER: Duration = Duration::from_secs(15 * 60);

fn which() -> Value {
    json!({"question": "Which?", "options": ["A", "B"]})
}

// spec: ASK-03
#[tokio::test]
async fn with_nobody_connected_the_call_fails_at_once() {
    let tool = tool_of(NobodyThere);
    let begun = WallClock::now();
    let error = error(tool.call(which(), &Context::detached()).await);
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert_eq!((error.kind, &*error.code), (ErrorKind::Unavailable, "nobody_connected"));
    assert!(says_to_go_on(&error.message), "{}", error.message);
}

// spec: ASK-03
#[tokio::test(start_paused = true)]
async fn a_person_who_leaves_while_the_card_is_up_ends_the_wait() {
    for fails in [false, true] {
        let mut scene = Scene::new();
        let asked = scene.ask(which());
        let card = scene.card().await;
        let begun = Instant::now();
        scene.port.leave();
        if fails {
            card.fail("the connection is closed");
        } else {
            card.answer(Reply::Withdrawn);
        }
        assert_eq!(error(asked.await.expect("no panic")).code, "nobody_connected");
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}

// spec: ASK-03
#[tokio::test(start_paused = true)]
async fn a_question_whose_turn_comes_when_the_person_has_left_is_not_shown() {
    let mut scene = Scene::new();
    let first = scene.ask(which());
    let card = scene.card().await;
    let second = scene.ask(json!({"question": "And now?"}));
    tokio::task::yield_now().await;
    scene.port.leave();
    card.answer(Reply::option("1"));
    first.await.expect("no panic").expect("the first was answered");
    assert_eq!(error(second.await.expect("no panic")).code, "nobody_connected");
    assert!(scene.cards.try_recv().is_err());
}

// spec: ASK-03
#[tokio::test(start_paused = true)]
async fn with_nobody_connected_no_card_before_it_holds_a_question() {
    let mut scene = Scene::new();
    let _first = scene.ask(which());
    let _up = scene.card().await;
    scene.port.leave();
    let begun = Instant::now();
    let second = scene.ask(json!({"question": "And now?"}));
    assert_eq!(error(in_time(second).await.expect("no panic")).code, "nobody_connected");
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

// spec: ASK-02, ASK-05
#[tokio::test(start_paused = true)]
async fn fifteen_minutes_of_silence_are_an_error_in_which_nothing_was_chosen() {
    let mut scene = Scene::new();
    let asked = scene.ask(which());
    let card = scene.card().await;
    let begun = Instant::now();
    let error = error(in_time(asked).await.expect("no panic"));
    assert_eq!(begun.elapsed().as_secs(), QUARTER.as_secs());
    assert_eq!((error.kind, &*error.code), (ErrorKind::Timeout, "timed_out"));
    assert!(error.message.contains("nobody answered within 15 minutes"), "{}", error.message);
    assert!(error.message.contains("nothing was chosen"), "{}", error.message);
    assert!(says_to_go_on(&error.message), "{}", error.message);
    card.withdrawn().await;
}

// spec: ASK-02
#[tokio::test(start_paused = true)]
async fn a_late_answer_changes_nothing_and_the_person_was_told_why() {
    let mut scene = Scene::new();
    let asked = scene.ask(which());
    let card = scene.card().await;
    let id = card.card.id.clone();
    assert_eq!(error(in_time(asked).await.expect("no panic")).code, "timed_out");
    let [(told, why)] = &scene.port.told()[..] else { panic!("{:?}", scene.port.told()) };
    assert_eq!(*told, id);
    assert!(why.contains("within 15 minutes") && why.contains("went on"), "{why}");
    assert!(!card.answer_late(Reply::option("1")), "nobody waits for it");
    // The next card is another one, and only its own answer counts.
    let output = scene.asked(json!({"question": "And now?"}), chosen(&[], Some("B"))).await;
    assert_eq!(output.expect("an answer").data["text"], "B");
}

#[tokio::test(start_paused = true)]
async fn each_card_has_an_id_of_its_own() {
    let mut scene = Scene::new();
    let mut ids = Vec::new();
    for question in ["One?", "Two?"] {
        let asked = scene.ask(json!({"question": question}));
        let card = scene.card().await;
        ids.push(card.card.id.clone());
        card.answer(chosen(&[], Some("yes")));
        asked.await.expect("no panic").expect("an answer");
    }
    assert_eq!(ids, ["question_1", "question_2"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_at_the_last_moment_counts() {
    let mut scene = Scene::new();
    let asked = scene.ask(which());
    let card = scene.card().await;
    advance(QUARTER - Duration::from_millis(2)).await;
    card.answer(Reply::option("1"));
    asked.await.expect("no panic").expect("in time");
    assert_eq!(scene.port.told(), []);
}

#[tokio::test(start_paused = true)]
async fn the_time_begins_when_the_card_goes_up() {
    let mut scene = Scene::new();
    let queue = scene.queue.clone();
    let permission = Card::new(CardKind::Permission, "permission_1", CallId::new("c"), "May I?");
    let before = tokio::spawn(async move { queue.present(permission).await });
    let up = scene.card().await;
    let asked = scene.ask(which());
    // It stands in the line now, and time goes by.
    tokio::task::yield_now().await;
    advance(2 * QUARTER).await;
    tokio::task::yield_now().await;
    assert!(!asked.is_finished());
    up.answer(Reply::Skipped);
    before.await.expect("no panic").expect("a reply");
    let card = scene.card().await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let left = u128::from(card.card.expires_at.expect("a time")) - now.as_millis();
    assert!(left <= QUARTER.as_millis() && left > QUARTER.as_millis() - 60_000, "{left}");
    advance(QUARTER - Duration::from_millis(2)).await;
    card.answer(Reply::option("2"));
    asked.await.expect("no panic").expect("in time");
}

#[tokio::test(start_paused = true)]
async fn a_person_who_types_has_the_whole_time_again() {
    let mut scene = Scene::new();
    let asked = scene.ask(which());
    let card = scene.card().await;
    for _ in 0..3 {
        advance(QUARTER - Duration::from_secs(2)).await;
        scene.port.touch();
        tokio::task::yield_now().await;
    }
    assert!(!asked.is_finished());
    let begun = Instant::now();
    assert_eq!(error(in_time(asked).await.expect("no panic")).code, "timed_out");
    assert!(begun.elapsed() >= QUARTER, "{:?}", begun.elapsed());
    drop(card);
}

#[tokio::test(start_paused = true)]
async fn a_port_that_is_always_touched_stalls_nobody() {
    struct Restless;
    impl CardPort for Restless {
        fn connected(&self) -> bool {
            true
        }
        fn present(&self, _card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                Ok(Reply::option("1"))
            })
        }
        fn touched<'a>(&'a self, _card_id: &'a str) -> BoxFuture<'a, ()> {
            Box::pin(std::future::ready(()))
        }
    }
    let (tool, cx) = (tool_of(Restless), Context::detached());
    in_time(tool.call(which(), &cx)).await.expect("an answer");
}

#[tokio::test(start_paused = true)]
async fn zero_is_no_limit() {
    let mut scene = Scene::with_time(Duration::ZERO);
    let asked = scene.ask(which());
    let card = scene.card().await;
    assert_eq!(card.card.expires_at, None);
    advance(Duration::from_secs(30 * 24 * 3600)).await;
    assert!(!asked.is_finished());
    card.answer(Reply::option("1"));
    asked.await.expect("no panic").expect("an answer");
}

// spec: ASK-05
#[tokio::test(start_paused = true)]
async fn a_port_that_fails_is_an_error() {
    let mut scene = Scene::new();
    let asked = scene.ask(which());
    scene.card().await.fail("the screen is gone");
    let error = error(asked.await.expect("no panic"));
    assert_eq!(error.code, "no_usable_answer");
    assert!(error.message.contains("the screen is gone"), "{}", error.message);
}

#[tokio::test(start_paused = true)]
async fn a_card_that_is_closed_is_no_skip() {
    let mut scene = Scene::new();
    let error = error(scene.asked(which(), Reply::Withdrawn).await);
    assert_eq!((error.kind, &*error.code), (ErrorKind::Unavailable, "card_closed"));
    assert!(says_to_go_on(&error.message), "{}", error.message);
}

#[tokio::test(start_paused = true)]
async fn a_port_that_panics_is_an_error_and_the_next_card_is_shown() {
    /// Panics at the first card in one of several ways.
    struct Broken {
        cards: AtomicUsize,
        later: bool,
    }
    impl CardPort for Broken {
        fn connected(&self) -> bool {
            true
        }
        fn present(&self, _card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
            let first = self.cards.fetch_add(1, Ordering::SeqCst) == 0;
            assert!(!first || self.later, "no screen");
            Box::pin(async move {
                tokio::task::yield_now().await;
                assert!(!first, "no screen");
                Ok(Reply::option("1"))
            })
        }
    }
    for later in [false, true] {
        let tool = tool_of(Broken { cards: AtomicUsize::new(0), later });
        let cx = Context::detached();
        let error = error(tool.call(which(), &cx).await);
        assert_eq!((error.kind, &*error.code), (ErrorKind::Failed, "no_usable_answer"));
        assert!(error.message.contains("no screen"), "{}", error.message);
        in_time(tool.call(which(), &cx)).await.expect("the queue goes on");
    }
}

#[tokio::test(start_paused = true)]
async fn a_port_that_never_answers_does_not_hold_the_run() {
    struct Deaf;
    impl CardPort for Deaf {
        fn connected(&self) -> bool {
            true
        }
        fn present(&self, _card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
            Box::pin(std::future::pending())
        }
    }
    let tool = tool_of(Deaf);
    let cx = Context::detached();
    let begun = Instant::now();
    assert_eq!(error(in_time(tool.call(which(), &cx)).await).code, "timed_out");
    assert_eq!(begun.elapsed().as_secs(), QUARTER.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_withdraws_its_card() {
    let mut scene = Scene::new();
    let asked = scene.ask(which());
    let card = scene.card().await;
    asked.abort();
    in_time(card.withdrawn()).await;
    let output = scene.asked(json!({"question": "And now?"}), chosen(&[], Some("yes"))).await;
    assert_eq!(output.expect("the queue goes on").data["text"], "yes");
}

#[tokio::test(start_paused = true)]
async fn two_questions_at_once_are_shown_one_after_the_other_and_keep_their_answers() {
    let mut scene = Scene::new();
    let first = scene.ask(json!({"question": "One?"}));
    let up = scene.card().await;
    let second = scene.ask(json!({"question": "Two?"}));
    tokio::task::yield_now().await;
    assert!(scene.cards.try_recv().is_err(), "one card at a time");
    assert_eq!(up.card.title, "One?");
    up.answer(chosen(&[], Some("1")));
    let up = scene.card().await;
    assert_eq!(up.card.title, "Two?");
    up.answer(chosen(&[], Some("2")));
    for (asked, expected) in [(first, "1"), (second, "2")] {
        let output = asked.await.expect("no panic").expect("an answer");
        assert_eq!(output.data["text"], expected);
    }
}

// spec: ASK-02
#[tokio::test(start_paused = true)]
async fn what_was_skipped_or_not_answered_is_not_asked_again() {
    let mut scene = Scene::new();
    let skipped = json!({"question": "Skip it?", "context": "c", "options": ["A"]});
    scene.asked(skipped, Reply::Skipped).await.expect("a skip");
    let again = json!({"question": " skip  it?", "context": "C", "options": [{"label": "a"}]});
    let begun = Instant::now();
    let output = scene.ask(again).await.expect("no panic").expect("the same skip");
    assert_eq!(output.data["outcome"], "skipped");
    assert!(says_to_go_on(&output.joined_text()));

    let asked = scene.ask(which());
    let _card = scene.card().await;
    assert_eq!(error(in_time(asked).await.expect("no panic")).code, "timed_out");
    let before = Instant::now();
    let error = error(scene.ask(which()).await.expect("no panic"));
    assert_eq!(error.code, "timed_out");
    assert!(error.message.contains("was asked before"), "{}", error.message);
    assert_eq!((before.elapsed(), begun.elapsed().as_secs()), (Duration::ZERO, QUARTER.as_secs()));
    assert!(scene.cards.try_recv().is_err(), "no card was shown");
}

#[tokio::test(start_paused = true)]
async fn another_question_and_one_that_was_answered_are_asked() {
    let mut scene = Scene::new();
    scene.asked(which(), Reply::Skipped).await.expect("a skip");
    let mut other = which();
    other["context"] = json!("Deletes the other folder.");
    for args in [other.clone(), other, json!({"question": "Which?", "options": ["A", "C"]})] {
        let output = scene.asked(args, Reply::option("1")).await.expect("an answer");
        assert_eq!(output.data["outcome"], "answered");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_or_cancelled_question_may_be_asked_again() {
    let mut scene = Scene::new();
    scene.asked(which(), Reply::Withdrawn).await.expect_err("closed");
    let asked = scene.ask(which());
    let card = scene.card().await;
    asked.abort();
    in_time(card.withdrawn()).await;
    let asked = scene.ask(which());
    scene.card().await.answer(Reply::option("1"));
    asked.await.expect("no panic").expect("an answer");
    assert_eq!(Arc::strong_count(&scene.tool), 1);
}
