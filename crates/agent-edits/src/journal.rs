//! What a change is about to do, written down before the first file is touched.

use std::{ffi::OsString, io};

use agent_workspace::folder_names;
use serde::{Deserialize, Serialize};

use crate::{folders::Folder, ops::Ops, platform, store::Store};

/// The version of the journal's format.
const VERSION: u32 = 1;

const JOURNAL: &str = "journal.json";
const PREPARED: &str = "prepared";
const DONE: &str = "done";

/// The prefix of every temporary name in a checkout.
pub(crate) const TEMPORARY_PREFIX: &str = ".agent-edits-";

/// A change, by absolute `file://` URIs: a name that is not UTF-8 has no other form in JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Journal {
    version: u32,
    pub(crate) id: String,
    pub(crate) roots: Vec<RootRecord>,
    /// Folders that are created, the outer before the inner.
    pub(crate) folders: Vec<String>,
    pub(crate) steps: Vec<Step>,
}

/// The root of a workspace, bound to its inode: another folder that came to have its path is not touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RootRecord {
    pub(crate) uri: String,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) uri: String,
    pub(crate) action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// The temporary file gets the name. `after` is the SHA-256 of its bytes.
    Create { after: String },
    /// The old file gets a second name, then the temporary file its name.
    Replace { after: String },
    /// The file has several names, so its inode is written over. The bytes of both sides are in the journal's folder.
    /// `mode` has the permission bits from before, where they change.
    Overwrite {
        device: u64,
        inode: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// The old file is renamed away.
    Delete,
}

/// The folder of one journal inside of the state folder.
#[derive(Debug)]
pub(crate) struct JournalFolder {
    name: OsString,
    folder: Folder,
}

/// How far a change has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No name that counts has been touched.
    Begun,
    /// All temporary files are complete; names may have been changed.
    Prepared,
    /// Every name is new; what is left is to clean up.
    Done,
}

impl Journal {
    pub(crate) fn new(id: String, roots: Vec<RootRecord>) -> Self {
        Self { version: VERSION, id, roots, folders: Vec::new(), steps: Vec::new() }
    }

    /// The name of the new file before it gets its own, in the same folder.
    pub(crate) fn new_name(&self, step: usize) -> OsString {
        format!("{TEMPORARY_PREFIX}{}-{step}.new", self.id).into()
    }

    /// The name of the old file after it lost its own, in the same folder.
    pub(crate) fn old_name(&self, step: usize) -> OsString {
        format!("{TEMPORARY_PREFIX}{}-{step}.old", self.id).into()
    }
}

impl JournalFolder {
    pub(crate) fn create(ops: &Ops, store: &Store, id: &str) -> io::Result<Self> {
        let name = OsString::from(id);
        ops.create_folder(store.folder(), &name, platform::PRIVATE_FOLDER_MODE)?;
        Self::open(store, name)
    }

    pub(crate) fn open(store: &Store, name: OsString) -> io::Result<Self> {
        let folder = Folder {
            handle: platform::open_folder_in(&store.folder().handle, &name)?,
            path: store.folder().path.join(&name),
        };
        Ok(Self { name, folder })
    }

    /// Keeps the bytes of both sides of a file that is written over.
    pub(crate) fn keep(
        &self,
        ops: &Ops,
        step: usize,
        before: &[u8],
        after: &[u8],
    ) -> io::Result<()> {
        let [before_name, after_name] = kept_names(step);
        ops.create_private(&self.folder, &before_name, before)?;
        ops.create_private(&self.folder, &after_name, after)
    }

    /// The bytes before and after of a step that has them.
    pub(crate) fn kept(&self, ops: &Ops, step: usize) -> io::Result<[Vec<u8>; 2]> {
        let [before, after] = kept_names(step);
        Ok([ops.read(&self.folder, &before)?, ops.read(&self.folder, &after)?])
    }

    /// The journal counts from here on; what it names is kept already.
    pub(crate) fn begin(&self, ops: &Ops, store: &Store, journal: &Journal) -> io::Result<()> {
        let draft = OsString::from(format!("{JOURNAL}.draft"));
        let bytes = serde_json::to_vec_pretty(journal)?;
        ops.create_private(&self.folder, &draft, &bytes)?;
        ops.rename(&self.folder, &draft, JOURNAL.as_ref())?;
        ops.sync_folder(&self.folder)?;
        ops.sync_folder(store.folder())
    }

    /// The journal; `None` when it never began or was cleaned up but for the folder.
    pub(crate) fn read(&self, ops: &Ops) -> io::Result<Option<Journal>> {
        let bytes = match ops.read(&self.folder, JOURNAL.as_ref()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let journal: Journal = serde_json::from_slice(&bytes)?;
        if journal.version != VERSION {
            let message = format!("the journal has version {}", journal.version);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Some(journal))
    }

    pub(crate) fn stage(&self, ops: &Ops) -> io::Result<Stage> {
        if ops.look(&self.folder, DONE.as_ref())?.is_some() {
            Ok(Stage::Done)
        } else if ops.look(&self.folder, PREPARED.as_ref())?.is_some() {
            Ok(Stage::Prepared)
        } else {
            Ok(Stage::Begun)
        }
    }

    pub(crate) fn mark_prepared(&self, ops: &Ops) -> io::Result<()> {
        self.mark(ops, PREPARED)?;
        ops.sync_folder(&self.folder)
    }

    /// The point of no return: with this name the change is made. A sync that fails after it cannot take it back.
    pub(crate) fn mark_done(&self, ops: &Ops) -> io::Result<()> {
        self.mark(ops, DONE)?;
        let _ = ops.sync_folder(&self.folder);
        Ok(())
    }

    fn mark(&self, ops: &Ops, name: &str) -> io::Result<()> {
        ops.create_empty(&self.folder, name.as_ref())
    }

    /// Ends the journal: first the file that makes it count, then the rest.
    pub(crate) fn remove(&self, ops: &Ops, store: &Store) -> io::Result<()> {
        ops.remove_if_any(&self.folder, JOURNAL.as_ref())?;
        for name in folder_names(&self.folder.handle)? {
            ops.remove_if_any(&self.folder, &name)?;
        }
        ops.remove_folder(store.folder(), &self.name)
    }
}

fn kept_names(step: usize) -> [OsString; 2] {
    [format!("{step}.before").into(), format!("{step}.after").into()]
}
