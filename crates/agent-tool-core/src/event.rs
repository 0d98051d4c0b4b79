//! What happens during a call, for whoever watches it.

use serde::{Deserialize, Serialize};

use crate::FileChange;

/// Something that a tool tells while it works.
///
/// Emitting never blocks and never fails. A slow reader loses `Progress` and `Output`, counted,
/// and never `Changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// How far the work is.
    Progress {
        /// What is being done.
        message: String,
        /// How many units are done, where they can be counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done: Option<u64>,
        /// How many units there are, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<u64>,
    },
    /// Output of something that the tool drives.
    Output {
        /// The text, as it came.
        text: String,
    },
    /// A file was changed: recorded also where the call is cancelled afterwards.
    Changed {
        /// The change.
        change: FileChange,
    },
}

impl Event {
    /// Progress in words alone.
    #[must_use]
    pub fn progress(message: impl Into<String>) -> Self {
        Event::Progress { message: message.into(), done: None, total: None }
    }
}
