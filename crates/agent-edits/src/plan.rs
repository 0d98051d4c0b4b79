//! What a change would do, as data: made once, shown for approval, applied as shown.

use std::{collections::HashSet, fmt::Write as _};

use agent_tool_core::{Content, FileChange};
use agent_workspace::{FileContent, FileIdentity, Workspace, WorkspacePath};
use sha2::{Digest, Sha256};

use crate::{Error, ErrorKind, Result, platform, protected::is_protected};

/// A change of files that has not been made. It holds the bytes of every file before and after.
///
/// Nothing that belongs to git is planned (`protected_path`): every method that takes a path refuses one with a
/// component `.git`, in any case of its letters, and one that leads there through a link.
#[derive(Debug, Clone)]
pub struct Plan {
    workspace: Workspace,
    entries: Vec<Entry>,
    targets: HashSet<WorkspacePath>,
}

/// What a plan does to one file.
#[derive(Debug, Clone)]
pub struct Entry {
    path: WorkspacePath,
    target: WorkspacePath,
    before: Option<FileContent>,
    after: Option<Vec<u8>>,
    mode: Option<u32>,
    executable: Option<Executable>,
}

/// Whether a file can be executed. Read and write bits are not a plan's to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a file is one of both")]
pub enum Executable {
    /// By everyone who may read it.
    Yes,
    /// By nobody.
    No,
}

impl Executable {
    /// Permission bits with the executable ones set or cleared.
    pub(crate) fn of(self, mode: u32) -> u32 {
        match self {
            Self::Yes => mode | (mode & platform::READ_BITS) >> 2,
            Self::No => mode & !platform::EXECUTE_BITS,
        }
    }
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// There was none.
    Create,
    /// Its bytes change, or whether it can be executed.
    Modify,
    /// It goes away.
    Delete,
    /// Its bytes are to be as they are; the plan only holds that they were so.
    Unchanged,
}

impl Plan {
    /// A plan without files.
    pub fn new(workspace: &Workspace) -> Self {
        Self { workspace: workspace.clone(), entries: Vec::new(), targets: HashSet::new() }
    }

    /// Changes a file from what the caller read to `after`.
    ///
    /// # Errors
    /// `protected_path`, `duplicate_path`, and those of [`Workspace::follow`].
    pub fn modify(
        &mut self,
        path: &WorkspacePath,
        before: FileContent,
        after: Vec<u8>,
    ) -> Result<()> {
        let target = self.target(path)?;
        self.push(Entry {
            path: path.clone(),
            target,
            before: Some(before),
            after: Some(after),
            mode: None,
            executable: None,
        })
    }

    /// Makes a file be `after`, whether it exists or not. Missing folders are created.
    ///
    /// # Errors
    /// `protected_path`, `duplicate_path`, and those of [`Workspace::read`] but `not_found`.
    pub fn write(&mut self, path: &WorkspacePath, after: Vec<u8>) -> Result<()> {
        let target = self.target(path)?;
        let before = self.read_if_any(&target)?;
        self.push(Entry {
            path: path.clone(),
            target,
            before,
            after: Some(after),
            mode: None,
            executable: None,
        })
    }

    /// Creates a file where none is. Missing folders are created.
    ///
    /// # Errors
    /// `protected_path`, `already_exists`, `duplicate_path`, and those of [`Workspace::follow`].
    pub fn create(&mut self, path: &WorkspacePath, after: Vec<u8>) -> Result<()> {
        self.create_with_mode(path, after, None)
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// `protected_path`, `is_a_link`, `duplicate_path`, and those of [`Workspace::read`].
    pub fn delete(&mut self, path: &WorkspacePath) -> Result<()> {
        let before = self.read_to_remove(path)?;
        self.push_delete(path, before)
    }

    /// Moves a file with its permission bits, and changes it to `after` if there is one.
    ///
    /// # Errors
    /// As [`Plan::delete`] for `from` and [`Plan::create`] for `to`.
    pub fn rename(
        &mut self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        after: Option<Vec<u8>>,
    ) -> Result<()> {
        let before = self.read_to_remove(from)?;
        let after = after.unwrap_or_else(|| before.bytes.clone());
        let mode = before.identity.mode & platform::PERMISSION_BITS;
        self.create_with_mode(to, after, Some(mode))?;
        self.push_delete(from, before).inspect_err(|_| {
            if let Some(created) = self.entries.pop() {
                self.targets.remove(&created.target);
            }
        })
    }

    /// Makes a file executable, or not: one that the plan writes, or else one whose bytes stay as they are.
    ///
    /// # Errors
    /// `protected_path`, `duplicate_path` for a file that the plan deletes and for two names of one file, and those of
    /// [`Workspace::read`].
    pub fn executable(&mut self, path: &WorkspacePath, executable: Executable) -> Result<()> {
        let target = self.target(path)?;
        let at = self.entries.iter().position(|entry| entry.target == target);
        let mut entry = match at {
            Some(at) => self.entries[at].clone(),
            None => {
                let before = self.workspace.read(&target)?;
                let after = Some(before.bytes.clone());
                let path = path.clone();
                Entry { path, target, before: Some(before), after, mode: None, executable: None }
            }
        };
        entry.executable = Some(executable);
        let shown = self.workspace.show(path);
        if entry.after.is_none() {
            return Err(Error::new(
                ErrorKind::DuplicatePath,
                format!("`{shown}` is deleted by this change and cannot be made executable or not"),
            ));
        }
        match at {
            Some(at) => {
                self.refuse_two_contents(&entry, &shown)?;
                self.entries[at] = entry;
                Ok(())
            }
            None => self.push(entry),
        }
    }

    /// The files, in the order in which they were added.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// True when there is no file whose bytes would change.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(|entry| entry.kind() == ChangeKind::Unchanged)
    }

    /// The workspace that the plan is for.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The files that change, as shown, with their content before and after: what a tool says that it changed.
    #[must_use]
    pub fn changes(&self) -> Vec<FileChange> {
        let side = |bytes: Option<&[u8]>| bytes.map_or(Content::Absent, Content::of);
        let changed = self.entries.iter().filter(|entry| entry.kind() != ChangeKind::Unchanged);
        changed
            .map(|entry| {
                let shown = self.workspace.show(&entry.path);
                FileChange::new(shown, side(entry.before()), side(entry.after()))
            })
            .collect()
    }

    /// SHA-256, in hex, over every path with its bytes before and after. An approval that holds it approves exactly this.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"agent-edits plan 1\n");
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by(|a, b| a.target.cmp(&b.target));
        for entry in entries {
            field(&mut hash, Some(self.workspace.uri(&entry.path).as_bytes()));
            field(&mut hash, Some(self.workspace.uri(&entry.target).as_bytes()));
            field(&mut hash, entry.before());
            field(&mut hash, entry.after());
            field(&mut hash, entry.mode.map(u32::to_be_bytes).as_ref().map(<[u8; 4]>::as_slice));
            field(
                &mut hash,
                entry.executable.map(|to| format!("{to:?}")).as_ref().map(String::as_bytes),
            );
        }
        hex(&hash.finalize())
    }

    fn create_with_mode(
        &mut self,
        path: &WorkspacePath,
        after: Vec<u8>,
        mode: Option<u32>,
    ) -> Result<()> {
        let target = self.target(path)?;
        if self.workspace.identity(&target).is_ok() {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                format!(
                    "`{}` already exists; edit it, or choose another name",
                    self.workspace.show(path)
                ),
            ));
        }
        self.push(Entry {
            path: path.clone(),
            target,
            before: None,
            after: Some(after),
            mode,
            executable: None,
        })
    }

    /// The file that is written by this name, where it may be changed at all.
    fn target(&self, path: &WorkspacePath) -> Result<WorkspacePath> {
        let protected = || {
            Error::new(
                ErrorKind::ProtectedPath,
                format!(
                    "`{}` belongs to git, which runs what its hooks and its configuration name, so it is not changed \
                     here; change it with git's own commands, or ask the person to",
                    self.workspace.show(path)
                ),
            )
        };
        if is_protected(path) {
            return Err(protected());
        }
        let target = self.workspace.follow(path)?;
        if is_protected(&target) { Err(protected()) } else { Ok(target) }
    }

    fn push_delete(&mut self, path: &WorkspacePath, before: FileContent) -> Result<()> {
        let target = self.target(path)?;
        self.push(Entry {
            path: path.clone(),
            target,
            before: Some(before),
            after: None,
            mode: None,
            executable: None,
        })
    }

    /// What a link names would stay behind, or go without being named; so a link is refused.
    fn read_to_remove(&self, path: &WorkspacePath) -> Result<FileContent> {
        self.target(path)?;
        let is_link =
            self.workspace.absolute(path).symlink_metadata().is_ok_and(|found| found.is_symlink());
        if is_link {
            return Err(Error::new(
                ErrorKind::IsALink,
                format!(
                    "`{}` is a link, which is neither deleted nor renamed here; name its target",
                    self.workspace.show(path)
                ),
            ));
        }
        Ok(self.workspace.read(path)?)
    }

    fn read_if_any(&self, path: &WorkspacePath) -> Result<Option<FileContent>> {
        match self.workspace.read(path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == agent_workspace::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn push(&mut self, entry: Entry) -> Result<()> {
        let shown = self.workspace.show(&entry.path);
        if entry.target.is_root() {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                format!("`{shown}` is a root of the workspace; name a file in it"),
            ));
        }
        if self.targets.contains(&entry.target) {
            return Err(Error::new(
                ErrorKind::DuplicatePath,
                format!(
                    "`{shown}` is in this change twice, perhaps through a link; put all its edits into one"
                ),
            ));
        }
        self.refuse_two_contents(&entry, &shown)?;
        self.targets.insert(entry.target.clone());
        self.entries.push(entry);
        Ok(())
    }

    /// Two names of one inode cannot get different content.
    fn refuse_two_contents(&self, entry: &Entry, shown: &str) -> Result<()> {
        let (Some(identity), Some(after)) = (entry.identity(), entry.after()) else {
            return Ok(());
        };
        if identity.links < 2 {
            return Ok(());
        }
        let other = self.entries.iter().find(|other| {
            other.target != entry.target
                && other.identity().is_some_and(|other| other.is_same_file(identity))
                && (other.after().is_some_and(|other| other != after)
                    || other.executable != entry.executable)
        });
        match other {
            Some(other) => Err(Error::new(
                ErrorKind::DuplicatePath,
                format!(
                    "`{shown}` and `{}` are hard links of one file and cannot get different content or modes; change one of them",
                    self.workspace.show(&other.path)
                ),
            )),
            None => Ok(()),
        }
    }
}

impl Entry {
    /// The path as it was named.
    pub fn path(&self) -> &WorkspacePath {
        &self.path
    }

    /// The path with links followed: the file that is written.
    pub fn target(&self) -> &WorkspacePath {
        &self.target
    }

    /// The bytes as read; `None` when there was no file.
    pub fn before(&self) -> Option<&[u8]> {
        self.before.as_ref().map(|content| content.bytes.as_slice())
    }

    /// The new bytes; `None` when the file goes away.
    pub fn after(&self) -> Option<&[u8]> {
        self.after.as_deref()
    }

    /// The identity as read; `None` when there was no file.
    pub fn identity(&self) -> Option<&FileIdentity> {
        self.before.as_ref().map(|content| &content.identity)
    }

    /// What happens to the file.
    pub fn kind(&self) -> ChangeKind {
        match (self.before(), self.after()) {
            (None, _) => ChangeKind::Create,
            (Some(_), None) => ChangeKind::Delete,
            (Some(before), Some(after)) if before == after && self.executable().is_none() => {
                ChangeKind::Unchanged
            }
            (Some(_), Some(_)) => ChangeKind::Modify,
        }
    }

    /// Whether the file becomes executable, or ceases to be; `None` where that stays as it is.
    pub fn executable(&self) -> Option<Executable> {
        // A new file is not executable, unless it is one that was moved.
        let bits = match (&self.before, self.mode) {
            (Some(before), _) => before.identity.mode,
            (None, Some(mode)) => mode,
            (None, None) => platform::NEW_FILE_MODE,
        };
        self.executable.filter(|executable| executable.of(bits) != bits)
    }

    /// The permission bits of a created file, where they are those of a file that was moved.
    pub(crate) fn mode(&self) -> Option<u32> {
        self.mode
    }
}

/// SHA-256 of bytes, in hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn field(hash: &mut Sha256, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            hash.update([1]);
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
        None => hash.update([0]),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string does not fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}
