//! What tells one state of a file from another.

use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

/// The state of the log that a plan was made for.
///
/// The inode alone is no identity, since a file that is made after another was deleted gets its number; and size and time of
/// modification can be put back by whoever writes. The time of the last change cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    device: u64,
    inode: u64,
    size: i64,
    modified_s: i64,
    modified_ns: i64,
    changed_s: i64,
    changed_ns: i64,
}

/// Which file it is, whatever is written into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Fingerprint {
    #[expect(clippy::unnecessary_cast, reason = "the widths of these fields differ by platform")]
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as i64,
            modified_s: stat.st_mtime as i64,
            modified_ns: stat.st_mtime_nsec as i64,
            changed_s: stat.st_ctime as i64,
            changed_ns: stat.st_ctime_nsec as i64,
        }
    }

    /// In bytes.
    pub(crate) fn size(&self) -> i64 {
        self.size
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity { device: self.device, inode: self.inode }
    }
}

impl Identity {
    pub(crate) fn of(stat: &Stat) -> Self {
        Fingerprint::of(stat).identity()
    }
}
