//! The beginning and the end of an output, and how much was between.

use std::collections::VecDeque;

/// How many bytes of an output's beginning are kept, for each cell.
pub const HEAD_BYTES: usize = 256 << 10;

/// How many bytes of its end are kept where it is longer.
pub const TAIL_BYTES: usize = 64 << 10;

/// Bounds one output.
#[derive(Debug, Default)]
pub(super) struct Capture {
    head: usize,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Capture {
    /// How many of these bytes belong to the beginning. The rest may become the end.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        let kept = bytes.len().min(HEAD_BYTES - self.head);
        self.head += kept;
        let rest = &bytes[kept..];
        if !rest.is_empty() {
            let last = &rest[rest.len().saturating_sub(TAIL_BYTES)..];
            let over = (self.tail.len() + last.len()).saturating_sub(TAIL_BYTES);
            self.dropped += (over + rest.len() - last.len()) as u64;
            self.tail.drain(..over);
            self.tail.extend(last);
        }
        kept
    }

    /// The end, and how many bytes are missing before it; none where nothing was cut.
    pub(super) fn finish(self) -> Option<(Vec<u8>, u64)> {
        (!self.tail.is_empty()).then(|| (self.tail.into(), self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_stay_and_the_middle_is_counted() {
        let mut capture = Capture::default();
        assert_eq!(capture.take(&vec![b'a'; HEAD_BYTES - 1]), HEAD_BYTES - 1);
        assert_eq!(capture.take(b"bcd"), 1);
        assert_eq!(capture.take(&vec![b'e'; TAIL_BYTES]), 0);
        let (tail, dropped) = capture.finish().unwrap();
        assert_eq!((tail.len(), dropped), (TAIL_BYTES, 2));
        assert!(tail.iter().all(|byte| *byte == b'e'));
    }

    #[test]
    fn an_output_within_its_bounds_has_no_end_of_its_own() {
        let mut capture = Capture::default();
        capture.take(b"short");
        assert_eq!(capture.finish(), None);
    }
}
