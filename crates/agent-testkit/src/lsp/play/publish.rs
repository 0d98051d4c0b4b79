//! Diagnostics on their way out.

use serde_json::{Value, json};

use super::Play;
use crate::lsp::{Repeats, Version, own, path_of, toy::spelled};

impl Play {
    pub(super) fn version(&self, version: Version, synced: Option<i64>) -> Option<i64> {
        match version {
            Version::Synced => synced,
            Version::Message => self.message.params["textDocument"]["version"].as_i64(),
            Version::Older => synced.map(|version| version - 1),
            Version::Absent => None,
            Version::Given(version) => Some(version),
        }
    }

    pub(super) fn publish(&self, uri: &str, version: Option<i64>, diagnostics: &[Value]) {
        let mut params = json!({"uri": uri, "diagnostics": diagnostics});
        if let Some(version) = version {
            params["version"] = version.into();
        }
        self.notify("textDocument/publishDiagnostics", &params);
    }

    /// The version is that of the text which was looked at.
    pub(super) fn publish_toy(
        &self,
        uri: &str,
        version: Version,
        first: Option<usize>,
        repeats: Repeats,
    ) {
        let Some(toy) = &self.server.script.toy else { return };
        let (synced, uri, found) = {
            let mut state = self.server.state();
            let shown = spelled(&state, toy, &path_of(uri));
            (state.synced(uri), shown, own::to_publish(&mut state, toy, uri, first, repeats))
        };
        if let Some(found) = found {
            self.publish(&uri, self.version(version, synced), &found);
        }
    }

    pub(super) fn check(&self) {
        let Some(toy) = &self.server.script.toy else { return };
        let _turn = self.server.publishing();
        let own = self.message.params["textDocument"]["uri"].as_str();
        let uris = own::to_check(&self.server.state(), toy, own);
        for (uri, repeats) in uris {
            self.publish_toy(&uri, toy.version(), None, repeats);
        }
    }
}
