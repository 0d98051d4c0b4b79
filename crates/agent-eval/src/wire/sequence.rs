//! The one order of outputs and messages.
//!
//! They come over three pipes. Before a message that belongs into the order the kernel writes the message's number as a
//! mark into both outputs, so a message is held until both have passed its mark, and output behind a mark is held until
//! the message came. Within one stretch between marks the two outputs come as they were read.

use std::collections::VecDeque;

use memchr::{memchr, memmem};

use super::{Message, Said, Stream};

/// What begins and ends a mark: ASCII's record separator, which text has no use for.
const SEPARATOR: u8 = 0x1e;

/// The most digits of a mark's number.
const MAX_DIGITS: usize = 20;

/// The most bytes of one message. The largest are images.
const MAX_LINE: usize = 64 << 20;

/// In order, as the cell made it.
#[derive(Clone, Debug)]
pub(crate) enum Sequenced {
    Text(Stream, Vec<u8>),
    Said(Said),
    /// A message that is missing here, in words.
    Missing(String),
}

/// Puts outputs and messages back into their order.
#[derive(Debug)]
pub(crate) struct Sequencer {
    outputs: [Marked; 2],
    line: Vec<u8>,
    too_long: bool,
    held: VecDeque<Result<Message, String>>,
    /// The mark of the last message that was given.
    passed: u64,
    ready: VecDeque<Sequenced>,
}

impl Sequencer {
    /// For a kernel that writes its marks with this token.
    pub(crate) fn new(token: &str) -> Self {
        Self {
            outputs: [Marked::new(token), Marked::new(token)],
            line: Vec::new(),
            too_long: false,
            held: VecDeque::new(),
            passed: 0,
            ready: VecDeque::new(),
        }
    }

    pub(crate) fn push_output(&mut self, stream: Stream, bytes: &[u8]) {
        self.outputs[index(stream)].push(bytes);
        self.settle();
    }

    pub(crate) fn push_protocol(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            self.extend_line(&rest[..end]);
            let line = std::mem::take(&mut self.line);
            self.held.push_back(match std::mem::take(&mut self.too_long) {
                true => Err(format!("a message of over {MAX_LINE} bytes is missing here")),
                false => Message::parse(&line),
            });
            rest = &rest[end + 1..];
        }
        self.extend_line(rest);
        self.settle();
    }

    /// What is next in the order, once it is known.
    pub(crate) fn next(&mut self) -> Option<Sequenced> {
        self.ready.pop_front()
    }

    /// Gives up waiting: the kernel has ended, so no mark will come any more.
    pub(crate) fn end(&mut self) {
        while let Some(message) = self.held.pop_front() {
            for stream in [Stream::Stdout, Stream::Stderr] {
                self.give_text(stream);
            }
            self.give(message);
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            self.passed = u64::MAX;
            self.give_text(stream);
            let rest = self.outputs[index(stream)].take_rest();
            if !rest.is_empty() {
                self.ready.push_back(Sequenced::Text(stream, rest));
            }
        }
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > MAX_LINE {
            self.too_long = true;
            self.line.clear();
        }
        if !self.too_long {
            self.line.extend_from_slice(bytes);
        }
    }

    fn settle(&mut self) {
        loop {
            for stream in [Stream::Stdout, Stream::Stderr] {
                self.give_text(stream);
            }
            let due = match self.held.front() {
                None => return,
                Some(Ok(Message { mark: Some(mark), .. })) => {
                    self.outputs.iter().all(|output| output.reached() >= *mark)
                }
                Some(_) => true,
            };
            if !due {
                return;
            }
            if let Some(message) = self.held.pop_front() {
                self.give(message);
            }
        }
    }

    /// Text up to the first mark whose message did not come yet.
    fn give_text(&mut self, stream: Stream) {
        while let Some(text) = self.outputs[index(stream)].next(self.passed) {
            self.ready.push_back(Sequenced::Text(stream, text));
        }
    }

    fn give(&mut self, message: Result<Message, String>) {
        self.ready.push_back(match message {
            Ok(message) => {
                self.passed = self.passed.max(message.mark.unwrap_or_default());
                Sequenced::Said(message.said)
            }
            Err(words) => Sequenced::Missing(words),
        });
    }
}

fn index(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
    }
}

/// One output, cut at its marks.
#[derive(Debug)]
struct Marked {
    /// How a mark begins: separator, token, colon.
    opening: Vec<u8>,
    pending: Vec<u8>,
    pieces: VecDeque<Piece>,
    reached: u64,
}

#[derive(Debug)]
enum Piece {
    Text(Vec<u8>),
    Mark(u64),
}

impl Marked {
    fn new(token: &str) -> Self {
        let mut opening = vec![SEPARATOR];
        opening.extend_from_slice(token.as_bytes());
        opening.push(b':');
        Self { opening, pending: Vec::new(), pieces: VecDeque::new(), reached: 0 }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(found) = memmem::find(&self.pending[from..], &self.opening) {
            let start = from + found;
            let digits = start + self.opening.len();
            let rest = &self.pending[digits..];
            let Some(length) = memchr(SEPARATOR, &rest[..rest.len().min(MAX_DIGITS + 1)]) else {
                if rest.len() <= MAX_DIGITS {
                    self.text(from, start);
                    self.pending.drain(..start);
                    return;
                }
                // No number follows: it is not a mark, whatever it looks like.
                self.text(from, digits);
                from = digits;
                continue;
            };
            let number =
                std::str::from_utf8(&rest[..length]).ok().and_then(|text| text.parse().ok());
            self.text(from, start);
            from = digits + length + 1;
            if let Some(number) = number {
                self.reached = self.reached.max(number);
                self.pieces.push_back(Piece::Mark(number));
            }
        }
        let end = self.pending.len() - self.held_back(from);
        self.text(from, end);
        self.pending.drain(..end);
    }

    /// How many bytes at the end may be the beginning of a mark.
    fn held_back(&self, from: usize) -> usize {
        let text = &self.pending[from..];
        let most = text.len().min(self.opening.len());
        (1..=most).rev().find(|count| text.ends_with(&self.opening[..*count])).unwrap_or(0)
    }

    fn text(&mut self, from: usize, end: usize) {
        if from < end {
            self.pieces.push_back(Piece::Text(self.pending[from..end].to_vec()));
        }
    }

    /// The highest mark that was seen.
    fn reached(&self) -> u64 {
        self.reached
    }

    /// The next text that stands before a mark higher than `passed`.
    fn next(&mut self, passed: u64) -> Option<Vec<u8>> {
        while let Some(Piece::Mark(number)) = self.pieces.front() {
            if *number > passed {
                return None;
            }
            self.pieces.pop_front();
        }
        match self.pieces.pop_front() {
            Some(Piece::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const TOKEN: &str = "tok";

    fn mark(number: u64) -> Vec<u8> {
        format!("\u{1e}{TOKEN}:{number}\u{1e}").into_bytes()
    }

    fn display(number: u64, text: &str) -> Vec<u8> {
        let header = json!({"msg_id": "k", "username": "", "session": "", "date": "", "msg_type": "display_data",
            "version": "5.4"});
        let content = json!({"data": {"text/plain": text}, "metadata": {}});
        let message = json!({"header": header, "parent_header": {}, "metadata": {"mark": number}, "content": content});
        format!("{message}\n").into_bytes()
    }

    /// The order, with neighbouring text of one stream joined.
    fn all(sequencer: &mut Sequencer) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        while let Some(next) = sequencer.next() {
            let (tag, text) = match next {
                Sequenced::Text(Stream::Stdout, bytes) => ("o:", String::from_utf8(bytes).unwrap()),
                Sequenced::Text(Stream::Stderr, bytes) => ("e:", String::from_utf8(bytes).unwrap()),
                Sequenced::Said(Said::Display { data, .. }) => {
                    ("d:", data["text/plain"].as_str().unwrap().to_owned())
                }
                other => panic!("{other:?}"),
            };
            match seen.last_mut() {
                Some(last) if last.starts_with(tag) && tag != "d:" => last.push_str(&text),
                _ => seen.push(format!("{tag}{text}")),
            }
        }
        seen
    }

    #[test]
    fn a_message_waits_for_both_outputs_and_they_for_it() {
        let mut sequencer = Sequencer::new(TOKEN);
        sequencer.push_output(Stream::Stdout, &[b"before".as_slice(), &mark(1), b"after"].concat());
        assert_eq!(all(&mut sequencer), ["o:before"]);
        sequencer.push_protocol(&display(1, "mid"));
        assert_eq!(all(&mut sequencer), Vec::<String>::new());
        sequencer.push_output(Stream::Stderr, &[b"err".as_slice(), &mark(1)].concat());
        assert_eq!(all(&mut sequencer), ["e:err", "d:mid", "o:after"]);
    }

    #[test]
    fn what_looks_like_a_mark_and_is_none_is_text() {
        let mut sequencer = Sequencer::new(TOKEN);
        sequencer.push_output(
            Stream::Stdout,
            b"\x1etok:no number follows here at all\x1e\x1eother:1\x1e.",
        );
        assert_eq!(
            all(&mut sequencer),
            ["o:\u{1e}tok:no number follows here at all\u{1e}\u{1e}other:1\u{1e}."]
        );
    }

    #[test]
    fn the_end_gives_what_was_held() {
        let mut sequencer = Sequencer::new(TOKEN);
        sequencer.push_output(
            Stream::Stdout,
            &[b"a".as_slice(), &mark(1), b"b", &mark(2), b"c\x1et"].concat(),
        );
        sequencer.push_protocol(&display(1, "one"));
        sequencer.end();
        assert_eq!(all(&mut sequencer), ["o:a", "d:one", "o:bc\u{1e}t"]);
    }

    proptest! {
        #[test]
        fn order_does_not_depend_on_how_the_pipes_are_read(cut in 1_usize..9, first in 0_usize..3) {
            let out = [b"a".as_slice(), &mark(1), b"b", &mark(2), &mark(3), b"c"].concat();
            let err = [mark(1), mark(2), b"x".to_vec(), mark(3)].concat();
            let messages = [display(1, "1"), display(2, "2"), display(3, "3")].concat();
            let mut sequencer = Sequencer::new(TOKEN);
            let mut seen = String::new();
            for turn in first..first + 3 {
                let bytes = [&out, &err, &messages][turn % 3];
                for piece in bytes.chunks(cut) {
                    match turn % 3 {
                        0 => sequencer.push_output(Stream::Stdout, piece),
                        1 => sequencer.push_output(Stream::Stderr, piece),
                        _ => sequencer.push_protocol(piece),
                    }
                    seen += &all(&mut sequencer).concat();
                }
            }
            prop_assert_eq!(seen, "o:ad:1o:bd:2e:xd:3o:c");
        }

        #[test]
        fn no_bytes_make_it_panic(pieces in proptest::collection::vec(
            (0_u8..3, proptest::collection::vec(prop_oneof![Just(0x1e_u8), Just(b't'), Just(b'o'), Just(b'k'), Just(b':'),
                Just(b'1'), Just(b'\n'), any::<u8>()], 0..40)), 0..20)) {
            let mut sequencer = Sequencer::new(TOKEN);
            for (pipe, bytes) in pieces {
                match pipe {
                    0 => sequencer.push_output(Stream::Stdout, &bytes),
                    1 => sequencer.push_output(Stream::Stderr, &bytes),
                    _ => sequencer.push_protocol(&bytes),
                }
            }
            sequencer.end();
            while sequencer.next().is_some() {}
        }
    }
}
