//! Modules that tsserver goes on missing: where a file was missed while it was opened, its importer misses it for good, until the
//! projects are loaded anew.

use std::{collections::HashMap, path::Path, time::Instant};

use agent_workspace::WorkspacePath;
use serde_json::{Value, json};

use super::Client;

/// What loads all projects anew.
const RELOAD: &str = "reloadProjects";

/// The codes of a module that is not there, or is not there under this name.
const MISSES: [u64; 5] = [2307, 2792, 2834, 2835, 7016];

/// The file that stands for its folder.
const INDEX: &str = "index";

/// The names of files that were made, by which others import them.
#[derive(Debug, Default)]
pub(super) struct Made {
    names: HashMap<String, u64>,
    count: u64,
}

impl Made {
    pub(super) fn add(&mut self, file: &Path) {
        self.count += 1;
        let folder = file.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let name = match stem(file.file_name().and_then(|name| name.to_str()).unwrap_or_default()) {
            INDEX => folder.unwrap_or(INDEX),
            name => name,
        };
        self.names.insert(name.to_owned(), self.count);
    }

    /// Whether a diagnostic misses one that was made when more than so many were.
    fn is_missed_by(&self, found: &Value, loaded: u64) -> bool {
        if !found["code"].as_u64().is_some_and(|code| MISSES.contains(&code)) {
            return false;
        }
        let message = found["message"].as_str().unwrap_or_default();
        let quoted = message.split(['\'', '"']).skip(1).step_by(2);
        let mut names = quoted.map(|quoted| stem(quoted.rsplit('/').next().unwrap_or_default()));
        names.any(|name| self.names.get(name).is_some_and(|made| *made > loaded))
    }
}

impl Client {
    /// How many files had been made when tsserver loaded its projects last.
    pub(in crate::server) async fn projects_loaded(&self) -> u64 {
        *self.loaded.lock().await
    }

    /// Has tsserver load its projects anew where these diagnostics miss a file that was made since; whether it has done so since
    /// `loaded`, and these are out of date.
    ///
    /// # Errors
    /// Why it did not, and they may be out of date.
    pub(in crate::server) async fn loads_what_is_missed(
        &self,
        found: &[Value],
        loaded: u64,
        deadline: Instant,
    ) -> Result<bool, String> {
        let missed = |loaded| {
            let tsserver = self.tsserver();
            let is_missed = found.iter().any(|one| tsserver.made.is_missed_by(one, loaded));
            is_missed.then_some(tsserver.made.count)
        };
        if missed(loaded).is_none() {
            return Ok(false);
        }
        let mut now = self.loaded.lock().await;
        if let Some(made) = missed(*now) {
            match self.ask_tsserver(RELOAD, json!({}), deadline).await {
                Some(Ok(_)) => *now = made,
                _ => {
                    let why = "tsserver may have missed a file that was made, and did not load its projects anew";
                    return Err(why.to_owned());
                }
            }
        }
        Ok(*now > loaded)
    }

    /// Takes note of a file that was made.
    pub(super) fn tsserver_may_miss(&self, file: &WorkspacePath) {
        self.tsserver().made.add(file.rel());
    }
}

/// A file's name up to its first dot.
fn stem(name: &str) -> &str {
    name.split('.').find(|part| !part.is_empty()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::Made;

    #[test]
    fn a_file_is_missed_by_the_name_that_it_is_imported_by() {
        let mut made = Made::default();
        made.add(Path::new("src/later.ts"));
        made.add(Path::new("src/parts/index.tsx"));
        let misses = |code: u64, specifier: &str, loaded| {
            let message = format!("Cannot find module '{specifier}' or its types.");
            made.is_missed_by(&json!({ "code": code, "message": message }), loaded)
        };
        for specifier in ["./later", "../src/later.js", "@/later", "./parts"] {
            assert!(misses(2307, specifier, 0), "{specifier}");
        }
        assert!(!misses(2307, "./other", 0) && !misses(2307, "later-on", 0));
        assert!(!misses(2322, "./later", 0));
        // What was made before the projects were loaded is no reason any more.
        assert!(!misses(2307, "./later", 1) && misses(2307, "./parts", 1));
    }
}
