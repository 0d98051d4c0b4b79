//! What is known of the line that an editor has on the screen.

use std::{
    borrow::Cow,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use rustyline::{
    Context, Helper, completion::Completer, highlight::Highlighter, hint::Hinter,
    validate::Validator,
};

use crate::lock;

/// So long an editor may take to draw its line.
const DRAWS: Duration = Duration::from_millis(250);

/// A clone is the same.
#[derive(Clone, Default)]
pub(super) struct Drawn(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    drawn: Condvar,
}

#[derive(Default)]
struct State {
    /// What stood in the line when it was asked for.
    initial: String,
    /// When something else was typed.
    begun: Option<Instant>,
    times: u64,
}

impl Drawn {
    /// A line is asked for in which this stands.
    pub(super) fn begins(&self, initial: &str) {
        let mut state = lock(&self.0.state);
        initial.clone_into(&mut state.initial);
        state.begun = None;
    }

    /// When the line was begun, what stood in it before not counted.
    pub(super) fn begun(&self) -> Option<Instant> {
        lock(&self.0.state).begun
    }

    /// How many times a line was drawn.
    pub(super) fn times(&self) -> u64 {
        lock(&self.0.state).times
    }

    /// Waits until the line was drawn more often than so many times. It is no fault where it is not.
    pub(super) fn wait_after(&self, times: u64) {
        let state = lock(&self.0.state);
        let _ = self.0.drawn.wait_timeout_while(state, DRAWS, |state| state.times <= times);
    }
}

impl Helper for Drawn {}

impl Hinter for Drawn {
    type Hint = String;

    /// Hints nothing: it is called with each key.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        let mut state = lock(&self.0.state);
        match line.is_empty() || line == state.initial {
            true => state.begun = None,
            false => {
                state.begun.get_or_insert_with(Instant::now);
            }
        }
        None
    }
}

impl Highlighter for Drawn {
    /// Changes nothing: it is called whenever the line is drawn.
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        lock(&self.0.state).times += 1;
        self.0.drawn.notify_all();
        Cow::Borrowed(prompt)
    }
}

impl Completer for Drawn {
    type Candidate = String;
}

impl Validator for Drawn {}
