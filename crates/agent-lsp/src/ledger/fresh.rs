//! Which lines of a text were not there before.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::Written;
use crate::position::Document;

/// A comparison that takes longer gives a coarser answer, which only decides which of several equal messages is shown.
const COMPARE_TIME: Duration = Duration::from_millis(100);

/// The lines, from 1, that a write made.
#[derive(Debug, Clone, Default)]
pub(super) struct FreshLines {
    lines: HashSet<usize>,
}

impl FreshLines {
    pub(super) fn of(written: &Written) -> Self {
        let (Some(before), Some(after)) = (&written.before, &written.after) else {
            return Self::default();
        };
        let (before, after) = (Document::new(before.as_str()), Document::new(after.as_str()));
        let deadline = Instant::now() + COMPARE_TIME;
        let (old, new) = (lines(&before), lines(&after));
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline));
        let made = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
        Self { lines: made.flat_map(DiffOp::new_range).map(|line| line + 1).collect() }
    }

    pub(super) fn contains(&self, line: usize) -> bool {
        self.lines.contains(&line)
    }
}

fn lines(document: &Document) -> Vec<&str> {
    (1..=document.line_count()).filter_map(|line| document.line(line)).collect()
}
