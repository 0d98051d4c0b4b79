//! What is kept of a command's output: head and tail, as whole characters.

use std::collections::VecDeque;

use agent_vibe::RESULT_CHARS;

/// How many bytes of the beginning are kept. Both parts and the mark between them are within what is kept of a worker's
/// result, which would lose its end otherwise.
pub(super) const HEAD_BYTES: usize = RESULT_CHARS / 6;

/// How many bytes of the end are kept: its last words are a worker's result.
pub(super) const TAIL_BYTES: usize = RESULT_CHARS / 4 * 3;

#[derive(Debug, Default)]
pub(super) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: usize,
    /// The beginning of a character whose rest is still to come.
    part: Vec<u8>,
}

impl Kept {
    /// Keeps bytes and gives back the characters that are whole by now.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let room = HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..over);
        self.dropped += over;
        self.part.extend_from_slice(bytes);
        let begun = self.part.utf8_chunks().last().map_or(0, |chunk| match chunk.invalid() {
            [] => 0,
            part => match std::str::from_utf8(part) {
                Err(error) if error.error_len().is_none() => part.len(),
                _ => 0,
            },
        });
        let rest = self.part.split_off(self.part.len() - begun);
        let whole = std::mem::replace(&mut self.part, rest);
        String::from_utf8_lossy(&whole).into_owned()
    }

    /// All that was kept, with a line where something is missing.
    pub(super) fn text(&mut self) -> String {
        let tail = self.tail.make_contiguous();
        if self.dropped == 0 {
            return String::from_utf8_lossy(&[&*self.head, tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(tail));
        format!("{head}\n… {} bytes of output were not kept …\n{tail}", self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_in_two_pieces_is_told_whole() {
        let mut kept = Kept::default();
        let told: Vec<String> = [&b"a\xe2\x82"[..], b"\xacb", b"\xff\xf0\x9f", b"\x99\x82"]
            .map(|piece| kept.push(piece))
            .into();
        assert_eq!(told, ["a", "€b", "\u{fffd}", "🙂"]);
        assert_eq!(kept.text(), "a€b\u{fffd}🙂");
    }

    #[test]
    fn head_and_tail_are_kept_and_the_rest_counted() {
        let mut kept = Kept::default();
        kept.push(b"first ");
        kept.push(&vec![b'm'; HEAD_BYTES + TAIL_BYTES]);
        kept.push(b" last");
        let text = kept.text();
        assert!(text.starts_with("first m") && text.ends_with("m last"));
        assert!(text.contains("\n… 11 bytes of output were not kept …\n"));
    }
}
