//! A card that comes up while somebody types waits until they pause: the rest of their line is no answer.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use agent_tool_core::{Card, Reply};

use super::{Asking, ChatCards, answered};
use crate::{
    answers::read_answer,
    chat::{
        editor::PAUSE,
        typed::{Command, Typed, command_behind},
    },
    edge, lock,
};

/// What is said where a card comes up within a line.
const BEGUN: &str = "what you type is no answer to this card: end or empty your line, and it asks; or type /answer and your answer";

/// A card is there for so long before it takes keys: what is typed sooner is for something else.
const SEEN: Duration = Duration::from_millis(300);

/// So often it is looked whether somebody types.
const LOOK: Duration = Duration::from_millis(50);

/// What there was when a card came up.
pub(super) struct Before {
    /// The lines typed ahead, and the one that was begun.
    pub(super) typed: (Vec<String>, String),
    pub(super) shown: Instant,
    /// Of how many lines it is known to the person that they are said next.
    pub(super) queued: usize,
}

/// What came of waiting until nobody types.
pub(super) enum Waited {
    Free,
    Answered(Reply),
    Interrupted,
    TurnEnded,
}

impl ChatCards {
    /// Waits while somebody types something else, which may be the rest of a line and is no answer. Only what is typed as
    /// `/answer` is one meanwhile.
    pub(super) async fn until_nobody_types(&self, card: &Card, before: &mut Before) -> Waited {
        if card.asked_by.is_empty() {
            *lock(&self.inner.asking) = Asking::Waits;
        }
        let waited = self.waited(card, before).await;
        *lock(&self.inner.asking) = Asking::Not;
        waited
    }

    async fn waited(&self, card: &Card, before: &mut Before) -> Waited {
        let inner = &self.inner;
        let ahead = inner.editor.ahead();
        let (lines, begun) = &before.typed;
        let mut told = false;
        loop {
            if !inner.at_work.load(Ordering::SeqCst) {
                return Waited::TurnEnded;
            }
            if *lock(&inner.asking) == Asking::Interrupted {
                return Waited::Interrupted;
            }
            if let Some((answer, kept)) =
                ahead.take_where(lines.len(), |line| answer_in(line, begun))
            {
                ahead.keep(kept);
                match read_answer(card, &answer) {
                    Ok(reply) => {
                        inner.screen.line(&answered(card, &reply));
                        return Waited::Answered(reply);
                    }
                    Err(hint) => inner.screen.aside(&hint),
                }
            }
            let (typed, _) = ahead.shown();
            for line in typed.iter().skip(before.queued) {
                if matches!(Typed::read(line), Typed::Said(_)) {
                    let line = edge::quoted(line);
                    inner.screen.aside(&format!("{line} answers nothing here and is said next"));
                }
            }
            before.queued = typed.len();
            if ahead.is_begun() && !told {
                inner.screen.aside(BEGUN);
                told = true;
            }
            if !ahead.is_typed_at(PAUSE) && before.shown.elapsed() >= SEEN {
                return Waited::Free;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// The answer in a line that is `/answer`, also behind what had been begun before it: that is given too, to be kept.
fn answer_in<'a>(line: &str, begun: &'a str) -> Option<(String, &'a str)> {
    let (command, kept) = match command_behind(begun, line) {
        Some(command) => (command, begun),
        None => (line, ""),
    };
    match Typed::read(command) {
        Typed::Command(Command::Answer(answer)) => Some((answer, kept)),
        _ => None,
    }
}
