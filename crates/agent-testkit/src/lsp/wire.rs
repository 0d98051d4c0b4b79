//! Content-Length framing, kept here so that the fake shares no fault with what it tests.

use std::{
    io::{self, BufRead, Read, StdinLock, Write},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// Reads one message. `None` is the end of the input; an error names what is no message.
pub(crate) fn read(input: &mut impl BufRead) -> Result<Option<Value>, String> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let read = input.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if read == 0 {
            return Ok(None);
        }
        let header = String::from_utf8_lossy(&line).into_owned();
        let Some(header) = header.strip_suffix("\r\n") else {
            return Err(format!("a header line without CR LF: {header:?}"));
        };
        if header.is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(": ") else {
            return Err(format!("no header: {header:?}"));
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.parse::<usize>().map_err(|error| error.to_string())?);
        }
    }
    let mut body = vec![0; length.ok_or("no Content-Length")?];
    if input.read_exact(&mut body).is_err() {
        return Ok(None);
    }
    let message = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    Ok(Some(message))
}

/// The bytes of one message.
pub(crate) fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// Standard output, one message at a time.
#[derive(Debug, Default)]
pub(crate) struct Output(Mutex<()>);

impl Output {
    /// Writes bytes whole. A client that is gone is noticed at the input, so it is no fault here.
    pub(crate) fn write(&self, bytes: &[u8]) {
        let _turn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut output = io::stdout().lock();
        let _gone = output.write_all(bytes).and_then(|()| output.flush());
    }
}

/// Whether the server reads at all.
#[derive(Debug, Default)]
pub(crate) struct Gate(Mutex<Option<Shut>>);

#[derive(Clone, Copy, Debug)]
enum Shut {
    Until(Instant),
    ForEver,
}

impl Gate {
    /// Stops reading: for a time, or for ever.
    pub(crate) fn shut(&self, time: Option<Duration>) {
        let until = time.map_or(Shut::ForEver, |time| Shut::Until(Instant::now() + time));
        *self.state() = Some(until);
    }

    fn pass(&self) {
        loop {
            let shut = *self.state();
            match shut {
                None => return,
                Some(Shut::Until(time)) if time <= Instant::now() => *self.state() = None,
                Some(Shut::Until(time)) => {
                    thread::sleep(time.saturating_duration_since(Instant::now()));
                }
                Some(Shut::ForEver) => thread::park(),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, Option<Shut>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Standard input behind the gate, so that a stop holds in the middle of a long message too.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    stdin: StdinLock<'static>,
    gate: &'a Gate,
}

impl<'a> Input<'a> {
    pub(crate) fn new(gate: &'a Gate) -> Self {
        Self { stdin: io::stdin().lock(), gate }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.gate.pass();
        self.stdin.read(buffer)
    }
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.gate.pass();
        self.stdin.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.stdin.consume(amount);
    }
}
