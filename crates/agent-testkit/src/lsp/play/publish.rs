//! Diagnostics on their way out.

use serde_json::{Value, json};

use super::Play;
use crate::lsp::{
    Repeats, Version, own, path_of,
    state::State,
    toy::{World, spelled},
};

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

    /// Publishes what the toy finds in one file.
    pub(super) fn publish_toy(&self, uri: &str, version: Version, first: Option<usize>) {
        let Some(toy) = &self.server.script.toy else { return };
        self.look_and_publish(version, first, |_, _| vec![(uri.to_owned(), toy.repeats)]);
    }

    /// Publishes what the toy finds in the files that its switches name.
    pub(super) fn check(&self) {
        let Some(toy) = &self.server.script.toy else { return };
        let own = self.message.params["textDocument"]["uri"].as_str();
        let named = |state: &State, world: &World| own::to_check(state, toy, world, own);
        self.look_and_publish(toy.version(), None, named);
    }

    /// Versions are those of the texts that were looked at, and what is published last was seen last.
    fn look_and_publish(
        &self,
        version: Version,
        first: Option<usize>,
        files: impl Fn(&State, &World) -> Vec<(String, Repeats)>,
    ) {
        let Some(toy) = &self.server.script.toy else { return };
        let _turn = self.server.publishing();
        let mut found = Vec::new();
        {
            let mut state = self.server.state();
            let world = World::checked(&state, toy);
            for (uri, repeats) in files(&state, &world) {
                let diagnostics = own::to_publish(&mut state, &world, &uri, first, repeats);
                let shown = spelled(&state, toy, &path_of(&uri));
                found.extend(diagnostics.map(|list| (shown, state.synced(&uri), list)));
            }
        }
        for (uri, synced, diagnostics) in found {
            self.publish(&uri, self.version(version, synced), &diagnostics);
        }
    }
}
