//! Lines of the log as a result shows them.

use serde_json::{Value, json};

use crate::{
    level::Level,
    text::{LineEnds, Room, is_plain, show},
    tools::record,
};

/// A line is shown up to this many characters.
pub const LINE_CHARS: usize = 500;

/// So many bytes of a line are shown at a time where it is searched.
const PIECE_BYTES: usize = 1 << 16;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How much of a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// Its end was not read.
    Beginning,
    /// Its beginning was not read, so nobody knows its level.
    Middle,
}

/// A line as it is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    /// `{n, level, text, cut}`.
    pub(crate) record: Value,
    /// How many of its bytes, as far as they were read, had no room.
    pub(crate) hidden: usize,
}

/// Shows a line that comes without its line feed.
pub(crate) fn shown(number: u64, line: &[u8], extent: Extent) -> Shown {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let shown = show(whole(line, extent), Room::Chars(LINE_CHARS), LineEnds::None);
    let hidden = line.len() - shown.bytes;
    let record = record([
        ("n", number.into()),
        ("level", level(line, extent).map(Level::name).into()),
        ("text", shown.text.into()),
        ("cut", (hidden > 0 || extent != Extent::Whole).into()),
    ]);
    Shown { record, hidden }
}

/// Whether a line holds `text` in the form in which it is shown, were there room for all of it, and that form is another than its own.
/// Nothing where it is broken off before that is known.
pub(crate) fn is_shown_with(
    line: &[u8],
    extent: Extent,
    text: &str,
    breaks_off: &dyn Fn() -> bool,
) -> Option<bool> {
    let mut rest = whole(line.strip_suffix(b"\r").unwrap_or(line), extent);
    if is_plain(rest) {
        return Some(false);
    }
    // What was shown last, as far as the text may have begun in it.
    let mut shown = String::new();
    while !rest.is_empty() {
        if breaks_off() {
            return None;
        }
        let piece;
        (piece, rest) = rest.split_at(whole_characters(rest, PIECE_BYTES));
        shown.push_str(&show(piece, Room::Chars(usize::MAX), LineEnds::None).text);
        if shown.contains(text) {
            return Some(true);
        }
        shown.drain(..shown.floor_char_boundary(shown.len().saturating_sub(text.len())));
    }
    Some(false)
}

/// How many bytes of at most so many hold no part of a character alone.
fn whole_characters(bytes: &[u8], most: usize) -> usize {
    if bytes.len() <= most {
        return bytes.len();
    }
    let begins = |at: &usize| bytes[*at] & 0b1100_0000 != 0b1000_0000;
    // A character has at most four bytes: of more that only go on, each is shown by itself.
    (most - 3..=most).rev().find(begins).unwrap_or(most)
}

/// Whether `text` could stand where a line is shown in another form than its own: with a part of what stands for a control
/// character, or for a byte that is no UTF-8. What has no such part is found in the lines as they are.
pub(crate) fn may_be_written_out(text: &str) -> bool {
    let within = |c: char| matches!(c, 'u' | '{' | '0'..='9' | 'a'..='f');
    text.contains(['\\', '}', '\u{fffd}']) || text.chars().all(within)
}

fn whole(line: &[u8], extent: Extent) -> &[u8] {
    if extent == Extent::Beginning { without_partial(line) } else { line }
}

pub(crate) fn level(line: &[u8], extent: Extent) -> Option<Level> {
    if extent == Extent::Middle { None } else { Level::of_line(line) }
}

/// The schema of what [`shown`] makes.
pub(crate) fn schema() -> Value {
    let levels: Vec<Value> =
        Level::NAMES.into_iter().map(Value::from).chain([Value::Null]).collect();
    json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "description": "The line's number, from 1."},
            "level": {"enum": levels, "description": "null where the line names no level, as in a traceback."},
            "text": {
                "type": "string", "maxLength": LINE_CHARS,
                "description": "Control characters other than tabs, and what reorders text or cannot be seen, are written out, as \\u{1b}, and bytes that are no UTF-8 as U+FFFD.",
            },
            "cut": {"type": "boolean", "description": "Whether the line is longer than what is shown of it."},
        },
        "required": ["n", "level", "text", "cut"],
        "additionalProperties": false,
    })
}

/// What an editor on Windows puts first is no text of the first line.
pub(crate) fn without_mark(file: &[u8]) -> &[u8] {
    file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file)
}

/// A character whose last bytes were not read is no wrong one.
fn without_partial(text: &[u8]) -> &[u8] {
    match str::from_utf8(text) {
        Err(error) if error.error_len().is_none() => &text[..error.valid_up_to()],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_searched_piece_by_piece_as_it_is_shown() {
        let odd = ["\u{1b}", "я", "\u{202e}", "x", "😀"].concat().into_bytes();
        let bad = [&odd[..], b"\xff\x9f\x9f\x9f\x9f\x9f\xe2\x82"].concat();
        for before in PIECE_BYTES - 40..PIECE_BYTES + 8 {
            let line = [&b"a".repeat(before)[..], &bad, &odd, b"end"].concat();
            let shown = show(&line, Room::Chars(usize::MAX), LineEnds::None).text;
            let tail: String = shown.chars().skip(before - 3).take(60).collect();
            let finds = |text: &str| is_shown_with(&line, Extent::Whole, text, &|| false);
            assert_eq!(finds(&tail), Some(true), "{before}: {tail}");
            assert_eq!(finds("none"), Some(false));
        }
        let line = [b"\x1b".repeat(3 * PIECE_BYTES), b"z".to_vec()].concat();
        let looks = std::cell::Cell::new(0);
        let breaks_off = || {
            looks.set(looks.get() + 1);
            looks.get() > 2
        };
        assert_eq!(is_shown_with(&line, Extent::Whole, "z", &breaks_off), None);
    }

    #[test]
    fn every_part_of_a_written_form_may_be_written_out() {
        let line = b"ab\x1bcd\xffe\x9f\xc2\x9ff";
        let text = show(line, Room::Chars(99), LineEnds::None).text;
        assert_eq!(text, "ab\\u{1b}cd\u{fffd}e\u{fffd}\\u{9f}f");
        let own = ["a", "b", "c", "d", "e", "f", "ab", "cd"];
        let ends: Vec<_> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for (index, start) in ends.iter().enumerate() {
            for end in &ends[index + 1..] {
                let part = &text[*start..*end];
                assert!(own.contains(&part) || may_be_written_out(part), "{part}");
            }
        }
        for own in ["ERROR", "disk full", "needle", "0 files", "[31m"] {
            assert!(!may_be_written_out(own), "{own}");
        }
    }
}
