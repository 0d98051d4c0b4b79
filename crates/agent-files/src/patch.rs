//! Patches as data: what stands in one, whatever its format, and how its hunks find their place.

mod envelope;
mod hunks;
mod locate;
mod path;
mod unified;

use agent_edits::Executable;
use agent_tool_core::{ErrorKind, ToolError};

pub(crate) use hunks::{apply, created};
pub(crate) use locate::{Misfit, Reason};

/// The largest patch, in bytes: 8 MiB.
pub const MAX_PATCH_BYTES: usize = 8 * 1024 * 1024;

/// What an error says of a text that is no patch at all.
const FORMATS: &str = "send a unified diff, or `*** Begin Patch` with `*** Add File: PATH`, `*** \
                       Update File: PATH` or `*** Delete File: PATH`";

/// A change of several files, as a patch says it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patch {
    /// What happens to each file, in the order of the patch.
    pub files: Vec<FilePatch>,
}

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePatch {
    /// The path as the patch has it, without `a/` and `b/`.
    pub path: String,
    /// What happens to the file.
    pub action: Action,
    /// The changed places. A file that the patch names several times has one list for each time.
    pub hunks: Vec<Vec<Hunk>>,
    /// Whether the file becomes executable or ceases to be, where the patch says so by a mode.
    pub executable: Option<Executable>,
}

/// What happens to a file of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// There is no such file yet; the hunks have its lines.
    Create,
    /// The file goes away. Where there are hunks, they say what must stand in it.
    Delete,
    /// The hunks change it.
    Update,
    /// It gets this name, and the hunks change it.
    Rename(String),
}

/// One changed place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hunk {
    /// Lines that stand before the place, outermost first: what follows `@@` without numbers.
    pub headers: Vec<String>,
    /// The line, from 1, at which the place was when the patch was made.
    pub old_start: Option<usize>,
    /// True where the place is the end of the file.
    pub at_end: bool,
    /// The lines, in order.
    pub lines: Vec<HunkLine>,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HunkLine {
    /// What happens to it.
    pub mark: Mark,
    /// The text without its line ending.
    pub text: String,
    /// True where `\ No newline at end of file` follows.
    pub no_newline: bool,
    /// True where the patch has a `\r` at its end that is not the patch's own line ending.
    pub carriage_return: bool,
}

/// What a hunk does to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a diff has these three")]
pub enum Mark {
    /// It stands in the file and stays.
    Context,
    /// It stands in the file and goes.
    Remove,
    /// It is new.
    Add,
}

impl Patch {
    /// Reads a patch in either format: a unified diff (git's too), or `*** Begin Patch`.
    ///
    /// # Errors
    ///
    /// `too_large`, `invalid_patch` with the line of the patch, `unsupported_patch` for what is no
    /// change of text (binary data, links).
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        if text.len() > MAX_PATCH_BYTES {
            return Err(ToolError::new(
                ErrorKind::InvalidArgs,
                "too_large",
                format!(
                    "the patch has {} bytes and at most {MAX_PATCH_BYTES} are taken; split it",
                    text.len()
                ),
            ));
        }
        let mut source = Source::new(text);
        let mut patch = match source.peek_text() {
            Some(line) if line.starts_with(envelope::BEGIN) => envelope::parse(&mut source)?,
            Some(_) => unified::parse(&mut source)?,
            None => return Err(source.invalid(&format!("the patch is empty; {FORMATS}"))),
        };
        if patch.files.is_empty() {
            return Err(source.invalid(&format!("the patch names no file; {FORMATS}")));
        }
        patch.fold_repeated();
        Ok(patch)
    }

    /// A model may name a file twice; the second part is meant for the text after the first.
    fn fold_repeated(&mut self) {
        let mut files: Vec<FilePatch> = Vec::with_capacity(self.files.len());
        for file in self.files.drain(..) {
            let first = files.iter_mut().find(|first| {
                first.path == file.path
                    && first.action == Action::Update
                    && file.action == Action::Update
            });
            match first {
                Some(first) => {
                    first.hunks.extend(file.hunks);
                    first.executable = file.executable.or(first.executable);
                }
                None => files.push(file),
            }
        }
        self.files = files;
    }
}

impl Hunk {
    /// The lines that must stand in the file.
    pub fn old(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.mark != Mark::Add)
    }

    /// The lines that stand there afterwards.
    pub fn new_lines(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.mark != Mark::Remove)
    }
}

/// The lines of a patch while it is read.
struct Source<'a> {
    lines: Vec<&'a str>,
    /// True where every line ends with `\r\n`: then the `\r` is the way the patch was sent.
    sent_with_crlf: bool,
    next: usize,
}

impl<'a> Source<'a> {
    fn new(text: &'a str) -> Self {
        let mut lines: Vec<_> = text.split('\n').collect();
        if lines.last() == Some(&"") {
            lines.pop();
        }
        let body = lines.split_last().map_or(&[][..], |(_, before)| before);
        let sent_with_crlf = !body.is_empty() && body.iter().all(|line| line.ends_with('\r'));
        Self { lines, sent_with_crlf, next: 0 }
    }

    /// The next line without any `\r` at its end.
    fn peek(&self) -> Option<&'a str> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<&'a str> {
        self.lines.get(self.next + by).map(|line| line.strip_suffix('\r').unwrap_or(line))
    }

    /// The next line that is not blank; the blank ones are passed.
    fn peek_text(&mut self) -> Option<&'a str> {
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.next += 1;
        }
        self.peek()
    }

    fn advance(&mut self) {
        self.next += 1;
    }

    /// Takes the next line as one of a hunk.
    fn hunk_line(&mut self, mark: Mark, text: &str) -> HunkLine {
        let raw = self.lines.get(self.next).copied().unwrap_or_default();
        self.next += 1;
        HunkLine {
            mark,
            text: text.to_owned(),
            no_newline: false,
            carriage_return: raw.ends_with('\r') && !self.sent_with_crlf,
        }
    }

    fn invalid(&self, what: &str) -> ToolError {
        ToolError::new(
            ErrorKind::InvalidArgs,
            "invalid_patch",
            format!("line {} of the patch: {what}", (self.next + 1).min(self.lines.len().max(1))),
        )
    }

    fn unsupported(&self, what: &str) -> ToolError {
        ToolError::new(
            ErrorKind::InvalidArgs,
            "unsupported_patch",
            format!("line {} of the patch: {what}", (self.next + 1).min(self.lines.len())),
        )
    }
}
