//! What a conversation prints, in one order, whoever prints it: lines of this program at the left edge, what the model writes within
//! its margin, and below them, on a terminal, what goes on just now.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    editor::{Above, LineEditor},
    prose::Prose,
};
use crate::{
    columns::{self, cut, fold},
    lock,
    style::{FAINT, in_style},
};

/// A row that continues a line of this program begins with it.
const CONTINUED: &str = "    ";

/// Clears what is below the cursor and behind it.
const CLEAR_BELOW: &str = "\u{1b}[J";

/// The terminal's output. A clone is the same.
#[derive(Clone)]
pub(crate) struct Screen {
    state: Arc<Mutex<State>>,
    editor: LineEditor,
}

#[derive(Debug, Default)]
struct State {
    prose: Prose,
    /// How many lines are typed at or waited for: one, and one more where a card that is gone has left its line.
    typing: usize,
    /// What a model wrote meanwhile.
    held: String,
    /// What is printed once the line has ended that may end at any moment.
    late: String,
    /// What goes on, in rows below the cursor.
    below: Vec<String>,
    drawn: bool,
}

impl Screen {
    pub(crate) fn new(editor: LineEditor) -> Self {
        Self { state: Arc::default(), editor }
    }

    /// How many columns there are; none where the output is no terminal.
    pub(crate) fn columns(&self) -> Option<usize> {
        columns::of(io::stdout())
    }

    /// A line of its own, which may have styles.
    pub(crate) fn line(&self, text: &str) {
        let rows = text.lines().flat_map(|line| fold(line, self.columns(), "", CONTINUED));
        self.rows(&rows.collect::<Vec<_>>());
    }

    /// A line that is beside the matter.
    pub(crate) fn aside(&self, text: &str) {
        self.line(&in_style(FAINT, text).to_string());
    }

    /// Rows as they are.
    pub(crate) fn rows(&self, rows: &[String]) {
        let mut state = self.state();
        let mut text = rows.join("\n");
        text.push('\n');
        if state.typing > 0 {
            // In the order in which it came.
            text.insert_str(0, &state.take_held(self.columns()));
            self.print_above(&mut state, &text);
            return;
        }
        let rest = state.prose.end();
        state.print(&(rest + &text));
    }

    /// A sequence of which the terminal makes something else than letters, such as an image. It would stand in the way of what
    /// is typed, so then there is none.
    pub(crate) fn sequence(&self, sequence: &str) {
        let mut state = self.state();
        if state.typing > 0 {
            return;
        }
        let rest = state.prose.end();
        state.print(&rest);
        let erased = state.erased();
        let mut out = io::stdout().lock();
        let _ = write!(out, "{erased}{sequence}\r\n").and_then(|()| out.flush());
        drop(out);
        state.draw();
    }

    /// A piece of the model's text.
    pub(crate) fn piece(&self, text: &str) {
        let mut state = self.state();
        if state.typing > 0 {
            // It would run on behind what is being typed.
            state.held.push_str(text);
            return;
        }
        let shown = state.prose.push(text, self.columns());
        state.print(&shown);
    }

    /// Ends the model's text.
    pub(crate) fn end_text(&self) {
        let mut state = self.state();
        let rest = match state.typing {
            0 => state.prose.end(),
            _ => state.take_held(self.columns()),
        };
        match state.typing {
            _ if rest.is_empty() => {}
            0 => state.print(&rest),
            _ => self.print_above(&mut state, &rest),
        }
    }

    /// Prints above the line that is typed, or has it printed behind it.
    fn print_above(&self, state: &mut State, text: &str) {
        let text = std::mem::take(&mut state.late) + text;
        match self.editor.print_above(&coloured(&text)) {
            Above::Printed => {}
            Above::Ends => state.late = text,
            Above::Cannot => state.print(&text),
        }
    }

    /// Says what goes on just now, in rows of which each is a line of the terminal. They are no part of what stays.
    pub(crate) fn below(&self, rows: Vec<String>) {
        let mut state = self.state();
        if state.below == rows {
            return;
        }
        state.erase();
        state.below = rows;
        state.draw();
    }

    /// Says that somebody types, until what it gives is dropped.
    pub(crate) fn typing(&self) -> Typing {
        let mut state = self.state();
        let rest = state.prose.end();
        state.print(&rest);
        state.erase();
        state.below.clear();
        state.typing += 1;
        drop(state);
        Typing(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Somebody types. What the model writes meanwhile is printed when nobody does any more.
pub(crate) struct Typing(Screen);

impl Drop for Typing {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let late = std::mem::take(&mut state.late);
        state.print(&late);
        state.typing -= 1;
        if state.typing == 0 && !state.held.is_empty() {
            let held = std::mem::take(&mut state.held);
            drop(state);
            self.0.piece(&held);
        }
    }
}

impl State {
    /// What a model wrote while somebody typed, as it is shown.
    fn take_held(&mut self, columns: Option<usize>) -> String {
        let mut prose = Prose::default();
        let shown = prose.push(&std::mem::take(&mut self.held), columns);
        shown + &prose.end()
    }

    /// Prints what stays, and what goes on below it.
    fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let erased = self.erased();
        let mut out = io::stdout().lock();
        // Who does not read any more has not to be told.
        let _ = write!(out, "{erased}{}", coloured(text)).and_then(|()| out.flush());
        drop(out);
        self.draw();
    }

    /// Clears the rows below, now: the line editor writes to the terminal by itself.
    fn erase(&mut self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(self.erased().as_bytes()).and_then(|()| out.flush());
    }

    fn erased(&mut self) -> &'static str {
        if std::mem::take(&mut self.drawn) { CLEAR_BELOW } else { "" }
    }

    /// Draws the rows below, and puts the cursor back.
    fn draw(&mut self) {
        if self.typing > 0 || self.below.is_empty() {
            return;
        }
        let Some(columns) = columns::of(io::stdout()) else { return };
        let at = self.prose.column();
        let mut drawn = String::new();
        for (index, row) in self.below.iter().enumerate() {
            let before = if index == 0 && at == 0 { "" } else { "\r\n" };
            let _ = write!(drawn, "{before}{}", in_style(FAINT, cut(row, columns)));
        }
        let up = self.below.len() - usize::from(at == 0);
        let drawn = coloured(&drawn);
        let mut out = io::stdout().lock();
        let _ = write!(out, "{drawn}\r");
        if up > 0 {
            let _ = write!(out, "\u{1b}[{up}A");
        }
        if at > 0 {
            let _ = write!(out, "\u{1b}[{at}C");
        }
        let _ = out.flush();
        self.drawn = true;
    }
}

/// The text with its colours, where the terminal is to show them.
fn coloured(text: &str) -> String {
    match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    }
}

/// Whether there is a terminal on which rows can be drawn over.
pub(crate) fn can_draw() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
