#![doc = include_str!("../README.md")]

mod apply;
mod check;
mod edits;
mod error;
mod folders;
mod journal;
mod ops;
mod plan;
mod platform;
mod position;
mod protected;
mod recover;
mod store;
mod text_edits;
pub mod tool_error;
mod undo;

pub use check::{Deviation, DeviationKind};
pub use edits::{Applied, Change, Edits};
pub use error::{Error, ErrorKind, Result};
pub use ops::{Hook, Operation};
pub use plan::{ChangeKind, Entry, Executable, Plan};
pub use position::{LineIndex, Utf16Position};
pub use recover::{Kept, Recovery, RecoveryOutcome};
pub use text_edits::{TextEdit, TextEdits, with_newlines};
