//! Whether a file still is what a plan was made from.

use std::{fmt, io, io::Read};

use agent_workspace::{FileIdentity, FileKind, Workspace, WorkspacePath};

use crate::{
    Entry,
    folders::{Folder, Folders},
    ops::Ops,
};

/// A file that refused a change, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deviation {
    /// The file as it was named.
    pub path: WorkspacePath,
    /// The file as shown.
    pub shown: String,
    /// Why.
    pub kind: DeviationKind,
}

/// How a file differs from what a plan was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviationKind {
    /// Its bytes are others.
    Changed,
    /// It is gone.
    Deleted,
    /// There was none, and now there is.
    Appeared,
    /// A link stands in its place.
    BecameLink,
    /// A folder stands in its place.
    BecameFolder,
    /// A fifo, a socket or a device stands in its place.
    BecameSpecial,
    /// A link on the way leads elsewhere now.
    LeadsElsewhere,
    /// It cannot be read.
    Unreadable,
    /// It has no write bit for its owner.
    ReadOnly,
}

impl fmt::Display for DeviationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "changed",
            Self::Deleted => "deleted",
            Self::Appeared => "created by someone else",
            Self::BecameLink => "replaced by a link",
            Self::BecameFolder => "replaced by a folder",
            Self::BecameSpecial => "replaced by a special file",
            Self::LeadsElsewhere => "reached through a link that leads elsewhere now",
            Self::Unreadable => "unreadable",
            Self::ReadOnly => "read-only",
        })
    }
}

impl Deviation {
    pub(crate) fn new(workspace: &Workspace, path: &WorkspacePath, kind: DeviationKind) -> Self {
        Self { path: path.clone(), shown: workspace.show(path), kind }
    }
}

/// Holds one entry against its file. The answer is what stands there, `None` for nothing.
pub(crate) fn check(
    ops: &Ops,
    folders: &mut Folders,
    entry: &Entry,
) -> Result<Option<FileIdentity>, DeviationKind> {
    match folders.workspace().follow(entry.path()) {
        Ok(target) if target == *entry.target() => {}
        Ok(_) => return Err(DeviationKind::LeadsElsewhere),
        Err(error) => return Err(of_error(&error, entry)),
    }
    let (folder, name) = match folders.of(entry.target()) {
        Ok(found) => found,
        Err(error) if error.kind() == agent_workspace::ErrorKind::NotFound => {
            return match entry.before() {
                Some(_) => Err(DeviationKind::Deleted),
                None => Ok(None),
            };
        }
        Err(error) => return Err(of_error(&error, entry)),
    };
    check_in(ops, &folder, &name, entry.before())
}

/// The same for a folder that is open already: the last look before a rename.
pub(crate) fn check_in(
    ops: &Ops,
    folder: &Folder,
    name: &std::ffi::OsStr,
    before: Option<&[u8]>,
) -> Result<Option<FileIdentity>, DeviationKind> {
    let found = ops.look(folder, name).map_err(|_| DeviationKind::Unreadable)?;
    let (found, before) = match (found, before) {
        (None, None) => return Ok(None),
        (None, Some(_)) => return Err(DeviationKind::Deleted),
        (Some(_), None) => return Err(DeviationKind::Appeared),
        (Some(found), Some(before)) => (found, before),
    };
    match found.kind() {
        FileKind::Folder => return Err(DeviationKind::BecameFolder),
        FileKind::Link => return Err(DeviationKind::BecameLink),
        FileKind::File => {}
        _ => return Err(DeviationKind::BecameSpecial),
    }
    match has_bytes(ops, folder, name, &found, before) {
        Ok(true) => Ok(Some(found)),
        Ok(false) => Err(DeviationKind::Changed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(DeviationKind::Deleted),
        Err(_) => Err(DeviationKind::Unreadable),
    }
}

/// Reads no more than one byte over what is expected, so a file that grew to gigabytes costs nothing.
fn has_bytes(
    ops: &Ops,
    folder: &Folder,
    name: &std::ffi::OsStr,
    found: &FileIdentity,
    expected: &[u8],
) -> io::Result<bool> {
    let file = ops.open_to_read(folder, name)?;
    let opened = FileIdentity::of(&file)?;
    if !opened.is_same_file(found) || opened.size != expected.len() as u64 {
        return Ok(false);
    }
    let mut bytes = Vec::with_capacity(expected.len() + 1);
    file.take(expected.len() as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes == expected)
}

fn of_error(error: &agent_workspace::Error, entry: &Entry) -> DeviationKind {
    use agent_workspace::ErrorKind;
    match error.kind() {
        ErrorKind::OutsideWorkspace | ErrorKind::LinkLoop => DeviationKind::LeadsElsewhere,
        ErrorKind::NotFound | ErrorKind::NotADirectory if entry.before().is_some() => {
            DeviationKind::Deleted
        }
        ErrorKind::NotADirectory => DeviationKind::Appeared,
        // A link to nothing stands where a file was to be created.
        ErrorKind::NotFound => DeviationKind::BecameLink,
        _ => DeviationKind::Unreadable,
    }
}
