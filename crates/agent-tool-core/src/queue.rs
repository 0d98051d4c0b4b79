//! One card at a time.

use std::{fmt, sync::Arc};

use crate::{BoxFuture, Card, CardError, CardPort, Line, Reply};

/// Decorates a port so that it shows one card at a time, first in, first out.
///
/// A card whose future is dropped leaves the queue, wherever it stood.
#[derive(Clone)]
pub struct CardQueue {
    port: Arc<dyn CardPort>,
    line: Line,
}

impl CardQueue {
    /// A queue before this port.
    #[must_use]
    pub fn new(port: Arc<dyn CardPort>) -> Self {
        Self { port, line: Line::default() }
    }

    /// Counts the cards that wait behind the one that is up, whenever it is called. It may outlive the queue and its port.
    pub fn waiting(&self) -> impl Fn() -> usize + Send + Sync + use<> {
        let line = self.line.clone();
        move || line.places().saturating_sub(1)
    }

    /// Shows a card in its turn and calls `shown` when it goes up, which is when a timer begins and
    /// when the card's `expires_at` is known. Where nobody is connected any more when its turn
    /// comes, the card is not shown and comes back withdrawn.
    ///
    /// # Errors
    ///
    /// The port's, and an answer that does not fit the card.
    pub async fn present_with(
        &self,
        mut card: Card,
        shown: impl FnOnce(&mut Card) + Send,
    ) -> Result<Reply, CardError> {
        let waiting = self.waiting();
        let place = self.line.join();
        place.turn().await;
        if !self.port.connected() {
            return Ok(Reply::Withdrawn);
        }
        card.waiting = waiting();
        shown(&mut card);
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
        Box::pin(self.present_with(card, |_| {}))
    }

    fn withdrawn(&self, card_id: &str, why: &str) {
        self.port.withdrawn(card_id, why);
    }

    fn touched<'a>(&'a self, card_id: &'a str) -> BoxFuture<'a, ()> {
        self.port.touched(card_id)
    }
}

impl fmt::Debug for CardQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CardQueue").field("cards", &self.line.places()).finish_non_exhaustive()
    }
}
