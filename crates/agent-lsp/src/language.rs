//! What identifiers look like, by language: what belongs to one, and which words are none.

mod data;

use unicode_ident::{is_xid_continue, is_xid_start};

/// The identifiers of a language. Beside what is said here they are Unicode's (UAX 31, XID) with `_`.
#[derive(Debug)]
#[non_exhaustive]
pub struct Language {
    /// The language ids of the protocol that this holds for.
    pub ids: &'static [&'static str],
    /// The name that a person reads.
    pub name: &'static str,
    /// Characters that may stand anywhere in an identifier.
    pub inside: &'static [char],
    /// Characters that may only begin one, such as the sigil of an instance variable.
    pub before: &'static [char],
    /// Characters that may only end one, such as `?` in Ruby.
    pub after: &'static [char],
    /// A sigil that marks a variable in a string and is no part of its name there (`'$name'` in Dart).
    pub marks: Option<char>,
    /// Words that are no name.
    pub keywords: &'static [&'static str],
    /// How a keyword is written as a name, if it can be.
    pub raw: Option<Raw>,
    /// Whether `Area` and `area` are one name.
    pub case: Case,
}

/// How a keyword is written as a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Raw {
    /// What stands before it.
    pub open: &'static str,
    /// What stands after it; empty where a prefix does.
    pub close: &'static str,
    /// Keywords that cannot be written so either.
    pub never: &'static [&'static str],
}

/// Whether the case of letters tells names apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// It does.
    Matters,
    /// It does not, for letters of ASCII.
    Ignored,
}

impl Language {
    /// The language with this id of the protocol. One that is not known has Unicode's identifiers and no keywords.
    #[must_use]
    pub fn by_id(id: &str) -> &'static Self {
        data::LANGUAGES.iter().find(|language| language.ids.contains(&id)).unwrap_or(&data::UNKNOWN)
    }

    /// The languages that are known.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        data::LANGUAGES.iter()
    }

    /// Whether a character belongs to identifiers, wherever in them.
    #[must_use]
    pub fn is_part(&self, character: char) -> bool {
        is_xid_continue(character)
            || self.inside.contains(&character)
            || self.before.contains(&character)
            || self.after.contains(&character)
    }

    /// Whether an identifier may begin with a character.
    #[must_use]
    pub fn may_start(&self, character: char) -> bool {
        is_xid_start(character)
            || character == '_'
            || self.inside.contains(&character)
            || self.before.contains(&character)
    }

    /// Whether a word is a keyword.
    #[must_use]
    pub fn is_keyword(&self, word: &str) -> bool {
        self.keywords.iter().any(|keyword| self.same(keyword, word))
    }

    /// Whether two names are one.
    #[must_use]
    pub fn same(&self, one: &str, other: &str) -> bool {
        match self.case {
            Case::Matters => one == other,
            Case::Ignored => one.eq_ignore_ascii_case(other),
        }
    }

    /// Whether an identifier could go on from the character before an offset to the one after it: then neither side is whole.
    #[must_use]
    pub fn joins(&self, text: &str, offset: usize) -> bool {
        let (left, right) = text.split_at(offset);
        let (Some(left_end), Some(right_start)) = (left.chars().next_back(), right.chars().next())
        else {
            return false;
        };
        // `a?b` and `a@b` are two each: an ending ends, a beginning begins. `@@a` is one.
        let begins = self.before.contains(&right_start) && !self.before.contains(&left_end);
        if begins || self.after.contains(&left_end) {
            return false;
        }
        if self.marks == Some(left_end) && !ends_in_part(&left[..left.len() - 1], self) {
            return false;
        }
        if self.after.contains(&right_start) {
            return self.is_part(left_end)
                && !self.before.contains(&left_end)
                && ends_name(right, self);
        }
        self.is_part(left_end) && self.is_part(right_start)
    }

    /// The identifiers of a text with their bytes, keywords among them.
    pub fn identifiers<'a>(&'static self, text: &'a str) -> Identifiers<'a> {
        Identifiers { language: self, text, from: 0 }
    }
}

/// Whether `?` or `!` at the start of a text ends a name: `a!=b` and `a?b:c` are no names with an ending.
fn ends_name(text: &str, language: &Language) -> bool {
    let mut rest = text.chars();
    rest.next();
    rest.next().is_none_or(|next| next != '=' && !language.is_part(next))
}

fn ends_in_part(text: &str, language: &Language) -> bool {
    text.chars().next_back().is_some_and(|character| language.is_part(character))
}

/// See [`Language::identifiers`].
#[derive(Debug)]
pub struct Identifiers<'a> {
    language: &'static Language,
    text: &'a str,
    from: usize,
}

impl<'a> Iterator for Identifiers<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let Self { language, text, .. } = *self;
        loop {
            let rest = &text[self.from..];
            let (skipped, first) =
                rest.char_indices().find(|(_, character)| language.is_part(*character))?;
            let start = self.from + skipped;
            let mut end = start + first.len_utf8();
            while end < text.len() && language.joins(text, end) {
                end += text[end..].chars().next().map_or(1, char::len_utf8);
            }
            self.from = end;
            let name = &text[start..end];
            // A run of sigils alone is an operator.
            if language.may_start(first) && name.chars().any(is_xid_continue) {
                return Some((start, name));
            }
        }
    }
}
