//! A text as its lines, each with the line ending that it has.

use agent_workspace::LineEnding;

/// One line of a text. Joined again, all lines give the text byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    /// `\n`, `\r\n`, `\r`, or nothing at the end of a text without a last newline.
    pub(crate) end: &'a str,
}

/// The lines as a person counts them: a newline at the end begins no line of its own.
///
/// A lone `\r` ends a line only where no line ends otherwise: elsewhere it is a character like any
/// other, as it is for ripgrep and git.
pub(crate) fn lines(text: &str, ending: LineEnding) -> Vec<Line<'_>> {
    let mark = if ending == LineEnding::Cr { '\r' } else { '\n' };
    text.split_inclusive(mark).map(|line| cut_end(line, mark)).collect()
}

/// The line, from 1, in which a byte offset lies.
pub(crate) fn line_of(text: &str, ending: LineEnding, offset: usize) -> usize {
    let mark = if ending == LineEnding::Cr { b'\r' } else { b'\n' };
    text.as_bytes()[..offset].iter().filter(|byte| **byte == mark).count() + 1
}

fn cut_end(line: &str, mark: char) -> Line<'_> {
    let Some(text) = line.strip_suffix(mark) else {
        return Line { text: line, end: "" };
    };
    let text = if mark == '\n' { text.strip_suffix('\r').unwrap_or(text) } else { text };
    Line { text, end: &line[text.len()..] }
}
