//! How soon after its prompt a line is typed: one that the editor had read together with an earlier line is there at once.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use rustyline::{
    Context, Helper, completion::Completer, highlight::Highlighter, hint::Hinter,
    validate::Validator,
};

use crate::lock;

/// No person and no other program sees a prompt and types so soon.
const AT_ONCE: Duration = Duration::from_millis(1);

/// A clone is the same.
#[derive(Clone, Default)]
pub(super) struct Pace(Arc<Mutex<Times>>);

#[derive(Default)]
struct Times {
    drawn: Option<Instant>,
    first_key: Option<Instant>,
}

impl Pace {
    /// A line is asked for.
    pub(super) fn begins(&self) {
        *self.times() = Times::default();
    }

    /// Whether the line was begun at once.
    pub(super) fn is_at_once(&self) -> bool {
        let Times { drawn, first_key } = *self.times();
        let first_key = first_key.unwrap_or_else(Instant::now);
        drawn.is_some_and(|drawn| first_key.duration_since(drawn) < AT_ONCE)
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        lock(&self.0)
    }
}

impl Helper for Pace {}

impl Hinter for Pace {
    type Hint = String;

    /// Hints nothing: it is called when the prompt is drawn, and then with each key.
    fn hint(&self, _: &str, _: usize, _: &Context<'_>) -> Option<String> {
        let mut times = self.times();
        let now = Instant::now();
        if times.drawn.is_none() {
            times.drawn = Some(now);
        } else {
            times.first_key.get_or_insert(now);
        }
        None
    }
}

impl Highlighter for Pace {}

impl Completer for Pace {
    type Candidate = String;
}

impl Validator for Pace {}
