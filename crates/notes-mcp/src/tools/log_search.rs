//! `log_search`: where a text stands in the log, from its start.

use std::{
    iter,
    ops::{ControlFlow, RangeInclusive},
    time::Duration,
};

use memchr::{memchr, memchr_iter, memmem::Finder, memrchr};
use serde_json::{Map, Value, json};

use super::{Tool, closed, reads, record};
use crate::{
    arguments::{Arguments, level_schema},
    level::Level,
    line::{self, Extent},
    logs::Log,
    protocol::Call,
    refusal::{Code, Refusal},
    site::Site,
    text::is_plain,
};

/// How many characters a text may have.
pub const TEXT_CHARS: RangeInclusive<usize> = 1..=100;

/// How many matches may be asked for.
pub const MATCHES: RangeInclusive<u64> = 1..=50;

const DEFAULT_MATCHES: u64 = 20;

/// Not more than this is looked at, from the start of the file.
pub const SEARCH_BYTES: u64 = 5_000_000;

/// A search takes no longer.
pub const SEARCH_TIME: Duration = Duration::from_secs(2);

/// Read at a time; between two of them the clock and the caller are asked.
const BLOCK_BYTES: u64 = 262_144;

/// A client is told how far it is after so many bytes.
const PROGRESS_BYTES: u64 = 1_000_000;

/// What is said to nobody, since a call that was given up is not answered.
const GIVEN_UP: &str = "the caller gave the search up";

pub(super) const TOOL: Tool = Tool { name: "log_search", definition, call };

fn definition() -> Value {
    json!({
        "name": "log_search",
        "title": "Search the log",
        "description": format!(
            "Lines of app/logs/app.log that hold a text, from the start of the log: whether an error is there, and since when. The text \
            is taken as it is, upper and lower case apart; it is no regular expression. A line is found by its own text and by the text that is \
            shown of it, where control characters are written out. Looks at the first {SEARCH_BYTES} bytes \
            for at most {} seconds, and shows at most {} characters of a line. Only `complete` true means that there are no more matches in it; \
            the archives app.log.N, into which lines go when it is rotated, are not looked at.",
            SEARCH_TIME.as_secs(),
            line::LINE_CHARS
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {
                    "type": "string", "minLength": TEXT_CHARS.start(), "maxLength": TEXT_CHARS.end(),
                    "description": "What a line has to hold, without a line break.",
                },
                "level": level_schema(),
                "limit": {
                    "type": "integer", "minimum": MATCHES.start(), "maximum": MATCHES.end(), "default": DEFAULT_MATCHES,
                    "description": "How many matches at most.",
                },
            },
            "required": ["text"],
            "additionalProperties": false,
        },
        "outputSchema": closed(json!({
            "matches": {"type": "array", "items": line::schema(), "maxItems": MATCHES.end()},
            "scanned_lines": {
                "type": "integer", "minimum": 0,
                "description": "Lines that were looked at, all of whose matches are given. With stop_reason `bytes` the last one may have been seen in part.",
            },
            "scanned_bytes": {"type": "integer", "minimum": 0},
            "bytes_left": {"type": "integer", "minimum": 0, "description": "Bytes of the log that were not looked at."},
            "complete": {"type": "boolean", "description": "Whether the whole log was looked at."},
            "stop_reason": {
                "enum": ["end", "limit", "bytes", "time"],
                "description": "end: of the log. limit: there is at least one match more. bytes, time: a bound of this tool.",
            },
        })),
        "annotations": reads(),
    })
}

fn call(site: &Site, arguments: &Map<String, Value>, call: &Call) -> Result<Value, Refusal> {
    let arguments = Arguments::new(arguments, &["text", "level", "limit"])?;
    let text = arguments.text("text", TEXT_CHARS)?;
    if text.contains(['\n', '\r']) {
        return Err(Refusal::invalid(
            "`text` is searched for in each line, so it has no line break",
        ));
    }
    let level = arguments.level()?;
    let limit = arguments.integer("limit", MATCHES, DEFAULT_MATCHES)? as usize;
    let log = site.logs()?.log()?;
    let mut scan = Scan {
        text,
        finder: Finder::new(text),
        level,
        limit,
        matches: Vec::new(),
        lines: 0,
        bytes: 0,
    };
    let stop = scan.log(&log, site, call)?;
    let reason = match stop {
        Stop::End => "end",
        Stop::Limit => "limit",
        Stop::Bytes => "bytes",
        Stop::Time => "time",
    };
    // A log that became shorter meanwhile ends where it ends.
    let left = if stop == Stop::End { 0 } else { log.size().saturating_sub(scan.bytes) };
    Ok(record([
        ("matches", scan.matches.into()),
        ("scanned_lines", scan.lines.into()),
        ("scanned_bytes", scan.bytes.into()),
        ("bytes_left", left.into()),
        ("complete", (stop == Stop::End).into()),
        ("stop_reason", reason.into()),
    ]))
}

/// Why a scan went no further.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    End,
    Limit,
    Bytes,
    Time,
}

struct Scan<'a> {
    text: &'a str,
    finder: Finder<'a>,
    level: Option<Level>,
    limit: usize,
    matches: Vec<Value>,
    /// Lines and bytes before the place up to which every match is given.
    lines: u64,
    bytes: u64,
}

impl Scan<'_> {
    /// The size at the open holds, as it does for `log_tail`.
    fn log(&mut self, log: &Log, site: &Site, call: &Call) -> Result<Stop, Refusal> {
        let begun = site.clock().elapsed();
        let is_late = || site.clock().elapsed().saturating_sub(begun) >= SEARCH_TIME;
        let breaks_off = || call.is_cancelled() || is_late();
        let end = log.size().min(SEARCH_BYTES);
        let mut told = 0;
        let mut read = 0;
        // What is left of the block before: a line whose end was not read yet.
        let mut buffer = Vec::new();
        loop {
            if call.is_cancelled() {
                return Err(Refusal::new(Code::Cancelled, GIVEN_UP));
            }
            // What was looked at to its end is complete, however long it took.
            if is_late() && (read < end || !buffer.is_empty()) {
                return Ok(Stop::Time);
            }
            let open = buffer.len();
            buffer.resize(open + BLOCK_BYTES.min(end - read) as usize, 0);
            let count = log.read(&mut buffer[open..], read)?;
            buffer.truncate(open + count);
            read += count as u64;
            if count == 0 {
                break;
            }
            if read - told >= PROGRESS_BYTES {
                told = read;
                call.progress(read, end);
            }
            if let Some(last) = memrchr(b'\n', &buffer[open..]) {
                let whole = open + last + 1;
                if let ControlFlow::Break(stop) =
                    self.block(&buffer[..whole], Extent::Whole, &breaks_off)
                {
                    return stopped(stop, call);
                }
                buffer.drain(..whole);
            }
        }
        let bounded = read == SEARCH_BYTES && log.size() > SEARCH_BYTES;
        let extent = if bounded { Extent::Beginning } else { Extent::Whole };
        if !buffer.is_empty()
            && let ControlFlow::Break(stop) = self.block(&buffer, extent, &breaks_off)
        {
            return stopped(stop, call);
        }
        Ok(if bounded { Stop::Bytes } else { Stop::End })
    }

    /// Looks at lines, of which only the last may lack its line feed: `last` says how much of that one there is. Breaks off
    /// before a match over the limit, and before a line that takes too long.
    fn block(
        &mut self,
        block: &[u8],
        last: Extent,
        breaks_off: &dyn Fn() -> bool,
    ) -> ControlFlow<Stop> {
        let before = self.bytes;
        let mut from = if before == 0 { block.len() - line::without_mark(block).len() } else { 0 };
        if before == 0 && from > 0 && from == block.len() {
            // A log with nothing but the mark of an editor has one line, which is empty.
            self.lines = 1;
            self.bytes = block.len() as u64;
            return ControlFlow::Continue(());
        }
        let mut own = self.finder.find_iter(block).peekable();
        let mut written = written_out(self.text, block, from, last, breaks_off).peekable();
        loop {
            while own.next_if(|at| *at < from).is_some() {}
            while written.next_if(|(at, _)| *at < from).is_some() {}
            let (own, written) = (own.peek().copied(), written.peek().copied());
            let Some(at) = own.into_iter().chain(written.map(|(at, _)| at)).min() else { break };
            let is_known = written.is_none_or(|(begins, found)| at < begins || found);
            let start = memrchr(b'\n', &block[from..at]).map_or(from, |feed| from + feed + 1);
            let end = memchr(b'\n', &block[at..]).map_or(block.len(), |feed| at + feed);
            let line = &block[start..end];
            self.lines += memchr_iter(b'\n', &block[from..start]).count() as u64;
            self.bytes = before + start as u64;
            if !is_known {
                return ControlFlow::Break(Stop::Time);
            }
            if self.level.is_none() || self.level == Level::of_line(line) {
                if self.matches.len() == self.limit {
                    return ControlFlow::Break(Stop::Limit);
                }
                let extent = if end == block.len() { last } else { Extent::Whole };
                self.matches.push(line::shown(self.lines + 1, line, extent).record);
            }
            self.lines += 1;
            from = (end + 1).min(block.len());
        }
        let rest = &block[from..];
        let open = rest.last().is_some_and(|byte| *byte != b'\n');
        self.lines += memchr_iter(b'\n', rest).count() as u64 + u64::from(open);
        self.bytes = before + block.len() as u64;
        ControlFlow::Continue(())
    }
}

/// Why a search ends that broke off.
fn stopped(stop: Stop, call: &Call) -> Result<Stop, Refusal> {
    if call.is_cancelled() {
        return Err(Refusal::new(Code::Cancelled, GIVEN_UP));
    }
    Ok(stop)
}

/// Where those lines of a block begin, from `from` on, that hold `text` in the form in which they are shown alone. Whoever
/// searches for what was shown has to find it. The last one, where it is broken off, is one of which that is not known.
fn written_out<'a>(
    text: &'a str,
    block: &'a [u8],
    from: usize,
    last: Extent,
    breaks_off: &'a dyn Fn() -> bool,
) -> impl Iterator<Item = (usize, bool)> + 'a {
    let is_needless = !line::may_be_written_out(text) || is_plain(block);
    let mut next = if is_needless { block.len() } else { from };
    iter::from_fn(move || {
        while next < block.len() {
            let start = next;
            let end = memchr(b'\n', &block[start..]).map_or(block.len(), |feed| start + feed);
            let extent = if end == block.len() { last } else { Extent::Whole };
            next = end + 1;
            match line::is_shown_with(&block[start..end], extent, text, breaks_off) {
                Some(true) => return Some((start, true)),
                Some(false) => {}
                None => {
                    next = block.len();
                    return Some((start, false));
                }
            }
        }
        None
    })
}
