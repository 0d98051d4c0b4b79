//! The idioms of IPython as ordinary Python.
//!
//! One pass, without a tokenizer of Python's: strings, comments, brackets and backslashes are enough to know where a logical line
//! begins, and only there does an idiom stand. The number of lines stays, so tracebacks point at what was typed. No idiom is
//! valid Python, and the kernel runs a rewritten cell only where the cell itself does not parse: valid Python is never
//! changed.

mod idiom;
mod layout;
mod scan;

use std::borrow::Cow;

use self::{
    idiom::{call, cell_magic, help, magic_name},
    scan::{Place, scan},
};

/// The cell with its idioms rewritten; borrowed where it has none.
///
/// ```
/// # use agent_eval::rewrite::rewrite;
/// assert_eq!(rewrite("x = 17 % 5"), "x = 17 % 5");
/// assert_eq!(rewrite("!ls"), "__agent__.system(\"ls\")");
/// ```
pub fn rewrite(source: &str) -> Cow<'_, str> {
    let (lines, plain) = layout::plain_lines(source);
    if let Some(whole) = cell_magic(&lines) {
        return Cow::Owned(whole);
    }
    match Rewriter::new(lines).run() {
        (lines, Changed::Yes) => Cow::Owned(lines.join("\n")),
        (lines, Changed::No) if !plain => Cow::Owned(lines.join("\n")),
        _ => Cow::Borrowed(source),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Changed {
    Yes,
    No,
}

struct Rewriter {
    lines: Vec<String>,
    done: Vec<String>,
    place: Place,
    /// Where in `done` the logical line begins that is open.
    logical: usize,
    changed: Changed,
}

impl Rewriter {
    fn new(lines: Vec<String>) -> Self {
        let done = Vec::with_capacity(lines.len());
        Self { lines, done, place: Place::default(), logical: 0, changed: Changed::No }
    }

    fn run(mut self) -> (Vec<String>, Changed) {
        while self.done.len() < self.lines.len() {
            let fresh = self.place.is_start();
            if fresh {
                self.logical = self.done.len();
                if self.statement() {
                    continue;
                }
            }
            let seen = scan(&self.lines[self.done.len()], self.place);
            if fresh && seen.assignment.is_some_and(|at| self.assignment(at)) {
                continue;
            }
            if seen.next.is_start() && seen.question.is_some_and(|at| self.question(at, seen.end)) {
                continue;
            }
            self.place = seen.next;
            let line = self.lines[self.done.len()].clone();
            self.done.push(line);
        }
        (self.done, self.changed)
    }

    /// A line that begins with `%`, `!` or `?`.
    fn statement(&mut self) -> bool {
        let line = self.lines[self.done.len()].clone();
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        let at = indent.len();
        let (replacement, count) = if let Some(rest) = text.strip_prefix("%%") {
            let Some((name, _)) = magic_name(rest) else { return false };
            let refusal = format!("%%{name} must be on the first line of the cell");
            (format!("raise SyntaxError({})", idiom::literal(&refusal)), 1)
        } else if text.starts_with('%') {
            let (whole, count) = self.logical_text(at + 1);
            let Some((name, args)) = magic_name(whole.trim_start()) else { return false };
            match args.trim_end_matches('?') {
                // `%magic?` asks what the magic is.
                rest if rest.is_empty() && !args.is_empty() => {
                    (help(&format!("%{name}"), args.len()), count)
                }
                _ => (call("line", &[name, args]), count),
            }
        } else if text.starts_with("!!") {
            let (whole, count) = self.logical_text(at + 2);
            (call("getoutput", &[whole.trim()]), count)
        } else if text.starts_with('!') {
            let (whole, count) = self.logical_text(at + 1);
            (call("system", &[whole.trim()]), count)
        } else if text.starts_with('?') {
            let marks = if text.starts_with("??") { 2 } else { 1 };
            let target = text[marks..].trim();
            if target.is_empty() {
                return false;
            }
            (help(target, marks), 1)
        } else {
            return false;
        };
        self.replace(format!("{indent}{replacement}"), count);
        true
    }

    /// `x = !cmd` and `x = %magic`.
    fn assignment(&mut self, equals: usize) -> bool {
        let line = self.lines[self.done.len()].clone();
        let right = line[equals + 1..].trim_start();
        let at = line.len() - right.len();
        let left = &line[..at];
        let (replacement, count) = if right.starts_with('!') && !right.starts_with("!=") {
            let (whole, count) = self.logical_text(at + 1);
            (call("getoutput", &[whole.trim()]), count)
        } else if right.starts_with('%') {
            let (whole, count) = self.logical_text(at + 1);
            let Some((name, args)) = magic_name(&whole) else { return false };
            (call("line", &[name, args]), count)
        } else {
            return false;
        };
        self.replace(format!("{left}{replacement}"), count);
        true
    }

    /// `object?` and `object??`, at the end of a logical line.
    fn question(&mut self, at: usize, end: usize) -> bool {
        let line = self.lines[self.done.len()].clone();
        let marks = line[at..end].trim();
        if !matches!(marks, "?" | "??") {
            return false;
        }
        let Some(target) = idiom::help_target(&line[..at]) else { return false };
        let first = self.done.get(self.logical).unwrap_or(&line);
        let indent = first[..first.len() - first.trim_start().len()].to_owned();
        let replacement = format!("{indent}{}", help(target, marks.len()));
        let count = self.done.len() - self.logical + 1;
        self.done.truncate(self.logical);
        self.replace(replacement, count);
        true
    }

    /// The text from a byte of this line on, with the lines that a backslash joins to it by a space, as
    /// IPython does, and how many lines that are.
    fn logical_text(&self, from: usize) -> (String, usize) {
        let here = self.done.len();
        let mut text = self.lines[here][from..].to_owned();
        let mut count = 1;
        while text.ends_with('\\') && here + count < self.lines.len() {
            text.pop();
            text.push(' ');
            text.push_str(&self.lines[here + count]);
            count += 1;
        }
        (text, count)
    }

    /// Puts one line in the place of `count`; the others stay as empty lines.
    fn replace(&mut self, line: String, count: usize) {
        self.done.push(line);
        self.done.extend(std::iter::repeat_n(String::new(), count - 1));
        self.place = Place::default();
        self.changed = Changed::Yes;
    }
}
