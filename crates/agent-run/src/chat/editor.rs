//! The line editor: one line at a time, on a thread of its own, since reading a line blocks until it has ended.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use rustyline::{
    Cmd, ColorMode, Config, Editor, Event, ExternalPrinter, KeyCode, KeyEvent, Modifiers,
    error::ReadlineError,
    history::{DefaultHistory, History, MemHistory},
};
use tokio::sync::oneshot;

use super::{
    ahead::{Ahead, Written},
    drawn::Drawn,
    keyboard::{BREAK, Held, Keyboard, REDRAW},
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

/// Terminals with which the editor reads whole lines.
const WITHOUT_KEYS: [&str; 3] = ["dumb", "cons25", "emacs"];

/// What came of asking for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    /// None was asked for, since one for something else was begun or is there.
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
    /// A card. What was typed before it is no answer to it, and while somebody types it is not asked for. Keys from before this
    /// moment, where one is given, were for this card.
    Card(Option<Instant>),
}

/// What became of what was to be printed above a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Above {
    Printed,
    /// The line may end at any moment: it has to be printed once it did.
    Ends,
    /// The terminal has no lines above another one.
    Cannot,
}

/// Asks for lines. A clone asks the same terminal, in turn.
#[derive(Clone)]
pub(crate) struct LineEditor {
    wishes: mpsc::Sender<Wish>,
    above: Arc<Printers>,
    keyboard: Keyboard,
    ahead: Ahead,
    drawn: Drawn,
}

struct Wish {
    prompt: String,
    purpose: For,
    answer: oneshot::Sender<Line>,
    /// Dropped when nobody types any more, which may be after whoever asked is gone.
    during: Box<dyn Send>,
}

/// Where something is printed while somebody types: above the line.
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

/// The line of whoever does not wait for it any more is ended.
struct EndsLine<'a>(Option<&'a Keyboard>);

impl Drop for EndsLine<'_> {
    fn drop(&mut self) {
        if let Some(keyboard) = self.0 {
            keyboard.breaks();
        }
    }
}

impl LineEditor {
    /// An editor with the lines of earlier conversations, which are kept in this file. The terminal is as it was before once what is
    /// given too is dropped.
    pub(crate) fn start(history: Option<PathBuf>) -> rustyline::Result<(Self, Held)> {
        let ahead = Ahead::default();
        let has_keys = !std::env::var("TERM").is_ok_and(|term| {
            WITHOUT_KEYS.iter().any(|without| term.eq_ignore_ascii_case(without))
        });
        let (keyboard, held) = Keyboard::start(ahead.clone(), has_keys)?;
        let drawn = Drawn::default();
        let mut editor = editor(DefaultHistory::new(), &drawn)?;
        if let Some(history) = &history {
            // There is none before the first conversation.
            let _ = editor.load_history(history);
        }
        let printer = editor.create_external_printer().ok();
        let conversation = Mutex::new(printer.map(|printer| Box::new(printer) as Printer));
        let above = Arc::new(Printers { conversation, ..Printers::default() });
        let (wishes, asked) = mpsc::channel();
        let mut reader = Reader {
            editor,
            drawn: drawn.clone(),
            history,
            keyboard: keyboard.clone(),
            ahead: ahead.clone(),
            above: Arc::clone(&above),
            wishes: asked,
        };
        thread::spawn(move || reader.serve());
        Ok((Self { wishes, above, keyboard, ahead, drawn }, held))
    }

    /// What is typed while no line is read.
    pub(crate) fn ahead(&self) -> &Ahead {
        &self.ahead
    }

    /// Has a signal do what Ctrl-C does in the line that is read; says whether there is one.
    pub(crate) fn interrupts_line(&self) -> bool {
        self.keyboard.interrupts_line()
    }

    /// The next line. What is given along is dropped when it is there. Where this future is dropped before, the line is ended,
    /// and what is typed in it is kept.
    pub(crate) async fn line(
        &self,
        prompt: &str,
        purpose: For,
        during: impl Send + 'static,
    ) -> Line {
        let (answer, line) = oneshot::channel();
        let (prompt, during) = (prompt.to_owned(), Box::new(during));
        // Before the end of the line, it is closed who waits for it.
        let mut ends = EndsLine(Some(&self.keyboard));
        let line = async move { line.await.unwrap_or(Line::End) };
        let line = match self.wishes.send(Wish { prompt, purpose, answer, during }) {
            Ok(()) => line.await,
            Err(_) => Line::End,
        };
        ends.0 = None;
        line
    }

    /// Prints above the line that is being typed.
    pub(crate) fn print_above(&self, text: &str) -> Above {
        let is_read = self.keyboard.edits();
        let may_end = self.keyboard.may_end();
        if *may_end {
            return Above::Ends;
        }
        let times = self.drawn.times();
        if !self.above.print(text) {
            return Above::Cannot;
        }
        // The editor takes a key that ends its line before what is to be printed.
        if is_read {
            self.drawn.wait_after(times);
        }
        Above::Printed
    }
}

/// An editor that ends its line at a key that no keyboard has.
fn editor<H: History>(history: H, drawn: &Drawn) -> rustyline::Result<Editor<Drawn, H>> {
    // The keyboard has pastes marked; what is drawn is counted where colours are not wanted too.
    let config = Config::builder().bracketed_paste(false).color_mode(ColorMode::Forced).build();
    let mut editor = Editor::with_history(config, history)?;
    editor.set_helper(Some(drawn.clone()));
    for (key, command) in [(BREAK, Cmd::AcceptLine), (REDRAW, Cmd::Repaint)] {
        // Behind Escape as well.
        for modifiers in [Modifiers::NONE, Modifiers::ALT] {
            let key = KeyEvent(KeyCode::Char(key), modifiers);
            editor.bind_sequence(Event::from(key), command.clone());
        }
    }
    Ok(editor)
}

/// Reads one line after the other.
struct Reader {
    /// For the conversation.
    editor: Editor<Drawn, DefaultHistory>,
    drawn: Drawn,
    history: Option<PathBuf>,
    keyboard: Keyboard,
    ahead: Ahead,
    above: Arc<Printers>,
    wishes: mpsc::Receiver<Wish>,
}

impl Reader {
    fn serve(&mut self) {
        while let Ok(wish) = self.wishes.recv() {
            // Who asked may be gone.
            if !wish.answer.is_closed() && self.answer(wish) == Line::End {
                return;
            }
        }
    }

    fn answer(&mut self, wish: Wish) -> Line {
        let Wish { prompt, purpose, answer, during } = wish;
        let begins = self.keyboard.begins(|ahead| match purpose {
            For::Conversation => ahead.take_begun(),
            For::Card(since) => (!ahead.is_typed_at(PAUSE, since)).then(String::new),
        });
        let Some(initial) = begins else {
            drop(during);
            let _ = answer.send(Line::Begun);
            return Line::Begun;
        };
        // It may have gone away before the line was begun that it ends.
        let line = match purpose {
            _ if answer.is_closed() => Line::Text(initial),
            For::Conversation => self.line_of_conversation(&prompt, &initial),
            For::Card(_) => self.line_at_card(&prompt),
        };
        self.keyboard.line_is_over();
        if answer.is_closed() {
            self.typed_for_nobody(purpose, &line);
        }
        // Before whoever waits goes on, and asks for the next one.
        drop(during);
        let signals = self.keyboard.ended();
        if !answer.is_closed()
            && let Err(line) = answer.send(line.clone())
        {
            self.typed_for_nobody(purpose, &line);
        }
        signals.send();
        line
    }

    fn line_of_conversation(&mut self, prompt: &str, initial: &str) -> Line {
        self.drawn.begins(initial);
        let text = match self.editor.readline_with_initial(prompt, (initial, "")) {
            Ok(text) => text.replace(BREAK, ""),
            Err(ReadlineError::Interrupted) if !initial.is_empty() => return Line::ThrownAway,
            Err(ReadlineError::Interrupted) => return Line::Interrupted,
            Err(_) => return Line::End,
        };
        let begun = self.drawn.begun();
        let (text, begun) = match command_behind(initial, &text) {
            Some(command) => {
                self.ahead.keep(initial);
                (command.to_owned(), begun)
            }
            None if !initial.is_empty() && text.starts_with(initial) => (text, None),
            None => (text, begun),
        };
        self.remember(&text);
        self.ahead.says(Written { text: text.clone(), begun });
        Line::Text(text)
    }

    /// With an editor that has no earlier lines.
    fn line_at_card(&mut self, prompt: &str) -> Line {
        let Ok(mut editor) = editor(MemHistory::new(), &self.drawn) else { return Line::End };
        let printer = editor.create_external_printer().ok();
        *lock(&self.above.card) = printer.map(|printer| Box::new(printer) as Printer);
        self.drawn.begins("");
        let line = editor.readline(prompt);
        // Before its printer: a print that waits for it has the lock, and ends with it.
        drop(editor);
        *lock(&self.above.card) = None;
        match line {
            Ok(text) => Line::Text(text.replace(BREAK, "")),
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(_) => Line::End,
        }
    }

    /// Keeps what was typed at a prompt that is gone, such as that of a card.
    fn typed_for_nobody(&self, purpose: For, line: &Line) {
        match line {
            Line::Text(text) if !text.trim().is_empty() => {
                if matches!(purpose, For::Card(_)) {
                    remark(in_style(FAINT, LATE));
                }
                self.ahead.keep(text);
            }
            Line::Interrupted | Line::ThrownAway => self.keyboard.interrupts(),
            Line::Text(_) | Line::Begun | Line::End => {}
        }
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
