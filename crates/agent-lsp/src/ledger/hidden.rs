//! What was told as perhaps hidden: after a slip of syntax a server looks no further, and what it tells again once the slip is
//! mended is not new.

use std::collections::{BTreeMap, BTreeSet};

use super::{fresh::FreshLines, key::Key};
use crate::diagnostic::{Diagnostic, Severity};

/// What of one file may be hidden.
#[derive(Debug, Clone, Default)]
pub(super) struct Hidden {
    /// What went when an error came, and how often it was there.
    gone: BTreeMap<Key, usize>,
    /// The errors that may hide it, with their files.
    by: BTreeSet<(String, Key)>,
}

impl Hidden {
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty()
    }

    /// Whether a diagnostic that is there again was hidden. One on a line that the write made is new whatever there was.
    pub(super) fn gives_back(&mut self, found: &Diagnostic, fresh: &FreshLines) -> bool {
        match self.gone.get_mut(&Key::of(found)) {
            Some(count @ 1..) if !fresh.contains(found.line) => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }

    /// Takes what went with a write, where errors came with it.
    pub(super) fn hide<'a>(
        &mut self,
        gone: impl IntoIterator<Item = &'a Diagnostic>,
        new: impl IntoIterator<Item = &'a Diagnostic>,
    ) {
        let errors = new.into_iter().filter(|new| new.severity == Severity::Error);
        let errors: Vec<_> = errors.map(|new| (new.file.clone(), Key::of(new))).collect();
        if errors.is_empty() {
            return;
        }
        self.by.extend(errors);
        for gone in gone {
            *self.gone.entry(Key::of(gone)).or_default() += 1;
        }
    }

    /// Forgets what is hidden by nothing of what is known.
    pub(super) fn look(&mut self, is_known: impl Fn(&str, &Key) -> bool) {
        self.by.retain(|(file, error)| is_known(file, error));
        let is_hidden = !self.by.is_empty();
        self.gone.retain(|_, count| is_hidden && *count > 0);
    }
}
