//! A line in which each waits for its turn.

use std::{
    collections::VecDeque,
    fmt,
    future::{Future, poll_fn},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

/// A line: who joined first has the turn, and gives it up by dropping their [`Place`]. A clone
/// means the same line.
///
/// A place is taken when [`Line::join`] is called, not when a future is polled, so the order is
/// that of arrival whatever an executor polls first. Fair locks enter their queue at a poll, which
/// is why this is none of them. It needs no runtime.
///
/// ```
/// # use agent_tool_core::Line;
/// let line = Line::default();
/// let first = line.join();
/// let second = line.join();
/// pollster::block_on(first.turn());
/// assert!(line.try_join().is_none(), "somebody has the turn");
/// drop(first);
/// pollster::block_on(second.turn());
/// ```
#[derive(Clone, Default)]
pub struct Line {
    state: Arc<Mutex<State>>,
}

/// A place in a [`Line`], given up when it is dropped, wherever in the line it is.
#[must_use = "a place that is dropped is given up"]
pub struct Place {
    ticket: u64,
    line: Line,
}

#[derive(Default)]
struct State {
    next_ticket: u64,
    waiting: VecDeque<(u64, Option<Waker>)>,
}

impl Line {
    /// Takes the last place.
    pub fn join(&self) -> Place {
        self.enter(&mut self.lock())
    }

    /// Takes the first place, and with it the turn; none where anybody is in the line.
    #[must_use]
    pub fn try_join(&self) -> Option<Place> {
        let mut state = self.lock();
        state.waiting.is_empty().then(|| self.enter(&mut state))
    }

    /// How many are in the line, the one who has the turn included.
    #[must_use]
    pub fn places(&self) -> usize {
        self.lock().waiting.len()
    }

    fn enter(&self, state: &mut State) -> Place {
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back((ticket, None));
        Place { ticket, line: self.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Waits until everybody who joined before has left. From then on the place has the turn.
    pub fn turn(&self) -> impl Future<Output = ()> + use<'_> {
        poll_fn(|cx| {
            let mut state = self.line.lock();
            match state.waiting.iter().position(|(ticket, _)| *ticket == self.ticket) {
                Some(0) | None => Poll::Ready(()),
                Some(place) => {
                    state.waiting[place].1 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.line.lock();
        state.waiting.retain(|(ticket, _)| *ticket != self.ticket);
        let waker = state.waiting.front_mut().and_then(|(_, waker)| waker.take());
        drop(state);
        // Woken without the lock: a waker may run whatever it likes.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("places", &self.places()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}
