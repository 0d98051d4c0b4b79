//! Frames between the host and the supervisor: kind, length, payload.

use std::fmt;

use super::{Scope, Stream};

/// The kind and the length.
const HEADER_BYTES: usize = 5;

/// The most bytes of a payload that are believed. The supervisor reads 64 KiB at a time.
pub(crate) const MAX_PAYLOAD: usize = 1 << 20;

/// A frame from the supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Bytes of the private channel: JSON lines, cut anywhere.
    Protocol(Vec<u8>),
    /// Bytes of one of the outputs, with marks in them.
    Output(Stream, Vec<u8>),
    /// How the kernel ended, as `wait` tells it.
    Exit(i32),
}

/// Bytes that are no frame: something else writes to this pipe, so nothing after them can be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoFrame {
    start: Vec<u8>,
}

/// Takes bytes as they come and gives the frames that are whole.
#[derive(Debug, Default)]
pub(crate) struct FrameDecoder {
    pending: Vec<u8>,
    taken: usize,
}

impl FrameDecoder {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.pending.drain(..self.taken);
            self.taken = 0;
        }
        self.pending.extend_from_slice(bytes);
    }

    /// The next frame that is whole; none until more bytes come.
    ///
    /// # Errors
    ///
    /// What stands there is no frame. It stands there still at the next call.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, NoFrame> {
        let rest = &self.pending[self.taken..];
        let Some(&[kind, a, b, c, d]) = rest.first_chunk::<HEADER_BYTES>() else {
            return match rest.first() {
                Some(kind) if !is_kind(*kind) => Err(NoFrame::at(rest)),
                _ => Ok(None),
            };
        };
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if !is_kind(kind) || length > MAX_PAYLOAD {
            return Err(NoFrame::at(rest));
        }
        let Some(payload) = rest.get(HEADER_BYTES..HEADER_BYTES + length) else { return Ok(None) };
        let frame = match kind {
            b'p' => Frame::Protocol(payload.to_vec()),
            b'o' => Frame::Output(Stream::Stdout, payload.to_vec()),
            b'e' => Frame::Output(Stream::Stderr, payload.to_vec()),
            _ => match payload.try_into() {
                Ok(status) => Frame::Exit(i32::from_le_bytes(status)),
                Err(_) => return Err(NoFrame::at(rest)),
            },
        };
        self.taken += HEADER_BYTES + length;
        Ok(Some(frame))
    }
}

/// A message to the kernel.
pub(crate) fn encode_message(line: &[u8]) -> Vec<u8> {
    encode(b'm', line)
}

/// A signal that the supervisor sends.
pub(crate) fn encode_signal(scope: Scope, number: u8) -> Vec<u8> {
    let scope = match scope {
        Scope::Process => b'p',
        Scope::Group => b'g',
    };
    encode(b's', &[scope, number])
}

fn encode(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(HEADER_BYTES + payload.len());
    frame.push(kind);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&payload[..length as usize]);
    frame
}

fn is_kind(kind: u8) -> bool {
    matches!(kind, b'p' | b'o' | b'e' | b'x')
}

impl NoFrame {
    fn at(rest: &[u8]) -> Self {
        Self { start: rest[..rest.len().min(80)].to_vec() }
    }
}

impl fmt::Display for NoFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = String::from_utf8_lossy(&self.start);
        write!(f, "what came over the kernel's pipe is not its own: {shown:?}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        encode(kind, payload)
    }

    fn arbitrary() -> impl Strategy<Value = Frame> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..300);
        prop_oneof![
            bytes().prop_map(Frame::Protocol),
            bytes().prop_map(|bytes| Frame::Output(Stream::Stdout, bytes)),
            bytes().prop_map(|bytes| Frame::Output(Stream::Stderr, bytes)),
            any::<i32>().prop_map(Frame::Exit),
        ]
    }

    fn bytes_of(one: &Frame) -> Vec<u8> {
        match one {
            Frame::Protocol(bytes) => frame(b'p', bytes),
            Frame::Output(Stream::Stdout, bytes) => frame(b'o', bytes),
            Frame::Output(Stream::Stderr, bytes) => frame(b'e', bytes),
            Frame::Exit(status) => frame(b'x', &status.to_le_bytes()),
        }
    }

    #[test]
    fn what_is_no_frame_is_said_and_stays() {
        let mut decoder = FrameDecoder::default();
        decoder.push(b"Error response from daemon");
        let error = decoder.next().unwrap_err();
        assert!(error.to_string().contains("Error response from daemon"), "{error}");
        assert_eq!(decoder.next(), Err(error));
    }

    #[test]
    fn a_length_beyond_the_limit_is_not_waited_for() {
        let mut decoder = FrameDecoder::default();
        decoder.push(&[b'p', 0, 0, 0, 0x7f]);
        assert!(decoder.next().is_err());
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_they_are_cut(
            frames in proptest::collection::vec(arbitrary(), 0..20),
            cut in 1_usize..50,
        ) {
            let bytes: Vec<u8> = frames.iter().flat_map(bytes_of).collect();
            let mut decoder = FrameDecoder::default();
            let mut seen = Vec::new();
            for piece in bytes.chunks(cut) {
                decoder.push(piece);
                while let Some(frame) = decoder.next().unwrap() {
                    seen.push(frame);
                }
            }
            prop_assert_eq!(seen, frames);
        }

        #[test]
        fn no_bytes_make_it_panic_or_grow(pieces in proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), 0..100), 0..30)) {
            let mut decoder = FrameDecoder::default();
            for piece in pieces {
                decoder.push(&piece);
                while let Ok(Some(_)) = decoder.next() {}
                prop_assert!(decoder.pending.len() <= MAX_PAYLOAD + 200);
            }
        }
    }
}
