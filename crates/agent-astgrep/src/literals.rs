//! The tokens that every match holds verbatim: what to look for before parsing anything.
//!
//! A token is one only if no match can lack it. So there are none for what a metavariable or an
//! ellipsis stands for, for optional separators, for a terminator that the ladder added (a
//! terminator is optional always), and for keywords where the language ignores their case.

use memchr::memmem::Finder;

use crate::metavar::is_word;
use crate::program::{Element, Leaf, required_leaves};

/// How few occurrences of a literal are few enough to stop looking for a rarer one.
const FEW: usize = 4;

/// A token that every match holds.
#[derive(Clone, Debug)]
pub struct Literal {
    finder: Finder<'static>,
    whole_word: bool,
}

/// All literals of a pattern, the longest first.
#[derive(Clone, Debug)]
pub struct Literals {
    literals: Vec<Literal>,
}

impl Literal {
    /// The bytes of the token.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.finder.needle()
    }

    /// Whether the token is a word, so that an occurrence inside of a longer word is none.
    #[must_use]
    pub fn is_whole_word(&self) -> bool {
        self.whole_word
    }

    /// The offsets of the token in `source`.
    pub fn offsets<'a>(&'a self, source: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        self.finder.find_iter(source).filter(move |&offset| self.stands_alone(source, offset))
    }

    fn stands_alone(&self, source: &[u8], offset: usize) -> bool {
        if !self.whole_word {
            return true;
        }
        // A digit before it may be a number of its own: `1if x else y` is Python.
        let before = offset.checked_sub(1).map(|index| source[index]);
        let after = source.get(offset + self.text().len());
        !before.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
            && !after.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }
}

impl Literals {
    pub(crate) fn of(elements: &[Element], folds_case: bool, words_stand_alone: bool) -> Self {
        let mut literals: Vec<Literal> = Vec::new();
        required_leaves(elements, &mut |leaf| {
            let Some(literal) = literal(leaf, folds_case, words_stand_alone) else { return };
            match literals.iter_mut().find(|known| known.text() == literal.text()) {
                // In a string the token may be glued to another, such as an escape.
                Some(known) => known.whole_word |= literal.whole_word,
                None => literals.push(literal),
            }
        });
        literals.sort_by_key(|literal| std::cmp::Reverse(literal.text().len()));
        Self { literals }
    }

    /// The literals, the longest first.
    pub fn iter(&self) -> impl Iterator<Item = &Literal> {
        self.literals.iter()
    }

    /// Whether `source` holds all of them.
    #[must_use]
    pub fn all_in(&self, source: &[u8]) -> bool {
        self.literals.iter().all(|literal| literal.offsets(source).next().is_some())
    }

    /// The offsets and the length of the literal that is rarest in `source`, or `None` where the
    /// pattern has no literal.
    pub(crate) fn rarest(&self, source: &[u8]) -> Option<(Vec<usize>, usize)> {
        let mut best: Option<(Vec<usize>, usize)> = None;
        for literal in &self.literals {
            let enough = best.as_ref().map_or(usize::MAX, |(offsets, _)| offsets.len());
            let offsets: Vec<_> = literal.offsets(source).take(enough).collect();
            if offsets.len() < enough {
                let few = offsets.len() <= FEW;
                best = Some((offsets, literal.text().len()));
                if few {
                    break;
                }
            }
        }
        best
    }
}

fn literal(leaf: &Leaf, folds_case: bool, words_stand_alone: bool) -> Option<Literal> {
    let text = &leaf.text;
    let is_name = !text.is_empty() && text.iter().all(|&byte| is_word(byte) && byte.is_ascii());
    // Layout inside of a token may differ: the text between tags, `not in` as one token.
    let layout_varies = leaf.prose || (!leaf.named && text.iter().any(u8::is_ascii_whitespace));
    let case_varies = folds_case && !leaf.named && text.iter().any(u8::is_ascii_alphabetic);
    if text.is_empty() || layout_varies || case_varies {
        return None;
    }
    let whole_word = is_name
        && words_stand_alone
        && !leaf.opaque
        && text.first().is_some_and(|first| !first.is_ascii_digit());
    Some(Literal { finder: Finder::new(text).into_owned(), whole_word })
}
