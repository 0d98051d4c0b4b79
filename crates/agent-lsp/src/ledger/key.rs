//! What makes two diagnostics the same: severity, code and message, the positions in the message left out.

use std::sync::LazyLock;

use regex::Regex;

use crate::diagnostic::{Diagnostic, Severity};

/// A diagnostic without its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    severity: Severity,
    code: Option<String>,
    message: String,
}

impl Key {
    pub(super) fn of(diagnostic: &Diagnostic) -> Self {
        Self {
            severity: diagnostic.severity,
            code: diagnostic.code.clone(),
            message: masked(&diagnostic.message),
        }
    }

    /// Whether both say the same with another severity.
    pub(super) fn differs_by_severity(&self, other: &Self) -> bool {
        self.severity != other.severity && self.code == other.code && self.message == other.message
    }
}

/// `… from line 3`, `lines 3 and 5`, `col. 4`
#[expect(clippy::expect_used, reason = "a constant that is tested")]
static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(lines?|ln|col(?:umns?)?)([\s.]*#?)\d+(?:\s*(?:-|–|,|and|to)\s*\d+)*\b")
        .expect("a regular expression")
});

/// `src/a.py:3:7`, after something that looks like a file
#[expect(clippy::expect_used, reason = "a constant that is tested")]
static AFTER_PATH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"([^\s:]*[./\\][^\s:]*):\d+(?::\d+)?\b").expect("a regular expression")
});

/// `a.ts(12,5)`
#[expect(clippy::expect_used, reason = "a constant that is tested")]
static PAIR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\(\d+,\s*\d+\)").expect("a regular expression"));

/// rustc writes types that are too long into files with such names.
#[expect(clippy::expect_used, reason = "a constant that is tested")]
static LONG_TYPE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"long-type-\d+").expect("a regular expression"));

/// The first paragraph with its blanks made single and its positions masked. Other numbers stay: "got 1" is not "got 3".
pub(super) fn masked(message: &str) -> String {
    let message = message.replace("\r\n", "\n");
    let paragraph = message.split("\n\n").find(|part| !part.trim().is_empty()).unwrap_or_default();
    let single = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    if !single.bytes().any(|byte| byte.is_ascii_digit()) {
        return single;
    }
    let masked = WORDS.replace_all(&single, "$1${2}_");
    let masked = AFTER_PATH.replace_all(&masked, "$1:_");
    let masked = PAIR.replace_all(&masked, "(_)");
    LONG_TYPE.replace_all(&masked, "long-type-_").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_masked_and_other_numbers_are_not() {
        let table = [
            ("redefinition of unused 'f' from line 3", "redefinition of unused 'f' from line _"),
            ("Name \"f\" already defined on line 12", "Name \"f\" already defined on line _"),
            ("used at Line #4, column 7", "used at Line #_, column _"),
            ("ln 3 col 9", "ln _ col _"),
            ("see lines 3 and 5", "see lines _"),
            ("see lines 3-5", "see lines _"),
            ("defined in src/a.py:3:7 first", "defined in src/a.py:_ first"),
            ("note: C:\\a.c:12: here", "note: C:\\a.c:_: here"),
            ("error at a.ts(12, 5)", "error at a.ts(_)"),
            ("type in 't.long-type-123456789.txt'", "type in 't.long-type-_.txt'"),
            ("expected 2 arguments, got 1", "expected 2 arguments, got 1"),
            ("expected `i32`, found `u64`", "expected `i32`, found `u64`"),
            ("outline 3 of 4", "outline 3 of 4"),
            ("ratio 16:9 and time 10:30", "ratio 16:9 and time 10:30"),
            ("a\u{a0}b \t c", "a b c"),
            ("first\n  more\n\nsecond paragraph", "first more"),
            ("", ""),
        ];
        for (message, expected) in table {
            assert_eq!(masked(message), expected, "{message}");
        }
    }
}
