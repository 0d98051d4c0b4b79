//! What a model writes, as it comes: folded within a margin that it cannot leave, with a little of Markdown shown as what it means.

use std::fmt::Write as _;

use crate::{
    columns::width,
    style::{CODE, FAINT, STRONG},
};

/// Every row of a model's text begins with it. What stands at the left edge is this program's.
const MARGIN: &str = "  ";

const LIST: &str = "• ";
const QUOTE: &str = "▏ ";
/// What stands before the language of a block of code.
const FENCE: &str = "── ";

/// A line that is still no more than the mark of a block when it is so long is none.
const MARK_CHARS: usize = 24;

/// A text in the making. What is pushed comes out as far as it is known how it looks: a word when it is whole.
#[derive(Debug, Default)]
pub(crate) struct Prose {
    columns: Option<usize>,
    /// Where the cursor is; 0 before a row has begun.
    column: usize,
    /// The beginning of a line, until it is known what kind of line it is.
    mark: Option<String>,
    block: Block,
    fenced: bool,
    look: Look,
    /// The style that the terminal is in.
    shown: Look,
    word: Vec<(Look, char)>,
    spaces: usize,
    /// Asterisks whose meaning the next letter tells, and the letter before them.
    stars: usize,
    before: Option<char>,
    /// What stands behind a backtick that is not closed yet.
    ticked: Option<String>,
    begun: bool,
}

/// What kind of line it is.
#[derive(Debug, Default)]
enum Block {
    #[default]
    Plain,
    /// A line of code as it is.
    Code,
    /// A row that is folded begins with so many spaces more.
    Hanging(usize),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    strong: bool,
    code: bool,
    faint: bool,
}

impl Prose {
    /// Takes more of the text and gives what is to be printed.
    pub(crate) fn push(&mut self, text: &str, columns: Option<usize>) -> String {
        self.columns = columns;
        let mut out = String::new();
        if !self.begun && !text.is_empty() {
            self.begun = true;
            self.mark = Some(String::new());
        }
        for c in text.chars() {
            self.take(c, &mut out);
        }
        out
    }

    /// Where the cursor stands after what was printed.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    /// Ends the text: what is left of it, and the end of its line where one was begun.
    pub(crate) fn end(&mut self) -> String {
        let mut out = String::new();
        if !self.begun {
            return out;
        }
        self.settle(&mut out);
        self.untick(&mut out);
        self.take_stars(None, &mut out);
        self.flush(&mut out);
        if self.column > 0 {
            self.end_row(&mut out);
        }
        *self = Self::default();
        out
    }

    fn take(&mut self, c: char, out: &mut String) {
        if let Some(mut mark) = self.mark.take() {
            if c == '\n' {
                self.whole_line(&mark, out);
                return;
            }
            mark.push(c);
            match self.kind(&mark) {
                Kind::Open => self.mark = Some(mark),
                Kind::Is { block, shown, look } => self.begin(block, &shown, look, out),
                Kind::Plain => self.begin_plain(&mark, out),
            }
            return;
        }
        if c == '\n' { self.end_line(out) } else { self.inline(c, out) }
    }

    /// What a line is that begins so.
    fn kind(&self, mark: &str) -> Kind {
        let body = mark.trim_start();
        let indent = mark.len() - body.len();
        if self.fenced {
            return if body.is_empty() || is_fence_begun(body) { Kind::Open } else { Kind::Plain };
        }
        if mark.chars().count() > MARK_CHARS && !body.starts_with("```") {
            return Kind::Plain;
        }
        let is = |block, shown: String, look| Kind::Is { block, shown, look };
        let pad = " ".repeat(indent);
        match body {
            "" => Kind::Open,
            _ if is_fence_begun(body) => Kind::Open,
            "- " | "* " | "+ " => is(Block::Hanging(indent + 2), pad + LIST, Look::default()),
            "-" | "*" | "+" => Kind::Open,
            "> " => {
                is(Block::Hanging(indent + 2), pad + QUOTE, Look { faint: true, ..Look::default() })
            }
            ">" => Kind::Open,
            _ if body.trim_end_matches(' ').bytes().all(|byte| byte == b'#') && body.len() <= 7 => {
                match body.ends_with(' ') {
                    true => {
                        is(Block::Plain, String::new(), Look { strong: true, ..Look::default() })
                    }
                    false => Kind::Open,
                }
            }
            _ => {
                let digits = body.bytes().take_while(u8::is_ascii_digit).count();
                match &body[digits..] {
                    "" | "." | ")" if digits > 0 => Kind::Open,
                    ". " | ") " if digits > 0 => {
                        is(Block::Hanging(mark.len()), mark.to_owned(), Look::default())
                    }
                    _ => Kind::Plain,
                }
            }
        }
    }

    /// A line that is nothing but what could have been a mark.
    fn whole_line(&mut self, mark: &str, out: &mut String) {
        let body = mark.trim();
        let language = body.trim_start_matches(['`', '~']).trim().to_owned();
        if (body.starts_with("```") || body.starts_with("~~~")) && !language.contains('`') {
            self.fenced = !self.fenced;
            if self.fenced && !language.is_empty() {
                self.begin(Block::Plain, "", Look { faint: true, ..Look::default() }, out);
                // No line of code begins like this.
                FENCE.chars().chain(language.chars()).for_each(|c| self.put(c, out));
                self.end_line(out);
            } else {
                self.mark = Some(String::new());
            }
            return;
        }
        if !body.is_empty() {
            self.begin_plain(mark, out);
        }
        self.end_line(out);
    }

    /// A line of which nothing more comes.
    fn settle(&mut self, out: &mut String) {
        if let Some(mark) = self.mark.take()
            && !mark.trim().is_empty()
            && !mark.trim_start().starts_with("```")
        {
            self.begin_plain(&mark, out);
        }
    }

    fn begin_plain(&mut self, text: &str, out: &mut String) {
        let (block, look) = match self.fenced {
            true => (Block::Code, Look { code: true, ..Look::default() }),
            false => (Block::Plain, Look::default()),
        };
        self.begin(block, "", look, out);
        text.chars().for_each(|c| self.inline(c, out));
    }

    fn begin(&mut self, block: Block, shown: &str, look: Look, out: &mut String) {
        (self.block, self.look) = (block, look);
        for c in shown.chars() {
            self.put(c, out);
        }
    }

    fn inline(&mut self, c: char, out: &mut String) {
        if matches!(self.block, Block::Code) {
            return self.put(c, out);
        }
        if let Some(mut ticked) = self.ticked.take() {
            if c != '`' {
                ticked.push(c);
                self.ticked = Some(ticked);
                return;
            }
            let look = self.look;
            self.look.code = true;
            ticked.chars().for_each(|c| self.put(c, out));
            self.look = look;
            self.before = Some('`');
            return;
        }
        if c == '*' {
            self.stars += 1;
            return;
        }
        self.take_stars(Some(c), out);
        self.before = Some(c);
        match c {
            '`' => self.ticked = Some(String::new()),
            c => self.put(c, out),
        }
    }

    /// Reads asterisks by what stands around them: two begin or end bold letters, all others are what they are.
    fn take_stars(&mut self, next: Option<char>, out: &mut String) {
        let stars = std::mem::take(&mut self.stars);
        let begins = |c: char| c.is_alphanumeric() || "`\"'([_".contains(c);
        let stands = |c: char| c.is_whitespace() || "(['\"".contains(c);
        let opens = next.is_some_and(begins) && self.before.is_none_or(stands);
        if stars == 2 && (self.look.strong || opens) {
            self.look.strong = !self.look.strong;
        } else {
            (0..stars).for_each(|_| self.put('*', out));
        }
    }

    /// Shows a backtick that nothing closed as what it is.
    fn untick(&mut self, out: &mut String) {
        if let Some(ticked) = self.ticked.take() {
            self.put('`', out);
            ticked.chars().for_each(|c| self.put(c, out));
        }
    }

    /// A letter that is shown.
    fn put(&mut self, c: char, out: &mut String) {
        let code = matches!(self.block, Block::Code);
        if c == ' ' && !code {
            self.flush(out);
            self.spaces += 1;
        } else {
            self.word.push((self.look, c));
            if code {
                self.flush(out);
            }
        }
    }

    /// Prints the word, in the next row where it does not fit into this one.
    fn flush(&mut self, out: &mut String) {
        let room = self.columns.unwrap_or(usize::MAX);
        let word = std::mem::take(&mut self.word);
        let long: usize = word.iter().map(|(_, c)| width(*c, 0)).sum();
        let spaces = std::mem::take(&mut self.spaces);
        if !word.is_empty() {
            self.begin_row(out);
            let hangs = self.column > self.hanging();
            if hangs && self.column + spaces + long >= room {
                self.fold(out);
            } else {
                // Between two words of one style a space has it too.
                let same = word.first().is_some_and(|(look, _)| *look == self.shown);
                self.show(if same { self.shown } else { Look::default() }, out);
                out.extend(std::iter::repeat_n(' ', spaces));
                self.column += spaces;
            }
        } else {
            self.spaces = spaces;
        }
        for (look, c) in word {
            let wide = width(c, self.column);
            if self.column + wide >= room && self.column > self.hanging() {
                self.fold(out);
            }
            self.show(look, out);
            match c {
                '\t' => out.extend(std::iter::repeat_n(' ', wide)),
                c => out.push(c),
            }
            self.column += wide;
        }
    }

    /// Where the text of a row that was folded begins.
    fn hanging(&self) -> usize {
        let more = if let Block::Hanging(more) = self.block { more } else { 0 };
        MARGIN.len() + more
    }

    fn fold(&mut self, out: &mut String) {
        self.end_row(out);
        out.push_str(MARGIN);
        self.column = self.hanging();
        out.extend(std::iter::repeat_n(' ', self.column - MARGIN.len()));
    }

    fn begin_row(&mut self, out: &mut String) {
        if self.column == 0 {
            out.push_str(MARGIN);
            self.column = MARGIN.len();
        }
    }

    fn end_row(&mut self, out: &mut String) {
        self.show(Look::default(), out);
        out.push('\n');
        self.column = 0;
    }

    fn end_line(&mut self, out: &mut String) {
        self.untick(out);
        self.take_stars(None, out);
        self.before = None;
        self.flush(out);
        self.spaces = 0;
        self.end_row(out);
        (self.block, self.look) = (Block::Plain, Look::default());
        self.mark = Some(String::new());
    }

    fn show(&mut self, look: Look, out: &mut String) {
        if look == self.shown {
            return;
        }
        if self.shown != Look::default() {
            let _ = write!(out, "{}", STRONG.render_reset());
        }
        for (wanted, style) in [(look.strong, STRONG), (look.code, CODE), (look.faint, FAINT)] {
            if wanted {
                let _ = write!(out, "{}", style.render());
            }
        }
        self.shown = look;
    }
}

/// What the beginning of a line tells.
enum Kind {
    /// More is needed.
    Open,
    Plain,
    Is {
        block: Block,
        shown: String,
        look: Look,
    },
}

/// Whether this may be the beginning of a fence, or is one whose line is not over.
fn is_fence_begun(body: &str) -> bool {
    ["```", "~~~"].iter().any(|fence| fence.starts_with(body) || body.starts_with(fence))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed of a text in pieces of so many letters, without styles.
    fn printed(text: &str, columns: usize, piece: usize) -> String {
        let mut prose = Prose::default();
        let letters: Vec<char> = text.chars().collect();
        let mut out: String = letters
            .chunks(piece)
            .map(|piece| prose.push(&piece.iter().collect::<String>(), Some(columns)))
            .collect();
        out.push_str(&prose.end());
        out
    }

    fn plain(text: &str, columns: usize) -> String {
        let whole = anstream::adapter::strip_str(&printed(text, columns, usize::MAX)).to_string();
        for piece in [1, 3] {
            let pieces = anstream::adapter::strip_str(&printed(text, columns, piece)).to_string();
            assert_eq!(pieces, whole, "in pieces of {piece}");
        }
        whole
    }

    #[test]
    fn every_row_stays_within_its_margin() {
        assert_eq!(plain("one two three four", 12), "  one two\n  three\n  four\n");
        assert_eq!(plain("abcdefghijklmnop", 10), "  abcdefg\n  hijklmn\n  op\n");
        assert_eq!(plain("a\n\nb\n", 40), "  a\n\n  b\n");
        let forged =
            "Done.\n┌ permission, asked by the agent\n│ shell: run `rm`\n└ type a number\nanswer> ";
        assert!(plain(forged, 30).lines().all(|row| row.starts_with(MARGIN)));
    }

    #[test]
    fn a_little_markdown_is_shown_as_what_it_means() {
        assert_eq!(plain("# Title\n- one two three\n", 14), "  Title\n  • one two\n    three\n");
        assert_eq!(plain("2. second\n> said\n", 40), "  2. second\n  ▏ said\n");
        assert_eq!(
            plain("```rust\nlet  a = **b;\n- x\n```\nend", 40),
            "  ── rust\n  let  a = **b;\n  - x\n  end\n"
        );
        assert_eq!(plain("2 ** 3, *so* and a * b\n---\n", 40), "  2 ** 3, *so* and a * b\n  ---\n");
        assert_eq!(plain("**bold** and `a*b**c`", 40), "  bold and a*b**c\n");
        assert_eq!(
            plain("2**3, src/**/*.rs, it`s __init__", 40),
            "  2**3, src/**/*.rs, it`s __init__\n"
        );
        assert_eq!(plain("(**so**) **", 40), "  (so) **\n");
        assert_eq!(
            plain("-5 degrees, #1, 10 of 12\n10.5\n", 40),
            "  -5 degrees, #1, 10 of 12\n  10.5\n"
        );
        let styled = printed("**bold** and `code`", 40, 1);
        assert_eq!(styled, "  \u{1b}[1mbold\u{1b}[0m and \u{1b}[36mcode\u{1b}[0m\n");
    }

    #[test]
    fn what_is_begun_is_ended_and_a_style_does_not_leave_its_line() {
        assert_eq!(plain("a **b", 40), "  a b\n");
        let two = printed("a **b\nc", 40, 1);
        assert_eq!(two, "  a \u{1b}[1mb\u{1b}[0m\n  c\n");
        assert_eq!(plain("- ", 40), "  •\n");
        assert_eq!(plain("```a``` b\n- c\n", 40), "  a b\n  • c\n");
        assert_eq!(plain("#", 40), "  #\n");
        assert_eq!(plain("", 40), "");
    }
}
