//! Snapshots as multisets, and the difference of two.

use std::collections::BTreeMap;

use super::{fresh::FreshLines, key::Key};
use crate::diagnostic::{Diagnostic, Severity};

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

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.groups.keys()
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
    fresh: &FreshLines,
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

/// A name that a write gave a symbol everywhere.
#[derive(Debug, Clone)]
pub(super) struct Renaming {
    pub(super) old: String,
    pub(super) new: String,
}

/// Without what is gone with an old name in its message and there with the new one.
pub(super) fn without_renamed(
    new: Vec<Diagnostic>,
    mut fixed: Vec<Diagnostic>,
    names: &[Renaming],
) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let mut new: Vec<(Key, Diagnostic)> =
        new.into_iter().map(|found| (Key::of(&found), found)).collect();
    if !names.is_empty() {
        fixed.retain(|gone| {
            let message = |text: String, name: &Renaming| name.put_into(&text);
            let message = names.iter().fold(gone.message.clone(), message);
            let key = Key::of(&Diagnostic { message, ..gone.clone() });
            // The first of equal ones is most likely made by the write.
            let same = new.iter().rposition(|(new, _)| *new == key);
            same.map(|same| new.remove(same)).is_none()
        });
    }
    (new.into_iter().map(|(_, found)| found).collect(), fixed)
}

impl Renaming {
    /// A text with the new name where the old one stands as a word.
    fn put_into(&self, text: &str) -> String {
        let in_word = |found: Option<char>| found.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for (at, old) in text.match_indices(&self.old) {
            let (before, after) = (&text[..at], &text[at + old.len()..]);
            if !in_word(before.chars().next_back()) && !in_word(after.chars().next()) {
                out.push_str(&text[end..at]);
                out.push_str(&self.new);
                end = at + old.len();
            }
        }
        out.push_str(&text[end..]);
        out
    }
}

/// The `count` of equal diagnostics that the write made most likely: those on lines that it made, else the last.
fn newest(group: &[Diagnostic], count: usize, fresh: &FreshLines) -> Vec<Diagnostic> {
    let on_fresh = |found: &Diagnostic| fresh.contains(found.line);
    let mut ordered: Vec<&Diagnostic> = group.iter().collect();
    ordered.sort_by_key(|found| (on_fresh(found), found.line, found.column));
    ordered.into_iter().rev().take(count).cloned().collect()
}

/// Without what rust-analyzer found by itself where rustc says the same: equal codes on overlapping lines, or
/// another of rustc's codes beside an error of rustc. It has fewer codes, and calls a missing argument E0107.
pub(crate) fn without_shadows(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let is_from = |found: &Diagnostic, source: &str| found.source.as_deref() == Some(source);
    let is_error = |found: &Diagnostic| {
        found.severity == Severity::Error && found.code.as_deref().is_some_and(is_code_of_rustc)
    };
    let says_so = |found: &Diagnostic, compiler: &Diagnostic| {
        let same_code = found.code.is_some() && found.code == compiler.code;
        let same_lines = compiler.line <= found.end_line && found.line <= compiler.end_line;
        same_lines && (same_code || is_error(found) && is_error(compiler))
    };
    let (compiler, others): (Vec<_>, Vec<_>) =
        diagnostics.into_iter().partition(|found| is_from(found, COMPILER));
    let native = |found: &Diagnostic| {
        is_from(found, NATIVE) && compiler.iter().any(|compiler| says_so(found, compiler))
    };
    let others: Vec<_> = others.into_iter().filter(|found| !native(found)).collect();
    compiler.into_iter().chain(others).collect()
}

/// `E0061`
fn is_code_of_rustc(code: &str) -> bool {
    code.strip_prefix('E').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
