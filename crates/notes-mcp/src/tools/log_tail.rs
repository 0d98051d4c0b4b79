//! `log_tail`: the last lines of the log.

use std::ops::RangeInclusive;

use memchr::{memchr, memchr_iter};
use serde_json::{Map, Value, json};

use super::{Tool, closed, reads, record};
use crate::{
    arguments::{Arguments, level_schema},
    line::{self, Extent},
    logs::Log,
    protocol::Call,
    refusal::Refusal,
    site::Site,
};

/// How many lines may be asked for.
pub const LINES: RangeInclusive<u64> = 1..=200;

const DEFAULT_LINES: u64 = 50;

/// Not more than this is read, from the end of the file.
pub const WINDOW_BYTES: u64 = 262_144;

pub(super) const TOOL: Tool = Tool { name: "log_tail", definition, call };

fn definition() -> Value {
    json!({
        "name": "log_tail",
        "title": "Last lines of the log",
        "description": format!(
            "The last lines of app/logs/app.log, oldest first: what happened just now. Reads at most the last {WINDOW_BYTES} bytes, and \
            shows at most {} characters of a line. For when something began, call log_search.",
            line::LINE_CHARS
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "lines": {
                    "type": "integer", "minimum": LINES.start(), "maximum": LINES.end(), "default": DEFAULT_LINES,
                    "description": "How many lines; with `level` as many of that level.",
                },
                "level": level_schema(),
            },
            "additionalProperties": false,
        },
        "outputSchema": closed(json!({
            "lines": {"type": "array", "items": line::schema(), "maxItems": LINES.end()},
            "numbering": {
                "enum": ["file", "window"],
                "description": "Whether n counts from the start of the file, or from the first whole line of the part that was read.",
            },
            "lines_left": {
                "type": "integer", "minimum": 0,
                "description": "Lines in the part that was read which fit and come before those given: ask for more to see them.",
            },
            "truncated": {"type": "boolean", "description": "Whether the file has more before the part that was read."},
            "bytes_left": {"type": "integer", "minimum": 0, "description": "How many bytes that is; they were not looked at."},
            "size": {"type": "integer", "minimum": 0, "description": "Bytes of the log when it was opened."},
        })),
        "annotations": reads(),
    })
}

fn call(site: &Site, arguments: &Map<String, Value>, _: &Call) -> Result<Value, Refusal> {
    let arguments = Arguments::new(arguments, &["lines", "level"])?;
    let count = arguments.integer("lines", LINES, DEFAULT_LINES)? as usize;
    let level = arguments.level()?;
    let log = site.logs()?.log()?;
    let window = Window::read(&log)?;
    let extent = window.extent;
    let fits = |line: &[u8]| level.is_none() || level == line::level(line, extent);
    let fitting: Vec<(u64, &[u8])> =
        (1..).zip(window.lines()).filter(|(_, line)| fits(line)).collect();
    let left = fitting.len().saturating_sub(count);
    let lines: Vec<Value> =
        fitting[left..].iter().map(|(n, line)| line::shown(*n, line, extent)).collect();
    Ok(record([
        ("lines", lines.into()),
        ("numbering", if window.start == 0 { "file" } else { "window" }.into()),
        ("lines_left", left.into()),
        ("truncated", (window.start > 0).into()),
        ("bytes_left", window.start.into()),
        ("size", log.size().into()),
    ]))
}

/// The end of the log, as far as it is read.
struct Window {
    /// Where it begins in the file.
    start: u64,
    bytes: Vec<u8>,
    /// How many of the bytes come before its first line.
    skipped: usize,
    /// Its lines are whole, unless it lies within a single one.
    extent: Extent,
}

impl Window {
    /// The size at the open holds: what is appended meanwhile belongs to the next call, and what is cut off is missing.
    fn read(log: &Log) -> Result<Self, Refusal> {
        let start = log.size().saturating_sub(WINDOW_BYTES);
        let mut bytes = vec![0; (log.size() - start) as usize];
        let read = log.read(&mut bytes, start)?;
        bytes.truncate(read);
        // A line that began before the window goes, unless it is all that there is.
        let next = memchr(b'\n', &bytes).map(|end| end + 1).filter(|next| *next < bytes.len());
        let (skipped, extent) = match next {
            _ if start == 0 => (bytes.len() - line::without_mark(&bytes).len(), Extent::Whole),
            Some(next) => (next, Extent::Whole),
            None => (continuation(&bytes), Extent::Middle),
        };
        Ok(Self { start, bytes, skipped, extent })
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let text = &self.bytes[self.skipped..];
        let open = text.last().is_some_and(|last| *last != b'\n');
        let ends = memchr_iter(b'\n', text).chain(open.then_some(text.len()));
        ends.scan(0, |from, end| {
            let line = &text[*from..end];
            *from = end + 1;
            Some(line)
        })
    }
}

/// How many bytes at the start belong to a character that began before.
fn continuation(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
}
