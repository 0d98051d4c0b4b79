//! Lines that stay within a terminal's columns. What a terminal folds by itself begins at its left edge, where only this
//! program writes: so it is folded here, and every row of what somebody else wrote keeps its margin.

use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthChar;

/// A tab goes to the next multiple of so many columns.
const TAB: usize = 4;

/// Fewer columns than these are taken for these: what is folded smaller cannot be read.
const LEAST: usize = 20;

const RESET: &str = "\u{1b}[0m";

/// How many columns a terminal has; none where it is no terminal or does not say.
pub(crate) fn of(terminal: impl AsFd) -> Option<usize> {
    let columns = usize::from(tcgetwinsize(terminal).ok()?.ws_col);
    (columns > 0).then(|| columns.max(LEAST))
}

/// How many columns a character takes where the cursor is in this one.
pub(crate) fn width(c: char, column: usize) -> usize {
    match c {
        '\t' => TAB - column % TAB,
        c => c.width().unwrap_or(0),
    }
}

/// A line of text in rows: the first begins with `first`, the others with `next`, which may have styles.
/// Styles go on behind a fold, and margins have none of the line's.
pub(crate) fn fold(line: &str, columns: Option<usize>, first: &str, next: &str) -> Vec<String> {
    let Some(columns) = columns else { return vec![format!("{first}{line}")] };
    let mut rows = Vec::new();
    let mut row = Row::begin(first);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            let mut sequence = String::from(c);
            for c in rest.by_ref() {
                sequence.push(c);
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
            row.style(&sequence);
            continue;
        }
        let wide = width(c, row.column);
        // The last column stays free: some terminals fold when it is written.
        if row.column + wide >= columns && row.has_text {
            let (done, begun) = row.broken(next);
            rows.push(done);
            row = begun;
        }
        row.push(c);
    }
    rows.push(row.text);
    rows
}

/// What the words of somebody whom another one quotes stand behind.
const QUOTE: &str = "> ";

/// The texts of many lines in rows, each with the same margin. What is quoted has the mark of that on each of its rows.
pub(crate) fn with_margin(text: &str, columns: Option<usize>, margin: &str) -> Vec<String> {
    let rows = text.lines().flat_map(|line| match line.starts_with(QUOTE) {
        true => fold(line, columns, margin, &format!("{margin}{QUOTE}")),
        false => fold(line, columns, margin, margin),
    });
    rows.collect()
}

/// The line in one row, with a mark where it does not fit.
pub(crate) fn one_row(line: &str, columns: Option<usize>, margin: &str) -> String {
    let room = columns.map(|columns| columns - 1);
    let mut rows = fold(line, room, margin, "").into_iter();
    let first = rows.next().unwrap_or_default();
    match rows.next() {
        None => first,
        // Words are not kept whole here: what is cut is to be as little as may be.
        Some(_) => {
            let broken = fold(&line.replace(' ', "\u{a0}"), room, margin, "");
            broken.into_iter().next().unwrap_or_default().replace('\u{a0}', " ") + "…"
        }
    }
}

/// As much of a line without styles as fits into so many columns.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    let mut column = 0;
    let mut kept = String::new();
    for c in line.chars() {
        let wide = width(c, column);
        if column + wide + 1 >= columns {
            kept.push('…');
            break;
        }
        column += wide;
        match c {
            '\t' => kept.extend(std::iter::repeat_n(' ', wide)),
            c => kept.push(c),
        }
    }
    kept
}

/// A row that is being filled.
struct Row {
    text: String,
    column: usize,
    has_text: bool,
    /// The styles that hold.
    styles: String,
    /// Where the row may be broken: the byte and the column behind the last space, and the styles there.
    space: Option<(usize, usize, String)>,
}

impl Row {
    fn begin(margin: &str) -> Self {
        let column = visible(margin);
        let (has_text, styles, space) = (false, String::new(), None);
        Self { text: margin.to_owned(), column, has_text, styles, space }
    }

    fn style(&mut self, sequence: &str) {
        match sequence {
            RESET | "\u{1b}[m" => self.styles.clear(),
            sequence => self.styles.push_str(sequence),
        }
        self.text.push_str(sequence);
    }

    fn push(&mut self, c: char) {
        let wide = width(c, self.column);
        match c {
            '\t' => self.text.extend(std::iter::repeat_n(' ', wide)),
            c => self.text.push(c),
        }
        self.column += wide;
        if c == ' ' && self.has_text {
            self.space = Some((self.text.len(), self.column, self.styles.clone()));
        }
        self.has_text |= c != ' ';
    }

    /// The row as it is broken, and the next one with what did not fit: from the last word on, where that is in the second half.
    fn broken(self, margin: &str) -> (String, Row) {
        let mut begun = Row::begin(margin);
        let half = self.column / 2;
        let Some((at, _, styles)) = self.space.filter(|(_, column, _)| *column > half) else {
            begun.text.push_str(&self.styles);
            begun.styles.clone_from(&self.styles);
            return (closed(self.text, &self.styles), begun);
        };
        let (head, tail) = self.text.split_at(at);
        begun.text.push_str(&styles);
        begun.text.push_str(tail);
        begun.column += visible(tail);
        begun.has_text = !tail.is_empty();
        begun.styles = self.styles;
        (closed(head.trim_end().to_owned(), &styles), begun)
    }
}

/// The columns of a text without tabs, in which styles may stand.
fn visible(text: &str) -> usize {
    let mut columns = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            let _ = chars.find(char::is_ascii_alphabetic);
        } else {
            columns += width(c, 0);
        }
    }
    columns
}

fn closed(row: String, styles: &str) -> String {
    if styles.is_empty() { row } else { row + RESET }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_wider_than_the_terminal_and_each_has_its_margin() {
        let rows = fold("one two three four five", Some(12), "", "  ");
        assert_eq!(rows, ["one two", "  three", "  four five"]);
        assert_eq!(
            fold("abcdefghijklmno", Some(10), "> ", "> "),
            ["> abcdefg", "> hijklmn", "> o"]
        );
        assert_eq!(fold("日本語日本語", Some(8), "", ""), ["日本語", "日本語"]);
        assert_eq!(fold("a\tb", Some(40), "", ""), ["a   b"]);
        assert_eq!(fold("as it is", None, "- ", "  "), ["- as it is"]);
        let styled = "\u{1b}[33m│ \u{1b}[0m";
        assert_eq!(fold("abcdefghij", Some(8), styled, styled)[1], format!("{styled}fghij"));
        assert_eq!(with_margin("a\n\nb", Some(40), "│ "), ["│ a", "│ ", "│ b"]);
        let quoted = with_margin("said\n> one two three", Some(13), "│ ");
        assert_eq!(quoted, ["│ said", "│ > one two", "│ > three"]);
    }

    #[test]
    fn a_style_ends_with_its_row_and_goes_on_behind_the_margin() {
        let rows = fold("\u{1b}[1mone two three\u{1b}[0m four", Some(9), "", "│ ");
        assert_eq!(rows, ["\u{1b}[1mone two\u{1b}[0m", "│ \u{1b}[1mthree\u{1b}[0m", "│ four"]);
    }

    #[test]
    fn a_cut_line_says_that_it_is_cut() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("rather long", 8), "rather…");
        assert_eq!(cut("日本語", 6), "日本…");
        assert_eq!(one_row("one two three", Some(LEAST), "  "), "  one two three");
        assert_eq!(one_row("one two three four five", Some(LEAST), "  "), "  one two three fo…");
        assert_eq!(one_row("one two three four five", None, "  "), "  one two three four five");
    }
}
