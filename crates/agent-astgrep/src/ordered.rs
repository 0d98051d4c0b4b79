//! Work on many items by all cores, with the result of a walk in order that stops early.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// More threads than this wait for memory, not for a processor.
const MAX_THREADS: usize = 8;

/// Fewer items than this are done before a thread would have started.
const ITEMS_WORTH_A_THREAD: usize = 4;

/// The results of the first items, without a gap.
#[derive(Debug)]
pub(crate) struct Prefix<T> {
    pub items: Vec<T>,
    /// Whether they are all there are: the weight was never enough, and nobody asked to stop.
    pub complete: bool,
}

/// Does `work` for the items `0..count` and gives back the results in that order, up to the first
/// item with which the weights together exceed `enough`.
///
/// The items are taken in order by all cores, so that what lies behind the last result is at most
/// a few items of wasted work; which results come back does not depend on the threads. `scratch`
/// makes what one thread keeps between items.
pub(crate) fn in_order<T: Send, S>(
    count: usize,
    enough: usize,
    stop: &AtomicBool,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> (T, usize) + Sync,
) -> Prefix<T> {
    let next = AtomicUsize::new(0);
    let satisfied = AtomicBool::new(false);
    let line = Mutex::new(Line { slots: (0..count).map(|_| None).collect(), front: 0, weight: 0 });
    let run = || {
        let mut scratch = scratch();
        while !satisfied.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let done = work(&mut scratch, index);
            let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
            if line.put(index, done, enough) {
                satisfied.store(true, Ordering::Relaxed);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let threads = if count < ITEMS_WORTH_A_THREAD { 1 } else { cores.min(count) };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
    line.into_inner().unwrap_or_else(PoisonError::into_inner).into_prefix(enough)
}

struct Line<T> {
    slots: Vec<Option<(T, usize)>>,
    front: usize,
    weight: usize,
}

impl<T> Line<T> {
    /// Puts a result in its place and says whether the results without a gap weigh enough.
    fn put(&mut self, index: usize, done: (T, usize), enough: usize) -> bool {
        self.slots[index] = Some(done);
        while self.weight <= enough
            && let Some(Some((_, weight))) = self.slots.get(self.front)
        {
            self.weight += weight;
            self.front += 1;
        }
        self.weight > enough
    }

    fn into_prefix(self, enough: usize) -> Prefix<T> {
        let complete = self.front == self.slots.len() && self.weight <= enough;
        let items = self.slots.into_iter().take(self.front).flatten().map(|(item, _)| item);
        Prefix { items: items.collect(), complete }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(weights: &[usize], enough: usize) -> Prefix<usize> {
        let stop = AtomicBool::new(false);
        in_order(weights.len(), enough, &stop, || (), |(), index| (index, weights[index]))
    }

    #[test]
    fn results_end_with_the_item_that_exceeds_what_is_enough() {
        for _ in 0..200 {
            let prefix = weights(&[1, 0, 2, 0, 0, 5, 1, 1, 1], 3);
            assert_eq!(prefix.items, [0, 1, 2, 3, 4, 5]);
            assert!(!prefix.complete);
        }
    }

    #[test]
    fn exactly_enough_is_not_too_much_so_all_are_looked_at() {
        let prefix = weights(&[1, 0, 2, 0, 0], 3);
        assert_eq!(prefix.items, [0, 1, 2, 3, 4]);
        assert!(prefix.complete);
        assert!(weights(&[], 3).complete);
    }

    #[test]
    fn a_stop_leaves_an_incomplete_prefix() {
        let stop = AtomicBool::new(false);
        let prefix = in_order(
            100,
            1000,
            &stop,
            || (),
            |(), index| {
                stop.store(index >= 10 || stop.load(Ordering::Relaxed), Ordering::Relaxed);
                (index, 1)
            },
        );
        assert!(!prefix.complete);
        assert!(prefix.items.len() < 100);
        assert!(prefix.items.iter().enumerate().all(|(place, item)| place == *item));
    }
}
