//! The part of a conversation that fits into a model's context.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Message,
    shorten::{Level, shorten},
    tokens,
};

/// Where something has to be cut, it is cut down to this share of the budget (in percent), so that
/// the beginning of the conversation then stays the same for many steps and a provider's cache of
/// it stays good.
const TARGET_PERCENT: usize = 75;

/// How far a conversation is shortened: for each level the number of messages, from the first one,
/// to which it is applied.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Window {
    marks: [usize; Level::ALL.len()],
    /// The messages as they are sent, made as they are needed.
    #[serde(skip)]
    shown: Vec<Shown>,
}

#[derive(Clone, Debug)]
struct Shown {
    message: Arc<Message>,
    tokens: usize,
}

/// A conversation as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    pub(crate) messages: Vec<Arc<Message>>,
    /// Tokens of everything that is sent, estimated.
    pub(crate) tokens: usize,
    /// What was left out just now, beyond what was left out before.
    pub(crate) shortened: Option<Shortened>,
}

/// What was left out of a conversation to make it fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortened {
    pub(crate) before: usize,
    pub(crate) messages: usize,
}

/// What may not be left out does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong {
    pub(crate) tokens: usize,
    pub(crate) budget: usize,
}

impl Window {
    pub(crate) fn is_whole(&self) -> bool {
        self.marks.iter().all(|mark| *mark == 0)
    }

    /// Forgets what was made, after messages changed their places.
    pub(crate) fn forget(&mut self) {
        self.shown.clear();
    }

    pub(crate) fn fit(
        &mut self,
        messages: &[Arc<Message>],
        fixed: usize,
        budget: usize,
    ) -> Result<Fitted, TooLong> {
        self.catch_up(messages);
        let before = self.total(fixed);
        let mut shortened = 0;
        if before > budget {
            shortened = self.cut(messages, fixed, budget);
        }
        let tokens = self.total(fixed);
        if tokens > budget {
            return Err(TooLong { tokens, budget });
        }
        Ok(Fitted {
            messages: self.shown.iter().map(|shown| Arc::clone(&shown.message)).collect(),
            tokens,
            shortened: (shortened > 0).then_some(Shortened { before, messages: shortened }),
        })
    }

    /// Applies level after level, each from the oldest message on, until there is room. The last
    /// answer and what follows it stay whole.
    fn cut(&mut self, messages: &[Arc<Message>], fixed: usize, budget: usize) -> usize {
        let target = budget.saturating_mul(TARGET_PERCENT) / 100;
        let last_answer =
            messages.iter().rposition(|message| matches!(**message, Message::Assistant(_)));
        let free = last_answer.unwrap_or(messages.len());
        let mut total = self.total(fixed);
        let mut shortened = 0;
        for (level, at) in Level::ALL.into_iter().zip(0..) {
            if total <= budget {
                break;
            }
            while self.marks[at] < free && total > target {
                let index = self.marks[at];
                self.marks[at] += 1;
                if let Some(less) = shorten(&messages[index], level) {
                    let shown = Shown::of(Arc::new(less));
                    total = total - self.shown[index].tokens + shown.tokens;
                    self.shown[index] = shown;
                    shortened += 1;
                }
            }
        }
        shortened
    }

    fn catch_up(&mut self, messages: &[Arc<Message>]) {
        self.shown.truncate(messages.len());
        for (index, message) in messages.iter().enumerate().skip(self.shown.len()) {
            let level = self.marks.iter().rposition(|mark| *mark > index);
            let less = level.and_then(|level| shorten(message, Level::ALL[level]));
            self.shown.push(Shown::of(less.map_or_else(|| Arc::clone(message), Arc::new)));
        }
    }

    fn total(&self, fixed: usize) -> usize {
        fixed + self.shown.iter().map(|shown| shown.tokens).sum::<usize>()
    }
}

impl Shown {
    fn of(message: Arc<Message>) -> Self {
        Self { tokens: tokens::of_message(&message), message }
    }
}

/// How far two conversations are shortened; what was made of it follows.
impl PartialEq for Window {
    fn eq(&self, other: &Self) -> bool {
        self.marks == other.marks
    }
}
