//! One card at a time.

use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use crate::{BoxFuture, Card, CardError, CardPort, Reply};

/// Decorates a port so that it shows one card at a time, first in, first out.
///
/// Needs no runtime: waiting cards hold wakers, so the queue works on any executor. A card whose
/// future is dropped leaves the queue, wherever it stood.
#[derive(Clone)]
pub struct CardQueue {
    port: Arc<dyn CardPort>,
    line: Arc<Mutex<Line>>,
}

#[derive(Default)]
struct Line {
    next_ticket: u64,
    waiting: VecDeque<(u64, Option<Waker>)>,
}

impl CardQueue {
    /// A queue before this port.
    #[must_use]
    pub fn new(port: Arc<dyn CardPort>) -> Self {
        Self { port, line: Arc::default() }
    }

    /// Shows a card in its turn and calls `shown` when it is up, which is when a timer begins.
    ///
    /// # Errors
    ///
    /// The port's, and an answer that does not fit the card.
    pub async fn present_with(
        &self,
        card: Card,
        shown: impl FnOnce() + Send,
    ) -> Result<Reply, CardError> {
        let place = Place::take(&self.line);
        place.turn().await;
        shown();
        let reply = self.port.present(card.clone().for_person()).await?;
        card.check(&reply)?;
        Ok(reply)
    }
}

impl CardPort for CardQueue {
    fn connected(&self) -> bool {
        self.port.connected()
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        Box::pin(self.present_with(card, || {}))
    }
}

impl std::fmt::Debug for CardQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CardQueue")
            .field("waiting", &lock(&self.line).waiting.len())
            .finish_non_exhaustive()
    }
}

/// A place in the line, given up when it is dropped.
struct Place {
    ticket: u64,
    line: Arc<Mutex<Line>>,
}

impl Place {
    fn take(line: &Arc<Mutex<Line>>) -> Self {
        let mut state = lock(line);
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back((ticket, None));
        drop(state);
        Self { ticket, line: Arc::clone(line) }
    }

    fn turn(&self) -> impl Future<Output = ()> + use<'_> {
        poll_fn(|cx| {
            let mut line = lock(&self.line);
            match line.waiting.iter().position(|(ticket, _)| *ticket == self.ticket) {
                Some(0) | None => Poll::Ready(()),
                Some(place) => {
                    line.waiting[place].1 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut line = lock(&self.line);
        line.waiting.retain(|(ticket, _)| *ticket != self.ticket);
        if let Some(waker) = line.waiting.front_mut().and_then(|(_, waker)| waker.take()) {
            drop(line);
            waker.wake();
        }
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}
