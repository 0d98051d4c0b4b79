//! What a conversation prints, in one order, whoever prints it.

use std::{
    io::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::editor::LineEditor;

/// The terminal's output. A clone is the same.
#[derive(Clone)]
pub(crate) struct Screen {
    state: Arc<Mutex<State>>,
    editor: LineEditor,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the last thing printed did not end its line.
    in_line: bool,
    /// Whether somebody types.
    typing: bool,
    /// What a model wrote meanwhile.
    held: String,
}

impl Screen {
    pub(crate) fn new(editor: LineEditor) -> Self {
        Self { state: Arc::default(), editor }
    }

    /// A line of its own.
    pub(crate) fn line(&self, text: &str) {
        let mut state = self.state();
        if state.typing && self.editor.print_above(&format!("{text}\n")) {
            return;
        }
        let begin = if state.in_line { "\n" } else { "" };
        state.in_line = false;
        let _ = writeln!(anstream::stdout().lock(), "{begin}{text}");
    }

    /// A piece of a text that goes on.
    pub(crate) fn piece(&self, text: &str) {
        let mut state = self.state();
        if state.typing {
            // It would run on behind what is being typed.
            state.held.push_str(text);
            return;
        }
        state.in_line = !text.ends_with('\n');
        let mut out = anstream::stdout().lock();
        let _ = write!(out, "{text}").and_then(|()| out.flush());
    }

    /// Ends a line that was begun.
    pub(crate) fn end_line(&self) {
        let mut state = self.state();
        if state.in_line {
            state.in_line = false;
            let _ = writeln!(anstream::stdout().lock());
        }
    }

    /// Says that somebody types now, or does not any more.
    pub(crate) fn typing(&self, typing: bool) {
        let mut state = self.state();
        state.typing = typing;
        let held = std::mem::take(&mut state.held);
        drop(state);
        match typing {
            true => self.state().held = held,
            false if held.is_empty() => {}
            false => self.piece(&held),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
