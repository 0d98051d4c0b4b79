//! The debuggee's output, kept to a bound however much there is.

use std::collections::VecDeque;

use agent_tool_core::for_person;

/// The most bytes of output that a session keeps; what is older is dropped and counted.
pub const MAX_OUTPUT_BYTES: usize = 256 << 10;

/// The most bytes that are kept of what the adapter itself says.
pub(crate) const MAX_CONSOLE_BYTES: usize = 16 << 10;

/// The last bytes of a stream, with where they stand in it.
#[derive(Debug)]
pub(crate) struct Ring {
    bytes: VecDeque<u8>,
    limit: usize,
    total: u64,
}

/// A piece of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The text, without escape sequences and with plain line ends.
    pub(crate) text: String,
    /// How many bytes before it are not shown.
    pub(crate) before: u64,
}

impl Ring {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), limit, total: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        let over = (self.bytes.len() + bytes.len()).saturating_sub(self.limit);
        self.bytes.drain(..over.min(self.bytes.len()));
        self.bytes.extend(bytes);
    }

    /// How many bytes came in all.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes are no longer kept.
    pub(crate) fn dropped(&self) -> u64 {
        self.total - self.bytes.len() as u64
    }

    /// The last bytes that came after `from`, at most `limit` of them.
    pub(crate) fn since(&self, from: u64, limit: usize) -> Piece {
        let first = from.max(self.dropped()).max(self.total.saturating_sub(limit as u64));
        let skip = usize::try_from(first - self.dropped()).unwrap_or(usize::MAX);
        let mut bytes: Vec<u8> = self.bytes.iter().skip(skip).copied().collect();
        let mut before = first.saturating_sub(from);
        if before > 0 {
            // The rest of a character that was cut is no character.
            let rest = bytes.iter().take_while(|byte| **byte & 0xc0 == 0x80).count().min(3);
            bytes.drain(..rest);
            before += rest as u64;
        }
        Piece { text: for_person(&String::from_utf8_lossy(&bytes)), before }
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, Ring};

    #[test]
    fn a_ring_keeps_the_last_bytes_and_counts_the_rest() {
        let mut ring = Ring::new(10);
        ring.push(b"0123456789");
        ring.push("åb".as_bytes());
        assert_eq!((ring.total(), ring.dropped()), (13, 3));
        assert_eq!(ring.since(0, 100), Piece { text: "3456789åb".to_owned(), before: 3 });
        assert_eq!(ring.since(10, 100), Piece { text: "åb".to_owned(), before: 0 });
        assert_eq!(ring.since(0, 2), Piece { text: "b".to_owned(), before: 12 });
        assert_eq!(ring.since(13, 5), Piece::default());
        ring.push(&[b'x'; 64]);
        assert_eq!((ring.dropped(), ring.since(0, 3).text), (67, "xxx".to_owned()));
    }

    #[test]
    fn escapes_and_carriage_returns_are_gone_also_where_a_chunk_ends_in_them() {
        let mut ring = Ring::new(100);
        for chunk in [&b"a\r"[..], b"\nred: \x1b[3", b"1mr\x1b[0m\r\n", b"\xff"] {
            ring.push(chunk);
        }
        assert_eq!(ring.since(0, 100).text, "a\nred: r\n\u{fffd}");
    }
}
