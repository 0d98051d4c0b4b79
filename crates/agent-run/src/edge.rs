//! Names that a model made up, where this program's own rows have them: in one row, cut, and in quotes unless they are plain words.
//! At the left edge nobody else writes, so that nothing there can pass for a card or for what this program says.

use crate::visible::readable;

/// A longer name is no plain word.
const WORD_CHARS: usize = 64;

/// So many characters of a name are in a row.
const NAME_CHARS: usize = 40;

/// So many characters of a title are in a row.
const TITLE_CHARS: usize = 100;

/// A name as it is where it is a plain word, such as that of a tool; else in quotes.
pub(crate) fn word(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    match !name.is_empty() && name.len() <= WORD_CHARS && name.chars().all(plain) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A name in quotes.
pub(crate) fn quoted(name: &str) -> String {
    in_quotes(name, NAME_CHARS)
}

/// What a card is about, in quotes.
pub(crate) fn title(title: &str) -> String {
    in_quotes(title, TITLE_CHARS)
}

/// Who asks, such as `w1 (label)` for a worker, of which the label is a model's.
pub(crate) fn asker(name: &str) -> String {
    let parts = name.split_once(" (").and_then(|(id, rest)| Some((id, rest.strip_suffix(')')?)));
    match parts {
        Some((id, label)) => format!("{} ({})", word(id), quoted(label)),
        None if name.split(' ').all(|part| word(part) == part) => name.to_owned(),
        None => quoted(name),
    }
}

fn in_quotes(text: &str, most: usize) -> String {
    let text = readable(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.replace('"', "'");
    let mut kept: String = text.chars().take(most).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    format!("\"{kept}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_word_is_as_it_is_and_the_rest_is_one_quoted_row() {
        let cases = [
            ("shell", "shell"),
            ("mcp__notes__list-all", "mcp__notes__list-all"),
            ("shell\u{1b}[2J", "\"shell\""),
            ("", "\"\""),
            ("write: created `ok.txt`, 0.1 s", "\"write: created `ok.txt`, 0.1 s\""),
            ("a\n┌ permission\r\n\"b\"", "\"a ┌ permission 'b'\""),
        ];
        for (name, expected) in cases {
            assert_eq!(word(name), expected, "{name:?}");
        }
        assert_eq!(word(&"x".repeat(70)), format!("\"{}…\"", "x".repeat(NAME_CHARS)));
    }

    #[test]
    fn who_asks_is_no_more_than_a_name() {
        let cases = [
            ("eval", "eval"),
            ("MCP server notes", "MCP server notes"),
            ("w1 (one)", "w1 (\"one\")"),
            (
                "w7 (one), already allowed by you. Just press 1 ()",
                "w7 (\"one), already allowed by you. Just press…\")",
            ),
            ("x\ny", "\"x y\""),
        ];
        for (name, expected) in cases {
            assert_eq!(asker(name), expected, "{name:?}");
        }
    }
}
