use std::{path::Path, sync::Arc};

use agent_workspace::{Workspace, WorkspacePath};

use crate::{
    ChangeKind, Error, ErrorKind, Hook, Plan, Recovery, Result, apply,
    ops::Ops,
    recover::{recover_all, refuse_unfinished},
    store::Store,
};

/// Applies plans to a workspace, all or none. A clone is cheap and shares the state folder.
#[derive(Debug, Clone)]
pub struct Edits {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    workspace: Workspace,
    /// The state folder, or why there is none.
    store: Result<Store, String>,
    ops: Ops,
    recovered: Vec<Recovery>,
}

/// What an apply did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The files that changed, in the order of the plan. An unchanged file is not here.
    pub changes: Vec<Change>,
    /// Changes that another process had left when it died since this one started.
    pub recovered: Vec<Recovery>,
    /// True when a temporary name could not be removed; the next apply or the next start removes it.
    pub leftover: bool,
}

/// A file that changed. The bytes are in the plan's entries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The file as it was named.
    pub path: WorkspacePath,
    /// What happened to it.
    pub kind: ChangeKind,
}

impl Edits {
    /// Opens the state folder, which must lie outside the workspace, and finishes or undoes what a crash left there;
    /// [`Edits::recovered`] says what that was. Waits while another process changes files.
    ///
    /// One state folder may serve many workspaces; changes of all of them take turns.
    ///
    /// # Errors
    /// `state_folder` when the folder is inside the workspace, belongs to someone else or cannot be made.
    pub fn open(workspace: &Workspace, state_folder: impl AsRef<Path>) -> Result<Self> {
        Self::open_with_ops(workspace, state_folder.as_ref(), Ops::default())
    }

    /// As [`Edits::open`], with a hook that is told of every file operation and may let it fail.
    ///
    /// # Errors
    /// As [`Edits::open`].
    pub fn open_with_hook(
        workspace: &Workspace,
        state_folder: impl AsRef<Path>,
        hook: Arc<dyn Hook>,
    ) -> Result<Self> {
        Self::open_with_ops(workspace, state_folder.as_ref(), Ops::with_hook(hook))
    }

    /// As [`Edits::open`] where no state folder can be had: plans can be made, and each [`Edits::apply`] is refused with
    /// `state_folder` and these words, which say what to do.
    pub fn without_state_folder(workspace: &Workspace, why: impl Into<String>) -> Self {
        let (workspace, store) = (workspace.clone(), Err(why.into()));
        let inner = Inner { workspace, store, ops: Ops::default(), recovered: Vec::new() };
        Self { inner: Arc::new(inner) }
    }

    /// What a crash had left when this was opened.
    pub fn recovered(&self) -> &[Recovery] {
        &self.inner.recovered
    }

    /// The workspace whose files are changed.
    pub fn workspace(&self) -> &Workspace {
        &self.inner.workspace
    }

    /// Makes the change of a plan: afterwards all its files are new, or all are as they were, whatever fails on the way.
    ///
    /// Every file is held against the bytes in the plan first, and again right before its name changes. It blocks, waits
    /// for its turn, and runs to its end once begun: an async caller puts it on its blocking pool.
    ///
    /// # Errors
    /// `stale_edit` and `read_only` with every file that refused, `other_workspace`, `state_folder`, `unfinished_change`, and
    /// `apply_failed` when everything was rolled back. After `outcome_unknown` the rollback failed too: the next start
    /// tries it again.
    pub fn apply(&self, plan: &Plan) -> Result<Applied> {
        let Inner { workspace, store, ops, .. } = &*self.inner;
        self.refuse_other(plan)?;
        let store =
            store.as_ref().map_err(|why| Error::new(ErrorKind::StateFolder, why.as_str()))?;
        store.locked(|| {
            let recovered = recover_all(ops, store)?;
            refuse_unfinished(workspace, &recovered)?;
            let leftover = apply::apply(ops, store, plan)?;
            Ok(Applied {
                changes: changes(plan),
                recovered,
                leftover: leftover == apply::Leftover::Some,
            })
        })
    }

    fn open_with_ops(workspace: &Workspace, state_folder: &Path, ops: Ops) -> Result<Self> {
        let store = Store::open(workspace, state_folder)?;
        let recovered = store.locked(|| recover_all(&ops, &store))?;
        Ok(Self {
            inner: Arc::new(Inner {
                workspace: workspace.clone(),
                store: Ok(store),
                ops,
                recovered,
            }),
        })
    }

    fn refuse_other(&self, plan: &Plan) -> Result<()> {
        let roots = |workspace: &Workspace| -> Vec<_> {
            let roots = workspace.roots().iter();
            roots.map(|root| root.path().to_owned()).collect()
        };
        if roots(plan.workspace()) == roots(&self.inner.workspace) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::OtherWorkspace,
            "the plan was made for another workspace; make it for this one",
        ))
    }
}

fn changes(plan: &Plan) -> Vec<Change> {
    plan.entries()
        .iter()
        .filter(|entry| entry.kind() != ChangeKind::Unchanged)
        .map(|entry| Change { path: entry.path().clone(), kind: entry.kind() })
        .collect()
}
