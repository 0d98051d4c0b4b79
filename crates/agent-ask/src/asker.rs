//! One question, from its card to its answer.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agent_tool_core::{Card, CardError, CardPort, CardQueue, Context, Reply, ToolError, caught};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::{
    Answer, Question, card, error,
    unanswered::{Memory, Unanswered},
};

/// How long a person has for an answer unless the host says otherwise, from when the card goes up.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(15 * 60);

/// So long after a person touched a card no other touch is looked for: they come with each key.
const TOUCHES_APART: Duration = Duration::from_secs(1);

/// The place in which a run's cards are shown, by the name that the host has for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conversation(Arc<str>);

impl Conversation {
    /// The conversation of this id.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id as the host gave it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0
    }
}

/// Asks the person of one run. A clone is cheap and means the same person.
///
/// It is made of both things without which nobody can be asked: the run's queue of cards, which
/// permissions use too, and the conversation in which they are shown.
#[derive(Clone)]
pub struct Asker {
    inner: Arc<Inner>,
}

struct Inner {
    cards: CardQueue,
    conversation: Conversation,
    limit: Option<Duration>,
    asked: AtomicU64,
    unanswered: Memory,
}

impl Asker {
    /// An asker that waits [`ANSWER_WITHIN`].
    #[must_use]
    pub fn new(cards: CardQueue, conversation: Conversation) -> Self {
        Self::with_time(cards, conversation, ANSWER_WITHIN)
    }

    /// An asker that waits so long for an answer, or for as long as it takes where the time is zero.
    #[must_use]
    pub fn with_time(cards: CardQueue, conversation: Conversation, time: Duration) -> Self {
        let limit = (!time.is_zero()).then_some(time);
        let (asked, unanswered) = (AtomicU64::new(0), Memory::default());
        Self { inner: Arc::new(Inner { cards, conversation, limit, asked, unanswered }) }
    }

    /// The conversation in which the cards are shown.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.inner.conversation
    }

    /// Shows the question when its turn comes and waits for the answer. Dropping the future withdraws
    /// the card. Needs a tokio runtime with a clock.
    ///
    /// A question of the run that was skipped or not answered in time is not shown again: it has the
    /// same outcome at once.
    ///
    /// # Errors
    ///
    /// `invalid_question` where nobody could answer it, `nobody_connected`, `timed_out`,
    /// `card_closed` where the card went away, and `no_usable_answer` where the port failed or its
    /// answer does not fit. None of them is an answer.
    pub async fn ask(&self, question: Question, cx: &Context) -> Result<Answer, ToolError> {
        let question = question.checked()?;
        if let Some(outcome) = self.inner.unanswered.outcome(&question) {
            return outcome;
        }
        let wait = self.inner.wait(&question, cx);
        match caught(wait).await.unwrap_or_else(|panic| Err(port_panicked(&panic))) {
            Ok(Some(answer)) => {
                if answer == Answer::Skipped {
                    self.inner.unanswered.note(&question, Unanswered::Skipped);
                }
                Ok(answer)
            }
            Ok(None) => {
                self.inner.unanswered.note(&question, Unanswered::TimedOut);
                Err(error::timed_out(self.inner.limit.unwrap_or_default()))
            }
            Err(error) => Err(error),
        }
    }
}

impl Inner {
    /// The answer, or none where the time ran out.
    async fn wait(&self, question: &Question, cx: &Context) -> Result<Option<Answer>, ToolError> {
        if !self.cards.connected() {
            return Err(error::nobody_connected());
        }
        let id = format!("question_{}", self.asked.fetch_add(1, Ordering::Relaxed) + 1);
        match self.present(&id, card::card(&id, question, cx)).await {
            None => Ok(None),
            Some(Err(_)) if !self.cards.connected() => Err(error::nobody_connected()),
            Some(Err(why)) => Err(error::no_usable_answer(&why.to_string())),
            Some(Ok(reply)) => match card::answer(question, reply) {
                Some(answer) => Ok(Some(answer)),
                None if !self.cards.connected() => Err(error::nobody_connected()),
                None => Err(error::closed()),
            },
        }
    }

    /// Shows the card and gives back what came, or none where the time ran out. An answer that is
    /// there at the last moment counts.
    async fn present(&self, id: &str, card: Card) -> Option<Result<Reply, CardError>> {
        let up = Notify::new();
        let mut reply = pin!(self.cards.present_with(card, |card| {
            card.expires_at = self.limit.and_then(expiry);
            up.notify_one();
        }));
        let mut too_late = pin!(self.too_late(id, &up));
        let first = poll_fn(|cx| match reply.as_mut().poll(cx) {
            Poll::Ready(reply) => Poll::Ready(Some(reply)),
            Poll::Pending => too_late.as_mut().poll(cx).map(|()| None),
        });
        let reply = first.await;
        if reply.is_none() {
            // The card is still up: the port is told before it is dropped.
            self.cards.withdrawn(id, &self.why_withdrawn());
        }
        reply
    }

    /// Ends when the person was not seen for so long after the card went up.
    async fn too_late(&self, id: &str, up: &Notify) {
        let Some(limit) = self.limit else { return std::future::pending().await };
        up.notified().await;
        while timeout(limit, self.cards.touched(id)).await.is_ok() {
            sleep(TOUCHES_APART.min(limit)).await;
        }
    }

    fn why_withdrawn(&self) -> String {
        let limit = error::in_words(self.limit.unwrap_or_default());
        format!(
            "no answer came within {limit}, so the agent went on with an assumption; an answer no longer reaches it"
        )
    }
}

/// When a time that begins now runs out, in milliseconds since the Unix epoch.
fn expiry(time: Duration) -> Option<u64> {
    let at = SystemTime::now().checked_add(time)?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(at.as_millis()).ok()
}

fn port_panicked(panic: &str) -> ToolError {
    error::no_usable_answer(&format!("what shows the cards has a defect: {panic}"))
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker")
            .field("conversation", &self.inner.conversation)
            .field("limit", &self.inner.limit)
            .field("cards", &self.inner.cards)
            .finish_non_exhaustive()
    }
}
