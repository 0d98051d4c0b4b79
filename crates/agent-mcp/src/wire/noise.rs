//! What a server writes that is no message.

use std::collections::VecDeque;

use crate::text::{clean_line, quoted};

/// So many of the last lines are kept.
const KEPT: usize = 3;

/// So many characters of a line are kept.
const LINE_CHARS: usize = 120;

/// So many lines in a row, without a message between them, end the reading.
pub(crate) const MAX_LINES: u64 = 10_000;

/// So many bytes in a row do: 64 MiB.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// How much there was and how the last of it read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Noise {
    total: u64,
    in_a_row: u64,
    bytes_in_a_row: u64,
    last: VecDeque<String>,
}

impl Noise {
    /// Counts a line; none once it is too much.
    pub(super) fn count(&mut self, line: &str, bytes: u64) -> Option<()> {
        self.total += 1;
        self.in_a_row += 1;
        self.bytes_in_a_row += bytes;
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(clean_line(line, LINE_CHARS));
        (!self.flooded()).then_some(())
    }

    pub(super) fn message_came(&mut self) {
        (self.in_a_row, self.bytes_in_a_row) = (0, 0);
    }

    /// Whether it was so much that the server was given up.
    pub(crate) fn flooded(&self) -> bool {
        self.in_a_row >= MAX_LINES || self.bytes_in_a_row >= MAX_BYTES
    }

    /// A sentence about it; none where there was nothing.
    pub(crate) fn said(&self) -> Option<String> {
        let last = self.last.back()?;
        let lines = if self.total == 1 { "1 line that is" } else { "lines that are" };
        let count = if self.total == 1 { String::new() } else { format!("{} ", self.total) };
        Some(format!(
            "it wrote {count}{lines} no message of the protocol, the last one: {}",
            quoted(last, LINE_CHARS)
        ))
    }
}
