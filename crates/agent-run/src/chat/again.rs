//! An answer that broke off and comes again: what it repeats is not printed twice.

/// The text of one answer, over all attempts at it.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// What is on the screen of it.
    shown: String,
    /// What came of this attempt while it is the same as what is shown.
    same: Option<String>,
}

/// What of a piece is to be printed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct New {
    pub(super) text: String,
    /// Whether this attempt is another text than the one that is on the screen, and begins here.
    pub(super) differs: bool,
}

impl Again {
    /// The answer broke off and is asked for again.
    pub(super) fn begin(&mut self) {
        self.same = Some(String::new());
    }

    /// Takes a piece of the text.
    pub(super) fn text(&mut self, piece: &str) -> New {
        let Some(same) = &mut self.same else {
            self.shown.push_str(piece);
            return New { text: piece.to_owned(), differs: false };
        };
        same.push_str(piece);
        if self.shown.starts_with(same.as_str()) {
            return New::default();
        }
        let all = std::mem::take(same);
        self.same = None;
        let new = match all.strip_prefix(self.shown.as_str()) {
            Some(rest) => New { text: rest.to_owned(), differs: false },
            None => New { text: all.clone(), differs: true },
        };
        self.shown = all;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed of an attempt after one that broke off behind these words.
    fn after(broken: &str, pieces: &[&str]) -> (String, bool) {
        let mut again = Again::default();
        assert_eq!(again.text(broken).text, broken);
        again.begin();
        let new: Vec<New> = pieces.iter().map(|piece| again.text(piece)).collect();
        (new.iter().map(|new| new.text.as_str()).collect(), new.iter().any(|new| new.differs))
    }

    #[test]
    fn what_comes_again_is_printed_once_and_what_differs_is_said_to() {
        assert_eq!(after("one two", &["one", " two", " three"]), (" three".to_owned(), false));
        assert_eq!(after("one two", &["one", " zwei"]), ("one zwei".to_owned(), true));
        assert_eq!(after("one", &["one", " two"]), (" two".to_owned(), false));
        assert_eq!(after("", &["new"]), ("new".to_owned(), false));
    }
}
