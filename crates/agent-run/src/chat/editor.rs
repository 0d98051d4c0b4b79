//! The line editor: one line at a time, on a thread of its own, since reading a terminal blocks for as long as nobody types. While
//! nobody is asked for a line and the model is at work, the same thread takes what is typed ahead: one reader at a time.

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::{DefaultEditor, ExternalPrinter, error::ReadlineError};
use tokio::sync::oneshot;

use super::{ahead::Ahead, typed::command_behind};
use crate::style::{FAINT, in_style, remark};

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
    above: Above,
    ahead: Ahead,
}

struct Wish {
    prompt: String,
    purpose: For,
    answer: oneshot::Sender<Line>,
    /// Dropped when nobody types any more, which may be after whoever asked is gone.
    during: Box<dyn Send>,
}

/// Where something is printed while somebody types: above the line.
type Above = Arc<Mutex<Option<Box<dyn ExternalPrinter + Send>>>>;

impl LineEditor {
    /// An editor with the lines of earlier conversations, which are kept in this file.
    pub(crate) fn start(history: Option<PathBuf>) -> rustyline::Result<Self> {
        let mut editor = DefaultEditor::new()?;
        if let Some(history) = &history {
            // There is none before the first conversation.
            let _ = editor.load_history(history);
        }
        let printer = editor.create_external_printer().ok();
        let above = Arc::new(Mutex::new(
            printer.map(|printer| Box::new(printer) as Box<dyn ExternalPrinter + Send>),
        ));
        let (wishes, asked) = mpsc::channel();
        let ahead = Ahead::new()?;
        let mut reader = Reader { editor, history, ahead: ahead.clone() };
        thread::spawn(move || reader.serve(&asked));
        Ok(Self { wishes, above, ahead })
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
        match sent {
            Ok(()) => line.await.unwrap_or(Line::End),
            Err(_) => Line::End,
        }
    }

    /// Prints above the line that is being typed; says whether that was possible.
    pub(crate) fn print_above(&self, text: &str) -> bool {
        let mut above = self.above.lock().unwrap_or_else(PoisonError::into_inner);
        above.as_mut().is_some_and(|printer| printer.print(text.to_owned()).is_ok())
    }
}

/// The only reader of the terminal.
struct Reader {
    editor: DefaultEditor,
    history: Option<PathBuf>,
    ahead: Ahead,
}

impl Reader {
    fn serve(&mut self, wishes: &mpsc::Receiver<Wish>) {
        loop {
            let wish = match wishes.try_recv() {
                Ok(wish) => wish,
                Err(mpsc::TryRecvError::Disconnected) => return,
                // A terminal that cannot be read so is read by the editor alone.
                Err(mpsc::TryRecvError::Empty)
                    if self.ahead.is_on() && self.ahead.read().is_ok() =>
                {
                    continue;
                }
                Err(mpsc::TryRecvError::Empty) => match wishes.recv() {
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
        let initial = match purpose {
            For::Conversation => self.ahead.take_begun(),
            For::Card => {
                if io::stdin().is_terminal() {
                    let _ = self.ahead.drain();
                }
                if self.ahead.is_typed_at(PAUSE) {
                    drop(during);
                    let _ = answer.send(Line::Begun);
                    return Line::Begun;
                }
                String::new()
            }
        };
        let line = match self.editor.readline_with_initial(&prompt, (&initial, "")) {
            Ok(text) => match command_behind(&initial, &text) {
                Some(command) if purpose == For::Conversation => {
                    self.ahead.keep(&initial);
                    Line::Text(command.to_owned())
                }
                _ => Line::Text(text),
            },
            Err(ReadlineError::Interrupted) if !initial.is_empty() => Line::ThrownAway,
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        };
        // Before whoever waits goes on, and asks for the next one.
        drop(during);
        if let (Line::Text(text), For::Conversation) = (&line, purpose) {
            self.remember(text);
        }
        // A card that went away while its answer was typed.
        match answer.send(line.clone()) {
            Err(Line::Text(text)) if !text.trim().is_empty() => {
                remark(in_style(FAINT, LATE));
                self.ahead.keep(&text);
            }
            Err(Line::Interrupted | Line::ThrownAway) => self.ahead.interrupt(),
            _ => {}
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
