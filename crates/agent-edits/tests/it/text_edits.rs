use std::ops::Range;

use agent_edits::{LineIndex, TextEdit, TextEdits, Utf16Position, with_newlines};
use proptest::prelude::*;

/// A text, its edits, and what comes of them.
type Case<'a> = (&'a str, &'a [(Range<usize>, &'a str)], &'a str);

fn bytes(edits: &[(Range<usize>, &str)]) -> agent_edits::Result<TextEdits> {
    TextEdits::new(edits.iter().map(|(range, text)| TextEdit::new(range.clone(), *text)))
}

#[test]
fn edits_are_made_together() {
    let cases: &[Case] = &[
        ("abc", &[], "abc"),
        ("abc", &[(0..1, "x"), (2..3, "z")], "xbz"),
        ("abc", &[(2..3, "z"), (0..1, "x")], "xbz"),
        ("abc", &[(1..1, "+")], "a+bc"),
        ("abc", &[(1..2, "")], "ac"),
        ("abc", &[(1..2, "x"), (1..2, "x")], "axc"),
        ("abc", &[(0..1, "x"), (1..2, "y")], "xyc"),
        ("abc", &[(1..1, "1"), (1..1, "2"), (1..2, "x")], "a12xc"),
        ("abc", &[(1..1, "1"), (1..1, "2"), (1..1, "1")], "a12bc"),
        ("", &[(0..0, "new")], "new"),
        ("née", &[(1..3, "e")], "nee"),
    ];
    for (text, edits, expected) in cases {
        let edits = bytes(edits).unwrap();
        assert_eq!(edits.apply(text).unwrap(), *expected, "{edits:?}");
    }
}

#[test]
fn what_cannot_be_made_is_refused() {
    let cases: &[Case] = &[
        ("abc", &[(0..2, "x"), (1..3, "y")], "overlapping_edits"),
        ("abc", &[(0..2, "x"), (0..2, "y")], "overlapping_edits"),
        ("abc", &[(0..3, "x"), (1..1, "y")], "overlapping_edits"),
        ("abc", &[(2..4, "x")], "out_of_range"),
        #[expect(clippy::reversed_empty_ranges, reason = "the case")]
        ("abc", &[(2..1, "x")], "out_of_range"),
        ("née", &[(1..2, "x")], "inside_character"),
        ("née", &[(2..2, "x")], "inside_character"),
    ];
    for (text, edits, code) in cases {
        let error = bytes(edits).and_then(|edits| edits.apply(text)).unwrap_err();
        assert_eq!(error.code(), *code, "{error}");
    }
}

#[test]
fn utf16_positions_are_held_against_the_text() {
    let text = "a😀b\r\né\rlast";
    let index = LineIndex::new(text);
    let at = |line, character| {
        index.offset(Utf16Position::new(line, character)).map_err(|error| error.code())
    };
    assert_eq!(at(0, 0), Ok(0));
    assert_eq!(at(0, 1), Ok(1));
    assert_eq!(at(0, 2), Err("inside_character"));
    assert_eq!(at(0, 3), Ok(5));
    assert_eq!(at(0, 4), Ok(6));
    assert_eq!(at(0, 5), Err("out_of_range"));
    assert_eq!(at(1, 1), Ok(10));
    assert_eq!(at(2, 4), Ok(15));
    assert_eq!(at(3, 0), Ok(15));
    assert_eq!(at(3, 1), Err("out_of_range"));
    assert_eq!(at(4, 0), Err("out_of_range"));
    let range = |from, to| Utf16Position::new(0, from)..Utf16Position::new(0, to);
    let edits = [(range(3, 4), "B".to_owned()), (range(0, 1), "A".to_owned())];
    let edits = TextEdits::from_utf16(text, edits).unwrap();
    assert_eq!(edits.apply(text).unwrap(), "A😀B\r\né\rlast");
}

#[test]
fn encoding_and_mark_stay() {
    let edits = bytes(&[(1..2, "é")]).unwrap();
    let cases: &[(&[u8], &[u8])] = &[
        (b"abc", "aéc".as_bytes()),
        (b"\xEF\xBB\xBFabc\r\n", "\u{FEFF}aéc\r\n".as_bytes()),
        (b"ab\xE9", b"a\xE9\xE9"),
        (b"\xFF\xFEa\0b\0", b"\xFF\xFEa\0\xE9\0"),
    ];
    for (before, after) in cases {
        assert_eq!(edits.apply_to_file(before).unwrap(), *after);
    }
    let arrow = bytes(&[(0..0, "→")]).unwrap();
    let error = arrow.apply_to_file(b"ab\xE9").unwrap_err();
    assert_eq!(error.code(), "not_encodable");
}

#[test]
fn newlines_become_those_of_the_file() {
    assert_eq!(with_newlines("a\nb\r\nc\r", "\r\n"), "a\r\nb\r\nc\r\n");
    assert_eq!(with_newlines("a\r\nb", "\n"), "a\nb");
}

/// Walks through the text once and puts in what belongs at each place.
fn naive(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut out = String::new();
    let mut skip_to = 0;
    for place in 0..=text.len() {
        for (range, new) in edits {
            if range.start == place && range.is_empty() {
                out.push_str(new);
            }
        }
        for (range, new) in edits {
            if range.start == place && !range.is_empty() {
                out.push_str(new);
                skip_to = range.end;
            }
        }
        if place >= skip_to
            && let Some(rest) = text.get(place..)
            && let Some(character) = rest.chars().next()
        {
            out.push(character);
        }
    }
    out
}

/// A text, and edits of it that do not overlap: cuts at sorted places, each second piece replaced.
fn text_and_edits() -> impl Strategy<Value = (String, Vec<(Range<usize>, String)>)> {
    ("[a-cé😀\r\n]{0,24}", proptest::collection::vec((0_usize..100, "[x-z→]{0,3}"), 0..12))
        .prop_map(|(text, cuts)| {
            let mut places: Vec<_> = cuts
                .iter()
                .map(|(at, _)| text.floor_char_boundary(at % (text.len() + 1)))
                .collect();
            places.sort_unstable();
            let mut edits: Vec<(Range<usize>, String)> = Vec::new();
            for (pair, (_, new)) in places.as_chunks::<2>().0.iter().zip(&cuts) {
                let range = pair[0]..pair[1];
                if !edits.iter().any(|(other, _)| *other == range) {
                    edits.push((range, new.clone()));
                }
            }
            (text, edits)
        })
}

proptest! {
    #[test]
    fn byte_edits_are_as_the_naive_ones((text, edits) in text_and_edits(), turn in 0_usize..12) {
        let expected = naive(&text, &edits);
        let mut shuffled = edits.clone();
        shuffled.rotate_left(turn % edits.len().max(1));
        shuffled.extend(edits.iter().take(turn).cloned());
        let edits = shuffled.into_iter().map(|(range, new)| TextEdit::new(range, new));
        prop_assert_eq!(TextEdits::new(edits).unwrap().apply(&text).unwrap(), expected);
    }

    #[test]
    fn utf16_edits_are_as_byte_edits((text, edits) in text_and_edits()) {
        let index = LineIndex::new(&text);
        // Between `\r` and `\n` there is no position.
        let inside = |place: usize| place > 0 && text[..place].ends_with('\r') && text[place..].starts_with('\n');
        let edits: Vec<_> = edits.into_iter().filter(|(range, _)| !inside(range.start) && !inside(range.end)).collect();
        let utf16 = edits.iter().map(|(range, new)| {
            (index.position(range.start)..index.position(range.end), new.clone())
        });
        let by_utf16 = TextEdits::from_utf16(&text, utf16).unwrap();
        let by_bytes = TextEdits::new(edits.iter().map(|(range, new)| TextEdit::new(range.clone(), new.clone()))).unwrap();
        prop_assert_eq!(by_utf16, by_bytes);
    }
}
