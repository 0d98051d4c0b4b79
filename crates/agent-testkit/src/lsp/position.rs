//! What a column counts.

use serde::{Deserialize, Serialize};

/// The unit in which `Position.character` counts (LSP 3.17, `PositionEncodingKind`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// Bytes of UTF-8.
    #[serde(rename = "utf-8")]
    Utf8,
    /// Code units of UTF-16: what holds where nothing was agreed on.
    #[default]
    #[serde(rename = "utf-16")]
    Utf16,
    /// Code points.
    #[serde(rename = "utf-32")]
    Utf32,
}

impl Encoding {
    /// The protocol's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    /// The column of the byte `byte` of `line`.
    #[must_use]
    pub fn column(self, line: &str, byte: usize) -> usize {
        let before = line.get(..byte).unwrap_or(line);
        before.chars().map(|character| self.width(character)).sum()
    }

    /// The byte of `line` at the column `column`: the line's end where it is beyond, the
    /// character's start where it is inside of one.
    #[must_use]
    pub fn byte(self, line: &str, column: usize) -> usize {
        let mut at = 0;
        for (byte, character) in line.char_indices() {
            at += self.width(character);
            if at > column {
                return byte;
            }
        }
        line.len()
    }

    fn width(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// The byte of a whole text at a line (0-indexed) and a column.
pub(crate) fn offset(text: &str, line: usize, column: usize, encoding: Encoding) -> usize {
    let mut start = 0;
    for (index, content) in text.split('\n').enumerate() {
        if index == line {
            let shown = content.strip_suffix('\r').unwrap_or(content);
            return start + encoding.byte(shown, column);
        }
        start += content.len() + 1;
    }
    text.len()
}
