//! Bytes that somebody else wrote, as text that is safe to show and never over its bound.

use unicode_general_category::{GeneralCategory, get_general_category};

/// As much is looked at before the next branch.
const PLAIN_BLOCK: usize = 1 << 10;

/// How much a text may take.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Room {
    Chars(usize),
    Bytes(usize),
}

/// Which line ends a text may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// The bytes are one line: a carriage return in it is shown as any control character is.
    None,
    /// `\n` and `\r\n` stay as they are.
    Kept,
}

/// A text as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// How many of the bytes it shows; the rest had no room.
    pub(crate) bytes: usize,
    /// Whether bytes that are no UTF-8 became U+FFFD.
    pub(crate) lossy: bool,
}

/// Shows as much of `bytes` as there is room for, counting what is shown: a character that moves a cursor, reorders text or leaves no
/// trace on a screen is written out as `\u{1b}`, so that it hides nothing, and is never cut in two.
pub(crate) fn show(bytes: &[u8], room: Room, ends: LineEnds) -> Shown {
    let (Room::Chars(most) | Room::Bytes(most)) = room;
    // As most lines are, and many times quicker than a look at each character.
    if bytes.len() <= most && is_printable(bytes) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        return Shown { text, bytes: bytes.len(), lossy: false };
    }
    let mut page = Page { text: String::new(), room };
    let mut shown = 0;
    let mut lossy = false;
    'full: for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(first) = rest.chars().next() {
            if is_odd(first, rest, ends) {
                if !page.push(&format!("\\u{{{:x}}}", u32::from(first))) {
                    break 'full;
                }
                shown += first.len_utf8();
                rest = &rest[first.len_utf8()..];
                continue;
            }
            let odd = rest.char_indices().find(|(at, c)| is_odd(*c, &rest[*at..], ends));
            let (plain, after) = rest.split_at(odd.map_or(rest.len(), |(at, _)| at));
            let fitting = page.push_some(plain);
            shown += fitting;
            if fitting < plain.len() {
                break 'full;
            }
            rest = after;
        }
        if !chunk.invalid().is_empty() {
            if !page.push("\u{fffd}") {
                break 'full;
            }
            shown += chunk.invalid().len();
            lossy = true;
        }
    }
    Shown { text: page.text, bytes: shown, lossy }
}

/// Whether [`show`] shows a line, or several, as it is.
///
/// In blocks, so that the compiler looks at many bytes at once: a search asks this of a whole log.
pub(crate) fn is_plain(text: &[u8]) -> bool {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    let ascii = |block: &[u8]| block.iter().fold(true, |all, byte| all & plain(byte));
    text.chunks(PLAIN_BLOCK).all(ascii)
        || str::from_utf8(text).is_ok_and(|text| {
            !text.char_indices().any(|(at, c)| is_odd(c, &text[at..], LineEnds::Kept))
        })
}

/// Whether these are printable ASCII characters and tabs alone, of which each is one byte.
fn is_printable(text: &[u8]) -> bool {
    text.iter().fold(true, |all, byte| all & matches!(byte, b' '..=b'~' | b'\t'))
}

/// Whether a character, with which `rest` begins, has to be written out.
fn is_odd(c: char, rest: &str, ends: LineEnds) -> bool {
    match c {
        '\t' => false,
        '\n' => ends == LineEnds::None,
        '\r' => ends == LineEnds::None || !rest.starts_with("\r\n"),
        ' '..='~' | JOINER | NON_JOINER | EMOJI_STYLE => false,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => true,
        _ => matches!(
            get_general_category(c),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
        ),
    }
}

// Many scripts and most emoji cannot be written without these.
const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';
const EMOJI_STYLE: char = '\u{fe0f}';

/// A text and what room is left for it.
struct Page {
    text: String,
    room: Room,
}

impl Page {
    /// Adds all of `piece` or nothing, and says whether it had room.
    fn push(&mut self, piece: &str) -> bool {
        let fits = self.fitting(piece) == piece.len();
        if fits {
            self.push_some(piece);
        }
        fits
    }

    /// Adds what of `piece` there is room for, and says how many bytes that was.
    fn push_some(&mut self, piece: &str) -> usize {
        let fitting = &piece[..self.fitting(piece)];
        self.text.push_str(fitting);
        match &mut self.room {
            Room::Chars(left) => *left -= fitting.chars().count(),
            Room::Bytes(left) => *left -= fitting.len(),
        }
        fitting.len()
    }

    /// How many bytes of `piece` there is room for, in whole characters.
    fn fitting(&self, piece: &str) -> usize {
        match self.room {
            Room::Chars(left) => piece.char_indices().nth(left).map_or(piece.len(), |(at, _)| at),
            Room::Bytes(left) => piece.floor_char_boundary(left),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_safe_and_within_its_room() {
        let one_line = LineEnds::None;
        for (bytes, room, ends, text, shown, lossy) in [
            (&b"a\tb"[..], Room::Chars(9), one_line, "a\tb", 3, false),
            (b"\x1b[1mx\0", Room::Chars(99), one_line, "\\u{1b}[1mx\\u{0}", 6, false),
            (b"a\rb", Room::Chars(99), one_line, "a\\u{d}b", 3, false),
            (b"a\r\nb\rc\n", Room::Chars(99), LineEnds::Kept, "a\r\nb\\u{d}c\n", 7, false),
            (b"a\xffb", Room::Bytes(5), one_line, "a\u{fffd}b", 3, true),
            (b"a\xff", Room::Bytes(3), one_line, "a", 1, false),
            ("яя".as_bytes(), Room::Bytes(3), one_line, "я", 2, false),
            ("я😀".as_bytes(), Room::Chars(2), one_line, "я😀", 6, false),
            (b"ab\x1b", Room::Chars(4), one_line, "ab", 2, false),
            (
                "a\u{202e}b\u{e0041}".as_bytes(),
                Room::Chars(99),
                one_line,
                "a\\u{202e}b\\u{e0041}",
                9,
                false,
            ),
            (
                "\u{2028}я\u{200b}".as_bytes(),
                Room::Chars(99),
                LineEnds::Kept,
                "\\u{2028}я\\u{200b}",
                8,
                false,
            ),
            (
                "❤\u{fe0f}\u{e0101}".as_bytes(),
                Room::Chars(99),
                one_line,
                "❤\u{fe0f}\\u{e0101}",
                10,
                false,
            ),
            ("👩\u{200d}🚀".as_bytes(), Room::Chars(99), one_line, "👩\u{200d}🚀", 11, false),
        ] {
            let expected = Shown { text: text.to_owned(), bytes: shown, lossy };
            assert_eq!(show(bytes, room, ends), expected, "{bytes:?} in {room:?}");
        }
    }
}
