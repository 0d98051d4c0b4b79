//! The way back, and the end of a change: both read the journal, and both may be done again after a crash in their middle.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io::{self, Read},
    path::PathBuf,
    sync::Arc,
};

use agent_workspace::{FileIdentity, FileKind, WorkspacePath, uri_to_path};

use crate::{
    Kept,
    folders::{Folder, Folders},
    journal::{Action, Journal, JournalFolder, Stage, Step},
    ops::Ops,
    plan::digest,
    store::Store,
};

/// What an undo or a finish works with.
pub(crate) struct Unfinished<'a> {
    pub(crate) ops: &'a Ops,
    pub(crate) store: &'a Store,
    pub(crate) folders: &'a mut Folders,
    pub(crate) journal: &'a Journal,
    pub(crate) journal_folder: &'a JournalFolder,
}

/// A step with its open folder.
struct Place<'a> {
    index: usize,
    folder: &'a Folder,
    name: &'a OsStr,
    path: &'a WorkspacePath,
}

impl Unfinished<'_> {
    /// Puts everything back. A file that someone else changed since is left, and what it was before is kept in the state
    /// folder. Every step is tried, whatever becomes of the others; the first error is told.
    pub(crate) fn undo(&mut self) -> io::Result<Vec<Kept>> {
        let stage = self.journal_folder.stage(self.ops)?;
        let mut kept = Vec::new();
        let mut first_error = None;
        for (index, step) in self.journal.steps.iter().enumerate().rev() {
            match self.undo_step(index, step, stage) {
                Ok(left) => kept.extend(left),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        for uri in self.journal.folders.iter().rev() {
            if let Err(error) = self.remove_created(uri) {
                first_error = first_error.or(Some(error));
            }
        }
        match first_error {
            Some(error) => Err(error),
            None => {
                self.sync();
                self.journal_folder.remove(self.ops, self.store)?;
                Ok(kept)
            }
        }
    }

    /// Removes what was kept for an undo.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        for (index, step) in self.journal.steps.iter().enumerate() {
            let has_old = matches!(step.action, Action::Replace { .. } | Action::Delete);
            if has_old && let Some((_, folder, _)) = self.place(&step.uri)? {
                self.ops.remove_if_any(&folder, &self.journal.old_name(index))?;
            }
        }
        self.sync();
        self.journal_folder.remove(self.ops, self.store)
    }

    fn undo_step(&mut self, index: usize, step: &Step, stage: Stage) -> io::Result<Option<Kept>> {
        let Some((path, folder, name)) = self.place(&step.uri)? else {
            // Its folder was not made yet, or is gone with all that was in it.
            return Ok(None);
        };
        let place = Place { index, folder: &folder, name: &name, path: &path };
        match &step.action {
            Action::Create { after } => self.undo_create(&place, after, stage),
            Action::Replace { after } => self.undo_replace(&place, after),
            Action::Overwrite { .. } if stage == Stage::Begun => Ok(None),
            Action::Overwrite { device, inode, mode } => {
                self.undo_overwrite(&place, (*device, *inode), *mode)
            }
            Action::Delete => self.undo_delete(&place),
        }
    }

    fn undo_create(&self, place: &Place, after: &str, stage: Stage) -> io::Result<Option<Kept>> {
        let new = self.journal.new_name(place.index);
        let temporary = self.ops.look(place.folder, &new)?;
        let target = self.ops.look(place.folder, place.name)?;
        let mut left = None;
        match (temporary, target) {
            (Some(temporary), Some(target)) if temporary.is_same_file(&target) => {
                self.ops.remove(place.folder, place.name)?;
            }
            (None, Some(target)) if stage == Stage::Prepared => {
                if self.has_digest(place, &target, after)? {
                    self.ops.remove(place.folder, place.name)?;
                } else {
                    left = Some(self.left(place, None));
                }
            }
            _ => {}
        }
        if temporary.is_some() {
            self.ops.remove(place.folder, &new)?;
        }
        Ok(left)
    }

    fn undo_replace(&self, place: &Place, after: &str) -> io::Result<Option<Kept>> {
        let mut left = None;
        let old_name = self.journal.old_name(place.index);
        if let Some(old) = self.ops.look(place.folder, &old_name)? {
            match self.ops.look(place.folder, place.name)? {
                // A second name of the file that is still in its place.
                Some(target) if target.is_same_file(&old) => {
                    self.ops.remove(place.folder, &old_name)?;
                }
                None => self.ops.rename_new(place.folder, &old_name, place.name)?,
                Some(target) if self.has_digest(place, &target, after)? => {
                    self.ops.rename(place.folder, &old_name, place.name)?;
                }
                Some(_) => left = Some(self.keep_old(place, &old_name)?),
            }
        }
        self.ops.remove_if_any(place.folder, &self.journal.new_name(place.index))?;
        Ok(left)
    }

    fn undo_delete(&self, place: &Place) -> io::Result<Option<Kept>> {
        let old_name = self.journal.old_name(place.index);
        let Some(old) = self.ops.look(place.folder, &old_name)? else {
            return Ok(None);
        };
        match self.ops.look(place.folder, place.name)? {
            None => self.ops.rename_new(place.folder, &old_name, place.name)?,
            Some(target) if target.is_same_file(&old) => {
                self.ops.remove(place.folder, &old_name)?;
            }
            Some(_) => return Ok(Some(self.keep_old(place, &old_name)?)),
        }
        Ok(None)
    }

    /// What an overwrite leaves when it is cut short is known; anything else is someone's work.
    fn undo_overwrite(
        &self,
        place: &Place,
        inode: (u64, u64),
        mode: Option<u32>,
    ) -> io::Result<Option<Kept>> {
        let [before, after] = self.journal_folder.kept(self.ops, place.index)?;
        let found = self.ops.look(place.folder, place.name)?;
        let ours = found.is_some_and(|found| {
            found.kind() == FileKind::File && (found.device, found.inode) == inode
        });
        if ours {
            let mut file = self.ops.open_to_change(place.folder, place.name)?;
            let mut now = Vec::new();
            file.read_to_end(&mut now)?;
            let partly = now != before && is_partly_written(&now, &before, &after);
            if partly {
                self.ops.overwrite(&mut file, place.folder, place.name, &before)?;
            }
            if partly || now == before {
                if let Some(mode) = mode {
                    self.ops.set_mode(&file, mode, place.folder, place.name)?;
                }
                return Ok(None);
            }
        }
        let copy = self.store.keep(self.ops, &self.kept_name(place), &before)?;
        Ok(Some(self.left(place, Some(copy))))
    }

    fn has_digest(&self, place: &Place, found: &FileIdentity, expected: &str) -> io::Result<bool> {
        Ok(found.kind() == FileKind::File
            && digest(&self.ops.read(place.folder, place.name)?) == expected)
    }

    fn keep_old(&self, place: &Place, old_name: &OsStr) -> io::Result<Kept> {
        let bytes = self.ops.read(place.folder, old_name)?;
        let copy = self.store.keep(self.ops, &self.kept_name(place), &bytes)?;
        self.ops.remove(place.folder, old_name)?;
        Ok(self.left(place, Some(copy)))
    }

    fn kept_name(&self, place: &Place) -> OsString {
        let mut name = OsString::from(format!("{}-{}-", self.journal.id, place.index));
        name.push(place.name);
        // A file's name may already be as long as one can be.
        if name.len() > MAX_NAME_BYTES {
            name = format!("{}-{}", self.journal.id, place.index).into();
        }
        name
    }

    fn left(&self, place: &Place, copy: Option<PathBuf>) -> Kept {
        Kept { path: self.folders.workspace().absolute(place.path), copy }
    }

    fn remove_created(&mut self, uri: &str) -> io::Result<()> {
        let Some((_, folder, name)) = self.place(uri)? else {
            return Ok(());
        };
        match self.ops.remove_folder(&folder, &name) {
            // Gone, or someone put something into it, or it is no folder: not ours to remove.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::DirectoryNotEmpty
                        | io::ErrorKind::AlreadyExists
                        | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(())
            }
            result => result,
        }
    }

    /// The folder and the name of a URI; `None` when the folder does not exist.
    fn place(&mut self, uri: &str) -> io::Result<Option<(WorkspacePath, Arc<Folder>, OsString)>> {
        let absolute = uri_to_path(uri).map_err(io::Error::other)?;
        let path = self.folders.workspace().contain(&absolute).ok_or_else(|| {
            io::Error::other(format!("{} is outside the workspace", absolute.display()))
        })?;
        match self.folders.of(&path) {
            Ok((folder, name)) => Ok(Some((path, folder, name))),
            Err(error)
                if matches!(
                    error.kind(),
                    agent_workspace::ErrorKind::NotFound
                        | agent_workspace::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Best effort: the names are right already, and a journal that outlives them does no harm.
    fn sync(&mut self) {
        let mut synced = BTreeSet::new();
        for step in &self.journal.steps {
            if let Ok(Some((_, folder, _))) = self.place(&step.uri)
                && synced.insert(folder.path.clone())
            {
                let _ = self.ops.sync_folder(&folder);
            }
        }
    }
}

/// The longest name that common file systems take.
const MAX_NAME_BYTES: usize = 255;

/// True when every byte is that of the one side or of the other in the same place: an overwrite was cut short, or the
/// overwrite that was to take it back.
fn is_partly_written(now: &[u8], before: &[u8], after: &[u8]) -> bool {
    let shorter = before.len().min(after.len());
    let one_of_both = |(place, byte): (usize, &u8)| {
        before.get(place) == Some(byte) || after.get(place) == Some(byte)
    };
    now.len() >= shorter && now.iter().enumerate().all(one_of_both)
}
