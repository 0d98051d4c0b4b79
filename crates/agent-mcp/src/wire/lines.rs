//! Lines of bounded length out of a pipe.

use std::io;

use rmcp::model::RequestId;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::{noise::MAX_BYTES, skim::Skim};

/// The longest message of a server, in bytes: 16 MiB, as the SDK has it. A longer one is passed over as it arrives, and the
/// call that it answers fails at once.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// How much of a line is kept to show how it began.
const START_BYTES: usize = 400;

/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// One line.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    /// A whole one, without its end.
    Line(Vec<u8>),
    /// One over the limit, with the id that it answers, where it has one. One that has no end within [`MAX_BYTES`] answers nothing.
    TooLong { id: Option<RequestId>, bytes: u64, start: Vec<u8> },
}

/// Reads lines. A future that is dropped loses nothing: what was read of a line stays here.
pub(super) struct LineReader<R> {
    pipe: BufReader<R>,
    line: Vec<u8>,
    passing: Option<Passing>,
    limit: usize,
}

/// A line over the limit that is passed over.
struct Passing {
    skim: Skim,
    bytes: u64,
    start: Vec<u8>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(pipe: R) -> Self {
        Self::with_limit(pipe, MAX_MESSAGE_BYTES)
    }

    fn with_limit(pipe: R, limit: usize) -> Self {
        let pipe = BufReader::with_capacity(CHUNK_BYTES, pipe);
        Self { pipe, line: Vec::new(), passing: None, limit }
    }

    /// The next line; none at the end of the pipe. A line that the end cut off is no line.
    pub(super) async fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            let chunk = self.pipe.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = &chunk[..end.unwrap_or(chunk.len())];
            let used = taken.len() + usize::from(end.is_some());
            match &mut self.passing {
                Some(passing) => passing.take(taken),
                None if self.line.len() + taken.len() > self.limit => {
                    let mut passing = Passing::of(std::mem::take(&mut self.line));
                    passing.take(taken);
                    self.passing = Some(passing);
                }
                None => self.line.extend_from_slice(taken),
            }
            self.pipe.consume(used);
            let has_no_end = |passing: &Passing| passing.bytes >= MAX_BYTES && end.is_none();
            if let Some(Passing { bytes, start, .. }) = self.passing.take_if(|it| has_no_end(it)) {
                return Ok(Some(Piece::TooLong { id: None, bytes, start }));
            }
            if end.is_some() {
                return Ok(Some(match self.passing.take() {
                    Some(Passing { skim, bytes, start }) => {
                        Piece::TooLong { id: skim.id(), bytes, start }
                    }
                    None => Piece::Line(std::mem::take(&mut self.line)),
                }));
            }
        }
    }
}

impl Passing {
    fn of(line: Vec<u8>) -> Self {
        let mut passing = Self { skim: Skim::default(), bytes: 0, start: Vec::new() };
        passing.take(&line);
        passing
    }

    fn take(&mut self, bytes: &[u8]) {
        self.skim.take(bytes);
        self.bytes += bytes.len() as u64;
        let room = START_BYTES.saturating_sub(self.start.len());
        self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pieces(bytes: &[u8], limit: usize) -> Vec<Piece> {
        let mut reader = LineReader::with_limit(bytes, limit);
        let mut pieces = Vec::new();
        while let Some(piece) = reader.next().await.unwrap() {
            pieces.push(piece);
        }
        pieces
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_passed_over_and_its_id_is_known() {
        let long = format!("{{\"result\":{{\"id\":1,\"x\":\"{}\"}},\"id\":7}}", "y".repeat(100));
        let text = format!("short\n{long}\n\nnext\ncut off");
        let read = pieces(text.as_bytes(), 40).await;
        assert_eq!(
            read,
            [
                Piece::Line(b"short".to_vec()),
                Piece::TooLong {
                    id: Some(RequestId::Number(7)),
                    bytes: long.len() as u64,
                    start: long.clone().into_bytes(),
                },
                Piece::Line(Vec::new()),
                Piece::Line(b"next".to_vec()),
            ]
        );
    }

    #[tokio::test]
    async fn a_line_that_does_not_end_is_given_up() {
        let id = br#"{"id":7,"result":""#;
        let endless = tokio::io::AsyncReadExt::chain(&id[..], tokio::io::repeat(b'x'));
        let piece = LineReader::new(endless).next().await.unwrap();
        let Some(Piece::TooLong { id: None, bytes, .. }) = piece else { panic!("it has an end") };
        assert!((MAX_BYTES..MAX_BYTES + (1 << 20)).contains(&bytes), "{bytes}");
    }
}
