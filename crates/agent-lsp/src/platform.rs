//! What differs by the system: being told of changes in folders.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

use std::ffi::OsString;

#[cfg(target_os = "linux")]
pub(crate) use linux::FolderEvents;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::FolderEvents;

/// What happened in a folder that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FolderEvent {
    /// Something came: the number of the folder's watch, and its name.
    Came(i32, OsString, Entry),
    /// Something has another content.
    Changed(i32, OsString),
    /// Something is gone.
    Went(i32, OsString, Entry),
    /// The folder itself is gone.
    Ended(i32),
    /// There was more than could be kept.
    Lost,
}

/// What it happened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    File,
    Folder,
}
