//! Occurrences of a text in one line.

use std::ops::Range;

use memchr::memmem;

use super::{Occurrence, nfc};
use crate::{language::Language, position::Document};

/// A line without its end, in its language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) language: &'static Language,
}

impl<'a> Line<'a> {
    /// The occurrences that neither begin nor end inside of an identifier.
    pub(super) fn whole(&self, symbol: &str) -> Vec<Range<usize>> {
        let exact: Vec<_> = self.all(symbol).filter(|hit| self.is_whole(hit)).collect();
        if !exact.is_empty() {
            return exact;
        }
        nfc::occurrences(self.text, symbol).into_iter().filter(|hit| self.is_whole(hit)).collect()
    }

    /// Identifiers that have the symbol in them and are longer, or differ from it by case alone.
    pub(super) fn similar(&self, symbol: &str) -> Vec<&'a str> {
        let mut names = Vec::new();
        for (start, name) in self.language.identifiers(self.text) {
            let end = start + name.len();
            let inside = self.all(symbol).any(|hit| hit.start < end && start < hit.end);
            let other_case = name.to_lowercase() == symbol.to_lowercase();
            if (inside || other_case) && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Where a server is asked: at the first identifier of the match that is no keyword, so that `fn area` and
    /// `self.area` mean `area`.
    pub(super) fn occurrence(
        &self,
        document: &Document,
        line_start: usize,
        hit: Range<usize>,
    ) -> Occurrence {
        let inside = || {
            let names = self.language.identifiers(self.text);
            names.filter(|(start, _)| hit.contains(start))
        };
        let identifier = inside()
            .find(|(_, name)| !self.language.is_keyword(name))
            .or_else(|| inside().next())
            .map_or(hit.clone(), |(start, name)| start..start + name.len());
        let moved = |range: &Range<usize>| line_start + range.start..line_start + range.end;
        Occurrence {
            place: document.place(line_start + identifier.start),
            name: self.text[identifier.clone()].to_owned(),
            range: moved(&hit),
            identifier: moved(&identifier),
        }
    }

    /// Every place where the text stands, overlapping ones too.
    fn all(&self, symbol: &str) -> impl Iterator<Item = Range<usize>> {
        let finder = memmem::Finder::new(symbol).into_owned();
        let (text, length) = (self.text, symbol.len());
        let step = symbol.chars().next().map_or(1, char::len_utf8);
        let mut from = 0;
        std::iter::from_fn(move || {
            let start = from + finder.find(text.as_bytes().get(from..)?)?;
            from = start + step;
            Some(start..start + length)
        })
    }

    fn is_whole(&self, hit: &Range<usize>) -> bool {
        !self.language.joins(self.text, hit.start) && !self.language.joins(self.text, hit.end)
    }
}
