use std::{io, path::Path};

use super::FolderEvent;

/// Elsewhere nothing is watched: changes of files that no server has open are not seen.
#[derive(Debug)]
pub(crate) struct FolderEvents;

impl FolderEvents {
    pub(crate) fn open() -> Option<Self> {
        None
    }

    pub(crate) fn watch(&self, _folder: &Path) -> io::Result<i32> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(crate) fn take(&self) -> Vec<FolderEvent> {
        Vec::new()
    }
}
