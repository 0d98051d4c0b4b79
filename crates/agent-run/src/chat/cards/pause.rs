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
        ahead::{Ahead, Written},
        editor::PAUSE,
        typed::{Command, Typed, command_behind},
    },
    edge, lock,
};

/// What is said where a card comes up within a line.
const BEGUN: &str = "what you type is no answer to this card: end or empty your line, and it asks; or type /answer and your answer";

/// What is said of an answer that was begun before its card came up.
pub(super) const BEGUN_BEFORE: &str = "that line was begun before this card came up and answers nothing: type it again where it is for this one";

/// A card is there for so long before it takes keys: what is typed sooner is for something else.
const SEEN: Duration = Duration::from_secs(1);

/// So often it is looked whether somebody types.
const LOOK: Duration = Duration::from_millis(50);

/// What there was when a card came up.
pub(super) struct Before {
    /// What was typed of the line that was begun.
    begun: String,
    shown: Instant,
    /// When its prompt was up last, and what was typed there was no answer.
    pub(super) asked: Option<Instant>,
}

impl Before {
    pub(super) fn now(ahead: &Ahead) -> Self {
        ahead.take_untold();
        Self { begun: ahead.shown().1, shown: Instant::now(), asked: None }
    }
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
    pub(super) async fn until_nobody_types(&self, card: &Card, before: &Before) -> Waited {
        if card.asked_by.is_empty() {
            *lock(&self.inner.asking) = Asking::Waits;
        }
        let waited = self.waited(card, before).await;
        *lock(&self.inner.asking) = Asking::Not;
        waited
    }

    async fn waited(&self, card: &Card, before: &Before) -> Waited {
        let inner = &self.inner;
        let ahead = inner.editor.ahead();
        let mut told = false;
        loop {
            if !inner.at_work.load(Ordering::SeqCst) {
                return Waited::TurnEnded;
            }
            if *lock(&inner.asking) == Asking::Interrupted {
                return Waited::Interrupted;
            }
            match ahead.take_where(|line| before.answer_in(line)) {
                Some(Answer::BegunBefore) => inner.screen.aside(BEGUN_BEFORE),
                Some(Answer::Typed { answer, kept }) => {
                    ahead.keep(&kept);
                    match read_answer(card, &answer) {
                        Ok(reply) => {
                            inner.screen.line(&answered(card, &reply));
                            return Waited::Answered(reply);
                        }
                        Err(hint) => inner.screen.aside(&hint),
                    }
                }
                None => {}
            }
            for line in ahead.take_untold() {
                if matches!(Typed::read(&line), Typed::Said(_)) {
                    let line = edge::quoted(&line);
                    inner.screen.aside(&format!("{line} answers nothing here and is said next"));
                }
            }
            if ahead.is_begun() && !told {
                inner.screen.aside(BEGUN);
                told = true;
            }
            if !ahead.is_typed_at(PAUSE, before.asked) && before.shown.elapsed() >= SEEN {
                return Waited::Free;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// A line that is `/answer`.
enum Answer {
    Typed {
        answer: String,
        /// What had been begun before it.
        kept: String,
    },
    /// It answers another card, or none.
    BegunBefore,
}

impl Before {
    /// The answer in a line that was ended since, or behind what had been begun before.
    fn answer_in(&self, line: &Written) -> Option<Answer> {
        let is_since = line.is_since(self.shown);
        let (command, kept) = match command_behind(&self.begun, &line.text) {
            Some(command) if !is_since => (command, &*self.begun),
            _ => (&*line.text, ""),
        };
        let Typed::Command(Command::Answer(answer)) = Typed::read(command) else { return None };
        Some(match is_since || !kept.is_empty() {
            true => Answer::Typed { answer, kept: kept.to_owned() },
            false => Answer::BegunBefore,
        })
    }
}
