//! The arguments of the tools.

use agent_tool_core::Tier;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SpawnArgs {
    /// The task, with all that is needed to do it: a worker sees nothing of this conversation.
    pub(super) brief: String,
    /// What it does, in a few words.
    pub(super) label: String,
    /// fast: mechanical work with a clear specification; good (if absent): design, judgement, or the
    /// review of what a fast worker made.
    #[serde(default)]
    pub(super) tier: Option<String>,
    /// The most that its tools may do: what you may if absent, and never more.
    #[serde(default)]
    pub(super) authority: Option<Authority>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Authority {
    Read,
    Write,
    Exec,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SendArgs {
    /// The worker's id, such as w1.
    pub(super) worker_id: String,
    /// What is added to its brief.
    pub(super) message: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitArgs {
    /// The worker's id, such as w1.
    pub(super) worker_id: String,
    /// The most seconds to wait, 0 to only look. No limit if absent.
    #[serde(default)]
    pub(super) timeout_seconds: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KillArgs {
    /// The worker's id, such as w1.
    pub(super) worker_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListArgs {}

impl From<Authority> for Tier {
    fn from(authority: Authority) -> Self {
        match authority {
            Authority::Read => Tier::Read,
            Authority::Write => Tier::Write,
            Authority::Exec => Tier::Exec,
        }
    }
}
