//! Why a pattern found nothing: the likely cause, where a file shows one.

use agent_grammars::tree_sitter::{Node, Tree};

use crate::matcher::{Leniency, Matcher};
use crate::pattern::Pattern;
use crate::program::Item;
use crate::symbols::{COMMENT, MACRO_BODY, OPAQUE};

/// How much of a node's text a hint shows, in characters.
const MAX_SHOWN: usize = 40;

/// A likely cause of finding nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hint {
    /// The cause.
    pub kind: HintKind,
    /// The line, from 1, that shows it.
    pub line: usize,
    /// The cause in words, and what to try.
    pub message: String,
}

/// A likely cause of finding nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HintKind {
    /// The same string stands there in the other quotes.
    QuotesDiffer,
    /// Something has a part more: a return type, an `else`, an argument.
    ExtraNode,
    /// Something has a keyword or an operator more: `async`, `?.`.
    ExtraToken,
    /// Everything fits, but a repeated metavariable does not stand for the same text.
    RepeatDiffers,
    /// The words stand in the body of a macro only, which is not parsed.
    InMacro,
    /// The words stand in strings or comments only, which are never searched.
    InText,
}

impl Pattern {
    /// The likely cause of finding nothing in a file, if the file shows one.
    #[must_use]
    pub fn hint(&self, tree: &Tree, source: &[u8]) -> Option<Hint> {
        self.other_quotes(source)
            .or_else(|| self.near_miss(tree, source))
            .or_else(|| self.out_of_reach(tree, source))
    }

    fn other_quotes(&self, source: &[u8]) -> Option<Hint> {
        let swap = |quote: char| if quote == '"' { '\'' } else { '"' };
        for quote in ['"', '\''] {
            let mut parts = self.fragment.split(quote);
            parts.next();
            // Every second part is between quotes; the last part is behind them.
            let strings: Vec<_> = parts.collect();
            for string in strings.chunks(2).filter(|pair| pair.len() == 2).map(|pair| pair[0]) {
                let written = format!("{quote}{string}{quote}");
                let other = format!("{0}{string}{0}", swap(quote));
                if memchr::memmem::find(source, written.as_bytes()).is_some() {
                    continue;
                }
                if let Some(offset) = memchr::memmem::find(source, other.as_bytes()) {
                    let message = format!(
                        "the file has {other}, the pattern {written}; quotes are part of the text, \
                         so write those of the file"
                    );
                    return Some(hint(HintKind::QuotesDiffer, source, offset, message));
                }
            }
        }
        None
    }

    fn near_miss(&self, tree: &Tree, source: &[u8]) -> Option<Hint> {
        let [only] = &self.elements[..] else { return None };
        let Item::Node { kinds, .. } = &only.item else { return None };
        for leniency in [Leniency::OneMore, Leniency::Repeats] {
            let mut matcher = Matcher::new(self, tree, source).lenient(leniency);
            let mut stack = vec![tree.root_node()];
            while let Some(node) = stack.pop() {
                if kinds.contains(&node.kind_id()) && matcher.single(node).is_some() {
                    return Some(match matcher.extra() {
                        Some(extra) => self.extra(node, extra, source),
                        None => repeat_differs(node, source),
                    });
                }
                let mut cursor = node.walk();
                let below = stack.len();
                stack.extend(node.children(&mut cursor));
                stack[below..].reverse();
            }
        }
        None
    }

    fn extra(&self, node: Node<'_>, extra: Node<'_>, source: &[u8]) -> Hint {
        let text = clip(&String::from_utf8_lossy(&source[extra.byte_range()]));
        let (kind, what) = if extra.is_named() {
            (HintKind::ExtraNode, format!("{} `{text}`", extra.kind().replace('_', " ")))
        } else {
            (HintKind::ExtraToken, format!("`{text}`"))
        };
        let message = format!(
            "a {} fits but for its {what}, and nothing is left out of a match; add it to the \
             pattern, as it is or as a metavariable",
            node.kind().replace('_', " ")
        );
        hint(kind, source, node.start_byte(), message)
    }

    /// Where all words of the pattern that there are stand in what is not searched.
    fn out_of_reach(&self, tree: &Tree, source: &[u8]) -> Option<Hint> {
        let (offsets, length) = self.literals().rarest(source)?;
        let first = *offsets.first()?;
        let root = tree.root_node();
        let within = |offset: usize, traits| {
            let mut node = root.descendant_for_byte_range(offset, offset + length);
            while let Some(inner) = node {
                if self.symbols.has(inner, traits) {
                    return true;
                }
                node = inner.parent();
            }
            false
        };
        if offsets.iter().all(|&offset| within(offset, OPAQUE | COMMENT)) {
            let message = "the words of the pattern stand in strings or comments only, which are \
                           never searched; use a text search for those"
                .to_owned();
            return Some(hint(HintKind::InText, source, first, message));
        }
        if offsets.iter().all(|&offset| within(offset, MACRO_BODY | OPAQUE | COMMENT)) {
            let message = "the words of the pattern stand in the bodies of macros, which are not \
                           parsed; use a text search, or match the whole macro call"
                .to_owned();
            return Some(hint(HintKind::InMacro, source, first, message));
        }
        None
    }
}

fn repeat_differs(node: Node<'_>, source: &[u8]) -> Hint {
    let message = "everything fits here but for a metavariable that is used twice and would stand \
                   for two different texts; use two names if that is meant"
        .to_owned();
    hint(HintKind::RepeatDiffers, source, node.start_byte(), message)
}

fn hint(kind: HintKind, source: &[u8], offset: usize, message: String) -> Hint {
    let line = memchr::memchr_iter(b'\n', &source[..offset]).count() + 1;
    Hint { kind, line, message }
}

fn clip(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    if line.chars().count() <= MAX_SHOWN && line.len() == text.len() {
        return line.to_owned();
    }
    let shown: String = line.chars().take(MAX_SHOWN).collect();
    format!("{shown}…")
}
