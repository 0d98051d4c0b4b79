//! Cards in the conversation: answered at the prompt that they bring up once nobody types or, within a line, by `/answer`.

mod gone;
mod pause;
mod shown;

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use agent_loop::Stop;
use agent_tool_core::{BoxFuture, CallId, Card, CardError, CardKind, CardPort, Reply, Secrets};
use tokio::sync::{Notify, oneshot};

use self::{
    gone::Gone,
    pause::{BEGUN_BEFORE, Before, Waited},
    shown::{LOOK, Up},
};
use super::{
    editor::{For, Line, LineEditor},
    saved::Stage,
    screen::Screen,
    typed::{Command, Typed},
};
use crate::{
    answers::read_answer,
    edge, lock,
    visible::{readable, without_keys},
};

/// What is said of a command that is typed at a card.
const NO_ANSWER: &str = "that is a command and no answer, and here only /answer and what looks are done; answer the card first, with // where the answer itself begins with /";

/// What is said behind a call that was opened at a card.
const WAITS: &str = "the card above waits for an answer";

/// What whoever asked is told where Ctrl-C was pressed at its card.
const INTERRUPTED: &str = "the person pressed Ctrl-C at the card, which interrupted the step: they said neither yes nor no";

/// The same where the input ended, such as by Ctrl-D.
const LEFT: &str =
    "the person left at the card, which interrupted the step: they said neither yes nor no";

/// The same for a call of the agent's whose card was not up yet.
const UNSEEN: &str =
    "the person interrupted the step before this card came up: they said neither yes nor no";

/// The cards of a conversation. A clone is the same.
#[derive(Clone)]
pub(crate) struct ChatCards {
    inner: Arc<Inner>,
}

struct Inner {
    editor: LineEditor,
    screen: Screen,
    secrets: Secrets,
    /// Whether the model is at work, so that nobody types.
    at_work: AtomicBool,
    /// Somebody pressed Ctrl-C at a card.
    interrupted: Notify,
    /// Ends the turn: set before a card is answered, so that nothing begins behind it.
    stop: Mutex<Stop>,
    /// Whether the input ended at a card.
    left: AtomicBool,
    /// Whether the agent's cards are not shown any more, since the turn ends.
    refuses: AtomicBool,
    /// Who may read lines: a card until it is answered, or the conversation.
    reads: tokio::sync::Mutex<()>,
    waiting: Mutex<Option<Waiting>>,
    /// Where cards are kept of which a part is shown, and how many there are.
    folder: Mutex<Option<PathBuf>>,
    kept: AtomicUsize,
    asking: Mutex<Asking>,
    /// The call with whose result the turn ends, since Ctrl-C was pressed at its card.
    ends_with: Mutex<Option<CallId>>,
    /// Shows a call, the last one without a number.
    opens: Mutex<Option<Opens>>,
    /// What a worker of an id was spawned for.
    briefs: Mutex<Option<Briefs>>,
    /// How many cards wait behind the one that is up.
    counts: Mutex<Option<Counts>>,
    /// Notes that a call of the agent's waits for leave, and that it does not any more.
    stages: Mutex<Option<Arc<Stages>>>,
    /// The calls whose permission was asked for: what they would do was shown.
    shown: Mutex<HashSet<CallId>>,
    /// The card that is up.
    up: Mutex<Option<Up>>,
    /// The card of which it was said why it goes away.
    explained: Mutex<Option<String>>,
}

/// Whether a card of the agent's waits until nobody types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Asking {
    #[default]
    Not,
    Waits,
    /// Ctrl-C was pressed meanwhile.
    Interrupted,
}

type Opens = Box<dyn Fn(Option<usize>) + Send>;

type Briefs = Box<dyn Fn(&str) -> Option<Arc<str>> + Send>;

type Counts = Box<dyn Fn() -> usize + Send>;

type Stages = dyn Fn(&CallId, Stage) + Send + Sync;

/// A call that waits for leave. However it is told to go on, it may act from then on.
struct WaitsForLeave {
    notes: Arc<Stages>,
    call: CallId,
}

impl Drop for WaitsForLeave {
    fn drop(&mut self) {
        (self.notes)(&self.call, Stage::Begun);
    }
}

/// A card that came up while somebody typed.
struct Waiting {
    card: Card,
    answer: oneshot::Sender<Reply>,
    shown: Instant,
}

impl ChatCards {
    /// Cards that show none of these values.
    pub(crate) fn new(editor: LineEditor, screen: Screen, secrets: Secrets) -> Self {
        let inner = Inner {
            editor,
            screen,
            secrets,
            at_work: AtomicBool::new(false),
            interrupted: Notify::new(),
            stop: Mutex::default(),
            left: AtomicBool::new(false),
            refuses: AtomicBool::new(false),
            reads: tokio::sync::Mutex::new(()),
            waiting: Mutex::new(None),
            folder: Mutex::new(None),
            kept: AtomicUsize::new(0),
            asking: Mutex::default(),
            ends_with: Mutex::new(None),
            opens: Mutex::new(None),
            briefs: Mutex::new(None),
            counts: Mutex::new(None),
            stages: Mutex::new(None),
            shown: Mutex::default(),
            up: Mutex::default(),
            explained: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Says that a turn begins or ends.
    pub(crate) fn at_work(&self, at_work: bool) {
        self.inner.at_work.store(at_work, Ordering::SeqCst);
        *lock(&self.inner.asking) = Asking::Not;
        *lock(&self.inner.ends_with) = None;
        self.inner.refuses.store(false, Ordering::SeqCst);
    }

    /// Has Ctrl-C and the end of the input at a card end the turn by this, before its call goes on.
    pub(crate) fn stops(&self, stop: &Stop) {
        *lock(&self.inner.stop) = stop.clone();
    }

    /// Whether the person left at a card, by the end of the input.
    pub(crate) fn is_left(&self) -> bool {
        self.inner.left.load(Ordering::SeqCst)
    }

    /// Has the agent's cards that were not up yet refused, since the turn ends: then it is known that their calls did not run.
    pub(crate) fn refuse_unseen(&self) {
        self.inner.refuses.store(true, Ordering::SeqCst);
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
        let Some(Waiting { card, answer, shown }) = waiting.take() else {
            return Err("no card waits for an answer".to_owned());
        };
        let for_this = self.inner.editor.ahead().is_said_since(shown);
        let read = match for_this {
            true => read_answer(&card, typed),
            false => Err(BEGUN_BEFORE.to_owned()),
        };
        match read {
            Ok(reply) => {
                let said = answered(&card, &reply);
                answer
                    .send(reply)
                    .map(|()| said)
                    .map_err(|_| "that card is gone: the run went on without an answer".to_owned())
            }
            Err(hint) => {
                *waiting = Some(Waiting { card, answer, shown });
                Err(hint)
            }
        }
    }

    /// The next line of the conversation. A card that is up is answered first: no line is taken for the other's.
    pub(crate) async fn line_of_conversation(&self, prompt: &str) -> Line {
        let inner = &self.inner;
        let _reads = inner.reads.lock().await;
        if let Some(line) = inner.editor.ahead().take_line() {
            inner.screen.line(&format!("{prompt}{}", readable(&line)));
            return Line::Text(line);
        }
        inner.editor.line(prompt, For::Conversation, inner.screen.typing()).await
    }

    /// Asks at a prompt of the card's own; none where the turn ended before there was one.
    async fn ask_here(&self, card: &Card) -> Option<Result<Reply, CardError>> {
        let inner = &self.inner;
        let _reads = inner.reads.lock().await;
        if inner.refuses.load(Ordering::SeqCst) && card.asked_by.is_empty() {
            *lock(&inner.ends_with) = Some(card.call_id.clone());
            return Some(Err(CardError::new(UNSEEN)));
        }
        let mut before = Before::now(inner.editor.ahead());
        inner.show(card);
        let mut gone = Gone::unless_answered(inner, card);
        let reply = loop {
            match self.until_nobody_types(card, &before).await {
                Waited::Free => {}
                Waited::Answered(reply) => break Some(Ok(reply)),
                Waited::Interrupted => break Some(Err(self.interrupt(card, INTERRUPTED))),
                Waited::TurnEnded => break None,
            }
            match inner.line_at(before.asked).await {
                Line::Text(typed) => match self.read_line(card, &typed) {
                    Ok(reply) => break Some(Ok(reply)),
                    Err(hint) => {
                        inner.screen.aside(&hint);
                        before.asked = Some(Instant::now());
                    }
                },
                Line::Begun => {}
                Line::Interrupted | Line::ThrownAway => {
                    break Some(Err(self.interrupt(card, INTERRUPTED)));
                }
                Line::End => {
                    inner.left.store(true, Ordering::SeqCst);
                    break Some(Err(self.interrupt(card, LEFT)));
                }
            }
        };
        gone.answered = true;
        reply
    }

    /// Ends the turn for Ctrl-C at a card: before the card is answered, so that no call behind it begins. A call of the agent's
    /// own has its result first: it is known that it did not run.
    fn interrupt(&self, card: &Card, why: &str) -> CardError {
        lock(&self.inner.stop).set();
        self.refuse_unseen();
        match card.asked_by.is_empty() {
            true => *lock(&self.inner.ends_with) = Some(card.call_id.clone()),
            false => self.inner.interrupted.notify_one(),
        }
        CardError::new(why)
    }

    /// Takes Ctrl-C for a card of the agent's that waits until nobody types; says whether there is one.
    pub(crate) fn interrupts_asking(&self) -> bool {
        let asking = *lock(&self.inner.asking);
        if asking == Asking::Waits {
            *lock(&self.inner.asking) = Asking::Interrupted;
        }
        asking == Asking::Waits
    }

    /// Notes that a call has its result.
    pub(crate) fn finished(&self, call: &CallId) {
        let mut ends_with = lock(&self.inner.ends_with);
        if ends_with.as_ref() == Some(call) {
            *ends_with = None;
            self.inner.interrupted.notify_one();
        }
    }

    /// Reads what was typed at a card's own prompt. A command is never an answer.
    fn read_line(&self, card: &Card, typed: &str) -> Result<Reply, String> {
        let answer = match Typed::read(typed) {
            Typed::Command(Command::Answer(answer)) | Typed::Said(answer) => answer,
            Typed::Nothing => String::new(),
            Typed::Command(Command::Open(number)) => return Err(self.opened(number)),
            Typed::Command(command) if command.looks() => {
                // The turn does at once what only looks.
                self.inner.editor.ahead().say_next(typed.to_owned());
                return Err(WAITS.to_owned());
            }
            Typed::Command(_) | Typed::Unknown(_) => return Err(NO_ANSWER.to_owned()),
        };
        read_answer(card, &answer)
    }

    /// Shows the card that is up, with all that it has; says whether there is one.
    pub(crate) fn show_whole(&self) -> bool {
        self.inner.show_whole()
    }

    /// Shows a call while a card waits, or the card. Gives what is said then.
    fn opened(&self, number: Option<usize>) -> String {
        if number.is_none() && self.show_whole() {
            return WAITS.to_owned();
        }
        match lock(&self.inner.opens).as_ref() {
            Some(opens) => {
                opens(number);
                WAITS.to_owned()
            }
            None => NO_ANSWER.to_owned(),
        }
    }

    /// Has cards of which a part is shown kept in this folder.
    pub(crate) fn keeps_in(&self, folder: Option<PathBuf>) {
        *lock(&self.inner.folder) = folder;
    }

    /// Has this show calls that are asked for at a card.
    pub(crate) fn opens_by(&self, opens: impl Fn(Option<usize>) + Send + 'static) {
        *lock(&self.inner.opens) = Some(Box::new(opens));
    }

    /// Has this say on a worker's card what the worker was spawned for.
    pub(crate) fn briefs_by(&self, briefs: impl Fn(&str) -> Option<Arc<str>> + Send + 'static) {
        *lock(&self.inner.briefs) = Some(Box::new(briefs));
    }

    /// Has this say how many cards wait behind the one that is up.
    pub(crate) fn counts_by(&self, counts: impl Fn() -> usize + Send + 'static) {
        *lock(&self.inner.counts) = Some(Box::new(counts));
    }

    /// Has this note how far calls are that wait for leave.
    pub(crate) fn notes_stages_by(&self, notes: impl Fn(&CallId, Stage) + Send + Sync + 'static) {
        *lock(&self.inner.stages) = Some(Arc::new(notes));
    }

    /// Notes that a call of the agent's waits for leave, until what is given is dropped.
    fn waits_for_leave(&self, card: &Card) -> Option<WaitsForLeave> {
        let own = card.kind == CardKind::Permission && card.asked_by.is_empty();
        let notes = lock(&self.inner.stages).clone().filter(|_| own)?;
        notes(&card.call_id, Stage::AtCard);
        Some(WaitsForLeave { notes, call: card.call_id.clone() })
    }

    async fn ask_beside(&self, card: Card) -> Reply {
        let inner = &self.inner;
        let shown = Instant::now();
        inner.show(&card);
        inner.screen.line("type /answer and what you would answer, or /answer s to skip");
        let mut gone = Gone::unless_answered(inner, &card);
        let (answer, mut reply) = oneshot::channel();
        *lock(&inner.waiting) = Some(Waiting { card, answer, shown });
        let reply = loop {
            tokio::select! {
                reply = &mut reply => break reply.unwrap_or(Reply::Withdrawn),
                () = tokio::time::sleep(LOOK) => inner.tell_of_more(),
            }
        };
        gone.answered = true;
        reply
    }
}

fn answered(card: &Card, reply: &Reply) -> String {
    format!("answered: {} — {}", edge::title(&card.title), edge::title(&in_words(card, reply)))
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

impl CardPort for ChatCards {
    fn connected(&self) -> bool {
        true
    }

    fn present(&self, card: Card) -> BoxFuture<'_, Result<Reply, CardError>> {
        Box::pin(async move {
            let card = without_keys(card, &self.inner.secrets);
            let _waits = self.waits_for_leave(&card);
            if self.inner.at_work.load(Ordering::SeqCst)
                && let Some(reply) = self.ask_here(&card).await
            {
                return reply;
            }
            Ok(self.ask_beside(card).await)
        })
    }

    fn withdrawn(&self, card_id: &str, why: &str) {
        *lock(&self.inner.explained) = Some(card_id.to_owned());
        self.inner.screen.aside(&format!("the card is gone: {}", readable(why)));
    }
}
