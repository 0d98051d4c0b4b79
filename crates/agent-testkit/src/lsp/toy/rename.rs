//! Rename in the toy.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{EditVersions, Form, FromUse, Rename, World, words::Role, world::Source};

impl World {
    /// A workspace edit, or `null` where no word is. Any new name will do, as with most servers.
    pub(super) fn rename(&self, params: &Value, how: Rename) -> Value {
        let Some((file, at)) = self.word_at(params, &params["position"]) else {
            return Value::Null;
        };
        let everywhere = how.from_use == FromUse::Everywhere || at.role != Role::Use;
        let mut edits: BTreeMap<&str, (&Source, Vec<Value>)> = BTreeMap::new();
        for (source, word) in self.words() {
            if word.name == at.name && (everywhere || source.uri == file.uri) {
                let range = self.word_range(source, word);
                let edit = json!({"range": range, "newText": params["newName"]});
                edits.entry(&source.uri).or_insert((source, Vec::new())).1.push(edit);
            }
        }
        match how.form {
            Form::Changes => {
                let changes =
                    edits.into_iter().map(|(uri, (_, edits))| (uri.to_owned(), json!(edits)));
                json!({"changes": Value::Object(changes.collect())})
            }
            Form::DocumentChanges => {
                let changes = edits.into_iter().map(|(uri, (source, edits))| {
                    let version = version(source, how.versions);
                    json!({"textDocument": {"uri": uri, "version": version}, "edits": edits})
                });
                json!({"documentChanges": changes.collect::<Vec<_>>()})
            }
        }
    }
}

fn version(source: &Source, how: EditVersions) -> Value {
    match how {
        EditVersions::Synced => json!(source.version),
        EditVersions::Null => Value::Null,
        EditVersions::Zero => json!(0),
        EditVersions::Older => json!(source.version.map(|version| version - 1)),
    }
}
