//! What a person said for the rest of the run.

use std::{collections::HashMap, sync::Mutex};

use agent_tool_core::{Context, Tier, ToolSpec};
use tokio::sync::Notify;

use crate::{Policy, lock};

/// Whose calls of which tool: the names of the callers, outermost first, and the tool's name.
pub(crate) type Key = (Vec<String>, String);

pub(crate) fn key(spec: &ToolSpec, cx: &Context) -> Key {
    (cx.callers().iter().map(|caller| caller.name.clone()).collect(), spec.name.clone())
}

/// An answer that holds for one run, one caller and one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Calls up to this tier may go on. A tool that takes the name over at a higher tier was not
    /// what the person spoke of.
    Allowed(Tier),
    /// Calls are refused.
    Refused,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    standing: Mutex<HashMap<Key, Standing>>,
    news: Notify,
}

impl Memory {
    /// The answer that holds for a call of this tier about which a rule says this. A refusal
    /// always holds; a permission does not where the rule has each call asked about.
    pub(crate) fn get(&self, key: &Key, tier: Tier, policy: Policy) -> Option<Standing> {
        let standing = lock(&self.standing).get(key).copied()?;
        match standing {
            Standing::Allowed(up_to) if tier > up_to || policy > Policy::Ask => None,
            standing => Some(standing),
        }
    }

    /// Keeps an answer. A refusal stays: a card that was shown at the same time does not beat it.
    pub(crate) fn set(&self, key: Key, standing: Standing) {
        let mut all = lock(&self.standing);
        let kept = all.entry(key).or_insert(standing);
        if *kept != Standing::Refused {
            *kept = standing;
        }
        drop(all);
        self.news.notify_waiters();
    }

    /// Waits until there is an answer that holds.
    pub(crate) async fn answer(&self, key: &Key, tier: Tier, policy: Policy) -> Standing {
        loop {
            let news = self.news.notified();
            if let Some(standing) = self.get(key, tier, policy) {
                return standing;
            }
            news.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_for_the_run_is_never_taken_back() {
        let memory = Memory::default();
        let key = (vec!["fast_1".to_owned()], "change".to_owned());
        memory.set(key.clone(), Standing::Allowed(Tier::Write));
        memory.set(key.clone(), Standing::Refused);
        memory.set(key.clone(), Standing::Allowed(Tier::Exec));
        assert_eq!(memory.get(&key, Tier::Write, Policy::Ask), Some(Standing::Refused));
    }
}
