//! The line editor: one line at a time, on a thread of its own, since reading a terminal blocks for as long as nobody types. While
//! nobody is asked for a line and the model is at work, the same thread takes what is typed ahead: one reader at a time.

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::{
    Config, Editor, ExternalPrinter,
    error::ReadlineError,
    history::{DefaultHistory, MemHistory},
};
use tokio::sync::oneshot;

use super::{
    ahead::Ahead,
    card_line::{CardLine, SaidTo},
    pace::Pace,
    typed::command_behind,
};
use crate::{
    lock,
    style::{FAINT, in_style, remark},
};

/// What is said of an answer to a card that went away.
const LATE: &str =
    "that card is gone, and nothing was answered; what you typed stands in the next prompt";

/// A card takes no plain keys until none was pressed for so long.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// What came of asking for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// None was asked for, since one for something else was begun.
    Begun,
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-C in a line that began with what was typed ahead: it is gone.
    ThrownAway,
    /// The input is over, such as by Ctrl-D.
    End,
}

/// What a line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// The conversation. It begins with what was typed ahead, and is kept for the next time.
    Conversation,
    /// A card. What was typed before it is no answer to it, and while somebody types it is not asked for.
    Card,
}

/// Asks for lines. A clone asks the same terminal, in turn.
#[derive(Clone)]
pub(crate) struct LineEditor {
    wishes: mpsc::Sender<Wish>,
    above: Arc<Printers>,
    ahead: Ahead,
    card_line: CardLine,
}

struct Wish {
    prompt: String,
    purpose: For,
    answer: oneshot::Sender<Line>,
    /// Dropped when nobody types any more, which may be after whoever asked is gone.
    during: Box<dyn Send>,
}

/// Where something is printed while somebody types: above the line. Each has a lock of its own: a print may wait for the editor whose it is.
#[derive(Default)]
struct Printers {
    conversation: Mutex<Option<Printer>>,
    /// While a line is typed at a card.
    card: Mutex<Option<Printer>>,
}

type Printer = Box<dyn ExternalPrinter + Send>;

impl Printers {
    fn print(&self, text: &str) -> bool {
        [&self.card, &self.conversation]
            .into_iter()
            .find_map(|printer| Some(lock(printer).as_mut()?.print(text.to_owned()).is_ok()))
            .unwrap_or_default()
    }
}

impl LineEditor {
    /// An editor with the lines of earlier conversations, which are kept in this file.
    pub(crate) fn start(history: Option<PathBuf>) -> rustyline::Result<Self> {
        let mut editor = Editor::<Pace, DefaultHistory>::new()?;
        let pace = Pace::default();
        editor.set_helper(Some(pace.clone()));
        if let Some(history) = &history {
            // There is none before the first conversation.
            let _ = editor.load_history(history);
        }
        let printer = editor.create_external_printer().ok();
        let conversation = Mutex::new(printer.map(|printer| Box::new(printer) as Printer));
        let above = Arc::new(Printers { conversation, ..Printers::default() });
        let (wishes, asked) = mpsc::channel();
        let (ahead, card_line) = (Ahead::new()?, CardLine::default());
        let mut reader = Reader {
            editor,
            pace,
            history,
            ahead: ahead.clone(),
            card_line: card_line.clone(),
            above: Arc::clone(&above),
            wishes: asked,
        };
        thread::spawn(move || reader.serve());
        Ok(Self { wishes, above, ahead, card_line })
    }

    /// Says that the card is gone at which a line is typed. Gives whether something was typed for it.
    pub(crate) fn card_is_gone(&self) -> bool {
        self.card_line.card_is_gone()
    }

    /// What is typed while the model is at work.
    pub(crate) fn ahead(&self) -> &Ahead {
        &self.ahead
    }

    /// Says that the model is at work from now on, or is not any more.
    pub(crate) fn at_work(&self, at_work: bool) {
        self.ahead.at_work(at_work);
        if at_work {
            // The thread waits for a wish.
            let (answer, _) = oneshot::channel();
            let (prompt, purpose) = (String::new(), For::Card);
            let _ = self.wishes.send(Wish { prompt, purpose, answer, during: Box::new(()) });
        }
    }

    /// The next line. What is given along is dropped when it is there, also where this future was dropped before.
    pub(crate) async fn line(
        &self,
        prompt: &str,
        purpose: For,
        during: impl Send + 'static,
    ) -> Line {
        let (answer, line) = oneshot::channel();
        let (prompt, during) = (prompt.to_owned(), Box::new(during));
        let wish = Wish { prompt, purpose, answer, during };
        let sent = self.wishes.send(wish);
        self.ahead.stop_reading();
        if purpose == For::Card && self.card_line.next_card() {
            self.print_above(NOTHING);
        }
        match sent {
            Ok(()) => line.await.unwrap_or(Line::End),
            Err(_) => Line::End,
        }
    }

    /// Prints above the line that is being typed; says whether that was possible.
    pub(crate) fn print_above(&self, text: &str) -> bool {
        self.above.print(text)
    }
}

/// Up and down again: has the line drawn anew.
const NOTHING: &str = "\u{1b}[A\n";

/// The only reader of the terminal.
struct Reader {
    /// For the conversation. What it read ahead of a line is the beginning of the next one.
    editor: Editor<Pace, DefaultHistory>,
    pace: Pace,
    history: Option<PathBuf>,
    ahead: Ahead,
    card_line: CardLine,
    above: Arc<Printers>,
    wishes: mpsc::Receiver<Wish>,
}

impl Reader {
    fn serve(&mut self) {
        loop {
            let wish = match self.wishes.try_recv() {
                Ok(wish) => wish,
                Err(mpsc::TryRecvError::Disconnected) => return,
                // A terminal that cannot be read so is read by the editor alone.
                Err(mpsc::TryRecvError::Empty)
                    if self.ahead.is_on() && self.ahead.read().is_ok() =>
                {
                    continue;
                }
                Err(mpsc::TryRecvError::Empty) => match self.wishes.recv() {
                    Ok(wish) => wish,
                    Err(_) => return,
                },
            };
            // Who asked is gone, or only woke this thread.
            if !wish.answer.is_closed() && self.answer(wish) == Line::End {
                return;
            }
        }
    }

    fn answer(&mut self, wish: Wish) -> Line {
        let Wish { prompt, purpose, answer, during } = wish;
        let line = match purpose {
            For::Conversation => self.line_of_conversation(&prompt),
            For::Card => {
                if io::stdin().is_terminal() {
                    let _ = self.ahead.drain();
                }
                if self.ahead.is_typed_at(PAUSE) {
                    drop(during);
                    let _ = answer.send(Line::Begun);
                    return Line::Begun;
                }
                self.line_at_card(&prompt)
            }
        };
        // Before whoever waits goes on, and asks for the next one.
        drop(during);
        // A card that went away while its answer was typed.
        match answer.send(line.clone()) {
            Err(Line::Text(text)) if !text.trim().is_empty() => return self.typed_for_nobody(text),
            Err(Line::Interrupted | Line::ThrownAway) => self.ahead.interrupt(),
            _ => {}
        }
        line
    }

    fn line_of_conversation(&mut self, prompt: &str) -> Line {
        loop {
            let initial = self.ahead.take_begun();
            self.pace.begins();
            let text = match self.editor.readline_with_initial(prompt, (&initial, "")) {
                Ok(text) => text,
                Err(ReadlineError::Interrupted) if !initial.is_empty() => return Line::ThrownAway,
                Err(ReadlineError::Interrupted) => return Line::Interrupted,
                Err(_) => return Line::End,
            };
            let at_once = self.pace.is_at_once();
            let with_earlier = text.strip_prefix(&initial).filter(|_| at_once);
            if self.ahead.is_unsaid()
                && let Some(line) = with_earlier
            {
                self.ahead.keep(&initial);
                self.ahead.keep(line);
                continue;
            }
            self.ahead.may_be_said();
            let line = match with_earlier.or_else(|| command_behind(&initial, &text)) {
                Some(line) => {
                    self.ahead.keep(&initial);
                    line.to_owned()
                }
                None => text,
            };
            self.remember(&line);
            return Line::Text(line);
        }
    }

    /// With an editor of its own: what stands behind the line that this one read is no answer to the next card.
    fn line_at_card(&mut self, prompt: &str) -> Line {
        let editor = Editor::with_history(Config::default(), MemHistory::new());
        let Ok(mut editor) = editor else { return Line::End };
        editor.set_helper(Some(self.card_line.clone()));
        let printer = editor.create_external_printer().ok();
        *lock(&self.above.card) = printer.map(|printer| Box::new(printer) as Printer);
        self.card_line.begins();
        let line = editor.readline(prompt);
        // Before its printer: a print that waits for it has the lock, and ends with it.
        drop(editor);
        *lock(&self.above.card) = None;
        match line {
            Ok(text) => Line::Text(text),
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        }
    }

    /// What was typed at the prompt of a card that is gone: for it, or for what came after it. Gives the line that was read last.
    fn typed_for_nobody(&mut self, text: String) -> Line {
        let said_to = self.card_line.said_to();
        let next = self.wishes.try_iter().find(|wish| !wish.answer.is_closed());
        let asks = next.as_ref().map(|wish| wish.purpose);
        match (said_to, next) {
            (SaidTo::NextCard, Some(wish)) if asks == Some(For::Card) => self.given(wish, text),
            (SaidTo::Conversation, Some(wish)) if asks == Some(For::Conversation) => {
                self.remember(&text);
                self.given(wish, text)
            }
            (SaidTo::Conversation, next) => {
                self.remember(&text);
                self.ahead.say_next(text.clone());
                next.map_or(Line::Text(text), |wish| self.answer(wish))
            }
            (SaidTo::GoneCard | SaidTo::NextCard, next) => {
                remark(in_style(FAINT, LATE));
                self.ahead.keep(&text);
                next.map_or(Line::Text(text), |wish| self.answer(wish))
            }
        }
    }

    fn given(&self, wish: Wish, text: String) -> Line {
        let line = Line::Text(text);
        drop(wish.during);
        if let Err(Line::Text(text)) = wish.answer.send(line.clone()) {
            self.ahead.keep(&text);
        }
        line
    }

    fn remember(&mut self, text: &str) {
        if !text.trim().is_empty()
            && self.editor.add_history_entry(text).is_ok()
            && let Some(history) = &self.history
        {
            let _ = self.editor.append_history(Path::new(history));
        }
    }
}

/// How the terminal is set, put back when this is dropped: a program that is ended by a signal ends in the middle of a line.
pub(crate) struct Modes(Option<Termios>);

impl Modes {
    pub(crate) fn of_now() -> Self {
        Self(tcgetattr(io::stdin()).ok())
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        if let Some(modes) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
        }
    }
}
