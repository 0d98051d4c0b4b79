//! Snapshots as multisets, and the difference of two.

use std::collections::BTreeMap;

use super::{fresh::FreshLines, key::Key};
use crate::diagnostic::Diagnostic;

/// What rustc's diagnostics and those of rust-analyzer's own analysis call their sources.
const COMPILER: &str = "rustc";
const NATIVE: &str = "rust-analyzer";

/// A snapshot: its errors and warnings, by what makes them the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    groups: BTreeMap<Key, Vec<Diagnostic>>,
}

impl Counted {
    /// Takes what counts; hints and information are no news.
    pub(super) fn of(diagnostics: impl IntoIterator<Item = Diagnostic>) -> Self {
        let mut groups: BTreeMap<Key, Vec<Diagnostic>> = BTreeMap::new();
        for diagnostic in diagnostics.into_iter().filter(|found| found.severity.counts()) {
            groups.entry(Key::of(&diagnostic)).or_default().push(diagnostic);
        }
        Self { groups }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.groups.values().flatten()
    }

    /// The file has another name.
    pub(super) fn renamed(&mut self, file: &str) {
        for diagnostic in self.groups.values_mut().flatten() {
            file.clone_into(&mut diagnostic.file);
        }
    }

    fn count(&self, key: &Key) -> usize {
        self.groups.get(key).map_or(0, Vec::len)
    }

    fn has_with_other_severity(&self, key: &Key) -> bool {
        self.groups.keys().any(|other| other.differs_by_severity(key))
    }
}

/// What `now` has more of than `known`, and what it has less of. What has another severity now is new, and not fixed.
pub(super) fn diff(
    known: &Counted,
    now: &Counted,
    fresh: Option<&FreshLines>,
) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let mut new = Vec::new();
    for (key, group) in &now.groups {
        let more = group.len().saturating_sub(known.count(key));
        new.extend(newest(group, more, fresh));
    }
    let mut fixed = Vec::new();
    for (key, group) in &known.groups {
        let less = group.len().saturating_sub(now.count(key));
        if less > 0 && !now.has_with_other_severity(key) {
            fixed.extend(group.iter().take(less).cloned());
        }
    }
    (new, fixed)
}

/// The `count` of equal diagnostics that the write made most likely: those on lines that it made, else the last.
fn newest(group: &[Diagnostic], count: usize, fresh: Option<&FreshLines>) -> Vec<Diagnostic> {
    let on_fresh = |found: &Diagnostic| fresh.is_some_and(|fresh| fresh.contains(found.line));
    let mut ordered: Vec<&Diagnostic> = group.iter().collect();
    ordered.sort_by_key(|found| (on_fresh(found), found.line, found.column));
    ordered.into_iter().rev().take(count).cloned().collect()
}

/// Without what rust-analyzer found by itself where rustc says the same: equal codes on overlapping lines.
pub(super) fn without_shadows(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let is_from = |found: &Diagnostic, source: &str| found.source.as_deref() == Some(source);
    let compiler: Vec<(Option<String>, usize, usize)> = diagnostics
        .iter()
        .filter(|found| is_from(found, COMPILER))
        .map(|found| (found.code.clone(), found.line, found.end_line))
        .collect();
    let shadowed = |found: &Diagnostic| {
        is_from(found, NATIVE)
            && compiler.iter().any(|(code, line, end)| {
                found.code.is_some()
                    && *code == found.code
                    && *line <= found.end_line
                    && found.line <= *end
            })
    };
    diagnostics.into_iter().filter(|found| !shadowed(found)).collect()
}
