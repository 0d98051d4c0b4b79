//! The toy's grammar.
//!
//! ```text
//! # a comment, which documents the definition below it
//! def shape.area w h      defines `area` of `shape`; `shape`, `w` and `h` are uses
//! def square is shape     `square` is an implementation of `shape`, which is its type
//! warn TEXT               a warning with this text
//! a = shape.area(b) "no word in here"
//! ```
//!
//! A word is letters, digits and `_`, not beginning with a digit; `a.b` are the words `a` and `a.b`.

/// A word of a text that means something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) line: usize,
    /// Bytes of the line.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// With what stands before its dots.
    pub(crate) name: String,
    pub(crate) role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Defined here, with the name of its type.
    Definition(Option<String>),
    Use,
}

/// A line that warns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) line: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) text: String,
}

pub(crate) fn scan(lines: &[String]) -> (Vec<Word>, Vec<Warning>) {
    let (mut words, mut warnings) = (Vec::new(), Vec::new());
    for (line, content) in lines.iter().enumerate() {
        let start = content.len() - content.trim_start().len();
        match content[start..].split_once(' ') {
            Some(("warn", text)) => {
                let end = content.trim_end().len();
                let text = text.trim().to_owned();
                warnings.push(Warning { line, start, end, text });
            }
            Some(("def", _)) => words.extend(definition(line, content, start + "def ".len())),
            _ => words.extend(uses(line, content, start)),
        }
    }
    (words, warnings)
}

fn definition(line: usize, content: &str, from: usize) -> Vec<Word> {
    let mut words = uses(line, content, from);
    // The first chain's last word is what is defined; its end is where no dot follows.
    let Some(defined) = words.iter().position(|word| !content[word.end..].starts_with('.')) else {
        return words;
    };
    let mut kind = None;
    if words.get(defined + 1).is_some_and(|word| word.name == "is") {
        words.remove(defined + 1);
        let chain = words[defined + 1..].iter();
        let last = chain.clone().find(|word| !content[word.end..].starts_with('.'));
        kind = last.map(|word| word.name.clone());
    }
    words[defined].role = Role::Definition(kind);
    words
}

fn uses(line: usize, content: &str, from: usize) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut quoted = false;
    let mut start = None;
    let ends = content.char_indices().skip_while(|(byte, _)| *byte < from);
    for (byte, character) in ends.chain([(content.len(), '#')]) {
        let inside = !quoted && (character.is_alphanumeric() || character == '_');
        match start {
            None if inside => start = Some(byte),
            Some(first) if !inside => {
                push(&mut words, line, content, (first, byte));
                start = None;
            }
            _ => {}
        }
        match character {
            '"' => quoted = !quoted,
            '#' if !quoted => break,
            _ => {}
        }
    }
    words
}

fn push(words: &mut Vec<Word>, line: usize, content: &str, (start, end): (usize, usize)) {
    let text = &content[start..end];
    if text.starts_with(|first: char| first.is_numeric()) {
        return;
    }
    let owner =
        words.last().filter(|last| last.end + 1 == start && content[last.end..].starts_with('.'));
    let name = owner.map_or_else(|| text.to_owned(), |owner| format!("{}.{text}", owner.name));
    words.push(Word { line, start, end, name, role: Role::Use });
}
