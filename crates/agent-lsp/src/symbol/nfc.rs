//! A text compared without regard to how its accents are composed: `é` is one code point or two.

use std::ops::Range;

use memchr::memmem;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The occurrences of a symbol in a line when both are composed, as bytes of the line as it is. None when composing changes
/// neither.
pub(super) fn occurrences(line: &str, symbol: &str) -> Vec<Range<usize>> {
    if is_nfc(line) && is_nfc(symbol) {
        return Vec::new();
    }
    let symbol: String = symbol.nfc().collect();
    let (composed, map) = compose(line);
    let place = |offset: usize| {
        let index = map.binary_search_by_key(&offset, |(composed, _)| *composed).ok()?;
        Some(map[index].1)
    };
    memmem::find_iter(composed.as_bytes(), &symbol)
        .filter_map(|start| Some(place(start)?..place(start + symbol.len())?))
        .collect()
}

/// The composed line, and where its pieces begin: in the composed line and in the line as it is.
///
/// A piece is the shortest run that composes on its own. Hangul and a few Indic letters compose without combining marks,
/// so what tells is whether composing a piece with its next character gives the same as composing them apart.
fn compose(line: &str) -> (String, Vec<(usize, usize)>) {
    let mut composed = String::with_capacity(line.len());
    let mut map = Vec::new();
    let mut piece = 0..0;
    for (offset, character) in line.char_indices() {
        let longer = piece.start..offset + character.len_utf8();
        let apart = nfc(&line[piece.clone()]) + &nfc(character.encode_utf8(&mut [0; 4]));
        if !piece.is_empty() && nfc(&line[longer.clone()]) == apart {
            map.push((composed.len(), piece.start));
            composed.push_str(&nfc(&line[piece.clone()]));
            piece = offset..longer.end;
        } else {
            piece = longer;
        }
    }
    map.push((composed.len(), piece.start));
    composed.push_str(&nfc(&line[piece]));
    map.push((composed.len(), line.len()));
    (composed, map)
}

fn nfc(text: &str) -> String {
    text.nfc().collect()
}
