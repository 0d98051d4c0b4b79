//! What was written so far. Where its last line begins is remembered: looking for it behind every
//! match takes for ever where all of a file is one line.

use std::ops::Deref;

use super::layout::blank_start;

#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// Where the last line begins.
    line: usize,
}

impl Output {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if let Some(newline) = memchr::memrchr(b'\n', bytes) {
            self.line = self.bytes.len() + newline + 1;
        }
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
        if self.line > length {
            self.line = memchr::memrchr(b'\n', &self.bytes).map_or(0, |newline| newline + 1);
        }
    }

    /// Where the last line begins.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The whitespace that the last line begins with.
    pub(super) fn indent(&self) -> &[u8] {
        blank_start(&self.bytes[self.line..])
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Deref for Output {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
