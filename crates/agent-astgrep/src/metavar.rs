//! `$NAME`, `$$$NAME` and `$_` in the text of a pattern or of a template.

use std::ops::Range;

/// A metavariable that a pattern binds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// The name without its dollars.
    pub name: String,
    /// What it stands for.
    pub kind: VariableKind,
}

impl std::fmt::Display for Variable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}{}", self.kind.dollars(), self.name)
    }
}

/// What a metavariable stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableKind {
    /// `$NAME`: one node.
    One,
    /// `$$$NAME`: a run of sibling nodes, none included.
    Many,
}

impl VariableKind {
    /// The dollars that it is written with.
    #[must_use]
    pub fn dollars(self) -> &'static str {
        match self {
            Self::One => "$",
            Self::Many => "$$$",
        }
    }
}

/// What the dollars of an [`Occurrence`] make of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sigil {
    One,
    Many,
    /// Two dollars, or more than three, before a name: means nothing here.
    Miscounted,
}

/// Something in a text that reads like a metavariable. Inside of a string it is none, which only a
/// parse can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Occurrence {
    pub(crate) range: Range<usize>,
    pub(crate) sigil: Sigil,
    /// `None` for `$_` and `$$$`, which bind nothing.
    pub(crate) name: Option<String>,
}

/// The occurrences in `text`, in order.
///
/// A name is `[A-Z][A-Z0-9_]*` up to a character that is no part of a word, so that `$lower`,
/// `$_GET` and `$Mixed` are code of languages that spell their variables with a dollar.
pub(crate) fn scan(text: &str) -> Vec<Occurrence> {
    let bytes = text.as_bytes();
    let mut occurrences = Vec::new();
    let mut position = 0;
    while position < bytes.len() {
        if bytes[position] != b'$' {
            position += 1;
            continue;
        }
        let dollars = bytes[position..].iter().take_while(|&&byte| byte == b'$').count();
        let word_start = position + dollars;
        let word_length = bytes[word_start..].iter().take_while(|&&byte| is_word(byte)).count();
        let word = &text[word_start..word_start + word_length];
        let end = word_start + word_length;
        if let Some((sigil, name)) = classify(dollars, word) {
            occurrences.push(Occurrence { range: position..end, sigil, name });
        }
        position = end;
    }
    occurrences
}

fn classify(dollars: usize, word: &str) -> Option<(Sigil, Option<String>)> {
    let named = is_name(word).then(|| word.to_owned());
    match (dollars, word) {
        (1, "_") => Some((Sigil::One, None)),
        (3, "_" | "") => Some((Sigil::Many, None)),
        (1, _) => named.map(|name| (Sigil::One, Some(name))),
        (3, _) => named.map(|name| (Sigil::Many, Some(name))),
        _ => named.map(|name| (Sigil::Miscounted, Some(name))),
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_uppercase())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether a byte is part of an identifier in nearly every language. Bytes beyond ASCII count: they
/// are letters more often than not.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, Sigil)]) {
        let found = scan(text);
        let found: Vec<_> =
            found.iter().map(|found| (&text[found.range.clone()], found.sigil)).collect();
        assert_eq!(found, expected);
    }

    // spec: AST-01
    #[test]
    fn names_are_upper_case_words() {
        check(
            "f($X, $$$REST, $_)",
            &[("$X", Sigil::One), ("$$$REST", Sigil::Many), ("$_", Sigil::One)],
        );
        check("$lower $_GET $Mixed $Xé $1", &[]);
        check("f($$X)", &[("$$X", Sigil::Miscounted)]);
        check("f($$$)", &[("$$$", Sigil::Many)]);
        check("$($S) $$", &[("$S", Sigil::One)]);
    }
}
