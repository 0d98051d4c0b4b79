//! When answers are whole and diagnostics are final, which differs by server.

use std::time::Duration;

use serde::Deserialize;

/// When a server's answers about the whole project are whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ready {
    /// As soon as it is initialized.
    AtOnce,
    /// When no progress runs.
    #[default]
    Progress,
    /// When `experimental/serverStatus` says that it is quiescent.
    ServerStatus,
    /// When `$/analyzerStatus` says that it does not analyze.
    AnalyzerStatus,
    /// When its tsserver has named the project of every open file, and no progress runs.
    Tsserver,
}

/// Whether a server looks again at a text that is open when another file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rebuild {
    /// By itself.
    #[default]
    Itself,
    /// When the text is sent again with clangd's `forceRebuild`.
    Forced,
}

/// How a server's diagnostics come after a write.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "class", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Wait {
    /// They are asked for, and the answer is final.
    Pull {},
    /// They are published with the version that they belong to.
    PushVersioned {
        /// How long nothing must come after the right version; 0 where there is one publish for a version.
        settle_ms: u64,
        /// How long after a change of one file it may take to publish for another.
        #[serde(default = "beside")]
        beside_ms: u64,
        /// Whether it looks again at a text when another file changed.
        #[serde(default)]
        rebuild: Rebuild,
        /// The source of diagnostics that it takes back where a file was only just made: they are believed after
        /// `beside_ms`.
        #[serde(default)]
        provisional: Option<String>,
    },
    /// They are published without a version.
    PushUnversioned {
        /// How long nothing must come.
        settle_ms: u64,
        /// How long to wait for the first.
        budget_ms: u64,
        /// How long after a change of one file it may take to publish for another.
        #[serde(default = "beside")]
        beside_ms: u64,
    },
    /// A compiler runs after a save, or when it is asked for, and reports by progress.
    CompilerOnSave(Check),
    /// They are published without a version, and a command of the inner tsserver gives them at once.
    TsserverSync {
        /// How long nothing must come where the command is not taken.
        settle_ms: u64,
    },
}

/// What starts the check of a compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Starts {
    /// A save; what is checked may be a part of the project.
    #[default]
    Save,
    /// rust-analyzer's own notification, by which everything is checked. Its `checkOnSave` has to be off.
    RunFlycheck,
}

/// The check of a compiler after a save, as its progress shows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// How the tokens of its progress begin.
    pub progress: String,
    /// How long to wait for its begin.
    pub begin_ms: u64,
    /// How long after its end its last list may come.
    pub settle_ms: u64,
    /// How long after the end of one another may begin, where one was started that had not begun within `begin_ms`; as
    /// long as `settle_ms` at least.
    #[serde(default)]
    pub restart_ms: u64,
    /// What starts it.
    #[serde(default)]
    pub starts: Starts,
    /// A part of the server's status message when a check could not run.
    #[serde(default)]
    pub fails: Option<String>,
    /// A part of what its progress says of a program that it builds to run it: a check that ends with one may have ended
    /// because that failed.
    #[serde(default)]
    pub builds: Option<String>,
    /// What is left out after an error.
    #[serde(default)]
    pub leaves_out: LeavesOut,
}

/// What a compiler leaves out after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeavesOut {
    /// Nothing in other files.
    #[default]
    Nothing,
    /// As cargo: the crates that depend on the one with the error.
    DependentCrates,
}

impl Wait {
    /// How long after a change of one file the server may take to publish for another.
    #[must_use]
    pub fn beside(&self) -> Duration {
        Duration::from_millis(match self {
            Self::PushVersioned { beside_ms, .. } | Self::PushUnversioned { beside_ms, .. } => {
                *beside_ms
            }
            Self::Pull {} | Self::CompilerOnSave(_) | Self::TsserverSync { .. } => beside(),
        })
    }

    /// The source of diagnostics that the server may take back.
    #[must_use]
    pub fn provisional(&self) -> Option<&str> {
        match self {
            Self::PushVersioned { provisional, .. } => provisional.as_deref(),
            _ => None,
        }
    }

    /// How long nothing must come before a list is final.
    #[must_use]
    pub fn settle(&self) -> Duration {
        Duration::from_millis(match self {
            Self::Pull {} => 0,
            Self::PushVersioned { settle_ms, .. }
            | Self::PushUnversioned { settle_ms, .. }
            | Self::CompilerOnSave(Check { settle_ms, .. })
            | Self::TsserverSync { settle_ms } => *settle_ms,
        })
    }
}

fn beside() -> u64 {
    150
}
