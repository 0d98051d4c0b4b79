use std::{fmt, io};

use crate::Deviation;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a change was not planned or not applied. Unless the kind is [`ErrorKind::OutcomeUnknown`], no file was changed.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    code: &'static str,
    message: String,
    deviations: Vec<Deviation>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The causes of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The workspace refused the path or the read; [`Error::code`] is the workspace's.
    Workspace,
    /// A file is not as it was when the plan was made; [`Error::deviations`] has all of them.
    StaleEdit,
    /// A file has no write bit for its owner.
    ReadOnly,
    /// The file belongs to git, whose hooks and configuration run code.
    ProtectedPath,
    /// A file is already where one was to be created.
    AlreadyExists,
    /// The plan has one file twice, or two names of one file with different content.
    DuplicatePath,
    /// A link was to be deleted or renamed.
    IsALink,
    /// An edit lies outside of the text.
    OutOfRange,
    /// An edit begins or ends inside a character.
    InsideCharacter,
    /// Two edits overlap.
    OverlappingEdits,
    /// The plan was made for another workspace.
    OtherWorkspace,
    /// The state folder is inside the workspace or cannot be used.
    StateFolder,
    /// A crash left a change that could not be finished or undone yet.
    UnfinishedChange,
    /// A file operation failed; everything was rolled back.
    ApplyFailed,
    /// A file operation failed, and so did the rollback; the next start tries again.
    OutcomeUnknown,
}

impl ErrorKind {
    /// The stable snake_case code. For [`ErrorKind::Workspace`] the error's own code says more.
    pub fn code(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::StaleEdit => "stale_edit",
            Self::ReadOnly => "read_only",
            Self::ProtectedPath => "protected_path",
            Self::AlreadyExists => "already_exists",
            Self::DuplicatePath => "duplicate_path",
            Self::IsALink => "is_a_link",
            Self::OutOfRange => "out_of_range",
            Self::InsideCharacter => "inside_character",
            Self::OverlappingEdits => "overlapping_edits",
            Self::OtherWorkspace => "other_workspace",
            Self::StateFolder => "state_folder",
            Self::UnfinishedChange => "unfinished_change",
            Self::ApplyFailed => "apply_failed",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: kind.code(),
            message: message.into(),
            deviations: Vec::new(),
            source: None,
        }
    }

    pub(crate) fn with_source(mut self, source: io::Error) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    pub(crate) fn with_deviations(mut self, deviations: Vec<Deviation>) -> Self {
        self.deviations = deviations;
        self
    }

    pub(crate) fn append(&mut self, more: &str) {
        self.message.push_str(more);
    }

    /// What kind of cause this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The stable snake_case code; of the workspace's error where that is the cause.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The sentence for the model or the person: what is wrong and what to do next.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Every file that was refused, for [`ErrorKind::StaleEdit`] and [`ErrorKind::ReadOnly`].
    pub fn deviations(&self) -> &[Deviation] {
        &self.deviations
    }
}

impl From<agent_workspace::Error> for Error {
    fn from(error: agent_workspace::Error) -> Self {
        Self {
            kind: ErrorKind::Workspace,
            code: error.code(),
            message: error.message().to_owned(),
            deviations: Vec::new(),
            source: Some(Box::new(error)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}
