use std::io;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::{Decoder, Frame, Odd, parse_json};

/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Reads frames from a pipe or a socket.
#[derive(Debug)]
pub struct FrameReader<R> {
    pipe: R,
    decoder: Decoder,
    chunk: Vec<u8>,
    ended: bool,
}

/// One thing that came through the pipe, with its body parsed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum JsonFrame {
    /// A body that is JSON; whether it is a message of the protocol is for the caller to see.
    Message(Value),
    /// Anything else.
    Odd(Odd),
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// A reader that skips bodies over [`super::MAX_BODY_BYTES`].
    pub fn new(pipe: R) -> Self {
        Self::with_decoder(pipe, Decoder::default())
    }

    /// A reader with a cap of its own.
    pub fn with_decoder(pipe: R, decoder: Decoder) -> Self {
        Self { pipe, decoder, chunk: vec![0; CHUNK_BYTES], ended: false }
    }

    /// The next frame, or none once the pipe has ended. Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// The pipe's own; bad input is no error.
    pub async fn next(&mut self) -> io::Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                return Ok(Some(frame));
            }
            if self.ended {
                return Ok(self.decoder.finish());
            }
            match self.pipe.read(&mut self.chunk).await? {
                0 => self.ended = true,
                count => self.decoder.push(&self.chunk[..count]),
            }
        }
    }

    /// The next frame with its body parsed by [`parse_json`]. Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// As [`FrameReader::next`].
    pub async fn next_json(&mut self) -> io::Result<Option<JsonFrame>> {
        Ok(self.next().await?.map(|frame| match frame {
            Frame::Body(body) => match parse_json(&body) {
                Ok(value) => JsonFrame::Message(value),
                Err(odd) => JsonFrame::Odd(odd),
            },
            Frame::Odd(odd) => JsonFrame::Odd(odd),
        }))
    }
}
