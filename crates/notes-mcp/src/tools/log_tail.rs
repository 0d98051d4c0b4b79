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
                "description": "Whether n counts from the start of the file, or from the first line that surely begins in the part that was read.",
            },
            "lines_left": {
                "type": "integer", "minimum": 0,
                "description": "Lines which fit and come before those given, back to where n counts from: ask for more to see them.",
            },
            "lines_filtered": {
                "type": "integer", "minimum": 0,
                "description": "Lines from where n counts on that are left out since they are not of the level that was asked for.",
            },
            "truncated": {"type": "boolean", "description": "Whether the file has more before the part that was read."},
            "bytes_left": {
                "type": "integer", "minimum": 0,
                "description": "Bytes before where n counts from: they were not looked at, or end a line whose beginning was not. log_search reads from the start.",
            },
            "bytes_hidden": {
                "type": "integer", "minimum": 0,
                "description": "Bytes of the lines of lines_left and lines_filtered, and those that were cut off the lines given.",
            },
            "bytes_shown": {
                "type": "integer", "minimum": 0,
                "description": "Bytes of the log that the lines given show, their line ends among them.",
            },
            "size": {
                "type": "integer", "minimum": 0,
                "description": "Bytes of the log when it was opened, or up to where it ended by then: bytes_left, bytes_hidden and bytes_shown together.",
            },
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
    let fits = |line: &Line| level.is_none() || level == line::level(line.text, extent);
    let (fitting, other): (Vec<_>, Vec<_>) =
        (1..).zip(window.lines()).partition(|(_, line): &(u64, Line)| fits(line));
    let (left, given) = fitting.split_at(fitting.len().saturating_sub(count));
    let mut hidden = bytes(left) + bytes(&other);
    let mut seen = bytes(given);
    let mut lines = Vec::new();
    for (n, line) in given {
        let shown = line::shown(*n, line.text, extent);
        hidden += shown.hidden;
        seen -= shown.hidden;
        lines.push(shown.record);
    }
    Ok(record([
        ("lines", lines.into()),
        ("numbering", if window.start == 0 { "file" } else { "window" }.into()),
        ("lines_left", left.len().into()),
        ("lines_filtered", other.len().into()),
        ("truncated", (window.start > 0).into()),
        ("bytes_left", (window.start + window.skipped as u64).into()),
        ("bytes_hidden", hidden.into()),
        ("bytes_shown", seen.into()),
        ("size", (window.start + window.bytes.len() as u64).into()),
    ]))
}

/// A line of the log.
struct Line<'a> {
    /// Without its line feed, and without the mark before the first one.
    text: &'a [u8],
    /// How many bytes it takes in the log.
    bytes: usize,
}

fn bytes(lines: &[(u64, Line)]) -> usize {
    lines.iter().map(|(_, line)| line.bytes).sum()
}

/// The end of the log, as far as it is read.
struct Window {
    /// Where it begins in the file.
    start: u64,
    bytes: Vec<u8>,
    /// How many of the bytes come before its first line: they end one that began before the window.
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
            _ if start == 0 => (0, Extent::Whole),
            Some(next) => (next, Extent::Whole),
            None => (continuation(&bytes), Extent::Middle),
        };
        Ok(Self { start, bytes, skipped, extent })
    }

    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let text = &self.bytes[self.skipped..];
        let open = text.last().is_some_and(|last| *last != b'\n');
        let ends = memchr_iter(b'\n', text).map(|feed| feed + 1).chain(open.then_some(text.len()));
        ends.scan(0, |from, end| {
            let whole = &text[*from..end];
            let first = self.start == 0 && *from == 0;
            let marked = whole.strip_suffix(b"\n").unwrap_or(whole);
            let text = if first { line::without_mark(marked) } else { marked };
            *from = end;
            Some(Line { text, bytes: whole.len() })
        })
    }
}

/// How many bytes at the start belong to a character that began before.
fn continuation(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
}
