//! A document's lines and the four ways to name a place in it: a byte offset, a line and a column as people count them,
//! and the positions of the protocol in UTF-8, UTF-16 and UTF-32.

use std::ops::Range;

use agent_workspace::Text;
use async_lsp::lsp_types::{Position, PositionEncodingKind, Range as LspRange};

/// What a `character` of the protocol counts (LSP 3.17, `PositionEncodingKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// UTF-16 units: what a server means that says nothing.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

/// A place as people name it: both from 1, the column in characters, a tab being one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

/// A text with its lines, which end with `\n`, `\r\n` or `\r` (LSP 3.17, "Text Documents").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    text: String,
    starts: Vec<usize>,
}

/// Why a position names no place in a text: it belongs to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PositionError {
    /// The text has fewer lines.
    PastTheText {
        /// How many lines the text has.
        lines: usize,
    },
    /// The line has fewer units.
    PastTheLine {
        /// How many units the line has in the encoding that was asked.
        units: usize,
    },
    /// It lies inside of this character.
    InsideCharacter(char),
}

impl PositionEncoding {
    /// The encoding that a server chose; without a choice, and for one that nobody offered, UTF-16.
    #[must_use]
    pub fn of_server(kind: Option<&PositionEncodingKind>) -> Self {
        match kind.map(PositionEncodingKind::as_str) {
            Some("utf-8") => Self::Utf8,
            Some("utf-32") => Self::Utf32,
            _ => Self::Utf16,
        }
    }

    /// The name in the protocol.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    /// How many units a character has.
    #[must_use]
    pub fn units(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }

    fn units_of(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            _ => text.chars().map(|character| self.units(character)).sum(),
        }
    }
}

impl std::fmt::Display for PositionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::PastTheText { lines } => {
                write!(f, "is outside of the text, which has {lines} lines")
            }
            Self::PastTheLine { units } => {
                write!(f, "is outside of its line, which has {units} units")
            }
            Self::InsideCharacter(character) => {
                write!(f, "is inside of the character `{character}`")
            }
        }
    }
}

impl std::error::Error for PositionError {}

impl Document {
    /// A text as it is sent to a server: without a byte-order mark.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (index, byte) in bytes.iter().enumerate() {
            let ends = match byte {
                b'\n' => true,
                b'\r' => bytes.get(index + 1) != Some(&b'\n'),
                _ => false,
            };
            if ends {
                starts.push(index + 1);
            }
        }
        Self { text, starts }
    }

    /// The bytes of a file as a text, by the rules of [`Text::decode`]: any bytes are one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Self {
        Self::new(Text::decode(bytes).content)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many lines there are. What follows the last line end is a line, even when it is empty.
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// A line from 1 without its end; `None` when there is no such line.
    #[must_use]
    pub fn line(&self, line: usize) -> Option<&str> {
        self.line_range(line).map(|range| &self.text[range])
    }

    /// The bytes of a line from 1 without its end.
    #[must_use]
    pub fn line_range(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.starts.get(line.checked_sub(1)?)?;
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        let text = &self.text[start..end];
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        Some(start..start + text.len())
    }

    /// The byte offset that a position names, or why it names none.
    ///
    /// The line after the last one at character 0 is the end of the text: servers write it for "up to the end".
    ///
    /// # Errors
    /// Where the position is past its line or the text, or inside of a character (of a surrogate pair, in UTF-16).
    pub fn offset(
        &self,
        position: Position,
        encoding: PositionEncoding,
    ) -> Result<usize, PositionError> {
        let line = position.line as usize;
        if line == self.starts.len() && position.character == 0 {
            return Ok(self.text.len());
        }
        let Some(range) = self.line_range(line + 1) else {
            return Err(PositionError::PastTheText { lines: self.starts.len() });
        };
        let wanted = position.character as usize;
        let mut units = 0;
        for (offset, character) in self.text[range.clone()].char_indices() {
            if units == wanted {
                return Ok(range.start + offset);
            }
            units += encoding.units(character);
            if units > wanted {
                return Err(PositionError::InsideCharacter(character));
            }
        }
        if units == wanted { Ok(range.end) } else { Err(PositionError::PastTheLine { units }) }
    }

    /// The byte offset nearest to a position, as the protocol reads it: past its line, the end of the line; past the
    /// text, the end of the text; inside of a character, its start.
    #[must_use]
    pub fn nearest_offset(&self, position: Position, encoding: PositionEncoding) -> usize {
        let Some(range) = self.line_range(position.line as usize + 1) else {
            return self.text.len();
        };
        let mut units = 0;
        for (offset, character) in self.text[range.clone()].char_indices() {
            units += encoding.units(character);
            if units > position.character as usize {
                return range.start + offset;
            }
        }
        range.end
    }

    /// The position of a byte offset. One inside of a character counts as its start, one between `\r` and `\n` as the
    /// end of its line, one past the text as its end.
    #[must_use]
    pub fn position(&self, offset: usize, encoding: PositionEncoding) -> Position {
        let (line, before) = self.before(offset);
        Position::new(number(line), number(encoding.units_of(before)))
    }

    /// The place of a byte offset, by the same rules as [`Document::position`].
    #[must_use]
    pub fn place(&self, offset: usize) -> Place {
        let (line, before) = self.before(offset);
        Place { line: line + 1, column: before.chars().count() + 1 }
    }

    /// The place of a position, by the rules of [`Document::nearest_offset`].
    #[must_use]
    pub fn place_of(&self, position: Position, encoding: PositionEncoding) -> Place {
        self.place(self.nearest_offset(position, encoding))
    }

    /// The byte offset of a place; a column past the line is its end. `None` when there is no such line or column 0.
    #[must_use]
    pub fn offset_of_place(&self, place: Place) -> Option<usize> {
        let range = self.line_range(place.line)?;
        let characters = place.column.checked_sub(1)?;
        let within = self.text[range.clone()].char_indices().nth(characters);
        Some(within.map_or(range.end, |(offset, _)| range.start + offset))
    }

    /// The bytes that a range of the protocol names, by the rules of [`Document::nearest_offset`], never backwards.
    #[must_use]
    pub fn nearest_range(&self, range: LspRange, encoding: PositionEncoding) -> Range<usize> {
        let start = self.nearest_offset(range.start, encoding);
        start..self.nearest_offset(range.end, encoding).max(start)
    }

    /// The line from 0 that holds an offset, and its text up to the offset.
    fn before(&self, offset: usize) -> (usize, &str) {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let start = self.starts[line];
        let end = self.line_range(line + 1).map_or(start, |range| range.end);
        (line, &self.text[start..offset.min(end)])
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
