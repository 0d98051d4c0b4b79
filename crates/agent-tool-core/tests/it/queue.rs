use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use agent_tool_core::{
    BoxFuture, CallId, Card, CardError, CardKind, CardOption, CardPort, CardQueue, Reply,
};

/// A port that notes what it shows and answers when it is told to.
#[derive(Default)]
struct Slow {
    shown: Mutex<Vec<String>>,
    /// How many waited behind each.
    waiting: Mutex<Vec<usize>>,
    answered: Mutex<Vec<String>>,
}

impl CardPort for Slow {
    fn connected(&self) -> bool {
        true
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        self.shown.lock().expect("shown").push(card.id.clone());
        self.waiting.lock().expect("waiting").push(card.waiting);
        Box::pin(std::future::poll_fn(move |_| {
            let answered = self.answered.lock().expect("answered").contains(&card.id);
            if answered { Poll::Ready(Ok(Reply::option("yes"))) } else { Poll::Pending }
        }))
    }
}

fn card(id: &str) -> Card {
    let mut card = Card::new(CardKind::Permission, id, CallId::new("call_1"), "May I?");
    card.options = vec![CardOption::new("yes", "Yes")];
    card
}

#[test]
fn one_card_at_a_time_first_in_first_out_and_a_dropped_one_leaves() {
    let port = Arc::new(Slow::default());
    let queue = CardQueue::new(port.clone());
    let mut cx = Context::from_waker(Waker::noop());
    let up = Mutex::new(Vec::new());
    let (queue, up_now) = (&queue, &up);
    let show = |id: &'static str| {
        queue.present_with(card(id), move |_| up_now.lock().expect("up").push(id))
    };
    let mut first = pin!(show("first"));
    let mut third = pin!(show("third"));
    assert!(first.as_mut().poll(&mut cx).is_pending());
    {
        let mut second = pin!(show("second"));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert!(third.as_mut().poll(&mut cx).is_pending());
    }
    assert_eq!(*port.shown.lock().expect("shown"), ["first"]);
    port.answered.lock().expect("answered").extend(["first".into(), "third".into()]);
    assert_eq!(first.as_mut().poll(&mut cx), Poll::Ready(Ok(Reply::option("yes"))));
    assert_eq!(third.as_mut().poll(&mut cx), Poll::Ready(Ok(Reply::option("yes"))));
    assert_eq!(*port.shown.lock().expect("shown"), ["first", "third"]);
    assert_eq!(*up.lock().expect("up"), ["first", "third"]);
}

#[test]
fn a_card_says_how_many_wait_behind_it() {
    let port = Arc::new(Slow::default());
    let queue = CardQueue::new(port.clone());
    let mut cx = Context::from_waker(Waker::noop());
    let mut cards = ["1", "2", "3"].map(|id| Box::pin(queue.present(card(id))));
    assert!(cards.iter_mut().all(|card| card.as_mut().poll(&mut cx).is_pending()));
    port.answered.lock().expect("answered").extend(["1", "2", "3"].map(str::to_owned));
    assert!(cards.iter_mut().all(|card| card.as_mut().poll(&mut cx).is_ready()));
    // Of the first it is said as it went up, when nobody else was there.
    assert_eq!(*port.waiting.lock().expect("waiting"), [0, 1, 0]);
}

#[test]
fn an_answer_to_an_option_that_is_not_there_is_the_ports_error() {
    struct Wrong;
    impl CardPort for Wrong {
        fn connected(&self) -> bool {
            true
        }
        fn present(&self, _card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
            Box::pin(async { Ok(Reply::option("maybe")) })
        }
    }
    let answer = pollster::block_on(CardQueue::new(Arc::new(Wrong)).present(card("c1")));
    assert_eq!(answer, Err(CardError::new("card c1 has no option \"maybe\"")));
}

#[test]
fn a_card_whose_turn_comes_when_nobody_is_there_is_not_shown() {
    struct Gone;
    impl CardPort for Gone {
        fn connected(&self) -> bool {
            false
        }
        fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
            panic!("{} was shown to nobody", card.id)
        }
    }
    let queue = CardQueue::new(Arc::new(Gone));
    let mut shown = false;
    let reply = pollster::block_on(queue.present_with(card("c1"), |_| shown = true));
    assert_eq!((reply, shown), (Ok(Reply::Withdrawn), false));
}

#[test]
fn what_the_asker_sets_when_its_card_goes_up_is_shown() {
    struct Shows(Mutex<Option<Card>>);
    impl CardPort for Shows {
        fn connected(&self) -> bool {
            true
        }
        fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
            *self.0.lock().expect("shown") = Some(card);
            Box::pin(async { Ok(Reply::Skipped) })
        }
    }
    let port = Arc::new(Shows(Mutex::default()));
    let queue = CardQueue::new(port.clone());
    let reply =
        pollster::block_on(queue.present_with(card("c1"), |card| card.expires_at = Some(7)));
    assert_eq!(reply, Ok(Reply::Skipped));
    let shown = port.0.lock().expect("shown").take().expect("a card");
    assert_eq!(shown.expires_at, Some(7));
}
