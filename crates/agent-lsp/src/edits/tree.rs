//! The files as they would be after each step of an edit.

use std::{collections::BTreeMap, path::Path};

use agent_edits::{
    Plan,
    tool_error::{of_edits, of_workspace},
};
use agent_tool_core::{ErrorKind, ToolError};
use agent_workspace::{FileContent, FileKind, WalkOptions, Workspace, WorkspacePath};

use super::{FileOperation, place::Place};

/// A folder with more files is not moved or removed because a server says so.
pub const MAX_MOVED_FILES: usize = 1000;

/// What becomes of a file that is where one should be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exists {
    Refuse,
    Keep,
    Replace,
}

/// Whether a file that should go must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Refuse,
    Ignore,
}

/// Whether what is in a folder goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    One,
    All,
}

impl Exists {
    /// `overwrite` wins over `ignoreIfExists` (LSP 3.17, `CreateFileOptions`).
    pub(super) fn of(overwrite: Option<bool>, ignore: Option<bool>) -> Self {
        match (overwrite, ignore) {
            (Some(true), _) => Self::Replace,
            (_, Some(true)) => Self::Keep,
            _ => Self::Refuse,
        }
    }
}

impl Missing {
    pub(super) fn of(ignored: bool) -> Self {
        if ignored { Self::Ignore } else { Self::Refuse }
    }
}

impl Depth {
    pub(super) fn of(recursive: bool) -> Self {
        if recursive { Self::All } else { Self::One }
    }
}

/// The files that an edit touches.
pub(super) struct Tree<'a> {
    workspace: &'a Workspace,
    slots: BTreeMap<WorkspacePath, Slot>,
    /// In the order in which they were touched, for a plan that reads as the edit does.
    order: Vec<WorkspacePath>,
}

struct Slot {
    original: Option<FileContent>,
    now: Option<Now>,
}

struct Now {
    bytes: Vec<u8>,
    /// The path that the file had before the edit; `None` when the edit made it.
    origin: Option<WorkspacePath>,
    edited: bool,
}

impl<'a> Tree<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, slots: BTreeMap::new(), order: Vec::new() }
    }

    /// The bytes of a file after the steps so far.
    pub(super) fn bytes(&mut self, path: &WorkspacePath) -> Result<&[u8], ToolError> {
        let shown = self.workspace.show(path);
        match &self.slot(path)?.now {
            Some(now) => Ok(&now.bytes),
            None => Err(not_found(&shown)),
        }
    }

    /// The name that a file had before the edit, where its bytes are still those.
    pub(super) fn unedited(&self, path: &WorkspacePath) -> Option<&WorkspacePath> {
        let now = self.slots.get(path)?.now.as_ref()?;
        now.origin.as_ref().filter(|_| !now.edited)
    }

    /// The name that a file had before the edit.
    pub(super) fn origin(&self, path: &WorkspacePath) -> WorkspacePath {
        let now = self.slots.get(path).and_then(|slot| slot.now.as_ref());
        now.and_then(|now| now.origin.clone()).unwrap_or_else(|| path.clone())
    }

    pub(super) fn write(&mut self, path: &WorkspacePath, bytes: Vec<u8>) -> Result<(), ToolError> {
        if let Some(now) = &mut self.slot(path)?.now {
            now.bytes = bytes;
            now.edited = true;
        }
        Ok(())
    }

    pub(super) fn create(
        &mut self,
        place: &Place,
        exists: Exists,
    ) -> Result<Option<FileOperation>, ToolError> {
        let shown = self.workspace.show(&place.target);
        if self.is_folder(&place.target) {
            return Err(already_exists(&shown));
        }
        let slot = self.slot(&place.target)?;
        match (&slot.now, exists) {
            (Some(_), Exists::Refuse) => return Err(already_exists(&shown)),
            (Some(_), Exists::Keep) => return Ok(None),
            _ => {}
        }
        slot.now = Some(Now { bytes: Vec::new(), origin: None, edited: true });
        Ok(Some(FileOperation::Create { file: shown }))
    }

    pub(super) fn rename(
        &mut self,
        from: &Place,
        to: &Place,
        exists: Exists,
    ) -> Result<Vec<FileOperation>, ToolError> {
        self.refuse_link(from)?;
        if !self.is_folder(&from.target) {
            return Ok(self.rename_file(&from.target, &to.target, exists)?.into_iter().collect());
        }
        let mut operations = Vec::new();
        for file in self.files_in(&from.target)? {
            let below = file.rel().strip_prefix(from.target.rel()).unwrap_or(Path::new(""));
            let Some(target) = to.target.join(below) else { continue };
            operations.extend(self.rename_file(&file, &target, exists)?);
        }
        Ok(operations)
    }

    pub(super) fn delete(
        &mut self,
        place: &Place,
        missing: Missing,
        depth: Depth,
    ) -> Result<Vec<FileOperation>, ToolError> {
        self.refuse_link(place)?;
        let shown = self.workspace.show(&place.target);
        let files = if self.is_folder(&place.target) {
            let files = self.files_in(&place.target)?;
            if depth == Depth::One && !files.is_empty() {
                return Err(ToolError::new(
                    ErrorKind::Failed,
                    "folder_not_empty",
                    format!(
                        "the server would remove the folder {shown}, which is not empty; nothing was written"
                    ),
                ));
            }
            files
        } else if self.slot(&place.target)?.now.is_some() {
            vec![place.target.clone()]
        } else if missing == Missing::Ignore {
            Vec::new()
        } else {
            return Err(not_found(&shown));
        };
        let mut operations = Vec::new();
        for file in files {
            self.slot(&file)?.now = None;
            operations.push(FileOperation::Delete { file: self.workspace.show(&file) });
        }
        Ok(operations)
    }

    /// The plan that makes all of it at once.
    pub(super) fn plan(self) -> Result<Plan, ToolError> {
        let mut plan = Plan::new(self.workspace);
        let gone =
            |path: &WorkspacePath| self.slots.get(path).is_some_and(|slot| slot.now.is_none());
        let moved_away = |path: &WorkspacePath| {
            self.slots.iter().any(|(to, slot)| {
                slot.original.is_none()
                    && to != path
                    && slot.now.as_ref().is_some_and(|now| now.origin.as_ref() == Some(path))
            })
        };
        for path in &self.order {
            let Some(slot) = self.slots.get(path) else { continue };
            match (&slot.original, &slot.now) {
                (None, Some(now)) => match &now.origin {
                    Some(from) if gone(from) => plan.rename(from, path, Some(now.bytes.clone())),
                    _ => plan.create(path, now.bytes.clone()),
                },
                (Some(before), Some(now)) => plan.modify(path, before.clone(), now.bytes.clone()),
                (Some(_), None) if !moved_away(path) => plan.delete(path),
                (_, None) => Ok(()),
            }
            .map_err(of_edits)?;
        }
        self.refuse_changed(&plan)?;
        Ok(plan)
    }

    /// A plan reads anew what it moves and removes; that must be what the edit was made for.
    fn refuse_changed(&self, plan: &Plan) -> Result<(), ToolError> {
        for entry in plan.entries() {
            let original = self.slots.get(entry.target()).and_then(|slot| slot.original.as_ref());
            if original.map(|content| content.bytes.as_slice()) != entry.before() {
                return Err(ToolError::new(
                    ErrorKind::Conflict,
                    "stale_rename",
                    format!(
                        "{} changes just now; nothing was written, so ask again",
                        self.workspace.show(entry.path())
                    ),
                ));
            }
        }
        Ok(())
    }

    fn rename_file(
        &mut self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        exists: Exists,
    ) -> Result<Option<FileOperation>, ToolError> {
        let (shown_from, shown_to) = (self.workspace.show(from), self.workspace.show(to));
        if self.slot(from)?.now.is_none() {
            return Err(not_found(&shown_from));
        }
        if from == to {
            return Ok(None);
        }
        if self.is_folder(to) {
            return Err(already_exists(&shown_to));
        }
        match (&self.slot(to)?.now, exists) {
            (Some(_), Exists::Refuse) => return Err(already_exists(&shown_to)),
            (Some(_), Exists::Keep) => return Ok(None),
            _ => {}
        }
        let now = self.slot(from)?.now.take();
        self.slot(to)?.now = now;
        Ok(Some(FileOperation::Rename { from: shown_from, to: shown_to }))
    }

    /// The files below a folder after the steps so far.
    fn files_in(&mut self, folder: &WorkspacePath) -> Result<Vec<WorkspacePath>, ToolError> {
        let options = WalkOptions::new().include_hidden().include_ignored();
        let walk = match self.workspace.walk(folder, &options) {
            Ok(walk) => walk,
            Err(error) if error.kind() == agent_workspace::ErrorKind::NotFound => {
                Default::default()
            }
            Err(error) => return Err(of_workspace(error)),
        };
        let shown = self.workspace.show(folder);
        if let Some(skipped) = walk.skipped.first() {
            return Err(ToolError::new(
                ErrorKind::Denied,
                "is_a_link",
                format!(
                    "the folder {shown} has {} ({}), which is not moved or removed here; nothing was written",
                    self.workspace.show(&skipped.path),
                    skipped.reason.words()
                ),
            ));
        }
        if walk.files.len() > MAX_MOVED_FILES {
            return Err(ToolError::new(
                ErrorKind::Denied,
                "too_many_files",
                format!(
                    "the folder {shown} has {} files and at most {MAX_MOVED_FILES} are moved or removed at once; nothing was \
                     written, so do it with a shell command",
                    walk.files.len()
                ),
            ));
        }
        for file in &walk.files {
            self.slot(file)?;
        }
        let there =
            self.slots.iter().filter(|(path, slot)| path.is_within(folder) && slot.now.is_some());
        Ok(there.map(|(path, _)| path.clone()).collect())
    }

    fn is_folder(&self, path: &WorkspacePath) -> bool {
        self.workspace.identity(path).is_ok_and(|found| found.kind() == FileKind::Folder)
    }

    fn refuse_link(&self, place: &Place) -> Result<(), ToolError> {
        if place.named == place.target || self.slots.contains_key(&place.named) {
            return Ok(());
        }
        let is_link = self
            .workspace
            .absolute(&place.named)
            .symlink_metadata()
            .is_ok_and(|it| it.is_symlink());
        if !is_link {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorKind::Denied,
            "is_a_link",
            format!(
                "{} is a link, which is not moved or removed here; nothing was written",
                self.workspace.show(&place.named)
            ),
        ))
    }

    /// A file as it is on disk, read when it is first touched.
    fn slot(&mut self, path: &WorkspacePath) -> Result<&mut Slot, ToolError> {
        if !self.slots.contains_key(path) {
            let original = match self.workspace.read(path) {
                Ok(content) => Some(content),
                Err(error) if error.kind() == agent_workspace::ErrorKind::NotFound => None,
                Err(error) => return Err(of_workspace(error)),
            };
            self.order.push(path.clone());
            let now = original.as_ref().map(|content| Now {
                bytes: content.bytes.clone(),
                origin: Some(path.clone()),
                edited: false,
            });
            self.slots.insert(path.clone(), Slot { original, now });
        }
        self.slots.get_mut(path).ok_or_else(|| not_found(&self.workspace.show(path)))
    }
}

fn not_found(shown: &str) -> ToolError {
    ToolError::new(
        ErrorKind::NotFound,
        "not_found",
        format!(
            "the server would change {shown}, which is not there; nothing was written, so reload the server"
        ),
    )
}

fn already_exists(shown: &str) -> ToolError {
    ToolError::new(
        ErrorKind::Conflict,
        "already_exists",
        format!(
            "the server would make {shown}, which is there already; nothing was written, so take another name"
        ),
    )
}
