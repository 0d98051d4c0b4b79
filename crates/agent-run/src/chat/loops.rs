//! A model that repeats itself: its person is told once, and not at each call of the loop.

use std::collections::HashMap;

/// Of which loops a person was told in a turn.
#[derive(Debug, Default)]
pub(super) struct Loops {
    step: u32,
    /// For each tool at which step it was told of last, and how many times that was.
    told: HashMap<String, (u32, u32)>,
}

impl Loops {
    /// An answer of the model's begins, the first one with 1.
    pub(super) fn step(&mut self, step: u32) {
        self.step = step;
    }

    /// Takes that a call of this tool came so many times, and says whether that is news: a higher count is the same loop going
    /// on, and one that is not, at a later step, another loop.
    pub(super) fn is_news(&mut self, tool: &str, times: u32) -> bool {
        let before = self.told.insert(tool.to_owned(), (self.step, times));
        before.is_none_or(|(step, before)| step < self.step && times <= before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_told_of_once_and_another_one_again() {
        let mut loops = Loops::default();
        let told: Vec<bool> = [
            // Three calls in one answer, which go on in the next ones.
            (4, "search", 4),
            (4, "search", 4),
            (4, "read", 4),
            (5, "search", 5),
            (5, "search", 5),
            (5, "read", 5),
            // Another search.
            (9, "search", 4),
            (10, "search", 5),
        ]
        .into_iter()
        .map(|(step, tool, times)| {
            loops.step(step);
            loops.is_news(tool, times)
        })
        .collect();
        assert_eq!(told, [true, false, true, false, false, false, true, false]);
    }
}
