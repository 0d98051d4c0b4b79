//! What a caller wants of a worker.

use agent_tool_core::{Tier, ToolError, for_person};

use crate::WorkerTier;

/// The largest brief, and the largest message, in bytes.
pub const BRIEF_BYTES: usize = 64 * 1024;

/// The most that a worker's brief and messages may come to together, in bytes.
pub const MESSAGES_BYTES: usize = 4 * BRIEF_BYTES;

/// How many characters of a label are kept.
pub const LABEL_CHARS: usize = 80;

/// A worker that is to be spawned: of tier good and with its caller's authority unless it says
/// otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub(crate) brief: String,
    pub(crate) label: String,
    pub(crate) tier: WorkerTier,
    pub(crate) authority: Option<Tier>,
}

impl Order {
    /// A worker for this task, named so in lists and on cards.
    #[must_use]
    pub fn new(brief: impl Into<String>, label: impl Into<String>) -> Self {
        let (brief, label) = (brief.into(), label.into());
        Self { brief, label, tier: WorkerTier::default(), authority: None }
    }

    /// The same for this kind of work.
    #[must_use]
    pub fn of_tier(mut self, tier: WorkerTier) -> Self {
        self.tier = tier;
        self
    }

    /// The same with no more than this authority.
    #[must_use]
    pub fn with_authority(mut self, authority: Tier) -> Self {
        self.authority = Some(authority);
        self
    }

    pub(crate) fn checked(mut self) -> Result<Self, ToolError> {
        text("vibe_spawn", "brief", &self.brief)?;
        self.label = label(&self.label);
        if self.label.is_empty() {
            let message = "vibe_spawn: `label` is empty; say in a few words what the worker does";
            return Err(ToolError::invalid_args(message));
        }
        Ok(self)
    }
}

/// Holds a brief or a message to its bounds.
pub(crate) fn text(tool: &str, name: &str, text: &str) -> Result<(), ToolError> {
    let bytes = text.len();
    if text.trim().is_empty() {
        let message = format!("{tool}: `{name}` is empty; say what the worker is to do");
        return Err(ToolError::invalid_args(message));
    }
    if bytes > BRIEF_BYTES {
        return Err(ToolError::invalid_args(format!(
            "{tool}: `{name}` has {bytes} bytes and takes {BRIEF_BYTES}; put the rest into a file \
             and name it"
        )));
    }
    Ok(())
}

/// A label on one line, as it may be shown to a person.
fn label(text: &str) -> String {
    let text = for_person(text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LABEL_CHARS).collect()
}
