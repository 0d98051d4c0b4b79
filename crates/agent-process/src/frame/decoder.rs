use super::{Frame, Odd, clipped};

/// The most bytes of one body, unless a [`Decoder`] is told otherwise: 64 MiB.
pub const MAX_BODY_BYTES: usize = 64 << 20;

/// The most bytes of a line before or in a header; what is longer comes out as several pieces of noise.
pub const MAX_LINE_BYTES: usize = 8 << 10;

/// What stays of a piece that is cut from a long line, so that a header at its end is still found.
const KEPT_OF_LONG_LINE: usize = 64;

/// How much of a body that is skipped is waited for, to say how it begins.
const START_BYTES: usize = 1 << 10;

const LENGTH: &str = "content-length";
const TYPE: &str = "content-type";

/// The framing without a pipe: bytes in, frames out. How the bytes were split makes no difference to what comes out.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// What lies before this was handed out.
    start: usize,
    state: State,
    max_body: usize,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Between,
    Header { length: Option<u64> },
    Body { length: usize },
    Skipping { bytes: u64, left: u64, told: bool },
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(MAX_BODY_BYTES)
    }
}

impl Decoder {
    /// A decoder that skips bodies of more than `max_body` bytes.
    pub fn new(max_body: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, state: State::Between, max_body }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 && self.start >= self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame that the bytes so far hold, or none.
    pub fn next_frame(&mut self) -> Option<Frame> {
        loop {
            let step = match self.state {
                State::Between => self.between(),
                State::Header { length } => self.header(length),
                State::Body { length } => self.body(length),
                State::Skipping { bytes, left, told } => self.skip(bytes, left, told),
            };
            match step {
                Step::Frame(frame) => return Some(frame),
                Step::Again => {}
                Step::NeedsMore => return None,
            }
        }
    }

    /// What is left once the stream has ended; call it after [`Decoder::next_frame`] gave none.
    pub fn finish(&mut self) -> Option<Frame> {
        let rest = self.take(self.rest().len());
        match std::mem::replace(&mut self.state, State::Between) {
            State::Between if rest.trim_ascii().is_empty() => None,
            State::Between => Some(noise(rest.trim_ascii())),
            State::Header { length } => Some(truncated(length.unwrap_or(0), 0, b"")),
            State::Body { length } => Some(truncated(length as u64, rest.len() as u64, &rest)),
            State::Skipping { bytes, left, told } => {
                let start = if told { &b""[..] } else { &rest };
                let left = left.saturating_sub(rest.len() as u64);
                Some(truncated(bytes, bytes - left, start))
            }
        }
    }

    fn between(&mut self) -> Step {
        let Some(line) = self.line() else { return self.cut_long_line() };
        let (text, ended_by_crlf) = match line.strip_suffix(b"\r") {
            Some(text) => (text, true),
            None => (&line[..], false),
        };
        let text = text.trim_ascii();
        if text.is_empty() {
            return Step::Again;
        }
        if header_value(text, TYPE).is_some() {
            self.state = State::Header { length: None };
            return Step::Again;
        }
        if header_value(text, LENGTH).is_some() {
            return self.length_line(text, None);
        }
        // A banner printed without a line end stands on the header's line. A log line that mentions a header ends in a bare
        // line feed, a real header in CRLF.
        if ended_by_crlf && let Some(at) = glued_header(text) {
            self.state = State::Header { length: length_of(&text[at..]) };
            return Step::Frame(noise(&text[..at]));
        }
        Step::Frame(noise(text))
    }

    fn header(&mut self, length: Option<u64>) -> Step {
        let Some(line) = self.line() else { return self.cut_long_line() };
        let text = line.trim_ascii();
        if text.is_empty() {
            self.state = match length {
                None => State::Between,
                Some(length) if length > self.max_body as u64 => {
                    State::Skipping { bytes: length, left: length, told: false }
                }
                Some(length) => State::Body { length: length as usize },
            };
            return Step::Again;
        }
        if header_value(text, LENGTH).is_some() {
            return self.length_line(text, length);
        }
        if is_header(text) { Step::Again } else { Step::Frame(noise(text)) }
    }

    fn length_line(&mut self, text: &[u8], before: Option<u64>) -> Step {
        let length = length_of(text);
        self.state = State::Header { length: length.or(before) };
        match length {
            Some(_) => Step::Again,
            None => Step::Frame(Frame::Odd(Odd::BadLength { line: clipped(text) })),
        }
    }

    fn body(&mut self, length: usize) -> Step {
        if self.rest().len() < length {
            return Step::NeedsMore;
        }
        self.state = State::Between;
        Step::Frame(Frame::Body(self.take(length)))
    }

    fn skip(&mut self, bytes: u64, left: u64, told: bool) -> Step {
        let here = (self.rest().len() as u64).min(left) as usize;
        if !told {
            let start = (START_BYTES as u64).min(bytes) as usize;
            if here < start {
                return Step::NeedsMore;
            }
            let start = clipped(&self.rest()[..start]);
            self.state = State::Skipping { bytes, left, told: true };
            return Step::Frame(Frame::Odd(Odd::TooLarge { bytes, start }));
        }
        self.start += here;
        let left = left - here as u64;
        if left > 0 {
            self.state = State::Skipping { bytes, left, told };
            return Step::NeedsMore;
        }
        self.state = State::Between;
        Step::Again
    }

    /// The next line without its line feed. A longer line than the limit is none: it is cut first.
    fn line(&mut self) -> Option<Vec<u8>> {
        let rest = self.rest();
        let end = rest[..rest.len().min(MAX_LINE_BYTES)].iter().position(|byte| *byte == b'\n')?;
        let mut line = self.take(end + 1);
        line.pop();
        Some(line)
    }

    fn cut_long_line(&mut self) -> Step {
        if self.rest().len() < MAX_LINE_BYTES {
            return Step::NeedsMore;
        }
        Step::Frame(noise(&self.take(MAX_LINE_BYTES - KEPT_OF_LONG_LINE)))
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.rest()[..count].to_vec();
        self.start += count;
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        }
        taken
    }
}

enum Step {
    Frame(Frame),
    Again,
    NeedsMore,
}

fn noise(text: &[u8]) -> Frame {
    Frame::Odd(Odd::Noise { text: clipped(text) })
}

fn truncated(expected: u64, got: u64, start: &[u8]) -> Frame {
    Frame::Odd(Odd::Truncated { expected, got, start: clipped(start) })
}

/// The value of the header called `name`, if the line is that header; names are compared without case.
fn header_value<'a>(line: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let (head, rest) = line.split_at_checked(name.len())?;
    let value = rest.trim_ascii_start().strip_prefix(b":")?;
    head.eq_ignore_ascii_case(name.as_bytes()).then(|| value.trim_ascii())
}

fn length_of(line: &[u8]) -> Option<u64> {
    std::str::from_utf8(header_value(line, LENGTH)?).ok()?.parse().ok()
}

/// Where a whole `Content-Length: N` begins that other text stands before.
fn glued_header(line: &[u8]) -> Option<usize> {
    (1..line.len()).rev().find(|at| length_of(&line[*at..]).is_some())
}

fn is_header(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
    name.len() < line.len()
        && !name.is_empty()
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}
