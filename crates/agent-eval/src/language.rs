//! The languages of cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cell's language.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Python 3.8 or newer.
    #[default]
    Python,
    /// Node 20.12 or newer; TypeScript whose types can be erased is taken too.
    JavaScript,
}

impl Language {
    /// Both, in the order in which they are listed.
    pub const ALL: [Self; 2] = [Self::Python, Self::JavaScript];

    /// The name that arguments use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
        }
    }
}
