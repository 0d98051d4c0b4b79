//! The line editor: one line at a time, on a thread of its own, since reading a terminal blocks for as long as nobody types.

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use rustix::termios::{QueueSelector, tcflush};
use rustyline::{DefaultEditor, ExternalPrinter, error::ReadlineError};
use tokio::sync::oneshot;

use crate::style::{FAINT, in_style};

/// What came of asking for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// The input is over, such as by Ctrl-D.
    End,
}

/// What a line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// The conversation. It is kept for the next time.
    Conversation,
    /// A card. What was typed before it is no answer to it.
    Card,
}

/// Asks for lines. A clone asks the same terminal, in turn.
#[derive(Clone)]
pub(crate) struct LineEditor {
    wishes: mpsc::Sender<Wish>,
    above: Above,
}

struct Wish {
    prompt: String,
    purpose: For,
    answer: oneshot::Sender<Line>,
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
        thread::spawn(move || read_lines(editor, &asked, history.as_deref()));
        Ok(Self { wishes, above })
    }

    /// The next line.
    pub(crate) async fn line(&self, prompt: &str, purpose: For) -> Line {
        let (answer, line) = oneshot::channel();
        let wish = Wish { prompt: prompt.to_owned(), purpose, answer };
        match self.wishes.send(wish) {
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

fn read_lines(
    mut editor: DefaultEditor,
    wishes: &mpsc::Receiver<Wish>,
    history: Option<&std::path::Path>,
) {
    while let Ok(wish) = wishes.recv() {
        if wish.answer.is_closed() {
            continue;
        }
        if wish.purpose == For::Card && io::stdin().is_terminal() {
            let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        }
        let line = match editor.readline(&wish.prompt) {
            Ok(text) => Line::Text(text),
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        };
        if let (Line::Text(text), For::Conversation) = (&line, wish.purpose)
            && !text.trim().is_empty()
            && editor.add_history_entry(text).is_ok()
            && let Some(history) = history
        {
            let _ = editor.append_history(history);
        }
        let ended = line == Line::End;
        if wish.answer.send(line).is_err() {
            // A card that went away while its answer was typed.
            crate::style::remark(in_style(
                FAINT,
                "that came too late: the run went on without it, and nothing was answered",
            ));
        }
        if ended {
            return;
        }
    }
}
