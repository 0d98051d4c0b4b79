//! A card that goes away.

use agent_tool_core::Card;

use super::Inner;
use crate::{edge, lock};

/// What is said of a card that nobody answered and nobody waits for any more.
const GONE: &str = "whoever asked does not wait for it any more";

/// What is said where an answer was begun to a card that is gone: the prompt stays until its line is ended.
const TYPED_FOR_IT: &str = "what you typed for it answers nothing; press Enter to go on";

/// The same where nothing was typed yet.
const SAID_NEXT: &str = "what you type now is what you say next";

/// A card that goes away leaves nothing to answer and, where nobody answered it, a sentence.
pub(super) struct Gone<'a> {
    inner: &'a Inner,
    id: String,
    title: String,
    /// Whether its own prompt is up, which stays until a line was typed.
    pub(super) prompted: bool,
    pub(super) answered: bool,
}

impl<'a> Gone<'a> {
    pub(super) fn unless_answered(inner: &'a Inner, card: &Card) -> Self {
        let (id, title) = (card.id.clone(), card.title.clone());
        Self { inner, id, title, prompted: false, answered: false }
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
        if !self.answered && self.prompted {
            let typed = self.inner.editor.card_is_gone();
            self.inner.screen.aside(if typed { TYPED_FOR_IT } else { SAID_NEXT });
        }
    }
}
