//! Runs of siblings: which lengths an ellipsis may have.

use super::{Binding, List, Matcher, Run, Then};
use crate::program::{Element, Item};
use crate::symbols::CLAUSE;

impl<'p> Matcher<'p, '_> {
    /// Tries the lengths of an ellipsis, the shortest first; one that nothing follows takes all.
    pub(super) fn ellipsis(
        &mut self,
        variable: Option<usize>,
        rest: &'p [Element],
        at: usize,
        list: List,
        then: &Then<'p, '_>,
    ) -> bool {
        let first_end = self.first_end(rest, at, list, then);
        if (at..first_end).any(|index| self.is_clause(index)) {
            return false;
        }
        for end in first_end..=list.end {
            if end > at && self.is_clause(end - 1) {
                return false;
            }
            if !self.step() {
                return false;
            }
            let place = (rest.as_ptr().addr(), self.place(end, list));
            let remembers = !self.pattern.repeats && self.leniency.is_none();
            if remembers && self.failed.contains(&place) {
                continue;
            }
            let bound = self.trail.len();
            let run = Run { first: at, end, list };
            let matched =
                self.bind(variable, Binding::Many(run)) && self.list(rest, end, list, then);
            if matched {
                return true;
            }
            self.undo(bound);
            // With no variable to be repeated, what follows fails here whatever came before.
            if remembers {
                self.failed.insert(place);
            }
        }
        false
    }

    /// The shortest length that can be right. Where no other ellipsis follows, what follows takes one
    /// entry for each element at most, and passes over separators alone; so a list of any length
    /// costs a few steps.
    fn first_end(&self, rest: &[Element], at: usize, list: List, then: &Then<'p, '_>) -> usize {
        if rest.iter().all(|element| element.optional) {
            return list.end;
        }
        let another = rest.iter().any(|element| matches!(element.item, Item::Many { .. }));
        if another || matches!(then, Then::OpenEnd) || self.leniency.is_some() {
            return at;
        }
        let mut takes = rest.len();
        let mut end = list.end;
        while end > at && (takes > 0 || self.entries[end - 1].optional) {
            end -= 1;
            takes -= usize::from(!self.entries[end].optional && takes > 0);
        }
        end
    }

    fn place(&self, index: usize, list: List) -> usize {
        if index < list.end { self.entries[index].node.id() } else { !list.end_byte }
    }

    fn is_clause(&self, index: usize) -> bool {
        self.pattern.symbols.has(self.entries[index].node, CLAUSE)
    }

    /// A list of ellipses alone where the candidate has no such list: all of them are empty.
    pub(super) fn bind_empty(&mut self, children: &[Element], at: usize, list: List) -> bool {
        children.iter().all(|element| match element.item {
            Item::Many { variable } => {
                self.bind(variable, Binding::Many(Run { first: at, end: at, list }))
            }
            _ => true,
        })
    }
}
