//! Bytes that somebody else wrote, as text that is safe to show and never over its bound.

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

/// Shows as much of `bytes` as there is room for, counting what is shown: a control character other than a tab
/// is written out as `\u{1b}`, so that it moves no cursor and hides nothing, and is never cut in two.
pub(crate) fn show(bytes: &[u8], room: Room, ends: LineEnds) -> Shown {
    let mut shown = Shown { text: String::new(), bytes: 0, lossy: false };
    let mut left = match room {
        Room::Chars(count) | Room::Bytes(count) => count,
    };
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        for (at, c) in valid.char_indices() {
            let kept = ends == LineEnds::Kept && (c == '\n' || valid[at..].starts_with("\r\n"));
            let fits = if c.is_control() && c != '\t' && !kept {
                push(&mut shown.text, &format!("\\u{{{:x}}}", u32::from(c)), room, &mut left)
            } else {
                push(&mut shown.text, c.encode_utf8(&mut [0; 4]), room, &mut left)
            };
            if !fits {
                return shown;
            }
            shown.bytes += c.len_utf8();
        }
        if !chunk.invalid().is_empty() {
            if !push(&mut shown.text, "\u{fffd}", room, &mut left) {
                return shown;
            }
            shown.bytes += chunk.invalid().len();
            shown.lossy = true;
        }
    }
    shown
}

/// Whether `piece` had room.
fn push(text: &mut String, piece: &str, room: Room, left: &mut usize) -> bool {
    let taken = match room {
        Room::Chars(_) => piece.chars().count(),
        Room::Bytes(_) => piece.len(),
    };
    let fits = taken <= *left;
    if fits {
        text.push_str(piece);
        *left -= taken;
    }
    fits
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
        ] {
            let expected = Shown { text: text.to_owned(), bytes: shown, lossy };
            assert_eq!(show(bytes, room, ends), expected, "{bytes:?} in {room:?}");
        }
    }
}
