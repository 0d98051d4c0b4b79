//! The transcript: one JSON object a line.

use std::io::{self, Write};

use serde::Serialize;

use crate::{Record, What};

/// Writes records to what the host handed in.
///
/// Each record is one `write_all` of a whole line and a flush, so that a run that is killed
/// leaves a transcript that is complete up to its last line. The first failure ends the writing:
/// a line after a gap would claim that nothing is missing.
pub(crate) struct Transcript {
    writer: Box<dyn Write + Send>,
    line: Vec<u8>,
}

/// A record with other contents, without a copy of it.
#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    seq: u64,
    at: u64,
    #[serde(flatten)]
    what: &'a What,
}

impl Transcript {
    pub(crate) fn new(writer: impl Write + Send + 'static) -> Self {
        Self { writer: Box::new(writer), line: Vec::new() }
    }

    pub(crate) fn write(&mut self, record: &Record) -> io::Result<()> {
        let clipped = record.what.clipped();
        let what = clipped.as_ref().unwrap_or(&record.what);
        self.line.clear();
        let line = Line { v: record.v, seq: record.seq, at: record.at, what };
        serde_json::to_writer(&mut self.line, &line)?;
        self.line.push(b'\n');
        self.writer.write_all(&self.line)?;
        self.writer.flush()
    }
}
