//! A line-based language that the fake really understands, so that a test of diagnostics or rename
//! scripts no positions.

mod answers;
mod diagnose;
mod rename;
pub(crate) mod respond;
mod switches;
mod words;
mod world;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Spelling;

pub use self::switches::{
    Columns, Diagnostics, Disk, EditVersions, Form, FromUse, Indexing, Others, Partial, Rename,
    Repeats, Says, Trigger, Versions,
};
pub(crate) use self::world::{World, spelled};

/// The switches of the toy server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toy {
    /// How diagnostics reach the client.
    pub diagnostics: Diagnostics,
    /// What makes it look again, where it publishes.
    pub trigger: Trigger,
    /// Whether publishes carry the document's version.
    pub versions: Versions,
    /// Milliseconds of quiet before it publishes; on save, the time that the check takes.
    pub settle_ms: u64,
    /// A first, incomplete publish.
    pub partial: Option<Partial>,
    /// Which other files are published again.
    pub others: Others,
    /// Whether an unchanged list is published again.
    pub repeats: Repeats,
    /// The token of the progress around a check on save (rust-analyzer: `rust-analyzer/flycheck/0`).
    pub check_token: Option<String>,
    /// Where the text of a file that is not open comes from.
    pub disk: Disk,
    /// The time in which only open files are known.
    pub indexing: Option<Indexing>,
    /// How it renames.
    pub rename: Rename,
    /// What columns really count.
    pub columns: Columns,
    /// How it spells URIs.
    pub spelling: Spelling,
    /// The extensions of its files, without the dot.
    pub extensions: Vec<String>,
}

impl Default for Toy {
    fn default() -> Self {
        Self {
            diagnostics: Diagnostics::default(),
            trigger: Trigger::default(),
            versions: Versions::default(),
            settle_ms: 0,
            partial: None,
            others: Others::default(),
            repeats: Repeats::default(),
            check_token: None,
            disk: Disk::default(),
            indexing: None,
            rename: Rename::default(),
            columns: Columns::default(),
            spelling: Spelling::default(),
            extensions: vec!["toy".to_owned()],
        }
    }
}

impl Toy {
    /// Pushes on each change, with versions.
    #[must_use]
    pub fn push() -> Self {
        Self::default()
    }

    /// Is asked for diagnostics.
    #[must_use]
    pub fn pull() -> Self {
        Self { diagnostics: Diagnostics::Pull, ..Self::default() }
    }

    /// Registers `textDocument/diagnostic` so many milliseconds after `initialized`.
    #[must_use]
    pub fn late_pull(ms: u64) -> Self {
        Self { diagnostics: Diagnostics::LatePull(ms), ..Self::default() }
    }

    /// Has no diagnostics.
    #[must_use]
    pub fn without_diagnostics() -> Self {
        Self { diagnostics: Diagnostics::Off, ..Self::default() }
    }

    /// Checks on save, which takes `ms`, with a progress around it.
    #[must_use]
    pub fn checks_on_save(ms: u64, token: &str) -> Self {
        let check_token = Some(token.to_owned());
        let (trigger, others) = (Trigger::Save, Others::All);
        Self { trigger, others, settle_ms: ms, check_token, ..Self::default() }
    }

    /// Publishes without versions.
    #[must_use]
    pub fn unversioned(self) -> Self {
        Self { versions: Versions::Absent, ..self }
    }

    /// Publishes after so many milliseconds of quiet.
    #[must_use]
    pub fn settling(self, ms: u64) -> Self {
        Self { settle_ms: ms, ..self }
    }

    /// Publishes the first few, and `ms` later all.
    #[must_use]
    pub fn partly(self, first: usize, ms: u64) -> Self {
        Self { partial: Some(Partial { first, ms }), ..self }
    }

    /// Sets which other files are published again.
    #[must_use]
    pub fn others(self, others: Others) -> Self {
        Self { others, ..self }
    }

    /// Publishes no list twice.
    #[must_use]
    pub fn without_repeats(self) -> Self {
        Self { repeats: Repeats::Never, ..self }
    }

    /// Knows of the disk what it is told.
    #[must_use]
    pub fn watched(self) -> Self {
        Self { disk: Disk::Watched, ..self }
    }

    /// Knows only open files for so many milliseconds, and says so.
    #[must_use]
    pub fn indexing(self, ms: u64, says: impl IntoIterator<Item = Says>) -> Self {
        let indexing = Indexing { ms, says: says.into_iter().collect() };
        Self { indexing: Some(indexing), ..self }
    }

    /// Sets how it renames.
    #[must_use]
    pub fn rename(self, rename: Rename) -> Self {
        Self { rename, ..self }
    }

    /// Counts code points, whatever was agreed on.
    #[must_use]
    pub fn code_points(self) -> Self {
        Self { columns: Columns::CodePoints, ..self }
    }

    /// Sets how it spells URIs.
    #[must_use]
    pub fn spelling(self, spelling: Spelling) -> Self {
        Self { spelling, ..self }
    }

    /// Sets the extensions of its files.
    #[must_use]
    pub fn extensions<'a>(self, extensions: impl IntoIterator<Item = &'a str>) -> Self {
        Self { extensions: extensions.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// Whether it publishes to this client.
    pub(crate) fn pushes(&self, client: &Value) -> bool {
        match self.diagnostics {
            Diagnostics::Push => true,
            Diagnostics::LatePull(_) => !takes_registration(client),
            Diagnostics::Pull | Diagnostics::Off => false,
        }
    }
}

/// What `initialize` is answered with.
pub(crate) fn capabilities(toy: &Toy, client: &Value) -> Value {
    let mut capabilities = json!({
        "textDocumentSync": {"openClose": true, "change": 1, "save": {"includeText": false}},
        "hoverProvider": true,
        "definitionProvider": true,
        "typeDefinitionProvider": true,
        "implementationProvider": true,
        "referencesProvider": true,
        "documentSymbolProvider": true,
        "workspaceSymbolProvider": true,
        "codeActionProvider": true,
        "renameProvider": {"prepareProvider": true},
    });
    if toy.diagnostics == Diagnostics::Pull {
        capabilities["diagnosticProvider"] = pull_options();
    }
    let listens = client.pointer("/textDocument/rename/prepareSupport");
    if listens != Some(&Value::Bool(true)) {
        capabilities["renameProvider"] = true.into();
    }
    capabilities
}

fn pull_options() -> Value {
    json!({"identifier": "toy", "interFileDependencies": true, "workspaceDiagnostics": true})
}

fn takes_registration(client: &Value) -> bool {
    client.pointer("/textDocument/diagnostic/dynamicRegistration") == Some(&Value::Bool(true))
}
