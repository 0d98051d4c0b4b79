//! What a write changed while nobody could look at the files that name it: it is kept, and looked at with the next write.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use agent_workspace::WorkspacePath;

use super::Target;
use crate::supervisor::Key;

/// How many files are kept for one server. Of more than this nobody can tell any more what was changed.
const MAX_OWED: usize = 50;

/// What is owed to whoever writes next, by server and root.
#[derive(Debug, Default)]
pub(crate) struct Debts {
    all: Mutex<HashMap<Key, Debt>>,
}

/// The files that were written since a server's other files were looked at, with their texts from before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Debt {
    pub files: BTreeMap<WorkspacePath, String>,
    /// Whether there were more.
    pub is_cut: bool,
}

impl Debts {
    /// What earlier writes left.
    pub(super) fn of(&self, key: &Key) -> Debt {
        self.lock().get(key).cloned().unwrap_or_default()
    }

    /// Takes note of a write, until it is [`Debts::paid`]. Gives what is owed with it.
    pub(super) fn owe<'a>(&self, key: &Key, written: impl IntoIterator<Item = &'a Target>) -> Debt {
        let mut all = self.lock();
        let debt = all.entry(key.clone()).or_default();
        for target in written {
            let Some(before) = target.before.as_ref().filter(|_| target.existed) else { continue };
            // The first text counts: it is the one that others were looked at with.
            if debt.files.contains_key(&target.file) {
                continue;
            }
            if debt.files.len() < MAX_OWED {
                debt.files.insert(target.file.clone(), before.clone());
            } else {
                debt.is_cut = true;
            }
        }
        debt.clone()
    }

    /// Forgets what was looked at, unless more was written meanwhile.
    pub(super) fn paid(&self, key: &Key, owed: &Debt) {
        let mut all = self.lock();
        if all.get(key).is_some_and(|debt| debt == owed) {
            all.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Debt>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
