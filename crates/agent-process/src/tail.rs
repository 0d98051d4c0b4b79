use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::text::{CHAR_BYTES, clip_start};

/// The most lines that a [`Tail`] keeps.
pub const MAX_TAIL_LINES: usize = 50;

/// The most characters that a [`Tail`] keeps of a line.
pub const MAX_TAIL_LINE_CHARS: usize = 400;

const CHUNK_BYTES: usize = 8 << 10;

/// The last lines of an output that is drained whether or not anybody looks: a child never waits for its own log. Clones see
/// the same lines.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    total: u64,
}

impl Tail {
    /// The lines, oldest first; at most [`MAX_TAIL_LINES`], each clipped to [`MAX_TAIL_LINE_CHARS`].
    pub fn lines(&self) -> Vec<String> {
        self.kept().lines.iter().cloned().collect()
    }

    /// How many lines came in all.
    pub fn total(&self) -> u64 {
        self.kept().total
    }

    /// Reads `pipe` to its end.
    pub(crate) async fn drain(self, mut pipe: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut line = Line::default();
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            let mut pieces = chunk[..count].split(|byte| *byte == b'\n');
            line.push(pieces.next().unwrap_or_default());
            for piece in pieces {
                self.keep(std::mem::take(&mut line));
                line.push(piece);
            }
        }
        if line.length > 0 {
            self.keep(line);
        }
    }

    fn keep(&self, line: Line) {
        let mut kept = self.kept();
        kept.total += 1;
        if kept.lines.len() == MAX_TAIL_LINES {
            kept.lines.pop_front();
        }
        kept.lines.push_back(line.text());
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line of any length, of which the beginning is kept.
#[derive(Default)]
struct Line {
    start: Vec<u8>,
    length: usize,
}

impl Line {
    fn push(&mut self, bytes: &[u8]) {
        let room = (MAX_TAIL_LINE_CHARS * CHAR_BYTES).saturating_sub(self.start.len());
        self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.length += bytes.len();
    }

    fn text(mut self) -> String {
        if self.start.len() == self.length && self.start.last() == Some(&b'\r') {
            self.start.pop();
            self.length -= 1;
        }
        clip_start(&self.start, self.length, MAX_TAIL_LINE_CHARS)
    }
}
