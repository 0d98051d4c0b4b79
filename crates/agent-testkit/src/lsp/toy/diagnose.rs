//! Errors and warnings of the toy.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    World,
    words::{Role, Word},
    world::Source,
};

/// The code of a use of a name that nothing defines.
const UNDEFINED: &str = "E1";
/// The code of a line that warns.
const WARNING: &str = "W1";

impl World {
    /// The diagnostics of a file in the order of its lines.
    pub(crate) fn diagnostics(&self, uri: &str) -> Vec<Value> {
        let Some(source) = self.source(uri) else { return Vec::new() };
        let errors = self.undefined(source).map(|word| {
            let range = self.word_range(source, word);
            (word.line, word.start, self.diagnostic(range, 1, UNDEFINED, &message(word)))
        });
        let warnings = source.warnings.iter().map(|warning| {
            let range = self.range(source, warning.line, warning.start, warning.end);
            (warning.line, warning.start, self.diagnostic(range, 2, WARNING, &warning.text))
        });
        let mut found: Vec<_> = errors.chain(warnings).collect();
        found.sort_by_key(|(line, start, _)| (*line, *start));
        found.into_iter().map(|(_, _, diagnostic)| diagnostic).collect()
    }

    /// The words of a file that nothing defines.
    pub(super) fn undefined<'a>(&self, source: &'a Source) -> impl Iterator<Item = &'a Word> {
        let defined: BTreeSet<String> = self
            .words()
            .filter(|(_, word)| matches!(word.role, Role::Definition(_)))
            .map(|(_, word)| word.name.clone())
            .collect();
        source
            .words
            .iter()
            .filter(move |word| word.role == Role::Use && !defined.contains(&word.name))
    }

    fn diagnostic(&self, range: Value, severity: u8, code: &str, message: &str) -> Value {
        json!({
            "range": range, "severity": severity, "code": code, "source": "toy", "message": message,
        })
    }
}

fn message(word: &Word) -> String {
    format!("undefined name {}", word.name)
}
