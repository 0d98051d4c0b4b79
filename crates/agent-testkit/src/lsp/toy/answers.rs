//! The results of the toy's requests.

use serde_json::{Value, json};

use super::{
    World,
    words::{Role, Word},
    world::Source,
};

/// LSP `SymbolKind.Function`.
const FUNCTION: u8 = 12;

impl World {
    pub(super) fn locations<'a>(
        &self,
        words: impl Iterator<Item = (&'a Source, &'a Word)>,
    ) -> Value {
        words.map(|word| self.location(word)).collect()
    }

    /// The definition's line, and the comments above it.
    pub(super) fn hover(&self, word: &Word) -> Value {
        let Some((source, definition)) = self.definitions(&word.name).next() else {
            return Value::Null;
        };
        let mut value = format!("```toy\n{}\n```", source.lines[definition.line].trim());
        let above = source.lines[..definition.line].iter().rev();
        let comments: Vec<&str> =
            above.map_while(|line| line.trim().strip_prefix('#')).map(str::trim).collect();
        for comment in comments.iter().rev() {
            value += &format!("\n\n{comment}");
        }
        json!({"contents": {"kind": "markdown", "value": value}})
    }

    pub(super) fn document_symbols(&self, uri: &str) -> Value {
        let Some(source) = self.source(uri) else { return json!([]) };
        let symbol = |word: &Word| {
            let range = self.range(source, word.line, 0, source.lines[word.line].len());
            let selection = self.word_range(source, word);
            json!({
                "name": word.name, "kind": FUNCTION, "range": range, "selectionRange": selection,
            })
        };
        let definitions =
            source.words.iter().filter(|word| matches!(word.role, Role::Definition(_)));
        definitions.map(symbol).collect()
    }

    pub(super) fn symbols(&self, query: &str) -> Value {
        let query = query.to_lowercase();
        let fits = |word: &Word| {
            matches!(word.role, Role::Definition(_)) && word.name.to_lowercase().contains(&query)
        };
        let symbol = |(source, word): (&Source, &Word)| {
            let location = self.location((source, word));
            json!({"name": word.name, "kind": FUNCTION, "location": location})
        };
        self.words().filter(|(_, word)| fits(word)).map(symbol).collect()
    }

    /// One quick fix where an undefined word is: a definition at the file's end.
    pub(super) fn actions(&self, params: &Value) -> Value {
        let Some((source, word)) = self.word_at(params, &params["range"]["start"]) else {
            return json!([]);
        };
        if !self.undefined(source).any(|undefined| undefined == word) {
            return json!([]);
        }
        let last = source.lines.len() - 1;
        let end = self.range(source, last, source.lines[last].len(), source.lines[last].len());
        let edit = json!({"range": end, "newText": format!("\ndef {}", word.name)});
        json!([{
            "title": format!("define `{}`", word.name), "kind": "quickfix",
            "edit": {"changes": {source.uri.as_str(): [edit]}},
        }])
    }

    /// A full report, or that nothing changed. While it reads the project it finds nothing.
    pub(super) fn report(&self, uri: &str, previous: &Value) -> Value {
        let items = if self.ready { self.diagnostics(uri) } else { Vec::new() };
        let id = json!(items).to_string();
        if *previous == id {
            return json!({"kind": "unchanged", "resultId": id});
        }
        json!({"kind": "full", "resultId": id, "items": items})
    }

    pub(super) fn reports(&self) -> Value {
        let report = |source: &Source| {
            let mut report = self.report(&source.uri, &Value::Null);
            report["uri"] = source.uri.clone().into();
            report["version"] = json!(source.version);
            report
        };
        json!({"items": self.sources().map(report).collect::<Vec<_>>()})
    }
}
