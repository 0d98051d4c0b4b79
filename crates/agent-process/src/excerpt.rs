//! An output of any length: what is kept of it, and what can be told of it by now.

use std::collections::VecDeque;

/// The beginning and the end of an output, each within a bound, and the count of what is missing between them.
#[derive(Clone, Debug)]
pub struct Excerpt {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    most_head: usize,
    most_tail: usize,
    dropped: u64,
}

/// An [`Excerpt`] as text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExcerptText {
    /// Beginning and end, with a line of its own between them where something is missing. What is no UTF-8 is replaced.
    pub text: String,
    /// How many bytes are missing.
    pub dropped: u64,
    /// How many there were.
    pub total: u64,
}

impl Excerpt {
    /// Keeps so many bytes of the beginning, and so many of the end where an output is longer.
    #[must_use]
    pub fn new(head: usize, tail: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            most_head: head,
            most_tail: tail,
            dropped: 0,
        }
    }

    /// The next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.most_head.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.most_tail);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    /// What was kept until now.
    #[must_use]
    pub fn text(&mut self) -> ExcerptText {
        let (head, tail) = (&*self.head, &*self.tail.make_contiguous());
        let dropped = self.dropped;
        let total = head.len() as u64 + tail.len() as u64 + dropped;
        let text = if dropped == 0 {
            String::from_utf8_lossy(&[head, tail].concat()).into_owned()
        } else {
            let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
            format!("{head}\n… {dropped} bytes of output were not kept …\n{tail}")
        };
        ExcerptText { text, dropped, total }
    }
}

/// Bytes that come in pieces, as text: a character that two pieces share is told whole, with the second.
#[derive(Clone, Debug, Default)]
pub struct Characters {
    begun: Vec<u8>,
}

impl Characters {
    /// All characters that are whole by now. What is no UTF-8 is replaced.
    #[must_use]
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let last = self.begun.utf8_chunks().last();
        let begun =
            last.map(|chunk| chunk.invalid()).filter(|part| begins(part)).map_or(0, <[u8]>::len);
        let rest = self.begun.split_off(self.begun.len() - begun);
        let whole = std::mem::replace(&mut self.begun, rest);
        String::from_utf8_lossy(&whole).into_owned()
    }

    /// What is left where the bytes break off in a character.
    #[must_use]
    pub fn end(self) -> String {
        String::from_utf8_lossy(&self.begun).into_owned()
    }
}

/// Whether these bytes are the beginning of a character, with nothing wrong in them.
fn begins(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::{Characters, Excerpt};

    #[test]
    fn a_character_in_two_pieces_is_told_whole() {
        let mut characters = Characters::default();
        let pieces = [&b"a\xe2\x82"[..], b"\xacb", b"\xff\xf0\x9f", b"\x99\x82"];
        let told = pieces.map(|piece| characters.push(piece));
        assert_eq!(told, ["a", "€b", "\u{fffd}", "🙂"]);
        assert_eq!(characters.end(), "");
    }

    #[test]
    fn what_breaks_off_is_told_at_the_end() {
        let mut characters = Characters::default();
        assert_eq!(characters.push(b"x\xe2\x82"), "x");
        assert_eq!(characters.end(), "\u{fffd}");
    }

    #[test]
    fn head_and_tail_are_kept_and_the_rest_counted() {
        let mut excerpt = Excerpt::new(100, 50);
        for piece in [&b"first "[..], &[b'm'; 150], b" last"] {
            excerpt.push(piece);
        }
        let text = excerpt.text();
        assert!(text.text.starts_with("first m"), "{}", text.text);
        assert!(text.text.ends_with("m last"), "{}", text.text);
        assert!(text.text.contains("m\n… 11 bytes of output were not kept …\nm"), "{}", text.text);
        assert_eq!((text.dropped, text.total), (11, 161));
    }

    #[test]
    fn a_character_on_the_border_of_head_and_tail_stays_whole_where_nothing_is_missing() {
        let mut excerpt = Excerpt::new(2, 10);
        excerpt.push("a€b".as_bytes());
        let text = excerpt.text();
        assert_eq!((text.text.as_str(), text.dropped, text.total), ("a€b", 0, 5));
    }
}
