//! The answers of the queries as data: what `--json` prints.

use serde::{Deserialize, Serialize};

/// How far an answer can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Evidence {
    /// The server was ready and had the text that the file has.
    Confirmed,
    /// The server still reads the project; what it named is so, what it did not name may be.
    StillIndexing,
    /// Some of the servers, or some of the files, did not answer.
    Partial,
    /// The answer did not come in time.
    TimedOut,
    /// The server ended before it answered.
    Crashed,
}

/// What an answer is about: the occurrence that a line and a symbol stood for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedSymbol {
    /// The file as shown.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Which of the occurrences on the line, from 1.
    pub occurrence: usize,
    /// How many occurrences the line has.
    pub of: usize,
}

/// A place with the text of its line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file as shown; an absolute path outside of the workspace.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The line, without the blanks around it.
    pub text: String,
}

/// The answer of `definition`, `type_definition`, `implementation` and `references`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locations {
    /// What was asked about.
    pub resolved: ResolvedSymbol,
    /// The places, inside the workspace first.
    pub locations: Vec<Location>,
    /// How many there are.
    pub total: usize,
    /// How many of them are not listed.
    pub more: usize,
    /// How far it can be believed.
    pub evidence: Evidence,
}

/// The answer of `hover`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hover {
    /// Signature and documentation, as Markdown.
    pub contents: String,
    /// How far it can be believed.
    pub evidence: Evidence,
}

/// A file that a rename changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenamedFile {
    /// The file as shown.
    pub file: String,
    /// How many places in it.
    pub edits: usize,
}

/// The answer of `lsp_rename`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renamed {
    /// The files with their edits.
    pub files: Vec<RenamedFile>,
    /// How many places were renamed.
    pub renamed: usize,
    /// Where the old name still stands, as text.
    pub leftovers: Vec<Location>,
}

/// The answer of `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// One for each server and root, running or not.
    pub servers: Vec<ServerStatus>,
}

/// One server at one root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// The row of the server table.
    pub id: String,
    /// The root as shown; absent when there is no marker.
    pub root: Option<String>,
    /// The state in a word or two.
    pub state: String,
    /// Why it is so, and what to do.
    pub why: Option<String>,
    /// The process.
    pub pid: Option<u32>,
    /// What the server says its version is.
    pub version: Option<String>,
    /// What its positions count.
    pub encoding: Option<String>,
    /// How many documents are open.
    pub documents: usize,
}
