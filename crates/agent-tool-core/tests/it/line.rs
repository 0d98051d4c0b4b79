use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Wake, Waker},
};

use agent_tool_core::Line;
use proptest::{collection::vec, prelude::*};

/// Counts how often it was woken.
#[derive(Default)]
struct Alarm(AtomicUsize);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn is_ready<F: Future>(future: Pin<&mut F>, waker: &Waker) -> bool {
    future.poll(&mut Context::from_waker(waker)).is_ready()
}

#[test]
fn the_order_is_that_of_joining_whoever_is_polled_first() {
    let line = Line::default();
    let (first, second) = (line.join(), line.join());
    assert!(!is_ready(pin!(second.turn()), Waker::noop()));
    assert!(is_ready(pin!(first.turn()), Waker::noop()));
    assert!(!is_ready(pin!(second.turn()), Waker::noop()), "the turn is held, not passed");
}

#[test]
fn whoever_is_next_is_woken_once_when_the_turn_is_given_up() {
    let line = Line::default();
    let (first, second, third) = (line.join(), line.join(), line.join());
    let alarms: [Arc<Alarm>; 2] = Default::default();
    let wakers = alarms.clone().map(Waker::from);
    assert!(!is_ready(pin!(second.turn()), &wakers[0]));
    assert!(!is_ready(pin!(third.turn()), &wakers[1]));
    let rung = || [0, 1].map(|n: usize| alarms[n].0.load(Ordering::SeqCst));
    drop(first);
    assert_eq!(rung(), [1, 0]);
    drop(second);
    assert_eq!(rung(), [1, 1]);
    assert!(is_ready(pin!(third.turn()), Waker::noop()));
}

#[test]
fn a_place_is_taken_at_once_only_where_nobody_is_in_the_line() {
    let line = Line::default();
    let first = line.try_join().expect("nobody is there");
    let waiting = line.join();
    assert!(line.try_join().is_none());
    drop(first);
    assert!(line.try_join().is_none(), "somebody waits, and has the turn now");
    drop(waiting);
    assert!(line.try_join().is_some());
}

proptest! {
    /// Some join and some leave, in any order: the turn is the oldest place's alone.
    #[test]
    fn exactly_the_oldest_place_has_the_turn(steps in vec(option_of_place(), 1..40)) {
        let line = Line::default();
        let mut places = Vec::new();
        for step in steps {
            match step {
                Some(index) if index < places.len() => drop(places.remove(index)),
                _ => places.push(line.join()),
            }
            prop_assert_eq!(line.places(), places.len());
            for (index, place) in places.iter().enumerate() {
                prop_assert_eq!(is_ready(pin!(place.turn()), Waker::noop()), index == 0);
            }
        }
    }
}

fn option_of_place() -> impl Strategy<Value = Option<usize>> {
    proptest::option::of(0..6_usize)
}
