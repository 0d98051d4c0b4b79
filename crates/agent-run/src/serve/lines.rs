//! Lines in, lines out: the frame of every message.

use std::{
    io::{self, BufRead},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{Notify, mpsc},
};

/// While so many bytes wait for a host that does not read, no new call begins.
const FULL_BYTES: usize = 8 * 1024 * 1024;

/// So many lines are read before the first of them is taken up.
const READ_AHEAD: usize = 4;

/// What stands on one line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    NotUtf8,
    /// Longer than the limit. Its bytes are read and forgotten.
    TooLong,
}

/// The lines of an input, until it ends or nobody takes them. A thread of its own reads them: a
/// read that waits cannot be interrupted, and the runtime waits for its own threads when it ends.
pub(crate) fn read_lines(
    mut input: impl BufRead + Send + 'static,
    limit: usize,
) -> mpsc::Receiver<Line> {
    let (sender, lines) = mpsc::channel(READ_AHEAD);
    thread::spawn(move || {
        while let Ok(Some(line)) = next_line(&mut input, limit) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The next line that is not empty, without its newline; `None` at the end of input.
fn next_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let available = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            result => result?,
        };
        let ended = available.is_empty();
        let newline = available.iter().position(|byte| *byte == b'\n');
        let taken = newline.unwrap_or(available.len());
        too_long |= line.len() + taken > limit;
        if !too_long {
            line.extend_from_slice(&available[..taken]);
        }
        let consumed = taken + usize::from(newline.is_some());
        input.consume(consumed);
        if newline.is_none() && !ended {
            continue;
        }
        if too_long {
            return Ok(Some(Line::TooLong));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            if ended {
                return Ok(None);
            }
            line.clear();
            continue;
        }
        let text = String::from_utf8(line).map_or(Line::NotUtf8, Line::Text);
        return Ok(Some(text));
    }
}

/// Where messages to the host are put. Putting one never waits: a process's pipe is never held up
/// by a host that does not read.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    lines: mpsc::UnboundedSender<String>,
    waiting: Arc<AtomicUsize>,
    drained: Arc<Notify>,
}

impl Outbox {
    /// An outbox and the work that writes what is put into it, until the last clone is dropped.
    pub(crate) fn new(
        mut output: impl AsyncWrite + Unpin,
    ) -> (Self, impl Future<Output = io::Result<()>>) {
        let (lines, mut queue) = mpsc::unbounded_channel::<String>();
        let outbox = Self { lines, waiting: Arc::default(), drained: Arc::default() };
        let (waiting, drained) = (outbox.waiting.clone(), outbox.drained.clone());
        let write = async move {
            while let Some(line) = queue.recv().await {
                output.write_all(line.as_bytes()).await?;
                output.flush().await?;
                waiting.fetch_sub(line.len(), Ordering::AcqRel);
                drained.notify_waiters();
            }
            Ok(())
        };
        (outbox, write)
    }

    /// Puts one message, which has no newline in it.
    pub(crate) fn put(&self, mut message: String) {
        message.push('\n');
        self.waiting.fetch_add(message.len(), Ordering::AcqRel);
        // Without a reader there is nobody to tell; the end of input ends the run.
        let _ = self.lines.send(message);
    }

    /// Waits until the host has read enough for a new call to begin.
    pub(crate) async fn room(&self) {
        loop {
            let drained = self.drained.notified();
            if self.waiting.load(Ordering::Acquire) < FULL_BYTES {
                return;
            }
            drained.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt, BufReader};

    use super::*;

    fn all(text: &'static [u8], limit: usize) -> Vec<Line> {
        let mut lines = read_lines(io::BufReader::with_capacity(3, text), limit);
        std::iter::from_fn(|| lines.blocking_recv()).collect()
    }

    fn text(text: &str) -> Line {
        Line::Text(text.to_owned())
    }

    #[test]
    fn a_long_line_is_said_to_be_long_and_the_next_one_is_read() {
        let lines = all(b"one\n\n  \ntwo but long\r\n\xff\xfe\nlast", 9);
        assert_eq!(lines, [text("one"), Line::TooLong, Line::NotUtf8, text("last")]);
    }

    #[tokio::test]
    async fn putting_never_waits_and_a_full_outbox_has_no_room() {
        let (near, far) = tokio::io::duplex(16);
        let (outbox, write) = Outbox::new(near);
        let writing = tokio::spawn(write);
        outbox.put("x".repeat(FULL_BYTES));
        assert!(tokio::time::timeout(std::time::Duration::ZERO, outbox.room()).await.is_err());
        let reading = tokio::spawn(async move {
            let mut line = String::new();
            BufReader::new(far).read_line(&mut line).await.map(|_| line)
        });
        outbox.room().await;
        let read = reading.await.expect("a reader").expect("a line");
        assert_eq!(read.trim_end(), "x".repeat(FULL_BYTES));
        drop(outbox);
        writing.await.expect("a writer").expect("all was written");
    }
}
