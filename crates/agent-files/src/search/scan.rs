//! The search itself: files in the order of their paths, on several threads, until enough is found.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use agent_tool_core::{Stop, ToolError};
use agent_workspace::{Encoding, MAX_SEARCH_BYTES, SkipReason, Text, Workspace, WorkspacePath};
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};

use super::{SearchOutput, render::around};
use crate::error;

/// More threads than this wait for the disk.
const MAX_THREADS: usize = 8;

/// The first batch of files is small, so that a search that soon has enough reads little; each
/// further one is twice as large, up to what bounds the lines that are kept.
const FIRST_BATCH: usize = 32;
const LARGEST_BATCH: usize = 256;

/// What was found, in order.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: Vec<FileHits>,
    pub(super) skipped: Vec<(String, SkipReason)>,
    /// The files that are no UTF-8, and how they were read.
    pub(super) decoded: Vec<(String, Encoding)>,
    pub(super) searched: usize,
    /// False where the search stopped early.
    pub(super) complete: bool,
}

#[derive(Debug, Default)]
pub(super) struct FileHits {
    pub(super) file: String,
    /// Matching lines and those around them.
    pub(super) lines: Vec<HitLine>,
    /// How many lines match.
    pub(super) count: usize,
    /// How the bytes were read, where they are no UTF-8.
    pub(super) decoded: Option<Encoding>,
}

#[derive(Debug)]
pub(super) struct HitLine {
    pub(super) number: u64,
    /// Where the match begins, in characters from 1; `None` for a line of context.
    pub(super) column: Option<usize>,
    pub(super) text: String,
}

pub(super) struct Job<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) matcher: &'a RegexMatcher,
    pub(super) output: SearchOutput,
    pub(super) multiline: bool,
    pub(super) context: usize,
    pub(super) results: usize,
    pub(super) stop: &'a Stop,
}

/// The list of files itself, as something found.
pub(super) fn list(files: impl ExactSizeIterator<Item = String>) -> Found {
    let searched = files.len();
    let files = files.map(|file| FileHits { file, ..FileHits::default() }).collect();
    Found { files, searched, complete: true, ..Found::default() }
}

impl Job<'_> {
    pub(super) fn run(&self, files: &[WorkspacePath]) -> Result<Found, ToolError> {
        let progress = Progress { stop: self.stop, done: AtomicUsize::new(0), total: files.len() };
        let mut found = Found { complete: true, ..Found::default() };
        let mut rest = files;
        let mut size = FIRST_BATCH;
        let mut results = 0;
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(size.min(rest.len()));
            for (path, outcome) in batch.iter().zip(self.batch(batch, &progress)) {
                let Some(outcome) = outcome else { return Err(error::stopped()) };
                found.searched += 1;
                if let Ok(FileHits { file, decoded: Some(encoding), .. }) = &outcome {
                    found.decoded.push((file.clone(), *encoding));
                }
                match outcome {
                    Ok(hits) if hits.count == 0 => {}
                    Ok(hits) => {
                        results +=
                            if self.output == SearchOutput::Content { hits.count } else { 1 };
                        found.files.push(hits);
                    }
                    Err(reason) => {
                        found.searched -= 1;
                        found.skipped.push((self.workspace.show(path), reason));
                    }
                }
                if results > self.results {
                    found.complete = false;
                    return Ok(found);
                }
            }
            rest = after;
            size = (size * 2).min(LARGEST_BATCH);
        }
        Ok(found)
    }

    /// The outcome of each file; `None` for those that were not reached when the flag was set.
    fn batch(
        &self,
        files: &[WorkspacePath],
        progress: &Progress<'_>,
    ) -> Vec<Option<Result<FileHits, SkipReason>>> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(MAX_THREADS).min(files.len());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut searcher = self.searcher();
            let mut buffer = Vec::new();
            let mut done = Vec::new();
            while !self.stop.is_set() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(path) = files.get(index) else { break };
                done.push((index, self.file(path, &mut searcher, &mut buffer)));
                progress.one_more();
            }
            done
        };
        let mut outcomes: Vec<_> = files.iter().map(|_| None).collect();
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for other in others {
                match other.join() {
                    Ok(part) => done.extend(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            for (index, outcome) in done {
                outcomes[index] = Some(outcome);
            }
        });
        outcomes
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .multi_line(self.multiline)
            .before_context(self.context)
            .after_context(self.context)
            .line_terminator(self.matcher.line_terminator().unwrap_or_default())
            .binary_detection(BinaryDetection::none())
            .bom_sniffing(false)
            .build()
    }

    fn file(
        &self,
        path: &WorkspacePath,
        searcher: &mut Searcher,
        buffer: &mut Vec<u8>,
    ) -> Result<FileHits, SkipReason> {
        self.workspace
            .read_into(path, MAX_SEARCH_BYTES, buffer)
            .map_err(|error| SkipReason::of_error(&error))?;
        let mut hits = FileHits { file: self.workspace.show(path), ..FileHits::default() };
        let decoded;
        let bytes = match SkipReason::of_bytes(buffer) {
            None => buffer.strip_prefix(b"\xef\xbb\xbf").unwrap_or(buffer),
            Some(reason) => {
                decoded = decodable(buffer).ok_or(reason)?;
                hits.decoded = Some(decoded.info.encoding);
                decoded.content.as_bytes()
            }
        };
        let mut lines = Lines { job: self, hits };
        searcher
            .search_slice(self.matcher, bytes, &mut lines)
            .map_err(|_| SkipReason::Unreadable)?;
        Ok(lines.hits)
    }
}

/// The text of a file that is no UTF-8, where it is safe to say what it is: UTF-16 with its mark, or
/// bytes that are a text as Latin-1, without any control character that no text has.
fn decodable(bytes: &[u8]) -> Option<Text> {
    let text = Text::decode(bytes);
    let no_text = |c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0c');
    match text.info.encoding {
        Encoding::Utf16Le | Encoding::Utf16Be => Some(text),
        Encoding::Latin1 if !text.info.binary && !text.content.contains(no_text) => Some(text),
        _ => None,
    }
}

/// How many files are done, whichever thread did them.
struct Progress<'a> {
    stop: &'a Stop,
    done: AtomicUsize,
    total: usize,
}

impl Progress<'_> {
    fn one_more(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.stop.progress("searched files", done, self.total);
    }
}

/// Collects the lines of one file.
struct Lines<'a> {
    job: &'a Job<'a>,
    hits: FileHits,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let first = found.line_number().unwrap_or(1);
        let bytes = found.bytes();
        let start = self.job.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start());
        let mut passed = 0;
        for (number, line) in (first..).zip(found.lines()) {
            self.hits.count += 1;
            if self.job.output == SearchOutput::Content && self.hits.count <= self.job.results + 1 {
                // Of a match over several lines, only the first has a column of its own.
                let at = start.saturating_sub(passed).min(line.len());
                let at = if passed > 0 && start < passed { 0 } else { at };
                self.hits.lines.push(hit(number, line, Some(at)));
            }
            passed += line.len();
        }
        Ok(match self.job.output {
            SearchOutput::Content => self.hits.count <= self.job.results,
            SearchOutput::Files => false,
            SearchOutput::Count => !self.job.stop.is_set(),
        })
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.job.output == SearchOutput::Content {
            self.hits.lines.push(hit(line.line_number().unwrap_or(1), line.bytes(), None));
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> Result<(), io::Error> {
        Ok(())
    }
}

fn hit(number: u64, line: &[u8], at: Option<usize>) -> HitLine {
    let text = String::from_utf8_lossy(line);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    let at = at.map(|at| text.floor_char_boundary(at));
    let column = at.map(|at| text[..at].chars().count() + 1);
    HitLine { number, column, text: around(text, column.unwrap_or(1)) }
}
