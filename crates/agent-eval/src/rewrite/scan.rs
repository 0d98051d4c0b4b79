//! One physical line of Python, as far as it takes to know where the logical line ends.

/// Where between two physical lines a cell is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    string: Option<Quote>,
    depth: usize,
    continued: bool,
}

/// A string that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quote {
    byte: u8,
    triple: bool,
}

/// What a line has outside of strings and comments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub next: Place,
    /// The first `=` that assigns, outside of brackets.
    pub assignment: Option<usize>,
    /// The first of the `?` that the code ends with.
    pub question: Option<usize>,
    /// Where the code ends and a comment begins.
    pub end: usize,
}

/// What before a `=` makes it part of another operator.
const BEFORE_EQUALS: &[u8] = b"=!<>+-*/%&|^@:";

impl Place {
    /// Whether a logical line begins here.
    pub(super) fn is_start(self) -> bool {
        self == Self::default()
    }
}

pub(super) fn scan(line: &str, place: Place) -> Seen {
    let bytes = line.as_bytes();
    let mut seen = Seen { next: place, end: bytes.len(), ..Seen::default() };
    seen.next.continued = false;
    let mut at = 0;
    while at < bytes.len() {
        if let Some(quote) = seen.next.string {
            at += in_string(&bytes[at..], quote, &mut seen);
            continue;
        }
        let byte = bytes[at];
        if byte != b'?' && !byte.is_ascii_whitespace() && byte != b'#' {
            seen.question = None;
        }
        match byte {
            b'#' => {
                seen.end = at;
                break;
            }
            b'"' | b'\'' => {
                let triple = bytes[at..].starts_with(&[byte; 3]);
                seen.next.string = Some(Quote { byte, triple });
                at += if triple { 3 } else { 1 };
                continue;
            }
            b'(' | b'[' | b'{' => seen.next.depth += 1,
            b')' | b']' | b'}' => seen.next.depth = seen.next.depth.saturating_sub(1),
            b'\\' if at + 1 == bytes.len() => seen.next.continued = true,
            b'?' => {
                seen.question.get_or_insert(at);
            }
            b'=' if seen.next.depth == 0 => {
                if bytes.get(at + 1) == Some(&b'=') {
                    at += 2;
                    continue;
                }
                let before = at.checked_sub(1).map(|before| bytes[before]);
                if !before.is_some_and(|before| BEFORE_EQUALS.contains(&before)) {
                    seen.assignment.get_or_insert(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    end_of_line(bytes, &mut seen);
    seen
}

/// How many bytes further; the string may end with them.
fn in_string(rest: &[u8], quote: Quote, seen: &mut Seen) -> usize {
    match rest[0] {
        b'\\' => 2,
        byte if byte == quote.byte && !quote.triple => {
            seen.next.string = None;
            1
        }
        byte if byte == quote.byte && rest.starts_with(&[quote.byte; 3]) => {
            seen.next.string = None;
            3
        }
        _ => 1,
    }
}

/// A string of one line ends with the line, unless a backslash carries it on.
fn end_of_line(bytes: &[u8], seen: &mut Seen) {
    if seen.next.string.is_some_and(|quote| !quote.triple) {
        let backslashes = bytes.iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            seen.next.string = None;
        }
    }
}
