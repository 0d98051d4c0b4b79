//! How the terminal is set while a conversation reads it, and set back.

use std::{
    io::{self, Write as _},
    os::fd::OwnedFd,
    sync::Arc,
};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// Have the terminal put these around it, and not any more.
const MARKS_PASTES: &str = "\u{1b}[?2004h";
const MARKS_NO_PASTES: &str = "\u{1b}[?2004l";

/// The terminal at which somebody sits.
pub(super) struct Terminal {
    pub(super) fd: OwnedFd,
    /// None where it has no keys but lines.
    pub(super) modes: Option<Modes>,
}

/// How it is set.
pub(super) struct Modes {
    before: Termios,
    /// Keys as they come, and none of them shown.
    keys: Termios,
}

impl Modes {
    pub(super) fn of(terminal: &OwnedFd) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut keys = before.clone();
        keys.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        keys.input_modes
            .remove(InputModes::BRKINT | InputModes::INPCK | InputModes::ISTRIP | InputModes::IXON);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(Self { before, keys })
    }
}

impl Terminal {
    pub(super) fn takes_keys(&self) {
        self.set(|modes| &modes.keys, MARKS_PASTES);
    }

    pub(super) fn is_as_before(&self) {
        self.set(|modes| &modes.before, MARKS_NO_PASTES);
    }

    fn set(&self, as_in: impl Fn(&Modes) -> &Termios, and: &str) {
        let Some(modes) = &self.modes else { return };
        let _ = tcsetattr(&self.fd, OptionalActions::Now, as_in(modes));
        let mut out = io::stdout().lock();
        let _ = out.write_all(and.as_bytes()).and_then(|()| out.flush());
    }
}

/// Sets the terminal as it was when this is dropped: a program that is ended by a signal ends in the middle of a line.
pub(crate) struct Held(pub(super) Arc<Terminal>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.is_as_before();
    }
}
