//! The host as the place where cards are shown.

use std::sync::{Arc, Mutex, MutexGuard};

use agent_tool_core::{BoxFuture, Card, CardError, CardPort, Reply};

use super::{
    peer::Peer,
    protocol::{CardReply, CardWithdrawn, PresentCard},
};
use crate::lock;

/// Shows cards through `card/present`, where the host said that it can.
#[derive(Clone, Debug)]
pub(crate) struct HostCards {
    peer: Peer,
    connected: bool,
    up: Arc<Mutex<Vec<(String, Why)>>>,
}

/// Why a card goes away, where its asker said so.
type Why = Option<String>;

impl HostCards {
    pub(crate) fn new(peer: Peer, capability: super::protocol::Capabilities) -> Self {
        Self { peer, connected: capability.cards, up: Arc::default() }
    }

    /// The ids of the cards that wait for an answer.
    pub(crate) fn up(&self) -> Vec<String> {
        self.lock().iter().map(|(id, _)| id.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, Why)>> {
        lock(&self.up)
    }
}

impl CardPort for HostCards {
    fn connected(&self) -> bool {
        self.connected
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        Box::pin(async move {
            let up = Up::new(self, &card.id);
            let answer = self.peer.request("card/present", &PresentCard { card }).get().await;
            up.answered();
            let answer = answer.map_err(|error| CardError::new(error.message))?;
            let CardReply { reply } = serde_json::from_value(answer).map_err(|error| {
                CardError::new(format!("the host's reply is no reply: {error}"))
            })?;
            Ok(reply)
        })
    }

    fn withdrawn(&self, card_id: &str, why: &str) {
        if let Some((_, reason)) = self.lock().iter_mut().find(|(id, _)| id == card_id) {
            *reason = Some(why.to_owned());
        }
    }
}

/// A card that is up. Dropped without an answer it is withdrawn, and the host is told.
struct Up<'a> {
    cards: &'a HostCards,
    id: String,
    answered: bool,
}

impl<'a> Up<'a> {
    fn new(cards: &'a HostCards, id: &str) -> Self {
        cards.lock().push((id.to_owned(), None));
        Self { cards, id: id.to_owned(), answered: false }
    }

    fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        let mut up = self.cards.lock();
        let place = up.iter().position(|(id, _)| *id == self.id);
        let reason = place.and_then(|place| up.remove(place).1);
        drop(up);
        if !self.answered {
            let why = reason.unwrap_or_else(|| "the call that asked was cancelled".to_owned());
            self.cards.peer.notify("card/withdrawn", &CardWithdrawn { id: self.id.clone(), why });
        }
    }
}

#[cfg(test)]
mod tests {
    use agent_tool_core::{CallId, CardKind};
    use serde_json::Value;
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    use super::*;
    use crate::serve::{lines::Outbox, protocol::Capabilities};

    /// The card goes up and away, and the host hears why.
    async fn heard(why: Option<&str>) -> Value {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (outbox, write) = Outbox::new(near);
        let writing = tokio::spawn(write);
        let capability = Capabilities { cards: true, ..Capabilities::default() };
        let cards = HostCards::new(Peer::new(outbox), capability);
        let card = Card::new(CardKind::Question, "card_1", CallId::new("call_1"), "Which?");
        let mut lines = BufReader::new(far).lines();
        {
            let mut up = cards.present(card);
            tokio::select! {
                biased;
                _ = &mut up => panic!("nobody answered"),
                _ = lines.next_line() => {}
            }
            assert_eq!(cards.up(), ["card_1"]);
            if let Some(why) = why {
                cards.withdrawn("card_1", why);
            }
        }
        assert_eq!(cards.up(), [""; 0]);
        let line = lines.next_line().await.expect("UTF-8").expect("a line");
        drop(cards);
        writing.abort();
        serde_json::from_str(&line).expect("JSON")
    }

    // spec: ASK-02
    #[tokio::test]
    async fn a_host_is_told_why_a_card_goes_away() {
        for (why, told) in [
            (Some("no answer came, so the agent went on"), "no answer came, so the agent went on"),
            (None, "the call that asked was cancelled"),
        ] {
            let message = heard(why).await;
            assert_eq!(message["method"], "card/withdrawn");
            assert_eq!(message["params"], serde_json::json!({"id": "card_1", "why": told}));
        }
    }
}
