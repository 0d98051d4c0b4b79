//! `log_tail`: the last lines of the log.

use std::ops::RangeInclusive;

use memchr::{memchr, memchr_iter, memrchr};
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
    let mut window = Window::read(&log)?;
    if level.is_some() && window.extent == Extent::Middle {
        // Nobody knows the level of a line whose beginning was not read.
        window.skipped = window.bytes.len();
    }
    let fits = |line: &[u8]| level.is_none() || level == line::level(line, window.extent);
    let mut before = window.last_first();
    let mut given = Vec::new();
    let mut passed = 0;
    while given.len() < count
        && let Some(line) = before.next()
    {
        if fits(line.text) {
            given.push((passed, line));
        }
        passed += 1;
    }
    let filtered = passed - given.len();
    // Without a level the lines before are counted alone, which is many times quicker than a look at each.
    let lines_before = before.count_lines();
    let left =
        if level.is_some() { before.filter(|line| fits(line.text)).count() } else { lines_before };
    let mut seen = 0;
    let mut lines = Vec::new();
    for (after, line) in given.into_iter().rev() {
        let number = lines_before + passed - after;
        let shown = line::shown(number as u64, line.text, window.extent);
        seen += line.bytes - shown.hidden;
        lines.push(shown.record);
    }
    Ok(record([
        ("lines", lines.into()),
        ("numbering", if window.start == 0 { "file" } else { "window" }.into()),
        ("lines_left", left.into()),
        ("lines_filtered", (filtered + lines_before - left).into()),
        ("truncated", (window.start > 0).into()),
        ("bytes_left", (window.start + window.skipped as u64).into()),
        ("bytes_hidden", (window.text().len() - seen).into()),
        ("bytes_shown", seen.into()),
        ("size", (window.start + window.bytes.len() as u64).into()),
    ]))
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
        let bytes = log.read_from(start)?;
        // A line that began before the window goes, unless it is all that there is.
        let next = memchr(b'\n', &bytes).map(|end| end + 1).filter(|next| *next < bytes.len());
        let (skipped, extent) = match next {
            _ if start == 0 => (0, Extent::Whole),
            Some(next) => (next, Extent::Whole),
            None => (continuation(&bytes), Extent::Middle),
        };
        Ok(Self { start, bytes, skipped, extent })
    }

    fn text(&self) -> &[u8] {
        &self.bytes[self.skipped..]
    }

    fn last_first(&self) -> Lines<'_> {
        Lines { rest: self.text(), begins_file: self.start == 0 }
    }
}

/// A line of the log.
struct Line<'a> {
    /// Without its line feed, and without the mark before the first one.
    text: &'a [u8],
    /// How many bytes it takes in the log.
    bytes: usize,
}

/// Lines, the last one first.
struct Lines<'a> {
    /// What was not given yet.
    rest: &'a [u8],
    begins_file: bool,
}

impl Lines<'_> {
    /// How many are still to come.
    fn count_lines(&self) -> usize {
        let open = self.rest.last().is_some_and(|last| *last != b'\n');
        memchr_iter(b'\n', self.rest).count() + usize::from(open)
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let (_, before_end) = self.rest.split_last()?;
        let start = memrchr(b'\n', before_end).map_or(0, |feed| feed + 1);
        let (rest, whole) = self.rest.split_at(start);
        self.rest = rest;
        let text = whole.strip_suffix(b"\n").unwrap_or(whole);
        let first = self.begins_file && start == 0;
        Some(Line { text: if first { line::without_mark(text) } else { text }, bytes: whole.len() })
    }
}

/// How many bytes at the start belong to a character that began before.
fn continuation(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
}
