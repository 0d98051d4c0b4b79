//! The folder of the log: the log itself and its archives.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::FileExt,
    },
};

use rustix::fs::{Dir, FileType, Stat, fstat};

use crate::{
    platform,
    refusal::{ASK_A_PERSON, Code, Refusal},
};

/// The way from the root to the folder of the log.
pub(crate) const LOGS: [&str; 2] = ["app", "logs"];

/// The log's name in its folder, and what an archive's begins with.
pub(crate) const LOG: &str = "app.log";

/// How the log is called in what a model reads.
pub(crate) const SHOWN: &str = "app/logs/app.log";

/// The folder of the log, opened without following a link.
#[derive(Debug)]
pub(crate) struct Logs {
    folder: OwnedFd,
}

/// The log, opened: a regular file and no link.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) file: File,
    pub(crate) stat: Stat,
}

impl Logs {
    pub(crate) fn new(folder: OwnedFd) -> Self {
        Self { folder }
    }

    pub(crate) fn log(&self) -> Result<Log, Refusal> {
        let file = platform::open_file(&self.folder, LOG).map_err(|error| Self::refusal(&error))?;
        let stat = fstat(&file)
            .map_err(|error| Refusal::io("cannot look at the log", error, ASK_A_PERSON))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(not_regular());
        }
        Ok(Log { file, stat })
    }

    /// The numbers of the archives, from the smallest.
    pub(crate) fn archives(&self) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in Dir::read_from(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_str().ok().filter(|name| is_archive(name));
            // A number that is too large for us is larger than any that we gave.
            numbers.extend(name.map(|name| name[LOG.len() + 1..].parse().unwrap_or(u64::MAX)));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Why the log, or a folder on the way to it, could not be opened.
    pub(crate) fn refusal(error: &io::Error) -> Refusal {
        match error.kind() {
            _ if platform::is_link(error) || platform::is_special(error) => not_regular(),
            // An open of a link as a folder answers so on Linux, as one of a file does.
            io::ErrorKind::NotADirectory => not_regular(),
            io::ErrorKind::NotFound => Refusal::new(
                Code::LogNotFound,
                format!(
                    "there is no {SHOWN}; that is no empty log: find out whether the application runs, and where it writes"
                ),
            ),
            io::ErrorKind::PermissionDenied => Refusal::new(
                Code::LogUnreadable,
                format!(
                    "this server may not read {SHOWN} or a folder on the way to it; let a person give its user the right to"
                ),
            ),
            kind => Refusal::io(&format!("cannot open {SHOWN}"), kind, ASK_A_PERSON),
        }
    }
}

impl AsFd for Logs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

impl Log {
    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or_default()
    }

    /// What stands from `offset` on, up to where the log ended when it was opened.
    pub(crate) fn read_from(&self, offset: u64) -> Result<Vec<u8>, Refusal> {
        let most = self.size().saturating_sub(offset);
        let mut bytes = Vec::with_capacity(most as usize);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.take(most).read_to_end(&mut bytes))
            .map_err(cannot_read)?;
        Ok(bytes)
    }

    /// Fills `buffer` from `offset` on, as far as the file goes, and says how far.
    pub(crate) fn read(&self, mut buffer: &mut [u8], offset: u64) -> Result<usize, Refusal> {
        let mut read = 0;
        while !buffer.is_empty() {
            match self.file.read_at(buffer, offset + read as u64) {
                Ok(0) => break,
                Ok(count) => {
                    read += count;
                    buffer = &mut buffer[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(cannot_read(error)),
            }
        }
        Ok(read)
    }
}

/// The name of an archive.
pub(crate) fn archive_name(number: u64) -> String {
    format!("{LOG}.{number}")
}

/// Whether a name is an archive's, and so no way out of the folder: `app.log.01`, `app.log.gz` and `app.log.x` are none.
pub(crate) fn is_archive(name: &str) -> bool {
    let number = name.strip_prefix(LOG).and_then(|rest| rest.strip_prefix('.'));
    number.is_some_and(|number| {
        number.starts_with(|first: char| matches!(first, '1'..='9'))
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn cannot_read(error: io::Error) -> Refusal {
    Refusal::io("cannot read the log", error, ASK_A_PERSON)
}

fn not_regular() -> Refusal {
    Refusal::new(
        Code::LogNotRegular,
        format!(
            "{SHOWN} is no regular file: it or a folder on the way is a link, a folder, a pipe or the like, which is not followed; let a person look at it"
        ),
    )
}
