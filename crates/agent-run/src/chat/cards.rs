//! Cards in the conversation: answered at the prompt that they bring up or, where somebody types already, by `/answer`.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use agent_tool_core::{BoxFuture, Card, CardError, CardPort, Reply};
use tokio::sync::{Notify, oneshot};

use super::{
    editor::{For, Line, LineEditor},
    screen::Screen,
};
use crate::{
    style::{FAINT, in_style},
    terminal::{card_lines, read_answer},
};

/// What is typed at a card.
const PROMPT: &str = "answer> ";

/// The cards of a conversation. A clone is the same.
#[derive(Clone)]
pub(crate) struct ChatCards {
    inner: Arc<Inner>,
}

struct Inner {
    editor: LineEditor,
    screen: Screen,
    /// Whether the model is at work, so that nobody types.
    at_work: AtomicBool,
    /// Somebody pressed Ctrl-C at a card.
    interrupted: Notify,
    /// Who may read lines: a card until it is answered, or the conversation.
    reads: tokio::sync::Mutex<()>,
    waiting: Mutex<Option<Waiting>>,
}

/// A card that came up while somebody typed.
struct Waiting {
    card: Card,
    answer: oneshot::Sender<Reply>,
}

impl ChatCards {
    pub(crate) fn new(editor: LineEditor, screen: Screen) -> Self {
        let inner = Inner {
            editor,
            screen,
            at_work: AtomicBool::new(false),
            interrupted: Notify::new(),
            reads: tokio::sync::Mutex::new(()),
            waiting: Mutex::new(None),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Says that a turn begins or ends.
    pub(crate) fn at_work(&self, at_work: bool) {
        self.inner.at_work.store(at_work, Ordering::SeqCst);
    }

    /// Waits until somebody presses Ctrl-C at a card.
    pub(crate) async fn interrupted(&self) {
        self.inner.interrupted.notified().await;
    }

    /// Answers the card that waits, with what was typed behind `/answer`. Gives what is wrong with that.
    pub(crate) fn answer(&self, typed: &str) -> Result<(), String> {
        let mut waiting = self.inner.waiting();
        let Some(Waiting { card, answer }) = waiting.take() else {
            return Err("no card waits for an answer".to_owned());
        };
        match read_answer(&card, typed) {
            Ok(reply) => answer
                .send(reply)
                .map_err(|_| "that card is gone: the run went on without an answer".to_owned()),
            Err(hint) => {
                *waiting = Some(Waiting { card, answer });
                Err(hint.to_owned())
            }
        }
    }

    /// The next line of the conversation. A card that is up is answered first: no line is taken for the other's.
    pub(crate) async fn line_of_conversation(&self, prompt: &str) -> Line {
        let _reads = self.inner.reads.lock().await;
        self.inner.screen.end_line();
        self.inner.screen.typing(true);
        let line = self.inner.editor.line(prompt, For::Conversation).await;
        self.inner.screen.typing(false);
        line
    }

    async fn ask_here(&self, card: &Card) -> Reply {
        let inner = &self.inner;
        let _reads = inner.reads.lock().await;
        inner.screen.end_line();
        for line in card_lines(card) {
            inner.screen.line(&line);
        }
        let _types = Types::at(&inner.screen);
        loop {
            match inner.editor.line(PROMPT, For::Card).await {
                Line::Text(typed) => match read_answer(card, &typed) {
                    Ok(reply) => return reply,
                    Err(hint) => inner.screen.line(&in_style(FAINT, hint).to_string()),
                },
                Line::Interrupted => {
                    inner.interrupted.notify_one();
                    return Reply::Skipped;
                }
                Line::End => return Reply::Withdrawn,
            }
        }
    }

    async fn ask_beside(&self, card: Card) -> Reply {
        let inner = &self.inner;
        for line in card_lines(&card) {
            inner.screen.line(&line);
        }
        inner.screen.line("type /answer and what you would answer, or /answer s to skip");
        let (answer, reply) = oneshot::channel();
        *inner.waiting() = Some(Waiting { card, answer });
        let gone = Forget(inner);
        let reply = reply.await.unwrap_or(Reply::Withdrawn);
        drop(gone);
        reply
    }
}

impl Inner {
    fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody types at a card, until it is answered or goes away.
struct Types<'a>(&'a Screen);

impl<'a> Types<'a> {
    fn at(screen: &'a Screen) -> Self {
        screen.typing(true);
        Self(screen)
    }
}

impl Drop for Types<'_> {
    fn drop(&mut self) {
        self.0.typing(false);
    }
}

/// A card that goes away leaves nothing to answer.
struct Forget<'a>(&'a Inner);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        *self.0.waiting() = None;
    }
}

impl CardPort for ChatCards {
    fn connected(&self) -> bool {
        true
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        Box::pin(async move {
            Ok(match self.inner.at_work.load(Ordering::SeqCst) {
                true => self.ask_here(&card).await,
                false => self.ask_beside(card).await,
            })
        })
    }

    fn withdrawn(&self, _card_id: &str, why: &str) {
        self.inner
            .screen
            .line(&in_style(FAINT, format!("the card is withdrawn: {why}")).to_string());
    }
}
