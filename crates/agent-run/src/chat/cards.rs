//! Cards in the conversation: answered at the prompt that they bring up or, where somebody types already, by `/answer`.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_tool_core::{BoxFuture, CallId, Card, CardError, CardKind, CardPort, Reply, for_person};
use tokio::sync::{Notify, oneshot};

use super::{
    editor::{For, Line, LineEditor},
    screen::Screen,
};
use crate::terminal::{card_rows, read_answer};

/// What is typed at a card.
const PROMPT: &str = "answer> ";

/// What is said of a card that nobody answered and nobody waits for any more.
const GONE: &str = "whoever asked does not wait for it any more";

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
    /// The calls whose permission was asked for: what they would do was shown.
    shown: Mutex<HashSet<CallId>>,
    /// The card of which it was said why it goes away.
    explained: Mutex<Option<String>>,
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
            shown: Mutex::default(),
            explained: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Says that a turn begins or ends.
    pub(crate) fn at_work(&self, at_work: bool) {
        self.inner.at_work.store(at_work, Ordering::SeqCst);
        self.inner.editor.at_work(at_work);
    }

    /// Waits until somebody presses Ctrl-C at a card.
    pub(crate) async fn interrupted(&self) {
        self.inner.interrupted.notified().await;
    }

    /// Whether a card showed what this call would do.
    pub(crate) fn showed(&self, call: &CallId) -> bool {
        lock(&self.inner.shown).contains(call)
    }

    /// Answers the card that waits, with what was typed behind `/answer`. Gives what was answered, or what is wrong with it.
    pub(crate) fn answer(&self, typed: &str) -> Result<String, String> {
        let mut waiting = lock(&self.inner.waiting);
        let Some(Waiting { card, answer }) = waiting.take() else {
            return Err("no card waits for an answer".to_owned());
        };
        match read_answer(&card, typed) {
            Ok(reply) => {
                let said = format!("answered: {} — {}", card.title, in_words(&card, &reply));
                answer
                    .send(reply)
                    .map(|()| said)
                    .map_err(|_| "that card is gone: the run went on without an answer".to_owned())
            }
            Err(hint) => {
                *waiting = Some(Waiting { card, answer });
                Err(hint.to_owned())
            }
        }
    }

    /// The next line of the conversation. A card that is up is answered first: no line is taken for the other's.
    pub(crate) async fn line_of_conversation(&self, prompt: &str) -> Line {
        let inner = &self.inner;
        let _reads = inner.reads.lock().await;
        if let Some(line) = inner.editor.ahead().take_line() {
            inner.screen.line(&format!("{prompt}{}", for_person(&line)));
            return Line::Text(line);
        }
        inner.editor.line(prompt, For::Conversation, inner.screen.typing()).await
    }

    async fn ask_here(&self, card: &Card) -> Reply {
        let inner = &self.inner;
        let _reads = inner.reads.lock().await;
        inner.show(card);
        let mut gone = Gone::unless_answered(inner, card);
        gone.prompted = true;
        let reply = loop {
            match inner.editor.line(PROMPT, For::Card, inner.screen.typing()).await {
                Line::Text(typed) => match read_answer(card, &typed) {
                    Ok(reply) => break reply,
                    Err(hint) => inner.screen.aside(hint),
                },
                Line::Interrupted => {
                    inner.interrupted.notify_one();
                    break Reply::Skipped;
                }
                Line::End => break Reply::Withdrawn,
            }
        };
        gone.answered = true;
        reply
    }

    async fn ask_beside(&self, card: Card) -> Reply {
        let inner = &self.inner;
        inner.show(&card);
        inner.screen.line("type /answer and what you would answer, or /answer s to skip");
        let mut gone = Gone::unless_answered(inner, &card);
        let (answer, reply) = oneshot::channel();
        *lock(&inner.waiting) = Some(Waiting { card, answer });
        let reply = reply.await.unwrap_or(Reply::Withdrawn);
        gone.answered = true;
        reply
    }
}

impl Inner {
    fn show(&self, card: &Card) {
        if card.kind == CardKind::Permission {
            lock(&self.shown).insert(card.call_id.clone());
        }
        self.screen.rows(&card_rows(card, self.screen.columns()));
    }
}

/// What an answer says, as its person reads it.
fn in_words(card: &Card, reply: &Reply) -> String {
    match reply {
        Reply::Chosen { options, text } => {
            let chosen = card.options.iter().filter(|option| options.contains(&option.id));
            let words = chosen.map(|option| option.label.as_str()).chain(text.as_deref());
            words.collect::<Vec<_>>().join(", ")
        }
        _ => "skipped".to_owned(),
    }
}

/// A card that goes away leaves nothing to answer and, where nobody answered it, a sentence.
struct Gone<'a> {
    inner: &'a Inner,
    id: String,
    title: String,
    /// Whether its own prompt is up, which stays until a line was typed.
    prompted: bool,
    answered: bool,
}

impl<'a> Gone<'a> {
    fn unless_answered(inner: &'a Inner, card: &Card) -> Self {
        let (id, title) = (card.id.clone(), card.title.clone());
        Self { inner, id, title, prompted: false, answered: false }
    }
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        *lock(&self.inner.waiting) = None;
        let explained = lock(&self.inner.explained).take().is_some_and(|id| id == self.id);
        if !self.answered && !explained {
            self.inner.screen.aside(&format!("the card \"{}\" is gone: {GONE}", self.title));
        }
        if !self.answered && self.prompted {
            self.inner.screen.aside("press Enter to go on");
        }
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

    fn withdrawn(&self, card_id: &str, why: &str) {
        *lock(&self.inner.explained) = Some(card_id.to_owned());
        self.inner.screen.aside(&format!("the card is gone: {}", for_person(why)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
