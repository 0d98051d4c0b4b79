//! Positions as the Language Server Protocol writes them: a line and UTF-16 units in it.

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// A place in a text: both from 0, `character` in UTF-16 units (LSP 3.17, "Position").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Utf16Position {
    /// The line; lines end with `\n`, `\r\n` or `\r`.
    pub line: u32,
    /// The UTF-16 units before the place in its line.
    pub character: u32,
}

impl Utf16Position {
    /// The place with this line and character.
    pub fn new(line: u32, character: u32) -> Self {
        Self { line, character }
    }
}

/// The line starts of a text, for turning positions into byte offsets and back.
#[derive(Debug, Clone)]
pub struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    /// Looks through the text once.
    pub fn new(text: &'a str) -> Self {
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

    /// The byte offset of a position. The line after the last one, at character 0, is the end of the text: servers
    /// write it for "up to the end". A character after the end of its line is refused, not clamped: it tells that the
    /// position belongs to another text.
    ///
    /// # Errors
    /// `out_of_range`, and `inside_character` in the middle of a surrogate pair.
    pub fn offset(&self, position: Utf16Position) -> Result<usize> {
        let line = position.line as usize;
        if line == self.starts.len() && position.character == 0 {
            return Ok(self.text.len());
        }
        let Some(&start) = self.starts.get(line) else {
            return Err(refuse(
                ErrorKind::OutOfRange,
                position,
                &format!("is outside of the text, which has {} lines", self.starts.len()),
            ));
        };
        let content = self.line_text(line, start);
        let mut units = 0;
        for (offset, character) in content.char_indices() {
            if units == position.character as usize {
                return Ok(start + offset);
            }
            units += character.len_utf16();
            if units > position.character as usize {
                return Err(refuse(
                    ErrorKind::InsideCharacter,
                    position,
                    &format!("is inside of the character `{character}`"),
                ));
            }
        }
        if units == position.character as usize {
            return Ok(start + content.len());
        }
        Err(refuse(
            ErrorKind::OutOfRange,
            position,
            &format!("is outside of its line, which has {units} units"),
        ))
    }

    /// The position of a byte offset; an offset inside a character counts as its start.
    pub fn position(&self, offset: usize) -> Utf16Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let units: usize = self.text[self.starts[line]..offset].chars().map(char::len_utf16).sum();
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Utf16Position::new(number(line), number(units))
    }

    fn line_text(&self, line: usize, start: usize) -> &'a str {
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        let text = &self.text[start..end];
        let text = text.strip_suffix('\n').unwrap_or(text);
        text.strip_suffix('\r').unwrap_or(text)
    }
}

fn refuse(kind: ErrorKind, position: Utf16Position, why: &str) -> Error {
    Error::new(
        kind,
        format!(
            "line {}, character {} {why}; read the file again and make the edit anew",
            position.line, position.character
        ),
    )
}
