//! One message is one line, and no line can fill the memory.

use std::io::{self, BufRead, Read};

/// A longer line is refused, whatever is in it.
pub const LINE_BYTES: usize = 1 << 20;

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, in the buffer, without its end.
    Message,
    /// A line over the limit; it was skipped to its end.
    TooLong,
    /// The input is over. What came without a line feed was a message before it.
    End,
}

pub(crate) fn read(input: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Line> {
    loop {
        buffer.clear();
        let most = LINE_BYTES as u64 + 1;
        if input.by_ref().take(most).read_until(b'\n', buffer)? == 0 {
            return Ok(Line::End);
        }
        if buffer.last() == Some(&b'\n') {
            buffer.pop();
        } else if buffer.len() > LINE_BYTES {
            buffer.clear();
            input.skip_until(b'\n')?;
            return Ok(Line::TooLong);
        }
        if !buffer.trim_ascii().is_empty() {
            return Ok(Line::Message);
        }
    }
}
