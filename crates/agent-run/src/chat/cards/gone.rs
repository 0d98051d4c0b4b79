//! A card that goes away.

use agent_tool_core::Card;

use super::Inner;
use crate::{edge, lock, terminal::GONE};

/// A card that goes away leaves nothing to answer and, where nobody answered it, a sentence.
pub(super) struct Gone<'a> {
    inner: &'a Inner,
    id: String,
    title: String,
    pub(super) answered: bool,
}

impl<'a> Gone<'a> {
    pub(super) fn unless_answered(inner: &'a Inner, card: &Card) -> Self {
        let (id, title) = (card.id.clone(), card.title.clone());
        Self { inner, id, title, answered: false }
    }
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        *lock(&self.inner.waiting) = None;
        *lock(&self.inner.up) = None;
        let explained = lock(&self.inner.explained).take().is_some_and(|id| id == self.id);
        if !self.answered && !explained {
            self.inner
                .screen
                .aside(&format!("the card {} is gone: {GONE}", edge::title(&self.title)));
        }
    }
}
