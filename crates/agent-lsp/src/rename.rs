//! Whether a rename can be believed: the new name before a server is asked, and its edit before anything is written.
//!
//! Most servers take any text for a name, some answer before they know the project, and one counts positions otherwise than it
//! says. Each of these would be a wrong rename that looks like a right one.

mod complete;
mod leftovers;
mod name;
mod plan;
mod ranges;
mod reexported;
mod standing;

use agent_tool_core::{ErrorKind, ToolError};

use crate::edits::Changes;

pub use complete::{Compared, MISSING_LIMIT, Reference, check_complete};
pub use leftovers::{FILE_LEFTOVERS, LEFTOVERS_LIMIT, Leftovers, Where, leftovers};
pub use name::check_name;
pub use plan::{PlannedRename, RenameArgs};
pub use ranges::check_ranges;

/// An edit without edits is a failure: the server did not understand, or does not know the symbol.
///
/// # Errors
/// `empty_rename`.
pub fn check_not_empty(changes: &Changes, old: &str) -> Result<(), ToolError> {
    if changes.count() > 0 || !changes.operations.is_empty() {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorKind::Failed,
        "empty_rename",
        format!(
            "the server renamed `{old}` in no file; name the place where it is defined, or edit it by hand"
        ),
    ))
}
