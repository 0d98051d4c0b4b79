//! What is typed while the model is at work: it is no answer to a card that comes up, and not lost. A whole line is what the person
//! says next; one that was only begun stands in the next prompt.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use crate::lock;

const ERASE: [char; 2] = ['\u{7f}', '\u{8}'];
const ERASE_LINE: char = '\u{15}';
const ERASE_WORD: char = '\u{17}';
const END: char = '\u{4}';
const ESCAPE: char = '\u{1b}';

/// What was typed so far. A clone is the same.
#[derive(Clone, Default)]
pub(crate) struct Ahead {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    typed: Mutex<Typed>,
    /// When a key was pressed last, for whomever.
    pressed: Mutex<Option<Instant>>,
    changed: Notify,
}

/// A line that was ended, or that was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) text: String,
    /// When its first key was pressed; none where that is not known, such as of one that stood at another prompt before.
    pub(super) begun: Option<Instant>,
}

impl Written {
    /// Whether all of it was typed after this moment.
    pub(super) fn is_since(&self, moment: Instant) -> bool {
        self.begun.is_some_and(|begun| begun >= moment)
    }
}

#[derive(Debug, Default)]
struct Typed {
    lines: VecDeque<Written>,
    /// Of how many of them it was said what becomes of them.
    told: usize,
    begun: Written,
    /// The line of the conversation that is done just now.
    said: Written,
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
    /// Behind the letter that says which kind it is.
    Within(char),
}

impl Ahead {
    /// Waits until something was typed.
    pub(crate) async fn changed(&self) {
        self.inner.changed.notified().await;
    }

    /// The first line that was typed ahead, which is done from now on.
    pub(crate) fn take_line(&self) -> Option<String> {
        let mut typed = self.typed();
        let line = typed.remove(0)?;
        typed.said = line.clone();
        Some(line.text)
    }

    /// Notes the line of the conversation that is done from now on.
    pub(super) fn says(&self, line: Written) {
        self.typed().said = line;
    }

    /// Whether all of that line was typed after this moment.
    pub(super) fn is_said_since(&self, moment: Instant) -> bool {
        self.typed().said.is_since(moment)
    }

    /// Whether somebody pressed Ctrl-D since this was asked last.
    pub(super) fn take_left(&self) -> bool {
        std::mem::take(&mut self.typed().left)
    }

    /// Takes the first line of which this makes something, and gives that.
    pub(super) fn take_where<T>(&self, read: impl Fn(&Written) -> Option<T>) -> Option<T> {
        let mut typed = self.typed();
        let mut lines = typed.lines.iter().enumerate();
        let (at, read) = lines.find_map(|(at, line)| Some((at, read(line)?)))?;
        typed.remove(at);
        Some(read)
    }

    /// The lines that were ended since this was asked last.
    pub(super) fn take_untold(&self) -> Vec<String> {
        let mut typed = self.typed();
        let told = typed.told;
        typed.told = typed.lines.len();
        typed.lines.iter().skip(told).map(|line| line.text.clone()).collect()
    }

    /// Notes that a key was pressed.
    pub(super) fn pressed(&self) {
        *lock(&self.inner.pressed) = Some(Instant::now());
    }

    /// Whether somebody types just now: a line is begun, or a key was pressed within this time, after this moment where one is given.
    pub(super) fn is_typed_at(&self, pause: Duration, since: Option<Instant>) -> bool {
        let pressed = *lock(&self.inner.pressed);
        let pressed = pressed.filter(|pressed| since.is_none_or(|since| *pressed > since));
        self.is_begun() || pressed.is_some_and(|pressed| pressed.elapsed() < pause)
    }

    /// Whether a line is begun.
    pub(super) fn is_begun(&self) -> bool {
        let typed = self.typed();
        !typed.begun.text.is_empty() || !typed.part.is_empty()
    }

    /// The line that was begun, unless there are whole ones before it.
    pub(super) fn take_begun(&self) -> Option<String> {
        let mut typed = self.typed();
        if !typed.lines.is_empty() {
            return None;
        }
        typed.part.clear();
        typed.escape = Escape::None;
        Some(std::mem::take(&mut typed.begun).text)
    }

    /// Puts everything that was typed into the line that was begun: after an interruption nothing is said unasked.
    pub(crate) fn unsay(&self) {
        let mut typed = self.typed();
        let mut lines: Vec<String> = typed.lines.drain(..).map(|line| line.text).collect();
        typed.told = 0;
        if !typed.begun.text.is_empty() {
            lines.push(std::mem::take(&mut typed.begun.text));
        }
        typed.begun = Written { text: lines.join("\n"), begun: None };
    }

    /// Adds a line to those that are said next.
    pub(super) fn say_next(&self, text: String) {
        self.typed().lines.push_back(Written { text, begun: None });
        self.inner.changed.notify_one();
    }

    /// Keeps a text that was typed for something that is gone, or that a command was typed behind.
    pub(crate) fn keep(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let Written { text: begun, begun: when } = &mut self.typed().begun;
        if !begun.is_empty() {
            begun.push('\n');
        }
        begun.push_str(text);
        *when = None;
    }

    /// The lines typed ahead, and the one that was begun.
    pub(crate) fn shown(&self) -> (Vec<String>, String) {
        let typed = self.typed();
        (typed.lines.iter().map(|line| line.text.clone()).collect(), typed.begun.text.clone())
    }

    /// Takes keys, or a part of what is pasted.
    pub(super) fn take(&self, bytes: &[u8], pasted: bool) {
        self.typed().take(bytes, pasted);
        self.inner.changed.notify_one();
    }

    fn typed(&self) -> MutexGuard<'_, Typed> {
        lock(&self.inner.typed)
    }
}

impl Typed {
    fn remove(&mut self, at: usize) -> Option<Written> {
        let line = self.lines.remove(at)?;
        self.told -= usize::from(at < self.told);
        Some(line)
    }

    fn take(&mut self, bytes: &[u8], pasted: bool) {
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
        text.chars().for_each(|key| self.key(key, pasted));
    }

    fn key(&mut self, key: char, pasted: bool) {
        self.escape = match (self.escape, key) {
            (Escape::None, ESCAPE) => Escape::Begun,
            (Escape::None, _) => {
                self.plain(key, pasted);
                Escape::None
            }
            (Escape::Begun, '[' | 'O') => Escape::Within(key),
            (Escape::Within(_), key) if !('@'..='~').contains(&key) => self.escape,
            // The Enter of a keypad.
            (Escape::Within('O'), 'M') => {
                self.plain('\r', pasted);
                Escape::None
            }
            _ => Escape::None,
        };
    }

    fn plain(&mut self, key: char, pasted: bool) {
        let Written { text, begun } = &mut self.begun;
        if text.is_empty() {
            *begun = Some(Instant::now());
        }
        match key {
            // Its lines are one text, which is said when Enter is pressed behind it.
            '\n' | '\r' if pasted => text.push('\n'),
            '\n' | '\r' => {
                let line = std::mem::take(&mut self.begun);
                if !line.text.trim().is_empty() {
                    self.lines.push_back(line);
                }
            }
            END => self.left |= text.is_empty(),
            ERASE_LINE => text.clear(),
            ERASE_WORD => {
                let kept = text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
                text.truncate(kept);
            }
            key if ERASE.contains(&key) => {
                text.pop();
            }
            key if key.is_control() && key != '\t' => {}
            key => text.push(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pieces: &[&[u8]]) -> (Vec<String>, String) {
        let ahead = Ahead::default();
        pieces.iter().for_each(|piece| ahead.take(piece, false));
        ahead.shown()
    }

    #[test]
    fn lines_are_kept_in_order_and_keys_that_write_nothing_are_none() {
        let (lines, begun) =
            typed(&[b"one\r", b"tw\x7fo", b"\x1bOM", b"\x1b[A\x1bOPthr", b"\xc3", b"\xa9"]);
        assert_eq!((lines, begun.as_str()), (vec!["one".to_owned(), "to".to_owned()], "thré"));
        assert_eq!(typed(&[b"gone\x15", b"two words\x17", b"\x01"]), (vec![], "two ".to_owned()));
        assert_eq!(typed(&[b" ", b"\r"]), (vec![], String::new()));
    }

    #[test]
    fn what_is_pasted_is_one_text() {
        let ahead = Ahead::default();
        ahead.take(b"one\rtwo\r", true);
        ahead.take(b"\r", false);
        assert_eq!(ahead.shown(), (vec!["one\ntwo\n".to_owned()], String::new()));
    }

    #[test]
    fn it_is_known_when_a_line_was_begun() {
        let ahead = Ahead::default();
        ahead.take(b"bef", false);
        let moment = Instant::now();
        ahead.take(b"ore\rgone\x15after\r", false);
        ahead.keep("kept");
        ahead.take(b" on\r", false);
        let since = |line: &Written| Some((line.text.clone(), line.is_since(moment)));
        let lines: Vec<_> = std::iter::from_fn(|| ahead.take_where(since)).collect();
        let lines: Vec<_> = lines.iter().map(|(text, since)| (text.as_str(), *since)).collect();
        assert_eq!(lines, [("before", false), ("after", true), ("kept on", false)]);
    }

    #[test]
    fn a_line_is_told_of_once() {
        let ahead = Ahead::default();
        ahead.take(b"one\rtwo\r", false);
        assert_eq!(ahead.take_untold(), ["one", "two"]);
        ahead.take(b"three\r", false);
        assert_eq!(ahead.take_line().as_deref(), Some("one"));
        assert_eq!(ahead.take_untold(), ["three"]);
        assert!(ahead.take_untold().is_empty());
    }
}
