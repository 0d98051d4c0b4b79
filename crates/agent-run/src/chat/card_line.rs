//! The line that is typed at a card, which the card may leave: no reading of a line can be ended from outside. Its prompt is the card's
//! while that waits, then the conversation's, and the next card's where one comes up before anything is typed.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard},
};

use rustyline::{
    Context, Helper, completion::Completer, highlight::Highlighter, hint::Hinter,
    validate::Validator,
};

use crate::lock;

/// What stands in the place of a card's prompt once it is gone.
const MARK: &str = "›";

/// A clone is the same.
#[derive(Clone, Default)]
pub(super) struct CardLine(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    typed: String,
    said_to: SaidTo,
    /// Whether a line is read at all.
    reads: bool,
}

/// Whom a line is for that was typed where a card was that is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SaidTo {
    /// That card: it went away while its answer was typed.
    #[default]
    GoneCard,
    /// Nothing was typed yet when it went away.
    Conversation,
    /// Nor when the next one asked.
    NextCard,
}

impl CardLine {
    /// A line for a card is asked for.
    pub(super) fn begins(&self) {
        *self.state() = State { reads: true, ..State::default() };
    }

    /// The card is gone. Gives whether something was typed for it.
    pub(super) fn card_is_gone(&self) -> bool {
        let mut state = self.state();
        if state.typed.is_empty() {
            state.said_to = SaidTo::Conversation;
        }
        !state.typed.is_empty()
    }

    /// Another card asks. Gives whether the line is for that one from now on.
    pub(super) fn next_card(&self) -> bool {
        let mut state = self.state();
        let takes = state.reads && state.said_to == SaidTo::Conversation && state.typed.is_empty();
        if takes {
            state.said_to = SaidTo::NextCard;
        }
        takes
    }

    /// Whom the line was for, once it is there.
    pub(super) fn said_to(&self) -> SaidTo {
        std::mem::take(&mut *self.state()).said_to
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

impl Helper for CardLine {}

impl Hinter for CardLine {
    type Hint = String;

    /// Hints nothing: it is called with each key.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        line.clone_into(&mut self.state().typed);
        None
    }
}

impl Highlighter for CardLine {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        match self.state().said_to {
            // As wide as the one in whose place it stands.
            SaidTo::Conversation => {
                let width = prompt.chars().count();
                Cow::Owned(format!("{MARK:<width$}"))
            }
            SaidTo::GoneCard | SaidTo::NextCard => Cow::Borrowed(prompt),
        }
    }
}

impl Completer for CardLine {
    type Candidate = String;
}

impl Validator for CardLine {}
