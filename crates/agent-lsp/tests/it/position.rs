use agent_lsp::position::{Document, Place, PositionEncoding, PositionError};
use async_lsp::lsp_types::{Position, PositionEncodingKind};
use proptest::prelude::*;

use PositionEncoding::{Utf8, Utf16, Utf32};

/// `a` tab `𝕏` `é` (two code points) `日` `b`: one unit, one, astral, decomposed, three bytes, one.
const MIXED: &str = "a\t𝕏e\u{301}日b";

#[test]
fn a_place_has_a_number_in_each_encoding() {
    let document = Document::new(MIXED);
    let table = [
        ('\t', 2, [1, 1, 1]),
        ('𝕏', 3, [2, 2, 2]),
        ('e', 4, [6, 4, 3]),
        ('\u{301}', 5, [7, 5, 4]),
        ('日', 6, [9, 6, 5]),
        ('b', 7, [12, 7, 6]),
    ];
    for (character, column, units) in table {
        let offset = MIXED.find(character).unwrap();
        assert_eq!(document.place(offset), Place { line: 1, column }, "{character}");
        for (encoding, unit) in [Utf8, Utf16, Utf32].into_iter().zip(units) {
            let position = Position::new(0, unit);
            assert_eq!(document.position(offset, encoding), position, "{character} {encoding:?}");
            assert_eq!(document.offset(position, encoding), Ok(offset), "{character} {encoding:?}");
        }
    }
}

#[test]
fn lines_end_with_lf_crlf_and_a_lone_cr() {
    let document = Document::new("one\ntwo\r\nthree\rfour\r\r\n");
    let lines: Vec<_> = (0..=7).map(|line| document.line(line)).collect();
    let expected =
        [None, Some("one"), Some("two"), Some("three"), Some("four"), Some(""), Some(""), None];
    assert_eq!(lines, expected);
    assert_eq!(document.line_count(), 6);
    assert_eq!(Document::new("").line(1), Some(""));
}

// spec: LSP-16
#[test]
fn a_position_that_is_not_in_the_text_is_an_error_and_its_nearest_place_is_defined() {
    let document = Document::new("a𝕏\r\nb");
    let end = document.text().len();
    let table = [
        // Past the line: its end, before the line end.
        ((0, 4), Err(PositionError::PastTheLine { units: 3 }), 5),
        ((0, 99), Err(PositionError::PastTheLine { units: 3 }), 5),
        // Inside of a surrogate pair: the start of the character.
        ((0, 2), Err(PositionError::InsideCharacter('𝕏')), 1),
        // One line past the end, as servers write the end of a text (oraios/serena#1498).
        ((2, 0), Ok(end), end),
        ((2, 1), Err(PositionError::PastTheText { lines: 2 }), end),
        ((9, 0), Err(PositionError::PastTheText { lines: 2 }), end),
        ((u32::MAX, u32::MAX), Err(PositionError::PastTheText { lines: 2 }), end),
        ((1, 1), Ok(end), end),
    ];
    for ((line, character), exact, nearest) in table {
        let position = Position::new(line, character);
        assert_eq!(document.offset(position, Utf16), exact, "{line}:{character}");
        assert_eq!(document.nearest_offset(position, Utf16), nearest, "{line}:{character}");
    }
    let inside = document.offset(Position::new(0, 3), Utf8);
    assert_eq!(inside, Err(PositionError::InsideCharacter('𝕏')));
    assert_eq!(inside.unwrap_err().to_string(), "is inside of the character `𝕏`");
}

#[test]
fn an_offset_between_cr_and_lf_is_the_end_of_its_line() {
    let document = Document::new("ab\r\nc");
    assert_eq!(document.position(3, Utf16), Position::new(0, 2));
    assert_eq!(document.position(4, Utf16), Position::new(1, 0));
    assert_eq!(document.place(3), Place { line: 1, column: 3 });
    assert_eq!(document.position(99, Utf16), Position::new(1, 1));
    // An offset inside of a character is its start.
    assert_eq!(Document::new("é").position(1, Utf8), Position::new(0, 0));
}

#[test]
fn a_place_is_an_offset_again() {
    let document = Document::new("日本\r\n\tx");
    let offset = |line, column| document.offset_of_place(Place { line, column });
    assert_eq!(offset(1, 2), Some(3));
    assert_eq!(offset(1, 3), Some(6));
    assert_eq!(offset(1, 9), Some(6));
    assert_eq!(offset(2, 2), Some(9));
    assert_eq!(offset(3, 1), None);
    assert_eq!(offset(1, 0), None);
}

#[test]
fn bytes_become_the_text_that_a_server_is_sent() {
    let table: [(&[u8], &str); 4] = [
        (b"\xEF\xBB\xBFa\r\n", "a\r\n"),
        (b"\xFF\xFEa\0=\xD8\0\xDE", "a😀"),
        (b"caf\xE9", "café"),
        (b"", ""),
    ];
    for (bytes, text) in table {
        assert_eq!(Document::decode(bytes).text(), text);
    }
}

#[test]
fn a_server_that_chose_nothing_counts_utf16() {
    let kinds = [
        (None, Utf16),
        (Some(PositionEncodingKind::UTF8), Utf8),
        (Some(PositionEncodingKind::UTF16), Utf16),
        (Some(PositionEncodingKind::UTF32), Utf32),
        (Some(PositionEncodingKind::new("utf-7")), Utf16),
    ];
    for (kind, encoding) in kinds {
        assert_eq!(PositionEncoding::of_server(kind.as_ref()), encoding, "{kind:?}");
    }
}

proptest! {
    #[test]
    fn every_place_of_a_text_comes_back_in_each_encoding(text in "[ab\r\n\t𝕏é日😀]{0,40}") {
        let document = Document::new(text.as_str());
        for (offset, character) in text.char_indices().chain([(text.len(), ' ')]) {
            if character == '\n' && text[..offset].ends_with('\r') {
                continue;
            }
            for encoding in [Utf8, Utf16, Utf32] {
                let position = document.position(offset, encoding);
                prop_assert_eq!(document.offset(position, encoding), Ok(offset));
                prop_assert_eq!(document.nearest_offset(position, encoding), offset);
            }
            prop_assert_eq!(document.offset_of_place(document.place(offset)), Some(offset));
        }
    }

    #[test]
    fn no_position_leads_into_the_middle_of_a_character(
        text in "[ab\r\n𝕏é日]{0,20}", line in 0_u32..5, character in 0_u32..20,
    ) {
        let document = Document::new(text.as_str());
        for encoding in [Utf8, Utf16, Utf32] {
            let nearest = document.nearest_offset(Position::new(line, character), encoding);
            prop_assert!(text.is_char_boundary(nearest));
            if let Ok(exact) = document.offset(Position::new(line, character), encoding) {
                prop_assert_eq!(exact, nearest);
            }
        }
    }
}
