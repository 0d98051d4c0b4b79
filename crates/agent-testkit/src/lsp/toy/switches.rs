//! The switches of the toy, one by one.

use serde::{Deserialize, Serialize};

/// How diagnostics reach the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Diagnostics {
    /// `textDocument/publishDiagnostics`.
    #[default]
    Push,
    /// `textDocument/diagnostic`, declared in the answer to `initialize`.
    Pull,
    /// The same, registered so many milliseconds after `initialized`; a push to a client that does
    /// not take registrations.
    LatePull(u64),
    /// Not at all.
    Off,
}

/// What makes the toy look again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Each open and change; it looks at the open texts.
    #[default]
    Change,
    /// `initialized` and each save; it looks at the files on disk, as a compiler does.
    Save,
}

/// Whether publishes carry a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Versions {
    /// That of the last sync.
    #[default]
    Synced,
    /// None.
    Absent,
}

/// A first publish that leaves diagnostics out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partial {
    /// How many it has.
    pub first: usize,
    /// How long until the whole follows, in milliseconds.
    pub ms: u64,
}

/// Which other files are published again after a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Others {
    /// None.
    Nothing,
    /// Open ones.
    #[default]
    Open,
    /// Every file of the root.
    All,
}

/// Whether an unchanged list is published again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// For the file that changed, always.
    #[default]
    Always,
    /// Never: a clean edit is followed by silence.
    Never,
}

/// Where the text of a file that is not open comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disk {
    /// The disk, looked at each time.
    #[default]
    Fresh,
    /// The disk at `initialize` and at each `workspace/didChangeWatchedFiles` since.
    Watched,
}

/// The time in which only open files are known, and answers are partial without a word of it. Until it
/// is over nothing is published for a change, and a pull finds nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Indexing {
    /// How long, from `initialized` on, in milliseconds.
    pub ms: u64,
    /// How it is said, where the client declares that it listens.
    pub says: Vec<Says>,
}

/// How a server says that it is not ready yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// Work done progress.
    Progress,
    /// `experimental/serverStatus`.
    ServerStatus,
    /// `$/analyzerStatus`.
    AnalyzerStatus,
}

/// How the toy renames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rename {
    /// The form of the edit.
    pub form: Form,
    /// The versions in it.
    pub versions: EditVersions,
    /// What a rename at a use changes.
    pub from_use: FromUse,
}

/// The form of a workspace edit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// `documentChanges`.
    #[default]
    DocumentChanges,
    /// `changes`.
    Changes,
}

/// The versions in `documentChanges`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditVersions {
    /// Those of open documents, else `null`.
    #[default]
    Synced,
    /// `null`.
    Null,
    /// 0.
    Zero,
    /// One less than the last sync's.
    Older,
}

/// What a rename at a use changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromUse {
    /// Everything, as at the definition.
    #[default]
    Everywhere,
    /// The words of that file alone.
    ThisFile,
}

/// What columns really count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Columns {
    /// What was agreed on.
    #[default]
    Agreed,
    /// Code points, whatever was agreed on.
    CodePoints,
}
