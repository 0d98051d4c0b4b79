//! What is typed while the model is at work: it is no answer to a card that comes up, and not lost. A whole line is what the person
//! says next; one that was only begun stands in the next prompt.

use std::{
    collections::VecDeque,
    io::{self, IsTerminal as _, PipeReader, PipeWriter, Write as _},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
};
use tokio::sync::Notify;

const ERASE: [char; 2] = ['\u{7f}', '\u{8}'];
const ERASE_LINE: char = '\u{15}';
const ERASE_WORD: char = '\u{17}';
const END: char = '\u{4}';
const ESCAPE: char = '\u{1b}';

/// What was typed so far. A clone is the same.
#[derive(Clone)]
pub(crate) struct Ahead {
    inner: Arc<Inner>,
}

struct Inner {
    /// Whether the model is at work.
    on: AtomicBool,
    typed: Mutex<Typed>,
    /// When a key was pressed last.
    pressed: Mutex<Option<Instant>>,
    /// Whether the turn was interrupted since somebody said something.
    unsaid: AtomicBool,
    changed: Notify,
    /// Ctrl-C was pressed where nobody waited for a line.
    interrupted: Notify,
    /// Ends the reading, so that the line editor can begin.
    wake: PipeWriter,
    woken: PipeReader,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Typed {
    lines: VecDeque<String>,
    begun: String,
    /// Bytes of a letter whose rest is still to come.
    part: Vec<u8>,
    escape: Escape,
    /// Whether Ctrl-D was pressed where no line was begun.
    left: bool,
}

/// How far into a sequence of a key such as an arrow the reading is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Begun,
    Within,
}

impl Ahead {
    pub(crate) fn new() -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        rustix::io::ioctl_fionbio(&wake, true)?;
        let (on, typed, pressed) = (AtomicBool::new(false), Mutex::default(), Mutex::default());
        let unsaid = AtomicBool::new(false);
        let (changed, interrupted) = (Notify::new(), Notify::new());
        Ok(Self {
            inner: Arc::new(Inner {
                on,
                typed,
                pressed,
                unsaid,
                changed,
                interrupted,
                wake,
                woken,
            }),
        })
    }

    /// Says that the model is at work from now on, or is not any more.
    pub(crate) fn at_work(&self, at_work: bool) {
        self.inner.on.store(at_work, Ordering::SeqCst);
        self.stop_reading();
    }

    /// Whether keys are to be read while nobody is asked for a line.
    pub(crate) fn is_on(&self) -> bool {
        self.inner.on.load(Ordering::SeqCst) && io::stdin().is_terminal()
    }

    /// Ends [`Ahead::read`], so that somebody else can read.
    pub(crate) fn stop_reading(&self) {
        // A pipe that is full wakes as well.
        let _ = (&self.inner.wake).write(b"w");
    }

    /// Waits until something was typed.
    pub(crate) async fn changed(&self) {
        self.inner.changed.notified().await;
    }

    /// Ends the turn, as Ctrl-C does.
    pub(super) fn interrupt(&self) {
        self.inner.interrupted.notify_one();
    }

    /// Waits until somebody pressed Ctrl-C where nobody waited for a line.
    pub(crate) async fn interrupted(&self) {
        self.inner.interrupted.notified().await;
    }

    /// The first line that was typed ahead.
    pub(crate) fn take_line(&self) -> Option<String> {
        self.typed().lines.pop_front()
    }

    /// Whether somebody pressed Ctrl-D since this was asked last.
    pub(super) fn take_left(&self) -> bool {
        std::mem::take(&mut self.typed().left)
    }

    /// Takes the first line behind so many others of which this makes something, and gives that.
    pub(super) fn take_where<T>(
        &self,
        behind: usize,
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let mut typed = self.typed();
        let mut lines = typed.lines.iter().enumerate().skip(behind);
        let (at, read) = lines.find_map(|(at, line)| Some((at, read(line)?)))?;
        typed.lines.remove(at);
        Some(read)
    }

    /// Whether somebody types just now: a line is begun, or a key was pressed within this time.
    pub(super) fn is_typed_at(&self, pause: Duration) -> bool {
        let pressed = *self.inner.pressed.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_begun() || pressed.is_some_and(|pressed| pressed.elapsed() < pause)
    }

    /// Whether a line is begun.
    pub(super) fn is_begun(&self) -> bool {
        let typed = self.typed();
        !typed.begun.is_empty() || !typed.part.is_empty()
    }

    /// The line that was begun.
    pub(crate) fn take_begun(&self) -> String {
        let mut typed = self.typed();
        typed.part.clear();
        typed.escape = Escape::None;
        std::mem::take(&mut typed.begun)
    }

    /// Puts everything that was typed into the line that was begun: after an interruption nothing is said unasked.
    pub(crate) fn unsay(&self) {
        self.inner.unsaid.store(true, Ordering::SeqCst);
        let mut typed = self.typed();
        let mut lines: Vec<String> = typed.lines.drain(..).collect();
        if !typed.begun.is_empty() {
            lines.push(std::mem::take(&mut typed.begun));
        }
        typed.begun = lines.join("\n");
    }

    /// Whether the turn was interrupted, and nothing was said since: what is found typed then is not said unasked.
    pub(super) fn is_unsaid(&self) -> bool {
        self.inner.unsaid.load(Ordering::SeqCst)
    }

    /// Somebody says something.
    pub(super) fn may_be_said(&self) {
        self.inner.unsaid.store(false, Ordering::SeqCst);
    }

    /// Adds a line to those that are said next.
    pub(super) fn say_next(&self, line: String) {
        self.typed().lines.push_back(line);
        self.inner.changed.notify_one();
    }

    /// Keeps a text that was typed for something that is gone, or that a command was typed behind.
    pub(crate) fn keep(&self, text: &str) {
        let mut typed = self.typed();
        if !typed.begun.is_empty() && !text.is_empty() {
            typed.begun.push('\n');
        }
        typed.begun.push_str(text);
    }

    /// The lines typed ahead, and the one that was begun.
    pub(crate) fn shown(&self) -> (Vec<String>, String) {
        let typed = self.typed();
        (typed.lines.iter().cloned().collect(), typed.begun.clone())
    }

    /// Reads keys until it is woken, or until there is no terminal any more: then it says so.
    pub(super) fn read(&self) -> io::Result<()> {
        let _modes = Keys::as_they_come()?;
        loop {
            let stdin = io::stdin();
            let mut ready =
                [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.inner.woken, PollFlags::IN)];
            match poll(&mut ready, None) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other?,
            };
            let [keys, woken] = ready.map(|fd| !fd.revents().is_empty());
            if keys {
                self.take()?;
            }
            if woken {
                let mut signs = [0; 64];
                rustix::io::read(&self.inner.woken, &mut signs)?;
                return Ok(());
            }
        }
    }

    /// Takes what was typed until now, so that what is asked next gets none of it.
    pub(super) fn drain(&self) -> io::Result<()> {
        let _modes = Keys::as_they_come()?;
        loop {
            let stdin = io::stdin();
            let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if poll(&mut ready, Some(&now))? == 0 {
                return Ok(());
            }
            self.take()?;
        }
    }

    fn take(&self) -> io::Result<()> {
        let mut bytes = [0; 4096];
        let count = rustix::io::read(io::stdin(), &mut bytes)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.typed().take(&bytes[..count]);
        *self.inner.pressed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.inner.changed.notify_one();
        Ok(())
    }

    fn typed(&self) -> MutexGuard<'_, Typed> {
        self.inner.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Typed {
    fn take(&mut self, bytes: &[u8]) {
        self.part.extend_from_slice(bytes);
        let mut text = String::new();
        let bytes = std::mem::take(&mut self.part);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            let whole = std::str::from_utf8(chunk.invalid());
            if whole.is_err_and(|error| error.error_len().is_none()) {
                self.part = chunk.invalid().to_vec();
            }
        }
        let mut keys = text.chars().peekable();
        while let Some(key) = keys.next() {
            // What was pasted comes in one piece: its lines are one text, which is said when Enter is pressed behind it.
            let pasted = keys.peek().is_some();
            self.key(key, pasted);
        }
    }

    fn key(&mut self, key: char, pasted: bool) {
        self.escape = match (self.escape, key) {
            (Escape::None, ESCAPE) => Escape::Begun,
            (Escape::None, _) => {
                self.plain(key, pasted);
                Escape::None
            }
            (Escape::Begun, '[' | 'O') => Escape::Within,
            (Escape::Within, key) if !('@'..='~').contains(&key) => Escape::Within,
            _ => Escape::None,
        };
    }

    fn plain(&mut self, key: char, pasted: bool) {
        match key {
            '\n' | '\r' if pasted => self.begun.push('\n'),
            '\n' | '\r' => {
                let line = std::mem::take(&mut self.begun);
                if !line.trim().is_empty() {
                    self.lines.push_back(line);
                }
            }
            END => self.left |= self.begun.is_empty(),
            ERASE_LINE => self.begun.clear(),
            ERASE_WORD => {
                let kept = self.begun.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.begun.truncate(kept);
            }
            key if ERASE.contains(&key) => {
                self.begun.pop();
            }
            key if key.is_control() && key != '\t' => {}
            key => self.begun.push(key),
        }
    }
}

/// The terminal gives keys as they come and shows none of them; Ctrl-C is a signal all the same. Dropped, it is as it was.
struct Keys(Termios);

impl Keys {
    fn as_they_come() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        Ok(Self(before))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pieces: &[&[u8]]) -> (Vec<String>, String) {
        let mut typed = Typed::default();
        pieces.iter().for_each(|piece| typed.take(piece));
        (typed.lines.into(), typed.begun)
    }

    #[test]
    fn lines_are_kept_in_order_and_keys_that_write_nothing_are_none() {
        let (lines, begun) =
            typed(&[b"one", b"\r", b"tw\x7fo", b"\r", b"\x1b[A\x1bOPthr", b"\xc3", b"\xa9"]);
        assert_eq!((lines, begun.as_str()), (vec!["one".to_owned(), "to".to_owned()], "thré"));
        assert_eq!(typed(&[b"gone\x15", b"two words\x17", b"\x01"]), (vec![], "two ".to_owned()));
        assert_eq!(typed(&[b" ", b"\r"]), (vec![], String::new()));
    }

    #[test]
    fn what_is_pasted_is_one_text() {
        assert_eq!(typed(&[b"one\rtwo\r", b"\r"]), (vec!["one\ntwo".to_owned()], String::new()));
    }
}
