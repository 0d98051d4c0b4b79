//! The keyboard: the only reader of the terminal. One queue of keys goes to the line editor while it reads a line, and to what is typed
//! ahead between two lines. The editor reads a terminal of its own, whose other end is here: it gets no key behind the one that
//! may end its line before that line has ended, and its line can be ended from outside.

mod letters;
mod terminal;

use std::{
    collections::VecDeque,
    io::{self, PipeReader, PipeWriter, Write as _},
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
    process::{Signal, getpgrp, getpid, kill_process, kill_process_group},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr},
};

pub(super) use self::letters::{BREAK, REDRAW};
pub(crate) use self::terminal::Held;
use self::{
    letters::{CTRL_C, CTRL_D, Last, Next, PASTE_BEGINS, next_letter},
    terminal::{Modes, Terminal},
};
use super::ahead::Ahead;
use crate::lock;

/// Ends the line of an editor that reads whole lines.
const END_OF_LINE: &str = "\n";

const CTRL_Z: u8 = 0x1a;
const CTRL_BACKSLASH: u8 = 0x1c;

/// So long the editor may take to end its line at a key that may end one. After that the key did not.
const ENDS: Duration = Duration::from_millis(300);

/// So often it is looked whether that time is over.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// So long a program takes at most to be stopped by a signal that it sends itself.
const STOPS: Duration = Duration::from_millis(100);

/// So many bytes are taken from the terminal before they go anywhere.
const TAKEN: usize = 1 << 20;

/// A clone is the same.
#[derive(Clone)]
pub(super) struct Keyboard {
    inner: Arc<Inner>,
}

struct Inner {
    terminal: Arc<Terminal>,
    /// What is written here the editor reads.
    editor: OwnedFd,
    ahead: Ahead,
    state: Mutex<State>,
    /// Whether the line that is read may end at any moment.
    ends: Mutex<bool>,
    /// Has the thread look at what there is to do.
    wake: PipeWriter,
    woken: PipeReader,
}

#[derive(Default)]
struct State {
    /// What was read from the terminal and went nowhere yet.
    pending: VecDeque<u8>,
    /// Whether the editor reads a line.
    edits: bool,
    /// When it got a key that may end that line.
    may_end: Option<Instant>,
    last: Last,
}

/// Keys that mean signals.
#[must_use = "Ctrl-C is lost otherwise"]
pub(super) struct Signals<'a> {
    of: &'a Inner,
    keys: Vec<u8>,
}

impl Signals<'_> {
    pub(super) fn send(self) {
        for key in self.keys {
            match key {
                CTRL_C => interrupt(),
                CTRL_Z => self.of.suspend(),
                _ => {
                    self.of.terminal.is_as_before();
                    let _ = kill_process(getpid(), Signal::QUIT);
                }
            }
        }
    }
}

fn interrupt() {
    let _ = kill_process(getpid(), Signal::INT);
}

impl Keyboard {
    /// Takes the terminal that is standard input, and puts another one in its place, which the editor reads. What is typed where
    /// no line is read goes to what is typed ahead. A terminal that has no keys but lines is left as it is.
    pub(super) fn start(ahead: Ahead, has_keys: bool) -> io::Result<(Self, Held)> {
        let fd = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
        let modes = has_keys.then(|| Modes::of(&fd)).transpose()?;
        let terminal = Arc::new(Terminal { fd, modes });
        let editor = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&editor)?;
        unlockpt(&editor)?;
        let read =
            rustix::fs::open(ptsname(&editor, [])?, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
        let mut raw = tcgetattr(&read)?;
        raw.make_raw();
        if !has_keys {
            // Whole lines, and the end of the input, are told by the terminal.
            raw.local_modes.insert(LocalModes::ICANON);
        }
        tcsetattr(&read, OptionalActions::Now, &raw)?;
        rustix::stdio::dup2_stdin(read)?;
        // The editor may be slow to read what is pasted.
        rustix::io::ioctl_fionbio(&editor, true)?;
        let (woken, wake) = io::pipe()?;
        rustix::io::ioctl_fionbio(&wake, true)?;
        terminal.takes_keys();
        let held = Held(Arc::clone(&terminal));
        let (state, ends) = (Mutex::default(), Mutex::default());
        let inner = Inner { terminal, editor, ahead, state, ends, wake, woken };
        let keyboard = Self { inner: Arc::new(inner) };
        let reader = keyboard.clone();
        thread::spawn(move || reader.read_on());
        Ok((keyboard, held))
    }

    /// Has keys go to the editor from now on, where this gives something once all is known that was typed until now.
    pub(super) fn begins<T>(&self, may: impl FnOnce(&Ahead) -> Option<T>) -> Option<T> {
        let inner = &self.inner;
        let mut state = lock(&inner.state);
        let _ = inner.read(&mut state);
        inner.hand_on(&mut state);
        let begins = may(&inner.ahead)?;
        state.edits = true;
        if state.last.pasted {
            let _ = rustix::io::write(&inner.editor, PASTE_BEGINS);
        }
        Some(begins)
    }

    /// The editor has ended its line: what is printed has not to wait for that any more.
    pub(super) fn line_is_over(&self) {
        *lock(&self.inner.ends) = false;
    }

    /// What was typed behind the line goes elsewhere. What is given ends what is under way, or stops the program, where keys for
    /// that were among it.
    pub(super) fn ended(&self) -> Signals<'_> {
        let inner = &self.inner;
        let mut state = lock(&inner.state);
        // Such as the end of a line that had ended already.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        inner.ends_not(&mut state);
        state.edits = false;
        Signals { of: inner, keys: inner.take_ahead(&mut state) }
    }

    /// Ends the line that is read, with what is typed in it.
    pub(super) fn breaks(&self) {
        let keys = match self.inner.has_keys() {
            // Once more where the first one is taken for a letter, such as behind Ctrl-V.
            true => BREAK.to_string().repeat(2),
            false => END_OF_LINE.to_owned(),
        };
        self.inner.end_line_by(keys.as_bytes());
    }

    /// Ends the line that is read as Ctrl-C does; says whether there is one.
    pub(super) fn interrupts_line(&self) -> bool {
        self.inner.has_keys() && self.inner.end_line_by(&[CTRL_C])
    }

    /// Ends what is under way, as Ctrl-C does where no line is read.
    pub(super) fn interrupts(&self) {
        interrupt();
    }

    /// Whether the line that is read may end at any moment. It does not begin to while this is held.
    pub(super) fn may_end(&self) -> MutexGuard<'_, bool> {
        lock(&self.inner.ends)
    }

    /// Whether a line is read.
    pub(super) fn edits(&self) -> bool {
        lock(&self.inner.state).edits
    }

    /// Reads until there is no terminal any more. Then its hang-up has ended the program, or will.
    fn read_on(&self) {
        let inner = &self.inner;
        loop {
            let waits = lock(&inner.state).waits().then_some(&LOOK);
            let mut ready = [
                PollFd::new(&inner.terminal.fd, PollFlags::IN),
                PollFd::new(&inner.woken, PollFlags::IN),
            ];
            match poll(&mut ready, waits) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            if !ready[1].revents().is_empty() {
                let _ = rustix::io::read(&inner.woken, &mut [0; 64]);
            }
            let mut state = lock(&inner.state);
            if inner.read(&mut state).is_err() {
                return;
            }
            inner.hand_on(&mut state);
        }
    }
}

impl State {
    /// Whether something is to be done a little later.
    fn waits(&self) -> bool {
        self.edits && (self.may_end.is_some() || !self.pending.is_empty())
    }
}

impl Inner {
    fn has_keys(&self) -> bool {
        self.terminal.modes.is_some()
    }

    /// Has the editor end its line; says whether it reads one.
    fn end_line_by(&self, keys: &[u8]) -> bool {
        let mut state = lock(&self.state);
        if state.edits {
            self.may_end(&mut state);
            self.waits_for_room();
            let _ = rustix::io::write(&self.editor, keys);
            self.wakes();
        }
        state.edits
    }

    /// Reads what is there.
    fn read(&self, state: &mut State) -> io::Result<()> {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut terminal = [PollFd::new(&self.terminal.fd, PollFlags::IN)];
        while state.pending.len() < TAKEN && poll(&mut terminal, Some(&now))? > 0 {
            let mut bytes = [0; 4096];
            let hung_up = terminal[0].revents().contains(PollFlags::HUP);
            match rustix::io::read(&self.terminal.fd, &mut bytes)? {
                // A terminal of lines takes the key itself.
                0 if !self.has_keys() && !hung_up => state.pending.push_back(CTRL_D),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => state.pending.extend(&bytes[..count]),
            }
            self.ahead.pressed();
        }
        Ok(())
    }

    /// Gives what was read to whom it is for.
    fn hand_on(&self, state: &mut State) {
        if state.may_end.is_some_and(|since| since.elapsed() >= ENDS) {
            self.ends_not(state);
        }
        while state.edits
            && state.may_end.is_none()
            && let Some(&byte) = state.pending.front()
        {
            if byte == CTRL_Z && !state.last.pasted && self.has_keys() {
                state.pending.pop_front();
                self.suspend();
                let _ = rustix::io::write(&self.editor, REDRAW.to_string().as_bytes());
                continue;
            }
            let letter = match next_letter(&state.pending) {
                Next::Letter(letter) => letter,
                // The editor would take it for the end of the input.
                Next::None(bytes) => {
                    state.pending.drain(..bytes);
                    continue;
                }
                Next::Begun => return,
            };
            let mut utf8 = [0; 4];
            let bytes = letter.encode_utf8(&mut utf8).as_bytes();
            let before = state.last.clone();
            bytes.iter().for_each(|byte| state.last.push(*byte));
            if state.last.may_end_line() {
                self.may_end(state);
            }
            if !self.write(bytes) {
                // Until the editor has read what it has.
                state.last = before;
                self.ends_not(state);
                return;
            }
            state.pending.drain(..bytes.len());
        }
        if !state.edits {
            let keys = self.take_ahead(state);
            Signals { of: self, keys }.send();
        }
    }

    /// Writes a letter to the editor, all of it or nothing; says which.
    fn write(&self, letter: &[u8]) -> bool {
        let Ok(mut written) = rustix::io::write(&self.editor, letter) else { return false };
        while written < letter.len() {
            self.waits_for_room();
            written += rustix::io::write(&self.editor, &letter[written..]).unwrap_or_default();
        }
        true
    }

    fn waits_for_room(&self) {
        let most = Timespec { tv_sec: 1, tv_nsec: 0 };
        let _ = poll(&mut [PollFd::new(&self.editor, PollFlags::OUT)], Some(&most));
    }

    /// Takes what is typed where no line is read. Gives the keys that mean signals.
    fn take_ahead(&self, state: &mut State) -> Vec<u8> {
        if state.pending.is_empty() {
            return Vec::new();
        }
        let mut signals = Vec::new();
        let mut keys = Vec::new();
        for byte in std::mem::take(&mut state.pending) {
            let pasted = state.last.pasted;
            state.last.push(byte);
            match byte {
                CTRL_C | CTRL_Z | CTRL_BACKSLASH if !pasted => signals.push(byte),
                _ => keys.push(byte),
            }
            if state.last.pasted != pasted {
                self.ahead.take(&std::mem::take(&mut keys), pasted);
            }
        }
        self.ahead.take(&keys, state.last.pasted);
        signals
    }

    /// Stops the program until the shell has it go on.
    fn suspend(&self) {
        self.terminal.is_as_before();
        let _ = kill_process_group(getpgrp(), Signal::TSTP);
        thread::sleep(STOPS);
        self.terminal.takes_keys();
    }

    fn may_end(&self, state: &mut State) {
        *lock(&self.ends) = true;
        state.may_end = Some(Instant::now());
    }

    fn ends_not(&self, state: &mut State) {
        *lock(&self.ends) = false;
        state.may_end = None;
    }

    fn wakes(&self) {
        // A pipe that is full wakes as well.
        let _ = (&self.wake).write(b"w");
    }
}
