#![doc = include_str!("../README.md")]

mod ancestors;
mod error;
mod glob;
mod open;
mod path;
mod platform;
mod resolve;
mod text;
mod uri;
mod walk;
mod workspace;

pub use error::{Error, ErrorKind, Result};
pub use open::{FileContent, FileIdentity, FileKind, MAX_READ_BYTES, OpenFile, folder_names};
pub use path::WorkspacePath;
pub use platform::Containment;
pub use text::{BINARY_PROBE_BYTES, Encoding, LineEnding, Text, TextInfo};
pub use uri::{path_to_uri, uri_to_path};
pub use walk::{MAX_SEARCH_BYTES, SkipReason, Skipped, Walk, WalkOptions};
pub use workspace::{Root, Workspace, WorkspaceBuilder};
