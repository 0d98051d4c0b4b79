//! Edits of one text, addressed in its own bytes or in UTF-16 positions.

use std::ops::Range;

use agent_workspace::Text;

use crate::{Error, ErrorKind, LineIndex, Result, Utf16Position};

/// One replacement: the bytes of `range` become `text`. An empty range inserts, an empty text deletes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TextEdit {
    /// Byte offsets in the text as UTF-8, without a byte-order mark.
    pub range: Range<usize>,
    /// What comes instead, taken as it is: see [`with_newlines`] for a file's own line endings.
    pub text: String,
}

/// Edits that are made together: all offsets are those of the text before any of them.
///
/// Identical edits are one. Edits that touch are fine, those that overlap are refused. Insertions at one place keep
/// their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextEdits {
    edits: Vec<TextEdit>,
}

impl TextEdit {
    /// Replaces the bytes of `range` by `text`.
    pub fn new(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }
}

impl TextEdits {
    /// Edits in byte offsets.
    ///
    /// # Errors
    /// `overlapping_edits`; `out_of_range` for a range that ends before it starts.
    pub fn new(edits: impl IntoIterator<Item = TextEdit>) -> Result<Self> {
        let mut edits: Vec<_> = edits.into_iter().collect();
        if let Some(edit) = edits.iter().find(|edit| edit.range.start > edit.range.end) {
            return Err(out_of_range(&edit.range, "ends before it starts"));
        }
        // The sort is stable, so insertions at one place stay in order, before what replaces the text there.
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let mut kept: Vec<TextEdit> = Vec::with_capacity(edits.len());
        for edit in edits {
            let same_range = kept.iter().rev().take_while(|last| last.range == edit.range);
            if same_range.into_iter().any(|last| last.text == edit.text) {
                continue;
            }
            if let Some(last) = kept.last()
                && (last.range.end > edit.range.start
                    || (last.range == edit.range && !edit.range.is_empty()))
            {
                return Err(Error::new(
                    ErrorKind::OverlappingEdits,
                    format!(
                        "the edits of bytes {}..{} and {}..{} overlap; make them one edit",
                        last.range.start, last.range.end, edit.range.start, edit.range.end
                    ),
                ));
            }
            kept.push(edit);
        }
        Ok(Self { edits: kept })
    }

    /// Edits in UTF-16 positions of `text`.
    ///
    /// # Errors
    /// As [`TextEdits::new`] and [`LineIndex::offset`].
    pub fn from_utf16(
        text: &str,
        edits: impl IntoIterator<Item = (Range<Utf16Position>, String)>,
    ) -> Result<Self> {
        let index = LineIndex::new(text);
        let edits: Vec<_> = edits
            .into_iter()
            .map(|(range, new)| {
                let range = index.offset(range.start)?..index.offset(range.end)?;
                Ok(TextEdit { range, text: new })
            })
            .collect::<Result<_>>()?;
        Self::new(edits)
    }

    /// The edits in the order of the text, without duplicates.
    pub fn edits(&self) -> &[TextEdit] {
        &self.edits
    }

    /// The text with all edits made.
    ///
    /// # Errors
    /// `out_of_range`, and `inside_character` when an edit would cut one.
    pub fn apply(&self, text: &str) -> Result<String> {
        for edit in &self.edits {
            if edit.range.end > text.len() {
                let why = format!("is outside of the text, which has {} bytes", text.len());
                return Err(out_of_range(&edit.range, &why));
            }
            if !text.is_char_boundary(edit.range.start) || !text.is_char_boundary(edit.range.end) {
                return Err(Error::new(
                    ErrorKind::InsideCharacter,
                    format!(
                        "the edit of bytes {}..{} cuts a character; start and end it at characters",
                        edit.range.start, edit.range.end
                    ),
                ));
            }
        }
        // One pass over the sorted edits gives what making them one by one from the bottom up would, without moving the
        // rest of the text each time.
        let added: usize = self.edits.iter().map(|edit| edit.text.len()).sum();
        let mut out = String::with_capacity(text.len() + added);
        let mut copied = 0;
        for edit in &self.edits {
            out.push_str(&text[copied..edit.range.start]);
            out.push_str(&edit.text);
            copied = edit.range.end;
        }
        out.push_str(&text[copied..]);
        Ok(out)
    }

    /// The bytes of a file with all edits made. The offsets are those of [`Text::content`]; encoding and byte-order
    /// mark stay.
    ///
    /// # Errors
    /// As [`TextEdits::apply`], and the workspace's `not_encodable`.
    pub fn apply_to_file(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let text = Text::decode(bytes);
        let content = self.apply(&text.content)?;
        Ok(text.encode(&content)?)
    }
}

/// The text with every line ending replaced by `newline`, as in
/// [`TextInfo::newline`](agent_workspace::TextInfo::newline): for text that a model wrote with `\n` into a file that ends lines otherwise.
pub fn with_newlines(text: &str, newline: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\n', newline)
}

fn out_of_range(range: &Range<usize>, why: &str) -> Error {
    Error::new(
        ErrorKind::OutOfRange,
        format!(
            "the edit of bytes {}..{} {why}; read the file again and make the edit anew",
            range.start, range.end
        ),
    )
}
