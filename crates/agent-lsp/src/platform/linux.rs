use std::{
    ffi::{OsStr, OsString},
    io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::Path,
};

use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
    io::Errno,
};

use super::{Entry, FolderEvent};

/// How many bytes of events are read at once.
const BUFFER: usize = 16 * 1024;

/// The system's queue of what happens in folders. What happened before it is read is in it: no thread
/// and no clock stands between a change and the one who asks.
#[derive(Debug)]
pub(crate) struct FolderEvents {
    queue: OwnedFd,
}

impl FolderEvents {
    /// None where the system has no more of them to give.
    pub(crate) fn open() -> Option<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        Some(Self { queue })
    }

    /// Watches a folder; gives the number of the watch, the same for the same folder.
    pub(crate) fn watch(&self, folder: &Path) -> io::Result<i32> {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR
            | WatchFlags::EXCL_UNLINK;
        Ok(inotify::add_watch(&self.queue, folder, flags)?)
    }

    /// What happened since this was called last.
    pub(crate) fn take(&self) -> Vec<FolderEvent> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        let mut events = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    let name = name.map(OsStr::to_owned).unwrap_or_default();
                    events.extend(read(event.wd(), event.events(), name));
                }
                Err(Errno::INTR) => {}
                Err(_) => return events,
            }
        }
    }
}

fn read(watch: i32, flags: ReadFlags, name: OsString) -> Option<FolderEvent> {
    if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
        return Some(FolderEvent::Lost);
    }
    if flags.contains(ReadFlags::IGNORED) {
        return Some(FolderEvent::Ended(watch));
    }
    let entry = if flags.contains(ReadFlags::ISDIR) { Entry::Folder } else { Entry::File };
    if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
        Some(FolderEvent::Came(watch, name, entry))
    } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
        Some(FolderEvent::Went(watch, name, entry))
    } else if flags.intersects(ReadFlags::MODIFY | ReadFlags::CLOSE_WRITE) {
        Some(FolderEvent::Changed(watch, name))
    } else {
        None
    }
}
