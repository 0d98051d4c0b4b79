//! From hunks with a place to a new text.

use agent_workspace::{LineEnding, TextInfo};

use super::{
    Hunk, HunkLine, Mark,
    locate::{Misfit, locate},
};
use crate::lines::{Line, lines};

/// The text with all hunks made, or why they do not fit.
///
/// Lines that stay are the file's own, also where the patch has other blanks at their end. New
/// lines end as the patch has them where its old lines end as those of the file do, so that a diff
/// of git's is taken to the byte; otherwise, since models send no `\r`, as the file's lines do. Whether the last line ends with a newline stays as it is,
/// unless the patch says `\ No newline at end of file`.
pub(crate) fn apply(text: &str, info: &TextInfo, hunks: &[Hunk]) -> Result<String, Misfit> {
    let old = lines(text, info.line_ending);
    let places = locate(&old, hunks)?;
    let mut new: Vec<Line<'_>> = Vec::with_capacity(old.len());
    let mut next = 0;
    let mut last_line = None;
    for (hunk, place) in hunks.iter().zip(places) {
        new.extend(&old[next..place]);
        next = place;
        let own = says_line_ends(hunk, &old[place..], info);
        for line in &hunk.lines {
            match line.mark {
                Mark::Context => {
                    new.push(old[next]);
                    next += 1;
                }
                Mark::Remove => next += 1,
                Mark::Add => {
                    let end = if own { line_end(line) } else { newline(&old, next, info) };
                    new.push(Line { text: &line.text, end });
                }
            }
        }
        if next == old.len() {
            last_line = says_of_last_line(hunk);
        }
    }
    new.extend(&old[next..]);
    let ends = match last_line {
        Some(ends) => ends,
        None => old.last().is_none_or(|line| !line.end.is_empty()),
    };
    Ok(join(&new, info.newline, ends))
}

/// True where the old lines of the hunk end as those of the file do, `\r` included.
fn says_line_ends(hunk: &Hunk, file: &[Line<'_>], info: &TextInfo) -> bool {
    let mut old = hunk.old().zip(file).filter(|(_, line)| !line.end.is_empty()).peekable();
    let told = old.peek().is_some() || info.line_ending == LineEnding::None;
    told && info.line_ending != LineEnding::Cr && old.all(|(line, file)| line_end(line) == file.end)
}

fn line_end(line: &HunkLine) -> &'static str {
    if line.carriage_return { "\r\n" } else { "\n" }
}

/// The text of a new file; `None` where the hunks have lines that are not new.
pub(crate) fn created(hunks: &[Vec<Hunk>]) -> Option<String> {
    let all: Vec<_> = hunks.iter().flatten().flat_map(|hunk| &hunk.lines).collect();
    if all.iter().any(|line| line.mark != Mark::Add) {
        return None;
    }
    let ends = all.last().is_none_or(|line| !line.no_newline);
    let new: Vec<_> =
        all.iter().map(|line| Line { text: &line.text, end: line_end(line) }).collect();
    Some(join(&new, "\n", ends))
}

/// In a file with several kinds of line endings a new line ends as the one before it.
fn newline<'a>(old: &[Line<'a>], at: usize, info: &TextInfo) -> &'a str
where
    'static: 'a,
{
    let before = at.checked_sub(1).map(|before| old[before].end);
    match before {
        Some(end) if info.line_ending == LineEnding::Mixed && !end.is_empty() => end,
        _ => info.newline,
    }
}

/// Whether the new text ends with a newline, where the hunk says so in either of its sides.
fn says_of_last_line(hunk: &Hunk) -> Option<bool> {
    if hunk.new_lines().last().is_some_and(|line| line.no_newline) {
        return Some(false);
    }
    hunk.old().last().is_some_and(|line| line.no_newline).then_some(true)
}

fn join(lines: &[Line<'_>], newline: &str, ends: bool) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        text.push_str(line.text);
        let last = index + 1 == lines.len();
        match (last, line.end) {
            (true, _) if !ends => {}
            (_, "") => text.push_str(newline),
            (_, end) => text.push_str(end),
        }
    }
    text
}
