//! What the bytes of a keyboard mean: letters, ends of lines, pastes.

use std::collections::VecDeque;

/// A key that no keyboard has: the editor takes it for the end of its line.
pub(in crate::chat) const BREAK: char = '\u{10fffd}';

/// Another one, at which it draws its line anew.
pub(in crate::chat) const REDRAW: char = '\u{10fffc}';

pub(super) const CTRL_C: u8 = 3;
pub(super) const CTRL_D: u8 = 4;

/// Around a text that is pasted.
pub(super) const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// The Enter of a keypad.
const KEYPAD_ENTER: &[u8] = b"\x1bOM";

/// The last bytes, of which some mean more together.
#[derive(Clone, Debug, Default)]
pub(super) struct Last {
    bytes: VecDeque<u8>,
    pub(super) pasted: bool,
}

impl Last {
    /// Takes the next byte.
    pub(super) fn push(&mut self, byte: u8) {
        self.bytes.push_back(byte);
        if self.bytes.len() > PASTE_BEGINS.len() {
            self.bytes.pop_front();
        }
        if self.are(PASTE_BEGINS) {
            self.pasted = true;
        } else if self.are(PASTE_ENDS) {
            self.pasted = false;
        }
    }

    fn are(&self, bytes: &[u8]) -> bool {
        self.bytes.iter().rev().take(bytes.len()).eq(bytes.iter().rev())
    }

    /// Whether a line may end behind them.
    pub(super) fn may_end_line(&self) -> bool {
        let key = self.bytes.back();
        let ends = matches!(key, Some(b'\r' | b'\n' | &CTRL_C | &CTRL_D));
        !self.pasted && (ends || self.are(KEYPAD_ENTER))
    }
}

/// What bytes of a terminal begin with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Letter(char),
    /// A part of one.
    Begun,
    /// So many bytes that are no letter, or one that no keyboard has.
    None(usize),
}

pub(super) fn next_letter(bytes: &VecDeque<u8>) -> Next {
    let bytes: Vec<u8> = bytes.iter().take(4).copied().collect();
    let (valid, error) = match str::from_utf8(&bytes) {
        Ok(valid) => (valid, None),
        Err(error) => (
            str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
            Some(error.error_len()),
        ),
    };
    match (valid.chars().next(), error) {
        (Some(own @ (BREAK | REDRAW)), _) => Next::None(own.len_utf8()),
        (Some(letter), _) => Next::Letter(letter),
        (None, Some(Some(wrong))) => Next::None(wrong),
        (None, _) => Next::Begun,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_whole_and_what_is_none_does_not_come() {
        let next = |bytes: &[u8]| next_letter(&bytes.iter().copied().collect());
        assert_eq!(next(b"ab"), Next::Letter('a'));
        assert_eq!(next("я\u{1b}".as_bytes()), Next::Letter('я'));
        assert_eq!(next("😀".as_bytes()), Next::Letter('😀'));
        assert_eq!(next(b"a\xff\xfe"), Next::Letter('a'));
        assert_eq!(next(b"\xf0\x9f\x98"), Next::Begun);
        assert_eq!(next(b"\xe4\r"), Next::None(1));
        assert_eq!(next(b"\x80\x80"), Next::None(1));
        assert_eq!(next(BREAK.to_string().as_bytes()), Next::None(4));
    }

    #[test]
    fn it_is_known_where_a_line_may_end() {
        let mut last = Last::default();
        let mut ends = |bytes: &[u8]| {
            bytes.iter().for_each(|byte| last.push(*byte));
            last.may_end_line()
        };
        assert!(!ends(b"abc"));
        for key in [&b"\r"[..], b"\n", b"\x03", b"\x04", b"\x1bOM", b"\x1b\r"] {
            assert!(ends(key), "{key:?}");
        }
        assert!(!ends(b"OM"));
        assert!(!ends(b"\x1b[200~one\r") && !ends(b"two\x03"));
        assert!(!ends(b"\x1b[201~") && ends(b"\r"));
    }
}
