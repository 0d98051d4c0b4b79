//! What placeholders stand for.

use serde_json::Value;

use super::Play;
use crate::lsp::{Raw, Step, template};

impl Play {
    /// The file that is meant: the given one, the message's, else the root.
    pub(super) fn uri(&self, given: Option<String>) -> String {
        let own = || self.message.params["textDocument"]["uri"].as_str().map(str::to_owned);
        let root = || self.server.state().root_uri.as_str().unwrap_or_default().to_owned();
        given.or_else(own).unwrap_or_else(root)
    }

    pub(super) fn syncs(&self) -> u64 {
        let uri = self.uri(None);
        self.server.state().documents.syncs(&uri)
    }

    /// The step with its placeholders filled, by way of its JSON, so that no kind is forgotten.
    pub(super) fn filled(&self, step: Step) -> Step {
        let value = |name: &str| self.value(name);
        let filled = match &step {
            // Only text holds placeholders, and bytes are many.
            Step::Write(Raw::Text(text)) => {
                return Step::Write(Raw::Text(template::shown(&template::fill_text(text, &value))));
            }
            other => serde_json::to_value(other).map(|json| template::fill(&json, &value)),
        };
        filled.and_then(serde_json::from_value).unwrap_or(step)
    }

    fn value(&self, name: &str) -> Option<Value> {
        if name.starts_with('/') {
            return Some(self.message.params.pointer(name).cloned().unwrap_or_default());
        }
        if let Some(pointer) = name.strip_prefix("answer") {
            return Some(self.answer.pointer(pointer).cloned().unwrap_or_default());
        }
        let id = || self.message.id.clone().unwrap_or_default();
        match name {
            "id" => Some(id()),
            "id_text" => Some(id().to_string().into()),
            "method" => Some(self.message.method.clone().into()),
            "uri" => Some(self.uri(None).into()),
            "root" => Some(self.server.state().root_uri.clone()),
            "version" => {
                let synced = self.server.state().synced(&self.uri(None));
                Some(synced.map_or(Value::Null, Value::from))
            }
            _ => None,
        }
    }
}
