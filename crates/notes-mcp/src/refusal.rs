//! Why a tool said no.

use std::{error, fmt, io};

/// What a refusal is about. The words are stable: a program may branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// An argument is missing, unknown, of another type or outside of its limits.
    InvalidArgument,
    /// There is no log.
    LogNotFound,
    /// There is a log, and this server may not read it.
    LogUnreadable,
    /// What has the log's name is a link, a folder, a pipe or the like.
    LogNotRegular,
    /// There is no such note.
    NoteNotFound,
    /// The name, or a link on its way, leads out of the notes; or their folder is a link that leads out of the root.
    OutsideNotes,
    /// The name is that of a folder, a pipe or the like.
    NotAFile,
    /// The log is empty.
    NothingToRotate,
    /// There are as many archives as may be.
    TooManyArchives,
    /// Something has the archive's name already.
    ArchiveExists,
    /// The record of plans is full of ones that may still be needed.
    TooManyPlans,
    /// No plan has this id.
    PlanNotFound,
    /// The plan is older than ten minutes, or of a time that is still to come.
    PlanExpired,
    /// The log is not what it was when it was planned.
    LogChanged,
    /// Another process rotates, or a rotation was cut off half way.
    RotationInProgress,
    /// The caller gave the call up; no client is ever answered with it.
    Cancelled,
    /// The file system said no; the message says what it said.
    IoError,
}

impl Code {
    /// The code as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid_argument",
            Self::LogNotFound => "log_not_found",
            Self::LogUnreadable => "log_unreadable",
            Self::LogNotRegular => "log_not_regular",
            Self::NoteNotFound => "note_not_found",
            Self::OutsideNotes => "outside_notes",
            Self::NotAFile => "not_a_file",
            Self::NothingToRotate => "nothing_to_rotate",
            Self::TooManyArchives => "too_many_archives",
            Self::ArchiveExists => "archive_exists",
            Self::TooManyPlans => "too_many_plans",
            Self::PlanNotFound => "plan_not_found",
            Self::PlanExpired => "plan_expired",
            Self::LogChanged => "log_changed",
            Self::RotationInProgress => "rotation_in_progress",
            Self::Cancelled => "cancelled",
            Self::IoError => "io_error",
        }
    }
}

/// A call that was refused. Nothing was changed, unless a rotation met an [`IoError`](Code::IoError) in its middle: then the
/// message says so. It always says what to do next.
///
/// Displayed as `code: sentence`, which is what a model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    code: Code,
    message: String,
}

/// What to do where the server's own machine says no.
pub(crate) const ASK_A_PERSON: &str = "let a person look at it";

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// `what` is what could not be done, such as `cannot read the log`, and `next` what to do about it.
    pub(crate) fn io(what: &str, error: impl Into<io::Error>, next: &str) -> Self {
        Self::new(Code::IoError, format!("{what}: {}; {next}", error.into()))
    }

    /// What it is about.
    pub fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl error::Error for Refusal {}
