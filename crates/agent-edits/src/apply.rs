//! One change from the first check to the last name.

use std::{ffi::OsStr, io, sync::Arc};

use agent_workspace::{FileIdentity, Workspace, WorkspacePath};

use crate::{
    ChangeKind, Deviation, DeviationKind, Entry, Error, ErrorKind, Executable, Kept, Plan, Result,
    check::{check, check_in},
    folders::{Folder, Folders},
    journal::{Action, Journal, JournalFolder, Step},
    ops::Ops,
    plan::digest,
    platform,
    recover::records,
    store::Store,
    undo::Unfinished,
};

/// Whether temporary names of a change that was made are still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leftover {
    None,
    Some,
}

/// A clean-up that fails is tried once more before it is left to the next start.
const FINISH_ATTEMPTS: usize = 2;

/// Only under the lock.
pub(crate) fn apply(ops: &Ops, store: &Store, plan: &Plan) -> Result<Leftover> {
    let mut folders = Folders::new(plan.workspace());
    let found = check_all(ops, &mut folders, plan)?;
    let steps = steps(plan, &found);
    if steps.is_empty() {
        return Ok(Leftover::None);
    }
    let journal = journal(plan, &steps, &mut folders)?;
    let journal_folder = begin(ops, store, &journal, &steps)
        .map_err(|error| failed(plan.workspace(), Failure::state(error), &[]))?;
    let mut change = ChangeInProgress {
        ops,
        folders: &mut folders,
        journal: &journal,
        journal_folder: &journal_folder,
        steps: &steps,
    };
    let made = change.make();
    let mut unfinished = Unfinished {
        ops,
        store,
        folders: &mut folders,
        journal: &journal,
        journal_folder: &journal_folder,
    };
    match made {
        Ok(()) => {
            let finished = (0..FINISH_ATTEMPTS).any(|_| unfinished.finish().is_ok());
            Ok(if finished { Leftover::None } else { Leftover::Some })
        }
        Err(failure) => Err(match unfinished.undo() {
            Ok(kept) => failed(plan.workspace(), failure, &kept),
            Err(error) => unknown(plan.workspace(), &failure, error),
        }),
    }
}

/// An entry that changes something, and how.
struct Work<'a> {
    entry: &'a Entry,
    action: Action,
}

/// Why a change was given up.
enum Failure {
    /// A file was not what it had been a moment before.
    Deviation(WorkspacePath, DeviationKind),
    /// A file operation failed; `None` is the state folder.
    Io(Option<WorkspacePath>, io::Error),
}

impl Failure {
    fn state(error: io::Error) -> Self {
        Self::Io(None, error)
    }
}

/// Holds every file against the plan, so that an error names all that deviate and not the first alone.
fn check_all(ops: &Ops, folders: &mut Folders, plan: &Plan) -> Result<Vec<Option<FileIdentity>>> {
    let workspace = plan.workspace();
    let mut found = Vec::with_capacity(plan.entries().len());
    let mut stale = Vec::new();
    let mut read_only = Vec::new();
    for entry in plan.entries() {
        match check(ops, folders, entry) {
            Ok(now) => {
                let locked = now.is_some_and(|now| now.mode & platform::OWNER_WRITES == 0);
                if locked && entry.kind() != ChangeKind::Unchanged {
                    let kind = DeviationKind::ReadOnly;
                    read_only.push(Deviation::new(workspace, entry.path(), kind));
                }
                found.push(now);
            }
            Err(kind) => stale.push(Deviation::new(workspace, entry.path(), kind)),
        }
    }
    if !stale.is_empty() {
        return Err(stale_error(stale));
    }
    if !read_only.is_empty() {
        let list = list(&read_only);
        return Err(Error::new(
            ErrorKind::ReadOnly,
            format!(
                "nothing was changed, since no write bit is set on {list}; ask for `chmod u+w`, or leave these files out"
            ),
        )
        .with_deviations(read_only));
    }
    Ok(found)
}

/// Deletions come first: a hard link that goes away is looked at before its other name is written over.
fn steps<'a>(plan: &'a Plan, found: &[Option<FileIdentity>]) -> Vec<Work<'a>> {
    let mut deletions = Vec::new();
    let mut others: Vec<Work> = Vec::new();
    for (entry, found) in plan.entries().iter().zip(found) {
        match (entry.kind(), entry.after(), found) {
            (ChangeKind::Delete, ..) => deletions.push(Work { entry, action: Action::Delete }),
            (ChangeKind::Create, Some(after), _) => {
                others.push(Work { entry, action: Action::Create { after: digest(after) } })
            }
            (ChangeKind::Modify, Some(after), Some(found)) => {
                let action = if found.links > 1 {
                    let mode = entry.executable().map(|_| found.mode & platform::PERMISSION_BITS);
                    Action::Overwrite { device: found.device, inode: found.inode, mode }
                } else {
                    Action::Replace { after: digest(after) }
                };
                // Two names of one file get the same bytes (the plan holds that), and are written once.
                let written = matches!(action, Action::Overwrite { .. })
                    && others.iter().any(|other| other.action == action);
                if !written {
                    others.push(Work { entry, action });
                }
            }
            _ => {}
        }
    }
    deletions.append(&mut others);
    deletions
}

fn journal(plan: &Plan, steps: &[Work], folders: &mut Folders) -> Result<Journal> {
    let workspace = plan.workspace();
    let mut journal = Journal::new(Store::fresh_id(), records(workspace)?);
    for work in steps {
        if matches!(work.action, Action::Create { .. }) {
            for folder in missing_folders(folders, work.entry.target())? {
                let uri = workspace.uri(&folder);
                if !journal.folders.contains(&uri) {
                    journal.folders.push(uri);
                }
            }
        }
        journal
            .steps
            .push(Step { uri: workspace.uri(work.entry.target()), action: work.action.clone() });
    }
    Ok(journal)
}

/// The folders above a file that do not exist, the outer before the inner.
fn missing_folders(folders: &mut Folders, file: &WorkspacePath) -> Result<Vec<WorkspacePath>> {
    let mut missing = Vec::new();
    let mut folder = file.parent();
    while let Some(path) = folder {
        match folders.open(&path) {
            Ok(_) => break,
            Err(error) if error.kind() == agent_workspace::ErrorKind::NotFound => {
                folder = path.parent();
                missing.push(path);
            }
            Err(error) => return Err(error.into()),
        }
    }
    missing.reverse();
    Ok(missing)
}

/// After this the journal counts.
fn begin(ops: &Ops, store: &Store, journal: &Journal, steps: &[Work]) -> io::Result<JournalFolder> {
    let folder = JournalFolder::create(ops, store, &journal.id)?;
    let write = || {
        for (index, work) in steps.iter().enumerate() {
            if let (Action::Overwrite { .. }, Some(before), Some(after)) =
                (&work.action, work.entry.before(), work.entry.after())
            {
                folder.keep(ops, index, before, after)?;
            }
        }
        folder.begin(ops, store, journal)
    };
    if let Err(error) = write() {
        // No file of the checkout was touched, so it does not matter what becomes of this.
        let _ = folder.remove(ops, store);
        return Err(error);
    }
    Ok(folder)
}

struct ChangeInProgress<'a> {
    ops: &'a Ops,
    folders: &'a mut Folders,
    journal: &'a Journal,
    journal_folder: &'a JournalFolder,
    steps: &'a [Work<'a>],
}

impl ChangeInProgress<'_> {
    fn make(&mut self) -> Result<(), Failure> {
        let steps = self.steps;
        for uri in &self.journal.folders {
            self.create_folder(uri)?;
        }
        for (index, work) in steps.iter().enumerate() {
            self.prepare(index, work).map_err(|error| of_entry(work.entry, error))?;
        }
        self.journal_folder.mark_prepared(self.ops).map_err(Failure::state)?;
        for (index, work) in steps.iter().enumerate() {
            self.commit(index, work)?;
        }
        self.sync()?;
        self.journal_folder.mark_done(self.ops).map_err(Failure::state)
    }

    fn create_folder(&mut self, uri: &str) -> Result<(), Failure> {
        let absolute = agent_workspace::uri_to_path(uri)
            .map_err(|error| Failure::state(io::Error::other(error)))?;
        let path = self
            .folders
            .workspace()
            .contain(&absolute)
            .ok_or_else(|| Failure::state(io::Error::other("a folder is outside its root")))?;
        let (folder, name) = self
            .folders
            .of(&path)
            .map_err(|error| Failure::Io(Some(path.clone()), io::Error::other(error)))?;
        match self.ops.create_folder(&folder, &name, platform::NEW_FOLDER_MODE) {
            // Someone else made it in the meantime; if it is no folder, the file in it cannot be made.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(Failure::Io(Some(path), error))
            }
            _ => self.ops.sync_folder(&folder).map_err(|error| Failure::Io(Some(path), error)),
        }
    }

    /// Makes the temporary file, complete and synced.
    fn prepare(&mut self, index: usize, work: &Work) -> io::Result<()> {
        let Some(after) = work.entry.after() else {
            return Ok(());
        };
        let ops = self.ops;
        let new = self.journal.new_name(index);
        match work.action {
            Action::Create { .. } => {
                let (folder, _) = self.place(work.entry)?;
                let executable = work.entry.executable();
                let mode = match (work.entry.mode(), executable) {
                    (Some(_), _) => platform::PRIVATE_FILE_MODE,
                    (None, Some(Executable::Yes)) => platform::NEW_EXECUTABLE_MODE,
                    (None, _) => platform::NEW_FILE_MODE,
                };
                let file = ops.create(&folder, &new, mode, after)?;
                if let Some(mode) = work.entry.mode() {
                    let mode = executable.map_or(mode, |executable| executable.of(mode));
                    ops.set_mode(&file, mode, &folder, &new)?;
                }
                ops.sync_file(&file, &folder, &new)
            }
            Action::Replace { .. } => {
                let (folder, name) = self.place(work.entry)?;
                let old = ops.open_to_read(&folder, &name)?;
                let file = ops.create(&folder, &new, platform::PRIVATE_FILE_MODE, after)?;
                ops.copy_metadata(&old, &file, &folder, &new)?;
                if let Some(executable) = work.entry.executable() {
                    let mode = executable.of(FileIdentity::of(&file)?.mode);
                    ops.set_mode(&file, mode, &folder, &new)?;
                }
                ops.sync_file(&file, &folder, &new)
            }
            Action::Overwrite { .. } | Action::Delete => Ok(()),
        }
    }

    /// Changes the name that counts, after a last look at the file.
    fn commit(&mut self, index: usize, work: &Work) -> Result<(), Failure> {
        let entry = work.entry;
        let io = |error| of_entry(entry, error);
        let deviates = |kind| Failure::Deviation(entry.path().clone(), kind);
        let (folder, name) = self.place(entry).map_err(io)?;
        let found = check_in(self.ops, &folder, &name, entry.before()).map_err(deviates)?;
        let (new, old) = (self.journal.new_name(index), self.journal.old_name(index));
        match &work.action {
            Action::Create { .. } => match self.ops.rename_new(&folder, &new, &name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    Err(deviates(DeviationKind::Appeared))
                }
                result => result.map_err(io),
            },
            Action::Replace { .. } if found.is_some_and(|found| found.links > 1) => {
                // A second name since the check: replacing the file would break it off.
                Err(deviates(DeviationKind::Changed))
            }
            Action::Replace { .. } => {
                self.keep_old(&folder, &name, &old).map_err(io)?;
                self.ops.rename(&folder, &new, &name).map_err(io)
            }
            Action::Delete => self.ops.rename_new(&folder, &name, &old).map_err(io),
            Action::Overwrite { device, inode, .. } => {
                let mut file = self.ops.open_to_change(&folder, &name).map_err(io)?;
                let opened = FileIdentity::of(&file).map_err(io)?;
                if (opened.device, opened.inode) != (*device, *inode) {
                    return Err(deviates(DeviationKind::Changed));
                }
                let after = entry.after().unwrap_or_default();
                self.ops.overwrite(&mut file, &folder, &name, after).map_err(io)?;
                match entry.executable() {
                    Some(executable) => self
                        .ops
                        .set_mode(&file, executable.of(opened.mode), &folder, &name)
                        .map_err(io),
                    None => Ok(()),
                }
            }
        }
    }

    /// A second name keeps the old inode, so that going back restores all of it. Where there are no hard links the file
    /// is away for the moment between two renames.
    fn keep_old(&self, folder: &Folder, name: &OsStr, old: &OsStr) -> io::Result<()> {
        match self.ops.link(folder, name, old) {
            Err(error) if platform::cannot_link(&error) => self.ops.rename_new(folder, name, old),
            result => result,
        }
    }

    fn sync(&mut self) -> Result<(), Failure> {
        let mut synced = std::collections::HashSet::new();
        for work in self.steps {
            let (folder, _) =
                self.place(work.entry).map_err(|error| of_entry(work.entry, error))?;
            if synced.insert(folder.path.clone()) {
                self.ops.sync_folder(&folder).map_err(|error| of_entry(work.entry, error))?;
            }
        }
        Ok(())
    }

    fn place(&mut self, entry: &Entry) -> io::Result<(Arc<Folder>, std::ffi::OsString)> {
        self.folders.of(entry.target()).map_err(io::Error::other)
    }
}

fn of_entry(entry: &Entry, error: io::Error) -> Failure {
    Failure::Io(Some(entry.path().clone()), error)
}

fn stale_error(deviations: Vec<Deviation>) -> Error {
    let list = list(&deviations);
    Error::new(
        ErrorKind::StaleEdit,
        format!(
            "nothing was changed, since files are not as they were when the change was made: {list}; read them again and make the change anew"
        ),
    )
    .with_deviations(deviations)
}

fn list(deviations: &[Deviation]) -> String {
    let named = |deviation: &Deviation| format!("`{}` ({})", deviation.shown, deviation.kind);
    deviations.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// After a rollback that held.
fn failed(workspace: &Workspace, failure: Failure, kept: &[Kept]) -> Error {
    let mut error = match failure {
        Failure::Deviation(path, kind) => stale_error(vec![Deviation::new(workspace, &path, kind)]),
        Failure::Io(path, error) => Error::new(
            ErrorKind::ApplyFailed,
            format!(
                "{}; nothing was changed, remove the cause and try again",
                words(workspace, path.as_ref(), &error)
            ),
        )
        .with_source(error),
    };
    for kept in kept {
        error.append(&match &kept.copy {
            Some(copy) => format!(
                "; `{}` was changed by someone else meanwhile and was left, its earlier content is in `{}`",
                kept.path.display(),
                copy.display()
            ),
            None => format!(
                "; `{}` was changed by someone else meanwhile and was left",
                kept.path.display()
            ),
        });
    }
    error
}

fn unknown(workspace: &Workspace, failure: &Failure, undo: io::Error) -> Error {
    let why = match failure {
        Failure::Deviation(path, kind) => format!("`{}` was {kind}", workspace.show(path)),
        Failure::Io(path, error) => words(workspace, path.as_ref(), error),
    };
    Error::new(
        ErrorKind::OutcomeUnknown,
        format!(
            "{why}, and going back failed too ({undo}); some files may be changed, the next start tries again to undo it"
        ),
    )
    .with_source(undo)
}

fn words(workspace: &Workspace, path: Option<&WorkspacePath>, error: &io::Error) -> String {
    match path {
        Some(path) => format!("`{}` could not be changed ({error})", workspace.show(path)),
        None => format!("the journal could not be written ({error})"),
    }
}
