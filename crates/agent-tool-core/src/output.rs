//! What a call gives back: parts for the model, data for hosts, changes for wrappers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One piece of what the model reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Text, verbatim.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// The media type, such as `image/png`.
        mime: String,
        /// The bytes in standard base64 with padding.
        base64: String,
    },
}

impl Part {
    /// A text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Part::Text { text: text.into() }
    }

    /// An image part from bytes that are encoded already.
    #[must_use]
    pub fn image(mime: impl Into<String>, base64: impl Into<String>) -> Self {
        Part::Image { mime: mime.into(), base64: base64.into() }
    }
}

/// What a tool that did its job has to say.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// What the model reads, in order.
    pub parts: Vec<Part>,
    /// The same as structured JSON, for hosts and tests. A model never sees it.
    pub data: Value,
    /// The files that the call changed, which wrappers read.
    pub changes: Vec<FileChange>,
}

impl ToolOutput {
    /// An output of one text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::text(text)], ..Self::default() }
    }

    /// The same output with structured data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// The same output with the files that the call changed.
    #[must_use]
    pub fn with_changes(mut self, changes: Vec<FileChange>) -> Self {
        self.changes = changes;
        self
    }

    /// The same output with one more part at its end.
    #[must_use]
    pub fn with_part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// All text parts, joined by newlines.
    #[must_use]
    pub fn joined_text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            Part::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// One side of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// There is no file.
    Absent,
    /// The whole text, at most [`Content::TEXT_LIMIT`] bytes.
    Text {
        /// The text.
        text: String,
    },
    /// A file that is no text, or too large to carry along.
    Omitted {
        /// Its size in bytes.
        bytes: u64,
    },
}

impl Content {
    /// The largest text that a change carries, in bytes.
    pub const TEXT_LIMIT: usize = 1024 * 1024;

    /// The content for bytes as they stand in a file.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.len() <= Self::TEXT_LIMIT => Content::Text { text: text.to_owned() },
            _ => Content::Omitted { bytes: bytes.len() as u64 },
        }
    }

    /// The text, where it is carried.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text { text } => Some(text),
            Content::Absent | Content::Omitted { .. } => None,
        }
    }
}

/// How a file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The file is new.
    Created,
    /// The file has other content.
    Modified,
    /// The file is gone.
    Deleted,
}

/// A file that a call changed. A move is a deletion and a creation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileChange {
    /// The path as the workspace shows it, relative with `/`.
    pub path: String,
    /// What stood there.
    pub before: Content,
    /// What stands there now.
    pub after: Content,
}

impl FileChange {
    /// A change of one file.
    #[must_use]
    pub fn new(path: impl Into<String>, before: Content, after: Content) -> Self {
        Self { path: path.into(), before, after }
    }

    /// How the file changed.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (Content::Absent, _) => ChangeKind::Created,
            (_, Content::Absent) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        }
    }
}
