//! What a crash left, finished or undone at the next start.

use std::{fmt, path::PathBuf};

use agent_workspace::{Workspace, WorkspacePath, uri_to_path};

use crate::{
    Error, ErrorKind, Result,
    folders::Folders,
    journal::{Journal, JournalFolder, RootRecord, Stage, TEMPORARY_PREFIX},
    ops::Ops,
    store::Store,
    undo::Unfinished,
};

/// So many files are named in words; the rest is counted.
const NAMED_FILES: usize = 5;

/// A change that a crash left, and what became of it. Displayed, it is the sentences for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// What became of it.
    pub outcome: RecoveryOutcome,
    /// The absolute paths of its files.
    pub files: Vec<PathBuf>,
    /// Files that someone else changed after the crash; they were left as they are.
    pub kept: Vec<Kept>,
    /// The folder of its journal in the state folder. It is gone unless the outcome is `Left`.
    pub journal: PathBuf,
}

/// What became of a change that a crash left.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecoveryOutcome {
    /// All its files were new already; what it had kept for an undo is removed.
    Finished,
    /// All its files are as they were before it.
    Undone,
    /// It could be neither finished nor undone, and its journal stays.
    Left {
        /// Why.
        reason: String,
    },
}

/// A file that an undo left, because someone else had changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// A copy of what it was before the change, in the state folder; `None` when there was no file.
    pub copy: Option<PathBuf>,
}

impl Recovery {
    /// True when nothing can be changed in this workspace before it is put right: it is left, and its
    /// files are in the workspace, or are not known.
    pub fn blocks(&self, workspace: &Workspace) -> bool {
        let left = matches!(self.outcome, RecoveryOutcome::Left { .. });
        // A journal that cannot be read may be of any workspace.
        let within = |file: &PathBuf| workspace.contain(file).is_some();
        left && (self.files.is_empty() || self.files.iter().any(within))
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = named(&self.files);
        match &self.outcome {
            RecoveryOutcome::Finished => {
                write!(f, "a change of {files} was cut off after its end; it is made")?;
            }
            RecoveryOutcome::Undone => {
                write!(
                    f,
                    "a change of {files} was cut off and is undone; no file has its new text"
                )?;
            }
            RecoveryOutcome::Left { reason } => {
                let journal = self.journal.display();
                if self.files.is_empty() {
                    write!(
                        f,
                        "a change was cut off, and its journal `{journal}` cannot be read ({reason}), so it is not known \
                         which files it left between old and new; look for names that begin with \
                         `{TEMPORARY_PREFIX}` in your checkouts (`.old` is a file as it was before), put them right, \
                         then move the journal away"
                    )?;
                } else {
                    write!(
                        f,
                        "a change of {files} was cut off and cannot be undone yet ({reason}); remove the cause and \
                         start again, or put the files right and move its journal `{journal}` away"
                    )?;
                }
            }
        }
        for Kept { path, copy } in &self.kept {
            let path = path.display();
            write!(f, "; `{path}` was changed by someone else since and is left as it is")?;
            if let Some(copy) = copy {
                write!(f, ", its text from before is in `{}`", copy.display())?;
            }
        }
        Ok(())
    }
}

fn named(files: &[PathBuf]) -> String {
    let shown: Vec<_> =
        files.iter().take(NAMED_FILES).map(|file| format!("`{}`", file.display())).collect();
    match files.len().saturating_sub(NAMED_FILES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Goes through all journals of the state folder, those of other workspaces too. Only under the lock.
pub(crate) fn recover_all(ops: &Ops, store: &Store) -> Result<Vec<Recovery>> {
    let names = store.journals().map_err(|error| {
        Error::new(
            ErrorKind::StateFolder,
            format!(
                "the state folder `{}` cannot be listed ({error}); check it",
                store.folder().path.display()
            ),
        )
        .with_source(error)
    })?;
    let mut recovered = Vec::new();
    for name in names {
        let journal = store.folder().path.join(&name);
        let left = |reason: String, files: Vec<PathBuf>| Recovery {
            outcome: RecoveryOutcome::Left { reason },
            files,
            kept: Vec::new(),
            journal: journal.clone(),
        };
        let folder = match JournalFolder::open(store, name) {
            Ok(folder) => folder,
            Err(error) => {
                recovered.push(left(error.to_string(), Vec::new()));
                continue;
            }
        };
        match folder.read(ops) {
            // It never began, or was at its very end: no file of a checkout is in question.
            Ok(None) => {
                let _ = folder.remove(ops, store);
            }
            Ok(Some(read)) => {
                let files = files_of(&read);
                recovered.push(match recover(ops, store, &folder, &read) {
                    Ok((outcome, kept)) => {
                        Recovery { outcome, files, kept, journal: journal.clone() }
                    }
                    Err(reason) => left(reason, files),
                });
            }
            Err(error) => recovered.push(left(error.to_string(), Vec::new())),
        }
    }
    Ok(recovered)
}

/// Refuses to change more in a workspace where an earlier change hangs between old and new.
pub(crate) fn refuse_unfinished(workspace: &Workspace, recovered: &[Recovery]) -> Result<()> {
    match recovered.iter().find(|recovery| recovery.blocks(workspace)) {
        Some(recovery) => Err(Error::new(
            ErrorKind::UnfinishedChange,
            format!("nothing was changed, since {recovery}"),
        )),
        None => Ok(()),
    }
}

fn recover(
    ops: &Ops,
    store: &Store,
    journal_folder: &JournalFolder,
    journal: &Journal,
) -> Result<(RecoveryOutcome, Vec<Kept>), String> {
    let workspace = workspace_of(&journal.roots)?;
    let mut folders = Folders::new(&workspace);
    let mut unfinished = Unfinished { ops, store, folders: &mut folders, journal, journal_folder };
    let words = |error: std::io::Error| error.to_string();
    match journal_folder.stage(ops).map_err(words)? {
        Stage::Done => {
            unfinished.finish().map_err(words)?;
            Ok((RecoveryOutcome::Finished, Vec::new()))
        }
        Stage::Begun | Stage::Prepared => {
            let kept = unfinished.undo().map_err(words)?;
            Ok((RecoveryOutcome::Undone, kept))
        }
    }
}

/// The roots as they were, each held against its inode.
fn workspace_of(roots: &[RootRecord]) -> Result<Workspace, String> {
    let mut builder = Workspace::builder();
    for (index, root) in roots.iter().enumerate() {
        let path = uri_to_path(&root.uri).map_err(|error| error.to_string())?;
        builder = builder.named_root(format!("root-{index}"), path);
    }
    let workspace = builder.open().map_err(|error| error.to_string())?;
    for (found, root) in records(&workspace).map_err(|error| error.to_string())?.iter().zip(roots) {
        if found != root {
            return Err(format!("{} is another folder now", root.uri));
        }
    }
    Ok(workspace)
}

/// What binds a journal to the roots of a workspace.
pub(crate) fn records(workspace: &Workspace) -> agent_workspace::Result<Vec<RootRecord>> {
    let of_root = |root: &agent_workspace::Root| {
        let path = workspace.contain(root.path()).unwrap_or_else(WorkspacePath::working_directory);
        let identity = workspace.identity(&path)?;
        Ok(RootRecord {
            uri: agent_workspace::path_to_uri(root.path()),
            device: identity.device,
            inode: identity.inode,
        })
    };
    workspace.roots().iter().map(of_root).collect()
}

fn files_of(journal: &Journal) -> Vec<PathBuf> {
    journal.steps.iter().filter_map(|step| uri_to_path(&step.uri).ok()).collect()
}
