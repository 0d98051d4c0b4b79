//! Replacements in a text, applied together.

use std::ops::Range;

#[derive(Debug, Default)]
pub(super) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    pub(super) fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.0.push((range, text.into()));
    }

    /// Puts spaces in the place of everything but line ends.
    pub(super) fn blank(&mut self, source: &str, range: Range<usize>) {
        let blank = source.get(range.clone()).map(blank).unwrap_or_default();
        self.replace(range, blank);
    }

    pub(super) fn apply(mut self, source: &str) -> String {
        self.0.sort_by_key(|(range, _)| std::cmp::Reverse((range.start, range.end)));
        let mut text = source.to_owned();
        let mut end = text.len();
        for (range, replacement) in self.0 {
            // One inside of another has been replaced with it.
            if range.end <= end {
                end = range.start;
                text.replace_range(range, &replacement);
            }
        }
        text
    }
}

fn blank(text: &str) -> String {
    text.chars()
        .flat_map(|c| match c {
            '\n' => std::iter::repeat_n('\n', 1),
            c => std::iter::repeat_n(' ', c.len_utf8()),
        })
        .collect()
}
