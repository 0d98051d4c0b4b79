//! Content-Length framing, as the language server protocol (base protocol, "Header part") and the debug adapter protocol
//! share it: a reader that no bad input ends, and a writer that never waits for its peer.
//!
//! What servers and adapters really write beside messages (a banner on standard output, bare line feeds, a crash dump, a
//! body that is no JSON) comes out as [`Odd`], clipped, so that a supervisor can keep the last few for its status. Only the
//! end of the pipe ends reading.

mod decoder;
mod json;
mod reader;
mod writer;

use std::fmt;

pub use decoder::{Decoder, MAX_BODY_BYTES, MAX_LINE_BYTES};
pub use json::parse_json;
pub use reader::{FrameReader, JsonFrame};
pub use writer::{Closed, FrameWriter, MAX_QUEUED_BYTES, Queued, SendError};

use crate::text::clip;

/// The most characters that an [`Odd`] keeps of what was written.
pub const MAX_ODD_CHARS: usize = 200;

/// One thing that came through the pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame {
    /// The body of a message, whatever is in it.
    Body(Vec<u8>),
    /// Something that is no message. Reading goes on after it.
    Odd(Odd),
}

/// What a peer wrote that is no message; texts are clipped to [`MAX_ODD_CHARS`] and bytes that are not UTF-8 replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Odd {
    /// Text where a header was expected.
    Noise {
        /// The line, or a piece of one that is longer than [`MAX_LINE_BYTES`].
        text: String,
    },
    /// A `Content-Length` whose value is no number; its body comes out as noise.
    BadLength {
        /// The header line.
        line: String,
    },
    /// A body over the reader's cap. It is skipped as it arrives.
    TooLarge {
        /// The length that the header named, in bytes.
        bytes: u64,
        /// How the body begins: enough to see which request it answers.
        start: String,
    },
    /// The pipe ended inside a message.
    Truncated {
        /// The length that the header named, in bytes.
        expected: u64,
        /// The bytes of the body that came.
        got: u64,
        /// How the body begins.
        start: String,
    },
    /// A body that is no JSON; only from [`FrameReader::next_json`].
    NotJson {
        /// What the parser said.
        why: String,
        /// How the body begins.
        start: String,
    },
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Noise { text } => write!(f, "text outside of a message: {text}"),
            Self::BadLength { line } => write!(f, "a header without a usable length: {line}"),
            Self::TooLarge { bytes, start } => {
                write!(f, "a message of {bytes} bytes, over the cap, was skipped: {start}")
            }
            Self::Truncated { expected, got, start } => {
                write!(f, "the output ended after {got} of {expected} bytes of a message: {start}")
            }
            Self::NotJson { why, start } => write!(f, "a message that is no JSON ({why}): {start}"),
        }
    }
}

/// Header and body as one buffer, so that they leave in one write.
pub fn encode(body: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body);
    frame
}

fn clipped(bytes: &[u8]) -> String {
    clip(bytes, MAX_ODD_CHARS)
}
