//! How a line of the log says how bad it is.

/// The words are looked for in this many characters from the line's start.
const HEAD_CHARS: usize = 80;

/// No character takes more bytes.
const CHAR_BYTES: usize = 4;

/// The four levels that a caller may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Debug,
    Info,
    Warning,
    Error,
}

impl Level {
    /// The names, in the order in which schemas list them.
    pub(crate) const NAMES: [&str; 4] = ["DEBUG", "INFO", "WARNING", "ERROR"];

    /// Exactly one of [`Level::NAMES`]: what a caller may write is narrower than what a log may.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.contains(&name).then(|| Self::of_word(name)).flatten()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }

    /// The first whole word that names a level; a line of a traceback has none.
    pub(crate) fn of_line(line: &[u8]) -> Option<Self> {
        let head = String::from_utf8_lossy(&line[..line.len().min((HEAD_CHARS + 1) * CHAR_BYTES)]);
        // A word that goes on after the head is none that the head holds whole.
        let whole = match head.char_indices().nth(HEAD_CHARS) {
            Some((at, next)) if is_word(next) => head[..at].trim_end_matches(is_word),
            Some((at, _)) => &head[..at],
            None => &head,
        };
        // The letter at which a colour ends is no part of the word behind it.
        without_colours(whole).split(|c| !is_word(c)).find_map(Self::of_word)
    }

    fn of_word(word: &str) -> Option<Self> {
        match word {
            "DEBUG" => Some(Self::Debug),
            "INFO" => Some(Self::Info),
            "WARN" | "WARNING" => Some(Self::Warning),
            "ERROR" | "CRITICAL" | "FATAL" => Some(Self::Error),
            _ => None,
        }
    }
}

/// The text with a blank in the place of each colour.
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        plain.push(' ');
        plain.push_str(rest.strip_prefix('m').unwrap_or(piece));
    }
    plain
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(line: &str) -> Option<&'static str> {
        Level::of_line(line.as_bytes()).map(Level::name)
    }

    #[test]
    fn the_first_whole_word_among_the_first_eighty_characters_is_the_level() {
        for (line, expected) in [
            ("2026-11-30 09:00:00 INFO an ERROR was mended", Some("INFO")),
            ("[WARN] low", Some("WARNING")),
            ("level=CRITICAL", Some("ERROR")),
            ("FATAL", Some("ERROR")),
            ("\u{1b}[1;31mERROR\u{1b}[0m disk full", Some("ERROR")),
            ("\u{1b}[mWARN", Some("WARNING")),
            ("\u{1b}[31ERROR", None),
            ("ERRORS ERROR_CODE xDEBUG", None),
            ("error", None),
            ("  File \"store.py\", line 41", None),
            ("", None),
        ] {
            assert_eq!(level(line), expected, "{line}");
        }
    }

    #[test]
    fn a_word_counts_when_it_ends_by_the_eightieth_character() {
        for (before, after, expected) in
            [(75, "", Some("ERROR")), (75, " x", Some("ERROR")), (75, "S", None), (76, "", None)]
        {
            let line = format!("{}{}ERROR{after}", "я".repeat(before - 1), " ");
            assert_eq!(level(&line), expected, "{before} {after:?}");
        }
    }

    #[test]
    fn a_caller_may_write_the_four_names_alone() {
        let named = ["DEBUG", "INFO", "WARNING", "ERROR", "WARN", "FATAL", "error", ""]
            .map(|name| Level::named(name).is_some());
        assert_eq!(named, [true, true, true, true, false, false, false, false]);
    }
}
