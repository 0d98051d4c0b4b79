//! Which servers there are: data, typed. The rows are in `servers.toml`; a user's own file may change and add some.

mod error;
mod merge;
mod wait;

use std::{collections::BTreeMap, ffi::OsStr, path::Path};

use serde::Deserialize;
use serde_json::Value;

use crate::{checks::CheckKind, roots::WorkspaceKind};

pub use error::{TableError, TableErrorKind};
pub use wait::{Check, LeavesOut, Ready, Rebuild, Starts, Wait};

const BUNDLED: &str = include_str!("../servers.toml");

/// The servers that are known, in the order in which they are asked: by priority, then by id.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerTable {
    servers: Vec<Server>,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Server {
    /// The name that status and errors use.
    pub id: String,
    /// The program, and other names that it goes by; the first that is found is taken.
    pub programs: Vec<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// A command that must end with 0 before the server counts as there: `rust-analyzer` is found where the component is not
    /// installed, and cannot run. Empty for servers that know no such command. Its first word is looked for beside the
    /// program.
    #[serde(default)]
    pub probe: Vec<String>,
    /// The least version that the probe must print, where an older program of the same name is something else.
    #[serde(default)]
    pub min_version: Option<String>,
    /// For each language id of the protocol the names of its files: `*.rs`, or a whole name.
    pub languages: BTreeMap<String, Vec<String>>,
    /// Names of files that make a folder a root: whole, or `*.csproj`.
    pub roots: Vec<String>,
    /// Which declared workspaces a root is lifted to.
    #[serde(default)]
    pub workspaces: Vec<WorkspaceKind>,
    /// Full, or a linter that is asked beside a full one.
    #[serde(default)]
    pub role: Role,
    /// Among the full servers of one language the lowest comes first; no two of them have the same.
    pub priority: u32,
    /// When its answers are whole.
    #[serde(default)]
    pub ready: Ready,
    /// A part of what it logs once it knows the project's files, where it answers of those that it knows until then and
    /// nothing else shows it.
    #[serde(default)]
    pub logs_when_ready: Option<String>,
    /// How it says that it could not read the project, where what it published until then is of nothing.
    #[serde(default)]
    pub unloaded: Option<Unloaded>,
    /// How long it takes to read a file that it was told of as changed, where it answers from the old text until
    /// then; 0 where it reads first and answers then.
    #[serde(default)]
    pub rereads_ms: u64,
    /// Files by which it knows those that were never opened, in a folder above them: without any it answers of what is
    /// open alone, and says nothing of that. Empty where it finds the files by itself.
    #[serde(default)]
    pub knows_by: Vec<String>,
    /// Files that configure it, in its root or a folder above; its markers where it does not say.
    #[serde(default)]
    pub configured_by: Option<Vec<String>>,
    /// What it does when one of them changes.
    #[serde(default)]
    pub reconfigures: Reconfigures,
    /// How its diagnostics come.
    pub wait: Wait,
    /// Who looks at the files that a change of another file may break.
    #[serde(default)]
    pub users: Users,
    /// The files whose change others see, by patterns; empty for all.
    #[serde(default)]
    pub used: Vec<String>,
    /// The project check that belongs to it, for `diagnostics "*"`.
    #[serde(default)]
    pub check: Option<CheckKind>,
    /// What it is answered when it asks for its configuration: an object with a field for each section.
    #[serde(default)]
    pub settings: Value,
    /// What replaces parts of the settings in an untrusted checkout, so that none of its code runs (TRUST-02).
    #[serde(default)]
    pub untrusted_settings: Value,
    /// Files and folders that make it run what a checkout names, whatever its settings are: in an untrusted
    /// checkout that has one of these at the server's root or above, it is not started.
    #[serde(default)]
    pub untrusted_without: Vec<Naming>,
    /// The section of the settings that it takes as its initialization options.
    #[serde(default)]
    pub initialization_section: Option<String>,
    /// How a person gets it.
    pub install: String,
    /// Whether a run in CI has met it.
    #[serde(default)]
    pub met_in_ci: bool,
    /// False where the row rests on documentation alone: no such server was run.
    #[serde(default = "yes")]
    pub measured: bool,
}

/// A file of a checkout that names what is run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
#[non_exhaustive]
pub enum Naming {
    /// By being there. `*.x` is any name that ends so.
    There(String),
    /// By one of these texts in it. A file that cannot be read, or is long, counts as if it had one.
    With {
        /// The file.
        file: String,
        /// The texts.
        with: Vec<String>,
    },
    /// By having something else in it than what is known to be harmless. A file that cannot be read has.
    Other {
        /// The file.
        file: String,
        /// What is harmless.
        other_than: Known,
    },
}

/// What a file may hold without harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Known {
    /// The name of a channel of rustup, by itself or as TOML, with its components, targets and profile.
    RustupChannel,
}

/// How a server says that it could not read the project. It logs that before it publishes anything, and shows it for as long
/// as it is so a little later.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Unloaded {
    /// A part of what it logs.
    pub logs: String,
    /// The title of the progress that runs then.
    pub shows: String,
}

/// What a server does when it is told that its configuration is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reconfigures {
    /// It reads it before it answers.
    #[default]
    AtOnce,
    /// It answers by the one from before until it logs once more that it knows the project's files.
    LogsAgain,
    /// It keeps the one from before for what is open: it is started anew.
    Restart,
}

/// What a server is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It knows definitions, references and types.
    #[default]
    Full,
    /// It has diagnostics and fixes alone.
    Linter,
}

/// Who looks at the files that name what another file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Users {
    /// Nobody, unless they are open in the server: they are opened for it.
    #[default]
    Opened,
    /// The server itself, opened or not.
    Itself,
    /// Nobody has to: no file of its languages breaks by another.
    None,
}

impl ServerTable {
    /// The rows that this crate brings.
    ///
    /// # Panics
    /// Never: a test reads the same text.
    #[must_use]
    #[expect(clippy::expect_used, reason = "the text is part of the crate and is tested")]
    pub fn bundled() -> Self {
        Self::of_rows(merge::rows(BUNDLED).expect("servers.toml is TOML"))
            .expect("its rows are complete")
    }

    /// The table with the rows of a user's own configuration: one with a known id changes that row key by key, one with
    /// another id is added, and `disabled = true` takes a row away.
    ///
    /// The text names programs and settings that are commands, so it must never come from a checkout (TRUST-03).
    ///
    /// # Errors
    /// When it is no TOML, a row has no id, an unknown key or too few keys, or two full servers of a language have the same
    /// priority.
    pub fn with_user_rows(user: &str) -> Result<Self, TableError> {
        Self::of_rows(merge::merged(merge::rows(BUNDLED)?, merge::rows(user)?)?)
    }

    /// The rows.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The row with this id.
    #[must_use]
    pub fn by_id(&self, id: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.id == id)
    }

    /// The servers for a file, each with the language id that it is told, full ones before linters, in the order in which
    /// they are tried.
    #[must_use]
    pub fn for_path(&self, path: &Path) -> Vec<(&Server, &str)> {
        let mut found: Vec<_> = self
            .servers
            .iter()
            .filter_map(|server| Some((server, server.language_of(path)?)))
            .collect();
        // Stable: within a role the order is the table's.
        found.sort_by_key(|(server, _)| server.role);
        found
    }

    fn of_rows(rows: Vec<toml::Table>) -> Result<Self, TableError> {
        let mut servers = Vec::with_capacity(rows.len());
        for row in rows {
            let id = merge::id(&row)?.to_owned();
            let server: Server = row.try_into().map_err(|error| TableError::row(&id, &error))?;
            server.check()?;
            servers.push(server);
        }
        servers.sort_by(|a, b| (a.priority, &a.id).cmp(&(b.priority, &b.id)));
        refuse_same_priority(&servers)?;
        Ok(Self { servers })
    }
}

impl Server {
    /// The names of the files that configure it.
    #[must_use]
    pub fn configuration(&self) -> &[String] {
        self.configured_by.as_ref().unwrap_or(&self.roots)
    }

    /// Whether others may break by a change of a file, by its name.
    #[must_use]
    pub fn is_used(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        self.used.is_empty() || self.used.iter().any(|pattern| matches(pattern, name))
    }

    /// The language id of a file; `None` when the server does not take it.
    #[must_use]
    pub fn language_of(&self, path: &Path) -> Option<&str> {
        let name = path.file_name().and_then(OsStr::to_str)?;
        let takes = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        let exact = self.languages.iter().find(|(_, patterns)| takes(patterns));
        let lowered = name.to_ascii_lowercase();
        let takes_lowered =
            |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, &lowered));
        // An exact hit first: `.C` is C++ and `.c` is C.
        exact
            .or_else(|| self.languages.iter().find(|(_, patterns)| takes_lowered(patterns)))
            .map(|(id, _)| id.as_str())
    }

    /// The settings for a checkout that is, or is not, trusted.
    #[must_use]
    pub fn settings_for(&self, trust: Trust) -> Value {
        let mut settings = self.settings.clone();
        if trust == Trust::Untrusted {
            overlay(&mut settings, &self.untrusted_settings);
        }
        settings
    }

    fn check(&self) -> Result<(), TableError> {
        let empty = [
            ("programs", self.programs.is_empty()),
            ("languages", self.languages.values().all(Vec::is_empty)),
            ("roots", self.roots.is_empty()),
            ("install", self.install.is_empty()),
        ];
        match empty.iter().find(|(_, empty)| *empty) {
            Some((key, _)) => Err(TableError::empty(&self.id, key)),
            None => Ok(()),
        }
    }
}

/// Whether the checkout's own code may run; a value that the host hands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Its person said so.
    Trusted,
    /// Nobody said so.
    Untrusted,
}

/// `*.rs` takes every name that ends so, anything else the name itself.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(ending) => name.len() > ending.len() && name.ends_with(ending),
        None => name == pattern,
    }
}

/// Puts the fields of one value over those of another.
fn overlay(under: &mut Value, over: &Value) {
    match (under, over) {
        (_, Value::Null) => {}
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                overlay(under.entry(key).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

fn refuse_same_priority(servers: &[Server]) -> Result<(), TableError> {
    let mut taken: BTreeMap<(&str, u32), &str> = BTreeMap::new();
    for server in servers.iter().filter(|server| server.role == Role::Full) {
        for language in server.languages.keys() {
            if let Some(other) = taken.insert((language, server.priority), &server.id) {
                return Err(TableError::same_priority(language, other, &server.id));
            }
        }
    }
    Ok(())
}

fn yes() -> bool {
    true
}
