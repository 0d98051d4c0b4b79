//! Persons as a test needs them.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use agent_tool_core::{BoxFuture, Card, CardError, CardPort, Effect, Reply};

/// A person who answers each card with the next effect of a script, and who leaves at its end.
#[derive(Debug, Default)]
pub struct ScriptedPerson {
    script: Mutex<VecDeque<Effect>>,
    seen: Mutex<Vec<Card>>,
}

impl ScriptedPerson {
    /// A person with this script.
    #[must_use]
    pub fn new(script: impl IntoIterator<Item = Effect>) -> Self {
        Self { script: Mutex::new(script.into_iter().collect()), seen: Mutex::default() }
    }

    /// The cards that the person was shown so far.
    #[must_use]
    pub fn seen(&self) -> Vec<Card> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl CardPort for ScriptedPerson {
    fn connected(&self) -> bool {
        true
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        let effect = self.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let option = card.options.iter().find(|option| effect.is_some() && option.effect == effect);
        let reply = option.map_or(Reply::Withdrawn, |option| Reply::option(&option.id));
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(card);
        Box::pin(async move { Ok(reply) })
    }
}

/// A port that nobody listens at. A card that reaches it is a fault of the test's subject.
#[derive(Clone, Copy, Debug, Default)]
pub struct NobodyThere;

impl CardPort for NobodyThere {
    fn connected(&self) -> bool {
        false
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        Box::pin(
            async move { Err(CardError::new(format!("card {} was shown to nobody", card.id))) },
        )
    }
}
