//! Turns for exclusive tools.

use std::{
    collections::{HashMap, VecDeque},
    future::{Future, poll_fn},
    sync::{Arc, Mutex},
    task::{Poll, Waker},
};

use crate::lock;

/// A line before each exclusive tool.
///
/// A place is taken when a call arrives, not when it has passed the gates: a call that waits for
/// a person keeps its place, so that a later call of the same session cannot overtake it. The
/// line holds tickets and wakers of its own because tokio's fair mutex enters its queue at a poll
/// that the cooperative budget may put off.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    lines: Mutex<HashMap<String, Arc<Mutex<Line>>>>,
}

#[derive(Debug, Default)]
struct Line {
    next_ticket: u64,
    waiting: VecDeque<(u64, Option<Waker>)>,
}

impl Turns {
    /// Joins the line before this tool.
    pub(crate) fn join(&self, tool: &str) -> Place {
        let line = self.line(tool);
        let ticket = lock(&line).enter();
        Place { ticket, line }
    }

    /// Takes the turn if nobody has it and nobody waits for it.
    pub(crate) fn try_join(&self, tool: &str) -> Option<Place> {
        let line = self.line(tool);
        let mut state = lock(&line);
        if !state.waiting.is_empty() {
            return None;
        }
        let ticket = state.enter();
        drop(state);
        Some(Place { ticket, line })
    }

    fn line(&self, tool: &str) -> Arc<Mutex<Line>> {
        let mut lines = lock(&self.lines);
        match lines.get(tool) {
            Some(line) => Arc::clone(line),
            None => Arc::clone(lines.entry(tool.to_owned()).or_default()),
        }
    }
}

impl Line {
    fn enter(&mut self) -> u64 {
        self.next_ticket += 1;
        self.waiting.push_back((self.next_ticket, None));
        self.next_ticket
    }
}

/// A place in a line, given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    ticket: u64,
    line: Arc<Mutex<Line>>,
}

impl Place {
    /// Waits until the place is the first.
    pub(crate) fn turn(&self) -> impl Future<Output = ()> + use<'_> {
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
