//! What differs by platform.

use std::fs::Metadata;

/// Whether others than its owner may write to a folder, as far as its permission bits say.
#[cfg(unix)]
pub(crate) fn others_can_write(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o022 != 0
}

/// Elsewhere no bits say so.
#[cfg(not(unix))]
pub(crate) fn others_can_write(_metadata: &Metadata) -> bool {
    false
}
