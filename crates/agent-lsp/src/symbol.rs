//! From a line and a symbol to one place in it, or to the reason why they do not tell.
//!
//! [`find`] gives the whole-identifier occurrences on the line, [`Found::decide`] drops those in comments and strings, and
//! where several are left [`Ambiguous::settle`] takes the definitions that a server gave for them. The first of several
//! is never taken just because it is the first.

mod errors;
mod nfc;
#[cfg(feature = "grammars")]
mod opaque;
mod search;

use std::{fmt, ops::Range};

use agent_tool_core::ToolError;

use crate::{
    language::Language,
    location::ResolvedSymbol,
    position::{Document, Place},
};

#[cfg(feature = "grammars")]
pub use opaque::Code;
use search::Line;

/// At most so many occurrences are asked about: each is a request to the server.
pub const MAX_ASKED: usize = 8;

/// What a call says about the place that it means.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The file as shown.
    pub file: &'a str,
    /// From 1.
    pub line: usize,
    /// A part of that line, or `part#N` for the N-th of several.
    pub symbol: &'a str,
}

/// The occurrences of a symbol on its line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The file as shown.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// The line as it is.
    pub text: String,
    /// The symbol without `#N`.
    pub symbol: String,
    /// All of them, in the order of the line; never none.
    pub occurrences: Vec<Occurrence>,
    /// The one that `#N` picks, from 0.
    pub picked: Option<usize>,
}

/// One occurrence of a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occurrence {
    /// The bytes of the document that the symbol matched.
    pub range: Range<usize>,
    /// The first identifier in them that is no keyword: what a server is asked about.
    pub identifier: Range<usize>,
    /// The identifier's text.
    pub name: String,
    /// Where the identifier begins.
    pub place: Place,
}

/// What the occurrences come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// One is left.
    Resolved(Resolved),
    /// Several are left; their definitions tell.
    Ask(Ambiguous),
}

/// Occurrences that may or may not mean the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ambiguous {
    found: Found,
    left: Vec<Left>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    index: usize,
    in_code: Option<bool>,
}

/// The occurrence that a call means.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved {
    /// The symbol without `#N`.
    pub symbol: String,
    /// The identifier that a server is asked about.
    pub identifier: String,
    /// The bytes of the identifier in the document.
    pub range: Range<usize>,
    /// The place, and which of how many.
    pub at: ResolvedSymbol,
}

/// Finds a symbol on its line.
///
/// An occurrence is the exact text, in the case as written, that neither begins nor ends inside of an identifier. When
/// there is none, the text is compared once more with letters and accents composed (NFC). A literal `name#2` on the line
/// wins over the reading as "the second `name`".
///
/// # Errors
/// `symbol_required`, `line_out_of_range`, and `symbol_not_found`, which shows the line and names longer identifiers that have
/// the symbol in them, or the nearest lines that have it.
pub fn find(
    document: &Document,
    query: &Query<'_>,
    language: &'static Language,
) -> Result<Found, ToolError> {
    let symbol = query.symbol.trim();
    if symbol.is_empty() {
        return Err(errors::required(document, query));
    }
    let Some(range) = document.line_range(query.line) else {
        return Err(errors::line_out_of_range(document, query));
    };
    let line = Line { text: &document.text()[range.clone()], language };
    let found = |symbol: &str, hits: Vec<Range<usize>>, picked| Found {
        file: query.file.to_owned(),
        line: query.line,
        text: line.text.to_owned(),
        symbol: symbol.to_owned(),
        occurrences: hits
            .into_iter()
            .map(|hit| line.occurrence(document, range.start, hit))
            .collect(),
        picked,
    };
    let literal = line.whole(symbol);
    if !literal.is_empty() {
        return Ok(found(symbol, literal, None));
    }
    let Some((name, number)) = numbered(symbol) else {
        return Err(errors::not_found(document, query, symbol, &line));
    };
    let hits = line.whole(name);
    if hits.is_empty() {
        return Err(errors::not_found(document, query, name, &line));
    }
    let found = found(name, hits, number.checked_sub(1));
    match found.picked {
        Some(index) if index < found.occurrences.len() => Ok(found),
        _ => Err(errors::no_such_occurrence(&found, number)),
    }
}

impl Found {
    /// Drops the occurrences that are no code. `in_code` says whether one is, or `None` when nobody knows. Where none is
    /// code, all stay.
    ///
    /// # Errors
    /// `ambiguous_symbol` when more than [`MAX_ASKED`] are left.
    pub fn decide(
        self,
        mut in_code: impl FnMut(&Occurrence) -> Option<bool>,
    ) -> Result<Decision, ToolError> {
        if let Some(index) = self.picked {
            return Ok(Decision::Resolved(self.resolved(index)));
        }
        if self.occurrences.len() == 1 {
            return Ok(Decision::Resolved(self.resolved(0)));
        }
        let all: Vec<Left> = self
            .occurrences
            .iter()
            .enumerate()
            .map(|(index, occurrence)| Left { index, in_code: in_code(occurrence) })
            .collect();
        let mut left: Vec<Left> =
            all.iter().copied().filter(|left| left.in_code != Some(false)).collect();
        if left.is_empty() {
            left = all;
        }
        match left.as_slice() {
            [only] => Ok(Decision::Resolved(self.resolved(only.index))),
            several if several.len() > MAX_ASKED => {
                Err(errors::ambiguous(&self, &indices(several)))
            }
            _ => Ok(Decision::Ask(Ambiguous { found: self, left })),
        }
    }

    fn resolved(&self, index: usize) -> Resolved {
        let Occurrence { identifier, name, place, .. } = &self.occurrences[index];
        Resolved {
            symbol: self.symbol.clone(),
            identifier: name.clone(),
            range: identifier.clone(),
            at: ResolvedSymbol {
                file: self.file.clone(),
                line: place.line,
                column: place.column,
                occurrence: index + 1,
                of: self.occurrences.len(),
            },
        }
    }
}

impl Decision {
    /// The occurrence, when there is one only.
    #[must_use]
    pub fn resolved(self) -> Option<Resolved> {
        match self {
            Self::Resolved(resolved) => Some(resolved),
            Self::Ask(_) => None,
        }
    }
}

impl Ambiguous {
    /// The occurrences whose definitions are asked for, [`MAX_ASKED`] at most.
    pub fn occurrences(&self) -> impl Iterator<Item = &Occurrence> {
        self.left.iter().map(|left| &self.found.occurrences[left.index])
    }

    /// Takes the definition of each occurrence, in order, `None` where the server knows of none.
    ///
    /// All the same: the first occurrence stands for all. An occurrence without a definition is taken for a word in a
    /// comment or a string where no grammar had told; where one had, it is code of unknown meaning.
    ///
    /// # Errors
    /// `ambiguous_symbol`, with every occurrence, unless they come to one meaning.
    pub fn settle<T: PartialEq>(self, definitions: &[Option<T>]) -> Result<Resolved, ToolError> {
        let answered: Vec<(Left, Option<&T>)> = self
            .left
            .iter()
            .zip(definitions.iter().map(Option::as_ref).chain(std::iter::repeat(None)))
            .map(|(left, definition)| (*left, definition))
            .filter(|(left, definition)| definition.is_some() || left.in_code == Some(true))
            .collect();
        match answered.as_slice() {
            [(first, meaning), rest @ ..]
                if meaning.is_some() && rest.iter().all(|(_, other)| other == meaning) =>
            {
                Ok(self.found.resolved(first.index))
            }
            _ => Err(errors::ambiguous(&self.found, &indices(&self.left))),
        }
    }
}

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { symbol, at, .. } = self;
        write!(f, "resolved `{symbol}` at {}:{}:{}", at.file, at.line, at.column)?;
        if at.of > 1 {
            write!(f, " ({} of {})", at.occurrence, at.of)?;
        }
        Ok(())
    }
}

fn indices(left: &[Left]) -> Vec<usize> {
    left.iter().map(|left| left.index).collect()
}

/// `name#2` as name and number.
fn numbered(symbol: &str) -> Option<(&str, usize)> {
    let (name, number) = symbol.rsplit_once('#')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (digits && !name.trim().is_empty()).then(|| (name.trim(), number.parse().unwrap_or(usize::MAX)))
}
